"""Whatever fails, what readers find is complete, and the next build mends it."""

import re
from contextlib import suppress
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import InterfaceError, OperationalError, connection
from django.db.models import F, TextField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Length
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.flip import flip
from django_sitemaps_plus.building.store import Result, build_page
from django_sitemaps_plus.exceptions import BuildError, StoreError
from django_sitemaps_plus.models import MAX_ATTEMPTS, Page, Section
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources.reading import ModelReader, reader_of
from django_sitemaps_plus.tracking.deploys import fingerprint, note_deploy
from tests.reliability.tools.published import published_urls
from tests.support.builds import build_fully, pass_pauses
from tests.support.faults import fail_queries, fail_save, writes_to
from tests.support.published import age, page_row, seen, served
from tests.support.shop import ProductSource, limited, make_products, product_urls
from tests.support.testapp.models import Product

from .overtaking import PATHS as PAGE_PATHS
from .overtaking import end_leases, work
from .plan.plans import replace

INDEX_PATH = "/sitemap.xml"
PATHS = (INDEX_PATH, *PAGE_PATHS)

OURS = writes_to("sitemaps_plus_")


def is_needed(sql: str) -> bool:
    """Return whether a query is a write of ours, but for figures of the dashboard."""
    return OURS(sql) and "sitemaps_plus_figure" not in sql


def is_flip(sql: str) -> bool:
    return sql.startswith("UPDATE") and "gzip_hash" in sql


def rename(mark: str) -> None:
    for number in (1, 12, 23):
        slug = f"product-{number:05}"
        Product.objects.filter(slug__startswith=slug).update(slug=f"{slug}-{mark}")


def state(client: Any) -> tuple[Any, ...]:
    """Return what is served; the index without its date, which it lacks while dirty."""
    found = seen(client, *PATHS)
    status, content, etag, _, length = found[INDEX_PATH]
    return served(), {**found, INDEX_PATH: (status, content, etag, length)}


def unmarked(crawled: dict[str, list[str]]) -> list[str]:
    found = [url for locations in crawled.values() for url in locations]
    return sorted(re.sub(r"(\d{5})-\w+/$", r"\1/", url) for url in found)


@pytest.fixture
def before(products: Any, client: Any) -> tuple[Any, ...]:
    """Publish three pages, change a row of each; return what readers see."""
    age()
    rename("x")
    return state(client)


@pytest.fixture
def mended(client: Any, crawl: Any) -> Any:
    """Return what builds, and looks for all three renames and every other URL."""

    def mended(mark: str = "x") -> None:
        build_fully()
        found = seen(client, *PATHS)
        marks = [found[path][1].count(f"-{mark}/".encode()) for path in PATHS[1:]]
        assert marks == [1, 1, 1]
        assert unmarked(crawl()) == product_urls(range(25))
        assert not Page.objects.dirty().exists()

    return mended


class TestStorage:
    @pytest.mark.parametrize(
        ("number", "error"),
        [(1, None), (3, OSError(5, "I/O error")), (2, RuntimeError("S3"))],
    )
    def test_a_save_that_fails_publishes_nothing_of_its_batch(
        self, before, client, monkeypatch, mended, run, number, error
    ):
        """The command says why, whatever a storage raises; no claim is left."""
        with monkeypatch.context() as patch:
            fail_save(patch, number, error)
            with pytest.raises(CommandError) as caught:
                run("build_sitemaps", full=True)
            assert state(client) == before
            assert not Page.objects.exclude(token="").exists()
        message = str(caught.value)
        assert type(error or OSError()).__name__ in message
        assert "products/" in message
        assert message.endswith("What was published before stays.")
        assert caught.value.returncode == 1
        mended()

    def test_while_an_index_cannot_be_stored_it_is_served_live(
        self, before, client, crawl, monkeypatch, mended, run
    ):
        """The pages are new by then, and so are their dates in the index."""
        old = seen(client, INDEX_PATH)[INDEX_PATH]
        stored = page_row("", 0).object
        with monkeypatch.context() as patch:
            fail_save(patch, 4)
            with pytest.raises(StoreError, match=r"sitemap\.xml/0/"):
                build_fully()
        with pytest.raises(CommandError, match=r"sitemap\.xml is not built.*No space"):
            run("sitemap_status")
        status, content, etag, modified, _ = seen(client, INDEX_PATH)[INDEX_PATH]
        assert (status, modified) == (200, None)
        assert (content, etag) != (old[1], old[2])
        assert page_row("", 0).object == stored
        assert unmarked(crawl()) == product_urls(range(25))
        mended()
        after = seen(client, INDEX_PATH)[INDEX_PATH]
        assert (after[1], after[2]) == (content, etag)

    def test_sitemap_status_says_what_keeps_pages(self, before, monkeypatch, run):
        """Until they are built: nobody parks them, however often it fails."""
        run("sitemap_status")
        with monkeypatch.context() as patch:
            fail_save(patch, 1)
            for _ in range(MAX_ATTEMPTS + 1):
                with pytest.raises(StoreError):
                    build_fully()
        words = "Pages to be tried again soon: 3. .*No space left on device"
        with pytest.raises(CommandError, match=words):
            run("sitemap_status")
        assert not Page.objects.parked().exists()
        build_fully()
        run("sitemap_status")

    @pytest.mark.parametrize(
        "text",
        [
            "no host at https://us:hush@s3.example/bucket",
            "Max retries exceeded with url: /a.gz?X-Amz-Signature=hush (timed out)",
        ],
        ids=["password", "signature"],
    )
    def test_what_is_kept_of_a_failure_holds_no_secrets(
        self, before, monkeypatch, text
    ):
        fail_save(monkeypatch, 1, RuntimeError(text))
        with pytest.raises(StoreError):
            build_fully()
        error = page_row("products", 1).error
        assert "***" in error
        assert "hush" not in error


