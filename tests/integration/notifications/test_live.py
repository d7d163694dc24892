"""What engines are told of sections that are served live: what these list then."""

from __future__ import annotations

import pytest
from django.db import transaction
from django.db.models import CharField, Value
from django.utils import translation
from django.utils.translation import get_language

from django_sitemaps_plus.building.build import refresh
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.exceptions import RetryLater
from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.notifications import live, outbox
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.notifications.telling import tell_engines
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.testing import RecordingEngine
from tests.integration.notifications.test_saves import told
from tests.support.shop import limited, product_urls
from tests.support.testapp.models import Product

pytestmark = pytest.mark.django_db(transaction=True)

RENAMED = "https://example.com/products/renamed/"


def waiting():
    return Delivery.objects.waiting().count()


class TestARowThatChangesWhileItsUrlWaits:
    def test_one_that_is_listed_is_told(self, queued, clock):
        """Once."""
        clock.forward(seconds=101)
        assert told() == product_urls([1, 2, 3])
        clock.forward(seconds=1_000)
        assert told() == []

    def test_no_url_is_told_that_is_not_listed_any_more(self, queued, clock):
        """Old addresses, rows that are left out and deleted ones only builds tell."""
        queued[1].slug = "renamed"
        queued[1].save()
        Product.objects.filter(pk=queued[2].pk).update(published=False)
        queued[3].delete()
        clock.forward(seconds=101)
        assert told() == [RENAMED]
        assert waiting() == 0

    def test_a_row_that_returns_is_told(self, queued, clock):
        """Its next save is told as if nothing had been."""
        Product.objects.filter(pk=queued[2].pk).update(published=False)
        clock.forward(seconds=101)
        assert told() == product_urls([1, 3])
        queued[2].save()
        assert told() == product_urls([2])

    def test_a_url_that_another_row_has_now_is_told(self, queued, clock):
        """It was queued for the row that had it before, and is listed."""
        queued[1].slug = "renamed"
        queued[1].save()
        queued[4].slug = "product-00001"
        queued[4].save()
        assert told() == []
        clock.forward(seconds=101)
        assert told() == [*product_urls([1, 2, 3]), RENAMED]

    def test_an_engine_that_was_away_hears_of_what_is_listed_then(self, queued, clock):
        """However long that took."""
        clock.forward(seconds=101)
        with RecordingEngine.failing(RetryLater("away")):
            assert told() == []
        queued[2].delete()
        clock.forward(days=2)
        assert told() == product_urls([1, 3])


class TestUrlsThatAreToldInAnyCase:
    def test_those_that_somebody_names(self, queued, clock):
        """They may be of no section at all; a save makes them no less wanted."""
        want_urls(get_site(), product_urls([2]))
        queued[2].save()
        assert told() == []
        queued[2].delete()
        clock.forward(seconds=101)
        assert told() == product_urls([1, 2, 3])

    def test_only_for_as_long_as_they_wait(self, queued, clock):
        """Once told, their next save is like any other."""
        want_urls(get_site(), product_urls([2]))
        clock.forward(seconds=101)
        assert told() == product_urls([1, 2, 3])
        queued[2].save()
        assert told() == []
        queued[2].delete()
        clock.forward(seconds=1_000)
        assert told() == []


class TestASectionThatIsBuiltMeanwhile:
    def test_what_goes_after_the_build_is_told(self, queued, clock):
        """It is a removal that a build has found."""
        refresh()
        queued[2].delete()
        refresh()
        assert told() == []
        clock.forward(seconds=101)
        assert told() == product_urls([1, 2, 3])

    def test_what_went_before_it_is_not(self, queued, clock):
        """No file ever listed it."""
        queued[2].delete()
        refresh()
        clock.forward(seconds=101)
        assert told() == product_urls([1, 3])


