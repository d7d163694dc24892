"""Pruning: objects and rows go once they are old, and all others stay."""

from __future__ import annotations

import json
import os
import re
import secrets
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.files.storage import InMemoryStorage
from django.core.management import CommandError
from django.db import OperationalError, connection
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus.building import worker
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import (
    Change,
    Delivery,
    Figure,
    Page,
    Publication,
    Section,
    State,
    base,
)
from django_sitemaps_plus.models.sections import SectionQuerySet
from django_sitemaps_plus.publishing import prune as pruning
from django_sitemaps_plus.publishing import sync
from django_sitemaps_plus.publishing.prune import PruneReport
from django_sitemaps_plus.publishing.tree import PublicTree
from django_sitemaps_plus.storage import AtomicFileSystemStorage, get_storage
from django_sitemaps_plus.storage.filesystem import TEMPORARY
from django_sitemaps_plus.storage.objects import list_objects
from tests.integration.building.overtaking import rename
from tests.support.builds import build_fully
from tests.support.published import all_rows, files, page_row, path_of
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

from .rows import deliver
from .time import DAYS, objects, pass_time, pointed, retire_third_page
from .time import run as prune

pytestmark = pytest.mark.django_db(transaction=True)

HOUR = timedelta(hours=1)


@pytest.fixture
def call(run: Any) -> Any:
    """Return what runs the command and gives what it writes."""
    return partial(run, "prune_sitemaps")


def flip(mark: str) -> set[str]:
    """Publish a change of all pages; return the objects that it has replaced."""
    before = pointed()
    rename(mark)
    build_fully()
    assert before.isdisjoint(pointed())
    return before


class TestGrace:
    """PRUNE_SECONDS counts from the moment at which an object is replaced."""

    @pytest.mark.parametrize(("age", "later"), [(2_400, 23), (23, 25)])
    def test_a_replaced_object_stays_for_the_grace(self, products, age, later):
        """Its own time says nothing of that; a young one stays for two graces."""
        pass_time(age * HOUR)
        old = flip("a")
        assert (prune().objects, prune().waiting) == (0, 4)  # with that of the index
        pass_time(later * HOUR)
        prune()
        assert old <= objects()
        pass_time(2 * HOUR)
        assert (prune().objects, prune().waiting) == (4, 0)
        assert objects() == pointed()

    def test_a_page_that_changes_all_the_time(self, products):
        """Its former objects go, though it is never left in peace for a grace."""
        for number in range(12):
            flip("abcdefghijkl"[number])
            pass_time(12 * HOUR)
            prune()
        assert len(objects()) <= 3 * 7

    def test_two_leases_at_least(self, products, configure):
        configure(PRUNE_SECONDS=0)
        pass_time()
        flip("a")
        pass_time(timedelta(seconds=110))
        assert prune().objects == 0
        pass_time(timedelta(seconds=20))
        assert prune().objects == 4

    def test_an_object_of_a_removed_page_stays_for_a_moment(self, products):
        """Until the next prune: a reader may be about to open it."""
        retire_third_page()
        pass_time()
        before = objects()
        assert prune().pages == 1
        assert objects() == before
        assert prune().objects == 1
        assert objects() == pointed() != before


class TestNamed:
    def test_the_object_of_a_piece_lies_in_the_directory_of_the_whole(self, products):
        """The page that has it keeps it, also after its next flip."""
        make_products(12, first=25)
        build_fully()
        pass_time()
        prune()
        assert pointed() == objects()
        page = Page.objects.filter(section__name="products").latest("number")
        assert f"products/{page.number}/" not in page.object
        old = flip("a")
        prune()
        assert page.object in old <= objects()
        pass_time()
        prune()
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
        prune()
        assert objects() == {*pointed(), page.object}
        publication.delete()
        prune()
        assert objects() == pointed()

    def test_those_of_a_plan_to_come_stay(self, products):
        Page.objects.filter(number=3, section__name="products").update(state=State.NEXT)
        pass_time()
        assert prune().waiting == 0
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
        prune()
        assert set(foreign) <= set(files())


def test_what_a_slow_builder_has_stored_stays(products, monkeypatch, crawl):
    """As long as it renews its claim: it will point to it."""
    real, is_first = worker.build_page, [True]

    def build_page(*arguments: Any) -> Any:
        built = real(*arguments)
        if is_first:
            is_first.pop()
            pass_time()
            Page.objects.exclude(token="").update(claimed_at=Now())
            prune()
            assert Page.objects.exclude(token="").count() == 3
        return built

    monkeypatch.setattr(worker, "build_page", build_page)
    rename("a")
    assert build_fully().sections[0].stored == 3
    assert pointed() <= objects()
    assert len(crawl()) == 3


