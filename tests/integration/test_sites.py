"""Several sites of one database: each has its own sections, rows, files and keys."""

import gzip
import json
from collections.abc import Iterator
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.contrib.sitemaps import Sitemap
from django.core.management import CommandError, call_command
from django.db.models import F
from django.test import override_settings
from django.utils import timezone

from django_sitemaps_plus import ModelSource, Route, ViewSource, tasks
from django_sitemaps_plus.background import work
from django_sitemaps_plus.building import build as building
from django_sitemaps_plus.building.report import BuildReport
from django_sitemaps_plus.building.state import Build
from django_sitemaps_plus.conf import in_force
from django_sitemaps_plus.models import Change, Page, Publication, Section
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.sites import get_site, get_sites
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import pass_grace
from tests.support.documents import locs, read_index
from tests.support.faults import fail_queries
from tests.support.published import age
from tests.support.shop import ProductSource, make_products
from tests.support.testapp.models import Author, Book, Product, Tag
from tests.support.validation import entry, urlset

pytestmark = pytest.mark.django_db(transaction=True)

SHOP, BLOG = "https://shop.example", "https://blog.example"
KEY, OTHER_KEY = "0123456789abcdef", "fedcba9876543210"
INDEXNOW = "django_sitemaps_plus.notifications.engines.indexnow.IndexNow"

SITES = {"shop": {"BASE_URL": SHOP}, "blog": {"BASE_URL": BLOG}}

# What a client may say that it wants; none of it is a host of ours.
HOSTILE = [
    *("evil.example", "shop.example.evil.example", "evil.shop.example", "example"),
    *("user@shop.example", "shop.example@evil.example", "user:pass@shop.example"),
    *[f"shop.example:{port}" for port in ("8443", "80", "80:80", "", "x")],
    *("shop.example.", "shop..example", ".shop.example", "xn--shop-.example", "", "."),
    *("127.0.0.1", "[::1]", "[::1", "[shop.example]", "2130706433", "localhost"),
    *("shop.example, evil.example", "shop.example evil.example", "shop.example/x"),
    *("shop.example\r\nX-A: b", "shop.example\0", "shop.example\t"),
    *(
        *("\u017fhop.example", "shop.example#", "shop.example?", "%73hop.example", "*"),
        *("default", "shop"),
    ),
    "a" * 70_000,
]

PATHS = [
    *("/sitemap.xml", "/sitemap.xml.gz", "/sitemap-products-1.xml", "/robots.txt"),
    *("/sitemap-products-1.xml.gz", "/sitemaps-2.xml", f"/{KEY}.txt"),
    *("/sitemap-products.xml?p=2", "/sitemap-products.rss", "/sitemap_index.xml"),
    *("/sitemap/", "/sitemap/products/"),
]


class BookSource(ModelSource):
    """Books, each on the site that its author's name says."""

    model = Book
    location = Route("book-detail", slug="slug")
    site_path = "author__name"


class PageSource(ViewSource):
    """Pages of the blog alone."""

    views = ("about",)
    sites = ("blog",)


class First(Sitemap):
    def items(self) -> Any:
        return Product.objects.order_by("pk")[:5]


class ChosenSource(ProductSource):
    def get_queryset(self, site: Any = None) -> Any:
        rows = Product.objects.all()
        return rows.filter(slug__lt="product-00005") if site.name == "shop" else rows


@pytest.fixture(autouse=True)
def configured(configure: Any, sections: Any) -> None:
    """Configure two sites, and sections of which one has some only."""
    configure(BASE_URL=None, SITES=SITES, ROBOTS={})
    sections.register("products", ProductSource)
    sections.register("books", BookSource)
    sections.register("pages", PageSource)
    make_products(10)
    for name in ("shop", "blog", "none"):
        author = Author.objects.create(name=name)
        Book.objects.create(author=author, slug=f"of-{name}")


@pytest.fixture(params=["live", "published"])
def served(request: Any) -> str:
    if request.param == "published":
        build()
        age()
    return str(request.param)


def build(*names: str, **options: Any) -> None:
    call_command("build_sitemaps", *names, verbosity=0, **options)


def get(client: Any, path: str, origin: str) -> Any:
    return client.get(path, headers={"Host": origin.partition("://")[2]})


