"""A build stores objects and rows that point to them, an index, and what it met."""

import gzip
import hashlib
import json
import logging
import re
from datetime import datetime, timedelta
from itertools import chain, count, pairwise
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.core.cache import cache
from django.core.files.storage import storages
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus.background.work import build_sections
from django_sitemaps_plus.building import flip, settle
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.index import note_failure
from django_sitemaps_plus.building.plan.replan import serve_live
from django_sitemaps_plus.building.report import SectionReport
from django_sitemaps_plus.building.store import BuiltPage, Result
from django_sitemaps_plus.conf import DEFAULT_SITE, Site, in_force
from django_sitemaps_plus.core import gzip as compression
from django_sitemaps_plus.core import limits
from django_sitemaps_plus.diagnostics import requests
from django_sitemaps_plus.diagnostics.problems import problems_of
from django_sitemaps_plus.diagnostics.status import read_dashboard, section_status
from django_sitemaps_plus.exceptions import ConfigurationError, StoreError
from django_sitemaps_plus.models import INDEX, Change, Figure, Page, Section, State
from django_sitemaps_plus.models.sections import take_origin
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.notifications.url_changes import relay_saves
from django_sitemaps_plus.publishing.prune import prune
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.sources.lines import MAX_TEXT
from django_sitemaps_plus.testing import RecordingEngine
from django_sitemaps_plus.tracking import known
from tests.integration.diagnostics.rows import ENGINE
from tests.support.builds import build_and_relay, build_fully
from tests.support.documents import read_index
from tests.support.faults import fail_queries
from tests.support.published import age, objects, page_row, path_of, seen, served
from tests.support.shop import START, limited, make_products, product_urls
from tests.support.testapp.models import Product

from .plan.plans import replace

PATHS = ("/sitemap.xml", *[f"/sitemap-products-{number}.xml" for number in (1, 2, 3)])


class TestFirstBuild:
    @pytest.fixture(autouse=True)
    def registered(self, stock: Any) -> None:
        stock(25)

    @pytest.mark.database
    def test_each_page_and_the_index_is_an_object_and_a_row(self):
        """Ranges part the whole key space, and the report adds up what is stored."""
        told: list[Any] = []
        report = build_fully(progress=lambda *step: told.append(step))
        pages = list(Page.objects.filter(section__name="products").order_by("number"))
        assert [(page.number, page.entries) for page in pages] == [
            (1, 10),
            (2, 10),
            (3, 5),
        ]
        for page in pages:
            packed = path_of(page).read_bytes()
            plain = gzip.decompress(packed)
            assert (page.gzip_size, page.plain_size) == (len(packed), len(plain))
            assert page.gzip_hash == hashlib.sha256(packed).hexdigest()
            assert page.plain_hash == hashlib.sha256(plain).hexdigest()
        keys = list(Product.objects.order_by("pk").values_list("pk", flat=True))
        cuts = [None, str(keys[10]), str(keys[20]), None]
        bounds = [(page.low, page.high) for page in pages]
        assert bounds == list(pairwise(cuts))
        (section,) = report.sections
        assert (section.section, section.pages, section.entries) == ("products", 3, 25)
        assert (section.stored, section.rendered) == (3, 3)
        assert section.plain_size == sum([page.plain_size for page in pages])
        assert section.gzip_size == sum([page.gzip_size for page in pages])
        assert told == [("products", done, 3) for done in (1, 2, 3)]
        index = page_row(INDEX, 0)
        assert index.entries == report.index_pages == 3
        assert gzip.decompress(path_of(index).read_bytes()).count(b"<sitemap>") == 3

    @pytest.mark.database
    def test_names_of_objects_are_never_used_again(self):
        build_fully()
        Section.objects.all().delete()
        build_fully()
        assert len(objects()) == 8
        for name in objects():
            form = r"(products/[123]|sitemap\.xml/0)/[0-9a-f]{16}-[0-9a-f]{16}\.xml\.gz"
            assert re.fullmatch(rf"[0-9a-f]{{16}}/{form}", name)

    def test_bad_rows_are_counted_and_named(self):
        """Rows and values apart, in the report, the dry run and on the page's row."""
        Product.objects.filter(slug="product-00001").update(slug="no slug")
        rows = Product.objects.filter(slug__in=["product-00014", "product-00015"])
        rows.update(popularity=7)
        replace(limited(10, priority="popularity"))
        for is_dry in (True, False):
            (section,) = build_fully(dry_run=is_dry).sections
            assert (section.entries, section.skipped, section.dropped) == (24, 1, 2)
            assert len(section.problems) == 3
        pages = Page.objects.filter(section__name="products").order_by("number")
        counts = list(pages.values_list("entries", "skipped", "dropped"))
        assert counts == [(9, 1, 0), (10, 0, 2), (5, 0, 0)]

    def test_another_storage_may_take_the_objects(self, settings, configure, client):
        """The bytes are those of the live pages all the same."""
        memory = "django.core.files.storage.InMemoryStorage"
        settings.STORAGES = {**settings.STORAGES, "sitemaps": {"BACKEND": memory}}
        configure(STORAGE="sitemaps")
        live = [client.get(path).content for path in PATHS[1:]]
        build_fully()
        assert storages["sitemaps"].exists(page_row("products", 1).object)
        assert objects() == {}
        assert [client.get(path).content for path in PATHS[1:]] == live