class TestASectionThatCannotBeRead:
    def test_nothing_is_told_and_nothing_is_lost(self, queued, clock, live_rows):
        """It is looked up again after a minute."""
        live_rows.fail()
        clock.forward(seconds=101)
        RecordingEngine.clear()
        words = "section 'products' could not be read: OSError: away"
        assert words in " ".join(tell_engines().failures)
        assert RecordingEngine.told() == []
        assert waiting() == 3
        live_rows.fail(fails=False)
        assert told() == []
        clock.forward(seconds=live.LOOK_AGAIN.total_seconds())
        assert told() == product_urls([1, 2, 3])

    def test_others_are_told(self, queued, clock, live_rows):
        """Of the same host, and in the same call."""
        want_urls(get_site(), ["https://example.com/other/"])
        live_rows.fail()
        clock.forward(seconds=101)
        assert told() == ["https://example.com/other/"]

    def test_a_query_that_fails_spares_the_transaction_of_the_caller(
        self, queued, clock, sections
    ):
        """PostgreSQL takes no other statement in it, except behind a savepoint."""
        wrong = lambda source: Product.objects.extra(where=["no_such_column = 1"])  # noqa: E731
        sections.unregister("products")
        sections.register("products", limited(10, get_queryset=wrong))
        clock.forward(seconds=101)
        with transaction.atomic():
            words = " ".join(tell_engines().failures)
            assert waiting() == 3
        assert "no_such_column" in words

    def test_a_key_of_an_earlier_type_is_that_of_no_row(self, queued, clock):
        """A deploy has changed it; what it named is not looked up for ever."""
        Delivery.objects.update(rows=[["products", "not-a-number"]])
        clock.forward(seconds=101)
        assert told() == []
        assert waiting() == 0


class TestASectionThatIsNotRegistered:
    def test_a_process_that_does_not_know_it_leaves_it_to_others(
        self, queued, clock, sections
    ):
        """As in a deploy that adds it."""
        source = registry.get("products")
        sections.unregister("products")
        clock.forward(seconds=101)
        assert told() == []
        assert waiting() == 3
        sections.register("products", source)
        clock.forward(seconds=61)
        assert told() == product_urls([1, 2, 3])

    def test_after_a_while_its_urls_are_listed_by_nobody(self, queued, clock, sections):
        """It was taken away."""
        sections.unregister("products")
        clock.forward(hours=2)
        assert told() == []
        assert waiting() == 0


class TestAUrlOfTwoRows:
    def test_both_sections_that_list_it_are_asked(self, live_products, clock, sections):
        """As those of articles and of news, which list an article for two days."""
        fresh = {"published": True}
        newest = lambda source: Product.objects.filter(**fresh)  # noqa: E731
        sections.register("fresh", limited(10, get_queryset=newest))
        live_products[1].save()
        assert told() == []
        fresh["published"] = False
        clock.forward(seconds=101)
        assert told() == product_urls([1])

    def test_one_that_is_listed_is_enough(self, live_products, clock, sections):
        """Whichever was saved last."""
        products = live_products
        sections.unregister("products")
        one = Value("https://example.com/one/", CharField())
        sections.register("products", limited(10, location=one))
        products[1].save()
        assert told() == []
        products[2].save()
        assert told() == []
        products[2].delete()
        clock.forward(seconds=101)
        assert told() == ["https://example.com/one/"]

    def test_the_newest_are_kept(self, live_products, monkeypatch):
        """Any number of rows may have it one after another."""
        monkeypatch.setattr(outbox, "MAX_ROWS", 2)
        [url] = product_urls([1])
        for key in "123":
            want_urls(get_site(), [url], saved=outbox.Saved("products", {url: key}))
        kept = Delivery.objects.get(target=url).rows
        assert kept == [["products", "2"], ["products", "3"]]


def test_rows_are_read_in_the_language_of_sitemaps(live_products, clock, sections):
    """Whatever language is active where engines are told."""
    sections.unregister("products")
    in_language = lambda self, product: f"/{get_language()}/{product.pk}/"  # noqa: E731
    sections.register("products", limited(10, location=in_language))
    live_products[1].save()
    assert told() == []
    clock.forward(seconds=101)
    with translation.override("de"):
        assert told() == [f"https://example.com/en-us/{live_products[1].pk}/"]


def test_a_built_section_tells_saves_in_any_case(live_products, clock, sections):
    """What has gone since is a removal, which the next build finds."""
    sections.unregister("products")
    sections.register("products", limited(10, announce_saves=True))
    refresh()
    live_products[1].save()
    refresh()
    assert told() == []
    Product.objects.filter(pk=live_products[1].pk).delete()
    clock.forward(seconds=101)
    assert told() == product_urls([1])
