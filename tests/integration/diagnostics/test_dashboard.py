"""The status of sites: each number, by few queries, and as metrics."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.db.models.functions import Now
from django.utils import timezone
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.diagnostics.metrics import exposition
from django_sitemaps_plus.diagnostics.problems import problems_of
from django_sitemaps_plus.diagnostics.status import (
    SiteStatus,
    read_dashboard,
    section_status,
)
from django_sitemaps_plus.diagnostics.words import age_of
from django_sitemaps_plus.models import (
    INDEX,
    MAX_ATTEMPTS,
    Change,
    Figure,
    Hold,
    Page,
    Section,
    State,
    clock,
)
from django_sitemaps_plus.sites import get_site, get_sites
from tests.support.shop import ProductSource, limited, make_products
from tests.support.testapp.models import Product

from . import rows
from .rows import ENGINE

SITES = {name: {"BASE_URL": f"https://{name}.example"} for name in ("shop", "blog")}

#: Longer than a builder keeps its pages, and a process its engine, without a heartbeat.
EXPIRED = timedelta(hours=1)


@pytest.fixture(autouse=True)
def configured(configure: Any, sections: Any) -> None:
    """Have two sites, with two sections and two engines each."""
    engines = {"one": ENGINE, "two": ENGINE}
    configure(BASE_URL=None, SITES=SITES, ENGINES=engines)
    sections.register("products", ProductSource)
    sections.register("books", ProductSource)


def make_section(site: str = "shop", name: str = "products", **fields: Any) -> Section:
    """Add a section that a build has planned."""
    return Section.objects.create(site=site, name=name, next_number=9, **fields)


def make_page(section: Section, number: int, **fields: Any) -> None:
    """Add a page, which is fresh unless the fields say otherwise."""
    usual = {"built": 1, "entries": 1}
    Page.objects.create(section=section, number=number, **usual | fields)
    Section.objects.recount(section.pk)
    rows = Section.objects.filter(pk=section.pk)
    if moment := fields.get("published_at"):
        latest = [it for it in (moment, rows.get().published_at) if it is not None]
        rows.update(published_at=max(latest))


def deliver(target: str, site: str = "shop", **fields: Any) -> None:
    """Add a target that waits for the first engine."""
    rows.deliver(target, site=site, host=f"{site}.example", **fields)


def know(host: str, site: str = "shop", engine: str = "one", **fields: Any) -> None:
    """Add what is known of an engine."""
    rows.know(host=host, site=site, engine=engine, **fields)


def accept(hours: float, value: int, **others: Any) -> None:
    """Add what an engine has accepted in an hour of the past."""
    usual = {"site": "shop", "name": "one", "kind": Figure.Kind.ACCEPTED}
    began = timezone.now() - timedelta(hours=hours)
    Figure.objects.create(**usual | others, hour=began, value=value)


def read(site: str = "shop") -> SiteStatus:
    """Return how a site is."""
    [found] = [it for it in read_dashboard(get_sites()) if it.site.name == site]
    return found


@pytest.mark.database
def test_it_takes_few_queries_whatever_there_is(django_assert_max_num_queries):
    sites = get_sites()
    with django_assert_max_num_queries(12) as empty:
        read_dashboard(sites[:1])
    for site in SITES:
        index = make_section(site, INDEX)
        make_page(index, 0)
        for number in range(10):
            section = make_section(site, f"section-{number}")
            for page in range(1, 6):
                make_page(section, page, skipped=1, wanted=2)
            deliver(f"https://{site}.example/{number}", site)
            deliver(f"https://{site}.example/{number}", site, engine=f"old-{number}")
            know("it.example", site, f"old-{number}", parked_reason="it broke")
            accept(number, 1, site=site)
            Change.objects.create(section="products", kind="key", low=str(number))
    with django_assert_max_num_queries(12) as full:
        found = read_dashboard(sites)
    assert len(full) - len(empty) <= 1  # whose changes databases are asked for
    assert [(it.dirty, len(it.engines)) for it in found] == [(50, 12), (50, 12)]


@pytest.mark.database
def test_a_section_says_each_number():
    """Of the pages that are served; those of other plans count where they matter."""
    now = timezone.now()
    ago = [now - timedelta(minutes=minutes) for minutes in range(9)]
    section = make_section(schedule_checked_at=ago[1])
    rendered = {"checked_at": ago[6], "published_at": ago[7]}
    sizes = {"plain_size": 100, "gzip_size": 10}
    make_page(section, 1, entries=7, skipped=3, dropped=2, **sizes, **rendered)
    make_page(section, 2, entries=5, **sizes, checked_at=ago[2], published_at=ago[8])
    make_page(section, 3, entries=0)
    make_page(section, 4, hold=Hold.HELD, wanted=2, changed_at=ago[3])
    parked = {"attempts": MAX_ATTEMPTS, "error": "it broke"}
    make_page(section, 5, wanted=2, changed_at=ago[4], **parked)
    make_page(section, 6, wanted=2, attempts=1, error="it broke once")
    make_page(section, 7, wanted=2, state=State.NEXT, entries=900)
    old = {"state": State.RETIRED, "changed_at": ago[8], "error": "it broke before"}
    make_page(section, 8, wanted=2, entries=900, skipped=9, **old)
    Change.objects.create(section="products", kind="key", low="1", at=ago[5])
    status = read()
    [_, it] = status.sections
    assert (it.pages, it.entries, status.dirty) == (5, 15, 3)
    assert (it.section, it.live, it.planned) == ("products", False, 7)
    assert (it.plain_size, it.gzip_size) == (200, 20)
    assert (it.skipped, it.dropped, it.held_pages) == (3, 2, 1)
    assert (it.parked, it.error, it.failed) == (1, "it broke", 1)
    assert it.failure == "it broke once"
    assert (it.changes, status.changes, it.oldest) == (1, 1, ago[5])
    assert it.last_build_at == status.last_build_at == ago[1]
    assert it.published_at == ago[7]


@pytest.mark.database
def test_an_engine_says_each_number():
    """With what it has done in the last day; most of its rows are long settled."""
    now = timezone.now()
    ago = [now - timedelta(minutes=minutes) for minutes in range(9)]
    deliver("a", changed_at=ago[3])
    deliver("b", changed_at=ago[2], sent=1, wanted=2, not_before=now + EXPIRED)
    deliver("c", changed_at=ago[8], sent=1)
    deliver("d", dead_since=now, error="no such URL")
    know("a.example", parked_reason="the key is wrong", sent_at=ago[6])
    know("b.example", failures=2, error="it is down", sent_at=ago[5], delays=[9, 4, 5])
    # An hour counts as long as a part of it is within the last day.
    for hours, value in ((1, 3), (24.5, 20), (25.1, 100)):
        accept(hours, value)
    accept(1, 4, kind=Figure.Kind.FAILED)
    [it, other] = read().engines
    assert (it.engine, it.waiting, it.resting, it.dead) == ("one", 2, 1, 1)
    assert (it.oldest, it.sent_at, it.error) == (ago[3], ago[5], "no such URL")
    assert it.parked == {"a.example": "the key is wrong"}
    assert it.failing == {"b.example": "it is down"}
    assert (it.accepted, it.failed, it.delay) == (23, 4, 5)
    assert (other.engine, other.accepted, other.delay) == ("two", 0, None)


@pytest.mark.database
def test_only_claims_that_live_are_at_work():
    """What a killed builder held is dirty, and nobody's; so is an engine."""
    section = make_section()
    alive = {"wanted": 2, "claimed_at": Now()}
    make_page(section, 1, token="a", **alive)
    make_page(section, 2, token="a", **alive)
    make_page(section, 3, token="b", **alive)
    make_page(section, 4, token="", **alive)
    expired = timezone.now() - EXPIRED
    make_page(section, 5, token="c", wanted=2, claimed_at=expired)
    know("a.example", token="a", claimed_at=expired)
    know("b.example", token="", claimed_at=Now())
    status = read()
    building = sum([it.building for it in status.sections])
    builders = sum([it.builders for it in status.sections])
    assert (status.dirty, building, builders) == (5, 3, 2)
    assert [it.is_busy for it in status.engines] == [False, False]
    know("c.example", token="a", claimed_at=Now())
    assert [it.is_busy for it in read().engines] == [True, False]


