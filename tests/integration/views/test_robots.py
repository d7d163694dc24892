"""robots.txt: every index, and the rules of the settings."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.http import HttpResponse
from django.template import Context, Template
from django.test import RequestFactory
from django.urls import include, path

from django_sitemaps_plus import views
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.serving import robots_txt
from tests.support.settings import SITEMAPS_PLUS
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


TAG = "{% load sitemaps_plus %}User-agent: *\n{% sitemap_lines %}\n"


class TestTag:
    def test_it_gives_a_line_for_every_index(self, indexes):
        """For a robots.txt of the project's own."""
        text = Template(TAG).render(Context())
        assert text.splitlines() == [
            "User-agent: *",
            f"Sitemap: {FIRST}",
            f"Sitemap: {SECOND}",
        ]

    def test_a_transaction_of_the_caller_s_goes_on(self, indexes, monkeypatch):
        """After a query that fails PostgreSQL takes no other, but for a savepoint."""

        def fail(site: Any) -> Any:
            with connection.cursor() as cursor:
                cursor.execute("SELECT number FROM a_table_that_is_not_there")

        monkeypatch.setattr(robots_txt, "index_urls", fail)
        assert f"Sitemap: {FIRST}" in Template(TAG).render(Context())
        assert Page.objects.count() == 3

    def test_it_is_empty_without_an_origin(self, settings):
        """It never raises, whatever the request says."""
        settings.SITEMAPS_PLUS = {}
        request = RequestFactory().get("/", headers={"Host": "evil.example"})
        text = Template(TAG).render(Context({"request": request}))
        assert text == "User-agent: *\n\n"

    def test_it_is_empty_without_our_urls(self, settings):
        """Nothing leads to a sitemap then."""
        settings.ROOT_URLCONF = "django.contrib.auth.urls"
        assert Template(TAG).render(Context()) == "User-agent: *\n\n"

    def test_an_ampersand_stays(self, settings):
        """A text file knows no entities."""
        url = "https://shop.example/sitemap.xml?a=1&b='2'"
        settings.SITEMAPS_PLUS = {**SITEMAPS_PLUS, "ROBOTS": {"SITEMAPS": [url]}}
        assert f"Sitemap: {url}" in Template(TAG).render(Context())
