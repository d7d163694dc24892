"""robots.txt is a 200 whatever fails: after a 5xx a crawler fetches nothing at all."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.db import DatabaseError

from django_sitemaps_plus.serving import robots_txt as building
from tests.support.faults import fail_open, fail_queries
from tests.support.settings import SITEMAPS_PLUS

from .robots_txt import FIRST, SECOND, URL, lines_of, sitemaps

pytestmark = pytest.mark.django_db


@pytest.fixture
def django_site(settings: Any) -> Iterator[dict[int, Any]]:
    """Have the origin from django.contrib.sites; return its cache, not its table."""
    settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django.contrib.sites"]
    settings.SITE_ID = 1
    settings.SITEMAPS_PLUS = {"ROBOTS": {"RULES": {"DISALLOW": "/admin/"}}}
    from django.contrib.sites.models import SITE_CACHE

    SITE_CACHE.clear()
    yield SITE_CACHE
    SITE_CACHE.clear()


@pytest.mark.usefixtures("indexes", "set_robots")
class TestFaults:
    """What is named and allowed then (RFC 9309, 2.3.1.4)."""

    @pytest.fixture(autouse=True)
    def no_database(self, set_robots: Any) -> Any:
        """Return what breaks every query."""
        set_robots(RULES={"DISALLOW": "/admin/"})
        return lambda: fail_queries(lambda sql: True, error=DatabaseError)

    def test_without_a_database_the_last_indexes_are_named(
        self, client, no_database, messages
    ):
        """The last good body stays, byte for byte."""
        before = client.get(URL)
        with no_database():
            after = client.get(URL)
        assert sitemaps(after) == [FIRST, SECOND]
        assert (after.content, after["ETag"]) == (before.content, before["ETag"])
        assert messages("rows_failed")

    def test_a_process_that_knows_none_names_the_first(self, client, no_database):
        """It is always there; the rules hold."""
        with no_database():
            response = client.get(URL)
        assert sitemaps(response) == [FIRST]
        assert "Disallow: /admin/" in lines_of(response)

    def test_indexes_of_another_origin_are_not_named(
        self, client, settings, no_database
    ):
        """After a change of BASE_URL the old URLs are wrong."""
        client.get(URL)
        base = {"BASE_URL": "https://other.example"}
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **base}
        with no_database():
            assert sitemaps(client.get(URL)) == ["https://other.example/sitemap.xml"]

    def test_a_router_that_fails_is_no_5xx(self, client, monkeypatch):
        """Whatever it raises, it is the project's code."""

        def fail(*args: Any) -> Any:
            raise KeyError("no such alias")

        monkeypatch.setattr(building, "index_urls", fail)
        assert sitemaps(client.get(URL)) == [FIRST]

    def test_cache_and_storage_are_not_asked(self, client, settings, monkeypatch):
        """So they may be down."""
        backend = "tests.reliability.tools.degraded.RaisingCache"
        settings.CACHES = {"default": {"BACKEND": backend}}
        fail_open(monkeypatch)
        assert sitemaps(client.get(URL)) == [FIRST, SECOND]

    @pytest.mark.parametrize("base_url", [None, 5, "https://a/?x"])
    def test_without_an_origin_there_are_rules_alone(self, client, settings, base_url):
        """The host of the request does not give one."""
        rules = {"RULES": {"DISALLOW": "/admin/"}}
        settings.SITEMAPS_PLUS = {"BASE_URL": base_url, "ROBOTS": rules}
        response = client.get(URL, headers={"Host": "evil.example"})
        assert lines_of(response) == ["User-agent: *", "Disallow: /admin/"]

    def test_an_origin_that_cannot_be_read_leaves_the_rules(self, client, django_site):
        """The table of contrib.sites is out of reach, and nothing is known."""
        with fail_queries(lambda sql: "django_site" in sql):
            response = client.get(URL)
        assert lines_of(response) == ["User-agent: *", "Disallow: /admin/"]

    def test_an_origin_that_could_be_read_is_remembered(self, client, django_site):
        """A process that named the indexes once names them again."""
        from django.contrib.sites.models import Site

        django_site[1] = Site(pk=1, domain="sites.example", name="A site")
        before = sitemaps(client.get(URL))
        django_site.clear()
        with fail_queries(lambda sql: "django_site" in sql):
            assert sitemaps(client.get(URL)) == before
        assert before[0] == "https://sites.example/sitemap.xml"

    @pytest.mark.parametrize(
        "robots",
        [
            "User-agent: *",
            {"RULES": [None, [], {"USER_AGENT": []}]},
            {"RULES": {"USER_AGENT": "x\ny", "DISALLOW": "/"}},
            {"RULES": {"DISALLOW": ["admin/", 5, "/\n", b"/x"], "CRAWL_DELAY": "x"}},
            {"EXTRA": ["a\nDisallow: /", 5], "SITEMAPS": ["/sitemap.xml", object()]},
            {"RULE": [], 5: 6},
        ],
    )
    def test_settings_that_cannot_be_used_are_left_out(
        self, client, settings, messages, robots
    ):
        """The rest is served, and the log says what is wrong; checks say it before."""
        settings.SITEMAPS_PLUS = {**SITEMAPS_PLUS, "ROBOTS": robots}
        assert lines_of(client.get(URL)) == [
            *("User-agent: *", "Disallow:", ""),
            *(f"Sitemap: {FIRST}", f"Sitemap: {SECOND}"),
        ]
        assert messages("robots_fault")
