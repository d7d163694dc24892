"""The views in the place of contrib's answer as those do, or better."""

import random
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from inspect import signature
from itertools import chain, product
from types import ModuleType
from typing import Any
from urllib.parse import quote

import django.urls
import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.contrib.sitemaps import views as contrib
from django.core.checks import run_checks
from django.core.exceptions import ObjectDoesNotExist
from django.db import connection, transaction
from django.template import TemplateDoesNotExist
from django.test import Client
from django.utils import timezone
from django.views.decorators.cache import cache_page
from lxml import etree

from django_sitemaps_plus import adoption, registry
from django_sitemaps_plus.contrib import views as ours
from django_sitemaps_plus.core.gzip import write_document
from django_sitemaps_plus.diagnostics.problems import problems_of
from django_sitemaps_plus.diagnostics.status import read_dashboard
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.publishing.prune import prune
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.testing import tracking
from tests.integration.sources import contrib_zoo as zoo
from tests.reliability.tools.odd_requests import HEADERS, is_allowed
from tests.support.builds import build_and_relay, build_fully
from tests.support.documents import Listed, locs, read_index, read_urlset
from tests.support.lazy import Lazy
from tests.support.shop import START, make_products, recreate_products
from tests.support.testapp.models import Product, Shop

from . import urls

CONDITIONAL = "django.middleware.http.ConditionalGetMiddleware"
KINDS = [*zoo.BY_KEY, *zoo.BY_POSITION, *zoo.OWN_PAGES]


def show(rows: int, kind: Any = zoo.Plain, **attributes: Any) -> None:
    """Have products, and a sitemap of them."""
    make_products(rows)
    urls.sitemaps["products"] = type("Shown", (kind,), attributes)


def entries(content: bytes) -> list[Listed]:
    if b"<url>" not in content:
        return []  # contrib answers with an empty urlset, which no schema accepts
    return [
        replace(it, priority=it.priority and str(float(it.priority)))
        for it in read_urlset(content)
    ]


def pages(get: Callable[..., Any], name: str) -> list[list[Listed]]:
    """Return the entries of all pages; our index may name more than contrib has."""
    index = read_index(get("/ours/index.xml").content)
    paths = [url.removeprefix("http://testserver/ours/") for url in index]
    found = [get(f"/{name}/{path}") for path in paths]
    return [entries(it.content) for it in found if it.status_code == 200]


def together(found: list[list[Listed]]) -> list[list[Listed]]:
    """Return the entries of all pages, since pages are cut otherwise."""
    return [sorted(chain(*found), key=str)]


def random_sitemap(chance: random.Random) -> Any:
    order = chance.choice(["pk", "-pk", "name", "popularity", "-updated_at"])
    first = f"product-{chance.choice([0, 0, 3, 20]):05}"
    dates = chance.choice(["updated_at", "created_on", "nothing"])
    attributes = {
        "limit": chance.choice([3, 50_000, 50_000]),
        "protocol": chance.choice([None, "https"]),
        "changefreq": chance.choice([None, "daily"]),
        "priority": chance.choice([None, 0.25, 1]),
        "items": lambda _: Product.objects.filter(slug__gte=first).order_by(
            order, "pk"
        ),
        "lastmod": lambda _, item: getattr(item, dates, None),
    }
    unwanted = {chance.choice(["changefreq", "priority", "lastmod", ""])}
    kept = {key: it for key, it in attributes.items() if key not in unwanted}
    return type("Random", (Sitemap,), kept)