def test_sites_are_kept_apart():
    for number, site in enumerate(SITES, 1):
        section = make_section(site)
        for page in range(number):
            make_page(section, page + 1, wanted=2, entries=10 * number)
            deliver(f"{site}-{page}", site)
            know(f"{page}.{site}", site, parked_reason=site)
            accept(page, 1, site=site)
    shop, blog = read_dashboard(get_sites())
    assert [shop.site.name, blog.site.name] == list(SITES)
    for it, number in ((shop, 1), (blog, 2)):
        own, one = it.sections[-1], it.engines[0]
        assert (own.pages, it.dirty, own.entries) == (number, number, 10 * number**2)
        assert (one.waiting, one.accepted) == (number, number)
        assert set(one.parked.values()) == {it.site.name}
    [alone] = read_dashboard([blog.site])
    assert (alone.dirty, len(problems_of(alone))) == (2, 1)


def test_silence_is_explained(configure):
    configure(NOTIFY=False)
    assert "NOTIFY" in read().silence
    configure(ENGINES={})
    assert read().silence == ""


def samples() -> dict[tuple[str, ...], float]:
    """Return the values of metrics by their names and the values of their labels."""
    text = exposition(read_dashboard(get_sites()))
    return {
        (it.name.removeprefix("sitemaps_plus_"), *it.labels.values()): it.value
        for family in text_string_to_metric_families(text)
        for it in family.samples
    }


