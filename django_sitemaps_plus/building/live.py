"""Back to live serving: remove what builds keep of sections."""

from __future__ import annotations

from collections.abc import Collection

from django.db.models import F

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.models import INDEX, Page, Section
from django_sitemaps_plus.models.sections import owning_site
from django_sitemaps_plus.models.transactions import atomic, retried
from django_sitemaps_plus.planning import bounded_plan
from django_sitemaps_plus.publishing.sync import hide_unknown, show_when_committed
from django_sitemaps_plus.section import open_section

from .plan.numbering import raise_plan_version


def serve_live(names: Collection[str]) -> None:
    """Remove the pages of sections, which are rendered on request from then on.

    So are the indexes, until every section is built. Builders at work lose their
    claims. Objects, and changes that nothing reads, stay until they are pruned.

    Raises:
        BuildError: a source cannot be read or has too many rows, and nothing is
            removed; or public names cannot be, and the next build removes them.
    """
    site, rows = owning_site(), get_settings().live_max_rows
    for name in names:
        if bounded_plan(open_section(name), rows) is None:
            raise BuildError(
                f"section {name!r} has more than {rows:,} rows, so it would not be "
                "served live. Raise LIVE_MAX_ROWS first"
            )
    for section in Section.objects.filter(site=site.name, name__in=names):
        _remove_pages(section)
    hide_unknown(site)


@retried
def _remove_pages(section: Section) -> None:
    with atomic():
        raise_plan_version(section)
        section.pages.all().delete()
        Section.objects.filter(pk=section.pk).forget(next_number=1)
        indexes = Page.objects.of(section.site, INDEX)
        # As if none was published: it would not list a section without pages.
        indexes.update(
            built=0,
            wanted=F("wanted") + 1,
            token="",
            previous_object=F("object"),
            object="",
            plain_hash="",
            entries=0,
        )
        show_when_committed(indexes)
