"""What pages leave out: rows and values, by what is wrong with them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import TypeAlias

from django.db.models import F, Model, Q
from django.template.defaultfilters import floatformat
from django.utils.translation import gettext as _

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import reader_of

from .problem_groups import Group, Item, rebuilt, shortened
from .status import SectionStatus

#: Pages of a site whose problems are read, reasons that are told apart, and rows of
#: each that are named.
MAX_PAGES, MAX_REASONS, MAX_ROWS = 500, 50, 20

#: Returns the page of an object, by its model and key; "" where there is none.
Link: TypeAlias = Callable[[type[Model], str], str]

# What a page says of a row that it does not list, and of a value: its name follows.
_ROW, _VALUE = "left out", "listed without "

# A sentence of a Tally: a row, mostly by its model and key; what happened; and why. A
# key whose representation has escapes is not read.
_KEY = r"""-?[0-9]+|(?:UUID\()?(?P<quote>['"])(?:(?!(?P=quote))[^\\])*(?P=quote)\)?"""
_SENTENCE = re.compile(
    rf"\A(?P<row>(?P<model>\w+) (?P<key>{_KEY})|.*?) "
    rf"(?P<what>{_ROW}|listed once|{_VALUE}[^:]{{1,50}}): (?P<reason>.*)",
    re.DOTALL,
)

# What differs from row to row: texts in quotes, which may have been cut, and numbers.
_VARYING = re.compile(
    r"""(?<!\w)(['"])(?:\\.|[^\\])*?(?:\1(?!\w)|\Z)|-?[0-9]+(?:[.,:-][0-9]+)*""",
    re.DOTALL,
)

_Match: TypeAlias = re.Match[str]


def left_out(
    site: Site, sections: Collection[SectionStatus], link: Link
) -> Iterator[Group]:
    """Yield what pages of sections leave out, by reason, most first; by one query.

    What they only count, since a page names but the first, comes last.
    """
    named = Counter[tuple[str, bool]]()
    for (section, what, reason), matches in _by_reason(site, sections):
        named[section, what == _ROW] += len(matches)
        title, remedy = _said(what)
        yield Group(
            title=f"{section}: {title}",
            count=len(matches),
            words=reason,
            is_warning=True,
            items=_items(section, matches, link),
            remedy=remedy,
            **rebuilt(section, site),
        )
    for it in sections:
        totals = (
            (_("more rows"), it.skipped, True),
            (_("more values"), it.dropped, False),
        )
        for title, total, is_row in totals:
            if total > (known := named[it.section, is_row]):
                yield _only_counted(it.section, title, known, total, site)


def _by_reason(
    site: Site, sections: Collection[SectionStatus]
) -> list[tuple[tuple[str, str, str], list[_Match]]]:
    names = {it.section for it in sections}
    found = defaultdict[tuple[str, str, str], list[_Match]](list)
    for section, problem in _problems(site):
        match = _SENTENCE.fullmatch(problem)
        if match and section in names:
            reason = _VARYING.sub("…", match["reason"])
            found[section, match["what"], reason].append(match)
    return sorted(found.items(), key=lambda item: -len(item[1]))[:MAX_REASONS]


def _problems(site: Site) -> Iterator[tuple[str, str]]:
    """Yield the section and the words of each problem that pages keep."""
    pages = Page.objects.active().filter(section__site=site.name)
    pages = pages.filter(Q(skipped__gt=0) | Q(dropped__gt=0))
    # By number, so that no section takes the place of all others.
    pages = pages.order_by("number", "section_id")
    rows = pages.values_list(F("section__name"), "problems")
    for section, problems in rows[:MAX_PAGES]:
        yield from [(section, problem) for problem in problems]


def _said(what: str) -> tuple[str, str]:
    if what == _ROW:
        return _("rows left out"), _(
            "Correct these rows, or leave them out in get_queryset(): the next build "
            "lists what was saved. After a change of the source, rebuild the section."
        )
    if not what.startswith(_VALUE):
        return _("rows that the query repeats"), _(
            "Each is listed once. Correct the query, then rebuild the section."
        )
    title = _("entries without %s") % what.removeprefix(_VALUE)
    return title, _(
        "They are listed without this value. Correct it: the next build lists what was "
        "saved. After a change of the source, rebuild the section."
    )


def _items(section: str, matches: Sequence[_Match], link: Link) -> list[Item]:
    """Return the rows, the first with the whole reason as an example."""
    models = _models_of(section)
    items: list[Item] = []
    rows = {match["row"]: match for match in matches}  # each has all its languages
    for match in list(rows.values())[:MAX_ROWS]:
        model, key = models.get(match["model"] or ""), _key(match)
        words = "" if items else shortened(match["reason"])
        url = link(model, key) if model else ""
        items.append(Item(name=match["row"], words=words, url=url))
    return items


def _models_of(section: str) -> dict[str, type[Model]]:
    """Return the models whose rows a section lists, by the names of their classes."""
    models = reader_of(registry.get(section)).tracked_models
    return {model.__name__: model for model in models}


def _key(match: _Match) -> str:
    key = (match["key"] or "").removeprefix("UUID(").removesuffix(")")
    return key[1:-1] if match["quote"] else key


def _only_counted(
    section: str, title: str, named: int, total: int, site: Site
) -> Group:
    words = _("%(named)s of %(total)s are named.")
    shown = {"named": floatformat(named, "g"), "total": floatformat(total, "g")}
    return Group(
        title=f"{section}: {title}",
        count=total - named,
        words=words % shown,
        is_warning=True,
        remedy=_(
            "Each page names only the first that it leaves out. Once these are "
            "corrected, a build names the next."
        ),
        **rebuilt(section, site),
    )
