"""Whatever fails, what readers find is complete, and the next build mends it."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import InterfaceError, OperationalError, connection
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.exceptions import BuildError, StoreError
from django_sitemaps_plus.models import MAX_ATTEMPTS, Page
from tests.support.builds import build_fully
from tests.support.faults import fail_queries, fail_save, writes_to
from tests.support.published import age, page_row, seen, served
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product

INDEX_PATH = "/sitemap.xml"
PATHS = (INDEX_PATH, *[f"/sitemap-products-{number}.xml" for number in (1, 2, 3)])

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
    """Return every URL that a crawler finds, sorted, without the marks of renames."""
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
        words = "To be tried again soon: 3. .*No space left on device"
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
        self, sections, client, crawl, monkeypatch
    ):
        """The plan may be there; its pages are rendered live until they are built."""
        make_products(25)
        sections.register("products", limited(10))
        live = seen(client, *PATHS)
        with fail_queries(is_flip, 2), pytest.raises(BuildError):
            build_fully()
        assert seen(client, *PATHS) == live
        build_fully()
        assert unmarked(crawl()) == product_urls(range(25))
