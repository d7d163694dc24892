"""Problems: what of a site needs a person, and what to do about it."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import urlsplit

from django.db.models import F, Q
from django.template.defaultfilters import floatformat
from django.utils import timezone
from django.utils.timesince import timesince
from django.utils.translation import get_language, ngettext, override
from django.utils.translation import gettext as _

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.validation import WARNINGS, WORDS
from django_sitemaps_plus.models import INDEX, Delivery, Page
from django_sitemaps_plus.models.claims import is_parked
from django_sitemaps_plus.sites import in_force

from .answers import Answer
from .audit import read_findings
from .left_out import Link, left_out
from .problem import Item, Problem, rebuilt, shortened
from .requests import command_for
from .status import LATE, SectionStatus, SiteStatus, age_of

#: The line by which a URLconf has the views of sitemaps.
INCLUDED = 'path("", include("django_sitemaps_plus.urls"))'

#: Pages of a site, targets of an engine and findings of a rule that are named.
MAX_PAGES, MAX_TARGETS, MAX_FINDINGS = 100, 50, 20


def problems_of(
    status: SiteStatus, *, max_age: float = math.inf, language: str | None = "en"
) -> list[Problem]:
    """Return the problems of a site, as all who show problems count them; by no query.

    Args:
        status: how the site is.
        max_age: seconds after which a change or a build is late.
        language: the language of the texts.
    """
    with override(language):
        found = [problem for probe in PROBES for problem in probe(status)]
        return [*found, *_overdue(status, max_age)]


def _of_index(status: SiteStatus) -> Iterator[Problem]:
    if status.stored_origin:
        origins = {"stored": status.stored_origin, "own": status.site.origin}
        yield Problem(
            id="origin_differs",
            subject=_("Address"),
            message=_(
                "What is stored belongs to %(stored)s, but the site is %(own)s: "
                "crawlers are answered with an error."
            )
            % origins,
            remedy=_(
                "Correct the address in the settings. If the site has moved, have "
                "what is stored move as well."
            ),
            command=command_for("build_sitemaps", status.site, "--move-origin"),
        )
    elif status.answer and status.is_known and not status.answer.is_well:
        yield _unanswered(status.answer, status.site)
    if faults := status.index_problems:
        yield Problem(
            id="index_failed",
            subject=_("Index"),
            message=shortened("; ".join(faults)),
            remedy=_("Correct what is wrong: the next build tries again."),
            command=command_for("build_sitemaps", status.site),
            count=len(faults),
        )


def _unanswered(answer: Answer, site: Site) -> Problem:
    shown = {"url": answer.url, "status": answer.status}
    message = _("Django answers %(status)s for %(url)s.")
    remedy = _("Correct what it says; the log says more.")
    if not answer.status:
        message = _("Django does not answer for %(url)s.")
    elif answer.is_empty:
        message = _("Django answers %(status)s for %(url)s, since nothing is listed.")
        remedy = _("See that sections are registered, and that they have rows.")
    elif answer.status == 400:
        remedy = _("Add '%s' to ALLOWED_HOSTS.") % urlsplit(answer.url).hostname
    elif answer.leads_to:
        remedy = _("Set BASE_URL to where it leads: %s") % shortened(answer.leads_to)
    elif answer.status in (200, 404):
        remedy = _("Put %s first in ROOT_URLCONF.") % INCLUDED
    if answer.status == 200:
        message = _("Django answers for %(url)s, but with no sitemap.")
    return Problem(
        id="index_empty" if answer.is_empty else "index_unavailable",
        level="warning" if answer.is_empty else "error",
        subject=_("Index"),
        message=f"{message % shown} {shortened(answer.said)}".rstrip(),
        remedy=remedy,
        command=command_for("sitemap_doctor", site),
        since=datetime.fromisoformat(answer.since or answer.at),
    )


def _of_sections(status: SiteStatus) -> Iterator[Problem]:
    site = status.site
    for section in status.sections:
        name = section.section
        if not section.registered:  # and so nothing builds it
            yield Problem(
                id="section_unregistered",
                subject=name,
                message=_("It is no longer registered."),
                remedy=_(
                    "Register it again. If it is gone for good, there is nothing to "
                    "do: after 24 hours it leaves the index, and pruning removes its "
                    "pages."
                ),
                command=command_for("prune_sitemaps", site),
            )
            continue
        if section.hold_reason:
            yield Problem(
                id="section_held",
                subject=name,
                message=_("The guard holds it: %s") % shortened(section.hold_reason),
                remedy=_(
                    "What was published stays. If rows are missing by mistake, bring "
                    "them back and build again. If they are really gone, let the "
                    "section pass."
                ),
                command=command_for("build_sitemaps", site, name, "--allow-shrink"),
                action="release",
            )
        elif section.skipped and not section.entries:
            yield Problem(
                id="section_empty",
                message=_("It lists none of its rows."),
                remedy=_("See why each is left out, and correct the source."),
                **rebuilt(name, site),
            )
        if section.fault:
            yield Problem(
                id="section_failed",
                subject=name,
                message=_("It could not be built: %s") % shortened(section.fault),
                remedy=_(
                    "Correct what it says. What was published stays, and the next "
                    "build tries again."
                ),
                command=command_for("build_sitemaps", site, name),
                action="refresh",
                since=section.fault_since,
            )
        if section.parked or section.failed:
            yield _failing(section, site)


def _failing(section: SectionStatus, site: Site) -> Problem:
    numbers = {"parked": section.parked, "failed": section.failed}
    shown = {name: floatformat(number, "g") for name, number in numbers.items()}
    words = _("Given up for now: %(parked)s. To be tried again soon: %(failed)s.")
    parts = [words % shown]
    if moment := section.next_attempt_at:
        parts.append(_("Next attempt: %s.") % f"{moment:%Y-%m-%d %H:%M %Z}".rstrip())
    parts.append(shortened(section.error or section.failure or _interrupted()))
    return Problem(
        id="pages_parked" if section.parked else "pages_failed",
        message=" ".join(parts),
        remedy=_(
            "What was published stays. Correct what the errors say. Each page is tried "
            "again by itself, at the latest after a day; at once if you rebuild the "
            "section."
        ),
        count=section.parked + section.failed,
        **rebuilt(section.section, site),
    )


def _interrupted() -> str:
    return _("It was interrupted. Find out what ends the builders.")


def _of_engines(status: SiteStatus) -> Iterator[Problem]:
    for engine in status.engines:
        arguments = "--engine", engine.engine, "--retry"
        command = command_for("notify_search_engines", status.site, *arguments)
        if hosts := [f"{host}: {why}" for host, why in engine.parked.items()]:
            yield Problem(
                id="engine_parked",
                subject=engine.engine,
                message=_("Not notified: %s") % shortened("; ".join(hosts)),
                remedy=_(
                    "Correct the cause, then resume it. What changes meanwhile waits."
                ),
                command=command,
                action="resume",
                count=len(hosts),
            )
        # An engine that is not asked any more does not take its errors back.
        is_asked = not status.silence and not engine.parked
        items = [
            Item(name=feed, words=f"{said['errors']:,}")
            for feed, said in engine.feedback.items()
            if isinstance(said, dict)
            and isinstance(said.get("errors"), int)
            and said["errors"] > 0
        ]
        if items and is_asked:
            reported = "; ".join([f"{it.name}: {it.words}" for it in items])
            yield Problem(
                id="engine_feedback",
                subject=engine.engine,
                message=_("Errors that it reports: %s") % shortened(reported),
                remedy=_(
                    "See what it says of these feeds, and correct that. It reads them "
                    "again by itself."
                ),
                command=command_for("check_sitemaps", status.site, "--audit"),
                count=len(items),
                items=items,
            )
        if engine.dead:
            words = _("Rejected targets: %s") % floatformat(engine.dead, "g")
            yield Problem(
                id="engine_rejected",
                subject=engine.engine,
                message=f"{words}. {shortened(engine.error)}",
                remedy=_(
                    "Correct what the engine says, then retry. A target that changes "
                    "is submitted again by itself."
                ),
                command=command,
                action="retry",
                count=engine.dead,
            )


def _overdue(status: SiteStatus, max_age: float) -> Iterator[Problem]:
    change = _("The oldest change has waited for %(age)s: longer than %(limit)s.")
    build = _("The last build was made %(age)s ago: longer than %(limit)s.")
    engines = status.engines
    sections = [it for it in status.sections if not it.fault]  # the fault is the cause
    times = [("section_overdue", it.section, change, it.oldest) for it in sections]
    times += [
        ("section_overdue", it.section, build, it.last_build_at) for it in sections
    ]
    times += [("engine_overdue", it.engine, change, it.oldest) for it in engines]
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
                remedy=_("See that workers or a cron job run."),
                command=command,
                since=moment,
            )


def span(seconds: float) -> str:
    """Return a time in words."""
    if seconds < 60:
        return f"{seconds:.0f} s"
    now = timezone.now()
    # Lines break elsewhere.
    return timesince(now - timedelta(seconds=seconds), now).replace("\xa0", " ")


#: The probes of problems in the order in which they are shown, but for what is late.
PROBES: Sequence[Callable[[SiteStatus], Iterator[Problem]]] = (
    _of_index,
    _of_sections,
    _of_engines,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The problems of one kind."""

    name: str
    title: str
    problems: Sequence[Problem]

    @property
    def count(self) -> int:
        """How many things have one."""
        return sum([it.count for it in self.problems])


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteProblems:
    """The problems of a site that need a person."""

    site: Site
    kinds: Sequence[Kind]  # those that have some
    audited_at: datetime | None  # when its pages were audited last
    audit: str  # the command that does so


