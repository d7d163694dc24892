"""Plans: made anew, and changed page by page as rows come and go."""

import uuid
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError
from django.db import models
from django.db.models import F
from django.db.models.functions import Now
from django.test.utils import isolate_apps

from django_sitemaps_plus import Entry, Source, planning, site_urls
from django_sitemaps_plus.building import build as building
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan.merge import merge
from django_sitemaps_plus.building.plan.split import split, split_ranges
from django_sitemaps_plus.core import limits
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.diagnostics.status import section_status
from django_sitemaps_plus.models import (
    INDEX,
    MAX_ATTEMPTS,
    Change,
    Page,
    Section,
    State,
)
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.sources.keys import KeySpace
from tests.support.builds import build_and_relay, build_fully
from tests.support.documents import locs, read_index
from tests.support.shop import START, ProductSource, limited, product_urls
from tests.support.testapp.models import Label, Product, Shop
from tests.support.told import hearing

from .plans import (
    add,
    dirty,
    everything,
    numbers,
    objects,
    of_labels,
    of_shops,
    plan_of,
    replace,
    sizes,
    spread,
)


@pytest.fixture
def command(run):
    return partial(run, "build_sitemaps")


@pytest.fixture
def section(spaced):
    return spaced(30)


class TestAskedFor:
    @pytest.mark.database
    def test_a_changed_limit_is_followed_at_once(self, section, crawl):
        """New pages get new numbers; the old ones are served until pruned."""
        before = everything(crawl())
        replace(limited(6))
        build(replan=True)
        assert sizes(section) == [6, 6, 6, 6, 6]
        assert numbers(section) == [4, 5, 6, 7, 8]
        assert everything(crawl()) == before
        assert section.pages.filter(state="retired").count() == 3
        replace(limited(15))
        build(replan=True)
        assert sizes(section) == [15, 15]

    def test_a_changed_limit_is_followed_as_pages_are_rendered(self, section):
        """Without --replan only a page that changed is cut anew."""
        replace(limited(6))
        build()
        assert sizes(section) == [10, 10, 10]
        Product.objects.get(pk=150).save()
        build()
        assert sizes(section) == [10, 5, 5, 10]

    def test_ranges_that_stay_the_same_keep_their_pages(self, section):
        """Their numbers, objects and lastmods too; rows that came are spread anew."""
        before = objects(section)
        build(replan=True)
        assert objects(section) == before
        assert not section.pages.filter(state="retired").exists()
        Product.objects.filter(pk__in=[10, 20, 30]).delete()
        build(replan=True)
        assert sizes(section) == [10, 10, 7]
        assert dirty(section) == []


class TestUnfinished:
    @pytest.fixture(autouse=True)
    def unfinished(self, section, failing, command):
        """Five pages are to come, and page 6, one of them, fails."""
        replace(limited(6))
        failing(6)
        with pytest.raises(CommandError, match="not today"):
            command("--replan")

    def test_the_old_plan_serves_until_the_new_one_is_complete(
        self, section, client, failing, media_root
    ):
        """No index lists pages of the next plan, and they are not served."""
        assert numbers(section) == [1, 2, 3]
        Page.objects.filter(section__name=INDEX).update(wanted=F("wanted") + 1)
        for _ in range(2):  # live, then published
            listed = list(read_index(client.get("/sitemap.xml").content))
            assert [url[-5:-4] for url in listed] == ["1", "2", "3"]
            assert client.get("/sitemap-products-2.xml").status_code == 200
            assert client.get("/sitemap-products-4.xml").status_code in (404, 410)
            assert not list(media_root.rglob("sitemap-products-4.*"))
            build()
        failing()
        section.pages.filter(number=6).update(attempts=0)
        build()
        assert sizes(section) == [6, 6, 6, 6, 6]

    def test_the_command_says_what_to_do(self, section, failing, command):
        """Each time, also once the page is left alone, which is then replaced."""
        parked = section.pages.filter(number=6)
        pause = {"tried": F("wanted"), "not_before": Now() + timedelta(hours=1)}
        parked.update(attempts=MAX_ATTEMPTS, error="why", **pause)
        for _ in range(2):
            with pytest.raises(CommandError, match="products --replan") as raised:
                command()
            assert "1 pages of its new plan are not built" in str(raised.value)
        assert numbers(section) == [1, 2, 3]
        (found,) = section_status(get_site())
        assert (found.parked, found.error) == (1, "why")
        failing()
        command("--replan")
        assert sizes(section) == [6, 6, 6, 6, 6]