class TestMetrics:
    @pytest.mark.database
    def test_every_metric_has_its_number(self):
        section = make_section(
            hold_reason="too few",
            schedule_checked_at=timezone.now() - timedelta(seconds=50),
        )
        sizes = {"plain_size": 100, "gzip_size": 10}
        parked = {"wanted": 9, "attempts": MAX_ATTEMPTS, "error": "it broke"}
        make_page(section, 1, entries=24, **sizes, **parked)
        make_page(section, 2, skipped=2, dropped=7, **sizes)
        know("a.example", parked_reason="the key")
        found = samples()
        of_section = {
            k[0]: v for k, v in found.items() if v and k[1:] == ("shop", "products")
        }
        assert 50 <= of_section.pop("last_build_age_seconds") < 100
        assert of_section == {
            "entries": 25,
            "pages": 2,
            "plain_bytes": 200,
            "gzip_bytes": 20,
            "dirty_pages": 1,
            "parked_pages": 1,
            "section_held": 1,
            "skipped_rows": 2,
            "dropped_values": 7,
        }
        of_engine = {k[0]: v for k, v in found.items() if k[1:] == ("shop", "one")}
        assert len(of_engine) == 7
        assert {k: v for k, v in of_engine.items() if v} == {"parked_hosts": 1}
        assert (found["site_ok", "shop"], found["site_ok", "blog"]) == (0, 1)
        assert found["parked_hosts", "blog", "one"] == 0

    def test_a_live_section_has_no_numbers(self):
        """They would say that it lists nothing."""
        assert [key for key in samples() if "books" in key] == []


@pytest.mark.database
@pytest.mark.django_db(transaction=True)
class TestClocks:
    """Ages, whatever zone the project and the server of its database are in."""

    @pytest.fixture(
        autouse=True,
        params=itertools.product((False, True), ("America/New_York", "Asia/Tokyo")),
        ids=str,
    )
    def configured(self, request: Any, settings: Any) -> Any:
        """Have a project in a zone, and a server in another one."""
        settings.USE_TZ, settings.TIME_ZONE = request.param
        if connection.vendor == "mysql":
            with connection.cursor() as cursor:
                cursor.execute("SET time_zone = '+05:00'")
        yield
        connection.close()

    def test_what_the_database_says_is_what_python_says(self, sections):
        section = Section.objects.create(name="products", new_since=clock.Now())
        section.refresh_from_db()
        assert abs(age_of(section.new_since)) < 60
        # A query that is kept, too.
        (found,) = Section.objects.with_plan(site="", name="products")
        assert abs(age_of(found.now)) < 60

    def test_ages_of_what_waits(self, sections):
        """A change that was just made is not late, and one of two hours ago is."""
        make_products(3, updated_at=None)
        sections.register("products", limited(1))
        assert build().problems == []
        Product.objects.all()[0].save()
        call_command("sitemap_status", max_age=3_000, verbosity=0)
        (status,) = section_status(get_site())
        assert -60 < age_of(status.oldest) < 60
        assert -60 < age_of(status.published_at) < 60
        Change.objects.update(at=F("at") - 2 * EXPIRED)
        with pytest.raises(
            CommandError, match=r"products: The oldest .* for (1 hour, 5|2 hours)"
        ):
            call_command("sitemap_status", max_age=3_000, verbosity=0)
        assert build().problems == []
        call_command("sitemap_status", max_age=3_000, verbosity=0)
        Section.objects.update(schedule_checked_at=timezone.now() - 2 * EXPIRED)
        with pytest.raises(
            CommandError, match=r"products: The last build was made (1 hour, 5|2 h)"
        ):
            call_command("sitemap_status", max_age=3_000, verbosity=0)

    def test_pages_are_compared_when_it_is_time(self, sections, settings):
        """And no earlier: their times are by the database's clock, too."""
        make_products(3, updated_at=None)
        sections.register("products", limited(1))
        build()
        Section.objects.update(new_since=None)
        before = set(Page.objects.values_list("checked_at", flat=True))
        assert build().sections[0].rendered == 0
        assert set(Page.objects.values_list("checked_at", flat=True)) == before
        Page.objects.update(checked_at=F("checked_at") - timedelta(hours=24))
        assert build().sections[0].rendered == 3