@pytest.mark.parametrize("name", ["public", "sitemaps"])
def test_any_name_of_a_section_will_do(shop, crawl, name, media_root):
    shop(name=name)
    rename("a")
    build_fully()
    pass_time()
    assert prune().objects == 4
    paths = [f"/sitemap-{name}-{number}.xml" for number in (1, 2, 3)]
    assert [*crawl()] == paths
    shown = (media_root / "sitemaps" / "public").glob("*.gz")
    names = {"sitemap.xml.gz", *[f"{path[1:]}.gz" for path in paths]}
    assert {path.name for path in shown} == names


def test_queries_and_lists_grow_with_pages_and_not_with_objects(products, monkeypatch):
    real, lists = AtomicFileSystemStorage.listdir, []

    def listdir(self: Any, path: str) -> Any:
        lists.append(path)
        return real(self, path)

    monkeypatch.setattr(AtomicFileSystemStorage, "listdir", listdir)

    def cost() -> tuple[int, int]:
        lists.clear()
        with CaptureQueriesContext(connection) as queries:
            prune()
        return len(queries), len(lists)

    flip("a")
    few = cost()
    for mark in "bcdefghijk":
        flip(mark)
    assert cost() == few
    pass_time()
    assert cost() == few


def test_a_retired_page_is_served_until_it_goes(products, client, media_root):
    Product.objects.filter(pk__lte=products[8].pk).delete()
    Product.objects.filter(pk__gt=products[10].pk).delete()
    build_fully(allow_shrink=True)
    retired = Page.objects.filter(state=State.RETIRED).earliest("number")
    path = f"/sitemap-products-{retired.number}.xml"
    shown = media_root / "sitemaps" / "public" / f"{path[1:]}.gz"
    assert client.get(path).status_code == 200
    assert shown.exists()
    assert prune().pages == 0
    pass_time()
    assert prune().pages == 2
    assert client.get(path).status_code == 410
    assert not shown.exists()
    pass_time()
    prune()
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
        return prune()

    @pytest.mark.database
    def test_it_goes_after_a_day(self, client, media_root, run):
        assert self.leave(23).pages == 0
        assert client.get("/sitemap-products-1.xml").status_code == 200
        assert build().missing == ["products"]
        report = self.leave(25)
        assert (report.pages, report.sections) == (3, ["products"])
        assert client.get("/sitemap-products-1.xml").status_code == 410
        assert client.get("/sitemap-products-9.xml").status_code == 404
        assert build().missing == []
        run("sitemap_status")
        pass_time()
        prune()
        assert objects() == set()
        assert not list((media_root / "sitemaps" / "public").glob("*products*"))
        assert prune() == PruneReport()

    def test_it_goes_now_if_a_person_says_so(self, client, crawl, call):
        said = call("--section", "products", "--now", "--dry-run")
        assert re.search(r"sections +1\n", said)
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
    def test_nothing_else_goes_now(self, call, arguments, said):
        before = all_rows()
        with pytest.raises(CommandError, match=said):
            call(*arguments)
        assert all_rows() == before

    def test_it_comes_back_with_new_numbers(self, sections, client, crawl):
        self.leave(25)
        prune()
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
        days = {("products", "1"): DAYS, ("products", "2"): 0 * DAYS}
        days["others", "1"] = DAYS
        for (name, low), ago in days.items():
            Change.objects.create(section=name, kind="key", low=low, at=Now() - ago)
        prune()
        assert [change.low for change in Change.objects.order_by("pk")] == ["2", "1"]


@pytest.fixture
def everything(products: Any, sections: Any, configure: Any) -> None:
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
    configure(ENGINES={"known": {}})
    old, now = timezone.now() - DAYS, timezone.now()
    deliver("0", engine="known", sent=1, not_before=old)
    deliver("1", engine="known", sent=1, not_before=now)
    deliver("2", engine="known", sent=0, not_before=old)
    deliver("3", engine="known", sent=1, not_before=old, is_feed=True)
    deliver("4", engine="known", sent=0, not_before=old, dead_since=old)
    deliver("5", engine="lost", sent=0, changed_at=old)
    deliver("6", engine="lost", sent=0, changed_at=now)
    for site, days in (("default", 29), ("default", 31), ("another", 31)):
        hour = timezone.now() - timedelta(days=days)
        key = {"site": site, "name": "products", "kind": Figure.Kind.PAGES}
        Figure.objects.create(**key, hour=hour)