def read_problems(
    status: SiteStatus, link: Link = lambda model, key: ""
) -> SiteProblems:
    """Return the problems of a site with the things that have them, and what they omit.

    By three queries, and one for each engine that has rejected targets.
    """
    site, kinds = status.site, defaultdict[str, list[Problem]](list)
    with in_force(site):
        pages, findings = _failed_pages(site), read_findings(site) or {}
        for problem in problems_of(status, max_age=LATE, language=get_language()):
            if problem.id.startswith("pages_"):
                problem = replace(problem, items=pages[problem.subject])
            elif problem.id == "engine_rejected":
                rows = Delivery.objects.of(site.name, problem.subject).dead()
                rows = rows.order_by("host", "not_before", "id")  # an index has these
                targets = rows.values_list("target", "error")[:MAX_TARGETS]
                items = [
                    Item(name=shortened(it), words=shortened(e)) for it, e in targets
                ]
                problem = replace(problem, items=items)
            kinds[problem.id.partition("_")[0]].append(problem)
        sections = [it for it in status.sections if it.registered]
        audit = command_for("check_sitemaps", site, "--audit")
        parts = [it for kind in ("origin", "index", "section") for it in kinds[kind]]
        shown = {
            "sections": (_("Sections and index"), parts),
            "pages": (_("Pages that could not be built"), kinds["pages"]),
            "rows": (_("Rows and values left out"), [*left_out(site, sections, link)]),
            "engines": (_("Search engines"), kinds["engine"]),
            "findings": (_("Findings of the audit"), [*_of_audit(findings, audit)]),
        }
    return SiteProblems(
        site=site,
        kinds=[
            Kind(name=name, title=title, problems=problems)
            for name, (title, problems) in shown.items()
            if problems
        ],
        audited_at=datetime.fromisoformat(findings["at"]) if findings else None,
        audit=audit,
    )


