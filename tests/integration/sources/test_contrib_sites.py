"""The site that contrib's sitemaps are given: a row, as from contrib's own view."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.contrib.sites.requests import RequestSite
from django.db import connection
from django.db.models import QuerySet
from django.test import override_settings
from django.urls import path

from django_sitemaps_plus import conf
from django_sitemaps_plus.contrib import views as drop_in
from django_sitemaps_plus.sites import django_site
from tests.support.builds import build_fully
from tests.support.documents import locs
from tests.support.shop import make_products, product_urls
from tests.support.testapp.models import Product
from tests.support.urls import urlpatterns

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

SHOP = "https://shop.example"


class Domains(Sitemap):
    """Chooses its host by the site's key."""

    limit = 10

    def items(self) -> QuerySet[Product]:
        return Product.objects.order_by("pk")

    def get_domain(self, site: Any = None) -> str:
        return f"{site.name.lower()}-{site.pk}.{super().get_domain(site)}"


class Remembered(Sitemap):
    """Keeps the site of ``get_urls()`` for ``items()``."""

    limit = 10
    protocol = "https"

    def get_urls(self, page: int = 1, site: Any = None, protocol: Any = None) -> Any:
        self.site = site
        return super().get_urls(page=page, site=site, protocol=protocol)

    def items(self) -> QuerySet[Product]:
        return Product.objects.filter(popularity=self.site.pk).order_by("pk")


class Hosted(Remembered):
    """Keeps that of ``get_domain()``, which contrib asks before ``items()`` too."""

    get_urls = Sitemap.get_urls

    @property
    def limit(self) -> int:
        return 10

    def get_domain(self, site: Any = None) -> str:
        self.site = site
        return super().get_domain(site)


class Project:
    """The usual URLs, and the classes by views in the place of contrib's."""

    sitemaps = {"domains": Domains, "remembered": Remembered, "hosted": Hosted}
    urlpatterns = [
        *urlpatterns,
        path("theirs-<section>.xml", drop_in.sitemap, {"sitemaps": sitemaps}),
    ]


@pytest.fixture
def site_rows(settings: Any, configure: Any) -> Iterator[Any]:
    """Have django.contrib.sites with two rows; return its model."""
    installed = [*settings.INSTALLED_APPS, "django.contrib.sites"]
    with override_settings(INSTALLED_APPS=installed):
        from django.contrib.sites.models import Site

        with connection.schema_editor() as editor:
            editor.create_model(Site)
        Site.objects.clear_cache()
        Site.objects.create(pk=1, domain="shop.example", name="Shop")
        Site.objects.create(pk=2, domain="blog.example", name="Blog")
        configure(BASE_URL=SHOP)
        yield Site
        Site.objects.clear_cache()
        with connection.schema_editor() as editor:
            editor.delete_model(Site)


@pytest.fixture
def products(sections: Any, settings: Any) -> None:
    """Have 25 products of the first site, and one that is not, by two classes."""
    make_products(25, popularity=1)
    make_products(1, first=25, popularity=2)
    sections.register("domains", Domains)
    sections.register("remembered", Remembered)
    sections.register("hosted", Hosted)
    settings.ROOT_URLCONF = Project


class TestTheRow:
    @pytest.mark.parametrize("site_id", [None, 1, 2, 3])
    def test_it_is_that_of_the_origin(self, site_rows, settings, configure, site_id):
        """Whatever SITE_ID says; with the domain of the origin, and not saved."""
        settings.SITE_ID = site_id
        found = django_site(conf.Site("any", "https://blog.example"))
        assert (type(found), found.pk, found.name) == (site_rows, 2, "Blog")
        assert found.domain == "blog.example"
        configure(BASE_URL="https://SHOP.example")
        assert django_site(conf.get_site()).pk == 1
        site_rows.objects.create(pk=3, domain="müller.example", name="Müller")
        origin = "https://xn--mller-kva.example"
        assert django_site(conf.Site("any", origin)).pk == 3

    def test_else_that_of_site_id(self, site_rows, settings):
        settings.SITE_ID = 2
        found = django_site(conf.Site("any", "https://www.elsewhere.example:8443"))
        assert (found.pk, found.domain) == (2, "www.elsewhere.example:8443")
        assert site_rows.objects.get_current().domain == "blog.example"
        assert site_rows.objects.get(pk=2).domain == "blog.example"

    @pytest.mark.parametrize("site_id", [None, 3])
    def test_else_what_contrib_makes_of_a_request(self, site_rows, settings, site_id):
        settings.SITE_ID = site_id
        found = django_site(conf.Site("any", "https://elsewhere.example"))
        assert type(found) is RequestSite
        assert found.domain == found.name == "elsewhere.example"

    def test_it_is_asked_for_once(self, site_rows, settings, django_assert_num_queries):
        """Until it is saved, as of contrib."""
        settings.SITE_ID = 2
        site = conf.Site("any", SHOP)
        assert django_site(site).pk == 1
        with django_assert_num_queries(0):
            assert django_site(site).pk == 1
        site_rows.objects.filter(pk=1).get().save()
        site_rows.objects.filter(pk=2).update(name="Other")
        with django_assert_num_queries(1):
            assert django_site(site).pk == 1


def test_without_the_app_it_is_what_contrib_makes_of_a_request():
    found = django_site(conf.Site("any", SHOP))
    assert (type(found), str(found)) == (RequestSite, "shop.example")


@pytest.mark.parametrize("is_built", [False, True])
def test_methods_may_ask_for_its_key(
    site_rows, settings, products, client, is_built, django_assert_max_num_queries
):
    """And for its name; a class may keep it for items()."""
    settings.SITE_ID = 2
    if is_built:
        build_fully()
    for name, host, sizes, queries in (
        ("domains", "shop-1.shop.example", [10, 10, 6], 4),
        # Its paginator counts once more, to know that this is its last page.
        ("remembered", "shop.example", [10, 10, 5], 5),
        ("hosted", "shop.example", [10, 10, 5], 4),
    ):
        found = []
        for number in (1, 2, 3):
            url = f"/sitemap-{name}-{number}.xml"
            client.get(url)
            with django_assert_max_num_queries(queries):
                found.append(locs(client.get(url).content))
        assert list(map(len, found)) == sizes
        urls = product_urls(range(sum(sizes)), f"https://{host}")
        assert list(chain(*found)) == urls
        assert client.get(f"/sitemap-{name}-4.xml").status_code == 404


def test_so_may_those_of_views_in_the_place_of_contribs(
    site_rows, settings, products, client
):
    settings.SITE_ID = 1
    found = locs(client.get("/theirs-domains.xml?p=3").content)
    assert found[-1] == "http://shop-1.shop.example/products/product-00025/"
    for name in ("remembered", "hosted"):
        path = f"/theirs-{name}.xml?p="
        pages = [locs(client.get(f"{path}{number}").content) for number in (1, 2, 3)]
        assert list(chain(*pages)) == product_urls(range(25), SHOP)
        assert client.get(f"{path}4").status_code == 404
