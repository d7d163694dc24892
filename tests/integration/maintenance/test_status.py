"""How the sections are, and objects that a view found lost."""

from __future__ import annotations

import json
from datetime import datetime, timedelta
from io import StringIO
from types import SimpleNamespace

import pytest
from django.core.cache import cache
from django.core.cache.backends import base, locmem
from django.core.management import CommandError, call_command
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus.building.build import refresh
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.maintenance.status import status
from django_sitemaps_plus.models import MAX_ATTEMPTS, Change, Hold, Page, Section, lease
from django_sitemaps_plus.serving import cache as cached
from django_sitemaps_plus.serving import live, single_flight
from tests.support.builds import build
from tests.support.published import page_row, path_of
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.django_db


@pytest.fixture
def products(sections):
    """Register three pages of products, and build them."""
    made = make_products(25)
    sections.register("products", limited(10))
    build()
    return made


class TestStatus:
    def test_a_section_that_is_well(self, products):
        """A line with its numbers, and exit 0."""
        (found,) = status(get_site())
        assert (found.pages, found.entries, found.dirty) == (3, 25, 0)
        out = StringIO()
        call_command("sitemap_status", stdout=out)
        assert "products" in out.getvalue()

    def test_json_has_every_number(self, products):
        """For machines."""
        out = StringIO()
        call_command("sitemap_status", "--json", stdout=out)
        (found,) = json.loads(out.getvalue())
        assert found["entries"] == 25
        assert found["registered"] is True

    def test_a_section_that_was_never_built(self, sections):
        """It has no numbers and no age."""
        sections.register("products", limited(10))
        (found,) = status(get_site())
        assert (found.pages, found.age()) == (0, None)
        out = StringIO()
        call_command("sitemap_status", stdout=out)
        assert "never" in out.getvalue()

    def test_a_parked_page_needs_a_person(self, products):
        """The command fails and says why."""
        Page.objects.filter(number=2).update(
            attempts=MAX_ATTEMPTS, wanted=9, error="it broke"
        )
        with pytest.raises(CommandError, match="it broke"):
            call_command("sitemap_status", stdout=StringIO())

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
        build()
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
        report = refresh()
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
        assert refresh().sections[0].stored == 0

    def test_the_audit_finds_an_index_that_is_lost(self, products):
        """As it does pages, though no view has told this process of it."""
        refresh()
        index = page_row("", 0)
        path_of(index).unlink()
        refresh()
        assert not path_of(page_row("", 0)).exists()
        Page.objects.filter(pk=index.pk).update(checked_at=Now() - timedelta(days=2))
        refresh()
        assert path_of(page_row("", 0)).exists()


class TestSharedLivePages:
    def test_a_page_is_kept_for_a_while(self, sections, settings, client):
        """A second request renders nothing."""
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "LIVE_CACHE_SECONDS": 60}
        make_products(3)
        sections.register("products", limited(10))
        first = client.get("/sitemap-products-1.xml")
        source = sections.get("products")
        source.chunks = None  # whoever renders now fails
        second = client.get("/sitemap-products-1.xml")
        assert (second.status_code, second.content) == (200, first.content)
        cache.clear()
        assert client.get("/sitemap-products-1.xml").status_code == 503

    def test_who_finds_another_at_work_waits_for_it_then_renders(
        self, sections, settings, client, monkeypatch
    ):
        """At most two seconds; here nearly none."""
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "LIVE_CACHE_SECONDS": 60}
        monkeypatch.setattr(single_flight, "MAX_WAIT", 0.1)
        make_products(3)
        sections.register("products", limited(10))
        key = live._key("products", 1, get_site(), 0)
        cache.set(f"sitemaps_plus:{key}:busy", b"", 30)
        response = client.get("/sitemap-products-1.xml")
        assert response.status_code == 200
        assert cache.get(f"sitemaps_plus:{key}:busy") == b""

    def test_who_begins_as_another_ends_takes_what_that_one_kept(
        self, sections, settings, client, monkeypatch
    ):
        """It found nothing, and was slow to say that it would render."""
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "LIVE_CACHE_SECONDS": 60}
        make_products(3)
        sections.register("products", limited(10))
        first = client.get("/sitemap-products-1.xml")
        sections.get("products").chunks = None  # whoever renders now fails
        missed: list[str] = []

        def recall_late(key: str) -> bytes | None:
            missed.append(key)
            return cached.recall(key) if len(missed) > 1 else None

        monkeypatch.setattr(single_flight, "recall", recall_late)
        second = client.get("/sitemap-products-1.xml")
        assert (second.status_code, second.content) == (200, first.content)
        assert cached.first_to(f"{missed[0]}:busy", 1)  # it lets others try

    def test_who_takes_long_stays_at_work(
        self, sections, settings, client, monkeypatch
    ):
        """Each chunk of rows is a sign of life, so nobody else begins."""
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "LIVE_CACHE_SECONDS": 60}
        clock = SimpleNamespace(now=1_000.0)
        for module in (base, locmem, lease):
            ticking = SimpleNamespace(
                time=lambda: clock.now, monotonic=lambda: clock.now
            )
            monkeypatch.setattr(module, "time", ticking)
        others: list[bool] = []

        def location(self: ModelSource, product: Product) -> str:
            clock.now += single_flight.BUSY_SECONDS / 800  # so a chunk takes 0.6 of it
            if product.slug.endswith("00"):
                others.append(
                    cached.first_to(f"{key}:busy", single_flight.BUSY_SECONDS)
                )
            return f"/{product.slug}/"

        make_products(1_500)
        sections.register("products", limited(2_000, location=location))
        key = live._key("products", 1, get_site(), 0)
        assert client.get("/sitemap-products-1.xml").status_code == 200
        assert set(others) == {False}
