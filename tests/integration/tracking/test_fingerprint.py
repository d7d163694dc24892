"""Fingerprints tell deploys by what a source says; values in its queries are apart."""

from __future__ import annotations

import operator
import os
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from functools import reduce
from itertools import chain

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.db.models import Case, Q, When
from django.urls import clear_url_caches, include, path
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.translation import get_language

from django_sitemaps_plus import Route, ViewSource
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.testing import temporary_source
from django_sitemaps_plus.tracking.deploys import fingerprint, query_values
from tests.support import urls
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Painting, Product
from tests.support.told import hearing
from tests.support.urls import view

from .rows import become, dirty

SITE = Site("default", "https://example.com")


def words(attributes, site=SITE):
    """Return the fingerprint of the usual source with other attributes."""
    with temporary_source("products", limited(10, **attributes)):
        return fingerprint(open_section("products", site))


def listing(**which):
    return {"get_queryset": lambda self: Product.objects.filter(**which)}


CHANGES = {
    "a declaration": ({"changefreq": "weekly"}, {"changefreq": "daily"}),
    "a path": ({"lastmod": "updated_at"}, {"lastmod": "created_on"}),
    "a route": ({}, {"location": Route("product-detail", slug="name")}),
    "an added declaration": ({}, {"priority": 0.5}),
    "a method's body": (
        {"priority": lambda self, obj: 0.1},
        {"priority": lambda self, obj: 0.2},
    ),
    "a comprehension in a method": (
        {"priority": lambda self, obj: max([0.1 for _ in "ab"])},
        {"priority": lambda self, obj: max([0.2 for _ in "ab"])},
    ),
    "the filter": (listing(published=True), listing(slug="x")),
    "no rows": ({}, listing(pk__in=[])),  # whose SQL Django refuses to write
    "the key": ({}, {"key": "slug"}),
    "the database": ({}, {"using": "default"}),
}


@pytest.mark.database
@pytest.mark.parametrize("name", CHANGES)
def test_it_tells_sources_apart(name):
    before, after = CHANGES[name]
    assert words(before) == words(before)
    assert words(before) != words(after)


def test_it_tells_origins_and_languages_apart(settings):
    paths = Site("default", SITE.origin, "/a/")
    sites = [SITE, Site("default", "https://other.example"), paths]
    found = {words({}, site) for site in sites}
    for name, value in [
        ("LANGUAGE_CODE", "de"),
        ("LANGUAGES", [("en", "English")]),
        ("USE_I18N", False),
    ]:
        setattr(settings, name, value)
        found.add(words({}))
    assert len(found) == 6


def test_it_tells_the_origins_of_languages_apart(configure):
    """Of sources that list these, and of no others."""
    rows = {"location": Route("product-detail", slug="slug"), "languages": ["de"]}
    views = type("Pages", (ViewSource,), {"views": ["home"], "languages": ["de"]})
    found, others = set(), set()
    for host in ("a.example", "b.example", "a.example/c"):
        configure(LANGUAGE_ORIGINS={"de": f"https://{host}"})
        found |= {words(rows), fingerprint(open_section(views(), SITE))}
        others |= {words({}), words(rows | {"languages": ["fr"]})}
    assert (len(found), len(others)) == (6, 2)


@pytest.fixture
def add_pattern(monkeypatch):
    patterns = urls.urlpatterns

    def add_pattern(added):
        monkeypatch.setattr(urls, "urlpatterns", [*patterns, added])
        clear_url_caches()

    yield add_pattern
    clear_url_caches()


def test_it_tells_the_patterns_of_each_language_apart(add_pattern):
    """That of the default language may stay as it was."""
    found = set()
    for word in ("produkte/", "waren/"):
        words_of = {"de": word}
        text = lazy(lambda it=words_of: it.get(get_language(), "products/"), str)
        names = [path("<slug:slug>/", view, name="translated")]
        add_pattern(path(text(), include(names)))
        route = Route("translated", slug="slug")
        found.add(words({"location": route, "languages": ["en", "de"]}))
    assert len(found) == 2


