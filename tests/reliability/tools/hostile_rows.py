"""Rows that have strings in every place for words of others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

from django.utils import timezone

from django_sitemaps_plus import Entry, Source
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.diagnostics.requests import exclude
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import (
    INDEX,
    Delivery,
    EngineHost,
    Exclusion,
    Figure,
    Page,
    Section,
)
from django_sitemaps_plus.models.deliveries import hash_target
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.registry import check_name
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.configuring import configure
from tests.support.testapp.models import Product

from .shop import ORIGIN, PlainSource, add

#: A URL that engines have answered about: that of the first product.
ASKED_ABOUT = f"{ORIGIN}/products/p-1/"


class Feeds(RecordingEngine):
    """An engine that says what it thinks of feeds."""

    takes = Takes.FEEDS


#: That, as the setting has it.
FEEDS = {"BACKEND": f"{__name__}.Feeds"}


class Small(PlainSource):
    """A row a page."""

    limit = 1


class Hostile(Source):
    """A source whose URLs have strings in them."""

    def __init__(self, strings: Sequence[str]) -> None:
        self.strings = strings

    def entries(self, origin: str) -> Iterator[Entry]:
        """Yield a URL for each that may be in one, in its path and its query."""
        for it in self.strings:
            with suppress(ValueError):
                yield Entry(f"{origin}/{it[:200]}/?{it[:200]}")


def names(strings: Sequence[str]) -> list[str]:
    """Return what may name a section, of the beginnings of strings."""
    found = dict.fromkeys([it[:60].strip() for it in strings])
    for name in [*found]:
        try:
            check_name(name)
        except ConfigurationError:
            del found[name]
    return [*found]


def engine_names(strings: Sequence[str]) -> list[str]:
    """Return what names engines: the beginnings of strings, which differ."""
    return [it[:64] for it in strings]


def fill(strings: Sequence[str], settings: Any, sections: Any) -> None:
    """Put each string into every place that has words of others."""
    engines = engine_names(strings)
    backends = dict.fromkeys(engines[::2], FEEDS)
    urls = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
    backends |= dict.fromkeys(engines[1::2], urls)
    configure(settings, ENGINES=backends, NOTIFY=True)
    add(range(1, len(strings) + 1))
    sections.register("products", Small)
    build()
    _fill_sections(strings, sections)
    _fill_pages(strings)
    _fill_engines(strings, engines)
    Product.objects.filter(pk=1).update(name=strings[-1][:100])
    for number, it in enumerate(strings):
        label = "testapp.product" if number % 2 else it[:99]
        Exclusion.objects.create(model=label, key=it[:255], note=it[:200], by=it[:150])
        value = {Figure.Kind.ENTRIES: number + 1}
        Figure.objects.add("default", it[:64], value)
    exclude(Product.objects.get(pk=1), by=strings[0][:150], note=strings[0][:200])


def _fill_sections(strings: Sequence[str], sections: Any) -> None:
    for number, name in enumerate(names(strings)):
        row = Section.objects.create(site="default", name=name, hold_reason=name)
        Page.objects.create(section=row, number=1, wanted=2, error=name)
        if number % 2:
            sections.register(name, Hostile(strings[number : number + 1]))
    Section.objects.filter(name="products").update(hold_reason=strings[0])
    sections.register("urls", Hostile(strings))


def _fill_pages(strings: Sequence[str]) -> None:
    pages = Page.objects.filter(section__name="products").order_by("number")
    for it, page in zip(strings, pages, strict=False):
        page.error, page.wanted, page.attempts = it, page.built + 1, 9
        whole = {"row": it, "model": it, "key": it, "field": it, "reason": it}
        actions = "row_skipped", "value_dropped"
        page.problems = [*[{"action": action} | whole for action in actions], it]
        page.skipped = page.dropped = 1
        page.save()
    index, _ = Section.objects.get_or_create(
        site="default", name=INDEX, defaults={"next_number": 0}
    )
    found = [{"rule": r, "source": r, "line": 1, "message": r} for r in strings]
    counts = dict.fromkeys(strings, 1)
    at = timezone.now().isoformat()
    index.findings = {"at": at, "counts": counts, "problems": found}
    index.save()
    Page.objects.filter(section=index).update(wanted=9, error=strings[-1])


def _fill_engines(strings: Sequence[str], engines: Sequence[str]) -> None:
    for engine, it in zip(engines, strings, strict=True):
        key = {"site": "default", "engine": engine}
        said = {"error": it, "feedback": {it: it}, "dead_since": timezone.now()}
        for target in (it, ASKED_ABOUT):
            named = {"target": target, "target_hash": hash_target(target)}
            Delivery.objects.create(host=it[:255], wanted=1, **key, **named, **said)
        EngineHost.objects.create(host="a.example", parked_reason=it, **key)
        EngineHost.objects.create(host=it[:255], failures=1, error=it, **key)
