"""Problems: what of a site needs a person, and what to do about it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import F, Q
from django.template.defaultfilters import floatformat
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.validation import WARNINGS, WORDS
from django_sitemaps_plus.models import INDEX, Delivery, Page
from django_sitemaps_plus.models.claims import is_parked
from django_sitemaps_plus.sites import in_force

from .audit import read_findings
from .dashboard import SiteStatus
from .engine_status import EngineStatus
from .left_out import Link, left_out
from .problem import Item, Problem, rebuilt, shortened
from .requests import command_for
from .status import SectionStatus

#: Pages of a site, targets of an engine and findings of a rule that are named.
MAX_PAGES, MAX_TARGETS, MAX_FINDINGS = 100, 50, 20


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
    """Return the problems of a site, by three queries and one for each engine."""
    site = status.site
    sections = [it for it in status.sections if it.registered]
    with in_force(site):
        findings = read_findings(site) or {}
        audit = command_for("check_sitemaps", site, "--audit")
        rows = left_out(site, sections, link)
        kinds = [
            _kind("sections", _("Sections and index"), _of_sections(status)),
            _kind("pages", _("Pages that could not be built"), _pages(site, sections)),
            _kind("rows", _("Rows and values left out"), rows),
            _kind("engines", _("Search engines"), _of_engines(status)),
            _kind("findings", _("Findings of the audit"), _of_audit(findings, audit)),
        ]
    return SiteProblems(
        site=site,
        kinds=[kind for kind in kinds if kind.problems],
        audited_at=datetime.fromisoformat(findings["at"]) if findings else None,
        audit=audit,
    )


def _kind(name: str, title: str, problems: Iterable[Problem]) -> Kind:
    return Kind(name=name, title=title, problems=list(problems))


def _of_sections(status: SiteStatus) -> Iterator[Problem]:
    site = status.site
    for section in status.sections:
        if not section.registered:
            yield Problem(
                id="section_unregistered",
                subject=section.section,
                message=_("It is no longer registered."),
                remedy=_(
                    "Register it again. If it is gone for good, there is nothing to "
                    "do: after 24 hours it leaves the index, and pruning removes its "
                    "pages."
                ),
                command=command_for("prune_sitemaps", site),
            )
        elif section.hold_reason:
            yield _held(section, site)
        elif section.skipped and not section.entries:
            yield Problem(
                id="section_empty",
                message=_("It lists none of its rows."),
                remedy=_("See below why each is left out, and correct the source."),
                **rebuilt(section.section, site),
            )
    if problems := status.index_problems:
        yield Problem(
            id="index_failed",
            subject="",
            title=_("Index"),
            count=len(problems),
            items=[Item(words=shortened(problem)) for problem in problems],
            remedy=_("Correct what is wrong: the next build tries again."),
            command=command_for("build_sitemaps", site),
        )


def _held(section: SectionStatus, site: Site) -> Problem:
    arguments = section.section, "--allow-shrink"
    return Problem(
        id="section_held",
        subject=section.section,
        message=_("The guard holds it: %s") % shortened(section.hold_reason),
        remedy=_(
            "What was published stays. If rows are missing by mistake, bring them back "
            "and build again. If they are really gone, let the section pass."
        ),
        command=command_for("build_sitemaps", site, *arguments),
        action="release",
    )


def _pages(site: Site, sections: Iterable[SectionStatus]) -> Iterator[Problem]:
    items = _failed_pages(site)
    words = _("Given up for now: %(parked)s. To be tried again soon: %(failed)s.")
    for it in sections:
        if it.parked or it.failed:
            numbers = {"parked": it.parked, "failed": it.failed}
            shown = {name: floatformat(n, "g") for name, n in numbers.items()}
            yield Problem(
                id="pages_parked" if it.parked else "pages_failed",
                count=it.parked + it.failed,
                message=words % shown,
                items=items[it.section],
                remedy=_(
                    "What was published stays. Correct what the errors say. Each page "
                    "is tried again by itself, at the latest after a day; at once if "
                    "you rebuild the section."
                ),
                **rebuilt(it.section, site),
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
        words = error or _("It was interrupted. Find out what ends the builders.")
        found[section].append(Item(name=name, words=shortened(words)))
    return found


def _of_engines(status: SiteStatus) -> Iterator[Problem]:
    for engine in status.engines:
        arguments = "--engine", engine.engine, "--retry"
        command = command_for("notify_search_engines", status.site, *arguments)
        if engine.parked:
            hosts = engine.parked.items()
            yield Problem(
                id="engine_parked",
                subject=engine.engine,
                title=_("%s: not notified") % engine.engine,
                count=len(hosts),
                items=[Item(name=host, words=shortened(why)) for host, why in hosts],
                remedy=_(
                    "Correct the cause, then resume it. What changes meanwhile waits."
                ),
                command=command,
                action="resume",
            )
        if engine.dead:
            yield _rejected(engine, command)


def _rejected(engine: EngineStatus, command: str) -> Problem:
    rows = Delivery.objects.of(engine.site, engine.engine).dead()
    # In the order of an index.
    rows = rows.order_by("host", "not_before", "id")
    targets = rows.values_list("target", "error")[:MAX_TARGETS]
    return Problem(
        id="targets_rejected",
        subject=engine.engine,
        title=_("%s: rejected") % engine.engine,
        count=engine.dead,
        items=[Item(name=shortened(it), words=shortened(why)) for it, why in targets],
        remedy=_(
            "Correct what the engine says, then retry. A target that changes is "
            "submitted again by itself."
        ),
        command=command,
        action="retry",
    )


def _of_audit(findings: Mapping[str, Any], audit: str) -> Iterator[Problem]:
    """Yield what the last audit found by rule, errors and what is frequent first."""
    counts, known = findings.get("counts", {}), defaultdict[str, list[Any]](list)
    for problem in findings.get("problems", ()):
        known[problem["rule"]].append(problem)
    for rule in sorted(counts, key=lambda rule: (rule in WARNINGS, -counts[rule])):
        words = _("Warning %s") if rule in WARNINGS else _("Error %s")
        yield Problem(
            id=rule,
            subject="",
            title=WORDS.get(rule, rule),
            count=counts[rule],
            message=words % rule,
            level="warning" if rule in WARNINGS else "error",
            items=[_finding(problem) for problem in known[rule][:MAX_FINDINGS]],
            remedy=_(
                "Correct what is listed, or leave it out; then audit the pages again."
            ),
            command=audit,
        )


def _finding(problem: Mapping[str, Any]) -> Item:
    source, line = problem["source"], problem["line"]
    place = f"{source}:{line}" if line else source
    return Item(name=shortened(place), words=shortened(problem["message"]))
