"""What is published: rows, objects and answers, to compare before and after."""

import gzip
from pathlib import Path
from typing import Any

from django.apps import apps
from django.conf import settings
from django.test import Client

from django_sitemaps_plus.models import Page, Section

from .shop import START

#: Columns of a page that only builders look at.
INNER = {
    *("wanted", "is_dirty", "built", "token", "claimed_at", "attempts", "deaths"),
    *("tried", "not_before", "error", "hold", "held_entries", "held_skipped"),
    *("announce", "changed_at", "is_edited", "checked_at"),
}

#: What a reader can see of a page.
SEEN = ("ETag", "Last-Modified", "Content-Length")


def rows() -> list[dict[str, Any]]:
    """Return every page row, and the sections without their versions."""
    pages = Page.objects.order_by("section__name", "number").values()
    sections = Section.objects.order_by("name").values("pk", "site", "name")
    return [*pages, *sections]


def served() -> list[dict[str, Any]]:
    """Return the page rows without what only builders look at."""
    return [{k: v for k, v in row.items() if k not in INNER} for row in rows()]


def objects() -> dict[str, bytes]:
    root = Path(settings.MEDIA_ROOT) / "sitemaps"
    return {
        str(path.relative_to(root)): gzip.decompress(path.read_bytes())
        for path in root.rglob("*")
        if path.is_file() and path.parent.name != "public"
    }


def all_rows() -> dict[str, list[Any]]:
    models = apps.get_app_config("sitemaps_plus").get_models()
    return {
        model.__name__: list(model.objects.order_by("pk").values()) for model in models
    }


def files() -> dict[str, tuple[int, bytes]]:
    """Return time and bytes of every file in the default storage, by name."""
    root = Path(settings.MEDIA_ROOT) / "sitemaps"
    return {
        str(path.relative_to(root)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in root.rglob("*")
        if path.is_file()
    }


def age() -> None:
    """Make what is published old enough for a Last-Modified."""
    Page.objects.update(published_at=START)


def page_row(section: str, number: int) -> Page:
    """Return the row of one page; the index is page 0 of no section."""
    return Page.objects.get(section__name=section, number=number)


def path_of(page: Page) -> Path:
    return Path(settings.MEDIA_ROOT) / "sitemaps" / page.object


def seen(client: Client, *paths: str) -> dict[str, tuple[Any, ...]]:
    """Return content and validators that a reader gets."""
    found = {}
    for path in paths:
        response = client.get(path)
        headers = [response.headers.get(name) for name in SEEN]
        found[path] = (response.status_code, response.content, *headers)
    return found