def test_a_dry_run_plans_a_section_whose_pages_were_pruned(shop):
    """Its numbers are still used."""
    shop().pages.all().delete()
    [section] = build_fully(dry_run=True).sections
    assert (section.pages, section.entries) == (3, 25)


class TestSecondBuild:
    @pytest.fixture(autouse=True)
    def built(self, monkeypatch: Any, shop: Any) -> None:
        monkeypatch.setattr(compression, "isal_zlib", None)
        shop()
        age()

    @pytest.mark.parametrize("level", [None, 1], ids=["same", "other compression"])
    def test_nothing_is_stored_where_nothing_changed(self, client, monkeypatch, level):
        """Equal plain bytes are the same page: object, ETag and dates stay."""
        before = served(), objects(), seen(client, *PATHS)
        page = page_row("products", 1)
        plain = gzip.decompress(path_of(page).read_bytes())
        if level is not None:
            monkeypatch.setattr(compression, "_ZLIB_LEVEL", level)
        is_same = compression.write_document([plain]).gzip_hash == page.gzip_hash
        assert is_same == (level is None)
        report = build_fully()
        assert [section.stored for section in report.sections] == [0]
        assert (served(), objects(), seen(client, *PATHS)) == before

    def test_nothing_left_is_404(self, client):
        """A site without entries has no index, built or not."""
        Product.objects.all().delete()
        build_fully(allow_shrink=True)
        assert [client.get(path).status_code for path in PATHS] == [404] * 4
        make_products(1)
        build_fully()
        assert client.get("/sitemap.xml").status_code == 200

    @pytest.mark.parametrize(
        "damage",
        [lambda path: path.unlink(), lambda path: path.write_bytes(b"half")],
        ids=["gone", "cut short"],
    )
    def test_an_object_that_is_lost_is_stored_again(self, client, damage):
        """Under another name, and no reader sees a difference."""
        before = seen(client, *PATHS)
        for page in (page_row("products", 2), page_row(INDEX, 0)):
            damage(path_of(page))
        (section,) = build_fully().sections
        assert section.stored == 1
        for page in (page_row("products", 2), page_row(INDEX, 0)):
            assert path_of(page).stat().st_size == page.gzip_size
        assert seen(client, *PATHS) == before


@pytest.mark.django_db(transaction=True)
class TestDamagedObjects:
    @pytest.mark.parametrize("damage", ["gone", "changed"])
    def test_one_that_a_view_missed_is_stored_again(self, products, client, damage):
        """By the next build, though nothing has changed."""
        before = client.get(PATHS[2])
        path = path_of(page_row("products", 2))
        if damage == "gone":
            path.unlink()
        else:
            path.write_bytes(b"x" * path.stat().st_size)
        live = client.get(PATHS[2])
        assert live.content == before.content
        assert "Last-Modified" not in live
        assert build().sections[0].stored == 1
        assert path_of(page_row("products", 2)).exists()
        assert client.get(PATHS[2])["ETag"] == before["ETag"]

    def test_one_that_came_back_is_left_alone(self, products, client):
        """A view may have looked while a disk was away."""
        path = path_of(page_row("products", 2))
        away = path.rename(path.with_suffix(".away"))
        client.get(PATHS[2])
        away.rename(path)
        assert build().sections[0].stored == 0

    def test_the_audit_finds_an_index_that_is_gone(self, products):
        """As it does pages, though no view has told this process of it."""
        build()
        index = page_row(INDEX, 0)
        path_of(index).unlink()
        build()
        assert not path_of(page_row(INDEX, 0)).exists()
        Page.objects.filter(pk=index.pk).update(checked_at=Now() - timedelta(days=2))
        build()
        assert path_of(page_row(INDEX, 0)).exists()


