"""Deploys mark all pages: what is published, who builds them, and what is told."""

from __future__ import annotations

import importlib
import json
import operator
import os
import re
import subprocess
import sys
from datetime import UTC, date, datetime, time, timedelta
from enum import Enum
from functools import cached_property, lru_cache, partial, reduce
from itertools import chain
from pathlib import Path

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.db.models import Case, CharField, F, Q, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.urls import clear_url_caches, include, path
from django.utils import timezone
from django.utils.functional import lazy
from django.utils.translation import get_language

from django_sitemaps_plus import Route, ViewSource
from django_sitemaps_plus.building import settle, worker
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.state import Build
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import (
    MAX_ATTEMPTS,
    Change,
    Page,
    Publication,
    Section,
)
from django_sitemaps_plus.models.claims import BATCH_PAGES
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.notifications.url_changes import relay
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.testing import temporary_source
from django_sitemaps_plus.tracking import deploys, schedule
from django_sitemaps_plus.tracking.deploys import (
    MAX_REPLACED,
    fingerprint,
    note_deploy,
    query_values,
)
from django_sitemaps_plus.tracking.locating import mark_all, mark_keys
from tests.support import urls
from tests.support.builds import build_and_relay, pass_grace
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Book, Painting, Product
from tests.support.told import hearing
from tests.support.urls import view

from . import fresh, zoo
from .rows import become, dirty

OLD, NEW = limited(3), limited(3, changefreq="daily")


def build_as(source, **options):
    become(source)
    [report] = build_and_relay(**options).sections
    return report


def rest(seconds):
    """Let the last build of a version lie further back."""
    Section.objects.update(built_at=F("built_at") - timedelta(seconds=seconds))


def rename(number, slug):
    product = Product.objects.order_by("pk")[number]
    product.slug = slug
    product.save()


@pytest.fixture
def section(shop):
    return shop(9, limit=3)


def style(settings):
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "STYLESHEET": "/own.css"}


def move(settings):
    settings.ROOT_URLCONF = "tests.support.urls_other"


class TestDeploys:
    @pytest.mark.parametrize(
        ("deploy", "counts", "text"),
        [
            (lambda settings: become(NEW), [(0, 3, 0)] * 3, "daily"),
            (move, [(3, 0, 3)] * 3, "/other/"),
            (style, [], 'type="text/css" href="/own.css"?>'),  # with the same entries
        ],
        ids=["declaration", "URL pattern", "stylesheet"],
    )
    def test_its_pages_are_published_unannounced(
        self, section, client, settings, deploy, counts, text
    ):
        """No content has changed, so no engine is notified."""
        deploy(settings)
        with hearing(urls_changed) as heard:
            report = build_and_relay().sections[0]
        assert (report.rendered, report.stored) == (3, 3)
        kinds = ("added", "updated", "removed")
        assert [tuple([len(it[kind]) for kind in kinds]) for it in heard] == counts
        assert not any([it["announce"] for it in heard])
        paths = ["/sitemap.xml"] * (deploy is style) + ["/sitemap-products-2.xml"]
        assert all([text in client.get(it).content.decode() for it in paths])
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
        assert list(found) == [0, 0, 0]


