"""Saves and deletes leave changes that live and die with their transaction."""

from __future__ import annotations

from contextlib import suppress

import pytest
from django.db import connection, transaction
from django.db.models.signals import m2m_changed, post_delete, post_save
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import notify_changed, receivers
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.testing import temporary_source
from tests.support.shop import ProductSource, limited
from tests.support.testapp.models import Label, Product

from .rows import can_fast_delete, keys, make_product, recorded, senders

pytestmark = pytest.mark.database

ENGINES = {
    "ENGINES": {"one": {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}},
    "NOTIFY": True,
}


class Undo(Exception):
    """Rolls a block back."""


class TestTransactions:
    @pytest.mark.django_db(transaction=True)
    def test_a_save_in_autocommit_is_recorded(self, publish):
        product = make_product("one")
        publish(ProductSource)
        assert not connection.in_atomic_block
        product.save()
        assert recorded() == keys(product)

    @pytest.mark.django_db(transaction=True)
    def test_a_rolled_back_transaction_leaves_no_change(self, publish):
        one, two = make_product("one"), make_product("two")
        publish(ProductSource)
        with suppress(Undo), transaction.atomic():
            one.save()
            two.delete()
            raise Undo
        assert recorded() == []
        assert Product.objects.count() == 2

    def test_only_the_inner_savepoint_is_undone(self, publish):
        """Nothing is remembered of a save that was rolled back."""
        one, two, three = [make_product(name) for name in ("one", "two", "three")]
        publish(ProductSource)
        with transaction.atomic():
            one.save()
            with suppress(Undo), transaction.atomic():
                one.save()
                two.save()
                raise Undo
            two.save()
            three.save()
        assert recorded() == keys(one, two, three)


class TestWhatIsRecorded:
    def test_an_insert_and_an_update_and_a_deletion(self, publish):
        publish(ProductSource)
        product = Product.objects.create(name="new", slug="new")
        key = product.pk
        product.save()
        product.delete()
        assert recorded() == [("key", str(key), "")] * 3

    def test_the_key_that_the_source_names(self, publish):
        product = make_product("one")
        publish(limited(10, key="slug"))
        product.save()
        assert recorded() == [("key", "one", "")]

    def test_each_section_of_the_model(self, publish):
        product = make_product("one")
        publish(ProductSource, "products")
        publish(limited(5), "more")
        product.save()
        found = Change.objects.values_list("section", "low").order_by("section")
        assert list(found) == [("more", str(product.pk)), ("products", str(product.pk))]

    @pytest.mark.parametrize("is_built", [True, False])
    @pytest.mark.parametrize("has_engines", [True, False])
    def test_a_save_in_a_transaction_takes_one_insert_and_its_savepoint(
        self, sections, configure, is_built, has_engines
    ):
        """From the second save on; where nothing is read, it is the save alone."""
        if has_engines:
            configure(**ENGINES)
        product = make_product("one")
        sections.register("products", ProductSource)
        if is_built:
            build()
        opened = []
        for _ in range(2):
            with transaction.atomic(), CaptureQueriesContext(connection) as queries:
                product.save()
            said = [query["sql"] for query in queries]
            opened.append(len([sql for sql in said if sql.startswith("SAVEPOINT")]))
        is_read = is_built or has_engines
        assert opened[1] == (1 if is_read else 0)
        assert len(said) == (4 if is_read else 1)
        assert len(recorded()) == (2 if is_read else 0)


class TestNothingIsWritten:
    def test_until_the_section_is_planned(self, sections):
        sections.register("products", ProductSource)
        product = Product.objects.create(name="one", slug="one")
        product.delete()
        product = Product.objects.create(name="two", slug="two")
        assert recorded() == []
        build()
        product.save()
        assert recorded() == keys(product)

    def test_without_track(self, publish, configure):
        product = make_product("one")
        publish(ProductSource)
        configure(TRACK=False)
        assert notify_changed(Product.objects.all()) == 0
        product.save()
        product.delete()
        assert recorded() == []


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

    def test_a_save_while_they_are_connected_anew_is_recorded(
        self, publish, monkeypatch
    ):
        """As another thread does that learns what a contrib class lists."""
        publish(ProductSource)
        connect, made = receivers._connect, []

        def save_before(*args):
            name = f"meanwhile-{len(made)}"
            made.append(Product.objects.create(name=name, slug=name))
            connect(*args)

        with monkeypatch.context() as patch:
            patch.setattr(receivers, "_connect", save_before)
            receivers.connect()
        assert set(recorded()) == set(keys(*made)) != set()

    def test_registering_asks_no_queryset(self, sections, django_assert_num_queries):
        """A project must be able to start, and to migrate, without any table."""

        def get_queryset(self):
            raise RuntimeError(list(Label.objects.all()))

        with django_assert_num_queries(0):
            sections.register("products", limited(10, get_queryset=get_queryset))
        assert senders(post_save) == {id(Product)}
