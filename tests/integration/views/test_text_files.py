"""Text files of a site: robots.txt, whatever else fails, and key files."""

from typing import Any
from urllib.robotparser import RobotFileParser

import pytest
from django.db import DatabaseError, connection
from django.http import HttpResponse
from django.template import Context, Template
from django.test import RequestFactory
from django.urls import NoReverseMatch, include, path, reverse

from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.notifications import configuration
from django_sitemaps_plus.serving import robots_txt
from tests.support.faults import fail_queries
from tests.support.key_files import ENGINES, KEY, PATH

URL = "/robots.txt"
FIRST = "https://example.com/sitemap.xml"
SECOND = "https://example.com/sitemaps-2.xml"


class Own:
    """A URLconf with text files of the project's own behind ours."""

    urlpatterns = [
        path("", include("django_sitemaps_plus.urls")),
        path("<slug:name>.txt", lambda request, name: HttpResponse("mine")),
    ]


@pytest.fixture
def set_robots(configure: Any) -> Any:
    """Have a robots.txt; return what sets keys of ROBOTS."""

    def set_robots(**given: Any) -> None:
        configure(ROBOTS=given)

    set_robots()
    return set_robots


@pytest.fixture
def indexes() -> None:
    """Have a second index, and a third that has nothing to list any more."""
    section = Section.objects.create(site="default", name=INDEX)
    Page.objects.create(section=section, number=0, built=1, entries=50_000)
    Page.objects.create(section=section, number=2, built=1, entries=1, object="x")
    Page.objects.create(section=section, number=3, built=1, entries=0)


def lines_of(response: Any) -> list[str]:
    assert response.status_code == 200
    assert response["Content-Type"] == "text/plain; charset=utf-8"
    return response.content.decode().splitlines()


def sitemaps(response: Any) -> list[str]:
    parser = RobotFileParser()
    parser.parse(lines_of(response))
    return parser.site_maps() or []


class TestRoute:
    def test_without_robots_the_project_has_its_own(self, client, settings):
        """An upgrade hides nothing, wherever ours are included."""
        assert client.get(URL).status_code == 404
        settings.ROOT_URLCONF = Own
        assert client.get(URL).content == b"mine"

    def test_with_robots_it_is_ours(self, client, settings, set_robots):
        settings.ROOT_URLCONF = Own
        assert sitemaps(client.get(URL)) == [FIRST]


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

    def test_crawlers_can_fetch_what_a_built_site_names(self, client, shop):
        shop(15)
        for url in sitemaps(client.get(URL)):
            found = client.get(url.removeprefix("https://example.com"))
            assert found.status_code == 200


@pytest.mark.usefixtures("indexes")
class TestFaults:
    """After a 5xx a crawler fetches nothing at all (RFC 9309, 2.3.1.4)."""

    @pytest.fixture(autouse=True)
    def no_database(self, set_robots: Any) -> Any:
        set_robots(RULES={"DISALLOW": "/admin/"})
        return lambda: fail_queries(lambda sql: True, error=DatabaseError)

    def test_without_a_database_the_last_indexes_are_named(
        self, client, no_database, messages
    ):
        """Byte for byte; a process that knows none names the first."""
        before = client.get(URL)
        with no_database():
            after = client.get(URL)
            robots_txt._last.clear()
            first = client.get(URL)
        assert sitemaps(after) == [FIRST, SECOND]
        assert (after.content, after["ETag"]) == (before.content, before["ETag"])
        assert sitemaps(first) == [FIRST]
        assert "Disallow: /admin/" in lines_of(first)
        assert messages("rows_failed")

    def test_indexes_of_another_origin_are_not_named(
        self, client, configure, no_database
    ):
        """After a change of BASE_URL the old URLs are wrong."""
        client.get(URL)
        configure(BASE_URL="https://other.example")
        with no_database():
            assert sitemaps(client.get(URL)) == ["https://other.example/sitemap.xml"]

    def test_a_router_that_fails_is_no_5xx(self, client, monkeypatch):
        def fail(*args: Any) -> Any:
            raise KeyError("no such alias")

        monkeypatch.setattr(robots_txt, "index_urls", fail)
        assert sitemaps(client.get(URL)) == [FIRST]

    @pytest.mark.parametrize("base_url", [None, 5, "https://a/?x"])
    def test_without_an_origin_there_are_rules_alone(self, client, configure, base_url):
        configure(BASE_URL=base_url)
        response = client.get(URL, headers={"Host": "evil.example"})
        assert lines_of(response) == ["User-agent: *", "Disallow: /admin/"]

    def test_an_origin_that_could_be_read_is_remembered(
        self, client, configure, django_site
    ):
        """The table of contrib.sites is out of reach; the rules are left."""
        configure(BASE_URL=None)
        site = django_site.pop(1)
        with fail_queries(lambda sql: "django_site" in sql):
            response = client.get(URL)
        assert lines_of(response) == ["User-agent: *", "Disallow: /admin/"]
        django_site[1] = site
        before = sitemaps(client.get(URL))
        assert before[0] == "https://sites.example/sitemap.xml"
        django_site.clear()
        with fail_queries(lambda sql: "django_site" in sql):
            assert sitemaps(client.get(URL)) == before

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
        self, client, configure, messages, robots
    ):
        """The rest is served, and the log says what is wrong; checks say it before."""
        configure(ROBOTS=robots)
        assert lines_of(client.get(URL)) == [
            *("User-agent: *", "Disallow:", ""),
            *(f"Sitemap: {FIRST}", f"Sitemap: {SECOND}"),
        ]
        assert messages("robots_fault")


