"""Contrib sitemaps, registered unchanged, give the entries of contrib's own view."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, date, datetime
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps
from django.contrib.sitemaps import Sitemap
from django.contrib.sitemaps.views import sitemap as contrib_view
from django.contrib.sites.requests import RequestSite
from django.db import connection
from django.db.models import QuerySet
from django.test import RequestFactory
from django.urls import path
from django.utils import timezone

from django_sitemaps_plus import conf
from django_sitemaps_plus.building.plan.split import split_ranges
from django_sitemaps_plus.checks import check_sources
from django_sitemaps_plus.contrib import views as drop_in
from django_sitemaps_plus.core import limits
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sites import django_site, get_site
from tests.integration.sources import contrib_zoo as zoo
from tests.support.builds import build_fully
from tests.support.documents import Listed, locs, read_urlset
from tests.support.rendered import plan_of, queries_of, render
from tests.support.shop import START, limited, make_products, product_urls
from tests.support.testapp.models import Product
from tests.support.urls import urlpatterns

TEMPLATES = Path(sitemaps.__file__).parent / "templates"
IN_LANGUAGES = ("InLanguages", "WithAlternates", "WithDefault", "LanguagesOfItems")


@pytest.fixture
def rows(settings: Any) -> None:
    """Add products that differ in all that a sitemap may say."""
    settings.ROOT_URLCONF = "tests.support.urls"
    # Keys that are no positions.
    make_products(7)
    Product.objects.all().delete()
    make_products(7)
    for number, product in enumerate(Product.objects.order_by("pk")):
        Product.objects.filter(pk=product.pk).update(
            updated_at=None if number == 2 else product.updated_at,
            created_on=date(2026, 1, number + 1),
            popularity=number % 3,
            frequency=str(number % 2),
        )


@pytest.fixture
def contrib(settings: Any) -> Callable[[Any], list[Listed]]:
    """Return what gives the entries of contrib's view, over all its pages."""
    engine = {"BACKEND": "django.template.backends.django.DjangoTemplates"}
    settings.TEMPLATES = [{**engine, "DIRS": [str(TEMPLATES)]}]

    def entries(sitemap: Any) -> list[Listed]:
        instance = sitemap() if isinstance(sitemap, type) else sitemap
        found = []
        for number in range(1, instance.paginator.num_pages + 1):
            request = RequestFactory().get(
                "/", {"p": number}, secure=True, headers={"host": "example.com"}
            )
            response = contrib_view(request, {"section": sitemap})
            response.render()
            urls = response.context_data["urlset"]
            # Its template prints the day alone; the view knows the moment.
            found += [
                replace(entry, lastmod=w3c_in_time_zone(url["lastmod"]))
                for entry, url in zip(read_urlset(response.content), urls, strict=True)
            ]
        return found

    return entries


def w3c_in_time_zone(value: Any) -> str | None:
    if isinstance(value, datetime):
        if timezone.is_naive(value):
            value = timezone.make_aware(value)
        return str(value.astimezone(UTC).isoformat(timespec="seconds"))
    return value and str(value.isoformat())


@pytest.fixture
def ours(client: Any, sections: Any, crawl: Any) -> Callable[[Any], list[Listed]]:
    """Return what gives the entries of our view, over all its pages."""

    def entries(sitemap: Any) -> list[Listed]:
        sections.register("section", sitemap)
        pages = [read_urlset(client.get(path).content) for path in crawl()]
        return list(chain(*pages))

    return entries


ALL = [*zoo.BY_KEY, *zoo.BY_POSITION, *zoo.OWN_PAGES]


