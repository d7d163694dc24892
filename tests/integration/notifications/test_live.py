"""What engines are told of sections that are served live: what these list then."""

from __future__ import annotations

import pytest
from django.utils import translation

from django_sitemaps_plus.building.refresh import refresh
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.exceptions import RetryLater
from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.notifications import live
from django_sitemaps_plus.notifications.queue import want_urls
from django_sitemaps_plus.notifications.telling import tell_engines
from django_sitemaps_plus.testing import RecordingEngine
from tests.integration.notifications.test_saves import told
from tests.integration.shop import limited, make_products, product_urls
from tests.testapp.models import Product

pytestmark = pytest.mark.django_db(transaction=True)

RENAMED = "https://example.com/products/renamed/"


class Flaky:
    """A queryset that can fail, like a database that is away."""

    fails = False

    def __call__(self, source):
        if self.fails:
            raise OSError("away")
        return Product.objects.filter(published=True)


@pytest.fixture
def rows():
    """Return what reads the section."""
    return Flaky()


@pytest.fixture(autouse=True)
def products(recording, tell, sections, rows):
    """Serve a section from its rows; engines are told of saves after 100 seconds."""
    tell(recording=RecordingEngine, NOTIFY_AFTER=100, NOTIFY_AGAIN_AFTER=600)
    get_queryset = lambda source: rows(source)  # noqa: E731 - functions become methods
    sections.register("products", limited(10, get_queryset=get_queryset))
    return make_products(5)


@pytest.fixture
def queued(products):
    """Queue the URLs of three products."""
    for product in products[1:4]:
        product.save()
    assert told() == []
    return products


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

    def test_those_of_a_section_that_no_one_registers(self, queued, clock, sections):
        """Nobody can look them up."""
        sections.unregister("products")
        clock.forward(seconds=101)
        assert told() == product_urls([1, 2, 3])


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
    def test_nothing_is_told_and_nothing_is_lost(self, queued, clock, rows):
        """It is looked up again after a minute."""
        rows.fails = True
        clock.forward(seconds=101)
        RecordingEngine.clear()
        words = "section products cannot be read: OSError: away"
        assert words in " ".join(tell_engines().failures)
        assert RecordingEngine.told() == []
        assert waiting() == 3
        rows.fails = False
        assert told() == []
        clock.forward(seconds=live.LOOK_AGAIN.total_seconds())
        assert told() == product_urls([1, 2, 3])

    def test_others_are_told(self, queued, clock, rows):
        """Of the same host, and in the same call."""
        want_urls(get_site(), ["https://example.com/other/"])
        rows.fails = True
        clock.forward(seconds=101)
        assert told() == ["https://example.com/other/"]

    def test_a_key_of_an_earlier_type_is_that_of_no_row(self, queued, clock):
        """A deploy has changed it; what it named is not looked up for ever."""
        Delivery.objects.update(key="not-a-number")
        clock.forward(seconds=101)
        assert told() == []
        assert waiting() == 0


def test_rows_are_read_in_the_language_of_sitemaps(queued, clock):
    """Whatever language is active where engines are told."""
    clock.forward(seconds=101)
    with translation.override("de"):
        assert told() == product_urls([1, 2, 3])


def test_rows_are_looked_up_by_bounded_queries(queued, clock, monkeypatch):
    """As many as one request may tell."""
    monkeypatch.setattr(live, "BATCH_KEYS", 2)
    clock.forward(seconds=101)
    assert told() == product_urls([1, 2, 3])
