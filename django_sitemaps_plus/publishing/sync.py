"""Keep public names in step with the pages, after flips and after crashes.

Functions that change names raise StoreError where the file system fails.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import NamedTuple

from django.db import connections, transaction
from django.db.models import F

from django_sitemaps_plus.exceptions import LostObjectError
from django_sitemaps_plus.models import INDEX, Page, Section, State, own_alias
from django_sitemaps_plus.models.base import retried
from django_sitemaps_plus.storage import deferred_flush, delete_object, read_object

from .tree import OWNER, SUFFIXES, File, PublicTree, public_tree, without_suffix

logger = logging.getLogger(__name__)

#: Seconds for which a process does not compare all public names again, unless a
#: builder was killed.
LOOK_SECONDS = 60

#: Pages whose names change together: their directory is flushed once for all.
BATCH_PAGES = 100

_looked_at: dict[Path, float] = {}  # by the tree, by the monotonic clock


class Pointer(NamedTuple):
    """The object that a public name shows, as the row of its page says."""

    section: str
    number: int
    object: str
    published_at: datetime | None
    gzip_size: int
    plain_size: int
    gzip_hash: str
    namespace: str  # of its section

    @property
    def name(self) -> str:
        """The public name, without a suffix."""
        return page_name(self.section, self.number)


Pointers = dict[int, Pointer]  # by the primary key of the page

_COLUMNS = ("section__name", *Pointer._fields[1:-1], "section__namespace")


def page_name(section: str, number: int) -> str:
    """Return the public name of a page, without a suffix."""
    if section != INDEX:
        return f"sitemap-{section}-{number}"
    return f"sitemaps-{number}" if number else "sitemap"


def show_when_committed(pages: Iterable[Page]) -> None:
    """Let :func:`show` follow the flip that the present transaction makes."""
    keys = [page.pk for page in pages]
    transaction.on_commit(partial(show, keys), using=own_alias())


def show(pages: Collection[int]) -> None:
    """Let the public names of pages, given by key, show what their rows point to.

    An index without a name, as in a new tree, gets it from :func:`repair`, after all
    pages have theirs. The name of a page without entries goes with the index that no
    longer lists it.
    """
    tree = public_tree()
    if tree is None or not pages:
        return
    pointers = _pointers_of(pages)
    if not _is_own(tree, {it.namespace for it in pointers.values()}):
        return
    indexes = {pk for pk, pointer in pointers.items() if pointer.section == INDEX}
    new = {pk for pk in indexes if not tree.shows(pointers[pk].name)}
    _settle(tree, {pk: pointer for pk, pointer in pointers.items() if pk not in new})
    if indexes - new:
        _hide_empty(tree)


def look_after(indexes: Iterable[Page], *, was_behind: bool) -> bool:
    """Call :func:`repair` where names were behind or may be wrong, or it is time."""
    tree = public_tree()
    if tree is None:
        return False
    next_look = _looked_at.get(tree.root, -LOOK_SECONDS) + LOOK_SECONDS
    is_due = was_behind or time.monotonic() >= next_look
    # An index that is not shown was flipped by a builder that was killed.
    shown = [
        tree.shows(page_name(INDEX, index.number), index.published_at)
        for index in indexes
        if index.object
    ]
    return (is_due or not all(shown)) and repair()


def repair() -> bool:
    """Correct the public names of the site; return if damage has made pages dirty."""
    tree = _own_tree()
    if tree is None:
        return False
    files = tree.files()  # before the rows, so that no name is newer than its row
    served = Page.objects.exclude(state=State.NEXT).exclude(object="")
    rows = served.filter(section__site=tree.site).values_list("pk", *_COLUMNS)
    pointers = {pk: Pointer(*columns) for pk, *columns in rows}
    others = set(map(without_suffix, files))
    others -= {pointer.name for pointer in pointers.values()}
    wrong = {}
    for pk, pointer in pointers.items():
        if pointer.published_at is not None:  # else it has no object
            second = int(pointer.published_at.timestamp())
            packed = File(second, pointer.gzip_size)
            plain = File(second, pointer.plain_size) if tree.has_plain else None
            there = [files.get(f"{pointer.name}{it}") for it in SUFFIXES]
            if there != [packed, plain]:
                wrong[pk] = pointer

    # Pages come first: an index gets its first name here.
    pages = [item for item in wrong.items() if item[1].section != INDEX]
    indexes = {pk: p for pk, p in wrong.items() if p.section == INDEX}
    lost: set[int] = set()
    # Names follow the commit: before it, as in a TestCase, they are not wrong.
    if pages and not connections[own_alias()].in_atomic_block:
        logger.warning("Public names that were wrong: %s", len(pages))
    for start in range(0, len(pages), BATCH_PAGES):
        lost |= _settle(tree, dict(pages[start : start + BATCH_PAGES]), checks=True)
    lost |= _settle(tree, indexes, checks=True)
    rows = Page.objects.filter(pk__in=lost)
    sections = set(rows.values_list("section", flat=True))
    has_marked = bool(lost and rows.update_locked(sections, wanted=F("wanted") + 1))

    _hide_others(tree, others)
    _looked_at[tree.root] = time.monotonic()
    return has_marked


def hide_unknown() -> None:
    """Remove the public names that no page of the site has."""
    if tree := _own_tree():
        _hide_others(tree, set(map(without_suffix, tree.files())))


def _own_tree() -> PublicTree | None:
    """Return the tree of the site, unless its names are those of another database."""
    if (tree := public_tree()) is None:
        return None
    rows = Section.objects.filter(site=tree.site)
    return tree if _is_own(tree, rows.values_list("namespace", flat=True)) else None


def _is_own(tree: PublicTree, namespaces: Iterable[str]) -> bool:
    """Return whether the names are those of this database; say so where they are not.

    Several databases may share a storage. A database that has built nothing yet has
    names only where no other has.
    """
    known = {*namespaces} - {""}
    if not known:
        rows = Section.objects.exclude(namespace="")
        known = {*rows.values_list("namespace", flat=True)}
    if all(map(tree.belongs_to, known)) if known else not tree.owner():
        return True
    logger.warning(
        "%s belongs to another database, so no public names are written there. If that "
        "is gone, delete %s in it; else choose a storage of your own",
        *(tree.root, OWNER),
        extra={"action": "public_names_of_others"},
    )
    return False


def _settle(
    tree: PublicTree, pointers: Pointers, *, hides: bool = False, checks: bool = False
) -> set[int]:
    """Show pages, or hide empty ones; return those whose object is gone or damaged.

    Another builder may flip a page and change its name at the same time, and either
    may be slow. So the rows are read again afterwards, until no pointer has moved: the
    last to change a name then shows the last pointer. With ``checks`` objects are read
    first, which those just stored need not be.
    """
    lost: set[int] = set()
    while pointers:
        with deferred_flush():
            for pk, pointer in pointers.items():
                if _show(tree, pointer, hides=hides, checks=checks):
                    lost.discard(pk)
                else:
                    lost.add(pk)
        now = _pointers_of(pointers)
        if pointers.keys() - now.keys():  # pages that are removed by now
            repair()
        pointers = {pk: p for pk, p in now.items() if p != pointers[pk]}
    return lost


def _show(tree: PublicTree, pointer: Pointer, *, hides: bool, checks: bool) -> bool:
    """Show what a page points to; return whether that is there."""
    if not pointer.object or pointer.published_at is None:
        # The public index may still list a page that has just lost all entries.
        if hides or pointer.section == INDEX:
            tree.hide(pointer.name)
        return True
    read = partial(read_object, pointer.object, pointer.gzip_hash)
    try:
        if checks:
            read()
        tree.show(pointer.name, pointer.object, read, pointer.published_at)
    except LostObjectError as error:
        if isinstance(error.__cause__, FileNotFoundError):
            return False  # what the name shows is complete
        # The name may be a link to the damaged file.
        logger.error("The public name %s is hidden: %s", pointer.name, error)
        delete_object(pointer.object)  # or its size would pass for a good one
        tree.hide(pointer.name)
        return False
    return True


def _hide_empty(tree: PublicTree) -> None:
    """Hide the pages without entries, which no index lists."""
    rows = Section.objects.filter(site=tree.site).exclude(name=INDEX)
    numbers = list(rows.values_list("pk", "planned", "listed_pages"))
    # Most sections list all their pages, which are then not read.
    unlisted = [pk for pk, planned, listed in numbers if planned > listed]
    pages = Page.objects.filter(object="", built__gt=0).values_list("pk", flat=True)
    served = pages.exclude(state=State.NEXT).filter(section__in=unlisted)
    sections = [pk for pk, _, _ in numbers]
    retired = pages.filter(section__in=sections, state=State.RETIRED)
    if empty := [*served, *retired]:
        _settle(tree, _pointers_of(empty), hides=True)


def _hide_others(tree: PublicTree, names: set[str]) -> None:
    """Hide names that no page has, and those of pages that no index lists any more."""
    if not names:
        return
    pages = Page.objects.exclude(state=State.NEXT).filter(section__site=tree.site)
    rows = pages.values_list("section__name", "number")
    for name in names - {page_name(*row) for row in rows}:
        logger.info("No page has the public name %s, so it is removed", name)
        tree.hide(name)
    if not Page.objects.dirty_index(tree.site):  # else an index may list them still
        _hide_empty(tree)


@retried  # an error here would let the flip, which is committed, be tried again
def _pointers_of(pages: Iterable[int]) -> Pointers:
    rows = Page.objects.pointers(*_COLUMNS, pages=list(pages))
    return {pk: Pointer(*columns) for pk, *columns in rows}
