"""The problems of a site, with the pages, rows, targets and files that have them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, TypeAlias

from django.apps import apps
from django.contrib.auth import get_permission_codename
from django.db.models import F, Model, Q
from django.template.defaultfilters import floatformat
from django.utils.translation import get_language, gettext_lazy, ngettext
from django.utils.translation import gettext as _

from django_sitemaps_plus.conf import Site, in_force
from django_sitemaps_plus.core.validation import WARNINGS, WORDS
from django_sitemaps_plus.models import INDEX, Delivery, Page
from django_sitemaps_plus.models.claims import has_failed, is_parked
from django_sitemaps_plus.section import UNREAD
from django_sitemaps_plus.sources.lines import NOTES, LeftOut

from .audit import read_findings
from .conditions import plainly
from .problems import INTERRUPTED, Item, Problem, problems_of
from .requests import command_for, rebuilt
from .status import SectionStatus, SiteStatus
from .words import shortened

#: Pages that could not be built, targets of an engine and findings of a rule that are
#: named.
MAX_PAGES, MAX_TARGETS, MAX_FINDINGS = 100, 50, 20

#: Pages whose rows left out are read, reasons that are told apart, and rows of each
#: that are named.
MAX_READ, MAX_REASONS, MAX_ROWS = 500, 50, 20

#: Pages whose rows left out are read by one query, where all are.
AT_ONCE = 100

#: The name and the page of an object, each "" where it is not known, and what returns
#: whether the reader sees all its fields.
Named: TypeAlias = tuple[str, str, Callable[[], bool]]

#: Names objects by their models and keys. Those that the reader may not see are not
#: among them.
Names: TypeAlias = Callable[
    [Collection[tuple[str, str]]], Mapping[tuple[str, str], Named]
]

# First words of the ids of problems that stand beside those of sections.
_OF_SECTIONS = ("settings", "origin", "index", "section")

#: Stands for a row of no model.
NOBODY: Named = ("", "", lambda: True)

# Parts of reasons that vary by row: texts in quotes, maybe cut, and numbers.
_VARYING = re.compile(
    r"""(?<!\w)(['"])(?:\\.|[^\\])*?(?:\1(?!\w)|\Z)|-?[0-9]+(?:[.,:-][0-9]+)*""",
    re.DOTALL,
)

_SKIPPED, _DROPPED, _REPEATED = "row_skipped", "value_dropped", "row_repeated"

#: The title of each action, with %s in the place of a field, and the remedy.
_WORDING = {
    _SKIPPED: (
        gettext_lazy("rows left out"),
        gettext_lazy("Correct these rows, or have get_queryset() leave them out."),
    ),
    _DROPPED: (
        gettext_lazy("entries without %s"),
        gettext_lazy("Correct this value: they are listed without it."),
    ),
    _REPEATED: (
        gettext_lazy("rows that the query repeats"),
        gettext_lazy("Each is listed once. Correct the query of the section."),
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """The problems of one kind."""

    name: str
    title: str
    problems: Sequence[Problem]


@dataclass(slots=True, kw_only=True)
class SiteProblems:
    """The problems of a site that need a person."""

    site: Site
    kinds: Sequence[Kind]  # those that have some
    audited_at: datetime | None  # when its pages were audited last
    is_cut: bool  # it had no time for all files
    audit: str  # the command that does so


def read_problems(status: SiteStatus, names: Names) -> SiteProblems:
    """Return the problems of a site with the things that have them, and what they omit.

    By three queries, and one for each engine that has rejected targets, and one call
    for the names of objects.
    """
    site, kinds = status.site, defaultdict[str, list[Problem]](list)
    with in_force(site):
        pages, findings = _failed_pages(site), read_findings(site) or {}
        for problem in problems_of(status, language=get_language()):
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
        parts = [it for kind in _OF_SECTIONS for it in kinds[kind]]
        shown = {
            "workers": (_("Workers"), kinds["worker"]),
            "sections": (_("Sections and index"), parts),
            "pages": (_("Pages that could not be built"), kinds["pages"]),
            "rows": (_("Rows and values left out"), [*left_out(site, sections, names)]),
            "engines": (_("Search engines"), kinds["engine"]),
            # Their problem in common is not shown beside them.
            "findings": (_("Findings of the audit"), [*_of_audit(findings, audit)]),
        }
    found = [
        Kind(name=name, title=title, problems=sorted(problems, key=_is_mild))
        for name, (title, problems) in shown.items()
        if problems
    ]
    return SiteProblems(
        site=site,
        # Errors come first, as in the banner of the dashboard.
        kinds=sorted(found, key=lambda it: all(map(_is_mild, it.problems))),
        audited_at=datetime.fromisoformat(findings["at"]) if findings else None,
        is_cut=findings.get("is_cut", False),
        audit=audit,
    )


def _is_mild(problem: Problem) -> bool:
    return problem.level != "error"


def left_out(
    site: Site, sections: Collection[SectionStatus], names: Names
) -> Iterator[Problem]:
    """Yield what pages of sections leave out, by reason, most first; by one query.

    The rest comes last: a page names the first ones, and only counts the others.
    """
    registered = {it.section for it in sections}
    found = defaultdict[tuple[str, str, str, str], list[LeftOut]](list)
    for section, problem in _stored(site):
        if section in registered:
            reason = alike(problem.reason)
            found[section, problem.action, problem.field, reason].append(problem)
    counts = Counter[tuple[str, str]]()
    most_first = sorted(found.items(), key=lambda item: -len(item[1]))
    groups = [
        # Each row once, which has all its languages.
        (key, len(rows), [*{it.row: it for it in rows}.values()][:MAX_ROWS])
        for key, rows in most_first[:MAX_REASONS]
    ]
    objects = {(it.model, it.key) for _key, _count, rows in groups for it in rows}
    known = {("", ""): NOBODY, **names(objects - {("", "")})}
    for (section, action, field, reason), count, rows in groups:
        counted_as = _DROPPED if action == _REPEATED else action
        counts[section, counted_as] += count
        title, remedy = map(str, _WORDING.get(action, _WORDING[_SKIPPED]))
        items, is_whole = list[Item](), False
        for row in rows:
            if (row.model, row.key) in known:
                name, url, sees = known[row.model, row.key]
                words = ""
                if not items:
                    is_whole = sees()
                    words = plainly(row.reason, is_whole=is_whole)
                name = shortened(name or row.row)
                items.append(Item(name=name, words=shortened(words), url=url))
        # The reason may have values of rows that may not be seen.
        reason = plainly(reason, is_whole=is_whole)
        yield Problem(
            id=action,
            count=count,
            message=f"{title.replace('%s', field)}: {reason}",
            level="warning",
            items=items,
            remedy=remedy,
            **rebuilt(section, site),
        )
    for it in sections:
        totals = (
            (_("more rows"), it.skipped, _SKIPPED),
            (_("more values"), it.dropped, _DROPPED),
        )
        for title, total, action in totals:
            if total <= (count := counts[it.section, action]):
                continue
            words = _("%(named)s of %(total)s are named.")
            shown = {"named": floatformat(count, "g"), "total": floatformat(total, "g")}
            yield Problem(
                id="rows_unnamed",
                count=total - count,
                message=f"{title}: {words % shown}",
                level="warning",
                remedy=_("Correct those that are named: a build names the next."),
                **rebuilt(it.section, site),
            )


def may_view(user: Any, model: type[Model]) -> bool:
    """Return whether a user has the permission to view the rows of a model."""
    name = get_permission_codename("view", model._meta)
    return bool(user.has_perm(f"{model._meta.app_label}.{name}"))


def as_seen(words: str, user: Any, may: Callable[[type[Model]], bool]) -> str:
    """Return the words of an error as a user may see them.

    Errors may have values of rows. Users who may not view the models see the kind of
    the error alone; where no model is known, all but superusers do.
    """

    def seen(found: re.Match[str]) -> str:
        names = re.findall(r"\w+", found[2] or "")
        models = [it for it in apps.get_models() if it.__name__ in names]
        is_seen = models and all(map(may, models))
        return found[0] if is_seen or user.is_superuser else found[1]

    return UNREAD.sub(seen, words)


def alike(words: str) -> str:
    """Return what words have in common that differ by numbers and quotes alone."""
    return _VARYING.sub("…", words)


def _stored(site: Site) -> Iterator[tuple[str, LeftOut]]:
    """Yield the section and each row or value that its pages keep as left out."""
    pages = Page.objects.active().filter(section__site=site.name)
    pages = pages.filter(Q(skipped__gt=0) | Q(dropped__gt=0))
    # Pages come by number, so that no section takes the place of all others.
    pages = pages.order_by("number", "section_id")
    rows = pages.values_list(F("section__name"), "problems")
    for section, problems in rows[:MAX_READ]:
        for problem in named(problems):
            yield section, problem


def left_out_of(section: str, site: Site) -> Iterator[tuple[int, int, list[LeftOut]]]:
    """Yield number of each page that leaves something out, how much, and the first.

    No query stays open meanwhile, since a download may be slow.
    """
    pages = Page.objects.of(site.name, section).active().order_by("number")
    pages = pages.filter(Q(skipped__gt=0) | Q(dropped__gt=0))
    rows = pages.values_list("number", F("skipped") + F("dropped"), "problems")
    last = 0
    while some := [*rows.filter(number__gt=last)[:AT_ONCE]]:
        for last, count, problems in some:
            yield last, count, [*named(problems)]


def named(problems: Iterable[Any]) -> Iterator[LeftOut]:
    """Yield what a page leaves out by name, of what it has stored."""
    for problem in problems:
        # Other versions may store other keys: such rows are counted.
        with suppress(TypeError):
            found = LeftOut(**problem)
            if found.action not in NOTES:
                yield found


def _failed_pages(site: Site) -> Mapping[str, list[Item]]:
    """Return the pages that could not be built, those first that were tried most."""
    pages = Page.objects.dirty().filter(is_parked() | has_failed())
    pages = pages.filter(section__site=site.name)
    pages = pages.exclude(section__name=INDEX)
    pages = pages.order_by("-attempts", "section_id", "number")
    rows = pages.values_list(F("section__name"), "number", "attempts", "error")
    found = defaultdict[str, list[Item]](list)
    for section, number, attempts, error in rows[:MAX_PAGES]:
        tried = ngettext("%(count)s attempt", "%(count)s attempts", attempts)
        tried %= {"count": attempts}
        name = _("page %(number)s, %(tried)s") % {"number": number, "tried": tried}
        words = error or str(INTERRUPTED)
        found[section].append(Item(name=name, words=shortened(words)))
    return found


def _of_audit(findings: Mapping[str, Any], audit: str) -> Iterator[Problem]:
    """Yield what the last audit found by rule, errors and what is frequent first."""
    counts, known = findings.get("counts", {}), defaultdict[str, list[Any]](list)
    for problem in findings.get("problems", ()):
        known[problem["rule"]].append(problem)
    for rule in sorted(counts, key=lambda rule: (rule in WARNINGS, -counts[rule])):
        words = _("Warning (%s)") if rule in WARNINGS else _("Error (%s)")
        items = []
        for problem in known[rule][:MAX_FINDINGS]:
            source, line = problem["source"], problem["line"]
            place = f"{source}:{line}" if line else source
            message = shortened(problem["message"])
            items.append(Item(name=shortened(place), words=message))
        yield Problem(
            id=rule,
            subject=_(WORDS.get(rule, rule)),
            count=counts[rule],
            message=words % rule,
            level="warning" if rule in WARNINGS else "error",
            items=items,
            remedy=_("Correct what is listed, or leave it out; then audit them again."),
            command=audit,
        )