@pytest.mark.parametrize("languages", [[], ["de"]])
def test_it_tells_the_urls_of_views_apart(add_pattern, languages):
    """A view that has none is for the checks."""
    views = {"views": ("about", "nowhere"), "languages": languages}
    source, found = type("Pages", (ViewSource,), views)(), set()
    for prefix in ("about/", "about-us/", "about-us/"):
        add_pattern(path(prefix, view, name="about"))
        found.add(fingerprint(open_section(source, SITE)))
    assert len(found) == 2


def test_it_tells_the_addresses_of_images_apart(settings):
    """A host for media changes the URLs of all files, and no row."""
    files = {"model": Painting, "images": "photo"}
    before, others = words(files), words({})
    settings.MEDIA_URL = "https://cdn.example/"
    assert words(files) != before
    assert words({}) == others


@pytest.mark.database
@pytest.mark.parametrize("name", ["limit", "max_age", "on_error", "track_deletes"])
def test_how_pages_are_cut_and_built_does_not_count(name):
    source = type("Source", (limited(10),), {name: 99})
    with temporary_source("products", source):
        assert fingerprint(open_section("products", SITE)) == words({})


@pytest.mark.database
def test_rows_and_the_time_of_an_instance_do_not_count(django_assert_num_queries):
    """A queryset is not asked for its rows; each process would have its own time."""
    found = set()
    for number in (1, 2):
        make_products(1, first=number)
        rows = Product.objects.all()
        sitemap = GenericSitemap({"queryset": rows, "date_field": "pk"})
        sitemap.began = datetime(2026, 1, number, tzinfo=UTC)
        with temporary_source("products", sitemap), django_assert_num_queries(0):
            found.add(fingerprint(open_section("products", SITE)))
    assert len(found) == 1


CHILD = """
import django
from django.conf import settings
settings.configure(SITEMAPS_PLUS={"BASE_URL": "https://example.com"}, USE_TZ=True,
    INSTALLED_APPS=["django_sitemaps_plus"])
django.setup()
from django_sitemaps_plus import ViewSource
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.tracking.deploys import fingerprint

class Source(ViewSource):
    views = ["home"]
    kinds = {"a", "b", "c", "d"}
    more = frozenset({"e", "f", "g", "h"})
    def priority(self, item):
        return 0.5 if item in {"a", "b", "c", "d", "e"} else 0.4

site = Site("default", "https://example.com")
print(fingerprint(open_section(Source(), site)))
"""


