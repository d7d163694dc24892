"""Rows and values that pages leave out, by what is wrong with them."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import suppress
from typing import TypeAlias

from django.db.models import F, Model, Q
from django.template.defaultfilters import floatformat
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.sources.lines import NOTES, LeftOut

from .problem import Item, Problem, rebuilt, shortened
from .status import SectionStatus

#: Pages of a site whose problems are read, reasons that are told apart, and rows of
#: each that are named.
MAX_PAGES, MAX_REASONS, MAX_ROWS = 500, 50, 20

#: Returns the page of an object, by its model and key; "" where there is none, and None
#: where the reader may not see such objects.
Link: TypeAlias = Callable[[type[Model], str], str | None]

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
        gettext_lazy(
            "Correct these rows, or leave them out in get_queryset(): the next build "
            "lists what was saved. After a change of the source, rebuild the section."
        ),
    ),
    _DROPPED: (
        gettext_lazy("entries without %s"),
        gettext_lazy(
            "They are listed without this value. Correct it: the next build lists what "
            "was saved. After a change of the source, rebuild the section."
        ),
    ),
    _REPEATED: (
        gettext_lazy("rows that the query repeats"),
        gettext_lazy(
            "Each is listed once. Correct the query, then rebuild the section."
        ),
    ),
}


def left_out(
    site: Site, sections: Collection[SectionStatus], link: Link
) -> Iterator[Problem]:
    """Yield what pages of sections leave out, by reason, most first; by one query.

    The rest comes last: a page names the first ones, and only counts the others.
    """
    names = {it.section for it in sections}
    found = defaultdict[tuple[str, str, str, str], list[LeftOut]](list)
    for section, problem in _stored(site):
        if section in names:
            reason = _VARYING.sub("…", problem.reason)
            found[section, problem.action, problem.field, reason].append(problem)
    named = Counter[tuple[str, str]]()
    most_first = sorted(found.items(), key=lambda item: -len(item[1]))
    for (section, action, field, reason), problems in most_first[:MAX_REASONS]:
        counted_as = _DROPPED if action == _REPEATED else action
        named[section, counted_as] += len(problems)
        title, remedy = map(str, _WORDING.get(action, _WORDING[_SKIPPED]))
        yield Problem(
            id=action,
            count=len(problems),
            message=f"{title.replace('%s', field)}: {reason}",
            level="warning",
            items=_items(section, problems, link),
            remedy=remedy,
            **rebuilt(section, site),
        )
    for it in sections:
        totals = (
            (_("more rows"), it.skipped, _SKIPPED),
            (_("more values"), it.dropped, _DROPPED),
        )
        for title, total, action in totals:
            if total <= (known := named[it.section, action]):
                continue
            words = _("%(named)s of %(total)s are named.")
            shown = {"named": floatformat(known, "g"), "total": floatformat(total, "g")}
            yield Problem(
                id="rows_unnamed",
                count=total - known,
                message=f"{title}: {words % shown}",
                level="warning",
                remedy=_(
                    "Each page names only the first that it leaves out. Once these are "
                    "corrected, a build names the next."
                ),
                **rebuilt(it.section, site),
            )


def _stored(site: Site) -> Iterator[tuple[str, LeftOut]]:
    """Yield the section and each row or value that its pages keep as left out."""
    pages = Page.objects.active().filter(section__site=site.name)
    pages = pages.filter(Q(skipped__gt=0) | Q(dropped__gt=0))
    # Pages come by number, so that no section takes the place of all others.
    pages = pages.order_by("number", "section_id")
    rows = pages.values_list(F("section__name"), "problems")
    for section, problems in rows[:MAX_PAGES]:
        for problem in problems:
            # Other versions may store other keys: such rows are counted.
            with suppress(TypeError):
                found = LeftOut(**problem)
                if found.action not in NOTES:
                    yield section, found


def _items(section: str, problems: Sequence[LeftOut], link: Link) -> list[Item]:
    """Return the rows, the first with the whole reason as an example."""
    models = reader_of(registry.get(section)).tracked_models
    listed = {model._meta.label: model for model in models}
    rows = {problem.row: problem for problem in problems}  # each has all its languages
    items: list[Item] = []
    for problem in list(rows.values())[:MAX_ROWS]:
        model = listed.get(problem.model)
        words = "" if items else shortened(problem.reason)
        url = link(model, problem.key) if model else ""
        if url is None:
            continue
        items.append(Item(name=problem.row, words=words, url=url))
    return items
