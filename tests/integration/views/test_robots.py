"""robots.txt: every index, and the rules of the settings."""

from __future__ import annotations

import pytest
from django.http import HttpResponse
from django.urls import include, path

from django_sitemaps_plus import views
from tests.support.shop import limited, make_products

from .robots_txt import FIRST, SECOND, URL, lines_of, sitemaps

pytestmark = pytest.mark.django_db


class Own:
    """A URLconf with a robots.txt of the project's own behind ours."""

    urlpatterns = [
        path("", include("django_sitemaps_plus.urls")),
        path("robots.txt", lambda request: HttpResponse("mine")),
    ]


class TestRoute:
    def test_without_robots_there_is_none(self, client):
        """It is the project's business then."""
        assert client.get(URL).status_code == 404

    def test_without_robots_the_project_has_its_own(self, client, settings):
        """An upgrade hides nothing, wherever ours are included."""
        settings.ROOT_URLCONF = Own
        assert client.get(URL).content == b"mine"

    def test_with_robots_it_is_ours(self, client, settings, set_robots):
        """The first pattern answers, as always."""
        settings.ROOT_URLCONF = Own
        assert sitemaps(client.get(URL)) == [FIRST]

    @pytest.mark.parametrize("path", ["/robots.txt/", "/x/robots.txt", "/robotsxtxt"])
    def test_no_other_path_is_it(self, client, set_robots, path):
        """Exactly this one."""
        assert client.get(path).status_code == 404


@pytest.mark.usefixtures("set_robots")
class TestContent:
    def test_nothing_is_disallowed_unless_asked(self, client):
        """And the index is named, built or not."""
        assert lines_of(client.get(URL)) == [
            *("User-agent: *", "Disallow:", ""),
            f"Sitemap: {FIRST}",
        ]

    @pytest.mark.django_db(transaction=True)  # PostgreSQL counts savepoints
    def test_every_index_is_named(self, client, indexes, django_assert_max_num_queries):
        """But for one that lists nothing; by one query."""
        with django_assert_max_num_queries(1):
            assert sitemaps(client.get(URL)) == [FIRST, SECOND]

    def test_the_settings_are_written(self, client, set_robots):
        """Rules, other lines, other hosts' sitemaps; a list or one of each."""
        set_robots(
            RULES=[
                {
                    "USER_AGENT": ["GPTBot", "CCBot"],
                    "DISALLOW": ["/"],
                    "ALLOW": ["/open/"],
                    "CRAWL_DELAY": 10,
                },
                {"DISALLOW": "/admin/"},
            ],
            EXTRA="Clean-param: ref /",
            SITEMAPS=["https://shop.example/sitemap.xml", FIRST],
        )
        assert lines_of(client.get(URL)) == [
            *("User-agent: GPTBot", "User-agent: CCBot"),
            *("Allow: /open/", "Disallow: /", "Crawl-delay: 10", ""),
            *("User-agent: *", "Disallow: /admin/", ""),
            *("Clean-param: ref /", ""),
            f"Sitemap: {FIRST}",
            "Sitemap: https://shop.example/sitemap.xml",
        ]


@pytest.mark.usefixtures("set_robots")
class TestHttp:
    def test_a_known_etag_is_304(self, client):
        """The ETag is of the bytes."""
        etag = client.get(URL)["ETag"]
        response = client.get(URL, headers={"If-None-Match": etag})
        assert (response.status_code, response.content) == (304, b"")
        assert response["ETag"] == etag

    def test_head_has_the_headers_of_get(self, client, rf):
        """And no body, which the test client would cut off."""
        full, head = client.get(URL), client.head(URL)
        assert views.robots(rf.head(URL)).content == b""
        assert dict(head.items()) == dict(full.items())
        assert head["Content-Length"] == str(len(full.content))

    def test_caches_may_keep_it_for_all(self, client):
        """It depends on no header, and sets no cookie."""
        response = client.get(URL)
        assert response["Cache-Control"] == "public, max-age=600"
        assert "Vary" not in response
        assert not response.cookies


def test_a_built_site_names_what_its_crawlers_can_fetch(client, publish, set_robots):
    """From robots.txt to the pages."""
    make_products(15)
    publish(limited(10))
    for url in sitemaps(client.get(URL)):
        assert client.get(url.removeprefix("https://example.com")).status_code == 200
