"""How soon the dashboard answers where there are many pages and deliveries."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.contrib.staticfiles.handlers import StaticFilesHandler
from django.core.servers.basehttp import ThreadedWSGIServer, WSGIRequestHandler
from django.core.wsgi import get_wsgi_application
from django.db import connection, connections
from django.test import Client, override_settings
from django.utils import timezone

from django_sitemaps_plus.models import Delivery, EngineHost, Page, Section
from django_sitemaps_plus.testing import temporary_source
from tests.benchmarks.harness import Contender, Subject, Target, timed
from tests.benchmarks.sources import DeclaredSource

_PAGES = {"products": 20_000, "others": 100}
_DELIVERIES = 1_000_000
_URL = "/admin/sitemaps_plus/dashboard/"
_MAP = f"{_URL}map/?section=products"
_ENGINE = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
_STATIC = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}
_NUMBERS = {
    "sqlite": "WITH RECURSIVE n(i) AS "
    "(SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {0})",
    "postgresql": "WITH n(i) AS (SELECT generate_series(1, {0}))",
}
# Of ten, eight were accepted, one waits, and one was rejected.
_ROWS = """
INSERT INTO sitemaps_plus_delivery (site, engine, host, target, is_feed, target_hash,
  wanted, sent, changed_at, not_before, token, sending, attempts, error, rejections,
  dead_since)
SELECT 'default', 'one', 'example.com', 'https://example.com/products/' || i || '/',
  is_feed, CAST(i AS varchar(64)), 2, CASE WHEN i %% 10 < 8 THEN 2 ELSE 1 END, at, at,
  '', 0, 0, '', 0, CASE WHEN i %% 10 = 9 THEN at END
FROM n, (SELECT %s AS at, %s AS is_feed) AS one
"""


def setting(rows: int) -> Iterator[Subject]:
    """Have 20,000 pages of a section, and a million deliveries of one engine."""
    values = {**settings.SITEMAPS_PLUS, "ENGINES": {"one": _ENGINE}}
    static = [*settings.INSTALLED_APPS, "django.contrib.staticfiles"]
    with (
        override_settings(
            SITEMAPS_PLUS=values,
            MIDDLEWARE=_middleware(),
            INSTALLED_APPS=static,
            STATIC_URL="/static/",
            STORAGES={**settings.STORAGES, "staticfiles": _STATIC},
            ROOT_URLCONF="tests.support.urls",
            ALLOWED_HOSTS=["*"],
        ),
        temporary_source("products", DeclaredSource),
        temporary_source("others", DeclaredSource),
    ):
        _fill()
        yield from _subjects()
        for model in (Delivery, EngineHost, Section, get_user_model()):
            model._default_manager.all().delete()


def _middleware() -> list[str]:
    from tests.support.settings import MIDDLEWARE

    return MIDDLEWARE


def _fill() -> None:
    now = timezone.now()
    for name, count in _PAGES.items():
        section = Section.objects.create(site="default", name=name, next_number=2)
        pages = [
            Page(
                section=section,
                number=number,
                low=str(number * 50) if number > 1 else None,
                high=str((number + 1) * 50) if number < count else None,
                low_number=number * 50,
                wanted=1 + (number % 50 == 0),
                built=1,
                object=f"{name}/{number}/{'a' * 40}.xml.gz",
                entries=number % 50,
                plain_hash="a" * 64,
                gzip_hash="b" * 64,
                lastmod="2026-11-20T09:30:00+00:00",
                published_at=now,
                checked_at=now,
            )
            for number in range(1, count + 1)
        ]
        Page.objects.bulk_create(pages, batch_size=500)
    EngineHost.objects.create(site="default", engine="one", host="example.com")
    numbers = _NUMBERS[connection.vendor].format(_DELIVERIES)
    with connection.cursor() as cursor:
        cursor.execute(numbers + _ROWS, [now, False])
        cursor.execute("ANALYZE")


def _subjects() -> Iterator[Subject]:
    client = Client()
    client.force_login(get_user_model().objects.create_superuser("ada"))

    def ask(path: str) -> Callable[[], object]:
        return lambda: _well(client.get(path))

    yield Subject(
        title=f"Dashboard: {_PAGES['products']:,} pages, {_DELIVERIES:,} deliveries",
        note="All but 100 pages are of one section. Of the deliveries, eight of ten "
        "were accepted, one waits, one was rejected. The browser is Chromium on the "
        "same cores: from the click to the strip of 20,000 pages.",
        contenders=[
            timed("overview", ask(_URL)),
            timed("what moves of it", ask(f"{_URL}running/")),
            timed("problems", ask(f"{_URL}problems/")),
            timed("pages of a map", ask(f"{_URL}map/data/?section=products")),
            *_in_browser(client),
        ],
        targets=[
            Target("overview", plus=0.3),
            Target("map in a browser", plus=1.0),
        ],
    )


def _well(answer: Any) -> None:
    if answer.status_code != 200:
        raise RuntimeError(f"{answer.request['PATH_INFO']}: {answer.status_code}")


def _in_browser(client: Client) -> Iterator[Contender]:
    """Yield the map as a person sees it, where there is a browser."""
    program = shutil.which("chromium")
    try:
        from playwright.sync_api import sync_playwright
    except ImportError:
        return
    if program is None:
        return

    def measure() -> float:
        cookie = client.cookies[settings.SESSION_COOKIE_NAME].value
        with _served() as url, sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=program)
            context = browser.new_context()
            context.add_cookies([{"name": "sessionid", "value": cookie, "url": url}])
            page = context.new_page()
            page.goto(url + _URL)  # the files of the admin are known, as to a user
            began = time.perf_counter()
            page.goto(url + _MAP, wait_until="commit")
            page.wait_for_selector("[role=slider][aria-valuemax='20000']")
            seconds = time.perf_counter() - began
            browser.close()
        return seconds

    yield Contender("map in a browser", measure)


@contextmanager
def _served() -> Iterator[str]:
    """Serve the project from a process of its own, as sites do."""
    connections.close_all()  # a fork may not use them
    server = ThreadedWSGIServer(("127.0.0.1", 0), _Quiet, connections_override=None)
    server.set_app(StaticFilesHandler(get_wsgi_application()))
    process = get_context("fork").Process(target=server.serve_forever, daemon=True)
    process.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        process.terminate()
        process.join()
        server.server_close()


class _Quiet(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""
