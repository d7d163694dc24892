"""Deploys mark all pages: what is published, who builds them, and what is told."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.db.models import F

from django_sitemaps_plus.building import settle, worker
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.state import Build
from django_sitemaps_plus.conf import get_site
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
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.tracking import deploys, schedule
from django_sitemaps_plus.tracking.deploys import MAX_REPLACED, fingerprint, note_deploy
from django_sitemaps_plus.tracking.locating import mark_all, mark_keys
from tests.support.builds import build_and_relay, pass_grace
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product
from tests.support.told import hearing

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

    @pytest.mark.database
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

    @pytest.mark.database
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
    @pytest.mark.database
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

    @pytest.mark.database
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

    @pytest.mark.database
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

    @pytest.mark.database
    def test_few_of_those_before_are_kept(self, section):
        for number in range(MAX_REPLACED + 2):
            note_deploy(section, f"{number} integer")
        replaced = Section.objects.get(pk=section.pk).replaced
        assert replaced == [f"{n} integer" for n in range(1, MAX_REPLACED + 1)]


@pytest.mark.database
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

    @pytest.mark.database
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

    @pytest.mark.database
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

    def test_of_nothing_by_a_deploy_that_adds_dates(self, publish):
        """The look-back meets the first ones, of rows that are as they were."""
        make_products(9)
        publish(limited(3, lastmod=None))
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