class TestAsContrib:
    @pytest.mark.parametrize("name", ["index", "sitemap"])
    def test_the_arguments_are_the_same(self, name):
        def arguments(view: Any) -> list[Any]:
            found = signature(view).parameters.values()
            return [(it.name, it.default) for it in found]

        assert arguments(getattr(ours, name)) == arguments(getattr(contrib, name))

    @pytest.mark.parametrize("kind", KINDS, ids=zoo.name_of)
    def test_every_kind_of_sitemap_has_the_same_entries(self, kind, client):
        make_products(7)
        Product.objects.filter(slug__endswith="4").update(updated_at=None)
        urls.sitemaps["kind"] = zoo.made(kind)
        found, wanted = pages(client.get, "ours"), pages(client.get, "theirs")
        if len(wanted) > 1:
            found, wanted = together(found), together(wanted)
        assert found == wanted

    @pytest.mark.parametrize("seed", range(12))
    def test_random_dicts_have_the_same_index_entries_and_headers(self, seed, client):
        chance = random.Random(seed)
        for row in make_products(chance.choice([0, 5, 9, 9])):
            row.updated_at = START - timedelta(minutes=chance.randrange(9_999))
            row.created_on = date(2026, 1, chance.randint(1, 28))
            row.popularity = chance.random()
            row.save()
        for number in range(chance.randint(1, 3)):
            urls.sitemaps[f"section-{number}"] = random_sitemap(chance)
        index, theirs = [client.get(f"/{it}/index.xml") for it in ("ours", "theirs")]
        assert index.content == theirs.content.replace(b"/theirs/", b"/ours/")
        assert index.get("Last-Modified") == theirs.get("Last-Modified")
        assert index["X-Robots-Tag"] == theirs["X-Robots-Tag"]
        sections = [f"sitemap-{it}.xml" for it in urls.sitemaps]
        for path in sections:
            self._compare(client, path)
        for number in range(1, 4):
            page, *parts = [
                client.get(f"/ours/{it}?p={number}") for it in ["all.xml", *sections]
            ]
            assert (page.status_code == 200) == all(
                it.status_code == 200 for it in parts
            )
            if page.status_code == 200:
                found = [entries(it.content) for it in parts]
                assert entries(page.content) == list(chain(*found))
        page, theirs = [client.get(f"/{it}/all.xml") for it in ("ours", "theirs")]
        if entries(page.content) == entries(theirs.content):
            assert page.get("Last-Modified") == theirs.get("Last-Modified")

    def _compare(self, client: Any, path: str) -> None:
        """See that both have the same pages, with the same entries altogether."""
        answers = [
            [client.get(f"/{it}/{path}?p={number}") for number in range(1, 7)]
            for it in ("ours", "theirs")
        ]
        found, wanted = [
            [it for it in all_ if it.status_code == 200] for all_ in answers
        ]
        assert len(found) == len(wanted)
        roots = [etree.fromstring(it[0].content).nsmap for it in (found, wanted)]
        assert roots[0] == roots[1]
        lists = [[entries(it.content) for it in pages] for pages in (found, wanted)]
        if len(wanted) == 1:
            assert found[0].get("Last-Modified") == wanted[0].get("Last-Modified")
        else:
            lists = [together(it) for it in lists]
        assert lists[0] == lists[1]

    @pytest.mark.parametrize(
        "page", ["0", "3", "-1", "x", "1.0", "", "9" * 30, "9" * 5_000, "1%00"]
    )
    def test_pages_that_do_not_exist_are_404_with_the_same_words(
        self, page, client, rf
    ):
        show(4, zoo.Plain, limit=2)
        found = []
        for view in (ours.sitemap, contrib.sitemap):
            with pytest.raises(Exception) as caught:  # noqa: PT011 - its type is compared
                view(rf.get(f"/?p={page}"), urls.sitemaps)
            found.append((type(caught.value), str(caught.value)))
        assert found[0] == found[1]
        assert client.get(f"/ours/all.xml?p={page}").status_code == 404

    def test_pages_are_as_full_as_contribs(self, client):
        Shop.objects.bulk_create([Shop(name=str(number)) for number in range(6)])
        path = {"location": lambda *_: "/shop/"}
        items = {"items": lambda _: range(10_001)}
        urls.sitemaps["many"] = type("Many", (Sitemap,), path | items)
        items = {"items": lambda _: Shop.objects.all(), "limit": 6}
        urls.sitemaps["shops"] = type("Shops", (Sitemap,), path | items)
        index = client.get("/ours/index.xml")
        assert len(read_index(index.content)) == 2

    def test_an_empty_document_is_the_same(self, client):
        for path in ("all.xml", "index.xml"):
            page, theirs = [client.get(f"/{it}/{path}") for it in ("ours", "theirs")]
            assert page.content.strip() == theirs.content.strip()

    def test_templates_of_the_project_are_used(self, client, settings, tmp_path):
        show(1)
        (tmp_path / "sitemap.xml").write_text((tmp_path / "own.xml").read_text())
        page = client.get("/theirs/own.xml").content
        assert b"/products/product-00000/ Jan" in page
        assert client.get("/ours/own.xml").content == page
        assert client.get("/ours/all.xml").content == page
        index = client.get("/ours/own-index.xml").content
        assert b"/ours/sitemap-products.xml Jan" in index

    def test_the_content_type_is_that_of_the_url(self, client):
        urls.sitemaps["products"] = zoo.Plain
        assert client.get("/ours/text.xml")["Content-Type"] == "text/plain"


