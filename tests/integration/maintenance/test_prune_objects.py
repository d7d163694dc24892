"""Objects that no row names go once they are old; all others stay."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus.building import worker
from django_sitemaps_plus.models import (
    Leftover,
    Page,
    Publication,
    State,
)
from django_sitemaps_plus.storage import AtomicFileSystemStorage
from tests.integration.building.overtaking import end_leases, rename
from tests.support.builds import build
from tests.support.published import files, page_row
from tests.support.shop import limited, make_products

from .time import DAYS, objects, pass_days, pointed, run

pytestmark = pytest.mark.django_db(transaction=True)


class TestObjects:
    def test_an_old_one_goes_when_it_was_one_for_long_enough(self, products):
        """Noticed first; removed by the first prune after PRUNE_SECONDS."""
        (old,) = {page_row("products", 1).object}
        rename("a")
        build()
        noticed = run()
        assert (noticed.objects, noticed.waiting) == (0, 4)  # with that of the index
        assert (run().objects, old in objects()) == (0, True)
        pass_days()
        assert (run().objects, run().waiting) == (4, 0)
        assert objects() == pointed()
        assert not Leftover.objects.exists()

    def test_the_time_counts_from_when_it_was_noticed(self, products, settings):
        """However long ago it was replaced."""
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "PRUNE_SECONDS": 1_000}
        rename("a")
        build()
        run()
        for seconds, removed in ((990, 0), (1_001, 4)):
            at = Now() - timedelta(seconds=seconds)
            Leftover.objects.update(noticed_at=at)
            assert run().objects == removed

    def test_two_leases_at_least(self, products, settings):
        """Whatever PRUNE_SECONDS says."""
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "PRUNE_SECONDS": 0}
        rename("a")
        build()
        run()
        assert run().objects == 0
        Leftover.objects.update(noticed_at=Now() - timedelta(seconds=121))
        assert run().objects == 4

    def test_the_time_is_that_of_the_database(self, products, monkeypatch):
        """The clock of the machine that prunes may be wrong."""
        rename("a")
        build()
        run()
        later = timezone.now() + DAYS
        monkeypatch.setattr(timezone, "now", lambda: later)
        assert run().objects == 0

    def test_one_that_is_still_to_be_compared_stays(self, products):
        """A publication names it, so that the changed URLs can be told."""
        old = page_row("products", 1)
        rename("a")
        build()
        publication = Publication.objects.create(
            section=old.section, old=[old.object], new=[]
        )
        for _ in range(2):
            run()
            pass_days()
        assert objects() == {*pointed(), old.object}
        publication.delete()
        run()
        assert old.object in objects()  # for as long as if it was replaced now
        pass_days()
        run()
        assert objects() == pointed()

    def test_one_between_two_flips_stays(self, products):
        """No page points to it any more, and a publication has it on its new side."""
        before = page_row("products", 1)
        rename("a")
        build()
        between = page_row("products", 1)
        rename("b")
        build()
        assert between.object not in pointed()
        Publication.objects.create(section=before.section, old=[], new=[between.object])
        for _ in range(2):
            run()
            pass_days()
        assert objects() == {*pointed(), between.object}

    def test_those_of_a_plan_to_come_stay(self, products):
        """Its pages are rows, though nobody is served them yet."""
        Page.objects.filter(number=3, section__name="products").update(state=State.NEXT)
        for _ in range(2):
            assert run().waiting == 0
        assert objects() == pointed()

    def test_foreign_files_stay(self, products, media_root, monkeypatch):
        """Whatever lies beside ours, hidden or not, and however old it is."""
        foreign = [
            "notes.txt",
            "products/notes.xml",
            "products/1/.htaccess",
            "products/1/.DS_Store",
            "products/1/page.xml.gz",
            "products/x/0123456789abcdef-0123456789abcdef.xml.gz",
            "products/99999999999999999999/notes",
            "public/.htaccess",
            "public/favicon.ico",
            "others/1/0123456789abcdef-0123456789abcdef.xml.gz",
        ]
        for name in foreign:
            path = media_root / "sitemaps" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"mine")
        later = timezone.now() + DAYS
        monkeypatch.setattr(timezone, "now", lambda: later)
        for _ in range(2):
            run()
            pass_days()
        assert set(foreign) <= set(files())

    def test_a_second_prune_at_the_same_time_is_no_fault(self, products, monkeypatch):
        """Each object is removed once, by whoever comes first."""
        rename("a")
        build()
        run()
        pass_days()
        real = AtomicFileSystemStorage.delete

        def delete_twice(self: Any, name: str) -> None:
            real(self, name)
            real(self, name)

        monkeypatch.setattr(AtomicFileSystemStorage, "delete", delete_twice)
        assert run().objects == 4


class TestBuilders:
    """A prune beside builds."""

    def after_stored(self, monkeypatch: Any, *steps: Any) -> None:
        """Do something when the next page is stored and not flipped yet."""
        real, todo = worker.build_page, list(steps)

        def build_page(*arguments: Any) -> Any:
            built = real(*arguments)
            if todo:
                todo.pop()()
            return built

        monkeypatch.setattr(worker, "build_page", build_page)

    def test_what_a_slow_builder_has_stored_stays(self, products, monkeypatch, crawl):
        """As long as it renews its claim: it will point to it."""

        def prune_twice() -> None:
            for _ in range(2):
                run()
                Page.objects.exclude(token="").update(claimed_at=Now())
                pass_days()

        self.after_stored(monkeypatch, prune_twice)
        rename("a")
        assert build().sections[0].stored == 3
        assert pointed() <= objects()
        assert len(crawl()) == 3

    def test_an_object_is_not_old_because_it_was_stored_long_before_its_flip(
        self, products, monkeypatch
    ):
        """It was needed in between; its time begins when it is replaced."""
        self.after_stored(monkeypatch, run)
        rename("a")
        build()
        pass_days()
        replaced = pointed()
        rename("b")
        build()
        run()
        assert replaced <= objects()

    def test_a_sleeper_flips_nothing(self, products, monkeypatch, crawl):
        """Its claims are voided, and what it stored goes once it is old."""

        def sleep() -> None:
            end_leases()
            assert run().claims == 3

        self.after_stored(monkeypatch, sleep)
        before = pointed()
        rename("a")
        build()  # the same build takes the pages anew
        assert len(objects()) == 9
        assert pointed().isdisjoint(before)
        assert len(crawl()) == 3
        for _ in range(2):
            run()
            pass_days()
        assert objects() == pointed()

    def test_a_living_claim_is_not_voided(self, products):
        """Only those whose lease is over."""
        Page.objects.filter(number=1).update(token="t", claimed_at=Now())
        assert run().claims == 0
        assert page_row("products", 1).token == "t"


@pytest.mark.parametrize("name", ["public", "index", "sitemaps", "sitemap", "a-1"])
def test_any_name_of_a_section_will_do(sections, crawl, name, media_root):
    """Also that of the directory of public names."""
    make_products(25)
    sections.register(name, limited(10))
    build()
    rename("a")
    build()
    for _ in range(2):
        run()
        pass_days()
    paths = [f"/sitemap-{name}-{number}.xml" for number in (1, 2, 3)]
    assert [*crawl()] == paths
    left = [path for path in files() if "/public/" not in f"/{path}"]
    shown = set((media_root / "sitemaps" / "public").glob("*.gz"))
    assert {path.name for path in shown} == {
        "sitemap.xml.gz",
        *[f"{path[1:]}.gz" for path in paths],
    }
    inodes = {path.stat().st_ino for path in shown}
    assert len(inodes) == 4
    if name != "public":
        assert len(left) == 4


def test_the_work_grows_with_pages_and_not_with_objects(products, monkeypatch):
    """Neither queries nor lists are more for ten times as many objects."""
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

    rename("a")
    build()
    few = cost()
    for mark in "bcdefghijk":
        rename(mark)
        build()
    many = cost()
    assert many[0] <= few[0]
    assert many[1] == few[1]
    pass_days()
    # What is removed is forgotten, in a few queries for all 30 of them.
    assert cost()[0] <= few[0] + 6