def test_a_plan_that_was_complete_before_a_crash_is_taken(
    section, monkeypatch, command
):
    """No page is dirty then, so nothing else would bring the section up."""
    replace(limited(6))
    with monkeypatch.context() as patch:
        patch.setattr(building, "settle", lambda build, section: False)
        build(replan=True)
    assert numbers(section) == [1, 2, 3]
    command()
    assert sizes(section) == [6, 6, 6, 6, 6]


class TestShrinking:
    @pytest.fixture
    def section(self, spaced):
        """150 entries, of which a plan to come would list 30."""
        section = spaced(150, limit=50)
        Product.objects.filter(pk__gt=300).delete()
        replace(limited(20))
        return section

    @pytest.mark.parametrize("is_tracked", [True, False], ids=["noticed", "unnoticed"])
    def test_the_guard_holds_a_plan_until_it_may_pass(
        self, section, is_tracked, client, command
    ):
        """The old one is served, and the command says how to let the new one pass."""
        if not is_tracked:
            Change.objects.all().delete()
        with pytest.raises(CommandError, match="150 entries to 30") as raised:
            command("--replan")
        assert "build_sitemaps products --allow-shrink" in str(raised.value)
        assert numbers(section)[-2:] == [2, 3]
        assert client.get("/sitemap-products-3.xml").status_code == 200
        with pytest.raises(CommandError, match="150 entries to 30"):
            command()
        command("--allow-shrink")
        assert sizes(section) == [20, 10]
        command()

    def test_a_plan_may_pass_at_once(self, section, command):
        """And what it lists is what the next build is measured by."""
        command("--replan", "--allow-shrink")
        assert sizes(section) == [20, 10]
        Product.objects.get(pk=10).delete()
        command()
        section.refresh_from_db()
        assert section.hold_reason == ""

    def test_a_plan_passes_once_the_rows_are_back(self, section, command):
        with pytest.raises(CommandError):
            command("--replan")
        add(*range(310, 1510, 10))
        command()
        assert sum(sizes(section)) == 150
        assert max(sizes(section)) <= 22
        section.refresh_from_db()
        assert section.hold_reason == ""


def swap(section, first=0):
    """Leave bounds as a collation would that sorts the other way round.

    The pages before the first one stay.
    """
    pages = plan_of(section)[first:]
    bounds = [page.low for page in pages[1:]][::-1]
    for page, low, high in zip(
        pages, [pages[0].low, *bounds], [*bounds, None], strict=True
    ):
        section.pages.filter(pk=page.pk).update(low=low, high=high)