def test_a_dry_run_says_what_a_prune_removes(everything, call):
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
    # Whatever was rejected stays, however old, until somebody has seen it.
    Delivery.objects.update(changed_at=timezone.now() - DAYS)
    words = call().split()
    assert words[words.index("deliveries") + 1] == "1"
    kept = Delivery.objects.order_by("target").values_list("target", flat=True)
    assert [*kept] == ["1", "2", "3", "4"]
    assert call("--verbosity", "0") == ""


@pytest.mark.database
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
        assert prune().deliveries == 5
    assert not Delivery.objects.exists()
    asked = [q["sql"] for q in queries if Delivery._meta.db_table in q["sql"]]
    begun = [re.search(r"\bid\W+ > (\d+)", sql) for sql in asked]
    assert [int(found[1]) for found in begun if found] == [0, *keys[1:5:2], keys[4]]


def test_engines_that_cannot_be_read_lose_no_delivery(configure):
    configure(ENGINES=["indexnow"])
    old = timezone.now() - DAYS
    Delivery.objects.create(site="default", engine="indexnow", changed_at=old)
    assert prune().deliveries == 0
    assert Delivery.objects.exists()


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
    prune()
    assert len([*root.rglob(".sitemaps-plus-*")]) == 2
    later = timezone.now() + DAYS
    monkeypatch.setattr(timezone, "now", lambda: later)
    prune()
    assert not [*root.rglob(".sitemaps-plus-*")]


def test_a_link_to_an_old_object_is_not_old(products, monkeypatch):
    """The file has the time of its publication, long ago."""
    page = page_row("products", 1)
    Page.objects.filter(pk=page.pk).update(
        published_at=timezone.now() - timedelta(days=9)
    )
    real = os.replace

    def prune_before(source: Any, target: Any) -> None:
        prune()
        real(source, target)

    monkeypatch.setattr(os, "replace", prune_before)
    found = path_of(page).parents[3] / "public" / "sitemap-products-1.xml.gz"
    found.unlink()
    sync.show([page.pk])
    assert found.stat().st_mtime < timezone.now().timestamp() - 86_400


SECTIONS = ("a", "b", "c")


class RefusingStorage(InMemoryStorage):
    """Deletes nothing that is held, lists nothing that is shut; all of it is old."""

    def __init__(self) -> None:
        super().__init__()
        self.held: set[str] = set()
        self.shut: set[str] = set()

    def delete(self, name: str) -> None:
        if name in self.held:
            raise RuntimeError("AccessDenied: legal hold")
        if not self.exists(name):
            raise FileNotFoundError(name)
        super().delete(name)

    def listdir(self, path: str) -> Any:
        if path.rpartition("/")[2] in self.shut:
            raise RuntimeError("https://us:hush@s3.example/bucket is shut")
        return super().listdir(path)

    def get_modified_time(self, name: str) -> Any:
        return super().get_modified_time(name) - DAYS


class Renaming(RefusingStorage):
    """Never stores anything under the name that it was given."""

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name.replace(".xml.gz", f"_{secrets.token_hex(4)}.xml.gz")


@pytest.fixture(params=[RefusingStorage])
def storage(request: Any, sections: Any, settings: Any, configure: Any) -> Any:
    """Have old objects: three of each section, and one of the index."""
    backend = f"{__name__}.{request.param.__name__}"
    settings.STORAGES = {**settings.STORAGES, "sitemaps": {"BACKEND": backend}}
    configure(STORAGE="sitemaps")
    make_products(25)
    for name in SECTIONS:
        sections.register(name, limited(10))
    build_fully()
    rename("x")
    build_fully()
    pass_time(timedelta())
    return get_storage()


def old() -> set[str]:
    """Return the objects that no page points to."""
    named = set(Page.objects.values_list("object", flat=True))
    known = Section.objects.values_list("name", "namespace")
    stored = [list_objects(*found).values() for found in known]
    return {name for pages in stored for names in pages for name in names} - named


