"""Sections of very many pages, whose rows a database makes within seconds."""

from django.db import connection

from django_sitemaps_plus.building.store import BuiltPage, Result
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.models.base import atomic

#: Keys between the bounds of two pages.
KEYS_A_PAGE = 10_000

_KEPT = ("object", "entries", "plain_size", "gzip_size", "plain_hash", "gzip_hash")


def grow(section: Section, n_pages: int) -> None:
    """Give a built section so many pages, for keys that no row of its source has.

    Those that it lacks are as its first page, which is built, in all but their place.
    """
    pages = Page.objects.filter(section=section)
    last = pages.order_by("number").last()
    assert last is not None
    assert last.low_number is not None
    first = KEYS_A_PAGE * (1 + last.low_number // KEYS_A_PAGE)
    low = f"({first} + (n - {last.number + 1}) * {KEYS_A_PAGE})"
    own = {
        "number": "n",
        "index_position": f"n + {last.index_position - last.number}",
        "low": f"CAST({low} AS text)",
        "high": f"CASE WHEN n < {n_pages} THEN CAST({low} + {KEYS_A_PAGE} AS text) END",
        "low_number": low,
        "object": "REPLACE(object, '/1/', '/' || n || '/')",
    }
    fields = [it for it in Page._meta.local_fields if not it.generated]
    names = [it.column for it in fields if not it.primary_key]
    table = Page._meta.db_table
    with atomic(), connection.cursor() as cursor:
        pages.filter(pk=last.pk).update(high=str(first))
        cursor.execute(
            f"WITH RECURSIVE numbers(n) AS (SELECT {last.number + 1} "  # noqa: S608
            f"UNION ALL SELECT n + 1 FROM numbers WHERE n < {n_pages}) "
            f"INSERT INTO {table} ({', '.join(names)}) "
            f"SELECT {', '.join([own.get(it, it) for it in names])} "
            f"FROM (SELECT n AS n FROM numbers) counted, {table} "
            f"WHERE section_id = {section.pk} AND number = 1"
        )
        Section.objects.filter(pk=section.pk).update(next_number=n_pages + 1)
        Section.objects.recount(section.pk)
        total = 1 + pages.order_by("-index_position")[0].index_position
        index = Section.objects.get(site=section.site, name=INDEX)
        Section.objects.filter(pk=index.pk).update(next_number=total)
        # As many files of the index as list so many pages.
        known = set(index.pages.values_list("number", flat=True))
        row = index.pages.get(number=0)
        needed = range(2, -(-total // get_settings().max_sitemaps) + 1)
        for number in sorted({*needed} - known):
            row.pk, row.number = None, number
            row.save(force_insert=True)


def as_built(page: Page) -> Result:
    """Return what a build that changes a page makes of it, without rendering it."""
    kept = {name: getattr(page, name) for name in _KEPT}
    return Result(page, BuiltPage(is_changed=True, is_stored=True, **kept))