@pytest.mark.parametrize("path", ["all.xml", "index.xml", "own.xml", "own-index.xml"])
def test_a_crawler_that_has_it_gets_a_304(path, client):
    show(2)
    first = client.get(f"/ours/{path}")
    has_it = {"if-none-match": first["ETag"]}
    again = client.get(f"/ours/{path}", headers=has_it)
    assert (again.status_code, again.content) == (304, b"")
    assert again["ETag"] == first["ETag"]
    assert "Cache-Control" not in first  # a decorator may say it
    Product.objects.update(updated_at=START - timedelta(days=1))
    changed = client.get(f"/ours/{path}", headers=has_it)
    assert changed.status_code == 200


@pytest.mark.parametrize("path", ["all.xml", "own.xml"])
def test_a_304_is_not_kept_for_others(path, client):
    """By the decorator that Django's documentation puts around contrib's views."""
    show(1)
    headers = {"if-none-match": client.get(f"/ours/{path}")["ETag"]}
    cached = f"/ours/cached/{path}"
    assert client.get(cached, headers=headers).status_code == 304
    for _ in range(2):
        assert client.get(cached).status_code == 200


@pytest.mark.parametrize("path", ["all.xml", "index.xml"])
def test_a_304_of_what_is_kept_takes_no_query(
    path, client, kept, django_assert_num_queries
):
    show(2)
    has_it = {"if-none-match": client.get(f"/ours/{path}")["ETag"]}
    with django_assert_num_queries(0):
        assert client.get(f"/ours/{path}", headers=has_it).status_code == 304


@pytest.mark.parametrize("use_tz", [False, True])
@pytest.mark.parametrize("is_own", [False, True])
def test_the_index_writes_no_time_without_a_zone(client, settings, use_tz, is_own):
    """As contrib does of naive datetimes; a clock in TIME_ZONE is meant."""
    settings.USE_TZ, settings.TIME_ZONE = use_tz, "Asia/Tokyo"

    class Naive(zoo.Plain):
        def items(self) -> Any:
            return list(Product.objects.all())

        def lastmod(self, obj: Product) -> Any:
            return datetime(2026, 7, 1, 12)  # noqa: DTZ001 - naive on purpose

    if is_own:
        Naive.get_latest_lastmod = lambda self: self.lastmod(None)
    make_products(1, updated_at=None)
    urls.sitemaps["products"] = Naive
    theirs = client.get("/theirs/index.xml").content
    assert b"<lastmod>2026-07-01T12:00:00</lastmod>" in theirs
    (ours,) = read_index(client.get("/ours/index.xml").content).values()
    assert datetime.fromisoformat(ours) == datetime(2026, 7, 1, 3, tzinfo=UTC)


def test_rows_under_new_keys_are_on_pages_that_are_kept_by_no_one(client, kept):
    """Pages of the plan that is kept are empty, and it is made anew."""
    show(30, limit=10)
    client.get("/ours/sitemap-products.xml")
    recreate_products()
    path = "/ours/sitemap-products.xml?p="
    pages = [locs(client.get(f"{path}{number}").content) for number in (2, 3)]
    assert list(map(len, pages)) == [10, 10]
    assert len({*pages[0], *pages[1]}) == 20


@pytest.mark.parametrize(
    ("seconds", "is_said"), [(-3_600, True), (30, False), (90, True)]
)
def test_an_index_names_no_edit_that_a_page_may_lack(client, kept, seconds, is_said):
    """Or a crawler that has read such a page would not read it again."""
    edited = timezone.now() - timedelta(seconds=seconds)
    make_products(1, updated_at=edited)
    urls.sitemaps["products"] = zoo.Plain
    (lastmod,) = read_index(client.get("/ours/index.xml").content).values()
    assert bool(lastmod) == is_said


