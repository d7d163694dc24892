"""A deploy that changes what a source says marks all its pages, and announces none."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, date, datetime, timedelta

import pytest
from django.contrib.sitemaps import GenericSitemap
from django.db.models import F
from django.urls import clear_url_caches, include, path
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.translation import get_language

from django_sitemaps_plus import Route, ViewSource
from django_sitemaps_plus.building import worker
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import MAX_ATTEMPTS, Page, Section
from django_sitemaps_plus.models.claims import BATCH_PAGES
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.testing import temporary_source
from django_sitemaps_plus.tracking import deploys as noting
from django_sitemaps_plus.tracking.deploys import fingerprint, note_deploy
from django_sitemaps_plus.tracking.locating import mark_all
from tests.support import urls
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Painting, Product
from tests.support.told import hearing
from tests.support.urls import view

from .rows import dirty

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


def test_it_tells_the_patterns_of_each_language_apart(monkeypatch):
    """That of the default language may stay as it was."""
    patterns, found = urls.urlpatterns, set()
    for word in ("produkte/", "waren/"):
        words_of = {"de": word}
        text = lazy(lambda it=words_of: it.get(get_language(), "products/"), str)
        names = [path("<slug:slug>/", view, name="translated")]
        added = path(text(), include(names))
        monkeypatch.setattr(urls, "urlpatterns", [*patterns, added])
        clear_url_caches()
        route = Route("translated", slug="slug")
        found.add(words({"location": route, "languages": ["en", "de"]}))
    clear_url_caches()
    assert len(found) == 2


@pytest.mark.parametrize("languages", [[], ["de"]])
def test_it_tells_the_urls_of_views_apart(monkeypatch, languages):
    """A view that has none is for the checks."""

    class Pages(ViewSource):
        views = ("about", "nowhere")

    Pages.languages = languages
    patterns, found = urls.urlpatterns, set()
    for prefix in ("about/", "about-us/", "about-us/"):
        added = path(prefix, view, name="about")
        monkeypatch.setattr(urls, "urlpatterns", [*patterns, added])
        clear_url_caches()
        found.add(fingerprint(open_section(Pages(), SITE)))
    clear_url_caches()
    assert len(found) == 2


def test_it_tells_the_addresses_of_images_apart(settings):
    """A host for media changes the URLs of all files, and no row."""
    files = {"model": Painting, "images": "photo"}
    before, others = words(files), words({})
    settings.MEDIA_URL = "https://cdn.example/"
    assert words(files) != before
    assert words({}) == others


@pytest.mark.parametrize(
    "attributes",
    [{"limit": 99}, {"max_age": 5}, {"on_error": "raise"}, {"track_deletes": False}],
)
def test_how_pages_are_cut_and_built_does_not_count(attributes):
    source = {"limit": 10, **attributes}
    with temporary_source("products", limited(**source)):
        assert fingerprint(open_section("products", SITE)) == words({})


@pytest.mark.parametrize(
    "present", [timezone.now, lambda: timezone.now().date()], ids=["time", "day"]
)
def test_a_filter_by_the_present_time_does_not_count(monkeypatch, present):
    """Else every refresh would render everything."""

    def current(self):
        field = "updated_at" if isinstance(present(), datetime) else "created_on"
        return Product.objects.filter(**{f"{field}__lte": present()})

    found = set()
    for day in (date(2026, 1, 1), date(2026, 1, 2)):
        moment = datetime(day.year, day.month, day.day, 1, tzinfo=UTC)
        monkeypatch.setattr("django.utils.timezone.now", lambda moment=moment: moment)
        found.add(words({"get_queryset": current}))
    assert len(found) == 1


def test_rows_do_not_count(django_assert_num_queries):
    """A GenericSitemap holds a queryset, which is not asked for its rows."""
    sitemap = GenericSitemap({"queryset": Product.objects.all(), "date_field": "pk"})
    found = set()
    for number in range(2):
        make_products(1, first=number)
        with temporary_source("products", sitemap), django_assert_num_queries(0):
            found.add(fingerprint(open_section("products", SITE)))
    assert len(found) == 1


def test_a_time_that_an_instance_holds_does_not_count():
    """Each process would have its own, and mark all pages."""
    found = set()
    for day in (1, 2):
        sitemap = GenericSitemap({"queryset": Product.objects.all()})
        sitemap.began = datetime(2026, 1, day, tzinfo=UTC)
        with temporary_source("products", sitemap):
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


def become(source):
    """Be a process with other code from here on."""
    registry.unregister("products")
    registry.register("products", source)


OLD, NEW = limited(3), limited(3, changefreq="daily")


class TestDeploys:
    @pytest.fixture
    def section(self, publish):
        make_products(6)
        return publish(OLD)

    def test_a_changed_declaration_is_published_unannounced(self, section, client):
        """No content has changed, so no engine is notified."""
        become(NEW)
        with hearing(urls_changed) as heard:
            report = build_and_relay().sections[0]
        assert (report.rendered, report.stored) == (2, 2)
        found = [(it["announce"], len(it["updated"])) for it in heard]
        assert found == [(False, 3)] * 2
        assert b"daily" in client.get("/sitemap-products-2.xml").content
        assert build_and_relay().sections[0].rendered == 0

    def test_another_stylesheet_is_published_unannounced(
        self, section, client, configure
    ):
        """In the pages and the index, with the same entries."""
        configure(STYLESHEET="/own.css")
        with hearing(urls_changed) as heard:
            assert build_and_relay().sections[0].stored == 2
        assert heard == []
        for name in ("sitemap.xml", "sitemap-products-2.xml"):
            assert (
                b'type="text/css" href="/own.css"?>' in client.get(f"/{name}").content
            )
        assert build_and_relay().sections[0].rendered == 0

    def test_pages_that_were_parked_are_tried_again(self, section):
        """What made them fail may be what the deploy has mended."""
        page = section.pages.filter(number=2)
        page.update(attempts=MAX_ATTEMPTS, error="it broke", wanted=F("wanted") + 1)
        page.update(tried=F("wanted"), not_before=Now() + timedelta(hours=1))
        build_and_relay()
        assert dirty(section) == [2]
        become(NEW)
        build_and_relay()
        assert dirty(section) == []

    def test_a_page_given_up_after_a_deploy_has_no_attempts(self, section):
        """Its builder takes back an attempt that the deploy has taken already."""
        section.pages.update(wanted=F("wanted") + 1)
        pages = Page.objects.claim([section.pk])
        become(NEW)
        note_deploy(section, fingerprint(open_section("products")))
        Page.objects.release(pages)
        found = section.pages.values_list("attempts", flat=True)
        assert list(found) == [0, 0]

    def test_a_changed_url_pattern_is_published_unannounced(
        self, section, client, settings
    ):
        settings.ROOT_URLCONF = "tests.support.urls_other"
        with hearing(urls_changed) as heard:
            assert build_and_relay().sections[0].stored == 2
        found = [(it["announce"], len(it["added"]), len(it["removed"])) for it in heard]
        assert found == [(False, 3, 3)] * 2
        assert b"/other/" in client.get("/sitemap-products-1.xml").content
        assert build_and_relay().sections[0].rendered == 0


class TestRollingDeploys:
    """Processes with the old code are at work beside those with the new."""

    @pytest.fixture
    def section(self, publish):
        make_products(60)
        return publish(OLD)

    def be_noticed(self):
        """Let another process with the new code notice it, and mark all pages."""
        become(NEW)
        section = Section.objects.get(name="products")
        note_deploy(section, fingerprint(open_section("products")))
        become(OLD)

    def old_pages(self, client, section):
        """Return the numbers of the pages that are as the old code has them."""
        numbers = section.pages.order_by("number").values_list("number", flat=True)
        paths = {number: f"/sitemap-products-{number}.xml" for number in numbers}
        return [n for n in paths if b"daily" not in client.get(paths[n]).content]

    def build_with_the_new_code(self):
        """Build what is marked, as a worker that has nothing to notice."""
        become(NEW)
        build_and_relay(notices=False)

    def test_an_old_builder_ends_where_a_deploy_has_marked(
        self, section, client, monkeypatch
    ):
        """What it would build is clean then, and as it was before the deploy."""
        real, built = worker.build_page, []

        def build_page(page, *others):
            built.append(page.number)
            if len(built) == 3:
                self.be_noticed()
            return real(page, *others)

        monkeypatch.setattr(worker, "build_page", build_page)
        report = build_and_relay(full=True)
        assert (report.problems, report.sections[0].is_left) == ([], True)
        assert (len(built), len(dirty(section))) == (BATCH_PAGES, 20)
        self.build_with_the_new_code()
        assert self.old_pages(client, section) == []
        assert dirty(section) == []

    @pytest.mark.parametrize("waits", [True, False])
    def test_an_old_helper_leaves_the_pages_and_builds_others(
        self, section, sections, client, waits
    ):
        """It notices nothing by itself, so it must see what was noticed."""
        sections.register("others", limited(50))
        build_and_relay(["others"])
        others = Section.objects.get(name="others")
        others.pages.update(wanted=F("wanted") + 1)
        self.be_noticed()
        report = build_and_relay(notices=False, waits=waits)
        rendered = {found.section: found.rendered for found in report.sections}
        assert rendered == {"products": 0, "others": 2}
        claimed = section.pages.exclude(token="", claimed_at=None, attempts=0)
        assert (len(dirty(section)), claimed.count()) == (20, 0)
        self.build_with_the_new_code()
        assert self.old_pages(client, section) == []

    def test_it_is_stored_with_the_marks_or_not_at_all(self, section, monkeypatch):
        """A builder that came in between would take the marks for its own."""

        def mark_and_die(*arguments, **others):
            mark_all(*arguments, **others)
            raise KeyboardInterrupt

        monkeypatch.setattr(noting, "mark_all", mark_and_die)
        with pytest.raises(KeyboardInterrupt):
            self.be_noticed()
        assert dirty(section) == []
        monkeypatch.undo()
        become(OLD)
        self.be_noticed()
        assert len(dirty(section)) == 20

    def test_a_source_without_a_fingerprint_fails_as_it_would_without(self, section):
        """Its pages say what is wrong; to leave them would hide it."""

        def broken(self):
            raise ValueError("no such shop")

        section.pages.filter(number=1).update(wanted=F("wanted") + 1)
        become(limited(3, get_queryset=broken))
        report = build_and_relay(notices=False).sections[0]
        assert "no such shop" in report.errors[0]
