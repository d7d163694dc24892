"""Whatever name a row is saved under, its section records it."""

from __future__ import annotations

import pytest
from django.db.models.deletion import Collector
from django.db.models.signals import m2m_changed, post_delete, post_save

from django_sitemaps_plus.testing import temporary_source
from tests.support.shop import ProductSource, limited
from tests.support.testapp.models import Cafe, Label, Place, PlaceProxy, Product

from .rows import PlaceSource, keys, load, make_product, recorded

pytestmark = pytest.mark.django_db


class ProxySource(PlaceSource):
    """The same rows under another name."""

    model = PlaceProxy


@pytest.mark.parametrize(
    ("source", "model"), [(PlaceSource, PlaceProxy), (ProxySource, Place)]
)
def test_a_proxy_and_the_model_behind_it_are_the_same(publish, source, model):
    place = Place.objects.create(slug="one")
    publish(source)
    saved = model.objects.get(pk=place.pk)
    saved.save()
    saved.delete()
    assert recorded() == keys(place) * 2


def test_a_child_is_saved_and_deleted_with_its_parents_columns(publish):
    cafe = Cafe.objects.create(slug="one", seats=4)
    publish(PlaceSource)
    cafe.save(update_fields=["seats"])
    assert recorded() == []
    change = keys(cafe)
    cafe.save()
    assert recorded() == change
    cafe.delete()
    assert set(recorded()) == set(change)


def test_rows_of_a_fixture_are_recorded(publish, tmp_path):
    """A raw child has only the link to its parent, which has a row of its own."""
    publish(PlaceSource)
    parent = {"model": "testapp.place", "pk": 7, "fields": {"slug": "one"}}
    load(tmp_path, parent, {"model": "testapp.cafe", "pk": 7, "fields": {"seats": 4}})
    assert recorded() == [("key", "7", "")]


def senders(signal):
    """Return the identities of the models that our receivers are connected for."""
    return {
        receiver[0][1]
        for receiver in signal.receivers
        if receiver[0][0] == "sitemaps_plus"
    }


def can_fast_delete(model):
    return Collector(using="default").can_fast_delete(model.objects.all())


class TestReceivers:
    def test_no_other_model_loses_its_fast_delete(self, publish):
        """A receiver for every model would take it from each of them."""
        publish(ProductSource)
        for signal in (post_save, post_delete, m2m_changed):
            assert id(None) not in senders(signal)
        assert senders(post_delete) == {id(Product)}
        assert [can_fast_delete(model) for model in (Label, Product)] == [True, False]

    def test_track_deletes_off_keeps_the_fast_delete(self, publish):
        """Saves are recorded all the same; deletions are left to the audit."""
        product = make_product("one")
        publish(limited(10, track_deletes=False))
        assert can_fast_delete(Product)
        product.save()
        assert recorded() == keys(product)
        Product.objects.all().delete()
        assert recorded() == keys(product)

    def test_a_temporary_source_connects_and_disconnects(self, sections):
        before = senders(post_save)
        with temporary_source("temporary", ProductSource):
            assert senders(post_save) - before == {id(Product)}
            assert not can_fast_delete(Product)
        assert senders(post_save) == before
        assert can_fast_delete(Product)

    def test_registering_asks_no_queryset(self, sections, django_assert_num_queries):
        """A project must be able to start, and to migrate, without any table."""

        def get_queryset(self):
            raise RuntimeError("no table yet")

        with django_assert_num_queries(0):
            sections.register("products", limited(10, get_queryset=get_queryset))
        assert senders(post_save) == {id(Product)}