@pytest.mark.django_db(transaction=True)
class TestDatabase:
    @pytest.mark.parametrize(
        ("number", "error"),
        [
            (1, OperationalError),
            (3, InterfaceError),
            # The driver's own, which Django lets through when it closes a cursor.
            (3, connection.Database.OperationalError),
        ],
    )
    def test_a_flip_that_fails_publishes_nothing_of_its_batch(
        self, before, client, mended, run, number, error
    ):
        """Every page of the batch or none; whatever class the error has."""
        with (
            fail_queries(is_flip, number, error),
            pytest.raises(CommandError, match=r"the database failed: .*unexpectedly"),
        ):
            run("build_sitemaps", full=True)
        assert state(client) == before
        mended()

    def test_any_write_may_be_the_last(self, before, crawl, mended, run):
        """From each on all fail; what is found is complete, and one build mends it."""
        with CaptureQueriesContext(connection) as queries:
            build_fully()
        points = sum(is_needed(query["sql"]) for query in queries)
        bad = []
        for number in range(1, points + 1):
            rename(f"at{number}")
            with fail_queries(is_needed, number), pytest.raises(CommandError):
                run("build_sitemaps", full=True)
            if unmarked(crawl()) != product_urls(range(25)):
                bad.append(number)
            mended(f"at{number}")
        assert points >= 6
        assert bad == []

    def test_a_first_build_that_fails_publishes_nothing(
        self, stock, client, crawl, monkeypatch
    ):
        """The plan may be there; its pages are rendered live until they are built."""
        stock(25)
        live = seen(client, *PATHS)
        with fail_queries(is_flip, 2), pytest.raises(BuildError):
            build_fully()
        assert seen(client, *PATHS) == live
        build_fully()
        assert unmarked(crawl()) == product_urls(range(25))


IN_AUTOCOMMIT = pytest.mark.django_db(transaction=True)
IN_TRANSACTION = pytest.mark.django_db()

URL_BEFORE = "https://example.com/products/product-00001/"

#: The page that kills whoever builds it.
POISON = 4


def refuse_bad_rows(self: Any, row: Product) -> float:
    """Give a priority, but not to rows that say they are bad."""
    if row.frequency == "bad":
        raise ValueError("row is bad")
    return 0.5


def edit(number: int, **fields: Any) -> None:
    assert Product.objects.filter(slug=f"product-{number:05}").update(**fields) == 1


@pytest.mark.database
@pytest.mark.parametrize("text", ["\0", "\ud800"], ids=ascii)
def test_an_error_may_have_any_text(sections, stock, text):
    """Not every database stores it as it is; the others are built all the same."""

    def priority(self: Any, row: Product) -> float:
        raise ValueError(f"row {text} is bad")

    def get_queryset(self: Any) -> Any:
        raise ValueError("row \0 is bad")  # half a surrogate would end xdist's worker

    stock(5, name="odd", on_error="raise", priority=priority)
    sections.register("others", limited(10))
    sections.register("unplanned", limited(10, get_queryset=get_queryset))
    for _ in range(2):
        odd, others, unplanned = build().sections
        assert (len(odd.errors), others.entries, len(unplanned.errors)) == (1, 5, 1)
        assert ", priority): row " in page_row("odd", 1).error
        fault = Section.objects.get(name="unplanned").fault
        assert "ValueError (Product): row " in fault