@pytest.mark.usefixtures("rows")
class TestEntries:
    @pytest.mark.parametrize("kind", ALL, ids=zoo.name_of)
    def test_entries_equal_those_of_contribs_own_view(
        self, kind, contrib, ours, settings
    ):
        """Each loc, moment, changefreq, priority and alternate, none more or less.

        By position their order is that of contrib.
        """
        if zoo.name_of(kind).endswith((*IN_LANGUAGES, "ListInLanguages")):
            settings.ROOT_URLCONF = "tests.support.urls_i18n"
            settings.LANGUAGES = [("en-us", "English"), ("de", "D"), ("fr", "F")]
        expected, found = contrib(zoo.made(kind)), ours(zoo.made(kind))
        assert expected
        assert sorted(found, key=str) == sorted(expected, key=str)
        if kind is zoo.Sliced:
            assert found == expected

    def test_items_are_asked_once_for_a_page(self):
        asked = []

        class Slow(zoo.OfList):
            def items(self):
                asked.append(1)
                return super().items()

        render(Slow)
        assert len(asked) == 1

    def test_a_protocol_in_capitals_is_written_as_urls_are(self, ours):
        class Loud(zoo.Plain):
            protocol = "HTTPS"

        assert {it.loc[:20] for it in ours(Loud)} == {"https://example.com/"}

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="no distinct(fields)")
    def test_distinct_on_fields(self, contrib, ours):
        expected = contrib(zoo.DistinctOnFields)
        assert len(expected) == 2
        assert ours(zoo.DistinctOnFields) == expected

    def test_moments_are_those_of_a_clock_in_time_zone(self, ours):
        """Printed in UTC, whatever a request has activated."""
        with timezone.override("Asia/Tokyo"):
            entries = ours(zoo.ConstantLastmod)
        assert {entry.lastmod for entry in entries} == {"2026-07-01T10:00:00+00:00"}


@pytest.mark.usefixtures("rows")
class TestPaging:
    @pytest.mark.parametrize("kind", zoo.BY_KEY, ids=zoo.name_of)
    def test_plain_querysets_page_by_key(self, kind):
        sitemap = with_limit(kind, 2 * languages_of(kind))
        keys = [str(product.pk) for product in Product.objects.order_by("pk")]
        plan = plan_of(sitemap)
        assert [part.low for part in plan] == [None, *keys[2::2]]
        reads = [sql for sql in queries_of(sitemap, plan[1]) if "testapp" in sql]
        assert len(reads) == 1
        assert "OFFSET" not in reads[0]

    @pytest.mark.parametrize("kind", zoo.BY_POSITION, ids=zoo.name_of)
    def test_other_items_page_by_position(self, kind):
        plan = plan_of(with_limit(kind, 2 * languages_of(kind)))
        assert [part.low for part in plan[:2]] == [None, "2"]

    @pytest.mark.parametrize("kind", zoo.OWN_PAGES, ids=zoo.name_of)
    def test_a_class_with_pages_of_its_own_keeps_them(self, kind):
        pages = kind().paginator.num_pages
        lows = [part.low for part in plan_of(kind)]
        assert lows == [None, *map(str, range(1, pages))]

    def test_nor_by_a_class_with_pages_of_its_own(self):
        """Its paginator gets our limit, as its pages are ours."""

        class Many(zoo.OfNames):
            def items(self):
                return [f"/{number}/" for number in range(10_001)]

            def get_urls(self, *args, **kwargs):
                return super().get_urls(*args, **kwargs)

        assert len(plan_of(Many)) == 2

    def test_an_instance_is_left_as_it_was(self):
        sitemap = zoo.Plain()
        before = dict(vars(sitemap))
        render(sitemap)
        assert vars(sitemap) == before