class TestWhoBuilds:
    def test_one_that_was_replaced_leaves_the_section_alone(self, section, run):
        """It takes no changes either, says so, and succeeds."""
        assert build_as(NEW).rendered == 3
        rename(0, "renamed")
        become(OLD)
        [report] = json.loads(run("build_sitemaps", json=True))["sections"]
        assert (report["is_left"], report["rendered"]) == (True, 0)
        assert (report["pages"], report["entries"]) == (3, 9)
        assert "--full" in run("build_sitemaps", "products", replan=True)
        assert (Change.objects.count(), dirty(section)) == (1, [])
        report = build_as(NEW)
        assert (report.is_left, report.rendered) == (False, 1)

    def test_versions_in_turn_mark_nothing(self, section):
        """Each pass would mark all pages."""
        build_as(NEW)
        before = set(section.pages.values_list("number", "wanted"))
        for version in (OLD, NEW, OLD, NEW):
            build_as(version)
        assert set(section.pages.values_list("number", "wanted")) == before

    @pytest.mark.database
    def test_it_returns_once_the_other_has_not_built_for_long(self, section, configure):
        """As after a rollback."""
        configure(DEPLOY_SECONDS=300)
        build_as(NEW)
        rest(299)
        assert build_as(OLD).is_left
        rest(2)
        assert build_as(OLD).rendered == 3
        assert build_as(NEW).is_left

    @pytest.mark.parametrize("option", ["full", "move_origin"])
    def test_a_person_lets_it_return_at_once(self, section, option):
        build_as(NEW)
        assert build_as(OLD, **{option: True}).rendered == 3
        assert build_as(NEW).is_left

    def test_builds_of_the_winner_keep_it_away(self, section):
        build_as(NEW)
        rest(500)
        build_as(NEW)
        rest(500)
        assert build_as(OLD).is_left

    def test_a_long_build_keeps_it_away(self, section):
        build_as(NEW)
        rest(700)
        made = Build(names=["products"], site=get_site())
        made.fingerprints[section.pk] = fingerprint(open_section("products"))
        made.note_at_work(section.pk)  # it has just begun, and noted that
        assert Section.objects.filter(built_at__lt=F("new_since")).exists()
        made.began -= 61
        made.note_at_work(section.pk)
        assert build_as(OLD).is_left

    def test_an_old_audit_marks_nothing(self, section):
        """It would mark page after page for others, until its time is over."""
        build_as(NEW)
        section.pages.update(checked_at=F("checked_at") - timedelta(days=2))
        become(OLD)
        build(notices=False)
        assert dirty(section) == []

    def test_a_builder_that_is_overtaken_publishes_nothing_more(
        self, section, monkeypatch
    ):
        """Its pages were claimed before the deploy."""
        real = worker.build_page

        def build_page(page, *others):
            monkeypatch.undo()
            build_as(NEW)
            become(OLD)
            return real(page, *others)

        monkeypatch.setattr(worker, "build_page", build_page)
        objects = set(section.pages.values_list("object", flat=True))
        assert build_as(OLD, full=True).stored == 0
        assert not objects & set(section.pages.values_list("object", flat=True))

    def test_few_of_those_before_are_kept(self, section):
        for number in range(MAX_REPLACED + 2):
            note_deploy(section, f"{number} integer")
        replaced = Section.objects.get(pk=section.pk).replaced
        assert replaced == [f"{n} integer" for n in range(1, MAX_REPLACED + 1)]


class TestComparedOnceMore:
    def test_a_small_section_by_the_next_build(self, section, crawl):
        """Old processes did not record what the new source depends on."""
        build_as(NEW)
        Product.objects.filter(slug="product-00004").update(slug="renamed")
        assert build_as(NEW).rendered == 0
        pass_grace()
        with hearing(urls_changed) as heard:
            assert build_as(NEW, audits=False).rendered == 3
        told = [(it["announce"], len(it["added"])) for it in heard]
        assert told == [(True, 1)]
        pass_grace()
        assert build_as(NEW).rendered == 0

    def test_a_large_one_by_slices_of_the_audit(self, section, monkeypatch):
        """First in line, and as many pages at once as its time allows."""
        for module in (schedule, settle):
            monkeypatch.setattr(module, "AUDIT_PAGES", 2)
        build_as(NEW)
        pass_grace()
        assert build_as(NEW, audits=False).rendered == 0
        assert Section.objects.get(pk=section.pk).new_since is not None
        assert build_as(NEW).rendered == 3
        pass_grace()
        assert build_as(NEW).rendered == 0
        assert Section.objects.get(pk=section.pk).new_since is None

    def test_a_return_has_a_grace_too(self, section):
        build_as(NEW)
        Section.objects.update(new_since=None)
        build_as(OLD, full=True)
        assert Section.objects.get(pk=section.pk).new_since is not None