class TestPages:
    @pytest.fixture(autouse=True)
    def published(self, sections: Any) -> None:
        """Publish three pages, then break a row of the second and edit all."""
        make_products(25)
        source = limited(10, on_error="raise", priority=refuse_bad_rows)
        sections.register("products", source)
        sections.register("others", limited(30))
        build_fully()
        age()
        for number in (1, 12, 23):
            edit(number, slug=f"product-{number:05}-x")
        edit(13, frequency="bad")

    def test_the_others_are_built(self, client, crawl):
        """The page that fails is served as it was, and is named with the cause."""
        before = seen(client, PAGE_PATHS[1])
        products, others = build_fully().sections
        assert [error[:7] for error in products.errors] == ["page 2:"]
        assert "row is bad" in products.errors[0]
        assert (products.stored, others.stored) == (2, 1)
        assert seen(client, PAGE_PATHS[1]) == before
        new = [path for path in PAGE_PATHS if b"-x/" in client.get(path).content]
        assert new == [PAGE_PATHS[0], PAGE_PATHS[2]]
        urls = [url.replace("-x/", "/") for path in PAGE_PATHS for url in crawl()[path]]
        assert urls == product_urls(range(25))

    def test_there_are_pauses_after_some_attempts(self):
        """It then costs no build anything, is still reported, and --full tries it."""
        build_fully()
        for _ in range(MAX_ATTEMPTS - 1):
            assert len(build().sections[0].errors) == 1
        assert list(Page.objects.parked()) == [page_row("products", 2)]
        report = build()
        assert report.sections[0].errors == []
        assert report.problems == [
            "products: 1 pages are still to be built; see sitemap_status"
        ]
        edit(13, frequency="daily")
        assert build_fully().problems == []
        assert not Page.objects.parked().exists()

    @pytest.mark.database
    def test_pauses_grow_to_an_hour(self):
        """Each is twice as long as the one before; no build in between tries it."""
        build_fully()
        pauses = []
        for _ in range(MAX_ATTEMPTS + 8):
            pass_pauses()
            began = timezone.now()
            assert len(build().sections[0].errors) == 1
            if due := page_row("products", 2).not_before:
                pauses.append(round((due - began).total_seconds() / 60))
                assert build().sections[0].errors == []
        assert pauses == [1, 2, 4, 8, 16, 32, 60, 60, 60, 60]

    def test_once_the_cause_is_gone_plain_builds_alone_recover(self):
        """The page that nobody edits too, when its pause is over."""
        build_fully()
        for _ in range(MAX_ATTEMPTS):
            build()
        edit(13, frequency="daily")
        assert len(build().problems) == 1
        pass_pauses()
        assert build().problems == []
        assert page_row("products", 2).attempts == 0

    @pytest.mark.parametrize("is_edit", [True, False], ids=["edit", "deploy"])
    def test_an_edit_and_a_deploy_end_a_pause(self, is_edit):
        build_fully()
        for _ in range(MAX_ATTEMPTS + 3):
            pass_pauses()
            build()
        attempts = page_row("products", 2).attempts
        if is_edit:
            Product.objects.get(slug="product-00014").save()
            assert len(build().sections[0].errors) == 1
            assert page_row("products", 2).attempts == attempts + 1
            assert build().sections[0].errors == []
            edit(13, frequency="daily")
            Product.objects.get(slug="product-00014").save()
        else:
            replace(limited(10))
        assert build().problems == []


def without_column(self: Any) -> Any:
    """Ask for a column that the table has not: a migration that was forgotten."""
    rows = ProductSource.get_queryset(self)
    return rows.annotate(extra=RawSQL("no_such_column", ())).filter(extra=1)


@pytest.fixture(
    params=[
        pytest.param(None, marks=IN_AUTOCOMMIT, id="in autocommit"),
        pytest.param(None, marks=IN_TRANSACTION, id="in a transaction"),
    ]
)
def two_sections(products: Any, sections: Any) -> None:
    """Publish two sections, then change a row."""
    sections.register("others", limited(30))
    build_fully()
    age()
    edit(1, slug="renamed")