def _failed_pages(site: Site) -> Mapping[str, list[Item]]:
    """Return the pages that could not be built, those first that were tried most."""
    has_failed = is_parked() | ~Q(error="")
    pages = Page.objects.dirty().filter(has_failed, section__site=site.name)
    pages = pages.exclude(section__name=INDEX)
    pages = pages.order_by("-attempts", "section_id", "number")
    rows = pages.values_list(F("section__name"), "number", "attempts", "error")
    found = defaultdict[str, list[Item]](list)
    for section, number, attempts, error in rows[:MAX_PAGES]:
        tried = ngettext("%(count)s attempt", "%(count)s attempts", attempts)
        tried %= {"count": attempts}
        name = _("page %(number)s, %(tried)s") % {"number": number, "tried": tried}
        words = error or _interrupted()
        found[section].append(Item(name=name, words=shortened(words)))
    return found


def _of_audit(findings: Mapping[str, Any], audit: str) -> Iterator[Problem]:
    """Yield what the last audit found by rule, errors and what is frequent first."""
    counts, known = findings.get("counts", {}), defaultdict[str, list[Any]](list)
    for problem in findings.get("problems", ()):
        known[problem["rule"]].append(problem)
    for rule in sorted(counts, key=lambda rule: (rule in WARNINGS, -counts[rule])):
        words = _("Warning %s") if rule in WARNINGS else _("Error %s")
        items = []
        for problem in known[rule][:MAX_FINDINGS]:
            source, line = problem["source"], problem["line"]
            place = f"{source}:{line}" if line else source
            message = shortened(problem["message"])
            items.append(Item(name=shortened(place), words=message))
        yield Problem(
            id=rule,
            subject=WORDS.get(rule, rule),
            count=counts[rule],
            message=words % rule,
            level="warning" if rule in WARNINGS else "error",
            items=items,
            remedy=_(
                "Correct what is listed, or leave it out; then audit the pages again."
            ),
            command=audit,
        )