PAGE = "https://example.com/sitemap-products-1.xml"
GONE, KEPT = "/sitemap-gone-1.xml", "/sitemap-kept-1.xml"


def is_now(moment: datetime | None) -> bool:
    assert moment is not None
    return timedelta() <= timezone.now() - moment < timedelta(minutes=1)


class TestLastmod:
    @pytest.fixture
    def rebuilt(self, sections: Any, client: Any) -> Any:
        """Return what builds and gives the lastmod of page 1 in the index."""
        sections.register("products", limited(10))

        def rebuilt() -> datetime | None:
            build_fully()
            text = read_index(client.get("/sitemap.xml").content)[PAGE]
            return datetime.fromisoformat(text) if text else None

        return rebuilt

    def test_it_is_the_newest_lastmod_of_the_entries(self, rebuilt):
        """It follows when that rises; bytes that change otherwise have the present."""
        make_products(5)
        assert rebuilt() == START + timedelta(minutes=4)
        moment = START + timedelta(days=3)
        Product.objects.filter(slug="product-00001").update(updated_at=moment)
        assert rebuilt() == moment
        Product.objects.filter(slug="product-00001").update(slug="renamed")
        assert is_now(rebuilt())

    def test_it_never_falls(self, rebuilt, monkeypatch):
        """The newest entry gone is a change of today, not a return to yesterday.

        Clocks are set back, and that of another worker may be slow.
        """
        make_products(5)
        rebuilt()
        Product.objects.filter(slug="product-00004").delete()
        first = rebuilt()
        assert is_now(first)
        Product.objects.update(updated_at=F("updated_at") - timedelta(days=1))
        second = rebuilt()
        assert second > first
        earlier = timezone.now() - timedelta(hours=1)
        monkeypatch.setattr(flip.timezone, "now", lambda: earlier)
        Product.objects.filter(slug="product-00001").update(slug="renamed")
        assert rebuilt() == second + timedelta(seconds=1)

    def test_it_is_not_in_the_future(self, rebuilt):
        make_products(2, updated_at=timezone.now() + timedelta(days=1))
        assert is_now(rebuilt())

    def test_nobody_knows_it_where_no_entry_has_a_date(self, rebuilt):
        """Nothing is said at first; from the first change on, its time."""
        make_products(2, updated_at=None)
        assert [rebuilt(), rebuilt()] == [None, None]
        make_products(1, first=2, updated_at=None)
        assert is_now(rebuilt())


class TestOrder:
    @pytest.fixture
    def indexes(self, client: Any) -> Any:
        """Return what gives section and number of each page that each index lists."""

        def indexes() -> list[list[str]]:
            found = []
            for name in chain(["sitemap"], (f"sitemaps-{it}" for it in count(2))):
                answer = client.get(f"/{name}.xml")
                if answer.status_code == 404:
                    return found
                found.append([url[28:-4] for url in read_index(answer.content)])
            raise AssertionError("there is no end")

        return indexes

    @pytest.fixture
    def at_most(self, monkeypatch: Any) -> Any:
        def at_most(count: int) -> None:
            monkeypatch.setattr(limits, "MAX_ENTRIES", count)

        return at_most

    def test_sections_are_in_the_order_of_registration(self, sections, stock, indexes):
        """And pages in that of their numbers, past nine too; a build moves none."""
        stock(11, limit=1, name="z")
        sections.register("a", limited(10))
        (live,) = indexes()
        build_fully()
        expected = [*[f"z-{number}" for number in range(1, 12)], "a-1", "a-2"]
        assert (live, indexes()) == (expected, [expected])

    def test_more_pages_than_an_index_may_list_go_into_others(
        self, sections, stock, indexes, at_most
    ):
        """In the order in which they were made, and there they stay."""
        at_most(2)
        stock(3, limit=1)
        sections.register("more", limited(2))
        build_fully()
        first = [["products-1", "products-2"], ["products-3", "more-1"], ["more-2"]]
        assert indexes() == first
        make_products(1, first=3)
        build_fully()
        assert indexes() == [*first[:2], ["products-4", "more-2"]]

    def test_new_plans_leave_the_first_index_no_page(self, sections, indexes, at_most):
        """It then lists the pages of the next index: a crawler may know no other."""
        at_most(3)
        make_products(30)
        for limit in (10, 11, 10, 11, 10):
            sections._registry.clear()
            sections.register("products", limited(limit))
            build(replan=True)
            assert len(indexes()[0]) == 3


