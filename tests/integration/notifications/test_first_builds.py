"""What is told of builds: what their diffs hold, and of some builds nothing."""

from __future__ import annotations

import pytest
from django.db import connection

from django_sitemaps_plus.building import build as building
from django_sitemaps_plus.models import Publication, Section
from django_sitemaps_plus.notifications import url_changes
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.tracking.collecting import take_changes
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product

pytestmark = pytest.mark.django_db(transaction=True)

REPLAN = {"replan": True}
FULL = {"full": True}


def told(recording):
    """Tell what there is; return what was told, sorted."""
    recording.clear()
    notify_engines()
    return sorted(recording.told())


def url(slug):
    return f"https://example.com/products/{slug}/"


@pytest.fixture
def products(recording, publish):
    """Publish three pages of products, of which nobody has been told."""
    made = make_products(25)
    publish(limited(10))
    return made


class TestNothingIsTold:
    def test_of_a_first_build(self, recording, publish, monkeypatch):
        """The sitemap itself says it; no file is read, there may be millions."""
        monkeypatch.setattr(url_changes, "read_document", None)
        make_products(25)
        publish(limited(10))
        assert not Publication.objects.exists()
        assert told(recording) == []

    def test_of_a_new_plan(self, recording, products, publish):
        """The same URLs are on other pages; nor of a row that comes in with it."""
        publish(limited(7))
        Product.objects.bulk_create([Product(name="new", slug="new")])
        build_and_relay(**REPLAN)
        assert told(recording) == []

    def test_of_a_deploy_that_changes_every_entry(self, recording, products, publish):
        publish(limited(10, priority=0.3))
        assert told(recording) == []

    def test_of_a_language_that_is_switched_on(self, recording, publish, settings):
        """All of its URLs are new, and all at once."""
        settings.ROOT_URLCONF = "tests.support.urls_i18n"
        make_products(25)
        publish(limited(10, languages=["en"]))
        publish(limited(10, languages=["en", "de"]))
        assert told(recording) == []

    def test_of_pages_that_are_split_and_merged(self, recording, products):
        """Only of what has come, and what has gone."""
        for product in make_products(10, first=25):
            product.save()
        build_and_relay()
        assert told(recording) == product_urls(range(25, 35))
        Product.objects.filter(pk__in=[p.pk for p in products[:18]]).delete()
        build_and_relay(full=True, allow_shrink=True)
        assert told(recording) == product_urls(range(18))


class TestChanges:
    def test_of_a_slug_both_urls_are_told_of_an_edit_one(self, recording, products):
        rename(products[3], "renamed")
        products[7].updated_at = products[9].updated_at
        products[7].save()
        build_and_relay()
        assert told(recording) == [*product_urls([3, 7]), url("renamed")]

    def test_each_file_of_a_few_is_read_once(self, recording, products, monkeypatch):
        """Two of the page that the edit is on: the old one and the new one."""
        read, files = url_changes.read_document, []
        monkeypatch.setattr(
            url_changes, "read_document", lambda name: files.append(name) or read(name)
        )
        rename(products[3], "renamed")
        build_and_relay()
        assert len(told(recording)) == len(files) == len(set(files)) == 2

    def test_what_is_no_longer_listed_is_told(self, recording, publish):
        """An engine is to forget it."""
        make_products(25)

        def published(self):
            return Product.objects.filter(published=True)

        publish(limited(10, get_queryset=published))
        Product.objects.get(slug="product-00007").delete()
        hidden = Product.objects.get(slug="product-00012")
        hidden.published = False
        hidden.save()
        build_and_relay()
        assert told(recording) == product_urls([7, 12])

    def test_what_no_signal_told_is_told_once_it_is_found(self, recording, products):
        """By an audit, or by a build of everything."""
        Product.objects.filter(pk=products[3].pk).update(slug="renamed")
        Product.objects.bulk_create([Product(name="new", slug="new")])
        with connection.cursor() as cursor:
            gone = [products[5].pk]
            cursor.execute("DELETE FROM testapp_product WHERE id = %s", gone)
        build_and_relay(**FULL)
        expected = [*product_urls([3, 5]), url("new"), url("renamed")]
        assert told(recording) == sorted(expected)

    def test_one_that_is_undone_before_it_is_told_counts(self, recording, products):
        """An engine may have fetched what was there in between."""
        for slug in ("renamed", "product-00003"):
            rename(products[3], slug)
            build_and_relay()
        assert told(recording) == [*product_urls([3]), url("renamed")]

    def test_one_before_a_new_plan_is_told(self, recording, products, publish):
        """A plan that tells nothing does not hide it."""
        rename(products[3], "renamed")
        publish(limited(7))
        build_and_relay(**REPLAN)
        assert told(recording) == [*product_urls([3]), url("renamed")]

    @pytest.mark.parametrize("is_noticed", [False, True])
    def test_one_before_a_deploy_is_told(
        self, recording, products, publish, is_noticed
    ):
        """Nor does a deploy that marks all pages, dirty ones too."""
        rename(products[3], "renamed")
        if is_noticed:
            section = Section.objects.get(name="products")
            take_changes(open_section(section))
        publish(limited(10, priority=0.3))
        assert {*product_urls([3]), url("renamed")} <= set(told(recording))

    def test_one_during_the_first_build_is_told(self, recording, publish):
        """Its page may have been read before it or after it."""
        products = make_products(3)

        def location(self, item):
            if item.slug == "product-00002" and not Product.objects.filter(
                slug="renamed"
            ):
                rename(products[0], "renamed")
            return f"/products/{item.slug}/"

        publish(limited(10, location=location))
        build_and_relay()
        assert url("renamed") in told(recording)


class TestChangesDuringABuildOfWhichNobodyIsTold:
    """They come when changes have been taken, and before the pages are rendered."""

    @pytest.fixture
    def meanwhile(self, monkeypatch):
        """Return what has something done then, once."""
        real, acts = building.notice, []

        def notice(*arguments):
            real(*arguments)
            while acts:
                acts.pop()()

        monkeypatch.setattr(building, "notice", notice)
        return acts.append

    @pytest.fixture
    def renamed(self, products, meanwhile):
        """Have the fourth product renamed; give what is to be told of it."""
        meanwhile(lambda: rename(products[3], "renamed"))
        return [*product_urls([3]), url("renamed")]

    def test_of_a_deploy(self, recording, renamed, publish):
        """Of the edit; of the other rows nothing, also not on its page."""
        publish(limited(10, priority=0.3))
        build_and_relay()
        assert told(recording) == renamed

    def test_of_a_new_plan(self, recording, renamed):
        """Of the edit alone: it is in new pages, and the old ones go without it."""
        registry.unregister("products")
        registry.register("products", limited(7))
        build_and_relay(**REPLAN)
        build_and_relay()
        assert told(recording) == renamed


def rename(product, slug):
    """Save a product under another slug."""
    product.slug = slug
    product.save()
