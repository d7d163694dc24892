"""Which builds, saves and edits engines hear of, and which they do not."""

from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.core.management import CommandError, call_command
from django.db import connection, transaction
from django.test import Client
from django.utils import timezone

from django_sitemaps_plus import notify_changed
from django_sitemaps_plus.building import build as building
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.diagnostics.audit import read_findings
from django_sitemaps_plus.models import (
    Change,
    Delivery,
    Page,
    Publication,
    Section,
    UrlChanges,
)
from django_sitemaps_plus.notifications import Batch, url_changes
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.sources.lines import LASTMOD_NOW
from django_sitemaps_plus.testing import RecordingEngine
from django_sitemaps_plus.tracking import locating
from django_sitemaps_plus.tracking.collecting import take_changes
from tests.integration.notifications.engines import ConsoleEngine, HubEngine
from tests.integration.tracking.rows import BookSource, make_books
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Author, Book, Product
from tests.support.told import hearing

pytestmark = pytest.mark.django_db(transaction=True)


def told():
    RecordingEngine.clear()
    notify_engines()
    return sorted(RecordingEngine.told())


def url(slug):
    return f"https://example.com/products/{slug}/"


def rename(product, slug):
    product.slug = slug
    product.save()


def published(self):
    return Product.objects.filter(published=True)


@pytest.fixture
def products(recording, publish):
    made = make_products(25)
    publish(limited(10))
    return made


class TestNothingIsTold:
    def test_of_a_first_build(self, recording, shop, monkeypatch):
        """The sitemap itself says it; no file is read, there may be millions."""
        monkeypatch.setattr(url_changes, "read_document", None)
        shop(25)
        assert not Publication.objects.exists()
        assert told() == []

    def test_of_a_language_that_is_switched_on(
        self, recording, publish, shop, settings
    ):
        settings.ROOT_URLCONF = "tests.support.urls_i18n"
        shop(25, languages=["en"])
        publish(limited(10, languages=["en", "de"]))
        assert told() == []

    def test_of_pages_that_are_split_and_merged(self, products):
        for product in make_products(10, first=25):
            product.save()
        build_and_relay()
        assert told() == product_urls(range(25, 35))
        Product.objects.filter(pk__in=[p.pk for p in products[:18]]).delete()
        build_and_relay(full=True, allow_shrink=True)
        assert told() == product_urls(range(18))


class TestChanges:
    def test_of_a_slug_both_urls_are_told_of_an_edit_one(self, products):
        rename(products[3], "renamed")
        products[7].updated_at = products[9].updated_at
        products[7].save()
        build_and_relay()
        assert told() == [*product_urls([3, 7]), url("renamed")]

    def test_each_file_of_a_few_is_read_once(self, products, monkeypatch):
        read, files = url_changes.read_document, []
        monkeypatch.setattr(
            url_changes, "read_document", lambda name: files.append(name) or read(name)
        )
        rename(products[3], "renamed")
        build_and_relay()
        assert len(told()) == len(files) == len(set(files)) == 2

    def test_what_is_no_longer_listed_is_told(self, recording, shop):
        shop(25, get_queryset=published)
        Product.objects.get(slug="product-00007").delete()
        hidden = Product.objects.get(slug="product-00012")
        hidden.published = False
        hidden.save()
        build_and_relay()
        assert told() == product_urls([7, 12])

    def test_what_no_signal_told_is_told_once_it_is_found(self, products):
        """By an audit, or by a build of everything."""
        Product.objects.filter(pk=products[3].pk).update(slug="renamed")
        Product.objects.bulk_create([Product(name="new", slug="new")])
        with connection.cursor() as cursor:
            gone = [products[5].pk]
            cursor.execute("DELETE FROM testapp_product WHERE id = %s", gone)
        build_and_relay(full=True)
        expected = [*product_urls([3, 5]), url("new"), url("renamed")]
        assert told() == sorted(expected)

    def test_one_that_is_undone_before_it_is_told_counts(self, products):
        for slug in ("renamed", "product-00003"):
            rename(products[3], slug)
            build_and_relay()
        assert told() == [*product_urls([3]), url("renamed")]

    def test_one_before_a_new_plan_is_told(self, products, publish):
        """Neither the URLs that are on other pages, nor a row that comes in with it."""
        rename(products[3], "renamed")
        publish(limited(7))
        Product.objects.bulk_create([Product(name="new", slug="new")])
        build_and_relay(replan=True)
        assert told() == [*product_urls([3]), url("renamed")]

    @pytest.mark.parametrize("is_noticed", [False, True])
    def test_one_before_a_deploy_is_told(self, products, publish, is_noticed):
        rename(products[3], "renamed")
        if is_noticed:
            section = Section.objects.get(name="products")
            take_changes(open_section(section))
        publish(limited(10, priority=0.3))
        assert {*product_urls([3]), url("renamed")} <= set(told())

    def test_one_during_the_first_build_is_told(self, recording, publish):
        products = make_products(3)

        def location(self, item):
            if item.slug == "product-00002" and not Product.objects.filter(
                slug="renamed"
            ):
                rename(products[0], "renamed")
            return f"/products/{item.slug}/"

        publish(limited(10, location=location))
        build_and_relay()
        assert url("renamed") in told()


