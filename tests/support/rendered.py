"""What a section renders to, without a view or a build in between."""

from typing import Any

from django.db import DEFAULT_DB_ALIAS, connections
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.gzip import inflate
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.planning import first_plan
from django_sitemaps_plus.rendering import RenderedPage, render_page
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.testing import temporary_source

SITE = Site("default", "https://example.com")


def render(source: Any, key_range: KeyRange | None = None) -> RenderedPage:
    """Render one page of a source, by default all of its rows."""
    with temporary_source("rendered", source):
        return render_page(open_section("rendered", SITE), key_range or KeyRange())


def plain(page: RenderedPage) -> bytes:
    assert page.document is not None
    return inflate(page.document.gzip)


def plan_of(source: Any) -> list[KeyRange]:
    """Return the key ranges that a source is first cut into."""
    with temporary_source("rendered", source):
        return first_plan(open_section("rendered", SITE)).ranges


def pages_of(source: Any) -> list[bytes]:
    """Return the bytes of every page of a source's first plan."""
    return [plain(render(source, key_range)) for key_range in plan_of(source)]


def queries_of(source: Any, key_range: KeyRange, alias: str = DEFAULT_DB_ALIAS) -> Any:
    """Return the SQL that rendering one page runs, without that of exclusions."""
    with CaptureQueriesContext(connections[alias]) as queries:
        render(source, key_range)
    found = without_savepoints(queries)
    asked = [sql for sql in found if "sitemaps_plus_exclusion" in sql]
    assert len(asked) <= 1
    return [sql for sql in found if sql not in asked]


def without_savepoints(queries: Any) -> list[str]:
    """Return the SQL of queries that were captured, as it is outside of a test.

    PostgreSQL takes a savepoint around a source in a transaction, as of each test.
    """
    found = [query["sql"] for query in queries]
    return [sql for sql in found if "SAVEPOINT" not in sql]
