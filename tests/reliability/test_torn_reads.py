"""T1: whoever reads while all is published anew gets whole documents, always."""

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from itertools import count, cycle
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage
from django.db import connection

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core.gzip import Document
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.publishing import sync
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import render_page
from django_sitemaps_plus.section import open_section
from tests.support.servers.nginx import start_nginx
from tests.support.testapp.models import Product

from .tools.processes import in_child, running, serving
from .tools.public import hash_of, public_files, unlike_pages
from .tools.reading import (
    Fetch,
    FromServer,
    Readings,
    from_files,
    from_storage,
    read_by_many,
)
from .tools.shop import IS_SOAK, ON_SQLITE, publish, rename

pytestmark = [pytest.mark.django_db(transaction=True), ON_SQLITE]

ROWS = 40_000  # on ten pages

# By SQL, which takes a tenth of the time.
_ADD_ROWS = """
    WITH RECURSIVE keys(key) AS (
        SELECT 0 UNION ALL SELECT key + 1 FROM keys LIMIT %s
    )
    INSERT INTO testapp_product (id, name, slug, published, frequency)
    SELECT key, key, %s || printf('-%%09d', key), 1, '' FROM keys
"""

#: Plain bytes of all pages together, in either version.
LEAST_BYTES = 5_000_000

READS = 20_000 if IS_SOAK else 500

#: Of S3, whose client takes some 10 ms.
SLOW_READS = 2_000 if IS_SOAK else 60

#: Changes that a reader must have seen, or its reads prove little.
CHANGES = 10 if IS_SOAK else 4


class DatedSource(ModelSource):
    """All of whose entries change when their dates do."""

    model = Product
    location = Route("product-detail", slug="slug")
    lastmod = "updated_at"
    limit = ROWS // 10


def change_all(number: int) -> None:
    """Give every row one of two dates, the second of which is none."""
    date = None if number % 2 else datetime(2026, 1, 1, tzinfo=UTC)
    Product.objects.update(updated_at=date)


def republish() -> None:
    for number in count(1):
        change_all(number)
        build(full=True, audits=False)


def documents() -> Iterator[tuple[str, Document]]:
    for page in Page.objects.filter(section__name="products"):
        found = render_page(open_section("products"), KeyRange(page.low, page.high))
        assert found.document is not None
        yield f"sitemap-products-{page.number}.xml", found.document


@pytest.fixture
def versions(sections: Any) -> list[dict[str, Document]]:
    """Have rows, and return both versions of each page; nothing is published."""
    registry.register("products", DatedSource)
    with connection.cursor() as cursor:
        cursor.execute(_ADD_ROWS, [ROWS, "x" * 65])
    return []


def published(versions: list[dict[str, Document]]) -> Readings:
    """Publish; return who knows what readers may see."""
    change_all(0)
    # In a process of its own, so that no connection to a storage is shared.
    assert in_child(build) == 0
    for number in (1, 0):
        change_all(number)
        versions.append(dict(documents()))
    for found in versions:
        assert sum(d.plain_size for d in found.values()) >= LEAST_BYTES
    plain = [{name: d.plain_hash for name, d in found.items()} for found in versions]
    assert len(plain[0]) >= 10
    return Readings({name: {p[name] for p in plain} for name in plain[0]})


def judged(readings: Readings, figures: Callable[..., None], who: str) -> None:
    """Fail if any of what was read was wrong, or it was too little."""
    note(readings, figures, who)
    assert (readings.bad, readings.missing) == (0, 0)
    assert readings.changes >= CHANGES


def note(readings: Readings, figures: Callable[..., None], who: str) -> None:
    found = {"changes": readings.changes, "missing": readings.missing}
    figures(f"torn reads, {who}", points=readings.reads, bad=readings.bad, **found)


@pytest.mark.parametrize("suffix", [".gz", ""], ids=["gzip", "plain"])
def test_public_files(versions, media_root, figures, configure, suffix):
    """Opened by their public names, while these get other files."""
    configure(PUBLIC_PLAIN=not suffix)
    readings = published(versions)
    fetches = [from_files(media_root / "sitemaps" / "public", suffix)] * 3
    with running(republish):
        read_by_many(readings, fetches, READS, CHANGES)
    judged(readings, figures, f"open() of *.xml{suffix}")


def test_objects(versions, media_root, figures):
    """Read by the name that a row gave, while others take its place."""
    readings = published(versions)
    with running(republish):
        read_by_many(readings, [from_storage] * 2, READS, CHANGES)
    judged(readings, figures, "row, then object")


def test_view(versions, figures):
    """Over HTTP."""
    readings = published(versions)
    with serving() as address, running(republish):
        fetches: list[Fetch] = [FromServer(address) for _ in range(1 + 2 * IS_SOAK)]
        read_by_many(readings, fetches, READS, CHANGES)
    judged(readings, figures, "view")


def test_nginx(versions, media_root, figures):
    """Over HTTP from the public tree alone."""
    readings = published(versions)
    with start_nginx(media_root / "sitemaps" / "public") as nginx, running(republish):
        fetches: list[Fetch] = [FromServer(nginx.url[7:]) for _ in range(3)]
        read_by_many(readings, fetches, READS, CHANGES)
    judged(readings, figures, "nginx")


@pytest.mark.parametrize("server", ["moto", "seaweedfs"] if IS_SOAK else ["moto"])
def test_s3(versions, figures, settings, configure, request, server):
    """Through the view, and by the name that a row gave."""
    s3 = request.getfixturevalue(server)
    settings.STORAGES = {**settings.STORAGES, "sitemaps": s3.storage()}
    configure(STORAGE="sitemaps")
    readings = published(versions)
    with serving() as address, running(republish):
        fetches = [FromServer(address), from_storage]
        read_by_many(readings, fetches, SLOW_READS, CHANGES)
    judged(readings, figures, server)


def test_control(versions, tmp_path: Path, figures):
    """Django's own storage, which writes in place, is caught by the same readers."""
    readings = published(versions)
    storage = FileSystemStorage(location=tmp_path, allow_overwrite=True)

    def rewrite() -> None:
        for found in cycle(versions):
            for name, document in found.items():
                storage.save(f"{name}.gz", ContentFile(document.gzip))

    for name, document in versions[0].items():
        storage.save(f"{name}.gz", ContentFile(document.gzip))
    with running(rewrite):
        read_by_many(readings, [from_files(tmp_path)] * 3, READS, CHANGES)
    note(readings, figures, "control: Django's storage in place")
    assert readings.bad > 0


def test_two_builders_name_in_the_other_order(sections, media_root):
    """Who read a pointer before another flipped does not have the last word."""
    publish(10)
    page = Page.objects.get(section__name="products", number=1)
    real, met = sync._show, []

    def slow(*args: Any, **kwargs: Any) -> None:
        if not met:
            met.append(True)
            rename([0], "later")
            build()
        real(*args, **kwargs)

    with mock.patch.object(sync, "_show", slow):
        sync.show([page.pk])
    data = public_files(media_root)["sitemap-products-1.xml.gz"]
    page.refresh_from_db()
    assert hash_of(data) == page.gzip_hash
    assert unlike_pages(media_root) == []
