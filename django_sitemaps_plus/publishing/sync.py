"""Public names: after a flip, what a page points to is shown to web servers too."""

from __future__ import annotations

import logging
from collections.abc import Collection, Iterable
from datetime import datetime
from functools import partial
from typing import Any, NamedTuple

from django.db import transaction
from django.db.models import F, QuerySet

from django_sitemaps_plus.cache import first_to
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import LostObjectError
from django_sitemaps_plus.models import INDEX, Page, State, own_alias
from django_sitemaps_plus.models.prepared import fetch
from django_sitemaps_plus.models.transactions import retried, update_pages
from django_sitemaps_plus.storage import deferred_flush, delete_object, read_object

from .tree import PublicTree, Shown, public_tree

logger = logging.getLogger(__name__)

#: Seconds between two looks at all public names.
LOOK_SECONDS = 60

#: Names up to which all are looked at each time.
FEW_NAMES = 64

#: Pages whose names are changed between two looks at their pointers.
BATCH_PAGES = 100


class Pointer(NamedTuple):
    """What the row of a page says that its public name shows."""

    section: str
    number: int
    object: str
    published_at: datetime | None
    gzip_size: int
    plain_size: int
    gzip_hash: str

    @property
    def name(self) -> str:
        """The public name, without a suffix."""
        return page_name(self.section, self.number)


def page_name(section: str, number: int) -> str:
    """Return the public name of a page, without a suffix."""
    if section != INDEX:
        return f"sitemap-{section}-{number}"
    return f"sitemaps-{number}" if number else "sitemap"


def show_when_committed(
    pages: Iterable[Page],
    *,
    flipped: dict[int, Pointer] | None = None,
    lists_fewer: bool = True,
) -> None:
    """Let :func:`show` follow the flip that the present transaction makes."""
    keys = [page.pk for page in pages]
    shown = partial(show, keys, flipped=flipped, lists_fewer=lists_fewer)
    transaction.on_commit(shown, using=own_alias())


def show(
    pages: Collection[int],
    *,
    flipped: dict[int, Pointer] | None = None,
    lists_fewer: bool = True,
) -> None:
    """Let the public names of pages show what their rows point to.

    An index that has no name yet, as in a new tree, gets it from :func:`repair`, when
    all pages have theirs. Names of pages without entries go with the index that lists
    them no more.

    Args:
        pages: primary keys; their flips are committed.
        flipped: what they point to since, as far as the caller knows; read if None.
        lists_fewer: whether an index among them may have let pages go. Who finds that
            out reads all pages; where as many came, the next look finds it.

    Raises:
        StoreError: the file system failed. The next sweep repairs the names.
    """
    tree = public_tree()
    if tree is None or not pages:
        return
    pointers = _pointers_of(pages) if flipped is None else flipped
    indexes = {pk: p for pk, p in pointers.items() if p.section == INDEX}
    new = {pk for pk, p in indexes.items() if not tree.is_of(p.name)}
    _settle(tree, {pk: p for pk, p in pointers.items() if pk not in new})
    if indexes.keys() - new:
        tree.flush()
        if lists_fewer:
            _hide_empty(tree)


def _settle(
    tree: PublicTree,
    found: dict[int, Pointer],
    *,
    hides: bool = False,
    reads: bool = False,
) -> set[int]:
    """Show pages, or hide them; return those whose object is gone or damaged.

    Who has just stored the objects need not read them again.

    Another builder may flip a page and change its name at the same time, and either
    may be slow. So the rows are read again afterwards, until none has moved meanwhile:
    whoever is the last to change a name then shows the last pointer.
    """
    lost: set[int] = set()
    while found:
        with deferred_flush():
            for pk, pointer in found.items():
                is_shown = _show(tree, pointer, hides=hides, reads=reads)
                (lost.discard if is_shown else lost.add)(pk)
        now = _pointers_of(found)
        found = {pk: p for pk, p in now.items() if p != found[pk]}
    return lost


def _show(tree: PublicTree, pointer: Pointer, *, hides: bool, reads: bool) -> bool:
    """Show what a page points to; return whether that is there."""
    if not pointer.object or pointer.published_at is None:
        # The index that is shown may still list a page that has just lost all entries.
        if hides or pointer.section == INDEX:
            tree.hide(pointer.name)
        return True
    try:
        if tree.size_of(pointer.object) == pointer.gzip_size:
            if reads:
                # A name that is shown gets its time, by which it would pass for right.
                read_object(pointer.object, pointer.gzip_hash)
            tree.show(pointer.name, pointer.object, pointer.published_at)
            return True
    except FileNotFoundError as error:
        # Flipped and pruned meanwhile, or lost.
        logger.warning("%s keeps what it shows: %s", pointer.name, error)
        return False
    except LostObjectError as error:
        delete_object(pointer.object)  # else its size would pass for a good one
        logger.error("%s is hidden: %s", pointer.name, error)
    else:
        # Who cut off the name cut off the object, which is the same file.
        logger.error("%s is hidden: %s is damaged", pointer.name, pointer.object)
    tree.hide(pointer.name)
    return False


def _hide_empty(tree: PublicTree) -> None:
    """Take away the names of pages without entries; no index lists them any more."""
    if empty := [pk for (pk,) in fetch(_empty)]:
        pointers = _pointers_of(empty)
        shown = tree.shown([pointer.name for pointer in pointers.values()])
        names = {name.partition(".")[0] for name in shown}
        _settle(
            tree, {pk: p for pk, p in pointers.items() if p.name in names}, hides=True
        )


