"""Objects that no row names go once they are old; all others stay."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.building import worker
from django_sitemaps_plus.models import Page, Publication, State
from django_sitemaps_plus.storage import AtomicFileSystemStorage
from tests.integration.building.overtaking import end_leases, rename
from tests.support.builds import build_fully
from tests.support.published import files, page_row
from tests.support.shop import limited, make_products

from .time import DAYS, objects, pass_time, pointed, retire_third_page, run

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


def flip(mark: str) -> set[str]:
    """Publish a change of all pages; return the objects that it has replaced."""
    before = pointed()
    rename(mark)
    build_fully()
    assert before.isdisjoint(pointed())
    return before


class TestGrace:
    """PRUNE_SECONDS counts from the moment at which an object is replaced."""

    def test_an_object_that_stood_for_long(self, products):
        """Its own time says nothing of when it was replaced."""
        pass_time(100 * DAYS)
        old = flip("a")
        assert (run().objects, run().waiting) == (0, 4)  # with that of the index
        pass_time(23 * HOUR)
        run()
        assert old <= objects()
        pass_time(2 * HOUR)
        assert (run().objects, run().waiting) == (4, 0)
        assert objects() == pointed()

    def test_an_object_that_stood_for_less_than_the_grace(self, products):
        """It stays for two graces after it was stored."""
        pass_time(23 * HOUR)
        old = flip("a")
        pass_time(25 * HOUR)
        run()
        assert old <= objects()
        pass_time(2 * HOUR)
        run()
        assert objects() == pointed()

    def test_several_flips_within_the_grace(self, products):
        pass_time(100 * DAYS)
        replaced = []
        for number in range(6):
            replaced.append(flip("abcdef"[number]))
            pass_time(8 * HOUR)
            run()
            recent = replaced[-3:-1] if number < 3 else replaced[-2:]
            assert set().union(*recent) <= objects()
        for _ in range(2):
            pass_time(DAYS)
            run()
        assert objects() == pointed()

    def test_a_page_that_changes_all_the_time(self, products):
        """What it had goes, though it is never left in peace for a grace."""
        for number in range(12):
            flip("abcdefghijkl"[number])
            pass_time(12 * HOUR)
            run()
        assert len(objects()) <= 3 * 7

    def test_two_leases_at_least(self, products, configure):
        configure(PRUNE_SECONDS=0)
        pass_time()
        flip("a")
        pass_time(timedelta(seconds=110))
        assert run().objects == 0
        pass_time(timedelta(seconds=20))
        assert run().objects == 4

    def test_an_object_of_a_removed_page_stays_for_a_moment(self, products):
        """Until the next prune: a reader may be about to open it."""
        retire_third_page()
        pass_time()
        before = objects()
        assert run().pages == 1
        assert objects() == before
        assert run().objects == 1
        assert objects() == pointed() != before


class TestNamed:
    def test_the_object_of_a_piece_lies_in_the_directory_of_the_whole(self, products):
        """It is kept by the page that has it, and by that page after its next flip."""
        make_products(12, first=25)
        build_fully()
        pass_time()
        run()
        assert pointed() == objects()
        page = Page.objects.filter(section__name="products").latest("number")
        assert f"products/{page.number}/" not in page.object
        old = flip("a")
        run()
        assert page.object in old <= objects()
        pass_time()
        run()
        assert pointed() == objects()

    @pytest.mark.parametrize("side", ["old", "new"])
    def test_what_is_still_to_be_compared_stays(self, products, side):
        """A publication names it, so that the changed URLs can be found."""
        page = page_row("products", 1)
        flip("a")
        publication = Publication.objects.create(
            section=page.section, **{"old": [], "new": [], side: [page.object]}
        )
        pass_time()
        run()
        assert objects() == {*pointed(), page.object}
        publication.delete()
        run()
        assert objects() == pointed()

    def test_those_of_a_plan_to_come_stay(self, products):
        """Its pages are rows, though they are not served yet."""
        Page.objects.filter(number=3, section__name="products").update(state=State.NEXT)
        pass_time()
        assert run().waiting == 0
        assert objects() == pointed()

    def test_foreign_files_stay(self, products, media_root):
        foreign = [
            "notes.xml",
            "products/1/.htaccess",
            "products/1/page.xml.gz",
            "products/x/0123456789abcdef-0123456789abcdef.xml.gz",
            "products/99999999999999999999/notes",
            "public/favicon.ico",
            "others/1/0123456789abcdef-0123456789abcdef.xml.gz",
        ]
        for name in foreign:
            path = media_root / "sitemaps" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"mine")
        pass_time()
        run()
        assert set(foreign) <= set(files())


class TestBuilders:
    """A prune beside builds."""

    def after_stored(self, monkeypatch: Any, step: Any) -> None:
        """Do something when the next page is stored and not flipped yet."""
        real, todo = worker.build_page, [step]

        def build_page(*arguments: Any) -> Any:
            built = real(*arguments)
            if todo:
                todo.pop()()
            return built

        monkeypatch.setattr(worker, "build_page", build_page)

    def test_what_a_slow_builder_has_stored_stays(self, products, monkeypatch, crawl):
        """As long as it renews its claim: it will point to it."""

        def prune_later() -> None:
            pass_time()
            Page.objects.exclude(token="").update(claimed_at=Now())
            run()
            assert Page.objects.exclude(token="").count() == 3

        self.after_stored(monkeypatch, prune_later)
        rename("a")
        assert build_fully().sections[0].stored == 3
        assert pointed() <= objects()
        assert len(crawl()) == 3

    def test_a_sleeper_flips_nothing(self, products, monkeypatch, crawl):
        """Its claims are voided, and what it stored goes once it is old."""

        def sleep() -> None:
            end_leases()
            run()
            assert not Page.objects.exclude(token="").exists()

        self.after_stored(monkeypatch, sleep)
        before = pointed()
        rename("a")
        build_fully()  # the same build claims the pages again
        assert len(objects()) == 9
        assert pointed().isdisjoint(before)
        assert len(crawl()) == 3
        pass_time()
        run()
        assert objects() == pointed()


@pytest.mark.parametrize("name", ["public", "sitemaps"])
def test_any_name_of_a_section_will_do(sections, crawl, name, media_root):
    make_products(25)
    sections.register(name, limited(10))
    build_fully()
    rename("a")
    build_fully()
    pass_time()
    run()
    paths = [f"/sitemap-{name}-{number}.xml" for number in (1, 2, 3)]
    assert [*crawl()] == paths
    shown = set((media_root / "sitemaps" / "public").glob("*.gz"))
    assert {path.name for path in shown} == {
        "sitemap.xml.gz",
        *[f"{path[1:]}.gz" for path in paths],
    }
    stored = [path for path in files() if "/public/" not in f"/{path}"]
    assert len(stored) == 4 or name == "public"


def test_queries_and_lists_grow_with_pages_and_not_with_objects(products, monkeypatch):
    real, lists = AtomicFileSystemStorage.listdir, []

    def listdir(self: Any, path: str) -> Any:
        lists.append(path)
        return real(self, path)

    monkeypatch.setattr(AtomicFileSystemStorage, "listdir", listdir)

    def cost() -> tuple[int, int]:
        lists.clear()
        with CaptureQueriesContext(connection) as queries:
            run()
        return len(queries), len(lists)

    flip("a")
    few = cost()
    for mark in "bcdefghijk":
        flip(mark)
    assert cost() == few
    pass_time()
    assert cost() == few