class TestChangesDuringABuildOfWhichNobodyIsTold:
    """They come when changes have been taken, and before the pages are rendered."""

    @pytest.fixture
    def renamed(self, products, monkeypatch):
        """Have a product renamed then, once; give what is to be told of it."""
        real = building.notice

        def notice(*arguments):
            monkeypatch.setattr(building, "notice", real)
            real(*arguments)
            rename(products[3], "renamed")

        monkeypatch.setattr(building, "notice", notice)
        return [*product_urls([3]), url("renamed")]

    def test_of_a_deploy(self, renamed, publish):
        publish(limited(10, priority=0.3))
        build_and_relay()
        assert told() == renamed

    def test_of_a_new_plan(self, renamed):
        """Of the edit alone: it is in new pages, and the old ones go without it."""
        registry.unregister("products")
        registry.register("products", limited(7))
        build_and_relay(replan=True)
        build_and_relay()
        assert told() == renamed


class TestAnnounceSaves:
    @pytest.fixture(autouse=True)
    def products(self, recording, publish):
        made = make_products(25)
        publish(limited(10, lastmod=None, announce_saves=True, get_queryset=published))
        assert told() == []
        return made

    @pytest.mark.parametrize("fields", [None, ["popularity"]])
    def test_a_save_that_changes_no_byte_is_told(self, products, fields):
        products[3].save(update_fields=fields)
        build_and_relay()
        assert told() == product_urls([3])
        build_and_relay()
        assert told() == []

    def test_one_of_a_row_that_is_not_listed_is_not_told(self, products):
        Product.objects.filter(pk=products[3].pk).update(published=False)
        build_and_relay(full=True)
        assert told() == product_urls([3])
        products[3].published = False
        products[3].save()
        build_and_relay()
        assert told() == []

    @pytest.mark.database
    def test_ranges_are_told_row_by_row(self, products, monkeypatch):
        path = "django_sitemaps_plus.tracking.recording.SINGLE_KEYS"
        monkeypatch.setattr(path, 4)
        notify_changed(Product.objects.filter(pk__lte=products[7].pk))
        build_and_relay()
        assert told() == product_urls(range(8))


@pytest.mark.parametrize(
    "declared", [{"lastmod": "author__updated_at"}, {"watch": {Author: "book"}}]
)
def test_rows_of_related_objects_are_told(recording, publish, declared):
    books = make_books(Author.objects.create(name="one"), 7)
    publish(type("Announced", (BookSource,), {"announce_saves": True, **declared}))
    assert told() == []
    [other] = Author.objects.bulk_create([Author(name="two")])
    Book.objects.filter(pk__gte=books[5].pk).update(author=other)
    books[0].author.save()
    Book.objects.get(pk=books[6].pk).save()
    build_and_relay()
    expected = [f"https://example.com/books/{b.slug}/" for b in [*books[:5], books[6]]]
    assert told() == sorted(expected)
    build_and_relay()
    assert told() == []


def test_without_it_such_a_save_is_not_told(recording, publish):
    made = make_products(5)
    publish(limited(10, lastmod=None))
    made[3].save()
    build_and_relay()
    assert told() == []


