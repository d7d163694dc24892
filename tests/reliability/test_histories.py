"""T6 and T7: after any history, two sites publish what the table says, and no more.

Hypothesis makes histories of all that may happen to a project: edits with and without
signals, transactions that roll back, deploys, builders that are killed, or stopped and
overtaken, time that passes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any, ClassVar

import pytest
from django.db import connection, transaction
from django.db.models import Max
from django.test import Client
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from lxml import etree

from django_sitemaps_plus import ModelSource, Route, notify_changed
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import in_force
from django_sitemaps_plus.core import limits
from django_sitemaps_plus.models import Change, Page, Section, State
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sites import site_named
from django_sitemaps_plus.tracking import known
from django_sitemaps_plus.tracking.schedule import notice
from tests.support.builds import pass_grace, pass_pauses
from tests.support.testapp.models import Product

from .tools.builders import Builder
from .tools.checkpoints import CHECKPOINTS
from .tools.killing import run_killed
from .tools.shop import ALLOW, IS_SOAK, age_claims, unfinished, wrong_totals

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

SITES = {"all": "https://example.com", "some": "https://some.example"}

#: Entries that a page should have, and that it may.
LIMIT, MOST = 10, 11

#: Bytes of a page: fewer large rows are in them than LIMIT, and more small ones.
MAX_BYTES = 1_900

#: What slugs begin with; databases have their own opinions of its order.
LETTERS = "abyzABYZ09_-"

#: Keys of rows: some are taken from the beginning, any may be later.
FIRST_KEYS, LAST_KEY = range(30, 1_530, 30), 1_600

#: Rows that one statement changes.
STRETCH = 150

#: Histories. SQLite has most of them; other databases order strings in their own ways.
KEYS = ["pk", "slug"] if IS_SOAK or connection.vendor == "sqlite" else ["slug"]
HISTORIES = 300 if IS_SOAK else 7

#: Steps of a build within which it is killed.
WITHIN = 150

START = datetime(2026, 1, 1, tzinfo=UTC)

keys = st.integers(1, LAST_KEY)

#: An entry: URL, lastmod, changefreq.
Entry = tuple[str, datetime, str]


class Products(ModelSource):
    """Products that are published; the second site lists some of them."""

    model = Product
    location = Route("product-detail", slug="slug")
    lastmod = "updated_at"
    changefreq = "weekly"
    limit = LIMIT

    def get_queryset(self, site: Any = None) -> Any:
        rows = Product.objects.filter(published=True)
        return rows.filter(popularity__gt=0) if site.name == "some" else rows


class History(RuleBasedStateMachine):
    """A project on two sites, and all that may happen to it."""

    key = "pk"

    #: How often each happened, in all histories.
    counts: ClassVar[Counter[str]] = Counter()

    def __init__(self) -> None:
        super().__init__()
        self.number = 0
        for model in (Product, Change, Section):
            model.objects.all().delete()
        known.forget()
        self.builder: Builder | None = None
        self.touched: set[int] = set()
        self.was_killed = self.was_silent = False
        self.deploy("weekly")
        Product.objects.bulk_create([self._new(key) for key in FIRST_KEYS])
        self._build()
        self._settled()

    def teardown(self) -> None:
        """End as any history: with a build."""
        try:
            self.settle()
        finally:
            if self.builder:
                self.builder.end()

    # What a project does to its rows.

    @rule(key=keys, has_popularity=st.booleans())
    def save(self, key: int, has_popularity: bool) -> None:
        self._new(key, popularity=int(has_popularity)).save()
        self._touch(key)

    @rule(key=keys, name=st.sampled_from(["published", "popularity"]))
    def enter_or_leave(self, key: int, name: str) -> None:
        """Save a column that decides on which site the next row is listed."""
        if row := Product.objects.filter(pk__gte=key).order_by("pk").first():
            setattr(row, name, not getattr(row, name))
            row.save(update_fields=[name])
            self._touch(row.pk)

    @rule(key=keys, count=st.integers(1, 12))
    def bulk_create(self, key: int, count: int) -> None:
        added = range(key, key + count)
        taken = set(Product.objects.filter(pk__in=added).values_list("pk", flat=True))
        rows = [self._new(key) for key in added if key not in taken]
        Product.objects.bulk_create(rows)
        notify_changed(Product.objects.filter(pk__in=[row.pk for row in rows]))
        self._touch(*added)

    @rule(key=keys)
    def update(self, key: int) -> None:
        """Change many rows without a signal."""
        rows = self._stretch(key)
        rows.update(published=True, updated_at=self._now())
        notify_changed(rows)

    @rule(key=keys)
    def update_silently(self, key: int) -> None:
        """Change many rows, and tell nobody."""
        self._stretch(key).update(updated_at=self._now())
        self.was_silent = True

    @rule(key=keys)
    def delete(self, key: int) -> None:
        """Delete many rows, each with its signal."""
        self._stretch(key).delete()

    @rule(key=keys, is_outer=st.booleans())
    def roll_back(self, key: int, is_outer: bool) -> None:
        """Think better of an edit, or of a savepoint and not of the whole."""
        with transaction.atomic():
            with transaction.atomic():
                self._new(key).save()
                transaction.set_rollback(True)
            self._new(key + 1).save()
            transaction.set_rollback(is_outer)
        if not is_outer:
            self._touch(key + 1)

    # What happens to its processes.

    @rule(changefreq=st.sampled_from(["hourly", "daily", "weekly", "monthly"]))
    def deploy(self, changefreq: str) -> None:
        if "products" in registry:
            registry.unregister("products")
        attributes = {"changefreq": changefreq, "key": self.key}
        registry.register("products", type("Deployed", (Products,), attributes))
        self.changefreq = changefreq
        pass_grace()
        Section.objects.update(built_at=None)
        self._touch(*range(LAST_KEY + STRETCH))

    @rule(site=st.sampled_from(sorted(SITES)))
    def build_one_site(self, site: str) -> None:
        self._build([site])

    @rule()
    def replan(self) -> None:
        self._build(replan=True)
        self._touch(*range(LAST_KEY + STRETCH))

    @precondition(lambda self: not self.was_killed)
    @rule(key=keys, step=st.integers(1, WITHIN))
    def kill_a_builder(self, key: int, step: int) -> None:
        """Kill a build of some edits at some step."""
        self.update(key)
        self.was_killed = run_killed(self._build, step)
        self.counts["kills"] += self.was_killed

    @precondition(lambda self: self.builder is None)
    @rule(name=st.sampled_from(CHECKPOINTS), key=keys)
    def stop_a_builder(self, name: str, key: int) -> None:
        """Stop a build of some edits at a checkpoint, and edit the same rows again."""
        if name == "inside split":
            self.bulk_create(key, 12)
        elif name == "inside merge":
            Product.objects.filter(pk__in=self._stretch(key)[:20]).delete()
        self.update(key)
        with in_force(site_named("all")):
            age_claims()
            builder = Builder(name)
        if builder.is_stopped:
            self.builder = builder
            self.counts["stops"] += 1
            self.edit_meanwhile(key)
        else:
            builder.end()

    @precondition(lambda self: self.builder is not None)
    @rule(key=keys)
    def edit_meanwhile(self, key: int) -> None:
        """Edit rows while a build is stopped, and have another process mark pages."""
        self.update(key)
        with in_force(site_named("all")):
            section = Section.objects.annotate(now=Now())
            notice(open_section(section.get(site="all", name="products")))

    @precondition(lambda self: self.builder is not None)
    @rule()
    def overtake(self) -> None:
        """Build what another had begun."""
        self._build()

    @precondition(lambda self: self.builder is not None)
    @rule()
    def wake(self) -> None:
        """Let who was stopped go on to the end."""
        assert self.builder
        age_claims()
        self.builder.wake()
        self.counts["refused"] += self.builder.finish()
        self.builder.end()
        self.builder = None

    @rule()
    def settle(self) -> None:
        """Build when nobody is in the way: then all is as the table says."""
        if self.builder:
            self.wake()
        pass_pauses()
        if self.was_silent:  # an audit compares what no one told
            Page.objects.update(checked_at=START)
        self._build(audits=self.was_silent)
        assert unfinished() == []
        pages = Page.objects.filter(state=State.ACTIVE, section__name="products")
        most = pages.aggregate(entries=Max("entries"), bytes=Max("plain_size"))
        assert (most["entries"] or 0) <= MOST
        assert (most["bytes"] or 0) <= MAX_BYTES
        for site in SITES:
            assert self._crawl(site) == self._table(site), site
        after = self._pages()
        for where, file in self.pages.items():
            if where in after and not self._is_touched(*where):
                assert after[where] == file, f"{where} was stored again"
        self._settled()
        self.counts["points"] += 1

    @rule()
    def build_fully(self) -> None:
        """Render all: nothing differs from what only the changes led to."""
        self.settle()
        self._build(full=True)
        assert self._pages() == self.pages

    @invariant()
    def no_reader_sees_a_gap(self) -> None:
        """What was listed throughout is found at any time, and nothing invented."""
        for site in SITES:
            rows = {url for url, _, _ in self._table(site)}
            self.ever[site] |= rows
            self.always[site] &= rows
            listed = {url for url, _, _ in self._crawl(site)}
            assert self.always[site] <= listed, site
            assert listed <= self.ever[site], site

    @invariant()
    def totals_are_right(self) -> None:
        """Each section's row is the sums over its pages, whoever was killed."""
        assert wrong_totals() == []

    # How all of this is done, and read.

    def _now(self) -> datetime:
        """Return a time before all others: no look-back makes up for a lost change."""
        self.number += 1
        return START - timedelta(seconds=self.number)

    def _new(self, key: int, **fields: Any) -> Product:
        now = self._now()
        letters = LETTERS[key % 12 :] + LETTERS * (4 if key // 400 % 2 else 0)
        slug = f"{letters}-{key}-{self.number}"
        values = {"popularity": key % 2, **fields}
        return Product(pk=key, name=slug, slug=slug, updated_at=now, **values)

    def _stretch(self, key: int) -> Any:
        self._touch(*range(key, key + STRETCH))
        return Product.objects.filter(pk__gte=key, pk__lt=key + STRETCH)

    def _touch(self, *keys: int) -> None:
        self.touched |= set(keys)

    def _is_touched(self, site: str, low: str | None, high: str | None) -> bool:
        """Return whether a row changed between two keys, or may have."""
        if self.key == "slug":  # the rows were elsewhere before they changed
            return bool(self.touched)
        between = range(int(low or 0), int(high or LAST_KEY + STRETCH))
        return not self.touched.isdisjoint(between)

    def _build(self, names: Iterable[str] = SITES, **options: Any) -> None:
        """Build sites, when the claims have passed of who was stopped or killed."""
        age_claims()
        for name in names:
            with in_force(site_named(name)):
                build(**ALLOW, **options)

    def _settled(self) -> None:
        """Begin a stretch of history at whose end all is compared."""
        self.touched.clear()
        self.was_killed = self.was_silent = False
        self.pages = self._pages()
        self.ever: dict[str, set[str]] = {}
        for site in SITES:
            self.ever[site] = {url for url, _, _ in self._table(site)}
        self.always = {site: set(urls) for site, urls in self.ever.items()}

    def _pages(self) -> dict[tuple[Any, ...], tuple[Any, ...]]:
        rows = Page.objects.filter(state=State.ACTIVE, section__name="products")
        where, file = ("section__site", "low", "high"), ("object", "plain_hash")
        return {row[:3]: row[3:] for row in rows.values_list(*where, *file)}

    def _table(self, site: str) -> list[Entry]:
        source = registry.get("products")
        rows = source.get_queryset(site_named(site)).values_list("slug", "updated_at")
        form = f"{SITES[site]}/products/{{}}/"
        return sorted((form.format(slug), at, self.changefreq) for slug, at in rows)

    def _crawl(self, site: str) -> list[Entry]:
        return sorted(entry for page in self._documents(site) for entry in page)

    def _documents(self, site: str) -> Iterator[list[Entry]]:
        client, origin = Client(headers={"Host": SITES[site][8:]}), SITES[site]
        index = client.get("/sitemap.xml")
        if index.status_code == 404:
            return
        for sitemap in etree.fromstring(index.content):
            url = sitemap[0].text
            page = client.get(url.removeprefix(origin))
            assert page.status_code == 200, url
            yield [
                (entry[0].text, datetime.fromisoformat(entry[1].text), entry[2].text)
                for entry in etree.fromstring(page.content)
            ]


@pytest.mark.parametrize("key", KEYS)
def test_after_any_history_the_pages_list_the_table(
    key, sections, configure, monkeypatch, no_flush, quiet, figures
):
    """Nothing is lost, invented, or stored again without a reason."""
    configure(
        BASE_URL=None,
        SITES={name: {"BASE_URL": origin} for name, origin in SITES.items()},
        AUDIT_BUDGET_SECONDS=600,
    )
    monkeypatch.setattr(limits, "MAX_BYTES", MAX_BYTES)
    monkeypatch.setattr(History, "key", key)
    History.counts.clear()
    # The same histories each time, and not made shorter, but with SOAK.
    phases = (Phase.generate, Phase.shrink) if IS_SOAK else (Phase.generate,)
    run_state_machine_as_test(
        History,
        settings=settings(
            max_examples=HISTORIES,
            stateful_step_count=18,
            derandomize=not IS_SOAK,
            database=None,
            deadline=None,
            phases=phases,
            suppress_health_check=list(HealthCheck),
        ),
    )
    figures(f"histories by {key}", **History.counts)
    assert min(History.counts.values()) > 0  # all of it was met
