"""notify_changed() tells of what sends no signal; changes lie beside their objects."""

from __future__ import annotations

import uuid
from datetime import timedelta

import pytest
from django.db import OperationalError, connection, connections
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus import ModelSource, Route, notify_changed
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.tracking import collecting, locating, recording
from django_sitemaps_plus.tracking.collecting import take_changes
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Cafe, Label, Place, PlaceProxy, Product, Shop

from .rows import PlaceSource, dirty, keys, recorded

pytestmark = [pytest.mark.database, pytest.mark.django_db]


class CafeSource(PlaceSource):
    """A child by multi-table inheritance, two of them a page."""

    model = Cafe
    limit = 2


def take(section):
    """Return the pages that the recorded changes make dirty."""
    take_changes(section, registry.get(section.name))
    return dirty(section)


class TestNotifyChanged:
    def test_few_rows_are_recorded_by_key(self, publish):
        """One change a row."""
        made = make_products(12)
        section = publish(limited(3))
        assert notify_changed(Product.objects.filter(pk__in=[made[4].pk])) == 1
        assert recorded() == keys(made[4])
        assert take(section) == [2]

    def test_many_rows_are_recorded_by_range(self, publish, monkeypatch):
        """A handful of changes stands for all, and their pages are marked."""
        monkeypatch.setattr(recording, "SINGLE_KEYS", 10)
        monkeypatch.setattr(recording, "RANGE_KEYS", 6)
        made = make_products(40)
        section = publish(limited(5))
        first, last = made[6].pk, made[23].pk
        rows = Product.objects.filter(pk__gte=first, pk__lte=last)
        assert notify_changed(rows) == 3
        assert {kind for kind, _, _ in recorded()} == {"range"}
        assert take(section) == [2, 3, 4, 5]

    def test_no_statement_has_more_values_than_databases_take(
        self, publish, monkeypatch
    ):
        """However many rows it is told of; no database takes fewer than 999."""
        monkeypatch.setattr(recording, "RANGE_KEYS", 1)
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
        assert take(section) == [1, 2]

    def test_a_section_that_is_not_built_is_asked_for_once(self, sections):
        """An import before the first build asks no more for having more rows."""
        sections.register("products", limited(3))
        counts = []
        for first in (0, 20):
            make_products(20, first)
            with CaptureQueriesContext(connection) as queries:
                notify_changed(Product.objects.all())
            counts.append(len(queries))
        assert counts[0] == counts[1]
        assert recorded() == []

    def test_rows_of_a_child_are_rows_of_its_parent(self, publish):
        """update() writes to both tables of a multi-table child, and tells nobody."""
        cafes = [Cafe.objects.create(slug=f"cafe-{n}") for n in range(3)]
        publish(PlaceSource)
        cafes_2 = Cafe.objects.filter(slug="cafe-2")
        assert notify_changed(cafes_2) == 1
        assert recorded() == [("key", str(cafes[2].pk), "")]

    @pytest.mark.parametrize("model", [Place, PlaceProxy])
    def test_rows_of_a_parent_are_those_of_its_child_too(self, publish, model):
        """update() of the parent writes columns that pages of the child show."""
        Place.objects.create(slug="place")
        cafes = [Cafe.objects.create(slug=f"cafe-{n}") for n in range(6)]
        section = publish(CafeSource)
        places = model.objects.filter(slug__in=["place", "cafe-4"]).order_by("slug")
        places.update(visits=1)
        assert notify_changed(places) == 1
        assert recorded() == keys(cafes[4])
        assert take(section) == [3]

    def test_many_rows_of_a_parent_are_recorded_by_range(self, publish, monkeypatch):
        """Their ends are keys of the child, which only it has in between."""
        monkeypatch.setattr(recording, "SINGLE_KEYS", 3)
        monkeypatch.setattr(recording, "RANGE_KEYS", 2)
        for n in range(7):
            Place.objects.create(slug=f"place-{n}")
            Cafe.objects.create(slug=f"cafe-{n}")
        section = publish(CafeSource)
        publish(PlaceSource, "places")
        first = Cafe.objects.get(slug="cafe-2")
        rows = Place.objects.filter(pk__gte=first.pk)
        assert notify_changed(rows) == 3 + 5
        assert {kind for kind, _, _ in recorded()} == {"range"}
        assert take(section) == [2, 3, 4]

    def test_no_rows_record_nothing(self, publish):
        """An empty queryset tells of nothing."""
        publish(ProductSource)
        assert notify_changed(Product.objects.none()) == 0
        assert notify_changed(Product.objects.filter(pk=-1)) == 0
        assert recorded() == []

    def test_bulk_create_and_bulk_update(self, publish):
        """Neither sends a signal; told of, both are published."""
        publish(limited(5))
        made = make_products(7)
        notify_changed(Product.objects.filter(pk__in=[p.pk for p in made]))
        build()
        made[2].slug = "renamed"
        Product.objects.bulk_update(made, ["slug"])
        assert recorded() == []
        assert notify_changed(Product.objects.filter(pk=made[2].pk)) == 1
        assert build().sections[0].stored == 1

    def test_a_proxy_names_the_same_rows(self, publish):
        """Its rows are those of the model."""
        section = publish(PlaceSource)
        place = PlaceProxy.objects.bulk_create([PlaceProxy(slug="one")])[0]
        assert notify_changed(PlaceProxy.objects.all()) == 1
        assert recorded() == keys(place)
        assert take(section) == [1]

    def test_an_order_and_a_filter_of_the_caller_do_not_matter(
        self, publish, monkeypatch
    ):
        """Ranges are of keys, whatever order the rows are told in."""
        monkeypatch.setattr(recording, "SINGLE_KEYS", 3)
        make_products(20)
        section = publish(limited(5))
        rows = Product.objects.order_by("-updated_at").reverse()
        notify_changed(rows)
        assert take(section) == [1, 2, 3, 4]

    @pytest.mark.parametrize("model", [Label, Shop], ids=["string", "UUID"])
    def test_keys_of_other_types(self, publish, model, monkeypatch):
        """Single keys and ranges of them are read back as what they are."""
        made = fill(model, 30)
        route = Route("label-detail", code="pk")
        attributes = {"model": model, "location": route, "limit": 5}
        section = publish(type("KeyedSource", (ModelSource,), attributes))
        notify_changed(model.objects.filter(pk=made[7].pk))
        assert take(section) == [2]
        build()
        monkeypatch.setattr(recording, "SINGLE_KEYS", 3)
        chosen = [item.pk for item in made[12:18]]
        notify_changed(model.objects.filter(pk__in=chosen))
        assert take(section) == [4, 5]