class TestBroken:
    """How a database sorts texts and UUIDs an upgrade of it may change."""

    @pytest.fixture
    def section(self, publish):
        Label.objects.bulk_create([Label(code=f"code-{n:02}") for n in range(20)])
        return publish(of_labels(5))

    @pytest.mark.database
    def test_bounds_that_do_not_ascend_get_a_new_plan(self, section, caplog, crawl):
        """Every row is listed once again; no page of the old plan is built any more.

        Any rows may lie between its bounds, and pieces of them fit no plan.
        """
        build()
        assert numbers(section) == [1, 2, 3, 4, 5]
        swap(section)
        section.pages.update(wanted=F("wanted") + 1)
        (report,) = build(allow_shrink=True).sections
        assert "is broken: it gets a new one" in caplog.text
        found = numbers(section)
        assert (report.rendered, found[0]) == (len(found), 6)
        expected = [f"https://example.com/labels/code-{n:02}/" for n in range(20)]
        assert everything(crawl()) == expected
        build()
        assert numbers(section) == found

    def test_pages_whose_bounds_stay_are_rendered_anew(self, section, crawl):
        """Between the same two bounds there are other rows in another order."""
        swap(section, first=1)
        # As if the order of before had put another row on the first page.
        Label.objects.filter(pk="code-02")._raw_delete("default")
        Label.objects.bulk_create([Label(code="code-01a")])
        build(allow_shrink=True)
        assert section.pages.get(number=1).state == "active"
        assert crawl()["/sitemap-products-1.xml"] == [
            f"https://example.com/labels/code-{n}/" for n in ("00", "01", "01a", "03")
        ]

    def test_a_page_that_owns_nearly_all_rows_is_not_split(self, spaced, crawl):
        """Its pieces would lie across the old plan and the new one, for good."""
        section = spaced(40, limit=4)
        urls = everything(crawl())
        section.pages.filter(number=1).update(high="1000")
        section.pages.filter(number=2).update(low="1000")
        section.fingerprint = "of an older deploy"
        section.save()
        assert build().problems == []
        assert everything(crawl()) == urls
        assert not section.pages.filter(state=State.NEXT).exists()

    @pytest.mark.parametrize("lost", [1, 2, 3])
    def test_pages_whose_rows_are_lost_come_back(self, spaced, crawl, command, lost):
        """As after a restore that had errors; a build by hand has a plan of its own."""
        section = spaced(30)
        urls = everything(crawl())
        section.pages.filter(number=lost).delete()
        Product.objects.latest("pk").save()
        Product.objects.earliest("pk").save()
        if lost != 2:  # few keys find their pages without the others
            with pytest.raises(CommandError, match="run build_sitemaps --full"):
                command()
        command("--full")
        assert everything(crawl()) == urls
        command()


def digits(count):
    """Add products whose slugs are digits too, all above their keys."""
    Product.objects.bulk_create(
        [Product(pk=100 + n, name=f"{n}", slug=f"{500 + n}") for n in range(count)]
    )


class Slugs(Source):
    limit = 10

    def entries(self, origin):
        slugs = Product.objects.order_by("pk").values_list("slug", flat=True)
        return [Entry(loc=f"{origin}/products/{slug}/") for slug in slugs]


@pytest.mark.database
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        # Digits in order, as text and as numbers; by them one page owned all rows.
        (limited(10), limited(10, key="slug"), [8, 8, 8, 6]),
        (limited(10, key="slug"), limited(10), [10, 10, 10]),
        # Every UUID is a string as well, and they come in the same order.
        (of_shops(10), of_labels(10), [8, 8, 8, 6]),
        # Positions are numbers in order, and so are integer keys.
        (Slugs, limited(10), [10, 10, 10]),
    ],
    ids=["to slug", "to pk", "UUIDs", "positions"],
)
def test_bounds_that_are_keys_of_both_types_get_a_new_plan(
    publish, crawl, before, after, expected
):
    digits(30)
    Shop.objects.bulk_create([Shop() for _ in range(30)])
    Label.objects.bulk_create([Label(code=f"z-{n:02}") for n in range(30)])
    section = publish(before)
    replace(after)
    build()
    assert sizes(section) == expected
    assert len(set(everything(crawl()))) == 30
    assert build().sections[0].rendered == 0


@pytest.mark.parametrize("limit", [10, 50], ids=["pages", "one page"])
def test_a_save_beside_it_is_published_and_told(publish, crawl, limit):
    """In the same refresh, whether the plan has other pages then or the one it had."""
    digits(30)
    section = publish(limited(limit))
    saved = Product.objects.get(pk=115)
    saved.updated_at = START
    saved.save()
    replace(limited(limit, key="slug"))
    with hearing(urls_changed) as heard:
        build_and_relay()
    told = [url for news in heard if news["announce"] for url in news["updated"]]
    assert told == ["https://example.com/products/515/"]
    assert len(everything(crawl())) == 30
    assert (dirty(section), Change.objects.count()) == ([], 0)


