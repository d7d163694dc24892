"""New plans: asked for, or forced by a collation."""

from __future__ import annotations

import uuid
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.building.build import Build, build
from django_sitemaps_plus.building.plan.replan import is_broken
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.maintenance.status import section_status
from django_sitemaps_plus.models import MAX_ATTEMPTS, Change, Section
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

pytestmark = [pytest.mark.database, pytest.mark.django_db]

REPLAN = {"replan": True}


def command(*arguments):
    """Run build_sitemaps, silently."""
    call_command("build_sitemaps", *arguments, stdout=StringIO(), stderr=StringIO())


class LabelSource(ModelSource):
    """String keys."""

    model = Label
    location = Route("label-detail", code="code")
    limit = 5


class TestAskedFor:
    def test_a_changed_limit_is_followed_at_once(self, publish, crawl):
        """New pages get new numbers; the old ones are served until pruned."""
        spread(30)
        section = publish(limited(10))
        before = crawl()
        replace(limited(6))
        build(**REPLAN)
        assert sizes(section) == [6, 6, 6, 6, 6]
        assert numbers(section) == [4, 5, 6, 7, 8]
        after = crawl()
        assert everything(after) == everything(before)
        assert section.pages.filter(state="retired").count() == 3

    def test_a_changed_limit_is_followed_as_pages_are_rendered(self, publish):
        """Without --replan only a page that changed is cut anew."""
        spread(30)
        section = publish(limited(10))
        replace(limited(6))
        build()
        assert sizes(section) == [10, 10, 10]
        Product.objects.get(pk=150).save()
        build()
        assert sizes(section) == [10, 5, 5, 10]

    def test_a_greater_limit_is_followed_as_well(self, publish):
        """Pages are filled up by a new plan."""
        spread(30)
        section = publish(limited(5))
        replace(limited(15))
        build(**REPLAN)
        assert sizes(section) == [15, 15]

    def test_ranges_that_stay_the_same_keep_their_pages(self, publish):
        """Their numbers, objects and lastmods too."""
        spread(30)
        section = publish(limited(10))
        before = objects(section)
        build(**REPLAN)
        assert objects(section) == before
        assert not section.pages.filter(state="retired").exists()

    def test_rows_that_came_in_are_spread_anew(self, publish):
        """Nothing is lost on the way."""
        spread(30)
        section = publish(limited(10))
        Product.objects.filter(pk__in=[10, 20, 30]).delete()
        build(**REPLAN)
        assert sizes(section) == [10, 10, 7]
        assert dirty(section) == []

    def test_the_old_plan_serves_until_the_new_one_is_complete(
        self, publish, client, failing
    ):
        """A page of it that cannot be built holds the change back."""
        spread(30)
        section = publish(limited(10))
        replace(limited(6))
        failing(6)
        build(**REPLAN)
        assert numbers(section) == [1, 2, 3]
        assert client.get("/sitemap-products-2.xml").status_code == 200
        assert client.get("/sitemap-products-4.xml").status_code != 200
        listed = [f"https://example.com/sitemap-products-{n}.xml" for n in (1, 2, 3)]
        assert list(read_index(client.get("/sitemap.xml").content)) == listed
        failing()
        build()
        assert sizes(section) == [6, 6, 6, 6, 6]


class TestUnfinished:
    @pytest.fixture
    def section(self, publish, failing):
        """Three pages; five are to come, and page 6, one of them, fails."""
        spread(30)
        section = publish(limited(10))
        replace(limited(6))
        failing(6)
        with pytest.raises(CommandError, match="not today"):
            command("--replan")
        return section

    def test_the_command_says_what_to_do(self, section):
        """Each time, also once the page is parked and no error comes up."""
        section.pages.filter(number=6).update(attempts=MAX_ATTEMPTS)
        for _ in range(2):
            with pytest.raises(CommandError, match="products --replan") as raised:
                command()
            assert "1 pages of its new plan are not built" in str(raised.value)
        assert numbers(section) == [1, 2, 3]

    def test_a_page_that_is_parked_is_shown(self, section):
        """The status knows of the plan to come."""
        section.pages.filter(number=6).update(attempts=MAX_ATTEMPTS, error="why")
        (found,) = section_status(get_site())
        assert (found.parked, found.error) == (1, "why")

    def test_it_is_done_as_the_command_says(self, section, failing):
        """Pages that were parked are replaced by those of another plan."""
        section.pages.filter(number=6).update(attempts=MAX_ATTEMPTS)
        failing()
        command("--replan")
        assert sizes(section) == [6, 6, 6, 6, 6]

    def test_a_plan_that_was_complete_before_a_crash_is_taken(
        self, publish, monkeypatch
    ):
        """No page is dirty then, so nothing else would bring the section up."""
        spread(30)
        section = publish(limited(10))
        replace(limited(6))
        with monkeypatch.context() as patch:
            patch.setattr(Build, "_settle", lambda self, section: False)
            build(**REPLAN)
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
    def test_the_guard_holds_a_plan(self, section, is_tracked, client):
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

    def test_a_held_plan_may_pass(self, section):
        """As the command says."""
        with pytest.raises(CommandError):
            command("--replan")
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
        """Nobody has to say anything then."""
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
    @pytest.fixture
    def section(self, publish):
        """Labels on five pages."""
        Label.objects.bulk_create([Label(code=f"code-{n:02}") for n in range(20)])
        return publish(LabelSource)

    def test_bounds_that_ascend_are_not_broken(self, section):
        """The plan stays."""
        assert not is_broken(section, was_deployed=False)
        build()
        assert numbers(section) == [1, 2, 3, 4, 5]

    def test_bounds_that_do_not_ascend_get_a_new_plan(self, section, caplog, crawl):
        """The refresh says so, and every row is listed once again."""
        swap(section)
        assert is_broken(section, was_deployed=False)
        build(allow_shrink=True)
        assert "is broken: it gets a new one" in caplog.text
        assert everything(crawl()) == [
            f"https://example.com/labels/code-{n:02}/" for n in range(20)
        ]
        assert not is_broken(Section.objects.get(pk=section.pk), was_deployed=False)

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

    def test_pages_of_the_old_plan_are_built_no_more(self, section):
        """Any rows may lie between its bounds, and pieces of them fit no plan."""
        swap(section)
        section.pages.update(wanted=F("wanted") + 1)
        (report,) = build(allow_shrink=True).sections
        assert report.rendered == len(numbers(section))

    def test_the_next_refresh_leaves_the_new_plan_alone(self, section):
        """It is mended once."""
        swap(section)
        build(allow_shrink=True)
        before = numbers(section)
        build()
        assert numbers(section) == before


class ShopSource(ModelSource):
    """UUID keys."""

    model = Shop
    location = Route("shop-detail", pk="pk")
    limit = 5


class TestBrokenUUIDs:
    """How a database sorts UUIDs is its own affair, and an upgrade may change it."""

    @pytest.fixture
    def section(self, publish):
        """Twenty shops on five pages."""
        Shop.objects.bulk_create([Shop(pk=uuid.UUID(int=n << 120)) for n in range(20)])
        return publish(ShopSource)

    def test_bounds_that_do_not_ascend_get_a_new_plan(self, section, crawl):
        """Without a deploy, by the next refresh; every row is listed once again."""
        urls = everything(crawl())
        swap(section)
        build(allow_shrink=True)
        assert numbers(section)[0] > 1
        assert everything(crawl()) == urls
        assert not is_broken(Section.objects.get(pk=section.pk), was_deployed=False)
