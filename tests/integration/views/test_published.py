"""What is published is answered from the page row; the object only for a body."""

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import OperationalError, ProgrammingError
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.building import build as building
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core import limits
from django_sitemaps_plus.models import INDEX, Page, Section, State, sections
from django_sitemaps_plus.views import sitemaps
from tests.support.builds import build_fully
from tests.support.documents import locs, read_index
from tests.support.faults import fail_open, fail_queries
from tests.support.published import age, page_row, path_of, seen
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product

PAGE = "/sitemap-products-2.xml"
PATHS = ["/sitemap.xml", PAGE, "/sitemap.xml.gz", f"{PAGE}.gz"]
GZIP = {"Accept-Encoding": "gzip"}


@pytest.fixture
def published(shop: Any) -> None:
    shop(15)
    age()


@pytest.mark.database
@pytest.mark.usefixtures("published")
def test_changes_that_cannot_be_counted_hide_no_page(client, settings):
    """They are said while developing only."""
    settings.DEBUG = True
    with fail_queries(lambda sql: "sitemaps_plus_change" in sql):
        assert client.get(PAGE).status_code == 200


@pytest.mark.database
@pytest.mark.usefixtures("published")
@pytest.mark.parametrize("path", PATHS)
def test_the_page_row_knows_validators_and_sizes(
    client, monkeypatch, path, django_assert_num_queries
):
    """A 304 and a HEAD take one query and no object; a 200 one of each."""
    first = []
    for coding in ({}, GZIP):
        with django_assert_num_queries(1):
            first.append(client.get(path, headers=coding))
    fail_open(monkeypatch)
    for coding, response in zip(({}, GZIP), first, strict=True):
        with django_assert_num_queries(2):
            head = client.head(path, headers=coding)
            known = {**coding, "If-None-Match": response["ETag"]}
            assert client.get(path, headers=known).status_code == 304
        assert head.status_code == 200
        assert head["Content-Length"] == response["Content-Length"]


@pytest.mark.usefixtures("published")
class TestRowsOfTheTable:
    def test_edits_wait_for_the_next_build(self, client):
        """What is published stays; a section with a plan is not planned live."""
        before = seen(client, *PATHS)
        make_products(40, first=15)
        assert client.get("/sitemap-products-3.xml").status_code == 404
        Product.objects.all().delete()
        assert seen(client, *PATHS) == before
        build_fully(allow_shrink=True)
        assert client.get(PAGE).status_code == 404

    @pytest.mark.database
    @pytest.mark.parametrize(
        ("after", "expected"), [(0.09, None), (0.1, "Fri, 02 Jan 2026 03:04:05 GMT")]
    )
    def test_last_modified_is_the_time_of_the_flip(
        self, client, monkeypatch, after, expected
    ):
        """Not that of the newest entry, and only once that second is over."""
        flip = datetime(2026, 1, 2, 3, 4, 5, 900_000, tzinfo=UTC)
        Page.objects.update(published_at=flip)
        monkeypatch.setattr(timezone, "now", lambda: flip + timedelta(seconds=after))
        assert client.get(PAGE).headers.get("Last-Modified") == expected


def delete(page: Page) -> None:
    path_of(page).unlink()


def cut_short(page: Page) -> None:
    path_of(page).write_bytes(path_of(page).read_bytes()[:-9])


def replace(page: Page) -> None:
    path_of(page).write_bytes(path_of(page_row(INDEX, 0)).read_bytes() + b"\0")


@pytest.mark.usefixtures("published")
class TestDamagedObjects:
    """A storage that lost or spoiled an object costs time, nothing else."""

    @pytest.mark.parametrize("path", PATHS)
    @pytest.mark.parametrize("damage", [delete, cut_short, replace])
    def test_it_is_rendered_instead(self, client, damage, path, messages):
        """200, the right bytes, and an error in the log that names the object."""
        before = client.get(path)
        page = page_row("products", 2) if PAGE in path else page_row(INDEX, 0)
        damage(page)
        after = client.get(path)
        assert (after.status_code, after.content) == (200, before.content)
        assert after["ETag"] == before["ETag"]
        assert page.object in messages("object_lost")[0]

    def test_a_kept_copy_is_not_older_than_what_was_published(self, client, configure):
        """The copy was rendered for an object that was lost before."""
        configure(LIVE_CACHE_SECONDS=60)
        delete(page_row("products", 2))
        client.get(PAGE)
        Product.objects.filter(slug="product-00012").delete()
        build_fully()
        published = client.get(PAGE)
        delete(page_row("products", 2))
        assert client.get(PAGE).content == published.content

    @pytest.mark.parametrize("is_built", [True, False])
    def test_rows_that_came_in_meanwhile_are_all_there(self, client, is_built):
        """However many: only a build splits a page, and a first one takes a while."""
        before = client.get(PAGE)
        delete(page_row("products", 2))
        if not is_built:
            Page.objects.of("default", "products").update(built=0, object="")
        make_products(20, first=15)
        answer = client.get(PAGE)
        assert locs(answer.content) == product_urls(range(10, 35))
        assert answer["ETag"] != before["ETag"]
        assert "Last-Modified" not in answer


