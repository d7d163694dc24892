"""The guard: hold a section that would lose most of its entries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta
from shlex import quote
from typing import NamedTuple

from django.db.models import Case, F, Sum, When
from django.utils import timezone
from django.utils.translation import gettext_noop, override

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import INDEX, Hold, Page, Section, State
from django_sitemaps_plus.models.claims import UNTRIED
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.models.sections import hold_words
from django_sitemaps_plus.registry import registry

from .store import BuiltPage, Result


class Reason(NamedTuple):
    """Why a section is held: what :func:`.hold_words` makes words of."""

    words: str
    numbers: list[int]


#: No reason.
WELL = Reason("", [])

#: Entries of a section below which the guard holds it only if all would go.
MIN_ENTRIES = 100

#: Why a section is held until it has been judged, and what it may then be held for.
WAITING = gettext_noop(
    "pages that would lose most of their entries wait until the rest is rendered"
)
FALLEN = gettext_noop("it would fall from {} entries to {}")
BAD = gettext_noop("{} of {} rows cannot be listed")

#: Time after which held pages are rendered again by themselves. A source that lost its
#: rows for a while gets well unasked, and one that stays as it is costs little.
LOOK_AGAIN = timedelta(minutes=10)


def must_wait(page: Page, new: BuiltPage) -> bool:
    """Return whether a page must wait for the rest of its section.

    The page alone proves nothing: a split, a merge or a deleted country empties pages
    too. So it waits, and :func:`judge` looks at the section.
    """
    is_less = new.entries < page.entries / 2
    is_worse = new.skipped > page.skipped and _is_bad(new.entries, new.skipped)
    return _is_guarded(page) and (is_less or is_worse)


def _is_guarded(page: Page) -> bool:
    is_free = page.hold == Hold.RELEASED or page.state == State.NEXT
    return bool(page.object) and page.section.name != INDEX and not is_free


def eroding(results: Sequence[Result]) -> list[Result]:
    """Note what sections lose; return the pages that must wait though they lose little.

    Many small losses, in many pages or one after another, make a large one. It needs
    a transaction.
    """
    shrinking: dict[int, list[Result]] = defaultdict(list)
    for result in results:
        if result.new.entries < result.page.entries and _is_guarded(result.page):
            shrinking[result.page.section_id].append(result)
    held = []
    for section, losers in shrinking.items():
        lost = sum([page.entries - new.entries for page, new in losers])
        [(peak, earlier_peak, lost_before)] = Section.objects.peaks(section=section)
        highest = max(peak, earlier_peak)
        allowed = highest * get_settings().shrink_guard
        if highest >= MIN_ENTRIES and lost_before + lost > allowed:
            # Growth since then may make up for it: count what the section has now.
            rows = Page.objects.filter(section=section, state=State.ACTIVE)
            entries = rows.aggregate(total=Sum("entries"))["total"] or 0
            lost_before = max(highest - entries, 0)
            if lost_before + lost > allowed:
                held += losers
                lost = 0  # their published entries stay
        Section.objects.note_lost(section=section, total=lost_before + lost)
    return held


def _is_bad(entries: int, skipped: int) -> bool:
    return skipped > get_settings().max_bad_rows * (entries + skipped)


def hold(held: Sequence[Result]) -> None:
    """Let pages wait for the rest of their sections, which the caller has locked."""
    # Set the reason in this transaction: where a builder is killed before judge(), the
    # next build looks at the section.
    ids = {page.section_id for page, _ in held}
    Section.objects.filter(pk__in=ids, hold_reason="").update(hold_reason=WAITING)
    for page, new in held:
        Page.objects.filter(pk=page.pk, token=page.token).update(
            hold=Hold.HELD,
            held_entries=new.entries,
            held_skipped=new.skipped,
            token="",
            claimed_at=None,
            **UNTRIED,
            error="",
            checked_at=Now(),
        )


def judge(section: Section, *, allow_shrink: bool, of_plan: Reason) -> None:
    """Release the held pages of a section, or say why they, or its plan, are held.

    No other page of it is dirty. ``of_plan`` is what :func:`plan_reason` says.
    """
    held = section.pages.active().filter(hold=Hold.HELD)
    reason = WELL
    if held.exists() and not allow_shrink:
        after = Case(When(hold=Hold.HELD, then="held_entries"), default="entries")
        bad = Case(When(hold=Hold.HELD, then="held_skipped"), default="skipped")
        totals = section.pages.active().aggregate(
            after=Sum(after), bad=Sum(bad), before=Sum("entries")
        )
        entries, skipped = totals["after"] or 0, totals["bad"] or 0
        reason = _reason(section, entries, skipped, totals["before"])
    if not reason.words:
        held.update_locked([section.pk], hold=Hold.RELEASED)
        reason = of_plan
    if reason != (section.hold_reason, section.hold_numbers):
        section.hold_reason, section.hold_numbers = reason
        # A person's word for what was held ends with it, also if it has just come.
        ended = {} if reason.words else {"may_shrink": False}
        told = {"hold_reason": reason.words, "hold_numbers": reason.numbers}
        Section.objects.filter(pk=section.pk).update(**told, **ended)


def plan_reason(section: Section, plan: Sequence[Page]) -> Reason:
    """Return why the next plan, if all of it is built, must not be put in force."""
    if not all(page.built for page in plan):
        return WELL
    before = section.pages.active().aggregate(before=Sum("entries"))["before"]
    entries = sum(page.entries for page in plan)
    return _reason(section, entries, sum(page.skipped for page in plan), before)


def _reason(section: Section, entries: int, skipped: int, before: int | None) -> Reason:
    has_many_rows = entries + skipped >= MIN_ENTRIES
    if (has_many_rows or not entries) and _is_bad(entries, skipped):
        return Reason(BAD, [skipped, entries + skipped])
    peak = max(section.peak, section.earlier_peak, before or 0)
    was_large = peak >= MIN_ENTRIES
    least = peak * (1 - get_settings().shrink_guard)
    source = registry.get(section.name) if section.name in registry else None
    may_run_empty = any(getattr(source, name, None) for name in ("ends", "news"))
    is_lost = not entries and not may_run_empty  # rows may leave by the clock
    if (was_large or is_lost) and entries < least:
        return Reason(FALLEN, [peak, entries])
    return WELL


def held_because(section: Section) -> str:
    """Return why a section is held and what to do, in English; "" if it is well."""
    if not section.hold_reason:
        return ""
    command = f"run build_sitemaps {quote(section.name)} --allow-shrink"
    remedies = {
        WAITING: "Run build_sitemaps again if no build is at work",
        FALLEN: f"If that is right, {command}",
        BAD: f"Fix them, or {command}",
    }
    with override("en"):
        why = hold_words(section.hold_reason, section.hold_numbers)
    return f"{why}. {remedies.get(section.hold_reason, command)}"


def forget_peak(section: Section) -> None:
    """Take a section for as small as it should be."""
    section.peak, section.earlier_peak, section.peak_since = 0, 0, None
    rows = Section.objects.filter(pk=section.pk)
    rows.update(peak=0, earlier_peak=0, peak_since=None)


def is_peak_old(section: Section) -> bool:
    """Return whether the peak of a section is to be noted, whether it grew or not."""
    day, since = timedelta(hours=24), section.peak_since
    return since is None or timezone.now() - since > day


def note_peak(section: Section, total: int) -> None:
    """Remember the most entries that a section had, for 24 to 48 hours."""
    rows = Section.objects.filter(pk=section.pk)
    # Another build may have noted one since the row was read.
    if is_peak_old(section):
        same = rows.filter(peak_since=section.peak_since)
        same.update(earlier_peak=F("peak"), peak=total, peak_since=timezone.now())
    elif total > section.peak:
        rows.filter(peak__lt=total).update(peak=total)


def look_again(section: Section, *, at_once: bool) -> None:
    """Have held pages rendered again, at once or those not rendered for LOOK_AGAIN."""
    held = section.pages.filter(hold=Hold.HELD)
    if not at_once:
        held = held.filter(checked_at__lt=Now() - LOOK_AGAIN)
    held.update_locked([section.pk], hold=Hold.NONE)
