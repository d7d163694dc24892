"""Changes: notify_changed() records them, builds take them from every database."""

import uuid
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, connections, transaction
from django.db.models.functions import Now
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus import ModelSource, Route, notify_changed
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.diagnostics.status import section_status
from django_sitemaps_plus.executors.base import Executor
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.tracking import collecting, locating, recording
from django_sitemaps_plus.tracking.collecting import take_changes
from django_sitemaps_plus.tracking.databases import databases
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Cafe, Label, Place, PlaceProxy, Product, Shop

from .rows import PlaceSource, dirty, keys, noticed, recorded


@pytest.fixture
def section(shop):
    return shop(6, limit=3)


class CafeSource(PlaceSource):
    """A child by multi-table inheritance, two of them a page."""

    model = Cafe
    limit = 2


def ranges_of(monkeypatch, single, many):
    """Record more rows than that by range, so many in each."""
    monkeypatch.setattr(recording, "SINGLE_KEYS", single)
    monkeypatch.setattr(recording, "RANGE_KEYS", many)


def fill(alias, count=6):
    rows = Product.objects.using(alias)
    rows.bulk_create([Product(name=f"{n}", slug=f"p-{n}") for n in range(count)])
    return list(rows.order_by("pk"))


def age(alias, seconds=31):
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


class TestNotifyChanged:
    @pytest.mark.database
    def test_few_rows_are_recorded_by_key(self, publish):
        made = make_products(12)
        section = publish(limited(3))
        assert notify_changed(Product.objects.filter(pk=made[4].pk)) == 1
        assert recorded() == keys(made[4])
        assert noticed(section) == [2]

    @pytest.mark.database
    def test_many_rows_are_recorded_by_range_in_any_order(self, publish, monkeypatch):
        ranges_of(monkeypatch, 10, 6)
        made = make_products(40)
        section = publish(limited(5))
        first, last = made[6].pk, made[23].pk
        rows = Product.objects.filter(pk__gte=first, pk__lte=last)
        assert notify_changed(rows.order_by("-updated_at").reverse()) == 3
        assert {kind for kind, _, _ in recorded()} == {"range"}
        assert noticed(section) == [2, 3, 4, 5]

    def test_no_statement_has_more_values_than_databases_take(
        self, publish, monkeypatch
    ):
        """No database takes fewer than 999."""
        ranges_of(monkeypatch, recording.SINGLE_KEYS, 1)
        made = make_products(recording.SINGLE_KEYS)
        section = publish(limited(500))
        counts = []

        def count(execute, sql, params, many, context):
            counts.append(len(params or ()))
            return execute(sql, params, many, context)

        with connection.execute_wrapper(count):
            assert notify_changed(Product.objects.all()) == len(made)
            monkeypatch.setattr(recording, "SINGLE_KEYS", 1)
            assert notify_changed(Product.objects.all()) == len(made)
        assert max(counts) <= 999
        kinds = [kind for kind, _, _ in recorded()]
        assert kinds.count("key") == kinds.count("range") == len(made)
        assert noticed(section) == [1, 2]

    def test_a_section_that_is_not_built_is_asked_for_once(self, sections):
        """An import before the first build asks no more for having more rows."""
        sections.register("products", limited(3))
        counts = []
        for first in (0, 20):
            make_products(20, first)
            with CaptureQueriesContext(connection) as queries:
                assert notify_changed(Product.objects.all()) == 0
            counts.append(len([q for q in queries if "sitemaps_plus_" in q["sql"]]))
        assert counts == [1, 0]
        assert recorded() == []

    @pytest.mark.database
    @pytest.mark.parametrize(
        ("source", "model", "count"),
        [
            (PlaceSource, Cafe, 1),
            (PlaceSource, PlaceProxy, 2),
            (CafeSource, Place, 1),
            (CafeSource, PlaceProxy, 1),
        ],
    )
    def test_rows_of_a_child_a_parent_and_a_proxy(self, publish, source, model, count):
        """update() of the parent writes columns that pages of the child show."""
        Place.objects.create(slug="place")
        cafes = [Cafe.objects.create(slug=f"cafe-{n}") for n in range(6)]
        section = publish(source)
        rows = model.objects.filter(slug__in=["place", "cafe-4"]).order_by("slug")
        assert notify_changed(rows) == count
        assert recorded()[-1:] == keys(cafes[4])
        assert noticed(section)[-1:] == [3 if source is CafeSource else 1]

    @pytest.mark.database
    def test_many_rows_of_a_parent_are_recorded_by_range(self, publish, monkeypatch):
        """Their ends are keys of the child, which only it has in between."""
        ranges_of(monkeypatch, 3, 2)
        for n in range(7):
            Place.objects.create(slug=f"place-{n}")
            Cafe.objects.create(slug=f"cafe-{n}")
        section = publish(CafeSource)
        publish(PlaceSource, "places")
        first = Cafe.objects.get(slug="cafe-2")
        rows = Place.objects.filter(pk__gte=first.pk)
        assert notify_changed(rows) == 3 + 5
        assert {kind for kind, _, _ in recorded()} == {"range"}
        assert noticed(section) == [2, 3, 4]

    def test_no_rows_record_nothing(self, publish):
        publish(ProductSource)
        assert notify_changed(Product.objects.none()) == 0
        assert notify_changed(Product.objects.filter(pk=-1)) == 0
        assert recorded() == []

    @pytest.mark.database
    @pytest.mark.parametrize("model", [Label, Shop], ids=["string", "UUID"])
    def test_keys_of_other_types(self, publish, model, monkeypatch):
        if model is Label:
            rows = [Label(code=f"Ä{n:03} 'quoted'") for n in range(30)]
        else:
            rows = [Shop(pk=uuid.UUID(int=n << 64), name="") for n in range(30)]
        model.objects.bulk_create(rows)
        made = model.objects.order_by("pk")
        route = Route("label-detail", code="pk")
        attributes = {"model": model, "location": route, "limit": 5}
        section = publish(type("KeyedSource", (ModelSource,), attributes))
        notify_changed(model.objects.filter(pk=made[7].pk))
        assert noticed(section) == [2]
        build()
        monkeypatch.setattr(recording, "SINGLE_KEYS", 3)
        chosen = [item.pk for item in made[12:18]]
        notify_changed(model.objects.filter(pk__in=chosen))
        assert noticed(section) == [4, 5]