@pytest.mark.database
@pytest.mark.usefixtures("published")
class TestDatabaseFaults:
    def test_a_page_is_served_live_while_our_tables_are_missing(self, client, messages):
        """Before migrate the sitemaps are there, since the sources are."""
        live = [f"/sitemap-products-{number}.xml" for number in (1, 2)]
        expected = {path: client.get(path).content for path in live}
        with fail_queries(lambda sql: "sitemaps_plus_" in sql, error=ProgrammingError):
            assert {path: client.get(path).content for path in live} == expected
            assert client.get("/sitemap.xml").content.count(b"<sitemap>") == 2
        assert messages("rows_failed")

    @pytest.mark.parametrize("model", [Page, Section])
    def test_our_tables_out_of_reach_are_503(self, client, model):
        """A plan of the moment has other pages than those that are published."""
        Page.objects.of("default", INDEX).delete()
        name = model._meta.db_table
        with fail_queries(lambda sql: name in sql.partition("FROM ")[2][:40]):
            for path in ("/sitemap.xml", "/sitemap-products-99.xml"):
                assert client.get(path).status_code == 503

    def test_a_site_out_of_reach_is_503(self, client, monkeypatch):
        """That of ``django.contrib.sites``, which is not in its cache."""

        def fail(*args: object) -> None:
            raise OperationalError("the server closed the connection unexpectedly")

        monkeypatch.setattr(sitemaps, "get_site", fail)
        for path in PATHS:
            assert client.get(path).status_code == 503

    def test_an_object_and_its_source_out_of_reach_are_503(self, client):
        """A crawler asks again, and forgets no page."""
        delete(page_row("products", 2))
        with fail_queries(lambda sql: "testapp_product" in sql):
            assert client.get(PAGE).status_code == 503


THREE = [f"sitemap-products-{number}.xml" for number in (1, 2, 3)]


@pytest.fixture
def three_pages(shop: Any, configure: Any) -> None:
    """Have three published pages, and an index that awaits its build."""
    configure(LIVE_CACHE_SECONDS=60)
    shop()
    mark_indexes()


def mark_indexes() -> None:
    """Mark the indexes, as each flip of a page does."""
    Page.objects.filter(section__name=INDEX).update(wanted=F("wanted") + 1)


def listed(client: Any, path: str = "/sitemap.xml") -> list[str]:
    return [url.rsplit("/", 1)[1] for url in read_index(client.get(path).content)]


@pytest.mark.usefixtures("three_pages")
class TestShared:
    def test_it_is_rendered_once_until_a_page_is_published(
        self, client, django_assert_num_queries
    ):
        """By its row, the sections with a plan and the pages; later by its row."""
        with django_assert_num_queries(3):
            first = client.get("/sitemap.xml")
        with django_assert_num_queries(1):
            second = client.get("/sitemap.xml")
        assert second.content == first.content
        assert listed(client) == THREE

    def test_what_a_build_or_a_deploy_adds_is_listed_at_once(
        self, client, sections, monkeypatch
    ):
        """The index that was kept is of another version, or of other sections."""
        assert listed(client) == THREE
        sections.register("more", limited(50))
        assert listed(client) == [*THREE, "sitemap-more-1.xml"]
        sections.unregister("more")
        make_products(10, first=25)
        monkeypatch.setattr(building, "_publish_index", lambda build: None)
        build()
        assert listed(client) == [*THREE, "sitemap-products-4.xml"]

    @pytest.mark.parametrize("state", [State.NEXT, State.RETIRED])
    def test_a_page_of_another_plan_is_not_listed(self, client, state):
        """The next is not served yet; a retired one is, to those who know it."""
        Page.objects.filter(number=2).update(state=state)
        assert listed(client) == [THREE[0], THREE[2]]

    def test_sections_are_in_the_order_of_their_registration(self, client, sections):
        """However long they have been known."""
        sections.unregister("products")
        for name in ("more", "products"):
            sections.register(name, limited(50))
        assert listed(client) == ["sitemap-more-1.xml", *THREE]


