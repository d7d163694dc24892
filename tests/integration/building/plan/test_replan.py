"""New plans: asked for, or forced by bounds or keys that fit no more."""

from __future__ import annotations

from datetime import timedelta
from functools import partial

import pytest
from django.core.management import CommandError
from django.db.models import F
from django.db.models.functions import Now

from django_sitemaps_plus import Entry, Source, planning
from django_sitemaps_plus.building import build as building
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.diagnostics.status import section_status
from django_sitemaps_plus.models import INDEX, MAX_ATTEMPTS, Change, Page, State
from django_sitemaps_plus.signals import urls_changed
from tests.support.builds import build_and_relay
from tests.support.documents import read_index
from tests.support.shop import START, limited
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
)


@pytest.fixture
def command(run):
    """Return what runs the command with some options."""
    return partial(run, "build_sitemaps")


@pytest.fixture
def section(spaced):
    """Three pages of ten."""
    return spaced(30)


@pytest.mark.database
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
    def unfinished(self, section, failing, command):
        """Five pages are to come, and page 6, one of them, fails."""
        replace(limited(6))
        failing(6)
        with pytest.raises(CommandError, match="not today"):
            command("--replan")

    @pytest.mark.database
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


@pytest.mark.database
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

    @pytest.mark.database
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


@pytest.mark.database
class TestBroken:
    """How a database sorts texts and UUIDs an upgrade of it may change."""

    @pytest.fixture
    def section(self, publish):
        """Labels on five pages."""
        Label.objects.bulk_create([Label(code=f"code-{n:02}") for n in range(20)])
        return publish(of_labels(5))

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


def digits(count):
    """Add products whose slugs are digits too, all above their keys."""
    Product.objects.bulk_create(
        [Product(pk=100 + n, name=f"{n}", slug=f"{500 + n}") for n in range(count)]
    )


@pytest.mark.database
@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("pk", "slug", [8, 8, 8, 6]), ("slug", "pk", [10, 10, 10])],
    ids=["to slug", "to pk"],
)
def test_bounds_that_are_keys_of_both_types_get_a_new_plan(
    publish, crawl, before, after, expected
):
    """Digits in order, as text and as numbers; by them one page owned all rows."""
    digits(30)
    section = publish(limited(10, key=before))
    urls = everything(crawl())
    replace(limited(10, key=after))
    build()
    assert sizes(section) == expected
    assert everything(crawl()) == urls
    assert build().sections[0].rendered == 0


@pytest.mark.database
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


@pytest.mark.database
def test_uuids_that_become_strings_get_a_new_plan(publish):
    """Every UUID is a string as well, and they come in the same order."""
    Shop.objects.bulk_create([Shop() for _ in range(30)])
    section = publish(of_shops(10))
    Label.objects.bulk_create([Label(code=f"z-{n:02}") for n in range(30)])
    replace(of_labels(10))
    build()
    assert sizes(section) == [8, 8, 8, 6]


@pytest.mark.database
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


@pytest.mark.database
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


@pytest.mark.database
def test_a_wider_key_of_the_same_type_keeps_the_plan(spaced, monkeypatch):
    """A migration to BigAutoField, say; its pages are rendered once more."""
    section = spaced(30)
    field = Product._meta.pk
    monkeypatch.setattr(field, "db_type", lambda connection: "numeric")
    replace(limited(15))  # a new plan would have other pages
    assert build().sections[0].rendered == 3
    assert numbers(section) == [1, 2, 3]


@pytest.mark.database
def test_rows_that_had_no_keys_get_a_new_plan(publish, crawl):
    """Positions are numbers in order, and so are integer keys."""
    digits(30)

    class Slugs(Source):
        limit = 10

        def entries(self, origin):
            slugs = Product.objects.order_by("pk").values_list("slug", flat=True)
            return [Entry(loc=f"{origin}/products/{slug}/") for slug in slugs]

    section = publish(Slugs)
    urls = everything(crawl())
    replace(limited(10))
    build()
    assert sizes(section) == [10, 10, 10]
    assert everything(crawl()) == urls