class TestASiteThatIsNotBuilt:
    @pytest.fixture(autouse=True)
    def products(self, recording, sections):
        sections.register("products", limited(10, get_queryset=published))
        return make_products(5)

    @pytest.mark.database
    def test_saves_are_told(self, products):
        products[3].save()
        products[4].save()
        products[4].save()
        assert told() == product_urls([3, 4])
        assert told() == []

    @pytest.mark.database
    def test_times_run_from_when_a_save_was_recorded(self, products, tell, clock):
        tell(recording=RecordingEngine, NOTIFY_DELAY_SECONDS=100)
        products[3].save()
        Change.objects.update(at=Change.objects.get().at - timedelta(seconds=60))
        assert told() == []
        clock.forward(seconds=60)
        assert told() == product_urls([3])

    @pytest.mark.database
    def test_saves_are_not_lost_to_a_first_build_that_began_meanwhile(
        self, products, monkeypatch
    ):
        """Its pages may have been read before them, so the one concerned is dirty."""
        real = locating.locate

        def locate_before_the_build(*args):
            located = real(*args)
            monkeypatch.setattr(locating, "locate", real)
            build(notices=False)
            return located

        monkeypatch.setattr(locating, "locate", locate_before_the_build)
        products[3].save()
        assert told() == product_urls([3])
        assert not Change.objects.exists()
        assert Page.objects.filter(section__name="products").dirty().count() == 1

    def test_nothing_is_recorded_for_engines_that_are_off(self, products, tell):
        tell(recording=RecordingEngine, NOTIFY=False)
        products[3].save()
        assert not Change.objects.exists()


def shown():
    """Return the changes that people are shown, the newest first."""
    rows = UrlChanges.objects.filter(section__name="products")
    return rows.values_list("latest", flat=True).first()


class TestPeopleAreShownTheLast:
    def test_with_the_time_and_the_engines(self, products, tell):
        """Those that are told of URLs, or of feeds whose content has changed."""
        tell(one=RecordingEngine, hub=HubEngine, console=ConsoleEngine)
        assert shown() is None  # a first build is not announced
        rename(products[3], "renamed")
        build_and_relay()
        kinds = [(it["kind"], it["url"], it["engines"]) for it in shown()]
        assert kinds == [
            ("added", url("renamed"), ["one", "hub"]),
            ("removed", *product_urls([3]), ["one", "hub"]),
        ]
        waiting = Delivery.objects.of("default", "one").values_list("changed_at")
        moments = {datetime.fromisoformat(it["at"]) for it in shown()}
        assert moments == {moment for (moment,) in waiting}

    def test_and_no_more_than_a_hundred(self, products, monkeypatch):
        monkeypatch.setattr(url_changes, "BATCH_URLS", 40)
        Product.objects.bulk_create(
            [Product(name="new", slug=f"new-{n:03}") for n in range(130)]
        )
        build_and_relay(full=True)
        expected = [url(f"new-{n:03}") for n in range(30, 130)]
        assert [it["url"] for it in shown()] == expected
        rename(products[3], "renamed")
        build_and_relay()
        newest = [url("renamed"), *product_urls([3])]
        assert [it["url"] for it in shown()] == [*newest, *expected[:98]]

    def test_a_postponed_one_takes_the_place_of_its_time(self, products):
        rename(products[3], "first")
        build()
        postponed = Publication.objects.get()
        Publication.objects.update(claimed_at=timezone.now())
        rename(products[9], "second")
        build_and_relay()
        assert len(shown()) == 2
        Publication.objects.filter(pk=postponed.pk).update(claimed_at=None)
        url_changes.relay()
        assert [it["url"] for it in shown()] == [
            url("second"),
            *product_urls([9]),
            url("first"),
            *product_urls([3]),
        ]

    def test_once_where_two_relay_the_same(self, products, monkeypatch):
        """The claim of the slower one was taken over."""
        rename(products[3], "renamed")
        build()
        slow = url_changes.want_feeds

        def taken_over(**given):
            slow(**given)
            monkeypatch.setattr(url_changes, "want_feeds", slow)
            Publication.objects.update(claimed_at=None)
            url_changes.relay()

        monkeypatch.setattr(url_changes, "want_feeds", taken_over)
        url_changes.relay()
        assert len(shown()) == 2

    def test_two_at_once_lose_nothing(self, products):
        row = Section.objects.get(name="products")
        rows = [Publication.objects.create(section=row) for _ in range(10)]

        def settle(publication):
            for number in range(2):
                publication.settle([{"url": f"{publication.pk}", "at": f"{number}"}])
            connection.close()

        with ThreadPoolExecutor(2) as pool:
            list(pool.map(settle, rows))
        assert sorted([it["url"] for it in shown()]) == sorted(
            [f"{it.pk}" for it in rows]
        )

    def test_what_only_a_receiver_hears_of_is_not_recorded(self, products, tell):
        tell(recording=RecordingEngine, NOTIFY=False)
        with hearing(urls_changed) as heard:
            rename(products[3], "renamed")
            build_and_relay()
        assert len(heard) == 1
        assert shown() is None


NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Present(Sitemap):
    limit = 3

    def items(self) -> Any:
        return Product.objects.all()

    def lastmod(self, row: Product) -> datetime:
        return timezone.now()


SOURCES = [Present, limited(3, lastmod=lambda self, row: timezone.now())]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what lets a time pass."""
    times = [NOW]
    monkeypatch.setattr("django.utils.timezone.now", lambda: times[-1])
    return lambda span: times.append(times[-1] + span)


def changes(heard: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the URLs that were added, and those that were updated."""
    return (
        [url for told in heard for url in told["added"]],
        [url for told in heard for url in told["updated"]],
    )


@pytest.mark.django_db
class TestALastmodThatIsThePresentTime:
    @pytest.mark.parametrize("source", SOURCES, ids=["contrib", "method"])
    def test_one_edit_submits_no_other_url(self, publish, later, source):
        """Of two renderings running; what is added is submitted all the same."""
        rows = make_products(9)
        section = publish(source)
        assert not Page.objects.filter(problems__0__action=LASTMOD_NOW.action).exists()
        later(timedelta(hours=1))
        with hearing(urls_changed) as heard:
            rows[0].save()
            build_and_relay()
        assert changes(heard) == ([], [])
        [problems] = section.pages.filter(number=1).values_list("problems", flat=True)
        assert [it["action"] for it in problems] == [LASTMOD_NOW.action]
        with suppress(CommandError):  # the pages of products are not there
            call_command("check_sitemaps", audit=True, verbosity=0)
        assert read_findings(get_site())["counts"]["lastmod-now"] == 1
        later(timedelta(hours=1))
        with hearing(urls_changed) as heard:
            Product.objects.filter(pk=rows[1].pk).update(slug="another")
            rows[1].refresh_from_db()
            rows[1].save()
            build_and_relay()
        assert changes(heard) == ([url("another")], [])

    def test_rows_that_were_all_touched_are_submitted(self, publish, later):
        """Even twice: a field of the model says when, and so does a time before."""
        rows = make_products(3, updated_at=NOW)
        publish(limited(3))
        for _ in range(2):
            later(timedelta(hours=1))
            with hearing(urls_changed) as heard:
                for row in rows:
                    row.updated_at = timezone.now()
                    row.save()
                build_and_relay()
            assert sorted(changes(heard)[1]) == product_urls(range(3))
        assert not Page.objects.filter(problems__0__action=LASTMOD_NOW.action).exists()

    def test_an_edit_is_told_wherever_the_ends_of_a_page_are_cut(
        self, publish, monkeypatch
    ):
        """Only these are looked at, and both may be cut within a date."""
        rows = make_products(9)
        publish(limited(10))
        ends = range(300, 410, 11)  # a line has some 107 bytes
        with hearing(urls_changed) as heard:
            for end in ends:
                monkeypatch.setattr(url_changes, "_END", end)
                rename(rows[4], f"renamed-{end}")
                build_and_relay()
        assert changes(heard)[0] == [url(f"renamed-{end}") for end in ends]


NEW = "https://example.com/products/renamed/"
BOTH = sorted([*product_urls([3]), NEW])


def is_served() -> bool:
    return NEW in Client().get("/sitemap-products-1.xml").content.decode()


def states() -> list[int]:
    return list(Delivery.objects.values_list("state", flat=True))


class WatchingEngine(RecordingEngine):
    seen: Any = None

    def send(self, batch: Batch) -> None:
        type(self).seen = (sorted(batch.targets), is_served(), states())


@pytest.fixture
def product(tell, publish):
    tell(watching=WatchingEngine)
    WatchingEngine.seen = None
    made = make_products(5)
    publish(limited(10))
    notify_engines()
    made[3].slug = "renamed"
    return made[3]


def test_an_engine_hears_of_what_everybody_can_see(product):
    with transaction.atomic():
        product.save()
    assert not is_served()
    build_and_relay()
    notify_engines()
    assert WatchingEngine.seen == (BOTH, True, [Delivery.State.WAITING] * 2)
    assert states() == [Delivery.State.SENT] * 2
    assert not Publication.objects.exists()


def test_nothing_follows_what_was_rolled_back(product):
    with suppress(ZeroDivisionError), transaction.atomic():
        product.save()
        assert Change.objects.exists()
        raise ZeroDivisionError
    build_and_relay()
    notify_engines()
    assert WatchingEngine.seen is None
    assert not Delivery.objects.exists()