@pytest.mark.parametrize("path", ["index.xml", "all.xml"])
def test_contrib_need_not_be_installed(client, path, settings):
    """Its templates are found, and its view would answer 500."""
    show(1)
    first = client.get(f"/ours/{path}")
    settings.TEMPLATES = []
    assert client.get(f"/ours/{path}").content == first.content
    with pytest.raises(TemplateDoesNotExist):
        client.get(f"/theirs/{path}")


def test_nothing_is_shared_between_hosts_schemes_and_languages(client, kept, settings):
    settings.MIDDLEWARE = ["django.middleware.locale.LocaleMiddleware"]
    show(1)
    etags = {}
    hosts, languages = ("one.example", "two.example"), ("en-us", "de")
    for host, secure, language in 2 * [*product(hosts, (False, True), languages)]:
        given = {"headers": {"host": host, "accept-language": language}}
        origin = f"http{'s' * secure}://{host}"
        page = client.get("/ours/all.xml", secure=secure, **given)
        assert locs(page.content) == [f"{origin}/{language}/products/product-00000/"]
        index = client.get("/ours/index.xml", secure=secure, **given)
        (url,) = read_index(index.content)
        assert url.startswith(f"{origin}/ours/")
        first = etags.setdefault((origin, language), page["ETag"])
        assert first == page["ETag"]
    assert len(set(etags.values())) == 8


@pytest.mark.parametrize("path", ["all.xml", "index.xml"])
def test_a_host_of_no_site_is_not_found(path, client, monkeypatch):
    """With django.contrib.sites and no SITE_ID, where contrib's views fail."""

    def of_no_site(request: Any) -> Any:
        raise ObjectDoesNotExist("Site matching query does not exist.")

    monkeypatch.setattr(ours, "get_current_site", of_no_site)
    assert client.get(f"/ours/{path}").status_code == 404


def test_attributes_may_be_properties(client):
    """As where a setting decides on the protocol; contrib asks an instance."""
    make_products(3)
    own = {"protocol": property(lambda _: "https"), "limit": property(lambda _: 2)}
    urls.sitemaps["own"] = type("Own", (zoo.Plain,), own)
    index, theirs = [client.get(f"/{it}/index.xml") for it in ("ours", "theirs")]
    assert index.content == theirs.content.replace(b"/theirs/", b"/ours/")


def test_what_a_view_of_the_project_passes_is_not_kept(client, kept):
    """It may be for this user only."""
    urls.sitemaps["mine"] = type("Mine", (zoo.OfNames,), {"location": "/mine/"})
    assert len(locs(client.get("/wrapped.xml").content)) == 3
    urls.sitemaps["mine"] = zoo.Plain
    assert b"<url>" not in client.get("/wrapped.xml").content


def test_a_view_of_the_project_gets_the_document_as_of_contrib(client, rf):
    """Plain and whole, whatever the client accepts; a command prints it."""
    show(3)
    for accepts in ["gzip", "identity"]:
        page = client.get("/kept.xml", headers={"Accept-Encoding": accepts})
        assert len(locs(page.content)) == 3
    assert client.head("/kept.xml")["Content-Length"] == page["Content-Length"]
    for views in [contrib, ours]:
        printed = views.sitemap(rf.get("/"), dict(urls.sitemaps)).rendered_content
        assert len(locs(printed.encode())) == 3
    assert client.get("/secured.xml").content.count(b"<loc>https://testserver/") == 3


@pytest.mark.parametrize("path", ["kept", "secured", "wrapped"])
def test_a_condition_is_none_that_a_view_of_the_project_meets(path, client, settings):
    """A view that keeps the document would keep an empty one; middleware does not."""
    show(3)
    every = Client().get(f"/{path}.xml", headers={"If-None-Match": "*"})
    assert len(locs(every.content)) == 3
    settings.MIDDLEWARE = [CONDITIONAL, *settings.MIDDLEWARE]
    first = client.get(f"/{path}.xml")
    same = client.get(f"/{path}.xml", headers={"If-None-Match": first["ETag"]})
    assert (first.status_code, same.status_code) == (200, 304)


