"""Answers: what Django answers for the index of a site, as anonymous clients get it.

The project is asked in this process, through its middleware. A web server or a CDN in
front of it is not seen.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from io import BytesIO
from queue import Empty, SimpleQueue
from threading import Thread
from time import monotonic
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.handlers.base import BaseHandler
from django.core.handlers.wsgi import WSGIRequest
from django.db import Error, connections
from django.http.request import validate_host
from django.urls import NoReverseMatch, set_script_prefix
from django.utils import timezone

from django_sitemaps_plus import cache
from django_sitemaps_plus.conf import Site, get_site
from django_sitemaps_plus.core.gzip import inflate
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.models.base import contained
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.site_urls import index_url
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.sources import surroundings

#: How long it is known what Django answers.
KNOWN = timedelta(minutes=5)

#: Seconds between two looks that nobody asks for.
INTERVAL = 60

#: Seconds for which an answer is waited for.
PATIENCE = 10.0

# Bytes of a document in which its root begins.
_HEAD = 4_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What Django answered for the index of a site."""

    url: str = ""  # "" where no URL leads to our views
    status: int = 0  # 0: there was no answer
    seconds: float = 0.0
    size: int = 0  # bytes, as they are sent
    said: str = ""  # why there is no sitemap, as far as that is known
    leads_to: str = ""  # where it redirects to
    is_ours: bool = False  # one of our views answered
    is_sitemap: bool = False
    at: str = ""  # in ISO 8601

    @property
    def looked_at(self) -> datetime:
        """When Django was asked."""
        return datetime.fromisoformat(self.at)

    @property
    def is_known(self) -> bool:
        """Whether it is known from this that Django answers, or does not."""
        return bool(self.url) and timezone.now() - self.looked_at <= KNOWN

    @property
    def is_well(self) -> bool:
        """Whether a crawler got a sitemap."""
        return self.status == 200 and self.is_sitemap


def look(site: Site) -> Answer:
    """Ask Django for the index of a site, and keep the answer.

    That happens in a thread of its own, with connections of its own: neither the
    language nor the site of the caller counts. Inside a transaction, whose rows another
    thread does not see and might wait for, this thread asks.
    """
    if _is_in_transaction():
        with surroundings(site):
            answer = _ask(site)
    else:
        answers = SimpleQueue[Answer]()

        def run() -> None:
            try:
                answers.put(_ask(site))
            finally:
                connections.close_all()

        Thread(target=run, name="sitemaps_plus.answers", daemon=True).start()
        try:
            answer = answers.get(timeout=PATIENCE)
        except Empty:
            said = f"there was no answer within {PATIENCE:.0f} s"
            answer = Answer(**_asked(site), seconds=PATIENCE, said=said)

    with suppress(Error), contained():  # whoever reads the rows says what is wrong
        Section.objects.note_of_index(site.name, answer=asdict(answer))
    return answer


def look_now_and_then(site: Site, known: Answer | None = None) -> Answer | None:
    """Look if the last look was long ago; return the answer that is the latest.

    Not inside a transaction, which is the work of others.
    """
    moment = timezone.now() - timedelta(seconds=INTERVAL)
    if (known and known.looked_at > moment) or _is_in_transaction():
        return known
    if not cache.first_to(f"answers:{site.name}", INTERVAL):
        return known
    return look(site)


def look_after_build(**kwargs: Any) -> None:
    """Look, as a receiver of ``build_finished``: what was published changes answers."""
    look_now_and_then(get_site())


def stored_answer(kept: dict[str, Any] | None) -> Answer | None:
    """Return the answer that a row keeps; None where it has none that is understood."""
    try:
        answer = Answer(**kept) if kept else None
        is_ours = answer and timezone.is_aware(answer.looked_at) == settings.USE_TZ
    except (TypeError, ValueError):  # of another version
        return None
    return answer if is_ours else None


def _is_in_transaction() -> bool:
    opened = connections.all(initialized_only=True)
    return any([connection.in_atomic_block for connection in opened])


def _ask(site: Site) -> Answer:
    began, given = monotonic(), _asked(site)
    try:
        with in_force(None):  # the host of the request chooses the site
            given["url"] = index_url(site)
            given |= _answer(given["url"], site)
    except NoReverseMatch as error:  # it has views of its own, or none
        given |= {"url": "", "said": in_one_line(error)}
    except Exception as error:  # noqa: BLE001 - whatever the project raises
        given["said"] = in_one_line(error)
    return Answer(**given, seconds=round(monotonic() - began, 3))


def _asked(site: Site) -> dict[str, Any]:
    """Return what is known before there is an answer."""
    url = f"{site.origin}{site.script_prefix}"
    return {"url": url, "at": timezone.now().isoformat()}


def _answer(url: str, site: Site) -> dict[str, Any]:
    parts, prefix = urlsplit(url), site.script_prefix
    host, allowed = parts.netloc, settings.ALLOWED_HOSTS or ["localhost"]
    if settings.DEBUG and not validate_host(parts.hostname or "", allowed):
        host = allowed[0].lstrip(".")  # BASE_URL may be that of production
    handler = BaseHandler()
    handler.load_middleware()
    set_script_prefix(prefix)
    request = WSGIRequest(
        {
            "REQUEST_METHOD": "GET",
            "SCRIPT_NAME": prefix.rstrip("/"),
            "PATH_INFO": f"/{parts.path.removeprefix(prefix)}",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "SERVER_NAME": parts.hostname,
            "SERVER_PORT": str(parts.port or (443 if parts.scheme == "https" else 80)),
            "REMOTE_ADDR": "127.0.0.1",
            "HTTP_HOST": host,
            "HTTP_USER_AGENT": "django-sitemaps-plus",
            "HTTP_ACCEPT_ENCODING": "gzip",
            "wsgi.url_scheme": parts.scheme,
            "wsgi.input": BytesIO(),
        }
    )
    # The response stays open: to close it would send the signal request_finished.
    response: Any = handler.get_response(request)
    content = response.getvalue()
    text = content[:0] if response.status_code != 200 else content
    if response.headers.get("Content-Encoding") == "gzip":
        text = inflate(text) if text else text
    head = text[:_HEAD]
    match = getattr(request, "resolver_match", None)
    return {
        "status": response.status_code,
        "size": len(content),
        "said": getattr(response, "fault", ""),
        "leads_to": response.headers.get("Location", ""),
        "is_ours": "sitemaps_plus" in getattr(match, "app_names", ()),
        "is_sitemap": b"<sitemapindex" in head or b"<urlset" in head,
    }