class TestQueries:
    @pytest.fixture
    def broken(self, two_sections: Any) -> None:
        """Deploy a source whose table lacks a column, and notice that."""
        replace(limited(10, get_queryset=without_column))
        section = Section.objects.get(name="products")
        note_deploy(section, fingerprint(open_section("products")))

    def test_a_missing_column_keeps_back_no_other(self, broken, client, run):
        """The command names it; what it had published stays."""
        with pytest.raises(CommandError, match=r"^products: .*no_such_column"):
            run("build_sitemaps", full=True)
        assert b"renamed" in client.get("/sitemap-others-1.xml").content
        assert b"product-00001/" in client.get(PAGE_PATHS[0]).content

    @pytest.mark.database
    def test_pages_that_cannot_be_read_are_named_and_parked_in_the_end(self, broken):
        """Each by itself, with what the database said of it."""
        Page.objects.of("default", "products").update(wanted=F("wanted") + 1)
        ids = list(Page.objects.values_list("section_id", flat=True).distinct())
        counts = work(ids)
        assert len(counts["products"].errors) == 3
        assert all("no_such_column" in error for error in counts["products"].errors)
        assert Product.objects.count() == 25, "the connection is of use"
        for _ in range(MAX_ATTEMPTS):
            work(ids)
            end_leases()
        assert Page.objects.parked().count() == 3

    @pytest.mark.database
    def test_a_split_that_cannot_be_read_is_named(self, two_sections):
        """The rows are counted only then, and by a query of its own."""

        class Refusing(ModelReader):
            max_entries = 5

            def count(self, *args: Any) -> int:
                with connection.cursor() as cursor:
                    cursor.execute("SELECT no_such_column FROM testapp_product")
                return 0

        source = limited(5)
        reader_of.register(source, Refusing)
        replace(source)
        others, products = build_fully().sections
        assert "no_such_column" in products.errors[0]
        assert (others.errors, others.stored) == ([], 1)


def own_location(self: Any, product: Product) -> str:
    """Ask the database for each row, as a path through a related object does."""
    rows = Product.objects.filter(pk=product.pk)
    return f"/products/{rows.values_list('slug', flat=True)[0]}/"


def own_changefreq(self: Any, product: Product) -> str:
    own_location(self, product)
    return "daily"


def malformed(self: Any, product: Product) -> str:
    raise OperationalError("malformed JSON")


def no_memory(self: Any, product: Product) -> str:
    raise MemoryError


def is_of_a_row(sql: str) -> bool:
    """Return whether it is asked for by :func:`own_location`."""
    return sql.replace("`", '"').startswith('SELECT "testapp_product"."slug" AS')


class TestRow:
    """A database that is away for a moment says nothing of the row it was asked for."""

    @pytest.mark.parametrize(
        "field", [{"location": own_location}, {"changefreq": own_changefreq}]
    )
    def test_no_row_is_left_out_for_a_query_of_its_own(self, two_sections, field):
        """What is published stays, and the next build has what was missing."""
        before = set(published_urls())
        replace(limited(10, **field))
        with fail_queries(is_of_a_row, 13):
            section = build_fully(["products"]).sections[0]
        assert (section.skipped, section.dropped) == (0, 0)
        assert "server closed the connection" in section.errors[0]
        assert set(published_urls()) >= before - {URL_BEFORE}
        assert not Page.objects.filter(attempts__gt=0), "no page is to blame"
        section = build_fully(["products"]).sections[0]
        assert (section.errors, section.skipped) == ([], 0)

    @pytest.mark.database
    @pytest.mark.parametrize(
        ("location", "errors", "skipped"),
        [
            pytest.param(malformed, [], 25, marks=pytest.mark.database),
            (no_memory, ["MemoryError"] * 3, 0),
        ],
    )
    def test_a_row_is_left_out_for_its_own_query_and_not_for_want_of_memory(
        self, two_sections, location, errors, skipped
    ):
        """Or its page would never be built; what SQLite says of it is no outage."""
        replace(limited(10, location=location))
        section = build_fully(["products"], allow_shrink=True).sections[0]
        assert [error.split()[-2] for error in section.errors] == errors
        assert section.skipped == skipped


