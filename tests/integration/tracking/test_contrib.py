"""Saves of the model that a contrib class lists reach its pages."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.core.paginator import Paginator
from django.db import connection
from django.db.backends.signals import connection_created
from django.db.models.signals import post_save
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import notify_changed
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.registry import registry
from tests.support.builds import pass_grace
from tests.support.documents import locs
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Author, Cafe, Label, Place, Product

from .rows import can_fast_delete, forget_models, keys, make_older, recorded, senders

pytestmark = pytest.mark.database


class ByKey(Sitemap):
    """A plain queryset, two rows a page."""

    limit = 2

    def items(self):
        return Product.objects.filter(published=True).order_by("pk")


class Sliced(ByKey):
    """The first hundred."""

    def items(self):
        return super().items()[:100]


class Union(ByKey):
    """Two querysets of one model."""

    def items(self):
        rows = super().items().order_by()
        return rows.union(rows).order_by("pk")


class Listed(ByKey):
    """A list."""

    def items(self):
        return list(super().items())


class OwnPaginator(ByKey):
    """Decides itself what is on a page."""

    @property
    def paginator(self):
        return Paginator(self.items(), 2)


class OwnUrls(ByKey):
    """Makes the entries itself."""

    def get_urls(self, page=1, site=None, protocol=None):
        return super().get_urls(page, site, protocol)


class Tree(Sitemap):
    """As Wagtail's class: rows of a parent, their URLs from a method of the child."""

    def items(self):
        return Place.objects.filter(visits__gte=0).order_by("slug")

    def location(self, item):
        return f"/{item.slug}/"

    def _urls(self, page, protocol, domain):
        items = self.paginator.page(page).object_list
        return [{"location": f"{protocol}://{domain}/{item.slug}/"} for item in items]


class Names(Sitemap):
    """The names of views."""

    def items(self):
        return ["home", "about"]

    def location(self, item):
        return f"/{item}/"


BY_POSITION = [Sliced, Union, Listed, OwnPaginator, OwnUrls]


def slugs(client: Any) -> list[str]:
    """Return what the published pages list, by the last part of each URL."""
    section = Section.objects.get(name="products")
    found = []
    for page in section.pages.filter(state="active", entries__gt=0).order_by("number"):
        body = client.get(f"/sitemap-products-{page.number}.xml").content
        found += [url.rstrip("/").rpartition("/")[2] for url in locs(body)]
    return sorted(found)


def change_each(products: list[Product]) -> None:
    """Edit one, unpublish one, delete one, and add one."""
    products[0].slug = "edited"
    products[0].save()
    products[1].published = False
    products[1].save()
    products[2].delete()
    Product.objects.create(name="x", slug="added")


class TestByKey:
    def test_what_was_edited_unpublished_deleted_or_added_is_in_the_next_build(
        self, publish, client
    ):
        products = make_products(7)
        publish(ByKey)
        change_each(products)
        build()
        kept = [f"product-0000{number}" for number in (3, 4, 5, 6)]
        assert slugs(client) == ["added", "edited", *kept]

    def test_the_page_of_the_row_alone_is_rendered(self, publish):
        products = make_products(7)
        publish(ByKey)
        products[3].save()
        assert recorded() == keys(products[3])
        assert [build().sections[0].rendered for _ in range(2)] == [1, 0]

    def test_track_deletes_off_keeps_the_fast_delete(self, publish):
        [product] = make_products(1)
        publish(type("Quiet", (ByKey,), {"track_deletes": False}))
        assert can_fast_delete(Product)
        product.save()
        assert recorded() == keys(product)

    def test_nothing_is_rendered_after_an_hour_unless_the_class_asks_for_it(
        self, publish
    ):
        make_products(3)
        section = publish(ByKey)
        make_older(section, 7_000)
        assert build().sections[0].rendered == 0
        section = publish(type("Aged", (ByKey,), {"max_age": 6_000}))
        make_older(section, 7_000)
        assert build().sections[0].rendered == 2


class TestWholeSections:
    @pytest.mark.parametrize("sitemap", BY_POSITION)
    def test_what_changed_is_in_the_next_build_after_a_minute(
        self, publish, client, sitemap
    ):
        products = make_products(7)
        section = publish(sitemap)
        change_each(products)
        make_older(section, 61)
        build()
        kept = [f"product-0000{number}" for number in (3, 4, 5, 6)]
        assert slugs(client) == ["added", "edited", *kept]
        assert recorded() == []

    @pytest.mark.parametrize("sitemap", [Sliced, OwnPaginator])
    def test_saves_render_it_once_a_minute_and_none_is_lost(self, publish, sitemap):
        products = make_products(3)
        section = publish(sitemap)
        make_older(section, 61)
        rendered = []
        for product in products:
            product.save()
            rendered.append(build().sections[0].rendered)
        assert rendered == [2, 0, 0]
        assert recorded() == keys(*products[1:])
        make_older(section, 61)
        assert build().sections[0].rendered == 2
        assert recorded() == []

    def test_the_class_may_say_how_often(self, publish):
        """A sixtieth of its ``max_age``."""
        [product] = make_products(1)
        section = publish(type("Quick", (OwnPaginator,), {"max_age": 600}))
        product.save()
        make_older(section, 9)
        assert build().sections[0].rendered == 0
        make_older(section, 2)
        assert build().sections[0].rendered == 1

    @pytest.mark.parametrize("sitemap", BY_POSITION)
    def test_without_a_save_nothing_is_rendered_after_an_hour(self, publish, sitemap):
        make_products(3)
        section = publish(sitemap)
        make_older(section, 7_000)
        assert build().sections[0].rendered == 0

    def test_saves_under_the_name_of_a_child_count(self, publish, client):
        """Wagtail lists its base class, and its editors save their own pages."""
        cafe, other = [Cafe.objects.create(slug=slug) for slug in ("one", "two")]
        section = publish(Tree)
        assert slugs(client) == ["one", "two"]
        cafe.visits = -1
        cafe.save()
        other.delete()
        Cafe.objects.create(slug="three")
        make_older(section, 61)
        build()
        assert slugs(client) == ["three"]

    def test_notify_changed_marks_it(self, publish, client):
        """Of its own model only."""
        make_products(3)
        section = publish(OwnPaginator)
        Product.objects.filter(slug="product-00001").update(slug="updated")
        assert notify_changed(Author.objects.all()) == 0
        assert notify_changed(Product.objects.filter(slug="updated")) == 1
        make_older(section, 61)
        build()
        assert "updated" in slugs(client)