def test_a_new_plan_that_could_not_be_made_is_made_later(publish, monkeypatch):
    digits(30)
    section = publish(limited(10))
    replace(limited(10, key="slug"))
    with monkeypatch.context() as patch:
        patch.setattr(planning, "key_ranges", lambda *_: 1 / 0)
        assert "ZeroDivisionError" in build().sections[0].errors[0]
    assert numbers(section) == [1, 2, 3]
    assert dirty(section) == []
    build()
    assert sizes(section) == [8, 8, 8, 6]


def test_a_plan_to_come_of_another_type_is_given_up(publish, failing):
    """Its bounds are those of the keys before the deploy, too."""
    digits(30)
    section = publish(limited(10))
    replace(limited(6))
    failing(6)
    build(replan=True)
    failing()
    replace(limited(10, key="slug"))
    build()
    assert sizes(section) == [8, 8, 8, 6]


def test_a_wider_key_of_the_same_type_keeps_the_plan(spaced, monkeypatch):
    """A migration to BigAutoField, say; its pages are rendered once more."""
    section = spaced(30)
    field = Product._meta.pk
    monkeypatch.setattr(field, "db_type", lambda connection: "numeric")
    replace(limited(15))  # a new plan would have other pages
    assert build().sections[0].rendered == 3
    assert numbers(section) == [1, 2, 3]


SOME_BYTES = 1_000


@pytest.fixture
def small_limits(monkeypatch: Any) -> None:
    monkeypatch.setattr(limits, "HISTORIC_BYTES", SOME_BYTES)
    monkeypatch.setattr(limits, "HISTORIC_SITEMAPS", 3)


def shops(count):
    Shop.objects.bulk_create([Shop(pk=uuid.UUID(int=n << 100)) for n in range(count)])


class TestFirstPlans:
    @pytest.mark.database
    def test_uuids_leave_room_for_random_inserts(self, publish):
        """A page splits above its limit and a tenth, no sooner; others stay."""
        shops(25)
        section = publish(of_shops(10))
        assert sizes(section) == [8, 8, 8, 1]  # four fifths of what a page should hold
        before = objects(section)
        found = []
        for number in range(1, 5):
            Shop.objects.create(pk=uuid.UUID(int=number))
            build()
            found.append(sizes(section))
        assert found == [[9, 8, 8, 1], [10, 8, 8, 1], [11, 8, 8, 1], [6, 6, 8, 8, 1]]
        assert {n: before[n] for n in (2, 3, 4)}.items() <= objects(section).items()

    @pytest.mark.parametrize("is_historic", [False, True])
    def test_pages_of_many_bytes_get_fewer_rows(
        self, spaced, monkeypatch, configure, small_limits, is_historic
    ):
        """None is rendered for nothing, and then split, as with many languages."""
        configure(HISTORIC_LIMITS=is_historic)
        if not is_historic:
            monkeypatch.setattr(limits, "MAX_BYTES", SOME_BYTES)
        section = spaced(30, limit=20)
        assert numbers(section) == list(range(1, len(sizes(section)) + 1))
        assert sizes(section)[0] < 20
        assert len({*sizes(section)[:-1]}) == 1
        assert sum(sizes(section)) == 30

    def test_a_limit_of_one_is_a_row_a_page(self, publish):
        shops(3)
        assert sizes(publish(of_shops(1))) == [1, 1, 1]

    @pytest.mark.database
    def test_live_and_stored_pages_have_the_same_numbers(self, sections, crawl):
        shops(25)
        sections.register("shops", of_shops(10))
        live = crawl()
        assert len(live) == 4
        build()
        assert crawl() == live


def uuid7():
    """Stand for the function of this name that newer Pythons have."""
    return uuid.uuid4()