@pytest.mark.database
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="it ends a backend")
@IN_AUTOCOMMIT
def test_a_connection_that_broke_between_builds_costs_one(products):
    """In a process that keeps its connection, as a daemon may."""
    with suppress(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    with pytest.raises(BuildError):
        build_fully()
    assert build_fully().problems == []


@pytest.mark.database
@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="it ends a backend")
@IN_AUTOCOMMIT
def test_a_connection_that_broke_is_opened_again(products):
    """A statement that was cancelled with its connection costs one page."""
    cut = RawSQL(
        "CASE WHEN id = %s THEN pg_terminate_backend(pg_backend_pid()) END",
        (products[12].pk,),
    )

    def get_queryset(self: Any) -> Any:
        return ProductSource.get_queryset(self).annotate(
            cut=Length(Cast(cut, TextField()))
        )

    replace(limited(10, get_queryset=get_queryset, priority="cut"))
    (section,) = build_fully().sections
    assert [error[:7] for error in section.errors] == ["page 2:"]
    assert (section.rendered, connection.is_usable()) == (2, True)


def builder(sections: list[int]) -> list[list[int]]:
    """Build until the page comes that ends it; return what was claimed, by number."""
    claims = []
    while pages := Page.objects.claim(sections):
        claims.append(sorted([page.number for page in pages]))
        if POISON in claims[-1]:
            break
        built = [build_page(page, open_section(page.section)) for page in pages]
        flip(list(map(Result, pages, built)))
    end_leases()
    return claims


class TestPoison:
    """A page that kills whoever builds it is tried alone, and in the end once a day."""

    @pytest.fixture
    def dirty_pages(self, shop: Any) -> list[int]:
        """Have eight dirty pages; return their section."""
        section = shop(8, limit=1)
        Page.objects.exclude(number=0).update(wanted=9)
        return [section.pk]

    @pytest.mark.database
    def test_only_the_page_that_kills_is_left_alone(self, dirty_pages):
        """Those claimed with it are then built one by one, and in the end before it."""
        assert builder(dirty_pages) == [[1, 2, 3, 4, 5, 6, 7, 8]]
        assert builder(dirty_pages) == [[1], [2], [3], [4]]
        assert builder(dirty_pages) == [[5], [6], [7], [8], [4]]
        for _ in range(2):  # days
            assert builder(dirty_pages) == []
            assert list(Page.objects.parked()) == [page_row("products", POISON)]
            page_row("products", POISON).section.pages.update(wanted=F("wanted") + 1)
            others = [1, 2, 3, 5, 6, 7, 8]
            assert builder(dirty_pages) == [others], "an edit may kill as well"
            Page.objects.update(not_before=F("not_before") - timedelta(hours=23))
            assert builder(dirty_pages) == []
            Page.objects.update(not_before=F("not_before") - timedelta(hours=1))
            assert builder(dirty_pages) == [[4]]
        assert page_row("products", POISON).deaths == 5

    @pytest.mark.database
    def test_a_page_that_lives_again_has_no_past(self, dirty_pages):
        """By a build, and by a builder that was only asked to end."""
        assert [builder(dirty_pages)[-1] for _ in range(3)][-1] == [4]
        section = Section.objects.get(pk=dirty_pages[0])
        note_deploy(section, "other")
        (page,) = [it for it in Page.objects.claim(dirty_pages) if it.number == POISON]
        Page.objects.release([page], is_free=True)
        page = page_row("products", POISON)
        assert (page.attempts, page.deaths, page.not_before) == (0, 0, None)

    def test_failures_are_no_deaths(self, dirty_pages):
        """A page that fails often, and one of whose builders dies, waits for no day."""
        for _ in range(MAX_ATTEMPTS + 3):
            while pages := Page.objects.claim(dirty_pages):
                Page.objects.release(pages, "it failed", is_to_blame=True)
            end_leases()
            pass_pauses()
        assert {page.deaths for page in Page.objects.all()} == {0}
        (page,) = Page.objects.claim(dirty_pages)  # by one who dies
        end_leases()
        claimed = [page for _ in range(8) for page in Page.objects.claim(dirty_pages)]
        assert page.pk in [page.pk for page in claimed]

    def test_pages_without_a_past_go_first(self, dirty_pages):
        Page.objects.filter(number=1).update(attempts=1)
        assert builder(dirty_pages)[0] == [2, 3, 4, 5, 6, 7, 8]


def test_a_page_that_fails_is_tried_once_however_long_the_build(shop, configure):
    """Even where its claim is old by the time that the others are built."""
    configure(LEASE_SECONDS=0)

    def bad_first(self: Any, row: Any) -> float:
        return 7.0 if row.slug == "product-00000" else 0.5

    shop(4, limit=1, on_error="raise", priority=bad_first)
    assert page_row("products", 1).attempts == 1
    assert len(build().sections[0].errors) == 1
    assert page_row("products", 1).attempts == 2