def crawl(client: Any, origin: str) -> dict[str, list[str]]:
    found = {}
    for url in read_index(get(client, "/sitemap.xml", origin).content):
        assert url.startswith(f"{origin}/")
        path = url.removeprefix(origin)
        found[path] = locs(get(client, path, origin).content)
    return found


def books(client: Any, origin: str) -> list[str]:
    found = crawl(client, origin).items()
    urls = [url for page, urls in found if "books" in page for url in urls]
    return sorted(url.split("/")[-2] for url in urls)


def expected(origin: str, name: str) -> dict[str, list[str]]:
    products = [f"{origin}/products/product-{number:05}/" for number in range(10)]
    found = {"/sitemap-products-1.xml": products}
    found["/sitemap-books-1.xml"] = [f"{origin}/books/of-{name}/"]
    if name == "blog":
        found["/sitemap-pages-1.xml"] = [f"{origin}/about/"]
    return found


def files() -> dict[str, bytes]:
    """Return the documents of the public tree by their paths in it."""
    tree = Path(django_settings.MEDIA_ROOT) / "sitemaps" / "public"
    return {
        str(path.relative_to(tree)): gzip.decompress(path.read_bytes())
        for path in sorted(tree.rglob("*.gz"))
    }


def assert_foreign(response: Any, host: str, path: str) -> None:
    """Assert that an answer is none of a site's, and is not to be cached."""
    assert response.status_code in (400, 404), (host, path)
    assert b"<loc" not in response.content
    assert b"Sitemap:" not in response.content
    assert "Cache-Control" not in response
    assert "ETag" not in response


class TestServing:
    def test_each_host_has_its_own_sitemap(self, client, served):
        """Sections by ``sites``, rows by ``site_path``."""
        assert crawl(client, SHOP) == expected(SHOP, "shop")
        assert crawl(client, BLOG) == expected(BLOG, "blog")
        assert get(client, "/sitemap-pages-1.xml", SHOP).status_code == 404

    @pytest.mark.parametrize("host", ["SHOP.example", "shop.example:443"])
    def test_a_host_is_the_same_in_other_words(self, client, host):
        """In capitals, or with the port that https has."""
        response = client.get("/sitemap.xml", headers={"Host": host})
        assert f"<loc>{SHOP}/" in response.content.decode()

    def test_get_queryset_may_choose_by_site(self, client, sections):
        sections.unregister("products")
        sections.register("products", ChosenSource)
        assert len(crawl(client, SHOP)["/sitemap-products-1.xml"]) == 5
        assert len(crawl(client, BLOG)["/sitemap-products-1.xml"]) == 10

    def test_no_other_host_has_any(self, client, configure, served):
        """404, or Django's 400; it is never cached, and has no content of a site."""
        engine = {"BACKEND": INDEXNOW, "OPTIONS": {"key": KEY}}
        configure(ENGINES={"indexnow": engine}, LIVE_CACHE_SECONDS=60)
        for host in HOSTILE:
            for path in PATHS:
                assert_foreign(client.get(path, headers={"Host": host}), host, path)
        assert crawl(client, SHOP) == expected(SHOP, "shop")

    def test_a_host_of_its_languages_is_its_own(self, client, configure, served):
        """Where robots.txt has to name the sitemaps that list it."""
        own = {"LANGUAGE_ORIGINS": {"de": "https://blog.de.example"}}
        configure(SITES={**SITES, "blog": {"BASE_URL": BLOG, **own}})
        response = get(client, "/robots.txt", "https://blog.de.example")
        assert f"Sitemap: {BLOG}/sitemap.xml" in response.text
        response = get(client, "/sitemap.xml", "https://blog.de.example")
        assert f"<loc>{BLOG}/" in response.text
        assert SHOP not in response.text

    def test_robots_txt_names_the_index_of_its_host(self, client, configure, served):
        """And has the rules of its site, or there is none."""
        own = {"RULES": [{"DISALLOW": "/drafts"}]}
        configure(SITES={**SITES, "blog": {"BASE_URL": BLOG, "ROBOTS": own}})
        shop, blog = (get(client, "/robots.txt", origin) for origin in (SHOP, BLOG))
        assert f"Sitemap: {SHOP}/sitemap.xml" in shop.text
        assert f"Sitemap: {BLOG}/sitemap.xml" in blog.text
        assert ["/drafts" in it.text for it in (shop, blog)] == [False, True]
        configure(ROBOTS=None)
        found = [get(client, "/robots.txt", it).status_code for it in (SHOP, BLOG)]
        assert found == [404, 200]

    def test_a_key_file_is_at_the_host_of_its_site(self, client, configure):
        keys = {"shop": KEY, "blog": OTHER_KEY}
        engines = {
            name: {"indexnow": {"BACKEND": INDEXNOW, "OPTIONS": {"key": key}}}
            for name, key in keys.items()
        }
        sites = {it: {**SITES[it], "ENGINES": engines[it]} for it in SITES}
        configure(SITES=sites, NOTIFY=True)
        found = [
            get(client, f"/{key}.txt", origin).status_code
            for key in keys.values()
            for origin in (SHOP, BLOG)
        ]
        assert found == [200, 404, 404, 200]