@pytest.mark.database
class TestTaking:
    def test_more_changes_than_one_batch_are_taken(self, publish, monkeypatch):
        monkeypatch.setattr(collecting, "BATCH_CHANGES", 3)
        made = make_products(20)
        section = publish(limited(2))
        for product in made[::2]:
            product.save()
        assert noticed(section) == list(range(1, 11))
        assert recorded() == []

    @pytest.mark.parametrize("late", [99, 101], ids=["before all", "between"])
    @pytest.mark.parametrize("marked", ["mark_rows", "mark_all"])
    def test_a_change_that_commits_late_under_a_lower_id_stays(
        self, section, monkeypatch, late, marked
    ):
        """Ids are given before transactions commit; only what was read is deleted."""
        made = Product.objects.order_by("pk")
        kind = "key" if marked == "mark_rows" else "unknown"
        for pk in (100, 102):
            Change(pk, section="products", kind=kind, low=str(made[0].pk)).save()
        mark = getattr(locating, marked)

        def commit_late(*args, **kwargs):
            Change(late, section="products", kind="key", low=str(made[5].pk)).save()
            mark(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(locating, marked, commit_late)
            take_changes(open_section(section))
        assert recorded() == keys(made[5])
        assert noticed(section) == [1, 2]
        assert recorded() == []

    def test_changes_of_other_sections_stay(self, publish, sections):
        product = make_products(1)[0]
        publish(limited(5), "other")
        section = publish(ProductSource)
        product.save()
        noticed(section)
        assert Change.objects.get().section == "other"

    @pytest.mark.parametrize(
        ("kind", "low", "high"),
        [
            ("key", "no integer", ""),
            ("range", "a", "b"),
            ("related", "1", "no_such_way"),
            ("related", "1", "testapp.Gone::id"),
            ("related", "1", "testapp.Product::gone"),
            ("related", "1", "testapp.Product:gone:id"),
            ("related", "no integer", "testapp.Product::id"),
        ],
    )
    def test_a_change_that_nobody_can_read_any_more_marks_the_section(
        self, section, kind, low, high
    ):
        """A deploy has changed the key or the relation that it names."""
        Change.objects.create(section="products", kind=kind, low=low, high=high)
        assert noticed(section) == [1, 2]
        assert recorded() == []


@pytest.mark.database
class TestMarking:
    def test_pages_are_marked_and_changes_go_in_one_step(self, section, monkeypatch):
        """Where changes stay, so does what their pages were."""
        notify_changed(Product.objects.filter(slug="product-00001"))

        def refuse(found):
            assert dirty(section) == [1]
            raise OperationalError("the database is gone")

        with monkeypatch.context() as patch:
            patch.setattr(locating, "delete_changes", refuse)
            with pytest.raises(OperationalError):
                noticed(section)
        assert dirty(section) == []
        assert noticed(section) == [1]
        assert recorded() == []

    @pytest.mark.django_db(transaction=True)
    def test_changes_of_another_database_go_once_the_pages_are_committed(
        self, publish, both, monkeypatch
    ):
        """A crash in between marks twice; before the commit it would lose a change."""
        made = fill(both)
        section = publish(limited(3, using=both))
        made[4].save()
        delete, seen = locating.delete_changes, []

        def watched(found):
            if any(change._state.db == both for change in found):
                seen.append((connection.in_atomic_block, dirty(section)))
            delete(found)

        monkeypatch.setattr(locating, "delete_changes", watched)
        take_changes(open_section(section))
        assert seen == [(False, [2])]
        assert recorded(both) == []

    def test_a_page_knows_when_its_first_change_was_committed(self, publish):
        """Notifications wait from then on, not from when changes are taken."""
        section = publish(ProductSource)
        first = timezone.now() - timedelta(hours=5)
        for hours in ((1, 0), (3, 2)):  # two by two, the earliest first
            for hour in hours:
                at = first + timedelta(hours=hour)
                Change(section="products", kind="key", low="1", at=at).save()
            noticed(section)
        assert section.pages.get().changed_at == first

    @pytest.mark.parametrize(("key", "pages"), [("9" * 20, [2]), ("-" + "9" * 20, [1])])
    def test_a_key_that_no_database_holds_is_found_all_the_same(
        self, section, key, pages
    ):
        """One that was recorded while the key was text, say."""
        Change.objects.create(section="products", kind="key", low=key)
        assert noticed(section) == pages


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

    def test_a_save_on_another_database_is_not_left_lying(self, section, both):
        """Its row is on no page; the change would stay for ever."""
        Product(pk=500, slug="elsewhere").save(using=both)
        assert recorded(both) == [("key", "500", "")]
        age(both)
        noticed(section)
        assert recorded(both) == []


class TestOutOfReach:
    """The first database has pages and changes; the other is of no use."""

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
        rows.bulk_create([Change(section="products", kind="unknown")] * 2)
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


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_build_without_changes_asks_another_database_once(section, both):
    """And the first no more often than without it."""
    build()
    with queries(both) as there, queries("default") as here:
        build()
    assert len(there) == 1
    assert len(here) <= 12
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


@pytest.mark.database
@pytest.mark.parametrize("attributes", [{"using": "other"}, {"get_queryset": on_other}])
def test_what_a_replica_is_read_for_waits(publish, both, configure, attributes):
    """As long as the setting says, whether `using` or the queryset names it.

    A long transaction has just committed: it counts from when a build saw it.
    """
    configure(REPLICA_LAG_SECONDS=600)
    low = str(fill(both)[4].pk)
    section = publish(limited(3, **attributes))
    inserted = Now() - timedelta(hours=2)
    Change.objects.create(section="products", kind="key", low=low, at=inserted)
    assert noticed(section) == []
    age("default", 598)
    assert noticed(section) == []
    age("default", 602)
    assert noticed(section) == [2]
    assert recorded() == []
