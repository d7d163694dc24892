"""Objects that no row names, and that none will: what a prune may remove."""

from __future__ import annotations

from pathlib import PurePosixPath

from django_sitemaps_plus.maintenance.listing import list_objects, list_pages
from django_sitemaps_plus.models import Page, Publication


def unnamed_objects(section: str) -> set[str]:
    """Return the objects of a section that nobody can have a use for any more.

    Only who holds the claim of a page may point it to an object that was stored for
    it. So what lies in the directory of a page that nobody is at work on, and is not
    pointed to, never will be: names are not used twice. Of a page that somebody is at
    work on nothing is returned.

    Whether a page is claimed and what it points to is read in one query, after the
    files were listed. A builder that had stored one of them is then either still at
    work, or has pointed to it, or has lost its claim.

    Raises:
        StoreError: the storage failed, or cannot list.
    """
    stored = {number: list_objects(section, number) for number in list_pages(section)}
    # Of all sites, since they share the directories.
    rows = Page.objects.filter(section__name=section)
    named = set()
    for number, token, name in rows.values_list("number", "token", "object"):
        named.add(_last_part(name))
        if token:
            stored.pop(number, None)
    # After the pages: what one of them was pointed away from meanwhile is found here,
    # for as long as its changes are to be told.
    for old, new in Publication.objects.filter(section__name=section).values_list(
        "old", "new"
    ):
        named.update(map(_last_part, [*old, *new]))
    names = [name for objects in stored.values() for name in objects]
    return {name for name in names if _last_part(name) not in named}


def _last_part(name: str) -> str:
    # Which is unique, while a storage may put others before it.
    return PurePosixPath(name).name