def test_rows_that_cannot_be_listed_break_no_page(client, messages):
    make_products(4)

    class Bad(zoo.Plain):
        def location(self, item: Product) -> Any:
            number = int(item.slug[-1])
            assert number, "a bug"
            return [None, "/\x00\x1b&<", "/3"][number - 1]

        def changefreq(self, item: Product) -> str:  # type: ignore[override]
            return "daily\x00<"

        def lastmod(self, obj: Product) -> Any:
            return obj.nothing

    urls.sitemaps["bad"] = Bad
    page = client.get("/ours/sitemap-bad.xml")
    assert page.status_code == 200
    assert locs(page.content) == ["http://testserver/%00%1B&%3C", "http://testserver/3"]
    assert any("a bug" in it for it in messages("row_skipped"))
    index = client.get("/ours/index.xml")
    assert read_index(index.content) == {"http://testserver/ours/sitemap-bad.xml": None}
    assert messages("lastmod_failed")


@pytest.mark.parametrize("path", ["all.xml", "index.xml"])
def test_items_that_fail_are_asked_for_again(path, client, messages):
    class Broken(Sitemap):
        def items(self) -> Any:
            raise RuntimeError("no items")

    urls.sitemaps["broken"] = Broken
    page = client.get(f"/ours/{path}")
    assert (page.status_code, page["Retry-After"]) == (503, "120")
    assert page["Cache-Control"] == "no-store"
    assert "no items" in messages("live_failed")[0]


def test_a_page_that_is_too_large_is_named(client, messages, monkeypatch):
    write = partial(write_document, max_bytes=400)
    monkeypatch.setattr(ours, "write_document", write)
    show(4)
    assert client.get("/ours/all.xml").status_code == 503
    assert "more than 400 bytes in one file" in messages("live_failed")[0]


def test_pages_are_read_by_key(client, django_assert_max_num_queries):
    show(9, zoo.Ordered, limit=2)
    with django_assert_max_num_queries(30) as queries:
        client.get("/ours/all.xml?p=4")
    read = [it["sql"] for it in queries.captured_queries if "slug" in it["sql"]]
    assert read
    assert not [sql for sql in read if "OFFSET" in sql]


def test_a_page_is_never_fuller_than_contribs(client, kept):
    """Rows that come after the pages were counted wait until they are again."""
    show(3, zoo.Plain, limit=2)
    client.get("/ours/all.xml?p=1")
    make_products(5, first=3)
    assert len(locs(client.get("/ours/all.xml?p=2").content)) == 2


def test_own_pages_are_those_of_now(client, kept):
    """Their number is not kept, since only their own code knows it."""
    make_products(3)
    urls.sitemaps["own"] = zoo.OwnUrls
    assert client.get("/ours/all.xml?p=2").status_code == 404
    make_products(1, first=3)
    assert client.get("/ours/all.xml?p=2").status_code == 200


PATHS = ("index.xml", "all.xml", "sitemap-products.xml", "sitemap-gr%C3%B6%C3%9Fe.xml")
ODD_PATHS = ("sitemap-x%00.xml", "sitemap-%F0%28.xml", "own.xml", "own-index.xml")
PAGES = ("1", "2", "3", "0", "-1", "٢", "1_0", " 1", "1e3", "9" * 5_000, "\x00", "")
MIDDLEWARE = [
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.http.ConditionalGetMiddleware",
    "django.middleware.gzip.GZipMiddleware",
]


def test_odd_requests_are_refused_or_answered(client: Any, settings: Any) -> None:
    """Odd hosts, pages, methods and headers; every document that is sent is XML."""
    settings.SITEMAPS_PLUS = {"LIVE_CACHE_SECONDS": 60}
    settings.MIDDLEWARE = MIDDLEWARE
    show(9, zoo.Plain, limit=4)
    urls.sitemaps["größe"] = zoo.OfNames
    chance, seen = random.Random(1), Counter[int]()
    headers = HEADERS | {"Host": (*HEADERS["Host"], "evil.example:99999")}
    for _ in range(300):
        names = chance.sample(list(headers), chance.choice([0, 1, 1, 2, 3]))
        odd = {name: chance.choice(headers[name]) for name in names}
        method = chance.choice(["GET", "GET", "GET", "HEAD", "POST"])
        path = f"/ours/{chance.choice([*PATHS, *PATHS, *ODD_PATHS])}"
        path += f"?p={quote(chance.choice(PAGES))}"
        page = client.generic(method, path, headers=odd, secure=chance.random() < 0.5)
        seen[page.status_code] += 1
        assert is_allowed(page.status_code, method, odd), (path, odd)
        is_plain = "Content-Encoding" not in page and "own" not in path
        if page.status_code == 200 and page.content and is_plain:
            etree.fromstring(page.content)
    assert {200, 304, 400, 404, 405} <= seen.keys()