@pytest.mark.parametrize(
    ("field", "grows"),
    [
        (models.BigAutoField(primary_key=True), True),
        (models.PositiveIntegerField(primary_key=True), True),
        (models.UUIDField(primary_key=True, default=uuid.uuid4), False),
        (models.UUIDField(primary_key=True, default=uuid7), True),
        (models.UUIDField(primary_key=True), False),
        (models.CharField(max_length=9, primary_key=True), False),
    ],
)
@isolate_apps("tests.support.testapp")
def test_the_field_tells_whether_keys_grow(field, grows):
    """Its type, and for UUIDs the function that makes them."""
    meta = type("Meta", (), {"app_label": "testapp"})
    body = {"__module__": __name__, "Meta": meta, "code": field.clone()}
    model = type("Grown", (models.Model,), body)
    assert KeySpace(model, "pk", "default").grows is grows


def url(number):
    return f"/sitemap-products-{number}.xml"


def listed(client):
    found = read_index(client.get("/sitemap.xml").content)
    return sorted(int(loc.rsplit("-", 1)[1].split(".")[0]) for loc in found)


def stamps(section):
    """Return when each page has last changed, for crawlers and for clients."""
    rows = section.pages.filter(state="active")
    return {page.number: (page.lastmod, page.published_at) for page in rows}


class TestSplit:
    def test_the_last_page_is_cut_at_its_end(self, spaced):
        """Keys that grow fill pages to their limit, and older pages stay."""
        section = spaced(20)
        before = objects(section)
        stamped = stamps(section)
        add(210, 220)
        build()
        assert (numbers(section), sizes(section)) == ([1, 2, 3], [10, 10, 2])
        assert before.items() <= objects(section).items()
        assert stamped.items() <= stamps(section).items()

    @pytest.mark.database
    def test_another_page_is_halved(self, spaced):
        """The new page gets the next number, whatever its place."""
        section = spaced(30)
        add(111)
        build()
        assert sizes(section) == [10, 11, 10]  # it may grow by a tenth
        before = objects(section)
        add(112)
        build()
        assert (numbers(section), sizes(section)) == ([1, 2, 4, 3], [10, 6, 6, 10])
        after = objects(section)
        assert [n for n in before if before[n] != after[n]] == [2]

    def test_a_dry_run_cuts_the_last_page_by_its_bytes(self, publish, monkeypatch):
        """Its end is not where it is cut: its rows are less than its limit."""
        spread(14)
        publish(OfLargeRows)
        monkeypatch.setattr(limits, "MAX_BYTES", 4_000)
        (section,) = build_fully(dry_run=True).sections
        assert (section.pages > 1, section.entries) == (True, 14)

    def test_a_page_whose_rows_go_before_it_is_cut_stays_one(self, publish):
        spread(30)
        page = plan_of(publish(limited(10)))[1]
        Product.objects.filter(pk__gt=100, pk__lte=200).delete()
        ways = split_ranges(page, open_section(page.section))
        assert next(ways) == [KeyRange(page.low, page.high)]

    def test_a_page_whose_plan_was_replaced_meanwhile_is_not_cut(self, publish):
        """Its pieces would list what the new plan lists."""
        spread(30)
        section = publish(limited(10))
        page = plan_of(section)[1]
        replace(limited(7))
        build(replan=True)
        replace(limited(5))
        # As if it had been claimed just before.
        Page.objects.filter(pk=page.pk).update(token="a", wanted=9)
        page.token, page.wanted = "a", 9
        assert split(page, open_section(page.section)) == []
        assert sizes(section) == [7, 7, 7, 7, 2]


class OfLargeRows(ProductSource):
    """Rows whose bytes fill a page long before their number does."""

    limit = 100

    def location(self, item):
        return f"/{item.slug}/{'x' * 400}"