def test_an_object_that_cannot_be_deleted(storage, call, monkeypatch):
    """A storage that refuses all is not asked for thousands: each takes its time."""
    monkeypatch.setattr(pruning, "MAX_FAILURES", 2)
    storage.held = {name for name in old() if "/a/" in name}
    said = re.escape("AccessDenied: legal hold (and 1 more failures)")
    with pytest.raises(CommandError, match=said):
        call()
    assert old() == storage.held
    storage.held = {min(storage.held)}
    for _ in range(2):
        with pytest.raises(StoreError, match=r"legal hold$"):
            prune()
        assert old() == storage.held
    storage.held = set()
    assert prune().objects == 1
    assert old() == set()


def test_a_public_name_that_stays(products, monkeypatch):
    def hide(self: PublicTree, name: str) -> None:
        raise StoreError(f"{name} stays")

    retire_third_page()
    monkeypatch.setattr(PublicTree, "hide", hide)
    with pytest.raises(StoreError, match=r"^sitemap-products-3 stays$"):
        prune()
    assert not Page.objects.filter(number=3).exists()


def test_a_section_that_cannot_be_listed(storage):
    """Those after it are pruned; what is said holds no password of an address."""
    storage.shut = {"a"}
    with pytest.raises(StoreError, match=r"/a/ could not be listed: .* shut") as caught:
        prune()
    assert "https://***@s3.example" in str(caught.value)
    assert "hush" not in str(caught.value)
    storage.shut = set()
    assert {name.split("/")[1] for name in old()} == {"a"}
    assert prune().objects == 3


@pytest.mark.parametrize("verb", ["listdir", "get_modified_time"])
def test_a_storage_without_lists_or_times(storage, monkeypatch, call, verb):
    def lacks(self: Any, name: str) -> Any:
        raise NotImplementedError(f"subclasses must provide a {verb}() method")

    monkeypatch.setattr(RefusingStorage, verb, lacks)
    retire_third_page()
    with pytest.raises(CommandError, match=rf"provide a {verb}\(\) method"):
        call()
    assert not Page.objects.filter(number=3).exists()


@pytest.mark.parametrize("verb", ["delete", "get_modified_time"])
def test_an_object_that_another_prune_has_deleted(storage, monkeypatch, verb):
    real = getattr(RefusingStorage, verb)

    def after_another(self: Any, name: str) -> Any:
        InMemoryStorage.delete(self, name)
        return real(self, name)

    monkeypatch.setattr(RefusingStorage, verb, after_another)
    assert prune().objects == 10
    assert old() == set()


@pytest.mark.parametrize("error", [PermissionError(13, "no"), FileNotFoundError(2, "")])
def test_an_unfinished_file_that_stays_or_has_just_gone(products, monkeypatch, error):
    """All else goes on; the message names a file that stays."""
    directory = path_of(page_row("products", 1)).parent
    (directory / f"{TEMPORARY}1").touch()
    monkeypatch.setattr(Path, "unlink", Mock(side_effect=error))
    later = timezone.now() + DAYS
    monkeypatch.setattr(timezone, "now", lambda: later)
    retire_third_page()
    with (
        pytest.raises(StoreError, match=f"/{TEMPORARY}1 could not be removed")
        if (error.errno == 13)
        else nullcontext()
    ):
        prune()
    assert not Page.objects.filter(number=3).exists()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE.*_change",
        "DELETE.*_page",
        "UPDATE.*_page. SET .token",
        "UPDATE.*_section",
    ],
)
def test_a_transaction_that_loses_is_tried_again(products, sections, statement):
    """Builders and relays write the same rows; the command hears of no deadlock."""
    sections.unregister("products")
    since = timezone.now() - DAYS
    Section.objects.update(missing_since=since)
    Page.objects.filter(number=2).update(token="t", claimed_at=Now() - DAYS)
    Change.objects.create(section="products", kind="key", low="1", at=Now() - DAYS)
    lost: list[str] = []

    def lose(execute: Any, sql: str, *rest: Any) -> Any:
        if re.match(statement, sql) and not lost:
            lost.append(sql)
            raise OperationalError(1213, "Deadlock found when trying to get lock")
        return execute(sql, *rest)

    with connection.execute_wrapper(lose):
        assert prune().pages == 3
    assert len(lost) == 1
    assert not Change.objects.exists()
    assert not Page.objects.filter(section__name="products").exists()


@pytest.mark.parametrize("storage", [Renaming], indirect=True)
def test_a_storage_that_gives_names_of_its_own(storage, crawl):
    assert "_" in page_row("a", 1).object
    assert len(old()) == 10
    assert prune().objects == 10
    assert old() == set()
    assert sum(map(len, crawl().values())) == 75
    assert files() == {}