def test_it_awaits_every_section(sections, stock, crawl):
    """Until each was built once it is rendered live, and names them all."""
    stock(25)
    sections.register("more", limited(20))
    live = crawl()
    assert build_fully(["more"]).index_pages is None
    assert crawl() == live
    assert build_fully(["products"]).index_pages == 5
    assert crawl() == live


def test_it_follows_while_another_section_is_new(products, sections, crawl):
    """A section that was never built keeps no other from being listed."""
    sections.register("more", limited(20))
    make_products(10, first=25)
    build_fully(["products"])
    assert sum(map(len, crawl().values())) == 35


def test_a_builder_at_work_leaves_the_index_of_a_site_that_moves(shop):
    """It began with the old origin, which the index would have once more."""
    moved, moves = Site(DEFAULT_SITE, "https://moved.example"), False

    def lastmod(self: Any, product: Any) -> Any:
        if moves:
            with in_force(moved):
                take_origin(has_moved=True)
        return product.updated_at

    shop(1, lastmod=lastmod)
    before, moves = page_row("", 0).object, True
    Product.objects.get().save()
    with pytest.raises(ConfigurationError, match=r"belong to https://moved\.example"):
        build()
    assert page_row("", 0).object == before


class TestMissing:
    """A section that has left the registry is named at once, and listed for a day."""

    @pytest.fixture(autouse=True)
    def gone(self, sections: Any) -> None:
        make_products(3)
        for name in ("kept", "gone"):
            sections.register(name, limited(10))
        build_fully()
        sections.unregister("gone")

    @pytest.mark.parametrize(("hours", "listed"), [(23, [KEPT, GONE]), (25, [KEPT])])
    def test_it_is_listed_for_a_day_and_served_on(self, crawl, client, hours, listed):
        """A deploy may be under way; only a prune takes its pages."""
        assert list(crawl()) == [KEPT, GONE]
        assert build().missing == ["gone"]
        now = timezone.now()
        rows = Section.objects.filter(name="gone", missing_since__isnull=False)
        assert rows.update(missing_since=now - timedelta(hours=hours)) == 1
        # An index that is older is rendered again by the audit, whatever it lists.
        indexes = Page.objects.filter(section__name=INDEX)
        indexes.update(checked_at=now - timedelta(hours=23))
        assert build().missing == ["gone"]
        assert list(crawl()) == listed
        assert client.get(GONE).status_code == 200

    @pytest.mark.parametrize("is_built", [False, True])
    def test_an_index_that_is_rendered_meanwhile_lists_it(self, crawl, is_built):
        """By a view, or by the next build: as after an edit of another section."""
        build()
        indexes = Page.objects.filter(section__name=INDEX)
        indexes.update(wanted=F("wanted") + 1)
        if is_built:
            build()
            assert not indexes.filter(wanted__gt=F("built")).exists()
        assert list(crawl()) == [KEPT, GONE]

    def test_the_log_names_it_once_and_the_command_each_time(self, run, caplog):
        """An error, since a person is to know if it was meant; no command fails."""
        for _ in range(2):
            assert run("build_sitemaps").endswith(
                "gone: no longer registered. Its pages leave the index after 24 hours, "
                "and are served until prune_sitemaps removes them. "
                "Register it again if it is to stay. If you renamed or removed it, run "
                "prune_sitemaps --section gone --now\n"
            )
        [record] = [r for r in caplog.records if r.msg.startswith("No longer")]
        assert (record.levelno, record.action) == (logging.ERROR, "section_missing")
        assert "section 'gone'" in record.getMessage()
        assert json.loads(run("build_sitemaps", json=True))["missing"] == ["gone"]
        assert run("build_sitemaps", verbosity=0) == ""


HOUR = timezone.now().replace(minute=0, second=0, microsecond=0)

#: What a database could take for something else, in a slug that no URL may have.
ODD = 'it\'s "bad" \\ \x01 %s {} \U0001f600 '


def spoil(*products: Product) -> None:
    """Give products slugs without a URL, as a saved edit does."""
    for product in products:
        product.slug = f"{ODD}{product.pk}"
        product.save()


def mend(*products: Product) -> None:
    for product in products:
        product.slug = f"mended-{product.pk}"
        product.save()


def kept(section: Section) -> dict[int, list[int]]:
    """Return the keys of the rows that the active pages say they leave out."""
    pages = section.pages.active().order_by("number")
    rows = pages.values_list("number", "problems")
    return {number: [int(it["key"]) for it in found] for number, found in rows}