class TestWhatIsTold:
    """A deploy changes each entry, and engines hear of edits alone."""

    def told(self, source, **options):
        with hearing(urls_changed) as heard:
            build_as(source, **options)
        kinds = ("added", "updated", "removed")
        news = [it for it in heard if it["announce"]]
        return sorted({url for it in news for kind in kinds for url in it[kind]})

    def edit(self):
        """Rename, add and remove a row, and save one; return the URLs that concerns."""
        rename(0, "renamed")
        Product.objects.get(slug="product-00004").delete()
        Product.objects.create(name="new", slug="new")
        Product.objects.get(slug="product-00008").save()
        others = [f"https://example.com/products/{it}/" for it in ("new", "renamed")]
        return sorted([*product_urls([0, 4, 8]), *others])

    @pytest.fixture(autouse=True)
    def engines(self, configure):
        engine = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
        configure(ENGINES={"it": engine}, NOTIFY=True)

    def test_of_edits_that_wait(self, section):
        expected = self.edit()
        assert self.told(NEW) == expected

    def test_of_edits_that_come_while_it_is_built(self, section, monkeypatch):
        """Taken before their pages are flipped, or by the next build."""
        real, expected = worker.build_page, []

        def build_page(page, *others):
            if page.number == 2 and not expected:
                expected.extend(self.edit())
            return real(page, *others)

        monkeypatch.setattr(worker, "build_page", build_page)
        found = self.told(NEW)
        assert sorted({*found, *self.told(NEW)}) == expected

    def test_of_the_whole_page_of_an_edit_that_was_marked(self, section):
        """Its change is gone, so nobody knows which row it was."""
        product = Product.objects.order_by("pk")[4]
        space = reader_of(registry.get("products")).key_space()
        mark_keys(section, space, [product.pk])
        assert self.told(NEW) == product_urls([3, 4, 5])

    def test_of_nothing_where_pages_were_only_to_be_compared(self, section):
        """As after a full build that was killed, or a slice of an audit."""
        section.pages.update(wanted=F("wanted") + 1)
        assert self.told(NEW) == []

    def test_of_nothing_by_a_deploy_that_adds_dates(self, shop):
        """The look-back meets the first ones, of rows that are as they were."""
        shop(9, limit=3, lastmod=None)
        assert self.told(limited(3, lastmod="updated_at")) == []

    def test_of_nothing_for_changes_by_a_relation_that_is_gone(self, section):
        """Old processes still record it: what it means here is found by comparing."""
        Change.objects.create(
            section="products", kind="related", low="1", high="testapp.Gone:x:pk"
        )
        rename(4, "renamed")
        renamed = "https://example.com/products/renamed/"
        assert self.told(NEW) == sorted([renamed, *product_urls([4])])

    def test_by_the_version_that_has_the_section(self, section):
        """Another would render the rows by its own source."""
        become(NEW)
        rename(0, "renamed")
        build()
        become(OLD)
        waiting = Publication.objects.exclude(keys=[]).count()
        relay()
        assert (waiting, Publication.objects.count()) == (1, 1)
        become(NEW)
        assert relay() == []
        assert Publication.objects.count() == 0


class TestRollingDeploys:
    """Processes with the old code are at work beside those with the new."""

    @pytest.fixture
    def section(self, shop):
        return shop(60, limit=3)

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

    @pytest.mark.database
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

    @pytest.mark.database
    def test_it_is_stored_with_the_marks_or_not_at_all(self, section, monkeypatch):
        """A builder that came in between would take the marks for its own."""

        def mark_and_die(*arguments, **others):
            mark_all(*arguments, **others)
            raise KeyboardInterrupt

        monkeypatch.setattr(deploys, "mark_all", mark_and_die)
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


SITE = Site("default", "https://example.com")


def words(attributes, site=SITE):
    """Return the fingerprint of the usual source with other attributes."""
    with temporary_source("products", limited(10, **attributes)):
        return fingerprint(open_section("products", site))


def listing(**which):
    return {"get_queryset": lambda self: Product.objects.filter(**which)}


def one(self, obj):
    return 0.1


def two(self, obj):
    return 0.2


#: Makes an attribute of a value, which is noticed wherever it is.
HOLDERS = {
    "a set": lambda it: {"x", it},
    "a condition": lambda it: Q(slug__in=["x", it]),
    "an expression": lambda it: Coalesce("slug", Value(it)),
    "a field": lambda it: CharField(default=it),
    "a subquery": lambda it: Subquery(zoo.books.filter(slug=it)),
    "a dataclass": lambda it: zoo.Options({"x", it}),
    "a partial": lambda it: partial(sorted, key=it),
    "a pattern": lambda it: re.compile("x" * 300 + it),
    "an enumeration": lambda it: Enum("Kind", {"A": it}).A,
    "a default": lambda it: lambda self, given=it: given,
    "a closure": lambda it: lambda self: it,
    "a decorator": lambda it: zoo.decorated(one if it == "a" else two),
    "a bare decorator": lambda it: zoo.bare(one if it == "a" else two),
    "a kept property": lambda it: cached_property(one if it == "a" else two),
    "a cache": lambda it: lru_cache(one if it == "a" else two),
    "a manager": lambda it: (Product if it == "a" else Book).objects,
}


