"""Whatever name a row is saved under, its section records it."""

from __future__ import annotations

import json

import pytest
from django.core.management import call_command
from django.db.models.deletion import Collector
from django.db.models.signals import m2m_changed, post_delete, post_save

from django_sitemaps_plus.testing import temporary_source
from tests.support.shop import ProductSource, limited
from tests.support.testapp.models import Cafe, Label, Place, PlaceProxy, Product

from .rows import PlaceSource, keys, make_product, recorded

pytestmark = pytest.mark.django_db


class TestInheritance:
    def test_a_proxy_is_saved(self, publish):
        """A source of the model records saves and deletions of its proxies."""
        place = Place.objects.create(slug="one")
        publish(PlaceSource)
        proxy = PlaceProxy.objects.get(pk=place.pk)
        proxy.save()
        proxy.delete()
        assert recorded() == keys(place) * 2

    def test_the_model_behind_a_proxy_is_saved(self, publish):
        """A source of the proxy records saves and deletions of the model."""
        place = Place.objects.create(slug="one")
        publish(type("ProxySource", (PlaceSource,), {"model": PlaceProxy}))
        key = place.pk
        place.save()
        place.delete()
        assert recorded() == [("key", str(key), "")] * 2

    def test_a_child_is_saved(self, publish):
        """A source of the parent watches a child with a table of its own."""
        cafe = Cafe.objects.create(slug="one", seats=4)
        publish(PlaceSource)
        cafe.slug = "two"
        cafe.save()
        assert recorded() == keys(cafe)

    def test_a_child_is_deleted(self, publish):
        """The parent's row goes with it."""
        cafe = Cafe.objects.create(slug="one", seats=4)
        publish(PlaceSource)
        key = cafe.pk
        cafe.delete()
        assert set(recorded()) == {("key", str(key), "")}

    def test_a_column_of_the_child_alone(self, publish):
        """The parent's pages do not depend on it."""
        cafe = Cafe.objects.create(slug="one", seats=4)
        publish(PlaceSource)
        cafe.save(update_fields=["seats"])
        assert recorded() == []


class TestFixtures:
    def test_rows_of_a_fixture_are_recorded(self, publish, tmp_path):
        """loaddata saves them raw, and they are listed all the same."""
        publish(ProductSource)
        fields = {"name": "one", "slug": "one"}
        load(tmp_path, [{"model": "testapp.product", "pk": 7, "fields": fields}])
        assert recorded() == [("key", "7", "")]

    def test_a_child_of_a_fixture_is_recorded_by_its_parents_key(
        self, publish, tmp_path
    ):
        """A raw child has only the link to its parent, not the parent's key."""
        publish(PlaceSource)
        parent = {"model": "testapp.place", "pk": 7, "fields": {"slug": "one"}}
        child = {"model": "testapp.cafe", "pk": 7, "fields": {"seats": 4}}
        load(tmp_path, [parent, child])
        assert set(recorded()) == {("key", "7", "")}


def load(directory, rows):
    path = directory / "rows.json"
    path.write_text(json.dumps(rows))
    call_command("loaddata", str(path), verbosity=0)


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
    def test_none_is_connected_for_every_model(self, publish):
        """One with sender None would slow the deletes of every model."""
        publish(ProductSource)
        nobody = id(None)
        for signal in (post_save, post_delete, m2m_changed):
            assert nobody not in senders(signal)
        assert senders(post_delete) == {id(Product)}

    def test_an_unregistered_model_keeps_its_fast_delete(self, publish):
        """A registered one needs a signal for each row."""
        publish(ProductSource)
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
        """After the block the model is as it was."""
        before = senders(post_save)
        with temporary_source("temporary", ProductSource):
            assert senders(post_save) - before == {id(Product)}
            assert not can_fast_delete(Product)
        assert senders(post_save) == before
        assert can_fast_delete(Product)

    def test_a_queryset_that_fails_keeps_nobody_from_registering(self, sections):
        """A project must be able to start, and to migrate, all the same."""

        def get_queryset(self):
            raise RuntimeError("no table yet")

        sections.register("products", limited(10, get_queryset=get_queryset))
        assert senders(post_save) == {id(Product)}

    def test_registering_runs_no_query(self, sections, django_assert_num_queries):
        """It happens while Django starts, when there may be no table."""

        def get_queryset(self):
            names = list(Label.objects.values_list("code", flat=True))
            return Product.objects.filter(name__in=names)

        with django_assert_num_queries(0):
            sections.register("products", limited(10, get_queryset=get_queryset))