@pytest.mark.database
def test_a_build_keeps_them_and_the_next_forgets_them(shop):
    """As data, also those of a page whose bytes stay as they were."""
    section = shop(30)
    products = list(Product.objects.order_by("pk"))
    assert kept(section) == {1: [], 2: [], 3: []}
    spoil(products[3], products[4], products[25])
    build()
    bad = [products[3].pk, products[4].pk]
    assert kept(section) == {1: bad, 2: [], 3: [products[25].pk]}
    page = section.pages.get(number=1)
    reason = page.problems[0].pop("reason")
    assert page.problems[0] == {
        "action": "row_skipped",
        "row": f"Product {bad[0]}",
        "model": "testapp.Product",
        "key": str(bad[0]),
        "field": "location",
    }
    assert reason.startswith("NoReverseMatch: ")
    assert "\\x01 %s {} \U0001f600" in reason

    products[3].name = "another"  # its bytes have no name
    products[4].delete()
    products[3].save()
    build()
    assert kept(section)[1] == [products[3].pk]
    assert section.pages.get(number=1).object == page.object

    mend(products[3], products[25])
    build()
    assert kept(section) == {1: [], 2: [], 3: []}


@pytest.mark.database
def test_a_split_a_merge_and_a_new_plan_share_them_out(shop):
    """Each page has those of the rows in its own range."""
    section = shop(40)
    products = list(Product.objects.order_by("pk"))
    bad = [products[n] for n in (12, 19, 34, 38)]
    spoil(*bad)
    build()
    before = section.pages.active().count()
    make_products(20, 40)
    bad.append(Product.objects.order_by("pk")[45])
    spoil(bad[-1])
    build()
    assert section.pages.active().count() > before
    assert_shared_out(section, bad)
    for product in [*products[2:12], *products[13:19], *products[22:30]]:
        product.delete()
    build(allow_shrink=True)
    assert section.pages.filter(state="retired").exists()
    assert_shared_out(section, bad)
    replace(limited(7))
    build(replan=True)
    assert_shared_out(section, bad)


def assert_shared_out(section: Section, bad: list[Product]) -> None:
    found = kept(section)
    for page in section.pages.active():
        low, high = int(page.low or 0), int(page.high or 10**9)
        assert found[page.number] == [it.pk for it in bad if low <= it.pk < high]


def test_a_held_page_keeps_those_of_what_is_published(shop):
    """What the guard holds is not what visitors see."""
    section = shop(150, limit=200)
    products = list(Product.objects.order_by("pk"))
    spoil(products[7])
    build()
    spoil(*products[50:])
    build()
    assert Page.objects.filter(hold="held").count() == 1
    assert kept(section) == {1: [products[7].pk]}


@pytest.mark.database
def test_they_are_bounded(shop):
    """However many rows are bad, and however long the words are."""

    def location(self: Any, row: Product) -> str:
        raise ValueError("x" * 10_000)

    section = shop(50, limit=100, location=location)
    [problems] = section.pages.values_list("problems", flat=True)
    assert len(problems) == 20
    assert max(len(it["reason"]) for it in problems) <= MAX_TEXT


@pytest.mark.database
def test_neither_a_view_nor_a_build_reads_them(shop, client):
    """They are for people, and may be long."""
    section = shop(10)
    with CaptureQueriesContext(connection) as asked:
        assert client.get("/sitemap-products-1.xml").status_code == 200
    assert "problems" not in asked[0]["sql"]
    spoil(Product.objects.all()[0])
    section.pages.update(wanted=2)
    [page] = Page.objects.claim([section.pk])
    assert page.get_deferred_fields() == {"problems"}


def figures(name: str) -> dict[str, float]:
    rows = Figure.objects.filter(site="default", name=name, hour=HOUR)
    rows = rows.exclude(kind="rate")  # which is never the same
    return dict(rows.values_list("kind", "value"))