def _empty() -> QuerySet[Page, Any]:
    pages = _served().filter(object="", built__gt=0).exclude(section__name=INDEX)
    return pages.values_list("pk")


def _served() -> QuerySet[Page]:
    return Page.objects.exclude(state=State.NEXT)


@retried  # an error here would let the flip, which is committed, be tried again
def _pointers_of(pages: Iterable[int]) -> dict[int, Pointer]:
    return _pointers(fetch(_rows, pages=list(pages)))


def _rows(pages: Any) -> QuerySet[Page, Any]:
    return _served().filter(pk__in=pages).values_list("pk", *_COLUMNS)


def _rows_of_site(site: Any) -> QuerySet[Page, Any]:
    pages = _served().filter(section__site=site).exclude(object="")
    return pages.values_list("pk", *_COLUMNS)


def _pointers(rows: Iterable[Any]) -> dict[int, Pointer]:
    return {pk: Pointer(*columns) for pk, *columns in rows}


_COLUMNS = (
    "section__name",
    "number",
    "object",
    "published_at",
    "gzip_size",
    "plain_size",
    "gzip_hash",
)


def is_behind(site: Site) -> bool:
    """Return whether some names may not have followed their pages, before a refresh.

    Each flip makes the index dirty, which is built only after the names have changed.
    So where it is dirty a builder was killed or has failed, or is still at work.
    """
    return bool(fetch(_dirty_index, site.name))


def _dirty_index(site: str) -> QuerySet[Page, Any]:
    index = Page.objects.of(site, INDEX)
    return index.filter(is_dirty=1, built__gt=0).values_list("pk")[:1]


def look_after(site: Site, indexes: Collection[Page], *, was_behind: bool) -> bool:
    """Repair public names where some may be wrong, and now and then in any case.

    Args:
        site: the site.
        indexes: the rows of its indexes, as they are now.
        was_behind: what :func:`is_behind` said before the refresh changed a page.

    Returns:
        Whether objects are gone or damaged, so that their pages are dirty now.

    Raises:
        StoreError: the file system failed.
    """
    tree = public_tree()
    if tree is None:
        return False
    tree.flush()
    names = sum([index.entries for index in indexes]) + len(indexes)
    is_due = was_behind or names <= FEW_NAMES
    if is_due or not _are_shown(tree, indexes) or first_to("public", LOOK_SECONDS):
        return bool(repair(site))
    return False


def _are_shown(tree: PublicTree, indexes: Iterable[Page]) -> bool:
    """Return whether indexes have their names; not if their builder was killed."""
    return all(
        [
            tree.is_of(page_name(INDEX, index.number), index.published_at)
            for index in indexes
            if index.object
        ]
    )


def repair(site: Site) -> set[int]:
    """Let each public name of a site show what it should, and take away all others.

    Returns:
        The pages whose objects are gone or damaged; they are dirty now.

    Raises:
        StoreError: the file system failed.
    """
    tree = public_tree()
    if tree is None:
        return set()
    shown = tree.shown()  # before the rows, so that no name is newer than they are
    pointers = _pointers(fetch(_rows_of_site, site=site.name))
    wrong = {pk: p for pk, p in pointers.items() if not _is_right(tree, shown, p)}
    # An index gets its first name here, when all pages have theirs.
    first = [p for p in wrong.values() if p.section == INDEX and not tree.is_of(p.name)]
    lost = _mend(tree, wrong)
    others = {name.partition(".")[0] for name in shown}
    others -= {pointer.name for pointer in pointers.values()}
    if total := len(wrong) - len(first) + len(others):
        logger.warning("%s public names were wrong", total)
    if others:
        _hide_others(tree, site, others)
    return lost


def _mend(tree: PublicTree, wrong: dict[int, Pointer]) -> set[int]:
    """Show pages anew, and then the indexes; what cannot be shown is made dirty."""
    pages = [item for item in wrong.items() if item[1].section != INDEX]
    indexes = [item for item in wrong.items() if item[1].section == INDEX]
    lost: set[int] = set()
    for start in range(0, len(pages), BATCH_PAGES):
        batch = dict(pages[start : start + BATCH_PAGES])
        lost |= _settle(tree, batch, reads=True)
    tree.flush()
    lost |= _settle(tree, dict(indexes), reads=True)
    tree.flush()
    if lost:
        rows = Page.objects.filter(pk__in=lost)
        sections = set(rows.values_list("section", flat=True))
        update_pages(rows, sections, wanted=F("wanted") + 1)
    return lost


def _hide_others(tree: PublicTree, site: Site, names: set[str]) -> None:
    pages = _served().filter(section__site=site.name)
    rows = pages.values_list("section__name", "number")
    known = {page_name(section, number) for section, number in rows}
    for name in names - known:
        logger.warning("No page has the public name %s, so it goes", name)
        tree.hide(name)
    # Pages that have lost all entries, unless an index still lists them.
    if not is_behind(site):
        _hide_empty(tree)


def _is_right(tree: PublicTree, shown: dict[str, Shown], pointer: Pointer) -> bool:
    if pointer.published_at is None:
        return True  # it has no object, and none is looked for
    second = int(pointer.published_at.timestamp())
    if shown.get(f"{pointer.name}.xml.gz") != Shown(second, pointer.gzip_size):
        return False
    plain = shown.get(f"{pointer.name}.xml")
    return plain == (Shown(second, pointer.plain_size) if tree.has_plain else None)