@pytest.mark.usefixtures("three_pages")
class TestFallback:
    @pytest.mark.django_db(transaction=True)  # or no query comes after one that fails
    @pytest.mark.parametrize("number", [2, 3])
    @pytest.mark.parametrize("error", [OperationalError, ProgrammingError])
    def test_a_database_that_fails_on_the_way(self, client, messages, number, error):
        """The index that was published last is served, and not one made of guesses."""
        before = client.get("/sitemap.xml").content
        mark_indexes()
        with fail_queries(lambda sql: "sitemaps_plus_" in sql, number, error):
            response = client.get("/sitemap.xml")
        assert (response.status_code, response.content) == (200, before)
        assert messages("live_failed")

    def test_a_section_without_a_plan_that_cannot_be_read(self, client, sections):
        """The others stay listed; 503 if the object of the index is lost as well."""
        sections.register("broken", limited(5, get_queryset=lambda self: 1 / 0))
        assert listed(client) == THREE
        path_of(page_row(INDEX, 0)).unlink()
        assert client.get("/sitemap.xml").status_code == 503


@pytest.mark.usefixtures("three_pages")
class TestNeverBuilt:
    """Pages of a section that is planned, and whose first build fails."""

    @pytest.fixture(autouse=True)
    def planned(self, three_pages: None, sections: Any) -> None:
        def fail(self: Any, row: Any) -> float:
            raise ValueError("bad row")

        sections.register("new", limited(50, on_error="raise", priority=fail))
        assert build().sections[1].errors
        mark_indexes()

    def test_they_are_listed_where_they_can_be_rendered(self, client, sections):
        """A deploy may have mended the source."""
        sections.unregister("new")
        sections.register("new", limited(50))
        assert listed(client) == [*THREE, "sitemap-new-1.xml"]
        assert client.get("/sitemap-new-1.xml").status_code == 200

    def test_they_are_not_listed_once_the_deploy_is_rolled_back(self, client, sections):
        """They could only answer 503."""
        sections.unregister("new")
        assert listed(client) == THREE

    def test_a_built_index_lists_published_pages_alone(self, client):
        """Whatever the processes know that serve it."""
        build()
        index = page_row(INDEX, 0)
        assert index.built == index.wanted
        assert listed(client) == THREE


@pytest.mark.usefixtures("three_pages")
class TestPlans:
    def test_a_section_whose_pages_are_on_another_index_is_not_planned_live(
        self, client, sections, monkeypatch
    ):
        """Its pages would be listed twice; one without a plan is on the first alone."""
        monkeypatch.setattr(limits, "MAX_ENTRIES", 3)
        sections.register("more", limited(15))
        build()
        Page.objects.of("default", "products").filter(number=3).update(entries=0)
        mark_indexes()
        sections.register("new", limited(50))
        assert listed(client) == [*THREE[:2], "sitemap-new-1.xml"]
        assert listed(client, "/sitemaps-2.xml") == [
            "sitemap-more-1.xml",
            "sitemap-more-2.xml",
        ]

    def test_a_section_with_a_plan_and_no_entries_is_not_planned_live(
        self, client, sections
    ):
        """Its page is listed once it has been built with entries."""
        rows = limited(5, get_queryset=lambda self: self.model.objects.none())
        sections.register("late", rows)
        build()
        sections.unregister("late")
        sections.register("late", limited(5))
        mark_indexes()
        assert listed(client) == THREE

    def test_a_section_that_came_back_is_listed_as_it_was(self, client):
        """A name that is registered is not missing, even before the next build."""
        Section.objects.filter(name="products").update(
            missing_since=timezone.now() - 2 * sections.MISSING_GRACE
        )
        make_products(25, first=25)
        assert listed(client) == THREE


#: Every request of this project begins a transaction on a database that is away.
PROJECT = """
import sys
import django
from django.conf import settings
away = {"ENGINE": "django.db.backends.sqlite3", "NAME": "/nowhere/away.sqlite3",
    "ATOMIC_REQUESTS": True}
own = {"ENGINE": "django.db.backends.sqlite3", "NAME": ":memory:"}
settings.configure(
    ALLOWED_HOSTS=["*"], USE_TZ=True, ROOT_URLCONF="django_sitemaps_plus.urls",
    DATABASES={"default": own, "away": away}, INSTALLED_APPS=["django_sitemaps_plus"],
    SITEMAPS_PLUS={
        "BASE_URL": "https://example.com",
        "ROBOTS": {},
        "ENGINES": {"indexnow": {
            "BACKEND": "django_sitemaps_plus.notifications.IndexNow",
            "OPTIONS": {"key": "only-for-tests"}}},
    },
)
django.setup()
from django.core.management import call_command
from django.test import Client
call_command("migrate", verbosity=0)
client = Client(raise_request_exception=False)
print(*[client.get(path).status_code for path in sys.argv[1:]])
"""


@pytest.mark.database
def test_one_that_is_down_breaks_no_sitemap() -> None:
    """Whatever ATOMIC_REQUESTS says of it. (There are no sections here.)"""
    paths = ["/robots.txt", "/only-for-tests.txt", "/sitemap.xml"]
    command = [sys.executable, "-c", PROJECT, *paths]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout == "200 200 404\n", done.stderr