@pytest.mark.django_db(transaction=True)
class TestFigures:
    @pytest.fixture(autouse=True)
    def two_sections(self, sections: Any, stock: Any, monkeypatch: Any) -> None:
        """Have two sections, of three pages and one, and a clock that stands."""
        stock(25)
        sections.register("others", limited(50))
        monkeypatch.setattr(timezone, "now", lambda: HOUR.replace(minute=59))

    @pytest.mark.database
    def test_builds_record_those_of_their_sections(self):
        """An hour has the entries and pages that the last one left."""
        build_and_relay()
        assert figures("products") == {"entries": 25, "pages": 3, "skipped": 0}
        assert figures("others") == {"entries": 25, "pages": 1, "skipped": 0}
        Product.objects.get(slug="product-00024").delete()
        for number in (2, 1):  # rows left out are no sum
            spoil(Product.objects.get(slug=f"product-0000{number}"))
            build_fully(["products"])
        assert figures("products") == {"entries": 22, "pages": 3, "skipped": 2}
        assert figures("others") == {"entries": 25, "pages": 1, "skipped": 0}
        assert not Figure.objects.filter(name="").exists()  # no index

    def test_the_last_build_says_how_fast_it_was(self):
        """By what it rendered; one that rendered nothing says nothing."""
        for rendered, seconds, expected in ((2, 0.5, 40), (1, 2, 5), (0, 1, 5)):
            work = {"pages": 2, "entries": 20, "rendered": rendered}
            SectionReport(section="products", seconds=seconds, **work).record()
            assert Figure.objects.get(kind="rate").value == expected
        build(["products"])
        assert Figure.objects.get(kind="rate").value > expected

    @pytest.mark.database
    def test_a_build_with_nothing_to_do_asks_nothing_more(self):
        build_and_relay()
        before = list(Figure.objects.order_by("pk").values())
        with CaptureQueriesContext(connection) as queries:
            build()
        assert not [q for q in queries if Figure._meta.db_table in q["sql"]]
        assert list(Figure.objects.order_by("pk").values()) == before

    def test_a_build_that_cannot_record_has_built(self, client, caplog):
        """The pages are published by then, and the log says what is missing."""
        with fail_queries(lambda sql: Figure._meta.db_table in sql):
            assert build().problems == []
        assert client.get("/sitemap-products-3.xml").status_code == 200
        assert "The figures of products are lost: the server closed" in caplog.text
        assert not Figure.objects.exists()


@pytest.mark.usefixtures("right_totals")
class TestTotals:
    """Rows of sections say what their pages come to, as a fixture compares."""

    @pytest.mark.database
    def test_they_count_what_leaves_no_trace_in_the_bytes(self, shop):
        """Rows that are left out, and whose page stays as it was."""
        section = shop(30)
        new = make_products(2, 30)
        spoil(*new)
        build()
        before = Section.objects.get(pk=section.pk)
        assert (before.planned, before.listed_pages) == (4, 3)
        assert (before.entries, before.skipped) == (30, 2)
        for product in new:
            product.delete()
        build()
        after = Section.objects.get(pk=section.pk)
        assert (after.entries, after.skipped) == (30, 0)
        assert after.published_at == before.published_at

    def test_a_section_that_empties_and_returns(self, shop):
        section = shop(30)
        Product.objects.all().delete()
        build(allow_shrink=True)
        row = Section.objects.get(pk=section.pk)
        assert (row.planned > 0, row.listed_pages, row.entries) == (True, 0, 0)
        assert (row.plain_size, row.gzip_size) == (0, 0)
        make_products(5, 30)
        build()
        assert Section.objects.get(pk=section.pk).entries == 5

    def test_a_plan_to_come_counts_once_it_is_served(self, shop, monkeypatch):
        section = shop(30)
        replace(limited(6))
        with monkeypatch.context() as patch:
            patch.setattr(settle, "finish_replan", lambda section: False)
            build(replan=True)
        row = Section.objects.get(pk=section.pk)
        assert (row.planned, row.listed_pages, row.entries) == (8, 3, 30)
        build()
        row = Section.objects.get(pk=section.pk)
        assert (row.planned, row.listed_pages, row.entries) == (5, 5, 30)

    @pytest.mark.database
    def test_a_builder_that_saw_the_old_plan_counts_by_the_new_one(self, shop):
        """Its page was of the next plan when it was claimed."""
        section = shop(30)
        page = section.pages.get(number=2)
        page.state = State.NEXT
        new = BuiltPage(object="x", is_changed=True, entries=9)
        Page.objects.filter(pk=page.pk).update(wanted=2, token="a")
        page.wanted, page.token = 2, "a"
        [done] = flip.flip([Result(page, new)])
        assert done.page.state == State.ACTIVE
        assert Section.objects.get(pk=section.pk).entries == 29

    @pytest.mark.database
    @pytest.mark.parametrize("options", [{}, {"replan": True}])
    def test_what_somebody_has_damaged_fails_no_build(self, shop, options):
        """A new plan sets it right, also one that has the pages of the old one.

        And so does the first build of a day.
        """
        section = shop(30)
        Section.objects.filter(pk=section.pk).update(entries=0, planned=-9, dropped=7)
        Product.objects.all()[0].delete()
        assert build(**options).problems == []
        if not options:
            rows = Section.objects.filter(pk=section.pk)
            rows.update(peak_since=F("peak_since") - timedelta(days=2))
            build()

    def test_what_is_served_live_or_gone_counts_nothing(self, shop, sections):
        section = shop(30)
        serve_live(["products"])
        row = Section.objects.get(pk=section.pk)
        assert (row.planned, row.entries, row.published_at) == (0, 0, None)
        build()
        sections.unregister("products")
        prune(get_site(), removed=["products"])
        row = Section.objects.get(pk=section.pk)
        assert (row.planned, row.entries, row.published_at) == (0, 0, None)