def fill(model, count):
    if model is Label:
        made = [Label(code=f"Ä{n:03} 'quoted'") for n in range(count)]
    else:
        made = [Shop(pk=uuid.UUID(int=n << 64), name="") for n in range(count)]
    model.objects.bulk_create(made)
    return list(model.objects.order_by("pk"))


class TestTaking:
    def test_more_changes_than_one_batch_are_taken(self, publish, monkeypatch):
        """Batch after batch, until none is left."""
        monkeypatch.setattr(collecting, "BATCH_CHANGES", 3)
        made = make_products(20)
        section = publish(limited(2))
        for product in made[::2]:
            product.save()
        take_changes(section, registry.get("products"))
        assert recorded() == []
        assert dirty(section) == list(range(1, 11))

    def test_the_same_key_twice_marks_its_page_once(self, publish):
        """The reader coalesces."""
        product = make_products(3)[0]
        section = publish(ProductSource)
        before = section.pages.get().wanted
        product.save()
        product.save()
        take(section)
        assert section.pages.get().wanted == before + 1

    @pytest.mark.parametrize("late", [99, 101], ids=["before all", "between"])
    @pytest.mark.parametrize("marked", ["mark_keys", "mark_all"])
    def test_a_change_that_commits_late_under_a_lower_id_stays(
        self, publish, monkeypatch, late, marked
    ):
        """Ids are given before transactions commit; only what was read is deleted."""
        made = make_products(6)
        section = publish(limited(3))
        kind = "key" if marked == "mark_keys" else "audit"
        for pk in (100, 102):
            Change(pk, section="products", kind=kind, low=str(made[0].pk)).save()
        mark = getattr(collecting, marked)

        def commit_late(*args, **kwargs):
            Change(late, section="products", kind="key", low=str(made[5].pk)).save()
            mark(*args, **kwargs)

        with monkeypatch.context() as patch:
            patch.setattr(collecting, marked, commit_late)
            take_changes(section, registry.get("products"))
        assert recorded() == keys(made[5])
        assert take(section) == [1, 2]
        assert recorded() == []

    def test_changes_of_other_sections_stay(self, publish, sections):
        """Each section takes its own."""
        product = make_products(1)[0]
        publish(limited(5), "other")
        section = publish(ProductSource)
        product.save()
        take(section)
        assert Change.objects.get().section == "other"

    @pytest.mark.parametrize(
        ("kind", "low", "high"),
        [
            ("key", "no integer", ""),
            ("range", "a", "b"),
            ("related", "1", "no_such_path"),
            ("related", "1", "testapp.Gone:book"),
            ("related", "no integer", "testapp.Label:pk"),
        ],
    )
    def test_a_change_that_nobody_can_read_any_more_marks_the_section(
        self, publish, kind, low, high
    ):
        """A deploy has changed the key or the relation that it names."""
        make_products(6)
        section = publish(limited(3))
        Change.objects.create(section="products", kind=kind, low=low, high=high)
        assert take(section) == [1, 2]
        assert recorded() == []


