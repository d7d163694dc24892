"""Answers in words: which conditions a row does not meet, and what engines said."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from datetime import date, datetime
from functools import partial, reduce
from typing import Any

from django.db.models import Case, Field, Lookup, Model, Q, Value
from django.db.models.expressions import Col
from django.db.models.functions import Greatest, Least, Now, TruncDate
from django.db.models.lookups import Exact, IsNull
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.models import Delivery, EngineHost, Section, UrlChanges
from django_sitemaps_plus.models.sections import hold_words
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.configuration import get_engines
from django_sitemaps_plus.section import OpenSection
from django_sitemaps_plus.serving.live import live_plan
from django_sitemaps_plus.sources import ModelSource
from django_sitemaps_plus.sources.conditions import Condition, is_present
from django_sitemaps_plus.sources.reading import every_row
from django_sitemaps_plus.tracking.collecting import waiting_changes
from django_sitemaps_plus.tracking.schedule import is_due

from .requests import command_for, has_workers
from .words import at, shortened

#: Values of a list that are named.
MAX_VALUES = 5

#: Each lookup, with or without a leading i, with what it asks of a value.
_ASKS = {
    "exact": gettext_lazy("it must be %s"),
    "gt": gettext_lazy("it must be above %s"),
    "gte": gettext_lazy("it must be %s or more"),
    "lt": gettext_lazy("it must be below %s"),
    "lte": gettext_lazy("it must be %s or less"),
    "in": gettext_lazy("it must be one of %s"),
    "range": gettext_lazy("it must be between: %s"),
    "contains": gettext_lazy("it must contain %s"),
    "startswith": gettext_lazy("it must begin with %s"),
    "endswith": gettext_lazy("it must end with %s"),
}
#: The same of a value that must not be so; others turn to their opposites.
_ASKS_NOT = {
    **dict.fromkeys(("exact", "in"), gettext_lazy("it must not be %s")),
    "contains": gettext_lazy("it must not contain %s"),
}

# A comparison that holds where another does not.
_OPPOSITES = {"gt": "lte", "gte": "lt", "lt": "gte", "lte": "gt"}

#: The answers of engines that have not accepted a URL.
_UNSENT = {
    Delivery.State.WAITING: gettext_lazy("waiting"),
    Delivery.State.DEAD: gettext_lazy("rejected"),
}

#: Errors of a row by their classes, with what has happened; by "" any other.
_MEANS = {
    "NoReverseMatch": gettext_lazy("no address of the site fits its values"),
    "AttributeError": gettext_lazy("something that its entry is made of is missing"),
    "RelatedObjectDoesNotExist": gettext_lazy("a row that it belongs to is missing"),
    "": gettext_lazy("a value of it cannot be listed"),
}


def reasons_of(
    found: Sequence[Condition] | None,
    row: Any,
    shown: Callable[[Any], Collection[str] | None],
    source: ModelSource,
) -> Iterator[str]:
    """Yield in words what ``unmet()`` has found of a row, declared times first.

    ``shown`` gives the names of those fields of a row that may be shown: a condition on
    others is told without values.
    """
    times = ((source.starts, "gt"), (source.ends, "lte"))
    for path, lookup in () if found is None else times:
        if path and _is_shown(path, row, shown):
            passed = Q(pk=row.pk, **{f"{path}__{lookup}": timezone.now()})
            rows = every_row(source).filter(passed).order_by(path)
            for moment in rows.values_list(path, flat=True)[:1]:
                yield _listed(moment, is_early=lookup == "gt")
    for it in found or ():
        hidden = {path for path in it.fields if not _is_shown(path, row, shown)}
        if it.is_never:
            yield _("the section lists no row at all: its query is empty, as by none()")
        elif hidden:
            veiled = _("a condition on fields that you do not see here: %s")
            names = ", ".join([_label(row, path) for path in sorted(hidden - {""})])
            yield veiled % (names or _("those of other rows"))
        else:
            yield _in_words(it, row)
    if found == []:
        yield _("the conditions of the section exclude it together")


def _is_shown(
    path: str, row: Any, shown: Callable[[Any], Collection[str] | None]
) -> bool:
    """Return whether the field at a path may be shown, and each that leads to it."""
    for name in path.split("__"):
        fields = shown(row)
        if fields is not None and name not in fields:
            return False
        row = getattr(row, name, None)
        if not isinstance(row, Model):
            break
    return True


def _label(row: Any, path: str) -> str:
    """Return the verbose name of a field, after those that lead to it."""
    names, model = list[str](), type(row)
    for name in path.split("__"):
        field = model._meta.get_field(name)
        names.append(str(field.verbose_name))
        model = field.related_model
    return ": ".join(names)


def sees_all(row: Model, shown: Collection[str] | None) -> bool:
    """Return whether fields that may be shown are all that a person edits of a row.

    Only then may errors be told, and the text of the row: they may have any value.
    """
    fields = row._meta.concrete_fields
    own = {it.name for it in fields if it.editable and not it.primary_key}
    return shown is None or own <= {*shown}


def plainly(reason: str, *, is_whole: bool = True) -> str:
    """Return why a row is left out in plain words, with the class of the error last.

    Unless ``is_whole``, without what the error says, since that may have values.
    """
    name, colon, said = reason.partition(": ")
    if not colon or not name.isidentifier():  # it is no error
        return reason if is_whole else name
    if not is_whole:
        return f"{_MEANS.get(name, _MEANS[''])} ({name})"
    meaning = f"{_MEANS[name]}: " if name in _MEANS else ""
    return f"{meaning}{shortened(said)} ({name})"


def _in_words(condition: Condition, row: Any, *, is_choice: bool = False) -> str:
    """Return what a condition asks of a row, by the verbose names of fields.

    One of a choice says nothing of when the row is listed.
    """
    if condition.parts:
        words = _("%(one)s, and %(other)s")
        if condition.is_any:
            words = _("%(one)s, or %(other)s")
        is_choice |= condition.is_any
        told = [_in_words(it, row, is_choice=is_choice) for it in condition.parts]
        return reduce(lambda one, other: words % {"one": one, "other": other}, told)
    paths = condition.fields - {""}
    others = {_("other rows")} if "" in condition.fields else set()
    names = ", ".join([*sorted(map(partial(_label, row), paths)), *sorted(others)])
    words = _("it does not meet a condition on: %s") % names
    told_time = "" if is_choice else _timed(condition, row)
    return told_time or _compared(condition, row) or words


def _timed(condition: Condition, row: Any) -> str:
    """Return from or until when a row is listed; "" if no present time decides it."""
    lookup, is_negated = condition.lookup, condition.is_negated
    if isinstance(case := getattr(lookup, "lhs", None), Case):
        [first, *others] = case.cases
        nodes = [*getattr(first.condition, "children", ())]
        is_met = isinstance(lookup, Exact) and first.result == Value(lookup.rhs)
        if others or len(nodes) != 1 or not is_met:
            return ""
        lookup, is_negated = nodes[0], is_negated != first.condition.negated
    if not isinstance(lookup, Lookup) or not (name := lookup.lookup_name):
        return ""
    value, sides = _value(lookup.lhs, row, condition.fields), {name: lookup.rhs}
    if is_negated:
        sides = {_OPPOSITES.get(name, ""): lookup.rhs}
    elif name == "range":
        sides = dict(zip(("gte", "lte"), lookup.rhs, strict=True))
    for side, wanted in sides.items():
        is_early, is_only = side in ("lt", "lte"), len(sides) == 1
        is_time = isinstance(value, datetime if side in ("lt", "gt") else date)
        is_now = is_present(wanted) or (is_only and isinstance(wanted, Now))
        is_told = side in _OPPOSITES and is_time and is_now
        if is_told and (is_only or (value > wanted) == is_early):
            return _listed(value, is_early=is_early)
    return ""


def _value(node: Any, row: Any, paths: Collection[str]) -> Any:
    """Return what an expression is for a row, by known paths; None if nobody knows."""
    if isinstance(node, Col):
        own = [it for it in paths if it.rpartition("__")[2] == node.target.name]
        *links, _name = (own[0] if len(own) == 1 else "").split("__")
        owner = reduce(lambda it, link: getattr(it, link, None), links, row)
        is_known = len(own) == 1 and owner is not None
        return node.target.value_from_object(owner) if is_known else None
    nodes: list[Any] = getattr(node, "get_source_expressions", list)()
    values = [_value(it, row, paths) for it in nodes]
    if None in values or len({*map(type, values)}) != 1:
        return None
    if isinstance(node, TruncDate) and isinstance(moment := values[0], datetime):
        zone = timezone.get_default_timezone()  # as sources are read
        is_aware = timezone.is_aware(moment)
        return timezone.localdate(moment, zone) if is_aware else moment.date()
    if isinstance(node, Greatest | Least):
        return max(values) if isinstance(node, Greatest) else min(values)
    return None


def _compared(condition: Condition, row: Any) -> str:
    """Return what the comparison of a field with a value asks; "" for all others."""
    lookup, is_negated = condition.lookup, condition.is_negated
    field: Any = getattr(getattr(lookup, "lhs", None), "target", None)
    if field is None or not isinstance(lookup, Lookup) or len(condition.fields) != 1:
        return ""
    wanted, name, [path] = lookup.rhs, lookup.lookup_name or "", condition.fields
    name = name[1:] if name[1:] in _ASKS else name
    if isinstance(wanted, Now):
        wanted = timezone.now()
    if hasattr(wanted, "resolve_expression"):  # another column, or a subquery
        return ""
    value, shown = None, {"field": f"{field.model._meta.verbose_name}: "}
    shown["field"] += str(field.verbose_name)
    words = _("%(field)s: %(asked)s")
    if path:  # else there may be many other rows, and as many values
        value = _value(lookup.lhs, row, condition.fields)
        shown = {"field": _label(row, path), "value": in_words(value, field)}
        words = _("%(field)s is %(value)s; %(asked)s")
    if is_negated and name in _OPPOSITES:
        name, is_negated = _OPPOSITES[name], False
    if isinstance(lookup, IsNull):
        is_null = bool(wanted) != is_negated
        asked = _("it must be empty") if is_null else _("it must not be empty")
        return words % {**shown, "asked": asked}
    if name not in (_ASKS_NOT if is_negated else _ASKS):
        return ""
    if name in ("in", "range"):
        wanted = list(wanted)
        told = [in_words(it, field) for it in wanted[:MAX_VALUES]]
        told += ["…"] if len(wanted) > MAX_VALUES else []
        wanted_words = ", ".join(told)
    else:
        told = [in_words(it, field) for it in (value, wanted)]
        if isinstance(wanted, datetime) and told[0] == told[1]:
            told = [in_words(it, has_seconds=True) for it in (value, wanted)]
        shown["value"], wanted_words = told
    asked = (_ASKS_NOT if is_negated else _ASKS)[name] % wanted_words
    return words % {**shown, "asked": asked}


def _listed(moment: Any, *, is_early: bool) -> str:
    words: str = _("listed from %s") if is_early else _("listed until %s")
    is_aware = isinstance(moment, datetime) and timezone.is_aware(moment)
    zone = f" {timezone.localtime(moment):%Z}" if is_aware else ""
    return words % f"{in_words(moment)}{zone}"


def in_words(
    value: Any, field: Field[Any, Any] | None = None, *, has_seconds: bool = False
) -> str:
    """Return the value of a field as the admin would show it."""
    if value is None or value == "":
        return _("empty")
    if isinstance(value, bool):
        return _("Yes") if value else _("No")
    if isinstance(value, datetime):
        with suppress(OverflowError):  # the end of time has no other zones
            value = value if timezone.is_naive(value) else timezone.localtime(value)
        words = date_format(value, "DATETIME_FORMAT")
        return f"{words} ({value:%H:%M:%S})" if has_seconds else words
    if isinstance(value, date):
        return date_format(value, "DATE_FORMAT")
    known = dict(field.flatchoices) if field else {}
    if isinstance(value, str | int) and value in known:
        return str(known[value])
    return shortened(repr(value) if isinstance(value, str) else str(value))


def answers_of_engines(url: str, site: Site, *, is_gone: bool) -> dict[str, str]:
    """Return what each engine has answered about a URL, by its name.

    A URL that is gone is on no page; the last submission may have been of its removal.
    """
    takers = [e.name for e in get_engines().values() if e.takes is Takes.URLS]
    words = _("not submitted yet (a first build is not announced)")
    accepted = _("accepted at %s")
    if is_gone:
        words = _("not submitted, since it is not listed")
        accepted = _("its last submission was accepted at %s")
    found = dict.fromkeys(takers, words)
    stopped = EngineHost.objects.filter(site=site.name).exclude(parked_reason="")
    stopped_at = {*stopped.values_list("engine", "host")}
    for delivery in Delivery.objects.filter(site=site.name, wanted__gt=0).to([url]):
        if delivery.sent_at and delivery.state == Delivery.State.SENT:
            words = accepted % at(delivery.sent_at)
        elif delivery.state == Delivery.State.DEAD:
            words = _("rejected: %s") % delivery.error
        else:
            words = _("next submission at %s") % at(delivery.not_before)
            if delivery.not_before <= timezone.now():
                words = _("waits to be submitted")
            if (delivery.engine, delivery.host) in stopped_at:
                words = _("waits until the engine is resumed")
            if delivery.error:
                words = f"{words}: {delivery.error}"
        found[delivery.engine] = words
    return found


def read_changes(section: str, site: Site) -> list[dict[str, Any]]:
    """Return the last URL changes that engines were notified of, the newest first.

    The engines of each say so themselves where they have not accepted the URL.
    """
    rows = UrlChanges.objects.filter(section__site=site.name, section__name=section)
    latest = rows.values_list("latest", flat=True).first() or ()
    engines = {name for it in latest for name in it.get("engines", ())}
    sent = Delivery.objects.filter(site=site.name, engine__in=engines)
    sent = sent.to({it["url"] for it in latest}).exclude(state=Delivery.State.SENT)
    states = {(it.target, it.engine): _UNSENT[Delivery.State(it.state)] for it in sent}

    def said(change: dict[str, Any], engine: str) -> str:
        state = states.get((change["url"], engine))
        return f"{engine} ({state})" if state else engine

    return [
        {
            **it,
            "at": datetime.fromisoformat(it["at"]),
            "engines": [said(it, name) for name in it.get("engines", ())],
        }
        for it in latest
    ]


def delay_of(opened: OpenSection, *keys: Any, is_over: bool = False) -> str:
    """Return why a row that is listed by now is on no page, or the other way round."""
    name, site = opened.name, opened.site
    section = Section.objects.filter(site=site.name, name=name).first()
    if section is not None and section.fault:
        return _("the section could not be built: %s") % section.fault
    command = command_for("build_sitemaps", site, name)
    if section is None or not section.pages.exists():
        if (plan := live_plan(opened)) and not plan.ranges:
            return _("the section is too large to be served before it is built")
        return _("it waits for a build: run %s") % command
    if section.hold_reason:
        why = hold_words(section.hold_reason, section.hold_numbers)
        run = command_for("build_sitemaps", site, name, "--allow-shrink")
        held = _(
            "the section waits for your approval: %(why)s. To give it, run %(run)s"
        )
        return held % {"why": why, "run": run}
    dirty = section.pages.active().filter(is_dirty=1)
    if error := dirty.exclude(error="").values_list("error", flat=True).first():
        words: str = _("a page of the section could not be built: %s") % error
        return words
    if dirty.exists() or waiting_changes([name]):
        return _("it waits for a build: run %s") % command
    if is_due(opened, section, keys):
        words = _("its time has come; the next build lists it")
        if is_over:
            words = _("its time is over; the next build removes it")
        return words if has_workers() else f"{words}: {command}"
    command = command_for("build_sitemaps", site, name, "--full")
    return _("nobody has recorded that it changed: run %s") % command


def removal_of(url: str, section: str, changes: Iterable[Any]) -> list[str]:
    """Say when a section lost a URL, by its changes, the newest first; [] if not."""
    for it in [it for it in changes if it["url"] == url][:1]:
        if it["kind"] == "removed":
            words = _("It was removed from section %(section)r: %(at)s.")
            return [words % {"section": section, "at": at(it["at"])}]
    return []
