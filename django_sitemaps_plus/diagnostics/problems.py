"""Problems: what of a site needs a person, and what to do about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from django.template.defaultfilters import floatformat
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, override

from django_sitemaps_plus import cache
from django_sitemaps_plus.building.report import DEADLY
from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.validation import WARNINGS, WORDS
from django_sitemaps_plus.models.sections import hold_words
from django_sitemaps_plus.models.workers import COMMANDS
from django_sitemaps_plus.notifications.dispatch import SINCE, errors_in, fall_of
from django_sitemaps_plus.site_urls import NotIncludedError, page_url
from django_sitemaps_plus.sites import origin_setting

from .requests import command_for, rebuilt
from .status import LATE, EngineStatus, SectionStatus, SiteStatus
from .words import age_of, at, shortened, span

#: Seconds between the last read of a feed and a change that make an engine late.
UNREAD = 7 * 86_400

#: Why a page failed that left no error.
INTERRUPTED = gettext_lazy("It was interrupted. Find out what ends the builders.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A thing that has a problem: a row, a page, a host, a target or a file."""

    name: str = ""
    words: str = ""
    url: str = ""  # its page in the admin


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A fault of one thing, or of many alike, and what to do about it."""

    id: str  # stable: monitors and tests compare this, never words
    level: Literal["error", "warning", "info"] = "error"
    subject: str  # the section, engine or rule; the target of the button
    message: str  # what is wrong, with the value
    remedy: str  # what to do
    command: str  # what to type
    action: str = ""  # the button of the dashboard that does the same
    since: datetime | None = None
    count: int = 1  # of the things, also of those that are not named
    items: Sequence[Item] = ()  # the first of them

    @property
    def cure(self) -> str:
        """The remedy and its command in one text, as commands and monitors print it."""
        return f"{self.remedy} Run {self.command}."

    def __str__(self) -> str:
        """Return the sentences that commands and monitors print."""
        return f"{self.subject}: {self.message.rstrip('.')}. {self.cure}"


def problems_of(
    status: SiteStatus, *, max_age: float = LATE, language: str | None = "en"
) -> list[Problem]:
    """Return the problems of a site, as all who show problems count them; by no query.

    A change or a build is late after ``max_age`` seconds.
    """
    probes = (
        *(_of_settings, _of_workers, _of_index, _of_code),
        *(_of_sections, _of_engines, _of_audit),
    )
    with override(language):
        found = [problem for probe in probes for problem in probe(status)]
        return [*found, *_overdue(status, max_age)]


def _of_settings(status: SiteStatus) -> Iterator[Problem]:
    for fault in status.faults:
        yield Problem(
            id="engine_broken" if fault.engine else "settings_wrong",
            level="warning" if fault.is_lack else "error",
            subject=fault.engine or _("Settings"),
            message=shortened(fault.message),
            remedy=fault.remedy,
            command="manage.py check --deploy",
        )


def _of_workers(status: SiteStatus) -> Iterator[Problem]:
    gone = _("None was seen since %(at)s, %(age)s ago, and none was stopped.")
    for worker in [it for it in status.workers if it.is_missed]:
        shown = {"at": at(worker.seen_at), "age": span(worker.age.total_seconds())}
        yield Problem(
            id="worker_gone",
            subject=worker.kind,
            message=gone % shown,
            remedy=_("It ended or hangs: see in its log why. Then start one again."),
            command=COMMANDS.get(worker.kind, f"manage.py {worker.kind}"),
            since=worker.seen_at,
        )


def _of_index(status: SiteStatus) -> Iterator[Problem]:
    answer = status.answer if status.is_known else None
    if status.stored_origin:
        origins = {"stored": status.stored_origin, "own": status.site.origin}
        yield Problem(
            id="origin_differs",
            subject=_("Address"),
            message=_(
                "The sitemaps were made for %(stored)s, but the site is %(own)s: "
                "crawlers get an error."
            )
            % origins,
            remedy=_("Correct %s. If the site has moved, move its sitemaps as well.")
            % origin_setting(status.site),
            command=command_for("build_sitemaps", status.site, "--move-origin"),
            since=status.answer.unwell_since if status.answer else None,
        )
    elif answer and (answer.is_disallowed or not answer.is_well):
        message, remedy = answer.in_words(status.site)
        failed = "index_empty" if answer.is_empty else "index_unavailable"
        yield Problem(
            id="index_disallowed" if answer.is_well else failed,
            level="warning" if answer.is_well or answer.is_empty else "error",
            subject=_("Sitemap index"),
            message=message,
            remedy=remedy,
            command=command_for("sitemap_doctor", status.site),
            since=answer.unwell_since or answer.looked_at,
        )
    words = _("%(file)s is not built: %(error)s")
    faults = [
        words % {"file": name, "error": error or _(DEADLY)} if name else error
        for name, error in status.index_problems
    ]
    if status.is_index_lost:
        faults.append(_("Its file is missing or damaged."))
    if faults:
        yield Problem(
            id="index_failed",
            subject=_("Sitemap index"),
            message=shortened("; ".join(faults)),
            remedy=_("Fix the error: the next build tries again."),
            command=command_for("build_sitemaps", status.site),
            since=status.index_since,
            count=len(faults),
        )


def _of_code(status: SiteStatus) -> Iterator[Problem]:
    """Yield sections that the code of some process lacks, so that it builds none."""
    begun = timezone.now() - get_settings().deploy_time  # older processes have ended
    restart = _("Restart workers: some may have older code.")
    for section in status.sections:
        words, name = _("The code of the site no longer has this section."), "prune"
        remedy = _("Register it again. If it is gone for good, pruning removes it.")
        if section.registered:  # here
            if (section.missing_since or begun) >= begun:
                continue
            words = _("The code of a process that builds lacks this section.")
            remedy, name = restart, "build"
        yield Problem(
            id="section_unregistered",
            subject=section.section,
            message=words,
            remedy=remedy,
            command=command_for(f"{name}_sitemaps", status.site),
            since=section.missing_since,
        )
    new = [it.section for it in status.sections if it.live and not it.fault]
    if new and status.is_index_stored:
        yield Problem(
            id="index_incomplete",
            level="warning",
            subject=_("Sitemap index"),
            message=_("It does not list yet: %s") % shortened(", ".join(new)),
            remedy=restart,
            command=command_for("build_sitemaps", status.site),
            count=len(new),
        )


def _of_sections(status: SiteStatus) -> Iterator[Problem]:
    site = status.site
    for section in [it for it in status.sections if it.registered]:
        name = section.section
        if section.hold_reason:
            words = hold_words(section.hold_reason, section.hold_numbers)
            yield Problem(
                id="section_held",
                subject=name,
                message=_("It waits for your approval: %s") % words,
                remedy=_("Restore rows that are missing by mistake, or let it pass."),
                command=command_for("build_sitemaps", site, name, "--allow-shrink"),
                action="release",
                since=section.held_since,
            )
        elif section.skipped and not section.entries:
            yield Problem(
                id="section_empty",
                message=_("It lists none of its rows."),
                remedy=_("Find out why each is left out, and fix the source."),
                since=section.published_at,
                **rebuilt(name, site),
            )
        if section.fault:
            yield Problem(
                id="section_failed",
                subject=name,
                message=_("It could not be built: %s") % shortened(section.fault),
                remedy=_("Fix the error: the next build tries again."),
                command=command_for("build_sitemaps", site, name),
                action="refresh",
                since=section.fault_since,
            )
        elif (fault := section.live_fault) and fault.is_recent:
            shown = {"url": name, "fault": shortened(fault.words)}
            with suppress(NotIncludedError):
                shown["url"] = page_url(name, fault.number or 1, site)
            yield Problem(
                id="section_unavailable",
                subject=name,
                message=_("Crawlers get an error for %(url)s: %(fault)s") % shown,
                remedy=_("Fix the error; the next request tries again."),
                command=command_for("preview_sitemap", site, name),
                since=fault.since,
            )
        if section.lost:
            full = () if cache.is_shared() else ("--full",)  # it finds which they are
            lost = floatformat(section.lost, "g")
            yield Problem(
                id="section_damaged",
                subject=name,
                message=_("Files that are missing or damaged: %s") % lost,
                remedy=_("Find out what deletes files; a build stores them again."),
                command=command_for("build_sitemaps", site, name, *full),
                action="refresh",
                count=section.lost,
                since=section.lost_since,
            )
        if section.parked or section.failed:
            yield _failing(section, site)


def _failing(section: SectionStatus, site: Site) -> Problem:
    counted = (
        (_("Pages given up for now: %s."), section.parked),
        (_("Pages to be tried again soon: %s."), section.failed),
    )
    parts = [words % floatformat(it, "g") for words, it in counted if it]
    if moment := section.next_attempt_at:
        parts.append(_("Next attempt: %s.") % at(moment))
    parts.append(shortened(section.error or section.failure or str(INTERRUPTED)))
    return Problem(
        id="pages_parked" if section.parked else "pages_failed",
        message=" ".join(parts),
        remedy=_("Fix the errors. Each page is tried again within a day."),
        count=section.parked + section.failed,
        since=section.failed_since,
        **rebuilt(section.section, site),
    )


def _of_engines(status: SiteStatus) -> Iterator[Problem]:
    for engine in status.engines:
        arguments = "--engine", engine.engine, "--retry"
        command = command_for("notify_search_engines", status.site, *arguments)
        if hosts := [f"{host}: {why}" for host, why in engine.parked.items()]:
            yield Problem(
                id="engine_parked",
                subject=engine.engine,
                message=_("Not notified: %s") % shortened("; ".join(hosts)),
                remedy=_("Fix the cause, then resume it. Changes wait until then."),
                command=command,
                action="resume",
                count=len(hosts),
                since=engine.parked_since,
            )
        # An engine that is not asked any more does not take back what it said.
        if not status.silence and not engine.parked:
            yield from _of_feedback(engine, status)
        if engine.dead:
            words = _("Rejected URLs: %s") % floatformat(engine.dead, "g")
            yield Problem(
                id="engine_rejected",
                subject=engine.engine,
                message=f"{words}. {shortened(engine.error)}",
                remedy=_("Fix what the engine says, then retry."),
                command=command,
                action="retry",
                count=engine.dead,
                since=engine.dead_since,
            )


def _of_feedback(engine: EngineStatus, status: SiteStatus) -> Iterator[Problem]:
    published = [it.published_at for it in status.sections if it.published_at]
    found = defaultdict[str, list[Item]](list)
    moments, is_halved = list[datetime](), False  # since when of errors or of fewer
    for feed, said in engine.feedback.items():
        if not isinstance(said, dict):  # an engine of the project may report anything
            continue
        if number := errors_in(said):
            found["engine_feedback"].append(Item(name=feed, words=f"{number:,}"))
        if fall := fall_of(said):
            item = Item(name=feed, words="{:.0%} → {:.0%}".format(*fall))
            found["engine_indexed"].append(item)
            is_halved |= fall[1] < fall[0] / 2
        with suppress(KeyError, TypeError, ValueError):
            moments.append(parse_w3c(said[SINCE]))
        with suppress(TypeError, ValueError):  # not a moment, or nothing is published
            read_at = parse_w3c(said.get("lastDownloaded", ""))
            age = (datetime.now(UTC) - read_at).total_seconds()
            if age - age_of(max(published)) > UNREAD:
                item = Item(name=feed, words=f"{read_at:%Y-%m-%d}")
                found["engine_unread"].append(item)
    messages = {
        "engine_feedback": _("Errors that it reports: %s"),
        "engine_unread": _("It read last a week or more before the newest change: %s"),
        "engine_indexed": _("It has indexed fewer URLs than before: %s"),
    }
    for id_, items in found.items():
        is_mild = id_ == "engine_unread" or (id_ == "engine_indexed" and not is_halved)
        since = max(published) if id_ == "engine_unread" else min(moments, default=None)
        listed = "; ".join([f"{it.name}: {it.words}" for it in items])
        yield Problem(
            id=id_,
            level="warning" if is_mild else "error",
            subject=engine.engine,
            message=messages[id_] % shortened(listed),
            remedy=_("See what it says of these sitemaps, and correct that."),
            command=command_for("check_sitemaps", status.site, "--audit"),
            since=since,
            count=len(items),
            items=items,
        )


def _of_audit(status: SiteStatus) -> Iterator[Problem]:
    if counts := status.findings:
        items = [Item(name=WORDS.get(it, it), words=f"{counts[it]:,}") for it in counts]
        words = "; ".join([f"{it.name}: {it.words}" for it in items])
        yield Problem(
            id="audit_findings",
            level="info" if counts.keys() <= WARNINGS else "warning",
            subject=_("Findings of the audit"),
            message=_("By the last audit: %s") % shortened(words),
            remedy=_("Correct what is listed, or leave it out; then audit them again."),
            command=command_for("check_sitemaps", status.site, "--audit"),
            since=status.findings_since,
            count=sum(counts.values()),
            items=items,
        )


def _overdue(status: SiteStatus, max_age: float) -> Iterator[Problem]:
    change = _("The oldest change has waited for %(age)s: longer than %(limit)s.")
    build = _("The last build was made %(age)s ago: longer than %(limit)s.")
    # Sections and engines that fail, are held or were stopped have another problem.
    sections = [it for it in status.sections if not (it.fault or it.hold_reason)]
    told = () if status.silence else status.engines
    engines = [it for it in told if it.waiting > it.resting and not it.parked]
    times = [
        *[("section_overdue", it.section, change, it.oldest) for it in sections],
        *[("section_overdue", it.section, build, it.last_build_at) for it in sections],
        *[("engine_overdue", it.engine, change, it.oldest) for it in engines],
    ]
    for id_, name, words, moment in times:
        if moment and age_of(moment) > max_age:
            command = command_for("build_sitemaps", status.site, name)
            if id_ == "engine_overdue":
                options = "--engine", name
                command = command_for("notify_search_engines", status.site, *options)
            yield Problem(
                id=id_,
                subject=name,
                message=words % {"age": span(age_of(moment)), "limit": span(max_age)},
                remedy=_("Check that workers or a cron job run."),
                command=command,
                since=moment,
            )