class TestBuilding:
    def test_one_command_builds_all(self, client):
        """Each site has its rows, its objects and its public names."""
        build()
        pages = Page.objects.filter(entries__gt=0).exclude(section__name="")
        found = pages.values_list("section__site", "section__name", "number")
        assert sorted(found) == [
            ("blog", "books", 1),
            ("blog", "pages", 1),
            ("blog", "products", 1),
            ("shop", "books", 1),
            ("shop", "products", 1),
        ]
        assert sorted(files()) == [
            *["blog/sitemap-books-1.xml.gz", "blog/sitemap-pages-1.xml.gz"],
            *["blog/sitemap-products-1.xml.gz", "blog/sitemap.xml.gz"],
            *["shop/sitemap-books-1.xml.gz", "shop/sitemap-products-1.xml.gz"],
            "shop/sitemap.xml.gz",
        ]

    def test_one_site_can_be_built_alone(self):
        build(site=["blog"])
        assert {row.site for row in Section.objects.all()} == {"blog"}
        build("products", site=["shop"])
        shop = Section.objects.filter(site="shop").exclude(name="")
        assert [row.name for row in shop] == ["products"]
        build("pages")  # where it is
        assert {row.site for row in Section.objects.filter(name="pages")} == {"blog"}

    def test_a_section_that_one_site_has_no_more_is_pruned_there(self, sections):
        """On the others it never was, or is registered still."""
        build()
        for name, source, sites in (
            ("pages", PageSource, ("shop",)),
            ("products", ProductSource, ("blog",)),
        ):
            sections.unregister(name)
            sections.register(name, type("Own", (source,), {"sites": sites}))
            call_command("prune_sitemaps", section=[name], now=True, verbosity=0)
        gone = {("blog", "pages"), ("shop", "products")}
        pages = Page.objects.values_list("section__site", "section__name")
        assert gone.isdisjoint(pages)
        assert ("blog", "products") in pages
        with pytest.raises(CommandError, match="'products' is registered, or has no"):
            call_command("prune_sitemaps", section=["products"], now=True)

    def test_files_are_checked_once(self, tmp_path, capsys):
        """They are of no site; those of the project are of each."""
        (tmp_path / "a.xml").write_bytes(urlset(entry("/a")))
        call_command("check_sitemaps", str(tmp_path / "a.xml"), "--json")
        assert json.loads(capsys.readouterr().out)["files"] == 1
        with pytest.raises(CommandError, match="--site"):
            call_command("check_sitemaps", "--audit", "--json")

    def test_an_unknown_site_is_named(self):
        with pytest.raises(CommandError, match=r"no site 'log'.*shop, blog"):
            call_command("build_sitemaps", site=["log"])

    def test_json_is_of_one_site(self, capsys):
        with pytest.raises(CommandError, match="--site"):
            call_command("build_sitemaps", json=True)
        call_command("build_sitemaps", "--json", "--site", "shop")
        report = json.loads(capsys.readouterr().out)
        assert [row["section"] for row in report["sections"]] == ["products", "books"]

    def test_a_site_that_fails_keeps_back_no_other(self, configure):
        build()
        moved = {**SITES, "shop": {"BASE_URL": "https://new.example"}}
        configure(SITES=moved)
        Book.objects.create(author=Author.objects.get(name="blog"), slug="new")
        with pytest.raises(CommandError, match=r"^shop: .*--move-origin"):
            build()
        books = Page.objects.get(section__site="blog", section__name="books", number=1)
        assert books.entries == 2
        build(site=["shop"], move_origin=True)
        index = Section.objects.get(site="shop", name="")
        assert index.origin == "https://new.example"

    def test_other_commands_are_run_for_each(self, capsys):
        build()
        # The doctor has something to say of hosts.
        fault = pytest.raises(CommandError, match="shop: ")
        commands = {"sitemap_status": nullcontext(), "prune_sitemaps": nullcontext()}
        for command, raised in {**commands, "sitemap_doctor": fault}.items():
            with raised:
                call_command(command)
            said = capsys.readouterr().out
            assert "Site shop, https://shop.example:" in said
            assert "Site blog, https://blog.example:" in said
        for url in (f"{BLOG}/books/of-blog/", "blog.example/books/of-blog/"):
            call_command("explain_url", url)
            assert capsys.readouterr().out.startswith(f"{BLOG}/books/of-blog/ is on ")
        with pytest.raises(CommandError, match="not listed"):
            call_command("explain_url", f"{SHOP}/books/of-blog/")

    def test_a_prune_of_one_leaves_the_files_of_all(self, settings, configure):
        """Not even of pages of the same number; nor does a page that empties."""
        configure(PRUNE_SECONDS=0, LEASE_SECONDS=2)
        build()
        before = files()
        for _ in range(2):
            call_command("prune_sitemaps", site=["shop"], verbosity=0)
        assert files() == before
        for page in Page.objects.exclude(object=""):
            assert (Path(settings.MEDIA_ROOT) / "sitemaps" / page.object).exists()
        Book.objects.filter(slug="of-blog").delete()
        build(allow_shrink=True)
        names = [name for name in files() if "books" in name]
        assert names == ["shop/sitemap-books-1.xml.gz"]

    def test_a_task_builds_all_sites(self):
        tasks.refresh()
        assert {row.site for row in Section.objects.all()} == {"shop", "blog"}

    def test_no_site_has_all_the_time_of_tasks(self, monkeypatch):
        """Which share it: a site that never ends its work is not always the first."""
        began: list[list[str]] = []

        def note(names: Any, **options: Any) -> BuildReport:
            began[-1].append(get_site().name)
            return BuildReport()

        monkeypatch.setattr(work, "build", note)
        for _ in range(40):
            began.append([])
            tasks.refresh()
        assert {tuple(names) for names in began} == {("shop", "blog"), ("blog", "shop")}