class TestMerge:
    @pytest.fixture
    def section(self, spaced):
        """Four pages of ten; then 2 and 3 shrink to two entries each."""
        section = spaced(40)
        for product in Product.objects.filter(pk__gt=120, pk__lte=200):
            product.delete()
        for product in Product.objects.filter(pk__gt=220, pk__lte=300):
            product.delete()
        return section

    @pytest.mark.database
    def test_two_small_neighbours_become_one(self, section, client):
        """The first keeps its number and takes the other's range.

        The other answers until it is pruned, since a crawler may hold an index that
        names it; then it is gone for ever, and nothing has its number again.
        """
        build(allow_shrink=True)
        assert (numbers(section), sizes(section)) == ([1, 2, 4], [10, 4, 10])
        page = section.pages.get(number=2)
        assert (page.low, page.high) == ("110", "310")
        assert dirty(section) == []
        assert locs(client.get(url(3)).content) == [
            f"https://example.com/products/p-{key}/" for key in (210, 220)
        ]
        assert listed(client) == [1, 2, 4]
        section.pages.filter(state="retired").delete()
        assert client.get(url(3)).status_code == 410
        assert client.get(url(5)).status_code == 404
        add(*range(211, 220), *range(221, 230))
        build()
        assert 3 not in numbers(section)
        build(replan=True, allow_shrink=True)
        used = list(section.pages.values_list("number", flat=True))
        assert 3 not in used
        assert len(set(used)) == len(used)

    def test_a_page_that_merges_with_an_empty_one_stays_as_it_was(self, spaced):
        """Its object and its lastmod too: of what it lists nothing has changed."""
        section = spaced(14)
        Product.objects.filter(pk__lte=60).delete()
        build()
        before, stamped = objects(section), stamps(section)
        Product.objects.filter(pk__gt=100).delete()
        build(allow_shrink=True)
        assert numbers(section) == [1]
        assert objects(section) == {1: before[1]}
        assert stamps(section) == {1: stamped[1]}

    def test_a_page_that_went_meanwhile_takes_in_nothing(self, section, crawl):
        Product.objects.filter(pk__gt=310, pk__lte=370).delete()
        build(allow_shrink=True)
        before = crawl()
        both = section.pages.with_section().filter(number__in=[3, 4])
        gone, behind = both.order_by("number")
        assert not merge(gone, behind, open_section(section))
        assert crawl() == before


class TestARaisedLimit:
    """Pages that were right for it are small by the new one."""

    @pytest.fixture
    def section(self, spaced):
        """Six pages of ten, which the next build would give 60."""
        section = spaced(60)
        replace(limited(60))
        return section

    def test_a_page_that_is_rendered_merges_with_a_neighbour(self, section, crawl):
        """As long as both together hold under half; no other page is touched."""
        urls = everything(crawl())
        before = objects(section)
        Product.objects.get(pk=250).save()
        build()
        assert (numbers(section), sizes(section)) == (
            [1, 2, 4, 5, 6],
            [10, 20] + [10] * 3,
        )
        after = objects(section)
        assert all(before[number] == after[number] for number in (1, 4, 5, 6))
        assert (everything(crawl()), dirty(section)) == (urls, [])

    def test_pages_that_a_deploy_marks_merge_all(self, section):
        """At once; and then they are left alone."""
        replace(limited(60, changefreq="daily"))
        build()
        assert sizes(section) == [20, 20, 20]
        assert build().sections[0].rendered == 0
        version = Section.objects.get(pk=section.pk).plan_version
        for key in (15, 205, 415):
            product = add(key)[0]
            build()
            product.delete()
            build()
        assert Section.objects.get(pk=section.pk).plan_version == version
        assert sizes(section) == [20, 20, 20]

    def test_a_last_page_that_grows_looks_for_no_neighbour(self, section):
        """It fills by itself, so a new row costs what it did before."""
        version = Section.objects.get(pk=section.pk).plan_version
        add(610)
        build()
        assert sizes(section) == [10, 10, 10, 10, 10, 11]
        assert Section.objects.get(pk=section.pk).plan_version == version


