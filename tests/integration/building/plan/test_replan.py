"""New plans: asked for, or forced by bounds that fit no more."""

from __future__ import annotations

import uuid
from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F
from django.db.models.functions import Now

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.building import build as building
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.diagnostics.status import section_status
from django_sitemaps_plus.models import INDEX, MAX_ATTEMPTS, Change, Page, State
from tests.support.documents import read_index
from tests.support.shop import limited
from tests.support.testapp.models import Label, Product, Shop

from .plans import (
    add,
    dirty,
    everything,
    numbers,
    objects,
    plan_of,
    replace,
    sizes,
    spread,
)

pytestmark = pytest.mark.database


def command(*arguments):
    call_command("build_sitemaps", *arguments, stdout=StringIO(), stderr=StringIO())


@pytest.fixture
def section(publish):
    """Three pages of ten."""
    spread(30)
    return publish(limited(10))


class TestAskedFor:
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
    def unfinished(self, section, failing):
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

    def test_the_command_says_what_to_do(self, section, failing):
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


def test_a_plan_that_was_complete_before_a_crash_is_taken(section, monkeypatch):
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
    def section(self, publish):
        """150 entries, of which a plan to come would list 30."""
        spread(150)
        section = publish(limited(50))
        Product.objects.filter(pk__gt=300).delete()
        replace(limited(20))
        return section

    @pytest.mark.parametrize("is_tracked", [True, False], ids=["noticed", "unnoticed"])
    def test_the_guard_holds_a_plan_until_it_may_pass(
        self, section, is_tracked, client
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

    def test_a_plan_may_pass_at_once(self, section):
        """And what it lists is what the next build is measured by."""
        command("--replan", "--allow-shrink")
        assert sizes(section) == [20, 10]
        Product.objects.get(pk=10).delete()
        command()
        section.refresh_from_db()
        assert section.hold_reason == ""

    def test_a_plan_passes_once_the_rows_are_back(self, section):
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
        """Labels on five pages."""
        Label.objects.bulk_create([Label(code=f"code-{n:02}") for n in range(20)])
        route = Route("label-detail", code="code")
        attributes = {"model": Label, "location": route, "limit": 5}
        return publish(type("Labels", (ModelSource,), attributes))

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

    def test_uuids_that_do_not_ascend_get_a_new_plan(self, publish, crawl):
        Shop.objects.bulk_create([Shop(pk=uuid.UUID(int=n << 120)) for n in range(20)])
        route = Route("shop-detail", pk="pk")
        attributes = {"model": Shop, "location": route, "limit": 5}
        section = publish(type("Shops", (ModelSource,), attributes))
        urls = everything(crawl())
        swap(section)
        build(allow_shrink=True)
        assert numbers(section)[0] > 1
        assert everything(crawl()) == urls

    def test_a_page_that_owns_nearly_all_rows_is_not_split(self, publish, crawl):
        """Its pieces would lie across the old plan and the new one, for good."""
        spread(40)
        section = publish(limited(4))
        urls = everything(crawl())
        section.pages.filter(number=1).update(high="1000")
        section.pages.filter(number=2).update(low="1000")
        section.fingerprint = "of an older deploy"
        section.save()
        assert build().problems == []
        assert everything(crawl()) == urls
        assert not section.pages.filter(state=State.NEXT).exists()