class TestTracking:
    @pytest.fixture(autouse=True)
    def built(self) -> None:
        """Build all, long ago."""
        build()
        Section.objects.update(new_since=None)

    def dirty(self) -> set[tuple[str, str]]:
        pages = Page.objects.filter(is_dirty=1).exclude(section__name="")
        return set(pages.values_list("section__site", "section__name"))

    @pytest.mark.database
    @pytest.mark.parametrize("first", ["shop", "blog"])
    def test_whichever_site_is_built_first(self, client, first):
        """It takes the change, and leaves the other site's page to be built."""
        Product.objects.get(slug="product-00003").delete()
        assert Change.objects.count() == 1
        build(site=[first])
        assert not Change.objects.exists()
        other = {"shop": "blog", "blog": "shop"}[first]
        assert self.dirty() == {(other, "products")}
        build(site=[other])
        for origin in (SHOP, BLOG):
            pages = crawl(client, origin)["/sitemap-products-1.xml"]
            assert f"{origin}/products/product-00003/" not in pages
            assert len(pages) == 9

    def test_what_another_site_marks_at_the_end_is_no_failure(self, monkeypatch):
        """The build has built all there was; the next one builds the rest."""

        def mark(build: Build, sections: list[OpenSection]) -> None:
            pages = Page.objects.filter(section__in=[it.row for it in sections])
            pages.update(wanted=F("wanted") + 1)

        monkeypatch.setattr(building, "_audit", mark)
        build(site=["shop"])
        assert ("shop", "products") in self.dirty()

    def test_a_row_that_moves_to_another_site(self, client):
        """Its page on both is built again; the model at the path is watched, too."""
        author = Author.objects.get(name="none")
        author.name = "shop"
        author.save()
        build()
        assert len(crawl(client, SHOP)["/sitemap-books-1.xml"]) == 2
        for book in Book.objects.exclude(slug="of-blog"):
            book.author = Author.objects.get(name="blog")
            book.save()
        build(allow_shrink=True)
        assert "/sitemap-books-1.xml" not in crawl(client, SHOP)
        assert crawl(client, BLOG)["/sitemap-books-1.xml"] == [
            f"{BLOG}/books/of-{name}/" for name in ("shop", "blog", "none")
        ]

    @pytest.mark.database
    def test_pages_by_position_rest_after_a_build_of_another_site(self, sections):
        """Or the builds of many sites would render each of them all the time."""
        sections.register("first", First)
        build("first")
        pass_grace()
        Page.objects.filter(section__site="blog").update(checked_at=timezone.now())
        Product.objects.get(slug="product-00003").save()
        build("first", site=["shop"])
        assert Change.objects.filter(section="first").count() == 1
        assert ("blog", "first") not in self.dirty()

    def test_live_sections_of_one_site_leave_changes_to_others(self):
        Product.objects.get(slug="product-00003").delete()
        call_command(
            "build_sitemaps", "products", live=True, site=["shop"], verbosity=0
        )
        assert Change.objects.count() == 1


