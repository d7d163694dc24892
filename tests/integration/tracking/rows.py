"""What has been noticed, as short words to compare."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from django.core.management import call_command
from django.db.models import Count, F
from django.db.models.deletion import Collector

from django_sitemaps_plus import ModelSource, Route, receivers
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources import SitemapSource
from django_sitemaps_plus.tracking import known
from django_sitemaps_plus.tracking.collecting import take_changes
from tests.support.testapp.models import Author, Book, Event, Place, Product

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
MINUTE = timedelta(minutes=1)


class PlaceSource(ModelSource):
    model = Place
    location = Route("product-detail", slug="slug")


class EventSource(ModelSource):
    model = Event
    location = Route("product-detail", slug="slug")
    starts = "starts_at"
    ends = "ends_at"


class BookSource(ModelSource):
    model = Book
    location = Route("book-detail", slug="slug")


def like(source: type[Any], **attributes: Any) -> type[Any]:
    """Return a source with other attributes."""
    return type("Like", (source,), attributes)


def times(path: str, **options: Any) -> Any:
    """Return a priority that depends on a path, and is always the same."""
    return Count(path, **options) * 0.0 + 0.5


def recorded(alias: str = "default") -> list[tuple[str, str, str]]:
    """Return kind, low and high of the changes of a database, in their order."""
    rows = Change.objects.using(alias).order_by("id")
    return [(row.kind, row.low, row.high) for row in rows]


def keys(*objects: Any) -> list[tuple[str, str, str]]:
    return [("key", str(item.pk), "") for item in objects]


def noticed(section: Section) -> list[int]:
    """Return the pages that the recorded changes alone make dirty."""
    take_changes(open_section(section))
    return dirty(section)


def dirty(section: Section) -> list[int]:
    pages = section.pages.filter(wanted__gt=F("built")).order_by("number")
    return list(pages.values_list("number", flat=True))


def page_of(section: Section, number: int) -> Page:
    return section.pages.get(number=number)


def make_product(slug: str, **fields: Any) -> Product:
    """Add one product by a statement that sends no signal."""
    return Product.objects.bulk_create([Product(name=slug, slug=slug, **fields)])[0]


def make_books(author: Author, count: int, prefix: str = "book") -> list[Book]:
    """Add books by a statement that sends no signal."""
    made = [Book(author=author, slug=f"{prefix}-{n}") for n in range(count)]
    Book.objects.bulk_create(made)
    return list(Book.objects.filter(slug__startswith=prefix).order_by("pk"))


def load(directory: Path, *rows: dict[str, Any]) -> None:
    path = directory / "rows.json"
    path.write_text(json.dumps(rows))
    call_command("loaddata", str(path), verbosity=0)


def make_older(section: Section, seconds: float) -> None:
    section.pages.update(checked_at=F("checked_at") - timedelta(seconds=seconds))


def become(source: Any, name: str = "products") -> None:
    """Be a process with other code from here on."""
    registry.unregister(name)
    registry.register(name, source)


def forget_models() -> None:
    """Know as much of contrib classes as a process that has just started."""
    for _, source in registry.items():
        if isinstance(source, SitemapSource):
            source.models = None
    known._asked_at = -known.PAUSE_SECONDS
    receivers.connect()


def senders(signal: Any) -> set[int]:
    """Return the identities of the models that our receivers are connected for."""
    return {
        receiver[0][1]
        for receiver in signal.receivers
        if str(receiver[0][0]).startswith("sitemaps_plus")
    }


def can_fast_delete(model: Any) -> bool:
    return Collector(using="default").can_fast_delete(model.objects.all())