@pytest.fixture
def both(other_database):
    """A second database that has changes of its own."""
    with connections[other_database].schema_editor() as editor:
        editor.create_model(Change)
    return other_database


class Everything:
    """Routes products, and nothing else, to the other database."""

    def db_for_write(self, model, **hints):
        return "other" if model is Product else None

    db_for_read = db_for_write


class TestAnotherDatabase:
    def test_the_change_lies_beside_the_object(self, publish, both):
        """It commits with it, so it must be on the object's database."""
        publish(ProductSource)
        product = Product(pk=5, name="one", slug="one")
        product.save(using=both)
        assert recorded(both) == [("key", "5", "")]
        assert recorded() == []

    def test_the_reader_takes_changes_from_there(self, publish, both, settings):
        """Pages are marked here; then the changes are deleted there."""
        settings.DATABASE_ROUTERS = [
            "tests.integration.tracking.test_notify.Everything"
        ]
        section = publish(ProductSource)
        product = Product.objects.create(name="one", slug="one")
        assert product._state.db == both
        assert recorded(both) == keys(product)
        assert take(section) == [1]
        assert recorded(both) == []

    def test_notify_changed_records_there_too(self, publish, both, settings):
        """The queryset says which database it is of."""
        settings.DATABASE_ROUTERS = [
            "tests.integration.tracking.test_notify.Everything"
        ]
        publish(ProductSource)
        product = Product.objects.bulk_create([Product(name="one", slug="one")])[0]
        assert notify_changed(Product.objects.all()) == 1
        assert recorded(both) == keys(product)


class TestMarking:
    def test_pages_are_marked_and_changes_go_in_one_step(self, publish, monkeypatch):
        """Where changes stay, so does what their pages were."""
        made = make_products(6)
        section = publish(limited(3))
        notify_changed(Product.objects.filter(pk=made[1].pk))

        def refuse(found):
            assert dirty(section) == [1]
            raise OperationalError("the database is gone")

        with monkeypatch.context() as patch:
            patch.setattr(locating, "delete_changes", refuse)
            with pytest.raises(OperationalError):
                take(section)
        assert dirty(section) == []
        assert take(section) == [1]
        assert recorded() == []

    @pytest.mark.django_db(transaction=True)
    def test_changes_of_another_database_go_once_the_pages_are_committed(
        self, publish, both, monkeypatch
    ):
        """A crash in between marks twice; before the commit it would lose a change."""
        rows = Product.objects.using(both)
        made = rows.bulk_create([Product(slug=f"p-{n}") for n in range(6)])
        section = publish(limited(3, using=both))
        made[4].save()
        delete, seen = locating.delete_changes, []

        def watched(found):
            if any(change._state.db == both for change in found):
                seen.append((connection.in_atomic_block, dirty(section)))
            delete(found)

        monkeypatch.setattr(locating, "delete_changes", watched)
        take_changes(section, registry.get("products"))
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
            take(section)
        assert section.pages.get().changed_at == first

    def test_a_key_that_no_database_holds_is_found_all_the_same(self, publish):
        """One that was recorded while the key was text, say."""
        make_products(6)
        section = publish(limited(3))
        Change.objects.create(section="products", kind="key", low="9" * 20)
        assert take(section) == [2]
        Change.objects.create(section="products", kind="key", low="-" + "9" * 20)
        assert take(section) == [1, 2]
