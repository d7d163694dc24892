"""Pages by what is to be done with them."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from datetime import timedelta
from typing import Any, NamedTuple, Self

from django.db.models import Case, Exists, F, Q, When
from django.db.models.functions import Coalesce

from .base import M, atomic, retried
from .claims import UNTRIED, Hold, PageClaimQuerySet, State
from .clock import Now
from .prepared import Rows, Update, prepared
from .sections import INDEX, Section

# Fields of a page that a view needs.
_SERVED = (
    *("section", "number", "low", "high", "wanted", "built", "object", "published_at"),
    *("plain_hash", "gzip_hash", "plain_size", "gzip_size"),
)


class Owner(NamedTuple):
    """The page that owns a key, by one query, so that all of it belongs together."""

    page: int
    plan_version: int
    low: str | None
    high: str | None
    has_next: bool  # whether there is a next plan
    is_deployed: bool  # whether a deploy has marked the page


class PageQueries(PageClaimQuerySet[M]):
    """Questions that views, builds and indexes ask of pages."""

    def of(self, site: str, section: str) -> Self:
        """Return the pages of one section."""
        return self.filter(section__site=site, section__name=section)

    @retried
    def update_locked(self, sections: Iterable[int], **values: Any) -> int:
        """Update pages of sections, which are locked first; return how many."""
        with atomic():
            Section.objects.lock(sections)
            return self.update(**values)

    def demand(self, section: int) -> int:
        """Make pages of a section dirty, since now, and untried; return how many."""
        since = Coalesce("changed_at", Now())
        wanted = F("wanted") + 1
        return self.update_locked([section], wanted=wanted, changed_at=since, **UNTRIED)

    def served(self, site: str, section: str, number: int) -> M | None:
        """Return a page as far as a view needs it; None where no plan has it."""
        rows = self.numbered(site=site, section=section, number=number)
        # Some databases ignore case and accents.
        return next((row for row in rows if row.section_name == section), None)

    @prepared
    def numbered(self, *, site: Any, section: Any, number: Any) -> Rows:
        """Return the pages that have a number, with what their section is."""
        served = self.of(site, section).filter(number=number).exclude(state=State.NEXT)
        names = {"origin": F("section__origin"), "section_name": F("section__name")}
        pages: Rows = served.only(*_SERVED).annotate(**names)
        return pages

    def last_number(self, site: str, section: str) -> int:
        """Return the number of the page that takes new highest keys; 0 without one."""
        last = self.of(site, section).active().filter(high=None)
        return last.values_list("number", flat=True).first() or 0

    def listed(self, sections: Collection[int], unbuilt: Collection[int]) -> Self:
        """Return the pages of sections that an index names.

        They have entries, or may have them: those of some sections that were not built.
        """
        active = self.filter(state=State.ACTIVE, section__in=sections)
        return active.filter(Q(entries__gt=0) | Q(built=0, section__in=unbuilt))

    def active(self) -> Self:
        """Return the pages of the plans that are served."""
        # The filter state=ACTIVE would have a database take the index of the states for
        # the best before it looks at the values, and read all pages of a section.
        return self.exclude(state__in=[State.NEXT, State.RETIRED])

    @prepared
    def entries_of(self, site: str, section: str) -> Rows:
        """Return bounds, number and entries of the pages of a section, and if built."""
        active = self.of(site, section).filter(state=State.ACTIVE)
        return active.values_list("low", "high", "number", "entries", "built")

    @prepared
    def first_dirty(self, sections: tuple[int, ...]) -> Rows:
        """Return one dirty page of sections, or none."""
        found = self.dirty().filter(section__in=sections)
        return found.order_by("section_id", "is_dirty").values_list("pk")[:1]

    @prepared
    def unchecked(self, sections: tuple[int, ...], seconds: int, limit: int) -> Rows:
        """Return clean pages that were not compared for a time, and their sections."""
        old = self.filter(checked_at__lt=Now() - timedelta(seconds=seconds))
        # Dirty pages are excluded, for the reason that active() gives.
        due = old.filter(section__in=sections).active().exclude(is_dirty=1)
        return due.order_by("checked_at").values_list("pk", "section_id")[:limit]

    def owner(self, section: int, key: int) -> Owner | None:
        """Return the page that owns a number; None where bounds have none.

        The number of a UUID is a part of it: compare the bounds as well.
        """
        found = self.owners_from_below(section=section, key=key)
        found = found or self.first_owners(section=section, key=key)
        return Owner(*found[0]) if found else None

    @prepared
    def owners_from_below(self, *, section: Any, key: Any) -> Rows:
        """Return the page with the next lower bound, as :meth:`owner` does."""
        below = self.active().filter(section=section, low_number__lte=key)
        return below.order_by("-low_number")._as_owner(section)

    @prepared
    def first_owners(self, *, section: Any, key: Any) -> Rows:
        """Return the first page, if none is below a key, as :meth:`owner` does."""
        active = self.active().filter(section=section)
        below = Exists(active.filter(low_number__lte=key))
        unnumbered = active.filter(low_number=None)  # an index finds these
        no_integers = Exists(unnumbered.exclude(low=None))
        return unnumbered.filter(~below, ~no_integers, low=None)._as_owner(section)

    def _as_owner(self, section: Any) -> Rows:
        new = self.model._default_manager.filter(section=section, state=State.NEXT)
        deployed = Case(When(announce=False, built__gt=0, then=1), default=0)
        columns = ("pk", "section__plan_version", "low", "high", Exists(new), deployed)
        return self.values_list(*columns)[:1]

    @prepared
    def raise_wanted(self, announce: bool, *, pages: Any, since: Any = None) -> Update:
        """Make pages dirty, for changes that were committed since a time, if known.

        Changes are announced with their pages, but where a deploy has marked these.
        """
        fields: dict[str, Any] = {"wanted": F("wanted") + 1}
        if announce:  # in a first build nothing is
            fields["is_edited"] = Case(
                When(built__gt=0, then=True), default=F("is_edited")
            )
        fields["changed_at"] = Coalesce(F("changed_at"), since)
        return self.filter(pk__in=pages), fields

    def mark_indexes(self, *, site: str) -> None:
        """Make the indexes of a site dirty."""
        # By key, since PostgreSQL takes an unknown section for an average one, and
        # would read every page. A single one: for a list MariaDB would lock them.
        for (section,) in self.index_section(site=site):
            self.raise_all(section=section)

    @prepared
    def index_section(self, *, site: Any) -> Rows:
        """Return the key of the section of a site that has its indexes."""
        return Section.objects.filter(site=site, name=INDEX).values_list("pk")

    @prepared
    def raise_all(self, *, section: Any) -> Update:
        """Make the pages of a section dirty."""
        return self.filter(section=section), {"wanted": F("wanted") + 1}

    @prepared
    def flipped(
        self,
        is_first: bool,
        is_last: bool,
        is_again: bool,
        /,
        *,
        page: Any,
        token: Any,
        version: Any,
        known: Any,
        first: Any,
        end: Any,
        **fields: Any,
    ) -> Update:
        """Set the pointer of a page that is as its builder, who claims it, knows it."""
        mine = self.filter(pk=page, token=token, built=known, built__lt=version)
        mine = mine.filter(
            low=None if is_first else first, high=None if is_last else end
        )
        fixed = {
            "built": version,
            "token": "",
            "claimed_at": None,
            **UNTRIED,
            "error": "",
            "hold": Hold.NONE,
            "checked_at": Now(),
            # Keep what is known of a change that is newer than this version.
            "changed_at": Case(When(wanted__gt=version, then=F("changed_at"))),
            "is_edited": Case(
                When(wanted__gt=version, then=F("is_edited")), default=False
            ),
        }
        if is_again:
            fixed["wanted"] = F("wanted") + 1
        return mine, {**fixed, **fields}

    @prepared
    def announcements(self, *, pages: Any) -> Rows:
        """Return whether and since when there are changes to announce, and states."""
        rows = self.filter(pk__in=pages)
        return rows.values_list("pk", "announce", "is_edited", "changed_at", "state")

    def indexes(self, *, site: str) -> list[M]:
        """Return the indexes of a site."""
        sections = self.index_section(site=site)
        return [it for (pk,) in sections for it in self.of_section(section=pk)]

    @prepared
    def of_section(self, *, section: Any) -> Rows:
        """Return the pages of a section."""
        return self.filter(section=section)

    @prepared
    def index_numbers(self, site: str) -> Rows:
        """Return the numbers of the indexes after the first that list something."""
        empty = Q(entries=0, built__gt=0)
        others = self.of(site, INDEX).exclude(empty).filter(number__gt=0)
        return others.order_by("number").values_list("number")

    @prepared
    def index_rows(
        self, sections: tuple[int, ...], unbuilt: tuple[int, ...], first: int, end: int
    ) -> Rows:
        """Return section, number and lastmod of what an index lists."""
        # The name of a section is left out: it is the same in thousands of rows.
        pages = self.listed(sections, unbuilt)
        pages = pages.filter(index_position__gte=first, index_position__lt=end)
        return pages.values_list("section_id", "number", "lastmod")

    @prepared
    def first_position(
        self, sections: tuple[int, ...], unbuilt: tuple[int, ...]
    ) -> Rows:
        """Return the first position in the indexes that has a page."""
        pages = self.listed(sections, unbuilt)
        return pages.order_by("index_position").values_list("index_position")[:1]

    @prepared
    def dirty_index(self, site: str) -> Rows:
        """Return one built index of a site that is dirty, or none."""
        dirty = self.of(site, INDEX).filter(is_dirty=1, built__gt=0)
        return dirty.values_list("pk")[:1]

    @prepared
    def pointers(self, *columns: str, pages: Any) -> Rows:
        """Return columns of pages that are served."""
        served = self.exclude(state=State.NEXT)
        return served.filter(pk__in=pages).values_list("pk", *columns)