@pytest.mark.usefixtures("rows")
class TestOwnPagesThatChange:
    def test_a_page_that_is_gone_is_empty(self):
        """Also the first, if no item is left."""
        plan, other = plan_of(zoo.OwnUrls), plan_of(zoo.OwnPaginator)
        Product.objects.filter(slug__gte="product-00003").delete()
        assert [render(zoo.OwnUrls, part).tally.entries for part in plan] == [3, 0, 0]
        Product.objects.all().delete()
        assert [render(zoo.OwnPaginator, part).document for part in other] == [None] * 2

    def test_new_pages_reach_the_readers(self, sections, crawl):
        sections.register("own", zoo.OwnUrls)
        build_fully()
        make_products(5, first=7)
        build_fully()
        assert [len(entries) for entries in crawl().values()] == [3, 3, 3, 3]

    def test_small_pages_stay_apart(self, sections, crawl):
        """Nobody but the class can tell what is on a page that takes in two."""
        sections.register("own", zoo.OwnPaginator)
        build_fully()
        Product.objects.get(slug="product-00001").delete()
        (section,) = build_fully().sections
        assert section.errors == []
        assert list(crawl().values()) == [
            product_urls([0, 2, 3, 4]),
            product_urls([5, 6]),
        ]

    def test_a_page_that_is_too_large_is_not_cut(self, sections, monkeypatch):
        sections.register("own", zoo.OwnUrls)
        build_fully()
        pages = Page.objects.of("default", "own").order_by("number")
        before = list(pages.values_list("number", "low", "high"))
        page = pages.with_section().get(number=2)
        ways = split_ranges(page, open_section(page.section))
        assert next(ways) == [KeyRange(page.low, page.high)]
        largest = page.plain_size
        monkeypatch.setattr(limits, "MAX_BYTES", largest)
        Product.objects.filter(slug="product-00003").update(slug="product-00003-x")
        (section,) = build_fully().sections
        assert len(section.errors) == 1
        with pytest.raises(SourceError, match="'own'"):
            build_fully(dry_run=True)
        assert list(pages.values_list("number", "low", "high")) == before

    def test_a_section_that_had_keys_is_planned_afresh(self, sections, crawl):
        """Bounds that are no positions are not taken for some."""
        sections.register("section", limited(3, key="slug"))
        build_fully()
        sections.unregister("section")
        sections.register("section", with_limit(zoo.OfList, 4))
        build_fully()
        assert [len(entries) for entries in crawl().values()] == [4, 3]


def with_limit(kind: Any, limit: int) -> Any:
    sitemap = zoo.made(kind)
    if isinstance(sitemap, type):
        return type(sitemap.__name__, (sitemap,), {"limit": limit})
    sitemap.limit = limit
    return sitemap


def languages_of(kind: Any) -> int:
    sitemap = zoo.made(kind)
    made: Any = sitemap() if isinstance(sitemap, type) else sitemap
    return len(made._languages()) if made.i18n else 1


@pytest.mark.usefixtures("rows")
@pytest.mark.parametrize("is_made", [False, True])
def test_a_limit_may_be_a_property(sections, crawl, is_made):
    """As contrib asks it of an instance."""
    kind = type("Limited", (zoo.Plain,), {"limit": property(lambda self: 3)})
    sections.register("products", kind() if is_made else kind)
    assert check_sources() == []
    assert [len(entries) for entries in crawl().values()] == [3, 3, 1]


@pytest.mark.usefixtures("rows")
def test_rows_that_come_fall_into_the_open_range() -> None:
    source = with_limit(zoo.Plain, 5)
    *_, last = plan_of(source)
    assert last.high is None
    make_products(1, first=7, updated_at=START)
    assert render(source, last).tally.entries == 3
    assert render(source, KeyRange(None, last.low)).tally.entries == 5


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
    sitemaps = {"domains": Domains, "remembered": Remembered, "hosted": Hosted}
    urlpatterns = [
        *urlpatterns,
        path("theirs-<section>.xml", drop_in.sitemap, {"sitemaps": sitemaps}),
    ]


@pytest.fixture
def products(sections: Any, settings: Any) -> None:
    make_products(25, popularity=1)
    make_products(1, first=25, popularity=2)
    sections.register("domains", Domains)
    sections.register("remembered", Remembered)
    sections.register("hosted", Hosted)
    settings.ROOT_URLCONF = Project


@pytest.mark.django_db(transaction=True)
class TestTheRow:
    @pytest.mark.parametrize("site_id", [None, 1, 2, 3])
    def test_it_is_that_of_the_origin(self, site_rows, settings, configure, site_id):
        """Whatever SITE_ID says; with the domain of the origin, and not saved."""
        settings.SITE_ID = site_id
        found = django_site(conf.Site("any", "https://blog.example"))
        assert (type(found), found.pk, found.name) == (site_rows, 2, "Blog")
        assert found.domain == "blog.example"
        configure(BASE_URL="https://SHOP.example")
        assert django_site(get_site()).pk == 1
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


@pytest.mark.django_db(transaction=True)
def test_without_the_app_it_is_what_contrib_makes_of_a_request():
    found = django_site(conf.Site("any", SHOP))
    assert (type(found), str(found)) == (RequestSite, "shop.example")


@pytest.mark.django_db(transaction=True)
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


@pytest.mark.django_db(transaction=True)
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
