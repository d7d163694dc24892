"""Changes are taken from every database that may have any, and no other is needed."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connections, transaction
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import notify_changed
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.diagnostics.status import section_status
from django_sitemaps_plus.executors.base import Executor
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.tracking.databases import databases
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Product

from .rows import dirty, keys, noticed, recorded

pytestmark = pytest.mark.database


def fill(alias, count=6):
    rows = Product.objects.using(alias)
    rows.bulk_create([Product(name=f"{n}", slug=f"p-{n}") for n in range(count)])
    return list(rows.order_by("pk"))


def age(alias, seconds=31):
    """Let so many seconds pass since a build first saw changes."""
    Change.objects.using(alias).update(seen_at=Now() - timedelta(seconds=seconds))


def on_other(self):
    return Product.objects.using("other")


def queries(alias):
    return CaptureQueriesContext(connections[alias])


class KeepsOut:
    def allow_migrate(self, alias, app_label, **hints):
        return alias != "other"


class RoutesProducts:
    """Routes products, and nothing else, to the other database."""

    def db_for_write(self, model, **hints):
        return "other" if model is Product else None

    db_for_read = db_for_write


class Woken(Executor):
    is_listening = True
    sections: list[str] = []

    def wake(self, section):
        self.sections.append(section)


class TestWhereChangesLie:
    def test_with_a_router_beside_their_objects(self, publish, both, settings):
        """Pages are marked here; then the changes are deleted there."""
        settings.DATABASE_ROUTERS = [f"{__name__}.RoutesProducts"]
        section = publish(ProductSource)
        product = Product.objects.create(name="one", slug="one")
        assert notify_changed(Product.objects.all()) == 1
        assert (recorded(both), recorded()) == (keys(product) * 2, [])
        assert noticed(section) == [1]
        assert recorded(both) == []

    def test_without_one_where_the_source_reads(self, publish, both):
        """The status counts them like those of the first database."""
        made = fill(both)
        section = publish(limited(3, using=both))
        made[4].save(using=both)
        assert [row.changes for row in section_status(get_site())] == [1]
        assert noticed(section) == [2]
        assert recorded(both) == []

    def test_a_save_on_another_database_is_not_left_lying(self, publish, both):
        """Its row is on no page; the change would stay for ever."""
        make_products(6)
        section = publish(limited(3))
        Product(pk=500, slug="elsewhere").save(using=both)
        assert recorded(both) == [("key", "500", "")]
        age(both)
        noticed(section)
        assert recorded(both) == []


class TestOutOfReach:
    """The first database has pages and changes; the other is of no use."""

    @pytest.fixture
    def section(self, publish):
        make_products(6)
        return publish(limited(3))

    @pytest.fixture
    def saved(self, section):
        Product.objects.order_by("pk")[4].save(using="default")
        return section

    def test_one_that_is_not_migrated(self, saved, other_database, messages):
        """Said once, not by each section."""
        assert noticed(saved) == [2]
        noticed(saved)
        (message,) = messages("changes_out_of_reach")
        assert "'other'" in message

    def test_one_that_is_down(self, saved, other_database, messages):
        """It is asked once a minute at the most, since to connect may take long."""
        connections[other_database].close()
        connections[other_database].settings_dict["NAME"] = "/nowhere/at.all"
        build()
        assert saved.pages.get(number=2).built > 1
        assert len(messages("changes_out_of_reach")) == 1

    def test_one_that_cannot_be_written(self, section, both, messages):
        """A replica that nobody called one: its copies are left alone."""
        rows = Change.objects.using(both)
        rows.bulk_create([Change(section="products", kind="audit")] * 2)
        with connections[both].cursor() as cursor:
            cursor.execute("PRAGMA query_only = 1")
        assert noticed(section) == []
        assert len(messages("changes_out_of_reach")) == 1

    @pytest.mark.parametrize("how", ["router", "mirror"])
    def test_one_that_is_said_to_have_none_is_not_asked(
        self, saved, both, settings, monkeypatch, how
    ):
        """By allow_migrate() of a router, or as the mirror of another."""
        if how == "router":
            settings.DATABASE_ROUTERS = [f"{__name__}.KeepsOut"]
        else:
            test = {**connections.settings[both]["TEST"], "MIRROR": "default"}
            monkeypatch.setitem(connections.settings[both], "TEST", test)
        assert databases() == ["default"]
        with queries(both) as asked:
            assert noticed(saved) == [2]
        assert len(asked) == 0


@pytest.mark.django_db(transaction=True)
def test_a_build_without_changes_asks_another_database_once(publish, both):
    """And the first no more often than without it."""
    make_products(6)
    section = publish(limited(3))
    build()
    with queries(both) as there, queries("default") as here:
        build()
    assert len(there) == 1
    assert len(here) <= 11
    assert dirty(section) == []


@pytest.mark.django_db(transaction=True)
def test_workers_are_woken_once_the_database_of_the_object_has_committed(
    publish, both, configure
):
    """Each section's; until then nobody sees its change."""
    made = fill(both)
    for name in ("products", "more"):
        publish(limited(3, using=both), name)
    woken = f"{__name__}.{Woken.__name__}"
    configure(EXECUTOR=woken)
    with transaction.atomic(using=both):
        made[4].save()
        assert Woken.sections == []
    assert sorted(Woken.sections) == ["more", "products"]


class TestReplicas:
    @pytest.mark.parametrize(
        "attributes", [{"using": "other"}, {"get_queryset": on_other}]
    )
    @pytest.mark.parametrize("seconds", [5, 600])
    def test_what_a_replica_is_read_for_waits(
        self, publish, both, configure, attributes, seconds
    ):
        """As long as the setting says, whether `using` or the queryset names it.

        A long transaction has just committed: it counts from when a build saw it.
        """
        configure(REPLICA_LAG_SECONDS=seconds)
        made = fill(both)
        section = publish(limited(3, **attributes))
        inserted = Now() - timedelta(seconds=10 * seconds)
        low = str(made[4].pk)
        Change.objects.create(section="products", kind="key", low=low, at=inserted)
        assert noticed(section) == []
        age("default", seconds - 2)
        assert noticed(section) == []
        age("default", seconds + 2)
        assert noticed(section) == [2]
        assert recorded() == []