class Articles(Sitemap):
    def items(self) -> Any:
        return Product.objects.order_by("pk")

    def location(self, product: Any) -> str:
        return f"/articles/{product.slug}/"


@pytest.mark.django_db(transaction=True)
class TestAlwaysLive:
    """A section whose source says ``live = True`` is rendered on request."""

    @pytest.fixture(autouse=True)
    def built(self, sections: Any, shop: Any) -> Any:
        """Publish products and news, and then deploy products that are live."""
        RecordingEngine.clear()
        shop(25)
        sections.register("news", limited(50))
        build_and_relay()
        self.deploy(sections, limited(10, live=True))
        yield sections
        RecordingEngine.clear()

    def deploy(self, sections: Any, source: Any) -> None:
        """Give products another source, as of a process that has just begun."""
        sections.unregister("products")
        sections.register("products", source)
        known.forget()
        cache.clear()

    @pytest.mark.database
    def test_workers_leave_it_live(self, crawl):
        """The first build removes its pages; no build makes any, nor an index."""
        assert page_row(INDEX, 0).object
        reports = list[Any]()
        for options in ({}, {}, {"notices": False}, {"full": True, "replan": True}):
            build_sections(built=reports.append, **options)
            build_sections(["products"], built=reports.append)
            assert set(Page.objects.values_list("section__name", flat=True)) == {
                INDEX,
                "news",
            }
            assert (page_row(INDEX, 0).built, page_row(INDEX, 0).object) == (0, "")
        assert [it.problems for it in reports] == [[]] * 8
        assert reports[0].live == reports[1].live == ["products"]
        assert [it.section for it in reports[0].sections] == ["news"]
        assert {it.index_pages for it in reports} == {None}
        assert sorted(crawl()) == ["/sitemap-news-1.xml", *sorted(PATHS[1:])]
        assert page_row("news", 1).object

    def test_it_is_left_alone_once_it_is_live(self, crawl):
        build()
        rows = [*Section.objects.filter(name="products").values()]
        index = page_row(INDEX, 0)
        build()
        assert [*Section.objects.filter(name="products").values()] == rows
        assert page_row(INDEX, 0).wanted == index.wanted
        assert len(crawl()) == 4

    @pytest.mark.parametrize("names", [[], ["news"]])
    def test_a_published_index_makes_way_for_a_new_one(self, built, crawl, names):
        """A built index lists no section without pages."""
        self.deploy(built, limited(10))
        build()
        built.register("posts", limited(10, live=True))
        assert len(crawl()) == 4
        assert build(names).index_pages is None
        cache.clear()
        assert len(crawl()) == 7

    def test_it_may_be_built_again(self, built, crawl, configure):
        """As a new section: nothing that it lists is announced."""
        build()
        configure(ENGINES={"one": ENGINE}, NOTIFY=True, NOTIFY_DELAY_SECONDS=0)
        self.deploy(built, limited(10))
        assert build_and_relay().index_pages == 4
        notify_engines()
        assert RecordingEngine.told() == []
        assert [
            page.number for page in Section.objects.get(name="products").pages.all()
        ]
        assert page_row(INDEX, 0).object
        assert len(crawl()) == 4

    def test_one_that_would_be_absent_keeps_its_pages(self, configure, crawl):
        """The build says why, and the others are built."""
        configure(LIVE_MAX_ROWS=10)
        before = page_row("products", 1)
        Product.objects.update(name="other")
        report = build(full=True)
        assert "LIVE_MAX_ROWS" in report.problems[0]
        assert (report.live, len(report.problems)) == ([], 1)
        assert [(it.section, it.rendered) for it in report.sections] == [
            ("news", 1),
            ("products", 0),
        ]
        assert page_row("products", 1).wanted == before.wanted
        assert "LIVE_MAX_ROWS" in Section.objects.get(name="products").fault
        assert len(crawl()) == 4
        configure(LIVE_MAX_ROWS=100)
        assert (build().live, build().problems) == (["products"], [])
        assert Section.objects.get(name="products").fault == ""
        assert len(crawl()) == 4

    def test_a_fault_of_the_index_is_over(self):
        """No build of it says so."""
        build()
        note_failure(StoreError("no space"))
        [status] = read_dashboard([get_site()])
        assert "index_failed" in {it.id for it in problems_of(status)}
        build()
        [status] = read_dashboard([get_site()])
        assert problems_of(status) == []

    def test_a_fault_of_a_section_without_pages_is_over(self, built):
        """A build that failed before the deploy has left it."""
        source = limited(10, get_queryset=lambda self: 1 / 0)
        built.register("posts", source)
        build()
        assert Section.objects.get(name="posts").fault
        built.unregister("posts")
        built.register("posts", limited(10, live=True))
        build()
        assert Section.objects.get(name="posts").fault == ""

    def test_one_that_was_pruned_and_comes_back_is_served(self, built, client):
        """Its pages are not gone."""
        built.unregister("products")
        prune(get_site(), removed=["products"])
        assert client.get(PATHS[1]).status_code == 410
        built.register("products", limited(10, live=True))
        build()
        assert client.get(PATHS[1]).status_code == 200

    def test_saves_are_recorded_for_engines_alone(self, configure):
        """They are told of saves as before a first build.

        As long as there are pages, all are: the process may be rolled back.
        """
        row = Product.objects.get(slug="product-00003")
        for expected in ({"news", "products"}, {"news"}):
            row.save()
            assert set(Change.objects.values_list("section", flat=True)) == expected
            build()
            Change.objects.all().delete()
            known.forget()
        configure(ENGINES={"one": ENGINE}, NOTIFY=True, NOTIFY_DELAY_SECONDS=0)
        known.forget()
        row.save()
        assert section_status(get_site())[1].changes == 0
        build()
        relay_saves()
        notify_engines()
        assert product_urls([3])[0] in RecordingEngine.told()

    def test_nobody_asks_for_a_build_of_it(self, configure):
        configure(ENGINES={"one": ENGINE}, NOTIFY=True)
        build()
        Product.objects.get(slug="product-00003").save()
        Change.objects.update(at=timezone.now() - timedelta(days=9))
        [status] = read_dashboard([get_site()])
        found = {it.section: it for it in status.sections}
        assert (found["products"].live, found["products"].always_live) == (True, True)
        assert (found["news"].live, found["news"].always_live) == (False, False)
        problems = problems_of(status, max_age=3_600)
        assert {it.subject for it in problems if it.id == "section_overdue"} == {"news"}
        assert requests.refresh(get_site(), "products") is False
        assert requests.rebuild(get_site(), "products") is False
        assert requests.refresh(get_site(), "news") is True

    def test_classes_of_contrib_may_say_so(self, built):
        live = type("Live", (Articles,), {"live": True})
        given = {"class": live, "instance": live(), "callable": lambda: live()}
        others = {
            "method": type("Other", (Articles,), {"live": lambda self: 1}),
            "text": type("Other", (Articles,), {"live": "yes"}),
            "nothing": Articles,
        }
        for name, source in {**given, **others, "fails": lambda: 1 / 0}.items():
            built.register(name, source)
        assert set(built.live()) == {"products", *given}
        assert set(build().live) == {"products", *given}
        pages = Page.objects.exclude(section__name__in=(INDEX, "news"))
        assert {it.section.name for it in pages} == others.keys()

    def test_each_site_has_its_own(self, built, configure):
        """The index of a site without the section is published."""
        self.deploy(built, limited(10, live=True, sites=["shop"]))
        Page.objects.all().delete()
        Section.objects.all().delete()
        sites = {it: {"BASE_URL": f"https://{it}.example"} for it in ("shop", "blog")}
        configure(SITES=sites, BASE_URL=None)
        reports = list[Any]()
        for _ in range(2):
            build_sections(built=reports.append)
        assert {len(it.live) + len(it.sections) for it in reports} == {1, 2}
        indexes = Page.objects.filter(section__name=INDEX).exclude(object="")
        assert [it.section.site for it in indexes] == ["blog"]
        assert not Page.objects.filter(section__name="products").exists()