EDITED = [f"{origin}/products/product-00003/" for origin in (BLOG, SHOP)]


class TestNotifying:
    @pytest.fixture(autouse=True)
    def engines(self, configure) -> Iterator[None]:
        engine = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
        configure(
            ENGINES={"recording": engine},
            NOTIFY=True,
            NOTIFY_DELAY_SECONDS=0,
            NOTIFY_INTERVAL_SECONDS=0,
        )
        RecordingEngine.clear()
        yield
        RecordingEngine.clear()

    def told(self) -> list[str]:
        RecordingEngine.clear()
        call_command("notify_search_engines", verbosity=0)
        return sorted(RecordingEngine.told())

    def test_a_change_is_told_of_each_site(self):
        build()
        assert self.told() == []
        Product.objects.get(slug="product-00003").delete()
        build()
        assert self.told() == EDITED
        assert not Publication.objects.exists()

    def test_saves_of_live_sections_are_told_of_each_site(self):
        self.told()
        Product.objects.get(slug="product-00003").save()
        assert self.told() == EDITED
        assert self.told() == []

    def test_a_live_section_hears_of_what_a_build_of_another_site_takes(self):
        self.told()
        build(site=["blog"])
        pass_grace()
        Product.objects.get(slug="product-00003").save()
        build(site=["blog"])
        assert self.told() == EDITED[1:]

    def test_a_url_is_submitted_for_its_site(self):
        url = f"{BLOG}/books/of-blog/"
        call_command("notify_search_engines", url.partition("//")[2], verbosity=0)
        assert RecordingEngine.told() == [url]

    def test_a_site_may_have_engines_of_its_own(self, configure):
        """Or none."""
        sites = {**SITES, "shop": {"BASE_URL": SHOP, "ENGINES": {}}}
        configure(SITES=sites)
        build()
        Product.objects.get(slug="product-00003").delete()
        build()
        RecordingEngine.clear()
        tasks.notify()
        assert RecordingEngine.told() == EDITED[:1]


@pytest.fixture
def contrib(site_rows: Any, configure: Any) -> Any:
    configure(BASE_URL=None, SITES="contrib.sites")
    return site_rows


