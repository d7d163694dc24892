"""Whatever fails, what was published before stays, and the next build mends it."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import DatabaseError, InterfaceError, OperationalError

from django_sitemaps_plus.exceptions import BuildError, SourceError, StoreError
from django_sitemaps_plus.storage import AtomicFileSystemStorage
from tests.integration.builds import build
from tests.integration.faults import fail_queries, fail_save, writes_to
from tests.integration.published import age, objects, rows, seen
from tests.integration.shop import limited, make_products
from tests.testapp.models import Product

pytestmark = pytest.mark.django_db

PATHS = ("/sitemap.xml", *[f"/sitemap-products-{number}.xml" for number in (1, 2, 3)])


@pytest.fixture
def before(sections: Any, client: Any) -> tuple[Any, ...]:
    """Publish three pages, change rows of each; return what readers see."""
    make_products(25)
    sections.register("products", limited(10))
    build()
    age()
    Product.objects.update(frequency="changed")
    for number in (1, 12, 23):
        slug = f"product-{number:05}"
        Product.objects.filter(slug=slug).update(slug=f"{slug}-x")
    return rows(), seen(client, *PATHS)


def assert_unchanged(before: tuple[Any, ...], client: Any) -> None:
    assert (rows(), seen(client, *PATHS)) == before


def assert_next_build_succeeds(client: Any) -> None:
    build()
    found = seen(client, *PATHS)
    assert [answer[0] for answer in found.values()] == [200] * 4
    assert sum(answer[1].count(b"-x/") for answer in found.values()) == 3


class TestStorage:
    @pytest.mark.parametrize("number", [1, 2, 3])
    def test_a_save_that_fails_publishes_nothing(
        self, before, client, monkeypatch, number
    ):
        """Pages stored before the n-th are not published without the rest."""
        with monkeypatch.context() as patch:
            fail_save(patch, number)
            with pytest.raises(StoreError, match="No space left on device"):
                build()
            assert_unchanged(before, client)
        assert_next_build_succeeds(client)

    def test_an_index_that_cannot_be_stored_stays_the_old_one(
        self, before, client, monkeypatch
    ):
        """The pages are new by then; the index that lists them is the last."""
        old_index = before[1]["/sitemap.xml"]
        with monkeypatch.context() as patch:
            fail_save(patch, 4)
            with pytest.raises(StoreError, match="index/0/"):
                build()
        found = seen(client, *PATHS)
        assert found["/sitemap.xml"] == old_index
        assert [answer[0] for answer in found.values()] == [200] * 4
        assert_next_build_succeeds(client)

    def test_the_first_build_may_fail_too(self, sections, client, monkeypatch):
        """Then the views go on rendering live."""
        make_products(25)
        sections.register("products", limited(10))
        live = seen(client, *PATHS)
        with monkeypatch.context() as patch:
            fail_save(patch, 2)
            with pytest.raises(StoreError):
                build()
        assert seen(client, *PATHS) == live

    @pytest.mark.parametrize("error", [OSError(5, "I/O error"), RuntimeError("S3")])
    def test_the_command_says_what_failed(self, before, client, monkeypatch, error):
        """Whatever a storage raises, it exits with a message, not a traceback."""
        fail_save(monkeypatch, 1, error)
        with pytest.raises(CommandError) as caught:
            call_command("build_sitemaps", verbosity=0)
        message = str(caught.value)
        assert type(error).__name__ in message
        assert "products/" in message
        assert message.endswith("What was published before stays.")
        assert caught.value.returncode == 1
        assert_unchanged(before, client)

    def test_a_storage_that_cannot_say_what_it_has(self, before, client, monkeypatch):
        """exists() may fail as well."""
        build()
        age()
        before = rows(), seen(client, *PATHS)

        def refuse(self: Any, name: str) -> bool:
            raise TimeoutError("no answer")

        with monkeypatch.context() as patch:
            patch.setattr(AtomicFileSystemStorage, "exists", refuse)
            with pytest.raises(StoreError, match="TimeoutError: no answer"):
                build()
        assert_unchanged(before, client)


class TestDatabase:
    @pytest.mark.parametrize("number", [1, 2])
    @pytest.mark.parametrize("error", [OperationalError, DatabaseError, InterfaceError])
    def test_a_flip_that_fails_publishes_nothing(self, before, client, number, error):
        """Every page of the section or none; whatever class the error has."""
        hits = writes_to("sitemaps_plus_")
        with (
            fail_queries(hits, number, error),
            pytest.raises(CommandError, match=r"the database failed: .*unexpectedly"),
        ):
            call_command("build_sitemaps", verbosity=0)
        assert_unchanged(before, client)
        assert_next_build_succeeds(client)

    def test_a_first_flip_that_fails_publishes_nothing(self, sections, client):
        """No row is left that would make the section look built."""
        make_products(25)
        sections.register("products", limited(10))
        live = seen(client, *PATHS)
        with fail_queries(writes_to("sitemaps_plus_page")), pytest.raises(BuildError):
            build()
        assert seen(client, *PATHS) == live
        build()
        assert seen(client, *PATHS[1:]).keys() == set(PATHS[1:])

    @pytest.mark.parametrize("number", [1, 3])
    def test_rows_that_cannot_be_read_publish_nothing(self, before, client, number):
        """The source's table may fail on any page."""
        with (
            fail_queries(lambda sql: "testapp_product" in sql, number),
            pytest.raises(SourceError, match="section 'products' could not be read"),
        ):
            build()
        assert_unchanged(before, client)
        assert_next_build_succeeds(client)

    def test_rows_that_cannot_be_planned_publish_nothing(self, sections, client):
        """The first plan reads the source too."""
        make_products(5)
        sections.register("products", limited(2))
        with (
            fail_queries(lambda sql: "testapp_product" in sql, 2),
            pytest.raises(SourceError, match="section 'products' could not be planned"),
        ):
            build()
        assert objects() == {}


class TestSources:
    def test_a_source_that_fails_keeps_sections_before_it(
        self, before, sections, client
    ):
        """Sections are published one after the other; the failing one is named."""
        sections.register("broken", limited(5, get_queryset=lambda self: 1 / 0))
        with pytest.raises(SourceError, match=r"section 'broken'.*ZeroDivisionError"):
            build()
        found = seen(client, *PATHS)
        assert b"-x/" in found[PATHS[1]][1]
        assert found["/sitemap.xml"] == before[1]["/sitemap.xml"]

    def test_on_error_raise_stops_the_build(self, sections, client):
        """And publishes nothing of the section."""
        make_products(5)
        strict = limited(2, on_error="raise", priority=lambda self, row: float("nan"))
        sections.register("strict", strict)
        with pytest.raises(CommandError, match="priority nan is no number"):
            call_command("build_sitemaps", verbosity=0)
        assert objects() == {}
        assert client.get("/sitemap-strict-1.xml").status_code == 503
