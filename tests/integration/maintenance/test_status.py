"""How the sections are, and objects that a view found lost."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.maintenance.status import section_status
from django_sitemaps_plus.models import MAX_ATTEMPTS, Change, Hold, Page, Section
from tests.support.builds import build_fully
from tests.support.published import page_row, path_of
from tests.support.shop import limited, make_products

pytestmark = pytest.mark.django_db


@pytest.fixture
def products(sections):
    """Register three pages of products, and build them."""
    made = make_products(25)
    sections.register("products", limited(10))
    build_fully()
    return made


class TestStatus:
    def test_a_section_that_is_well(self, products):
        """A line with its numbers, and exit 0."""
        (found,) = section_status(get_site())
        assert (found.pages, found.entries, found.dirty) == (3, 25, 0)
        out = StringIO()
        call_command("sitemap_status", stdout=out)
        assert "products" in out.getvalue()

    def test_a_section_that_was_never_built(self, sections):
        """It has no numbers and no age."""
        sections.register("products", limited(10))
        (found,) = section_status(get_site())
        assert (found.pages, found.published_at) == (0, None)
        out = StringIO()
        call_command("sitemap_status", stdout=out)
        assert "never" in out.getvalue()

    def test_a_held_section_needs_a_person(self, products):
        """The command fails and says what to do."""
        Section.objects.filter(name="products").update(hold_reason="too few")
        with pytest.raises(CommandError, match="too few"):
            call_command("sitemap_status", stdout=StringIO())

    def test_a_section_without_a_source_needs_a_person(self, products, sections):
        """Its pages are still served."""
        sections.unregister("products")
        with pytest.raises(CommandError, match="no longer registered"):
            call_command("sitemap_status", stdout=StringIO())


class TestNumbers:
    """What the command shows of a section that is not well."""

    @pytest.fixture
    def unwell(self, sections, monkeypatch):
        """Publish six pages an hour ago; no number of theirs is equal to another."""
        make_products(58)
        sections.register("products", limited(10))
        build_fully()
        now = timezone.now().replace(microsecond=0)
        monkeypatch.setattr("django.utils.timezone.now", lambda: now)
        pages = Page.objects.filter(section__name="products")
        pages.update(published_at=now - timedelta(hours=1))
        pages.filter(number__lte=4).update(wanted=9)
        pages.filter(number=1).update(attempts=MAX_ATTEMPTS, error="it broke")
        pages.filter(number__gte=5).update(hold=Hold.HELD)
        pages.filter(number=5).update(skipped=2, dropped=7)
        pages.filter(number=6).update(skipped=1)
        Change.objects.bulk_create(
            [Change(section="products", kind="key", low=key) for key in "12345"]
        )
        return pages

    def shown(self, **options):
        """Return what the command writes, and why it fails."""
        out = StringIO()
        with pytest.raises(CommandError) as caught:
            call_command("sitemap_status", stdout=out, **options)
        return out.getvalue(), str(caught.value)

    def test_the_row_says_each_number(self, unwell):
        """Under its head, with the seconds since something was published."""
        out, problems = self.shown()
        head, _, row = out.splitlines()
        columns = "section pages entries dirty held parked skipped changes age"
        assert " ".join(head.split()) == columns
        assert " ".join(row.split()) == "products 6 58 4 2 1 3 5 3,600 s"
        assert problems == "products: 1 pages are parked: it broke"

    def test_json_says_each_number(self, unwell):
        """Of values left out too, which the row has no room for."""
        (found,) = json.loads(self.shown(json=True)[0])
        published_at = datetime.fromisoformat(found.pop("published_at"))
        assert timezone.now() - published_at == timedelta(hours=1)
        assert found.pop("checked_at") is not None
        assert found == {
            "section": "products",
            "registered": True,
            "pages": 6,
            "entries": 58,
            "dirty": 4,
            "parked": 1,
            "failed": 0,
            "held_pages": 2,
            "hold_reason": "",
            "skipped": 3,
            "dropped": 7,
            "changes": 5,
            "error": "it broke",
            "failure": "",
        }

    def test_a_page_that_failed_once_needs_a_person(self, unwell):
        """Though it is tried again by itself."""
        unwell.filter(number=1).update(attempts=1)
        out, problems = self.shown(json=True)
        (found,) = json.loads(out)
        assert (found["parked"], found["failed"]) == (0, 1)
        assert found["failure"] == "it broke"
        assert problems == ("products: 1 dirty pages could not be built yet: it broke")


class TestIndex:
    def test_one_that_is_parked_needs_a_person(self, products):
        """Both commands fail and say what to do; once that is done they do not."""
        Page.objects.filter(number=0).update(attempts=MAX_ATTEMPTS, wanted=9)
        out = StringIO()
        for command in ("build_sitemaps", "sitemap_status"):
            with pytest.raises(
                CommandError, match=r"sitemap\.xml is not built.*--full"
            ):
                call_command(command, json=True, stdout=out)
        (section,) = json.loads(out.getvalue().splitlines()[-1])
        assert section["section"] == "products"
        call_command("build_sitemaps", full=True, verbosity=0)
        call_command("sitemap_status", stdout=out)

    def test_one_that_a_builder_is_about_to_build_needs_nobody(self, products):
        """Each flip of a page makes it dirty."""
        Page.objects.filter(number=0).update(wanted=9)
        call_command("sitemap_status", stdout=StringIO())


class TestLostObjects:
    @pytest.mark.parametrize("damage", ["gone", "changed"])
    def test_an_object_that_a_view_missed_is_stored_again(
        self, products, client, damage
    ):
        """By the next refresh, though nothing has changed."""
        before = client.get("/sitemap-products-2.xml")
        path = path_of(page_row("products", 2))
        if damage == "gone":
            path.unlink()
        else:
            path.write_bytes(b"x" * path.stat().st_size)
        live = client.get("/sitemap-products-2.xml")
        assert live.content == before.content
        assert "Last-Modified" not in live
        report = build()
        assert report.sections[0].stored == 1
        assert path_of(page_row("products", 2)).exists()
        assert client.get("/sitemap-products-2.xml")["ETag"] == before["ETag"]

    def test_an_object_that_came_back_is_left_alone(self, products, client):
        """A view may have looked while a disk was away."""
        path = path_of(page_row("products", 2))
        away = path.with_suffix(".away")
        path.rename(away)
        client.get("/sitemap-products-2.xml")
        away.rename(path)
        assert build().sections[0].stored == 0

    def test_the_audit_finds_an_index_that_is_lost(self, products):
        """As it does pages, though no view has told this process of it."""
        build()
        index = page_row("", 0)
        path_of(index).unlink()
        build()
        assert not path_of(page_row("", 0)).exists()
        Page.objects.filter(pk=index.pk).update(checked_at=Now() - timedelta(days=2))
        build()
        assert path_of(page_row("", 0)).exists()