class TestContribSites:
    @pytest.fixture(autouse=True)
    def rows(self, contrib, sections) -> None:
        """Have books on the site of their author, pages on that with the key 2."""
        sections.unregister("books")
        sections.register(
            "books", type("Books", (BookSource,), {"site_path": "author"})
        )
        sections.unregister("pages")
        sections.register("pages", type("Pages", (PageSource,), {"sites": [2]}))
        Book.objects.all().delete()
        for key, name in ((1, "shop"), (2, "blog")):
            author, _ = Author.objects.get_or_create(pk=key, defaults={"name": name})
            Book.objects.create(author=author, slug=f"of-{name}")

    def test_each_row_is_a_site(self, client, served):
        assert crawl(client, SHOP) == expected(SHOP, "shop")
        assert crawl(client, BLOG) == expected(BLOG, "blog")

    def test_a_row_may_be_on_several(self, client, sections, served):
        """By a path that ends at a many-to-many relation, which is watched."""
        sections.unregister("books")
        shelf = type("Shelf", (BookSource,), {"site_path": "tags", "limit": 1})
        sections.register("books", shelf)
        one, two = [Tag.objects.create(pk=key, name=f"{key}") for key in (1, 2)]
        first, second = Book.objects.order_by("pk")
        build(allow_shrink=True)
        first.tags.add(one, two)
        second.tags.add(two)
        build()
        assert books(client, SHOP) == ["of-shop"]
        assert books(client, BLOG) == ["of-blog", "of-shop"]
        two.book_set.remove(first)
        build(allow_shrink=True)
        assert books(client, SHOP) == ["of-shop"]
        assert books(client, BLOG) == ["of-blog"]

    def test_no_other_host_has_any(self, client):
        """Django lets a site be asked for with any port, and with a dot behind it."""
        ports = {f"shop.example:{port}" for port in ("8443", "80", "")}
        same = ports | {"shop.example."}
        for host in same.union(HOSTILE):
            for path in PATHS[:3]:
                response = client.get(path, headers={"Host": host})
                if host not in same:
                    assert_foreign(response, host, path)
                assert b"evil" not in response.content
                assert b"8443" not in response.content

    def test_a_row_whose_domain_is_none_keeps_back_no_other(self, contrib, caplog):
        """Whoever edits rows in the admin must not stop the sitemaps of all."""
        contrib.objects.create(pk=3, domain="https://new.example", name="New")
        build()
        assert {row.site for row in Section.objects.all()} == {"1", "2"}
        assert "The site 3: " in caplog.text

    def test_rows_that_cannot_be_read_leave_the_state_unknown(self):
        """As a monitor learns by the exit status."""
        with (
            fail_queries(lambda sql: "django_site" in sql),
            pytest.raises(CommandError, match=r"^The state is unknown") as raised,
        ):
            call_command("sitemap_status")
        assert raised.value.returncode == 2

    def test_without_engines_other_text_files_take_no_query(
        self, client, django_assert_num_queries
    ):
        """It is the project's own view that answers, or 404."""
        with django_assert_num_queries(0):
            assert client.get("/humans.txt").status_code == 404

    def test_two_processes_do_what_one_does(self, client, settings, tmp_path):
        """Each with a SITE_ID: the same pages and files, and the same after a save."""

        def build_both() -> None:
            for key in (1, 2):
                with override_settings(SITE_ID=key):
                    build()

        found = []
        for place, run in (("two", build_both), ("one", build)):
            settings.MEDIA_ROOT = str(tmp_path / place)
            run()
            pass_grace()
            run()
            product, _ = Product.objects.get_or_create(slug="zz", name="new")
            run()
            product.delete()
            Product.objects.filter(slug="product-00001").first().save()
            run()
            pages = {name: it for name, it in files().items() if "-" in name}
            found.append((crawl(client, SHOP), crawl(client, BLOG), pages))
            assert not Page.objects.filter(is_dirty=1).exists()
            assert not Change.objects.exists()
            Section.objects.all().delete()
        assert found[0] == found[1]
        assert found[0][0] == expected(SHOP, "shop")

    def test_a_process_with_a_site_id_is_of_that_site_alone(self, client):
        """Whatever the host, as everything in Django."""
        with override_settings(SITE_ID=2):
            assert [site.name for site in get_sites()] == ["2"]
            response = get(client, "/sitemap.xml", SHOP)
        assert BLOG in response.content.decode()


def test_saves_of_other_sites_are_recorded_after_one_was_in_force(sections):
    """A build may learn of models, and has all receivers connected anew."""
    source = type("OwnSource", (ProductSource,), {"sites": ["blog"]})
    sections.register("own", source)
    build()
    with in_force(get_sites()[0]):
        sections.changed()
    Product.objects.first().save()
    assert Change.objects.filter(section="own").exists()