class TestEmptyPages:
    def test_an_empty_page_keeps_its_number_and_returns(self, spaced, client):
        """It leaves the index and answers 404 meanwhile."""
        section = spaced(30)
        Product.objects.filter(pk__gt=100, pk__lte=200).delete()
        build(allow_shrink=True)
        assert client.get(url(2)).status_code == 404
        assert listed(client) == [1, 3]
        assert (numbers(section), sizes(section)) == ([1, 2, 3], [10, 0, 10])
        add(150)
        build()
        assert locs(client.get(url(2)).content) == [
            "https://example.com/products/p-150/"
        ]
        assert listed(client) == [1, 2, 3]


class TestNoOscillation:
    def test_pages_that_are_full_by_their_bytes_do_not_merge(
        self, publish, monkeypatch
    ):
        """However few their entries are: the next insert would split them."""
        full = 4_000  # bytes
        spread(14)
        monkeypatch.setattr(limits, "MAX_BYTES", full)
        section = publish(OfLargeRows)
        before = numbers(section)
        assert len(before) > 1
        Product.objects.get(pk=10).delete()
        build()
        assert numbers(section) == before

    @pytest.mark.urls("tests.support.urls_i18n")
    def test_pages_of_rows_that_lack_languages_do_not_merge(self, publish, settings):
        """They are full of rows, if not of entries."""
        spread(40)
        codes = ["en", "de", "fr", "it", "es"]
        settings.LANGUAGES = [(code, code) for code in codes]
        offered = {"languages": codes, "get_languages": lambda self, row: ["de"]}
        section = publish(limited(50, **offered))
        before = sizes(section)
        assert before == [10] * 4
        build_fully()
        assert sizes(section) == before


def on_indexes(client: Any) -> list[list[str]]:
    answers = [client.get(f"/{name}.xml") for name in ("sitemap", "sitemaps-2")]
    return [list(read_index(it.content)) for it in answers if it.status_code == 200]


class TestHistoricLimits:
    """Pages and indexes for consumers that know only the old limits."""

    def test_a_page_of_more_splits_once_they_are_on(
        self, spaced, configure, small_limits
    ):
        """By the next build, which needs no option."""
        section = spaced(30, limit=100)
        assert sizes(section) == [30]
        configure(HISTORIC_LIMITS=True)
        build()
        largest = max(page.plain_size for page in plan_of(section))
        assert SOME_BYTES // 2 < largest <= SOME_BYTES
        assert sum(sizes(section)) == 30

    def test_pages_that_are_half_full_by_them_do_not_merge(
        self, spaced, configure, small_limits
    ):
        """However few their entries are: soon they would split again."""
        configure(HISTORIC_LIMITS=True)
        section = spaced(30, limit=100)
        first = plan_of(section)[0]
        assert first.high is not None
        bound = int(first.high)
        Product.objects.exclude(pk__gte=bound - 30, pk__lt=bound + 30).delete()
        build(allow_shrink=True)
        assert [page.entries for page in plan_of(section)[:2]] == [3, 3]

    def test_live_pages_keep_them(self, stock, crawl, configure, small_limits):
        """Also when a plan without them was made a moment before."""
        stock(20, limit=15)
        assert list(map(len, crawl().values())) == [15, 5]
        configure(HISTORIC_LIMITS=True)
        found = crawl()
        assert everything(found) == product_urls(range(20))
        assert max(map(len, found.values())) < 15


class TestSitemapsOfAnIndex:
    def test_more_pages_than_one_may_list_make_another_once_they_are_on(
        self, shop, client, configure, small_limits
    ):
        """By the next build, though no page has changed."""
        shop(5, limit=1)
        (whole,) = on_indexes(client)
        configure(HISTORIC_LIMITS=True)
        build()
        assert on_indexes(client) == [whole[:3], whole[3:]]
        assert site_urls.index_urls(get_site()) == [
            f"https://example.com/{name}.xml" for name in ("sitemap", "sitemaps-2")
        ]

    def test_a_live_index_lists_no_more(self, stock, client, configure, small_limits):
        """As ever: further indexes need a build."""
        configure(HISTORIC_LIMITS=True)
        stock(5, limit=1)
        assert [len(urls) for urls in on_indexes(client)] == [3]