class TestWithoutModel:
    @pytest.mark.parametrize(
        "items", [["home"], [{"pk": 1}], [Product(pk=1, slug="a"), "home"], range(3)]
    )
    def test_what_is_not_all_rows_is_rendered_each_hour(self, publish, items):
        class Mixed(Names):
            def items(self):
                return items

        section = publish(Mixed)
        make_older(section, 3_599)
        assert build().sections[0].rendered == 0
        make_older(section, 2)
        assert build().sections[0].rendered == 1
        assert id(Product) not in senders(post_save)

    def test_own_pages_need_no_items_that_work(self, publish, client):
        class Own(Names):
            def items(self):
                raise NotImplementedError

            def get_urls(self, page=1, site=None, protocol=None):
                return [{"location": "https://example.com/own/"}]

            paginator = Paginator(["own"], 1)

        publish(Own)
        assert slugs(client) == ["own"]
        assert build().sections[0].errors == []

    def test_a_list_that_was_empty_names_its_model_later(self, publish, client):
        """The rows of which nothing was recorded are listed a minute later."""
        publish(Listed)
        Product.objects.create(name="x", slug="first")
        assert recorded() == []
        Section.objects.update(new_since=None)  # long ago
        build()
        pass_grace()
        build()
        assert slugs(client) == ["first"]
        second = Product.objects.create(name="x", slug="second")
        assert recorded() == keys(second)


class TestOtherProcesses:
    """Those that have not built: web servers, workers, commands."""

    def test_the_first_save_asks_the_database_and_is_recorded(
        self, publish, monkeypatch
    ):
        """items() is the user's code, which a save never calls."""
        [product] = make_products(1)
        publish(ByKey)
        forget_models()
        monkeypatch.setattr(ByKey, "items", None)
        product.save()
        assert recorded() == keys(product)
        product.delete()
        assert len(recorded()) == 2

    def test_a_process_that_only_deletes_asks_as_it_connects(self, publish):
        [product] = make_products(1)
        publish(ByKey)
        forget_models()
        connection_created.send(sender=type(connection), connection=connection)
        product.delete()
        assert len(recorded()) == 1

    def test_what_is_not_built_is_asked_for_every_ten_seconds(
        self, sections, django_assert_num_queries, configure
    ):
        """By one query, whatever is saved; not where saves are not recorded."""
        sections.register("products", ByKey)
        label = Label(code="a")
        configure(TRACK=None)
        with django_assert_num_queries(1):
            label.save(force_insert=True)
        configure(TRACK=True)
        with CaptureQueriesContext(connection) as queries:
            label.save()
            label.save()
        asked = [it for it in queries if "listed_models" in it["sql"]]
        assert len(asked) == 1

    def test_no_other_model_loses_its_fast_delete(self, publish):
        """Neither before the model is known nor after."""
        publish(limited(2), "others")
        publish(ByKey)
        forget_models()
        assert can_fast_delete(Label)
        Label.objects.create(code="a")
        assert can_fast_delete(Label)
        assert not can_fast_delete(Product)
        assert id(None) not in senders(post_save)

    def test_registering_asks_nothing(self, sections, django_assert_num_queries):
        with django_assert_num_queries(0):
            sections.register("products", Listed)

    def test_a_model_that_is_gone_is_none(self, publish):
        """Until the next build asks items() again."""
        [product] = make_products(1)
        section = publish(ByKey)
        forget_models()
        Section.objects.filter(pk=section.pk).update(listed_models="testapp.Gone")
        product.save()
        assert recorded() == []
        build()
        product.save()
        assert recorded() == keys(product)

    def test_a_callable_that_fails_costs_no_save(self, publish):
        """Each process calls it for itself, when a save asks what it lists."""
        [product] = make_products(1)
        faults: list[Exception] = []

        def make() -> Sitemap:
            for fault in faults:
                raise fault
            return ByKey()

        publish(make)
        product.save()
        assert recorded() == keys(product)
        faults.append(LookupError("no such shop"))
        del vars(registry.get("products"))["sample"]
        forget_models()
        product.save()
        assert recorded() == keys(product)  # of the first save

    def test_a_database_without_our_tables_hurts_no_save(self, publish, monkeypatch):
        make_products(1)
        publish(ByKey)
        forget_models()
        monkeypatch.setattr(Section._meta, "db_table", "gone")
        Label.objects.create(code="a")
        assert Label.objects.count() == 1


def test_another_model_after_a_deploy_is_watched(publish):
    publish(ByKey)
    label = Label.objects.create(code="a")

    class Others(ByKey):
        def items(self):
            return Label.objects.all()

    registry.unregister("products")
    registry.register("products", Others)
    build()
    label.save()
    assert recorded() == keys(label)


def test_a_generic_sitemap_is_watched_before_its_first_build(sections):
    """It holds its queryset, so that nothing need be asked."""
    sections.register("products", GenericSitemap({"queryset": Product.objects.all()}))
    assert id(Product) in senders(post_save)
    assert id(None) not in senders(post_save)
