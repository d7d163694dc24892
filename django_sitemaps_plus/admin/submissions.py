"""The submissions: which URLs wait for an engine, and what it made of the others."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

from django.contrib.admin import AdminSite
from django.http import Http404, HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.encoding import uri_to_iri
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_safe

from django_sitemaps_plus.conf import Site, get_settings, in_force
from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.models.deliveries import DeliveryQuerySet
from django_sitemaps_plus.site_urls import as_listed
from django_sitemaps_plus.sites import silence_reason

from .pages import chosen_site, known_sites, show

#: Rows that are shown at once, and rows that a text is looked for in.
AT_ONCE, LATEST = 100, 10_000

#: By their names in URLs: each with its word, and the field that says since when.
STATES: dict[str, tuple[Delivery.State, Any, str]] = {
    "waiting": (Delivery.State.WAITING, _("waiting"), "changed_at"),
    "rejected": (Delivery.State.DEAD, _("rejected"), "dead_since"),
    "accepted": (Delivery.State.SENT, _("accepted"), "sent_at"),
}


@require_safe
def submissions(request: HttpRequest, admin_site: AdminSite) -> HttpResponse:
    """Show what engines were sent, or are to be sent, by engine and state."""
    sites, fault = known_sites(request)
    context: dict[str, Any] = {"fault": fault, "sites": sites, "latest": LATEST}
    if sites:
        context["site"] = site = chosen_site(request)
        with in_force(site):
            context |= _chosen(request, site)
    return show(request, admin_site, "submissions", "submissions.html", **context)


def _chosen(request: HttpRequest, site: Site) -> dict[str, Any]:
    """Return the rows that a request asks for, or raise Http404."""
    names = ("engine", "state", "q", "after")
    engine, state, text, key = [request.GET.get(it, "") for it in names]
    state, q = state or "waiting", text.strip()
    hosts = EngineHost.objects.filter(site=site.name).values_list("engine", flat=True)
    engines = sorted({*get_settings().engines, *hosts})
    if state not in STATES or engine not in ("", *engines):
        raise Http404("No such engine or state")

    asked = [engine] if engine else engines
    rows = Delivery.objects.filter(site=site.name, wanted__gt=0)  # 0: feeds that left
    exact: list[Delivery] = []
    if q:
        meant = {q}
        with suppress(ValueError):  # it is a part of a URL
            meant.add(as_listed(q, site))
        exact = [*rows.filter(engine__in=asked).to(meant).order_by("engine", "id")]
    after = int(key) if key.isdecimal() and len(key) < 19 else 0
    in_state, most = rows.filter(state=STATES[state][0]), LATEST if q else AT_ONCE + 1
    read, part = exact or _read(in_state, asked, after, most), q.casefold()
    found = exact or [
        it for it in read if part in f"{it.target} {unquote(it.target)}".casefold()
    ]
    following = read[-1].pk if len(read) == LATEST else None
    if len(found) > AT_ONCE:
        following = found[AT_ONCE - 1].pk

    words = {it: (name, word, since) for name, (it, word, since) in STATES.items()}
    shown = []
    for row in found[:AT_ONCE]:
        name, word, since = words[Delivery.State(row.state)]
        url = row.target if row.target.startswith(("http://", "https://")) else ""
        shown.append(
            (row, url, uri_to_iri(row.target), name, word, getattr(row, since))
        )
    chosen = {"engine": engine, "engines": engines, "state": state, "states": STATES}
    page = {"rows": shown, "following": following, "now": timezone.now()}
    said = {"silence": silence_reason(), "is_exact": bool(exact)}
    return {**chosen, **page, **said, "q": q}


def _read(
    rows: DeliveryQuerySet, engines: Sequence[str], after: int, most: int
) -> list[Delivery]:
    """Return rows from the latest on, or after one; each query seeks in an index."""
    parts = [rows.filter(engine=engine) for engine in engines]
    last = rows.filter(engine__in=engines, pk=after).first() if after else None
    if last is not None:  # else it has left the state, so that all begins anew
        here, *others = parts[engines.index(last.engine) :]
        host = here.filter(host=last.host)
        parts = [
            host.filter(not_before=last.not_before, id__lt=last.pk),
            host.filter(not_before__lt=last.not_before),
            here.filter(host__lt=last.host),
            *others,
        ]
    found: list[Delivery] = []
    for part in parts:  # in the order of the index, backwards
        ordered = part.order_by("-host", "-not_before", "-id")
        found += ordered[: most - len(found)]  # 0 of them take no query
    return found
