"""Rows that are past go with their names and files, and the command says so."""

from __future__ import annotations

import io
import json
import os
import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import (
    Change,
    Delivery,
    Figure,
    Page,
    Section,
    State,
    base,
)
from django_sitemaps_plus.models.sections import SectionQuerySet
from django_sitemaps_plus.publishing import sync
from django_sitemaps_plus.publishing.prune import PruneReport
from tests.integration.building.overtaking import rename
from tests.support.builds import build_fully
from tests.support.published import all_rows, files, page_row, path_of
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

from .time import DAYS, objects, pass_time, pointed, retire_third_page, run

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]


def test_a_retired_page_is_served_until_it_goes(products, client, media_root):
    Product.objects.filter(pk__lte=products[8].pk).delete()
    Product.objects.filter(pk__gt=products[10].pk).delete()
    build_fully(allow_shrink=True)
    retired = Page.objects.filter(state=State.RETIRED).earliest("number")
    path = f"/sitemap-products-{retired.number}.xml"
    shown = media_root / "sitemaps" / "public" / f"{path[1:]}.gz"
    assert client.get(path).status_code == 200
    assert shown.exists()
    assert run().pages == 0
    pass_time()
    assert run().pages == 2
    assert client.get(path).status_code == 410
    assert not shown.exists()
    pass_time()
    run()
    assert objects() == pointed()
    assert not [*media_root.glob(f"sitemaps/*/products/{retired.number}")]


class TestMissingSections:
    @pytest.fixture(autouse=True)
    def missing(self, products: Any, sections: Any) -> None:
        """Have products leave the registry."""
        make_products(5, first=25)
        build_fully()
        sections.register("others", limited(20))
        sections.unregister("products")
        build()

    def leave(self, hours: float) -> PruneReport:
        """Prune when they are missing for so long."""
        since = timezone.now() - timedelta(hours=hours)
        Section.objects.filter(name="products").update(missing_since=since)
        return run()

    def test_it_goes_after_a_day(self, client, media_root):
        """A deploy may be under way; rows, objects and names go then."""
        assert self.leave(23).pages == 0
        assert client.get("/sitemap-products-1.xml").status_code == 200
        assert build().missing == ["products"]
        report = self.leave(25)
        assert (report.pages, report.sections) == (3, ["products"])
        assert client.get("/sitemap-products-1.xml").status_code == 410
        assert client.get("/sitemap-products-9.xml").status_code == 404
        assert build().missing == []
        call_command("sitemap_status", stdout=io.StringIO())
        pass_time()
        run()
        assert objects() == set()
        assert not list((media_root / "sitemaps" / "public").glob("*products*"))
        assert run() == PruneReport()

    def test_it_goes_now_if_a_person_says_so(self, client, crawl):
        """It is removed or renamed; the index lists it no longer."""
        out = call("--section", "products", "--now", "--dry-run")
        assert re.search(r"sections +1\n", out)
        assert client.get("/sitemap-products-1.xml").status_code == 200
        call("--section", "products", "--now")
        assert client.get("/sitemap-products-1.xml").status_code == 410
        assert [path for path in crawl() if "products" in path] == []
        assert build().missing == []

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (
                ["--section", "others", "--now"],
                "'others' is registered, or has no pages",
            ),
            (["--section", "odd", "--now"], "'odd' .* registered are: 'products'"),
            (["--section", "products"], "--section and --now together"),
            (["--now"], "--section and --now together"),
        ],
    )
    def test_nothing_else_goes_now(self, arguments, said):
        """The message says which sections can."""
        before = all_rows()
        with pytest.raises(CommandError, match=said):
            call(*arguments)
        assert all_rows() == before

    def test_it_comes_back_with_new_numbers(self, sections, client, crawl):
        """No number stands for two pages."""
        self.leave(25)
        run()
        sections.register("products", limited(10))
        assert build_fully().sections[1].entries == 30
        assert [*crawl()] == [
            *[f"/sitemap-others-{n}.xml" for n in (1, 2)],
            *[f"/sitemap-products-{n}.xml" for n in (4, 5, 6)],
        ]
        assert client.get("/sitemap-products-1.xml").status_code == 410

    def test_one_that_comes_back_meanwhile_stays(self, monkeypatch):
        """Another process, that knows it, has just built it."""
        real = SectionQuerySet.lock

        def come_back(rows: SectionQuerySet, sections: Any) -> None:
            Section.objects.filter(name="products").update(missing_since=None)
            real(rows, sections)

        monkeypatch.setattr(SectionQuerySet, "lock", come_back)
        report = self.leave(25)
        assert (report.pages, report.sections) == (0, [])
        assert page_row("products", 1).object

    def test_its_changes_go(self):
        for name, low, at in (
            ("products", "1", Now() - DAYS),
            ("products", "2", Now()),
            ("others", "1", Now() - DAYS),
        ):
            Change.objects.create(section=name, kind="key", low=low, at=at)
        run()
        assert [change.low for change in Change.objects.order_by("pk")] == ["2", "1"]


def call(*arguments: str) -> str:
    """Return what the command writes."""
    out = io.StringIO()
    call_command("prune_sitemaps", *arguments, stdout=out)
    return out.getvalue()


