"""A query of the user's that fails keeps back its own section, not the whole run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.models import F, TextField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast, Length

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.models import MAX_ATTEMPTS, Page, Section
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources.reading import ModelReader, reader_of
from django_sitemaps_plus.tracking.deploys import fingerprint, note_deploy
from tests.reliability.tools.published import published_urls
from tests.support.builds import build_fully, pass_pauses
from tests.support.faults import fail_queries
from tests.support.published import age
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Product

from .overtaking import end_leases, work

pytestmark = pytest.mark.database

URL_BEFORE = "https://example.com/products/product-00001/"


def without_column(self: Any) -> Any:
    """Ask for a column that the table has not: a migration that was forgotten."""
    rows = ProductSource.get_queryset(self)
    return rows.annotate(extra=RawSQL("no_such_column", ())).filter(extra=1)


@contextmanager
def renamed(table: str, name: str) -> Iterator[None]:
    """Have a table under another name for the time of a ``with`` block."""
    rename = "ALTER TABLE {} RENAME TO {}"
    with connection.cursor() as cursor:
        cursor.execute(rename.format(table, name))
    yield
    with connection.cursor() as cursor:
        cursor.execute(rename.format(name, table))


IN_AUTOCOMMIT = pytest.mark.django_db(transaction=True)
IN_TRANSACTION = pytest.mark.django_db()


@pytest.fixture(
    params=[
        pytest.param(None, marks=IN_AUTOCOMMIT, id="in autocommit"),
        pytest.param(None, marks=IN_TRANSACTION, id="in a transaction"),
    ]
)
def two_sections(sections: Any) -> None:
    """Publish two sections, then change a row."""
    make_products(25)
    sections.register("products", limited(10))
    sections.register("others", limited(30))
    build_fully()
    age()
    Product.objects.filter(slug="product-00001").update(slug="renamed")


@pytest.fixture
def broken(two_sections: Any, sections: Any) -> None:
    """Deploy a source whose table lacks a column, and notice that."""
    sections.unregister("products")
    sections.register("products", limited(10, get_queryset=without_column))
    section = Section.objects.get(name="products")
    note_deploy(section, fingerprint(open_section("products")))


@IN_AUTOCOMMIT
def test_a_table_that_is_missing_for_some_builds(sections):
    """As while migrations run beside cron: plain builds recover, unasked."""
    make_products(25)
    sections.register("products", limited(10))
    build_fully()
    Page.objects.of("default", "products").update(wanted=F("wanted") + 1)
    with renamed(Product._meta.db_table, "a_table_that_moved"):
        for _ in range(MAX_ATTEMPTS):
            assert build().problems
    assert Page.objects.parked().count() == 3
    pass_pauses()
    assert build().problems == []
    assert not Page.objects.filter(attempts__gt=0).exists()


class TestSection:
    def test_a_missing_column_keeps_back_no_other(self, broken, client):
        """The command names it; what it had published stays."""
        with pytest.raises(CommandError, match=r"^products: .*no_such_column"):
            call_command("build_sitemaps", full=True, verbosity=0)
        assert b"renamed" in client.get("/sitemap-others-1.xml").content
        assert b"product-00001/" in client.get("/sitemap-products-1.xml").content

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

    def test_a_split_that_cannot_be_read_is_named(self, two_sections, sections):
        """The rows are counted only then, and by a query of its own."""

        class Refusing(ModelReader):
            max_entries = 5

            def count(self, *args: Any) -> int:
                with connection.cursor() as cursor:
                    cursor.execute("SELECT no_such_column FROM testapp_product")
                return 0

        source = limited(5)
        reader_of.register(source, Refusing)
        sections.unregister("products")
        sections.register("products", source)
        others, products = build_fully().sections
        assert "no_such_column" in products.errors[0]
        assert (others.errors, others.stored) == ([], 1)


def own_location(self: Any, product: Product) -> str:
    """Ask the database for each row, as a path through a related object does."""
    rows = Product.objects.filter(pk=product.pk)
    return f"/products/{rows.values_list('slug', flat=True)[0]}/"


def own_changefreq(self: Any, product: Product) -> str:
    """Ask it for what is not the location."""
    own_location(self, product)
    return "daily"


def malformed(self: Any, product: Product) -> str:
    """Fail in the database, by what is in the row."""
    raise OperationalError("malformed JSON")


def no_memory(self: Any, product: Product) -> str:
    """Fail by what it is, whatever the row."""
    raise MemoryError


def is_of_a_row(sql: str) -> bool:
    """Return whether it is asked for by :func:`own_location`."""
    return sql.replace("`", '"').startswith('SELECT "testapp_product"."slug" AS')


class TestRow:
    """A database that is away for a moment says nothing of the row it was asked for."""

    @pytest.mark.parametrize(
        "field", [{"location": own_location}, {"changefreq": own_changefreq}]
    )
    def test_no_row_is_left_out_for_a_query_of_its_own(
        self, two_sections, sections, field
    ):
        """What is published stays, and the next build has what was missing."""
        before = set(published_urls())
        sections.unregister("products")
        sections.register("products", limited(10, **field))
        with fail_queries(is_of_a_row, 13):
            section = build_fully(["products"]).sections[0]
        assert (section.skipped, section.dropped) == (0, 0)
        assert "server closed the connection" in section.errors[0]
        assert set(published_urls()) >= before - {URL_BEFORE}
        assert not Page.objects.filter(attempts__gt=0), "no page is to blame"
        section = build_fully(["products"]).sections[0]
        assert (section.errors, section.skipped) == ([], 0)

    @pytest.mark.parametrize(
        ("location", "errors", "skipped"),
        [(malformed, [], 25), (no_memory, ["MemoryError: "] * 3, 0)],
    )
    def test_a_row_is_left_out_for_its_own_query_and_not_for_want_of_memory(
        self, two_sections, sections, location, errors, skipped
    ):
        """Or its page would never be built; what SQLite says of it is no outage."""
        sections.unregister("products")
        sections.register("products", limited(10, location=location))
        section = build_fully(["products"], allow_shrink=True).sections[0]
        assert [error[-13:] for error in section.errors] == errors
        assert section.skipped == skipped


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="it ends a backend")
@pytest.mark.django_db(transaction=True)
def test_a_connection_that_broke_between_builds_costs_one(sections):
    """In a process that keeps its connection, as a daemon may."""
    make_products(2)
    sections.register("products", limited(10))
    with suppress(OperationalError), connection.cursor() as cursor:
        cursor.execute("SELECT pg_terminate_backend(pg_backend_pid())")
    with pytest.raises(BuildError):
        build_fully()
    assert build_fully().problems == []


@pytest.mark.skipif("connection.vendor != 'postgresql'", reason="it ends a backend")
@pytest.mark.django_db(transaction=True)
def test_a_connection_that_broke_is_opened_again(sections):
    """A statement that was cancelled with its connection costs one page."""
    made = make_products(25)
    cut = RawSQL(
        "CASE WHEN id = %s THEN pg_terminate_backend(pg_backend_pid()) END",
        (made[12].pk,),
    )

    def get_queryset(self: Any) -> Any:
        return ProductSource.get_queryset(self).annotate(
            cut=Length(Cast(cut, TextField()))
        )

    sections.register("products", limited(10))
    build_fully()
    sections.unregister("products")
    sections.register(
        "products", limited(10, get_queryset=get_queryset, priority="cut")
    )
    (section,) = build_fully().sections
    assert [error[:7] for error in section.errors] == ["page 2:"]
    assert (section.rendered, connection.is_usable()) == (2, True)
