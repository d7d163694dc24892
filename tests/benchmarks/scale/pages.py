"""Very many pages, whose rows are there and whose source rows are not."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from io import StringIO
from pathlib import Path
from unittest import mock

from django.contrib.auth import get_user_model
from django.core.management import call_command
from django.db.models import F
from django.test import Client, override_settings

from django_sitemaps_plus.building.flip import flip
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.models.claims import UNTRIED
from django_sitemaps_plus.publishing import sync
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.storage import get_storage
from django_sitemaps_plus.testing import temporary_source
from django_sitemaps_plus.tracking.collecting import take_changes
from tests.benchmarks.changing import edit
from tests.benchmarks.harness import Subject, timed
from tests.benchmarks.rows import add_products, analyze
from tests.benchmarks.sources import sized_source
from tests.support.builds import build_and_relay
from tests.support.grown import KEYS_A_PAGE, as_built, grow
from tests.support.settings import MIDDLEWARE

#: Rows of the source, and how many are on a page.
ROWS, LIMIT = 30, 10

_OVERVIEW = "/admin/sitemaps_plus/dashboard/"


def setting(numbers: Sequence[int]) -> Iterator[Subject]:
    """Measure the same at each number of pages."""
    with (
        override_settings(
            MIDDLEWARE=MIDDLEWARE,
            STATIC_URL="/static/",
            ROOT_URLCONF="tests.support.urls",
            ALLOWED_HOSTS=["*"],
        ),
        mock.patch.object(sync, "LOOK_SECONDS", 3_600),
        temporary_source("products", sized_source(ROWS, LIMIT)),
    ):
        add_products(ROWS)
        section = start()
        client = Client()
        client.force_login(get_user_model().objects.create_superuser("ada"))
        for number in sorted(numbers):
            grow(section, number)
            link_objects()
            sync.repair()
            analyze()
            yield from _published(number, client)
            yield from _marked(number)
            yield from _dirty(number, section, client)


def start() -> Section:
    """Build a section of three pages, and return its row."""
    build_and_relay()
    Section.objects.update(new_since=None)  # it is not to be compared once more
    return Section.objects.get(name="products")


def link_objects() -> None:
    """Let each page have a file of its own, as if it were built."""
    storage = get_storage()
    rows = Page.objects.exclude(object="").order_by("section_id", "number")
    names = rows.values_list("object", flat=True)
    content = Path(storage.path(rows.filter(number=1)[0].object)).read_bytes()
    for path in map(Path, map(storage.path, names.iterator())):
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content)  # no link, as its time is that of its page


def _published(number: int, client: Client) -> Iterator[Subject]:
    chance = random.Random(number)
    page, index = "/sitemap-products-1.xml", "/sitemap.xml"

    def get(path: str, **headers: str) -> Callable[[], object]:
        return lambda: client.get(path, headers=headers)

    def change() -> None:
        edit(chance.randint(1, ROWS))

    def command(name: str) -> Callable[[], object]:
        return lambda: call_command(name, stdout=StringIO(), verbosity=0)

    refresh = partial(build_and_relay, waits=False)
    yield _at(number, "build with nothing to do", refresh)
    yield _at(number, "build of an edited page and the index", refresh, before=change)
    build_and_relay()
    etags = [client.get(path)["ETag"] for path in (page, index)]
    yield _at(number, "304 for a page", get(page, if_none_match=etags[0]), times=20)
    yield _at(number, "304 for the index", get(index, if_none_match=etags[1]), times=20)
    yield _at(number, "the index, sent as a whole", get(index))
    yield _at(number, "overview of the dashboard", get(_OVERVIEW))
    yield _at(number, "sitemap_status", command("sitemap_status"))
    yield _at(number, "look at all public names, once a minute", sync.repair)
    yield _at(number, "prune_sitemaps", command("prune_sitemaps"))
    mark = partial(Page.objects.mark_indexes, site="default")
    title = "the index, asked for while a page is being published"
    yield _at(number, title, get(index), before=mark)
    build_and_relay()


def _marked(number: int) -> Iterator[Subject]:
    chance, section = random.Random(number), open_section("products")
    section.row = Section.objects.get(name="products")

    def add(count: int) -> None:
        keys = [chance.randrange(number * KEYS_A_PAGE) for _ in range(count)]
        kind = Change.Kind.KEY
        Change.objects.bulk_create(
            [Change(section="products", kind=kind, low=str(key)) for key in keys]
        )

    take = partial(take_changes, section)
    yield _at(number, "marking the page of a change", take, before=partial(add, 1))
    many = partial(add, 500)
    yield _at(number, "marking the pages of 500 changes", take, before=many)


def _dirty(number: int, section: Section, client: Client) -> Iterator[Subject]:
    pages, taken = Page.objects.filter(section=section), list[Page]()

    def claim() -> None:
        taken[:] = Page.objects.claim([section.pk])

    def flip_taken() -> None:
        if len(done := flip(list(map(as_built, taken)))) != len(taken):
            raise RuntimeError(f"{len(done)} pages are flipped, not {len(taken)}")

    pages.update(wanted=F("wanted") + 1)
    analyze()
    yield _at(number, "claim of 8 pages, all are to be built", claim)
    yield _at(number, "flip of them", flip_taken, before=claim)
    overview = partial(client.get, _OVERVIEW)
    yield _at(number, "overview, all are to be built", overview)
    free = {"built": F("wanted"), "token": "", "claimed_at": None, **UNTRIED}
    Page.objects.update(**free)


def _at(
    number: int,
    title: str,
    action: Callable[[], object],
    *,
    before: Callable[[], object] | None = None,
    times: int = 1,
) -> Subject:
    name = f"{number:,} pages"
    return Subject(
        title=title, contenders=[timed(name, action, before=before, times=times)]
    )
