"""``LANGUAGE_CODE = "en-us"``, as startproject has it, and "en" in ``LANGUAGES``."""

from typing import Any

import pytest
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.db.models import QuerySet
from django.test import Client
from django.urls import include, path, reverse
from django.utils.translation import get_language

from django_sitemaps_plus import ModelSource, ViewSource
from django_sitemaps_plus.contrib import views as drop_in
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sources import languages
from django_sitemaps_plus.tracking import deploys
from tests.support.builds import build_and_relay, build_fully
from tests.support.documents import locs
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product
from tests.support.told import hearing
from tests.support.urls import view

HOST = "https://example.com"


class Methods(ModelSource):
    model = Product
    limit = 10

    def location(self, product: Product) -> str:
        return f"{product.get_absolute_url()}?{get_language()}"


class Pages(ViewSource):
    views = ("about",)


class Products(Sitemap):
    limit = 10

    def items(self) -> QuerySet[Product]:
        return Product.objects.order_by("pk")


class AboutPage(Sitemap):
    def items(self) -> list[str]:
        return ["about"]

    def location(self, item: str) -> str:
        return reverse(item)


def urls(*, has_all_prefixes: bool) -> tuple[Any, ...]:
    """Return a URLconf with languages in front, and sitemaps of contrib's beside it."""
    of_url = {"sitemaps": {"about": AboutPage, "products": Products}}
    return (
        path("", include("django_sitemaps_plus.urls")),
        path("ours.xml", drop_in.sitemap, of_url),
        *i18n_patterns(
            path("about/", view, name="about"),
            path("products/<slug:slug>/", view, name="product-detail"),
            prefix_default_language=has_all_prefixes,
        ),
    )


@pytest.fixture(autouse=True)
def project(settings: Any, sections: Any) -> None:
    """Have 25 products in a project of two languages, listed in one."""
    settings.LANGUAGE_CODE = "en-us"
    settings.LANGUAGES = [("en", "English"), ("de", "German")]
    locale = "django.middleware.locale.LocaleMiddleware"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, locale]
    settings.ROOT_URLCONF = urls(has_all_prefixes=True)
    make_products(25)


@pytest.mark.parametrize("is_built", [False, True])
@pytest.mark.parametrize(
    ("has_all_prefixes", "prefix", "code"), [(True, "/en", "en"), (False, "", "en-us")]
)
def test_the_urls_are_those_that_answer(
    settings, sections, crawl, client, is_built, has_all_prefixes, prefix, code
):
    """For sources without languages, and classes of contrib's without i18n."""
    settings.ROOT_URLCONF = urls(has_all_prefixes=has_all_prefixes)
    sections.register("declared", limited(10))
    sections.register("methods", Methods)
    sections.register("views", Pages)
    sections.register("classes", Products)
    sections.register("generic", GenericSitemap({"queryset": Product.objects.all()}))
    if is_built:
        build_fully()
    found = crawl()
    assert found["/sitemap-views-1.xml"] == [f"{HOST}{prefix}/about/"]
    begin = f"{HOST}{prefix}/products/"
    for name, after in (("declared", ""), ("methods", f"?{code}"), ("classes", "")):
        listed = [
            url for page in (1, 2, 3) for url in found[f"/sitemap-{name}-{page}.xml"]
        ]
        assert listed == [f"{begin}product-{it:05}/{after}" for it in range(25)]
    listed = [url for page in found.values() for url in page]
    assert len(listed) == 101
    for url in listed[::10]:
        assert client.get(url.removeprefix(HOST)).status_code == 200


@pytest.mark.parametrize("has_all_prefixes", [True, False])
def test_so_are_those_of_views_in_the_place_of_contribs(
    settings, client, has_all_prefixes
):
    settings.ROOT_URLCONF = urls(has_all_prefixes=has_all_prefixes)
    prefix = "/en" if has_all_prefixes else ""
    found = locs(client.get("/ours.xml").content)
    assert found[0] == f"http://testserver{prefix}/about/"


def test_a_language_that_has_no_variant_is_kept(settings, sections):
    """As in a project that misses its own language in the list."""
    settings.LANGUAGES = [("de", "German")]
    sections.register("views", Pages)
    assert locs(Client().get("/sitemap-views-1.xml").content) == [
        f"{HOST}/en-us/about/"
    ]


@pytest.mark.parametrize("source", [limited(10), Methods, Products])
def test_what_an_older_release_has_built_is_built_anew_unannounced(
    sections, crawl, monkeypatch, source
):
    sections.register("products", source)
    with monkeypatch.context() as older:
        for module in (languages, deploys):
            older.setattr(module, "rendered_language", lambda: "en-us")
        build_fully()
        assert "/en-us/" in crawl()["/sitemap-products-1.xml"][0]
    with hearing(urls_changed) as heard:
        build_and_relay()
    assert not Page.objects.dirty().exists()
    listed = [url for page in crawl().values() for url in page]
    assert len(listed) == 25
    assert all(url.startswith(f"{HOST}/en/products/") for url in listed)
    assert [it["announce"] for it in heard] == [False] * 3
