"""How the rows of what is told are looked up: in parts, and beside others."""

from __future__ import annotations

import secrets
from types import SimpleNamespace

import pytest
from django.utils import timezone

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.exceptions import RetryLater
from django_sitemaps_plus.models import Delivery
from django_sitemaps_plus.notifications import live, rows, telling
from django_sitemaps_plus.notifications.outbox import want_urls
from django_sitemaps_plus.notifications.telling import tell_engines
from django_sitemaps_plus.notifications.url_changes import tell_saves
from django_sitemaps_plus.testing import RecordingEngine
from tests.integration.notifications.test_saves import told
from tests.support.shop import make_products, product_urls
from tests.support.testapp.models import Product

from .engines import FewEngine
from .test_two_at_once import age_lease

pytestmark = pytest.mark.django_db(transaction=True)

RENAMED = "https://example.com/products/renamed/"


@pytest.fixture
def while_claiming(queued, clock, monkeypatch):
    """Return what has something done once, between the read and the claim of rows."""
    clock.forward(seconds=101)

    def while_claiming(act):
        def make(size):
            monkeypatch.setattr(rows, "secrets", secrets)
            act()
            return "token"

        monkeypatch.setattr(rows, "secrets", SimpleNamespace(token_hex=make))

    return while_claiming


@pytest.fixture
def while_looking(queued, clock, monkeypatch):
    """Return what has something done once, after rows are looked up."""
    clock.forward(seconds=101)
    urls_of = live.urls_of

    def while_looking(act):
        def looked_up(*args):
            found = urls_of(*args)
            monkeypatch.setattr(live, "urls_of", urls_of)
            act()
            return found

        monkeypatch.setattr(live, "urls_of", looked_up)

    return while_looking


def saved(product, **fields):
    """Save a product, and have its URL queued as another process would."""
    for name, value in fields.items():
        setattr(product, name, value)
    product.save()
    tell_saves(get_site())


class TestWhatChangesMeanwhile:
    def test_a_url_that_somebody_asks_for_while_it_is_claimed(
        self, queued, while_claiming
    ):
        """It is told, as a removal would be that a first build has found."""
        queued[2].delete()
        while_claiming(lambda: want_urls(get_site(), product_urls([2])))
        assert told() == product_urls([1, 2, 3])

    def test_a_url_that_another_row_takes_over_while_it_is_claimed(
        self, queued, while_claiming
    ):
        """It is told: the save of that row says so."""
        saved(queued[1], slug="renamed")
        while_claiming(lambda: saved(queued[4], slug="product-00001"))
        assert told() == [*product_urls([1, 2, 3]), RENAMED]

    def test_a_row_that_returns_while_it_is_looked_up(self, queued, while_looking):
        """Its save is told by the next request."""
        Product.objects.filter(pk=queued[2].pk).update(published=False)
        while_looking(lambda: saved(queued[2], published=True))
        assert told() == product_urls([1, 2, 3])

    def test_who_is_replaced_while_it_looks_them_up_tells_nothing(
        self, queued, while_looking
    ):
        """The other has told all of it."""

        def replaced():
            age_lease()
            tell_engines()

        while_looking(replaced)
        assert told() == product_urls([1, 2, 3])

    def test_no_request_is_begun_when_the_time_is_over(
        self, queued, while_looking, clock
    ):
        """What was claimed waits for the next call as if nobody had tried."""
        while_looking(lambda: clock.forward(seconds=61))
        RecordingEngine.clear()
        assert tell_engines(seconds=60).sent == 0
        waiting = Delivery.objects.waiting()
        assert list(waiting.values_list("token", "attempts")) == [("", 0)] * 3
        assert told() == product_urls([1, 2, 3])


class TestMany:
    @pytest.fixture
    def few(self, live_products, tell):
        """Tell 20 products in requests of eight."""
        tell(few=FewEngine, NOTIFY_DELAY_SECONDS=100)
        make_products(15, first=5)
        for product in Product.objects.all():
            product.save()
        tell_engines()

    def test_a_request_looks_up_so_many_at_most(self, queued, clock, monkeypatch):
        """What it leaves is told by the next, which looks it up."""
        asked = []
        urls_of = live.urls_of

        def looked_up(section, keys, site):
            asked.append(len(keys))
            return urls_of(section, keys, site)

        monkeypatch.setattr(live, "urls_of", looked_up)
        monkeypatch.setattr(live, "MAX_LOOKED_UP", 2)
        clock.forward(seconds=101)
        assert told() == product_urls([1, 2, 3])
        assert asked == [2, 1]

    def test_what_it_leaves_is_claimed_no_more(self, queued, clock, monkeypatch):
        """It did not fail, whatever became of the request."""
        monkeypatch.setattr(live, "MAX_LOOKED_UP", 2)
        clock.forward(seconds=101)
        with RecordingEngine.failing(RetryLater("away")):
            tell_engines()
        rows = Delivery.objects.order_by("target")
        assert list(rows.values_list("token", "attempts")) == [
            ("", 1),
            ("", 1),
            ("", 0),
        ]

    def test_the_rest_is_told_where_all_of_a_request_has_gone(self, few, clock):
        """In the same call."""
        Product.objects.filter(slug__lt="product-00008").delete()
        clock.forward(seconds=101)
        FewEngine.clear()
        assert tell_engines().sent == 12
        assert sorted(FewEngine.told()) == product_urls(range(8, 20))

    def test_a_section_that_cannot_be_read_is_asked_once(self, few, clock, live_rows):
        """Not for each request: it may be a database that lets everybody wait."""
        live_rows.fail()
        clock.forward(seconds=101)
        before = live_rows.reads
        report = tell_engines()
        told_later = [words for words in report.failures if "What changed" in words]
        assert len(told_later) == 1
        assert live_rows.reads - before <= 3  # saves are looked for as well
        assert Delivery.objects.waiting().count() == 20

    def test_a_command_goes_on_waiting_where_all_has_gone(
        self, live_products, clock, monkeypatch
    ):
        """What is due a little later is told by it too."""
        sleeping = SimpleNamespace(sleep=lambda left: clock.forward(seconds=left))
        monkeypatch.setattr(telling, "time", sleeping)
        saved(live_products[1])
        clock.forward(seconds=2)
        want_urls(get_site(), product_urls([2]))
        live_products[1].delete()
        RecordingEngine.clear()
        first = Delivery.objects.order_by("not_before")[0].not_before
        clock.forward(seconds=(first - timezone.now()).total_seconds() - 1)
        tell_engines(wait=10)
        assert RecordingEngine.told() == product_urls([2])


def test_a_row_that_has_gone_is_settled_whatever_failed_before(queued, clock):
    """As if it had been told: its next save is a fresh start."""
    clock.forward(seconds=101)
    with RecordingEngine.failing(RetryLater("away")):
        tell_engines()
    queued[2].delete()
    clock.forward(days=1)
    assert told() == product_urls([1, 3])
    row = Delivery.objects.get(target=product_urls([2])[0])
    assert (row.token, row.attempts, row.error) == ("", 0, "")
    assert row.sent == row.wanted
