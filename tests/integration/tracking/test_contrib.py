"""Saves of the model that a contrib class lists reach its pages."""

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.core.paginator import Paginator
from django.db import connection
from django.db.models.signals import post_save
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import notify_changed
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.registry import registry
from tests.support.builds import pass_grace
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Author, Label, Product

from .rows import (
    become,
    can_fast_delete,
    forget_models,
    keys,
    like,
    make_older,
    recorded,
    senders,
)


class ByKey(Sitemap):
    """A plain queryset, two rows a page."""

    limit = 2

    def items(self):
        return Product.objects.filter(published=True).order_by("pk")


class Sliced(ByKey):
    def items(self):
        return super().items()[:100]


class Union(ByKey):
    def items(self):
        rows = super().items().order_by()
        return rows.union(rows).order_by("pk")


class Listed(ByKey):
    def items(self):
        return list(super().items())


class OwnPaginator(ByKey):
    @property
    def paginator(self):
        return Paginator(self.items(), 2)


class OwnUrls(ByKey):
    def get_urls(self, page=1, site=None, protocol=None):
        return super().get_urls(page, site, protocol)


class Names(Sitemap):
    def items(self):
        return ["home", "about"]

    def location(self, item):
        return f"/{item}/"


BY_POSITION = [Sliced, Union, Listed, OwnPaginator, OwnUrls]


@pytest.mark.database
class TestByKey:
    def test_the_page_of_the_row_alone_is_rendered(self, publish):
        products = make_products(7)
        publish(ByKey)
        products[3].save()
        assert recorded() == keys(products[3])
        assert [build().sections[0].rendered for _ in range(2)] == [1, 0]


class TestWholeSections:
    @pytest.mark.database
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

    @pytest.mark.parametrize(
        ("sitemap", "count"),
        [
            *[(sitemap, 0) for sitemap in (ByKey, *BY_POSITION)],
            (like(ByKey, max_age=6_000), 2),
        ],
    )
    def test_without_a_save_nothing_is_rendered_unless_asked_for(
        self, publish, sitemap, count
    ):
        make_products(3)
        section = publish(sitemap)
        make_older(section, 7_000)
        assert build().sections[0].rendered == count

    def test_the_class_may_say_how_often(self, publish):
        """A sixtieth of its ``max_age``."""
        [product] = make_products(1)
        section = publish(like(OwnPaginator, max_age=600))
        product.save()
        make_older(section, 9)
        assert build().sections[0].rendered == 0
        make_older(section, 2)
        assert build().sections[0].rendered == 1

    def test_notify_changed_marks_it(self, publish):
        """Of its own model only."""
        make_products(3)
        section = publish(OwnPaginator)
        assert notify_changed(Author.objects.all()) == 0
        assert notify_changed(Product.objects.filter(slug="product-00001")) == 1
        make_older(section, 61)
        assert build().sections[0].rendered == 2


class TestWithoutModel:
    @pytest.mark.parametrize(
        "items", [["home"], [{"pk": 1}], [Product(pk=1, slug="a"), "home"], range(3)]
    )
    def test_what_is_not_all_rows_is_rendered_each_hour(self, publish, items):
        section = publish(like(Names, items=lambda self: items))
        make_older(section, 3_599)
        assert build().sections[0].rendered == 0
        make_older(section, 2)
        assert build().sections[0].rendered == 1
        assert id(Product) not in senders(post_save)

    def test_own_pages_need_no_items_that_work(self, publish, crawl):
        url = "https://example.com/own/"
        pages = {
            "items": None,
            "get_urls": lambda self, **kwargs: [{"location": url}],
            "paginator": Paginator(["own"], 1),
        }
        publish(like(Names, **pages))
        assert list(crawl().values()) == [[url]]
        assert build().sections[0].errors == []

    def test_a_list_that_was_empty_names_its_model_later(self, publish, crawl):
        """The rows of which nothing was recorded are listed a minute later."""
        publish(Listed)
        Product.objects.create(name="x", slug="first")
        assert recorded() == []
        Section.objects.update(new_since=None)  # long ago
        build()
        pass_grace()
        build()
        assert "/first/" in crawl()["/sitemap-products-1.xml"][0]
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

    @pytest.mark.database
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

    become(like(ByKey, items=lambda self: Label.objects.all()))
    build()
    label.save()
    assert recorded() == keys(label)


def test_registering_asks_nothing(sections, django_assert_num_queries):
    """A generic sitemap holds its queryset, so it is watched before its first build."""
    with django_assert_num_queries(0):
        rows = Product.objects.all()
        sections.register("generic", GenericSitemap({"queryset": rows}))
        assert id(Product) in senders(post_save)
        assert id(None) not in senders(post_save)
        sections.register("products", Listed)
