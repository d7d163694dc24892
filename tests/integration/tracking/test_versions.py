"""Two versions of a source at work at once: which of them builds, and what is told."""

from __future__ import annotations

import json
from datetime import timedelta

import pytest
from django.core.management import call_command
from django.db.models import F

from django_sitemaps_plus.building import settle, worker
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.state import Build
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.models import Change, Publication, Section
from django_sitemaps_plus.notifications.url_changes import relay
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.signals import urls_changed
from django_sitemaps_plus.tracking import deploys, schedule
from django_sitemaps_plus.tracking.deploys import MAX_REPLACED, fingerprint
from django_sitemaps_plus.tracking.locating import mark_keys
from tests.support.builds import build_and_relay, pass_grace
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product
from tests.support.told import hearing

from .rows import dirty

pytestmark = pytest.mark.database

OLD, NEW = limited(3), limited(3, changefreq="daily")


def become(source):
    """Be a process with other code from here on."""
    registry.unregister("products")
    registry.register("products", source)


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
def section(publish):
    make_products(9)
    return publish(OLD)


class TestWhoBuilds:
    def test_one_that_was_replaced_leaves_the_section_alone(self, section, capsys):
        """It takes no changes either, says so, and succeeds."""
        assert build_as(NEW).rendered == 3
        rename(0, "renamed")
        become(OLD)
        call_command("build_sitemaps", json=True)
        [report] = json.loads(capsys.readouterr().out)["sections"]
        assert (report["is_left"], report["rendered"]) == (True, 0)
        assert (report["pages"], report["entries"]) == (3, 9)
        call_command("build_sitemaps", "products", replan=True)
        assert "--full" in capsys.readouterr().err
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
            deploys.note_deploy(section, f"{number} integer")
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
        mark_keys(section, _space(), [product.pk])
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


def _space():
    from django_sitemaps_plus.sources import reader_of

    return reader_of(registry.get("products")).key_space()
