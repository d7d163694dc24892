"""Answers: what Django answers for the index of a site, as anonymous clients get it.

The project is asked in this process, through its middleware, for the index and for
some of the pages that it lists. A web server or a CDN in front of it is not seen.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from random import shuffle
from threading import Thread
from time import monotonic
from typing import Any
from urllib.parse import unquote, urlsplit

from django.conf import settings
from django.core.cache import caches
from django.db import Error, connections, transaction
from django.db.models import Q
from django.urls import NoReverseMatch, resolve
from django.utils import timezone
from django.utils.translation import gettext as _

from django_sitemaps_plus import cache
from django_sitemaps_plus.building.settle import mark_damaged
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.entry_lines import entries_in
from django_sitemaps_plus.core.gzip import inflate
from django_sitemaps_plus.core.robots import parse_robots
from django_sitemaps_plus.core.xml import printable
from django_sitemaps_plus.models import INDEX, Section
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.serving.live import LiveFault, live_faults
from django_sitemaps_plus.site_urls import INCLUDED, index_url, page_url
from django_sitemaps_plus.sites import origin_setting

from .asking import ask
from .words import shortened

#: How long an answer counts.
KNOWN = timedelta(minutes=5)

#: How long ago a look was that nobody has asked for, before the next one.
INTERVAL = timedelta(seconds=60)

#: Seconds for which answers are waited for, those of all sites together.
PATIENCE = 10.0

#: Pages that a look asks for, and seconds in which it begins to ask for them.
MAX_PAGES, PAGES_SECONDS = 50, 0.5

#: Characters that are kept of an error, or of where a redirect leads.
MAX_WORDS = 2_000

# Bytes of a document in which its root begins.
_HEAD = 4_000

_LACKING = "with no sitemap"

# The URLs of pages, without what the project has before them.
_URLS = "django_sitemaps_plus.urls"

_looks: dict[str, _Look] = {}  # the last by the name of the site


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """An answer of Django for the index of a site."""

    url: str  # "" where no URL leads to our views
    at: str  # when Django was asked, in ISO 8601
    since: str = ""  # since when it has been unwell; "" while it is well
    status: int = 0  # 0: there was no answer
    seconds: float = 0.0
    size: int = 0  # bytes, as they are sent
    said: str = ""  # why there is no sitemap, as far as that is known
    leads_to: str = ""  # where it redirects to
    is_ours: bool = False  # whether a view of ours answered
    is_sitemap: bool = False
    is_named: bool | None = None  # whether robots.txt names it; None: nobody knows
    is_disallowed: bool = False  # by robots.txt
    #: The number of a page that fails, why and since when, by the name of a section.
    faults: dict[str, tuple[int, str, str]] = field(default_factory=dict)

    @property
    def looked_at(self) -> datetime:
        """When Django was asked."""
        return datetime.fromisoformat(self.at)

    @property
    def unwell_since(self) -> datetime | None:
        """Since when it has been unwell; None while it is well."""
        return datetime.fromisoformat(self.since) if self.since else None

    @property
    def is_known(self) -> bool:
        """Whether the answer still counts; a clock may have been set back since."""
        return bool(self.url) and abs(timezone.now() - self.looked_at) <= KNOWN

    @property
    def is_well(self) -> bool:
        """Whether a crawler got a sitemap."""
        return self.status == 200 and self.is_sitemap

    @property
    def live_faults(self) -> dict[str, LiveFault]:
        """Faults that keep pages from crawlers, by the names of sections."""
        moment, met = datetime.fromisoformat, self.faults if self.is_known else {}
        return {
            name: LiveFault(number, words, moment(since), self.looked_at)
            for name, (number, words, since) in met.items()
        }

    @property
    def is_empty(self) -> bool:
        """Whether no section has an entry, so that there is no index."""
        return self.status == 404 and self.is_ours

    def in_words(self, site: Site) -> tuple[str, str]:
        """Return what keeps crawlers from it, and what to do about it."""
        message = _("Django answers %(status)s for %(url)s.")
        remedy = _("Fix the error; the log says more.")
        if not self.status:
            message = _("Django does not answer for %(url)s.")
        elif self.is_empty:
            message = _(
                "Django answers %(status)s for %(url)s, since nothing is listed."
            )
            remedy = _("See that sections are registered, and that they have rows.")
        elif self.is_well:
            message = _("robots.txt disallows %(url)s, so crawlers do not read it.")
            remedy = _("Add 'Allow: %s' to its rules.")
            remedy %= urlsplit(self.url).path.removesuffix(".xml")
        elif self.status == 400:
            remedy = _("Add '%s' to ALLOWED_HOSTS.") % urlsplit(self.url).hostname
        elif self.leads_to:
            to = {"setting": origin_setting(site), "url": shortened(self.leads_to)}
            words = _("Correct %(setting)s: it leads to %(url)s")
            if self.leads_to.startswith("/"):  # on the same host
                words = _("Answer it without a login or prefix: it leads to %(url)s")
            remedy = words % to
        elif self.status == 200 and self.is_ours:
            remedy = _(
                "Something in MIDDLEWARE changes it: leave sitemaps out of that."
            )
        elif self.status in (200, 404):
            remedy = _("Put %s first in ROOT_URLCONF.") % INCLUDED
        if self.status == 200 and not self.is_well:
            message = _("Django answers for %(url)s, but with no sitemap.")
        shown = {"url": self.url, "status": self.status}
        return f"{message % shown} {shortened(self.said)}".rstrip(), remedy


class _Look(Thread):
    """A request for the index of one site, with connections of its own."""

    def __init__(self, site: Site) -> None:
        super().__init__(name="sitemaps_plus.answers", daemon=True)
        self.site = site
        self.answer: Answer | None = None
        self.until = monotonic() + PATIENCE

    def run(self) -> None:
        try:
            for answer in _looks_at(self.site):
                self.answer = answer
        finally:
            connections.close_all()
            caches.close_all()

    def wait(self, until: float) -> Answer | None:
        """Return the answer; None where it began too late to say that there is none."""
        self.join(max(0.0, min(until, self.until) - monotonic()))
        is_late = self.is_alive() and until >= self.until - PATIENCE / 10
        return self.answer or (_unanswered(self.site) if is_late else None)


def look(*sites: Site) -> dict[str, Answer]:
    """Ask Django for the index of sites, one after the other, and keep the answers.

    That happens in threads of their own: neither the language, the site nor the
    connections of the caller count. Inside a transaction, whose rows another thread
    does not see and might wait for, the caller's thread asks.

    Returns:
        The answers by the name of the site; none for what is not known, since time was
        over before, or no thread can be started.
    """
    found: dict[str, Answer] = {}
    until = monotonic() + PATIENCE
    is_in_transaction = _is_in_transaction()
    for site in sites:
        if is_in_transaction:
            with _rolled_back():
                answer: Answer | None = [*_looks_at(site)][-1]
        else:
            if monotonic() >= until:
                break
            asked = _looks.get(site.name)
            if asked is None or not asked.is_alive():  # else it hangs, and is enough
                asked = _looks[site.name] = _Look(site)
                try:
                    asked.start()
                except RuntimeError:  # the process can have no more of them
                    continue
            answer = asked.wait(until)
        if answer is not None:
            found[site.name] = _kept(site, answer)
    return found


@contextmanager
def _rolled_back() -> Iterator[None]:
    """Keep a query that fails from the transactions that the caller is in."""
    with ExitStack() as stack:
        opened = connections.all(initialized_only=True)
        aliases = [it.alias for it in opened if it.in_atomic_block]
        for alias in aliases:
            stack.enter_context(transaction.atomic(using=alias))
        yield
        for alias in aliases:
            transaction.set_rollback(True, using=alias)


def look_now_and_then(*sites: Site) -> dict[str, Answer]:
    """Look at those of sites at which no process has looked for a minute.

    Not inside a transaction, which is the work of others.
    """
    if _is_in_transaction():
        return {}
    lately, due = Q(asked_at__gt=Now() - INTERVAL), list[Site]()
    with suppress(Error), contained():  # whoever reads the rows says what is wrong
        rows = Section.objects.filter(lately, name=INDEX)
        asked = set(rows.values_list("site", flat=True))
        for site in [it for it in sites if it.name not in asked]:
            if Section.objects.note_of_index(site.name, ~lately, asked_at=Now()):
                due.append(site)
    return look(*due)


def stored_answer(kept: dict[str, Any] | None, site: Site) -> Answer | None:
    """Return the answer that a row keeps; None where it is not one of this site.

    Another version, another time zone support or another origin may have kept it.
    """
    with suppress(AttributeError, TypeError, ValueError):
        answer = Answer(**(kept or {}))
        is_of_site = answer.url.startswith(site.origin) or not answer.url
        if is_of_site and timezone.is_aware(answer.looked_at) == settings.USE_TZ:
            return answer
    return None


def _is_in_transaction() -> bool:
    opened = connections.all(initialized_only=True)
    return any([connection.in_atomic_block for connection in opened])


def _kept(site: Site, answer: Answer) -> Answer:
    """Keep an answer with the index of a site, with the time since it is unwell."""
    with suppress(Error), contained():  # whoever reads the rows says what is wrong
        if not cache.is_shared():  # builds do not know what the views have noted
            mark_damaged(forgets=False)
        rows = Section.objects.filter(site=site.name, name=INDEX)
        if not answer.is_well:
            last = stored_answer(rows.values_list("answer", flat=True).first(), site)
            since = last.since if last and last.since else answer.at
            answer = replace(answer, since=since)
        Section.objects.note_of_index(site.name, answer=asdict(answer))
    return answer


def _unanswered(site: Site) -> Answer:
    url = f"{site.origin}{site.script_prefix}sitemap.xml"
    said = f"there was no answer within {PATIENCE:.0f} s"
    at = timezone.now().isoformat()
    return Answer(url=url, at=at, seconds=PATIENCE, said=said)


def _looks_at(site: Site) -> Iterator[Answer]:
    """Yield the answer for the index; then again, with more that is known."""
    answer, urls = _look(site)
    yield answer
    if answer.status and site.script_prefix == "/":
        yield (answer := replace(answer, **_of_robots(answer.url, site)))
    if answer.is_ours:
        yield replace(answer, faults=_faults(urls, site))


def _look(site: Site) -> tuple[Answer, list[str]]:
    """Return the answer for the index, and the URLs that it lists."""
    began, given, urls = monotonic(), dict[str, Any](), list[str]()
    unanswered = _unanswered(site)
    try:
        given["url"] = url = index_url(site)
        response = ask(url, site, HTTP_ACCEPT_ENCODING="gzip")
        size, text, is_sitemap = _read(response)
        urls = [it for it, *_others in entries_in(text.decode(errors="replace"))]
        given |= {
            "status": response.status_code,
            "size": size,
            "said": printable(response.fault)[:MAX_WORDS],
            "leads_to": printable(response.headers.get("Location", ""))[:MAX_WORDS],
            "is_ours": response.is_ours,
            "is_sitemap": is_sitemap,
        }
    except NoReverseMatch as error:  # the project has views of its own, or none
        given = {"url": "", "said": in_one_line(error)[:MAX_WORDS]}
    except Exception as error:  # noqa: BLE001 - whatever the project raises
        given["said"] = printable(in_one_line(error))[:MAX_WORDS]
    answer = replace(unanswered, seconds=round(monotonic() - began, 3), **given)
    return answer, urls


def _read(response: Any) -> tuple[int, bytes, bool]:
    """Return the bytes sent, the plain bytes, and whether they are of a sitemap."""
    if getattr(response, "is_async", False):  # it cannot be read here
        kind = response.headers.get("Content-Type", "")
        return 0, b"", kind.startswith(("application/xml", "text/xml"))
    content = text = response.getvalue()
    if response.headers.get("Content-Encoding") == "gzip":
        with suppress(ValueError):  # it is damaged
            text = inflate(content)
    head = text[:_HEAD]
    return len(content), text, b"<sitemapindex" in head or b"<urlset" in head


def _of_robots(url: str, site: Site) -> dict[str, Any]:
    """Return whether the robots.txt of Django names the sitemap, and disallows it.

    A web server may have one of its own where Django has none.
    """
    with suppress(Exception):  # whatever the project raises
        response = ask(f"{site.origin}/robots.txt", site)
        if response.status_code == 200 or response.status_code >= 500:
            line = rf"^\s*sitemap:\s*{re.escape(url)}\s*$"
            text = response.getvalue().decode("utf-8-sig", "replace")
            is_named = re.search(line, text, re.IGNORECASE | re.MULTILINE) is not None
            is_allowed = parse_robots(text, "googlebot").allows(urlsplit(url).path)
            return {"is_named": is_named, "is_disallowed": not is_allowed}
    return {}


def _faults(urls: list[str], site: Site) -> dict[str, tuple[int, str, str]]:
    """Ask for pages, those first that have failed; return what keeps some of them.

    The views note live pages that fail, and files that are missing or damaged. Any
    other answer than a sitemap is of a middleware, or of a view in front of ours.
    """
    until, known = monotonic() + PAGES_SECONDS, live_faults(site)
    met = dict[str, LiveFault]()
    with suppress(Exception), contained():  # what failed before is a hint alone
        rows = Section.objects.filter(site=site.name, name=INDEX)
        last = stored_answer(rows.values_list("answer", flat=True).first(), site)
        known = {**(last.live_faults if last else {}), **known}
    failed = {page_url(name, it.number or 1, site) for name, it in known.items()}
    shuffle(urls)
    urls.sort(key=lambda it: it not in failed)
    for url in urls[:MAX_PAGES]:
        if monotonic() > until:
            break
        with suppress(Exception):  # whatever the project raises
            response = ask(url, site, HTTP_ACCEPT_ENCODING="gzip")
            code, to = response.status_code, response.headers.get("Location", "")
            # A kept index lists pages that are gone; no crawler asks for so many (429).
            is_fine = code == 429 or (code in (404, 410) and response.is_ours)
            if not is_fine and not (code == 200 and _read(response)[2]):
                page = resolve(f"/{unquote(url.rpartition('/')[2])}", _URLS).kwargs
                words = response.fault or f"Django answers {code} {to or _LACKING}"
                name, now = page["section"], timezone.now()
                since = known[name].since if name in known else now
                met.setdefault(name, LiveFault(int(page["number"]), words, since, now))
    noted = {name: it for name, it in live_faults(site).items() if it.is_recent}
    return {
        name: (it.number, printable(it.words)[:MAX_WORDS], it.since.isoformat())
        for name, it in {**met, **noted}.items()
    }