@pytest.fixture
def everything(products: Any, sections: Any, settings: Any) -> None:
    """Have something of each kind to be removed."""
    rename("a")
    build_fully()
    for path in path_of(page_row("products", 1)).parent.iterdir():
        old = path.stat().st_mtime - DAYS.total_seconds()
        os.utime(path, (old, old))
    retire_third_page()
    Page.objects.filter(section__name="products", number=2).update(
        token="t", claimed_at=Now() - DAYS, wanted=F("wanted") + 1
    )
    sections.register("others", limited(20))
    build(["others"])
    since = timezone.now() - DAYS
    Section.objects.filter(name="others").update(missing_since=since)
    sections.unregister("others")
    Change.objects.create(section="others", kind="key", low="1", at=Now() - DAYS)
    deliver_to_known_and_lost_engines(settings)
    for site, days in (("default", 29), ("default", 31), ("another", 31)):
        hour = timezone.now() - timedelta(days=days)
        key = {"site": site, "name": "products", "kind": Figure.Kind.PAGES}
        Figure.objects.create(**key, hour=hour)


def deliver_to_known_and_lost_engines(settings: Any) -> None:
    """Have been told some long ago, and one by an engine that is gone."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ENGINES": {"known": {}}}
    old, now = timezone.now() - DAYS, timezone.now()
    for number, fields in enumerate(
        [
            {"engine": "known", "sent": 1, "not_before": old},
            {"engine": "known", "sent": 1, "not_before": now},
            {"engine": "known", "sent": 0, "not_before": old},
            {"engine": "known", "sent": 1, "not_before": old, "is_feed": True},
            {"engine": "known", "sent": 0, "not_before": old, "dead_since": old},
            {"engine": "lost", "sent": 0, "changed_at": old},
            {"engine": "lost", "sent": 0, "changed_at": now},
        ]
    ):
        usual = {"site": "default", "wanted": 1, "target": f"{number}"}
        Delivery.objects.create(**usual, **fields, target_hash=f"{number}")


def test_a_dry_run_says_what_a_prune_removes(everything):
    """And removes nothing; the object of an expired claim waits afterwards."""
    before = all_rows(), files()
    said = json.loads(call("--dry-run", "--json"))
    assert "Nothing was removed" in call("--dry-run")
    assert (all_rows(), files()) == before
    expected = {"pages": 3, "sections": ["others"], "objects": 1, "deliveries": 2}
    expected |= {"figures": 2}
    assert said == {**expected, "waiting": 3}
    assert json.loads(call("--json")) == {**expected, "waiting": 4}
    assert not Change.objects.filter(section="others").exists()
    assert not Page.objects.exclude(token="").exists()
    # Those of a site that was removed go too.
    assert set(Figure.objects.values_list("site", flat=True)) == {"default"}


def test_what_was_rejected_stays(everything):
    """However old it is, until somebody has seen it; so does what waits."""
    dead = Delivery.objects.dead().get()
    Delivery.objects.update(changed_at=timezone.now() - DAYS)
    words = call().split()
    assert words[words.index("deliveries") + 1] == "3"
    assert Delivery.objects.dead().get() == dead
    assert Delivery.objects.waiting().filter(engine="known").exists()
    assert call("--verbosity", "0") == ""


def test_no_delivery_is_passed_over_twice(configure, monkeypatch):
    """Of millions that go, each batch begins where the one before it ended."""
    monkeypatch.setattr(base, "REMOVED_AT_ONCE", 2)
    configure(ENGINES={})
    old = {"site": "default", "engine": "lost", "changed_at": timezone.now() - DAYS}
    Delivery.objects.bulk_create(
        [Delivery(target_hash=f"{number}", **old) for number in range(5)]
    )
    keys = list(Delivery.objects.order_by("pk").values_list("pk", flat=True))
    with CaptureQueriesContext(connection) as queries:
        assert run().deliveries == 5
    assert not Delivery.objects.exists()
    asked = [q["sql"] for q in queries if Delivery._meta.db_table in q["sql"]]
    begun = [re.search(r"\bid\W+ > (\d+)", sql) for sql in asked]
    assert [int(found[1]) for found in begun if found] == [0, *keys[1:5:2], keys[4]]


def test_files_of_killed_writers_go(products, media_root, monkeypatch):
    """When they are old; a writer may be at work on a younger one."""
    root = media_root / "sitemaps"

    def die(source: Any, target: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("os.replace", die)
        patch.setattr(Path, "unlink", lambda *args, **kwargs: None)
        rename("a")
        with pytest.raises(KeyboardInterrupt):
            build_fully()
        with pytest.raises(KeyboardInterrupt):
            sync.show([page_row("products", 2).pk])
    run()
    assert len([*root.rglob(".sitemaps-plus-*")]) == 2
    later = timezone.now() + DAYS
    monkeypatch.setattr(timezone, "now", lambda: later)
    run()
    assert not [*root.rglob(".sitemaps-plus-*")]


def test_a_link_to_an_old_object_is_not_old(products, monkeypatch):
    """The file has the time of its publication, long ago."""
    page = page_row("products", 1)
    Page.objects.filter(pk=page.pk).update(
        published_at=timezone.now() - timedelta(days=9)
    )
    real = os.replace

    def prune_before(source: Any, target: Any) -> None:
        run()
        real(source, target)

    monkeypatch.setattr(os, "replace", prune_before)
    found = path_of(page).parents[3] / "public" / "sitemap-products-1.xml.gz"
    found.unlink()
    sync.show([page.pk])
    assert found.stat().st_mtime < timezone.now().timestamp() - 86_400
