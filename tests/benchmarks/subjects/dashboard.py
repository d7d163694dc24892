"""How soon the dashboard answers where there are many pages and deliveries."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection
from django.test import Client, override_settings
from django.utils import timezone

from django_sitemaps_plus.models import Delivery, EngineHost, Page, Section
from django_sitemaps_plus.testing import temporary_source
from tests.benchmarks.harness import Subject, Target, timed
from tests.benchmarks.sources import DeclaredSource

_PAGES = {"products": 20_000, "others": 100}
_DELIVERIES = 1_000_000
_URL = "/admin/sitemaps_plus/dashboard/"
_ENGINE = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
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
    with (
        override_settings(
            SITEMAPS_PLUS=values,
            MIDDLEWARE=_middleware(),
            STATIC_URL="/static/",
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
                low_number=number * 50 if number > 1 else None,
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
        Section.objects.recount(section.pk)
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
        "were accepted, one waits, one was rejected.",
        contenders=[
            timed("overview", ask(_URL)),
            timed("what moves of it", ask(f"{_URL}running/")),
            timed("problems", ask(f"{_URL}problems/")),
            timed("a section", ask(f"{_URL}section/?section=products")),
            timed("its last pages", ask(f"{_URL}section/?section=products&from=19950")),
        ],
        targets=[Target("overview", plus=0.3), Target("a section", plus=0.3)],
    )


def _well(answer: Any) -> None:
    if answer.status_code != 200:
        raise RuntimeError(f"{answer.request['PATH_INFO']}: {answer.status_code}")