@pytest.mark.parametrize("name", HOLDERS)
def test_it_tells_what_attributes_hold_apart(name):
    first, again, other = [{"it": HOLDERS[name](it)} for it in "aab"]
    assert words(first) == words(again)
    assert words(first) != words(other)


def test_what_a_class_computes_is_known_by_its_expression(tmp_path, monkeypatch):
    """A constant in it, or of its name, is seen."""
    monkeypatch.syspath_prepend(tmp_path)
    found = []
    for number, (inner, outer) in enumerate(["xx", "xx", "xy", "yx"]):
        module = tmp_path / f"computed_{number}.py"
        module.write_text(
            "import uuid\nTOKEN = uuid.uuid4()\n"
            f"class Mixed:\n    token = f'{inner}-{{TOKEN}}'\n    name = '{outer}'\n"
            "    def priority(self, item):\n        name = uuid.uuid4()\n"
        )
        mixed = importlib.import_module(module.stem).Mixed
        source = type("Source", (mixed, limited(10)), {})
        with temporary_source("products", source):
            found.append(fingerprint(open_section("products")))
    assert (found[0] == found[1], len(set(found))) == (True, 3)


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
    "the end of a day": (
        {"until": datetime.combine(date(2026, 6, 30), time.max)},
        {"until": datetime.combine(date(2026, 7, 31), time.max)},
    ),
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


@pytest.mark.parametrize("name", ["limit", "max_age", "on_error", "track_deletes"])
def test_how_pages_are_cut_and_built_does_not_count(name):
    source = type("Source", (limited(10),), {name: 99})
    with temporary_source("products", source):
        assert fingerprint(open_section("products", SITE)) == words({})


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


def test_a_build_of_another_process_renders_nothing(tmp_path):
    """Hashes, addresses, times and directories differ, and the code does not."""
    found, root = [], Path(__file__).parents[3]
    for number, zone in ("1", "UTC"), ("2", "Asia/Tokyo"):
        own = {"PYTHONPATH": str(root), "PYTHONHASHSEED": number, "TZ": zone}
        done = subprocess.run(
            [sys.executable, "-m", fresh.__name__, tmp_path, number],
            env=os.environ | own,
            cwd=root if number == "1" else tmp_path,
            stdout=subprocess.PIPE,
            timeout=120,
            check=True,
        )
        found.append(json.loads(done.stdout))
    (printed, rendered), (others, more) = found
    assert {it: words for it, words in printed.items() if words != others[it]} == {}
    assert len(rendered) > 100
    assert {it: count for it, count in more.items() if count} == {}


class Keeping(Sitemap):
    """Keeps what it computes, as classes of projects do."""

    limit = 3
    of_class: dict[int, str] = {}
    asked = 0

    def __init__(self):
        self.of_instance = []

    def items(self):
        return Product.objects.order_by("pk")

    def location(self, item):
        type(self).asked += 1
        self.of_instance.append(item.slug)
        return self.of_class.setdefault(item.pk, f"/{item.slug}/")


@pytest.mark.parametrize("made", [Keeping, Keeping()])
def test_what_methods_keep_does_not_count(made, publish):
    """Else each build of a worker would render all pages."""
    make_products(9)
    publish(made)
    rename(0, "renamed")
    assert build_and_relay().sections[0].rendered == 1


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
    "conditions": (lambda it: {"slug": it[0], "name": it[1]}, ["xy", "yx"], 2),
    "time": (lambda it: {"updated_at__lt": it}, MOMENTS, 1),
    "days": (lambda it: {"created_on__in": [it.date()]}, MOMENTS, 1),
    "seconds": (lambda it: {"pk__lt": int(it.timestamp())}, MOMENTS, 1),
    "thousandths": (lambda it: {"pk__lt": it.timestamp() * 1000}, MOMENTS, 1),
}


@pytest.mark.parametrize("kind", VALUES)
def test_which_values_differ(kind):
    """Those of rows do; their order and the present time do not."""
    made, values, count = VALUES[kind]
    queries = [Product.objects.filter(**made(value)) for value in values]
    assert len({prints(lambda it=it: it) for it in queries}) == count


def of_contrib():
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