TAG = "{% load sitemaps_plus %}User-agent: *\n{% sitemap_lines %}\n"


class TestTag:
    def test_it_gives_a_line_for_every_index(self, indexes):
        text = Template(TAG).render(Context())
        assert text.splitlines() == [
            *("User-agent: *", f"Sitemap: {FIRST}", f"Sitemap: {SECOND}")
        ]

    def test_a_transaction_of_the_caller_s_goes_on(self, indexes, monkeypatch):
        """After a query that fails PostgreSQL takes no other, but for a savepoint."""

        def fail(site: Any) -> Any:
            with connection.cursor() as cursor:
                cursor.execute("SELECT number FROM a_table_that_is_not_there")

        monkeypatch.setattr(robots_txt, "index_urls", fail)
        assert f"Sitemap: {FIRST}" in Template(TAG).render(Context())
        assert Page.objects.count() == 3

    @pytest.mark.parametrize(
        ("name", "value"),
        [("SITEMAPS_PLUS", {}), ("ROOT_URLCONF", "django.contrib.auth.urls")],
    )
    def test_it_is_empty_without_an_origin_or_our_urls(self, settings, name, value):
        """It never raises, whatever the request says."""
        setattr(settings, name, value)
        request = RequestFactory().get("/", headers={"Host": "evil.example"})
        text = Template(TAG).render(Context({"request": request}))
        assert text == "User-agent: *\n\n"

    def test_an_ampersand_stays(self, set_robots):
        """A text file knows no entities."""
        url = "https://shop.example/sitemap.xml?a=1&b='2'"
        set_robots(SITEMAPS=[url])
        assert f"Sitemap: {url}" in Template(TAG).render(Context())


class TestKeyFiles:
    """The files by which engines verify a site, and no others."""

    @pytest.fixture(autouse=True)
    def engines(self, configure: Any) -> None:
        configure(ENGINES=ENGINES)

    def test_the_file_is_the_key_alone(self, client, django_assert_num_queries):
        """Without a line end or a query."""
        with django_assert_num_queries(0):
            assert client.get(PATH).content == KEY.encode()
            assert client.head(PATH).status_code == 200

    def test_without_engines_a_project_without_an_origin_is_not_scolded(
        self, client, settings, caplog
    ):
        """Any text file is asked about, and where the site is costs a query."""
        settings.ROOT_URLCONF = Own
        settings.SITEMAPS_PLUS = {}
        assert client.get("/humans.txt").content == b"mine"
        assert not caplog.records

    def test_other_names_are_the_project_s(self, client, settings, configure):
        settings.ROOT_URLCONF = Own
        assert client.get("/humans.txt").content == b"mine"
        assert client.get("/robots.txt").content == b"mine"
        assert client.get(PATH).content == KEY.encode()
        configure(ENGINES={})
        assert client.get(PATH).content == b"mine"

    @pytest.mark.parametrize("broken", [{"BACKEND": "no.such.Engine"}, {}])
    def test_engines_that_are_misconfigured_hide_no_other_file(
        self, client, settings, configure, broken
    ):
        settings.ROOT_URLCONF = Own
        configure(ENGINES={"broken": broken})
        assert client.get("/humans.txt").content == b"mine"

    def test_an_engine_that_raises_hides_no_other_file(
        self, client, settings, monkeypatch
    ):
        settings.ROOT_URLCONF = Own
        monkeypatch.setattr(configuration, "get_engines", lambda: 1 / 0)
        assert client.get("/humans.txt").content == b"mine"

    def test_without_an_origin_there_is_no_file(self, client, settings):
        settings.SITEMAPS_PLUS = {"ENGINES": ENGINES}
        assert client.get(PATH, headers={"Host": "evil.example"}).status_code == 404

    def test_its_url_can_be_written(self):
        found = reverse("sitemaps_plus:key-file", kwargs={"name": f"{KEY}.txt"})
        assert found == PATH
        with pytest.raises(NoReverseMatch):
            reverse("sitemaps_plus:key-file", kwargs={"name": "other.txt"})