@pytest.fixture
def bare(settings: Any, sections: Any) -> None:
    settings.SITEMAPS_PLUS = {}
    settings.MEDIA_ROOT = ""


def found(settings: Any, *urlpatterns: Any) -> set[str]:
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": list(urlpatterns)})
    ids = [it.id.partition("sitemaps_plus.")[2] for it in run_checks()]
    return set(filter(None, ids))


@pytest.mark.usefixtures("bare")
@pytest.mark.parametrize(
    ("urlpatterns", "ids"),
    [
        (urls.patterns(ours, "ours"), set()),
        ([django.urls.path("a.xml", cache_page(60)(ours.sitemap))], set()),
        # Unless a view of the project's calls ours.
        (urls.patterns(contrib, "theirs"), {"W004", "W025", "W038"}),
    ],
    ids=["ours", "decorated", "theirs"],
)
def test_our_views_need_nothing_else(settings, urlpatterns, ids):
    assert found(settings, *urlpatterns) == ids


@pytest.mark.usefixtures("bare")
def test_a_registered_section_needs_the_rest(settings, sections):
    """Its URLs, an origin, and a place for its files."""
    sections.register("names", Sitemap)
    ids = found(settings, *urls.patterns(ours, "ours"))
    assert ids == {"E003", "W004", "W038"}


TABLE, MISSING = Product._meta.db_table, "no_such_table"


class OfTable(Lazy):
    """A dict that a table decides on, which may be missing."""

    table = ""

    def read(self) -> dict[str, Any]:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {self.table}")  # noqa: S608
        return {"products": GenericSitemap({"queryset": Product.objects.all()})}


@pytest.fixture
def lazy(
    sections: Any, configure: Any, monkeypatch: Any
) -> Iterator[Callable[[str], None]]:
    """Return what begins a process that has not read the dict yet."""
    module = ModuleType("project.lazy")
    module.sitemaps = OfTable()
    monkeypatch.setitem(sys.modules, "project.lazy", module)
    configure(CONTRIB_SITEMAPS="project.lazy.sitemaps")

    def begin(table: str) -> None:
        module.sitemaps.table = table
        sections._registry.pop("products", None)
        sections.pending = adoption.adopt
        sections.changed()

    yield begin
    sections.pending = sections.unread = None


def test_views_and_builds_wait_until_it_can_be_read(lazy, client, crawl):
    make_products(12)
    lazy(MISSING)
    for path in ("/sitemap.xml", "/sitemap-products-1.xml", "/sitemap-products.txt"):
        assert client.get(path).status_code == 503
    for work in (build_and_relay, build_fully, lambda: prune(get_site())):
        with pytest.raises(ConfigurationError, match="CONTRIB_SITEMAPS"):
            work()
    assert not Section.objects.exists()
    [status] = read_dashboard([get_site()])
    assert [it.id for it in problems_of(status)] == ["index_failed"]
    lazy(TABLE)
    assert len([*chain(*crawl().values())]) == 12
    assert build_and_relay().missing == []
    [status] = read_dashboard([get_site()])
    assert problems_of(status) == []


def test_what_was_published_stays(lazy, client, crawl, stock):
    stock(12, name="others")
    lazy(TABLE)
    build_and_relay()
    before = crawl()
    lazy(MISSING)
    assert crawl() == before
    for work in (build_and_relay, lambda: prune(get_site())):
        with pytest.raises(ConfigurationError):
            work()
    assert crawl() == before
    assert not Section.objects.exclude(missing_since=None).exists()


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
def test_a_save_that_asks_for_the_sections_goes_on(lazy, sections):
    lazy(MISSING)
    with tracking(), transaction.atomic():
        made = make_products(1)[0]
        made.name = "other"
        made.save()
        assert list(registry) == []
        made.save()
    assert Product.objects.get().name == "other"