def test_it_is_the_same_in_every_process():
    """Sets of strings are in another order in each, and a build from cron is one."""
    found = set()
    for seed in ("1", "2", "3"):
        environment = {**os.environ, "PYTHONHASHSEED": seed}
        done = subprocess.run(
            [sys.executable, "-c", CHILD],
            env=environment,
            capture_output=True,
            text=True,
            timeout=60,
            check=True,
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_the_code_of_get_absolute_url_counts_where_it_is_asked(monkeypatch):
    """It says where each row is found."""
    asked, declared = words({"location": None}), words({})
    monkeypatch.setattr(Product, "get_absolute_url", lambda self: f"/p/{self.slug}/")
    assert words({"location": None}) != asked
    assert words({}) == declared


FEATURED: list[int] = []


def listed(rows):
    """Return a source of three rows a page, whose query rows or the time decide."""
    return limited(3, get_queryset=lambda self: rows())


def of_slugs(slugs):
    return reduce(operator.or_, [Q(slug__startswith=slug) for slug in slugs])


#: Makes a query of a list of keys.
FROM_ROWS = {
    "in": lambda pks: Product.objects.filter(pk__in=pks),
    "or": lambda pks: Product.objects.filter(Q(pk__in=pks) | Q(name="x")),
    "a subquery": lambda pks: Product.objects.filter(
        pk__in=Product.objects.filter(pk__in=pks).values("pk")
    ),
    "conditions": lambda pks: Product.objects.filter(of_slugs(["x", *map(str, pks)])),
    "several conditions": lambda pks: Product.objects.filter(
        reduce(operator.or_, [Q(pk=pk) | Q(slug=f"{pk}") for pk in [0, *pks]])
    ),
    "an order": lambda pks: Product.objects.order_by(
        Case(When(pk=0, then=0), *[When(pk=pk, then=pk) for pk in pks])
    ),
}


def prints(rows):
    """Return the fingerprint of a source, and the hash of its values."""
    with temporary_source("products", listed(rows)):
        section = open_section("products")
        found = fingerprint(section)
        return found, query_values(section, found)


@pytest.mark.database
@pytest.mark.parametrize("kind", FROM_ROWS)
def test_values_from_rows_are_no_part_of_the_fingerprint(kind):
    found = [
        prints(lambda pks=pks: FROM_ROWS[kind](pks))
        for pks in ([], [1], [1, 2], [7, 8, 9])
    ]
    assert len({code for code, _ in found}) == 1
    assert len({values for _, values in found}) == 4


NOW = timezone.now()
MOMENTS = [NOW, NOW + timedelta(days=1), NOW + timedelta(days=2)]

#: Keys that began at a thousand million are from rows as all others are.
LARGE = [[10**9 + 7], [10**9 + 7, 10**9 + 8], [10**9 + 8]]

#: Makes a filter of a value, some values, and how many of them differ.
VALUES = {
    "large keys": (lambda it: {"pk__in": it}, LARGE, 3),
    "orders": (lambda it: {"pk__in": it}, [[1, 2, 3], (3, 1, 2), {2, 3, 1}], 1),
    # Else each build would mark all pages.
    "time": (lambda it: {"updated_at__lt": it}, MOMENTS, 1),
    "days": (lambda it: {"created_on__in": [it.date()]}, MOMENTS, 1),
    "seconds": (lambda it: {"pk__lt": int(it.timestamp())}, MOMENTS, 1),
    "thousandths": (lambda it: {"pk__lt": it.timestamp() * 1000}, MOMENTS, 1),
}


@pytest.mark.database
@pytest.mark.parametrize("kind", VALUES)
def test_which_values_differ(kind):
    """Those of rows do; their order and the present time do not."""
    made, values, count = VALUES[kind]
    queries = [Product.objects.filter(**made(value)) for value in values]
    assert len({prints(lambda it=it: it) for it in queries}) == count


def of_contrib():
    """Return a contrib class that lists featured rows."""

    class Featured(Sitemap):
        limit = 3

        def items(self):
            return Product.objects.filter(pk__in=FEATURED).order_by("pk")

        def location(self, item):
            return f"/products/{item.slug}/"

    return Featured


def of_generic():
    rows = Product.objects.filter(pk__in=list(FEATURED)).order_by("pk")
    made = GenericSitemap({"queryset": rows})
    made.location = lambda item: f"/products/{item.slug}/"
    made.limit = 3
    return made


SOURCES = {
    "source": lambda: listed(lambda: Product.objects.filter(pk__in=FEATURED)),
    "contrib": of_contrib,
    "generic": of_generic,
}


@pytest.mark.database
@pytest.mark.parametrize("kind", SOURCES)
def test_a_change_of_them_is_found_by_the_next_build_and_announced(
    kind, publish, crawl
):
    """As a change of rows: of a page only what differs is announced."""
    pks = [product.pk for product in make_products(10)]
    FEATURED[:] = pks[:9]
    section = publish(SOURCES[kind]())
    before = Section.objects.get(pk=section.pk).fingerprint
    FEATURED[:] = [*reversed(pks[1:9]), pks[9]]
    if kind == "generic":
        become(of_generic())
    with hearing(urls_changed) as heard:
        build_and_relay()
    added = [url for it in heard if it["announce"] for url in it["added"]]
    removed = [url for it in heard if it["announce"] for url in it["removed"]]
    updated = [url for it in heard for url in it["updated"]]
    assert (added, removed, updated) == (product_urls([9]), product_urls([0]), [])
    assert Section.objects.get(pk=section.pk).fingerprint == before
    assert sorted(chain(*crawl().values())) == product_urls(range(1, 10))
    assert build_and_relay().sections[0].rendered == 0
    assert dirty(section) == []
