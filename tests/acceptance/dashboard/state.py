"""Puts the site into a state with some of everything that the dashboard shows.

Run as a module; prints a session key for each user by name, as JSON.
"""

import json
import random
from contextlib import suppress
from datetime import timedelta
from typing import Any

import django

SITE = "default"

#: The city that the tests exclude, and one that is excluded.
CITY, EXCLUDED = 3, 5


def load() -> None:
    from django.core.management import call_command

    from example_project.atlas.loading import load_cities, load_countries, read_cities
    from example_project.atlas.models import City

    call_command("migrate", verbosity=0)
    load_countries()
    load_cities(read_cities(15_000)[:400])
    City.objects.filter(pk__in=[17, 170]).update(slug="")


def build() -> None:
    from django.core.management import CommandError, call_command

    from django_sitemaps_plus.diagnostics.requests import exclude
    from example_project.atlas.models import City

    exclude(City.objects.get(pk=EXCLUDED), by="ada", note="It asked us to")
    call_command("build_sitemaps", verbosity=0)
    City.objects.exclude(pk__lt=40).update(latitude=0)
    with suppress(CommandError):  # the guard holds the section
        call_command("build_sitemaps", "harbours", full=True, verbosity=0)


def disturb_pages() -> None:
    """Have towns with pages in every state."""
    from django.db.models import F
    from django.db.models.functions import Now
    from django.utils import timezone

    from django_sitemaps_plus.models import MAX_ATTEMPTS, Page

    towns = Page.objects.filter(section__name="towns", section__site=SITE)
    hour_ago = timezone.now() - timedelta(hours=1)
    dirty = {"wanted": F("wanted") + 1, "changed_at": hour_ago}
    error = "OperationalError: could not read from the table atlas_city in time"
    for numbers, fields in [
        ((9, 10, 11, 30), {}),
        ((12,), {"token": "a" * 32, "claimed_at": Now()}),
        ((21,), {"attempts": MAX_ATTEMPTS, "error": error}),
        ((22,), {"attempts": 1, "error": error}),
    ]:
        towns.filter(number__in=numbers).update(**dirty, **fields)


def disturb_engines() -> None:
    """Have one engine parked, one failing, and one that gives feedback."""
    from django.utils import timezone

    from django_sitemaps_plus.models import Delivery, EngineHost
    from django_sitemaps_plus.models.deliveries import hash_target
    from django_sitemaps_plus.sites import get_site

    origin, now = get_site().origin, timezone.now()
    host = origin.partition("//")[2]

    def deliver(engine: str, target: str, **fields: Any) -> None:
        Delivery.objects.update_or_create(
            {"host": host, "target": f"{origin}{target}", "wanted": 1, **fields},
            site=SITE,
            engine=engine,
            target_hash=hash_target(f"{origin}{target}"),
        )

    later, before = now + timedelta(minutes=5), now - timedelta(minutes=40)
    rejected = {"dead_since": before, "error": "422: the URL does not belong to you"}
    for engine in ("bing", "indexnow"):
        for number in range(20):
            deliver(engine, f"/cities/{number}/", sent=1, sent_at=before)
        deliver(engine, "/cities/waits/", changed_at=before)
        deliver(engine, "/cities/rests/", not_before=later)
    for number in range(3):
        deliver("indexnow", f"/cities/rejected-{number}/", **rejected)
    said = {"submitted": 640, "errors": 0, "warnings": 2}
    feed = {"is_feed": True, "sent": 1, "feedback": said, "feedback_at": before}
    deliver("console", "/sitemap.xml", **feed)
    for engine, fields in {
        "bing": {"parked_reason": "403: the key file is not found"},
        "console": {},
        "indexnow": {"failures": 3, "error": "503: try again", "not_before": later},
    }.items():
        key = {"site": SITE, "engine": engine, "host": host}
        EngineHost.objects.update_or_create({"sent_at": before, **fields}, **key)


def remember() -> None:
    """Have figures of a week, what an audit has found, and URL changes."""
    from django.utils import timezone

    from django_sitemaps_plus.diagnostics.audit import keep_findings
    from django_sitemaps_plus.models import INDEX, Figure, Section, UrlChanges
    from django_sitemaps_plus.sites import get_site

    chance, kind = random.Random(7), Figure.Kind
    last = timezone.now().replace(minute=0, second=0, microsecond=0)
    rows = []
    for ago in range(1, 7 * 24):
        own = {"site": SITE, "hour": last - timedelta(hours=ago)}
        for name, entries in {"cities": 420, "towns": 420, "harbours": 400}.items():
            rows += [
                Figure(**own, name=name, kind=kind.ENTRIES, value=entries - ago),
                Figure(**own, name=name, kind=kind.PAGES, value=chance.randint(4, 60)),
            ]
        for outcome, most in {kind.ACCEPTED: 360, kind.FAILED: 9}.items():
            number = chance.randint(0, most)
            rows.append(Figure(**own, name="indexnow", kind=outcome, value=number))
        if ago % 24 == 0:
            rows.append(Figure(**own, name=INDEX, kind=kind.FINDINGS, value=ago // 24))
    Figure.objects.bulk_create(rows)
    origin, kinds = get_site().origin, ("added", "updated", "removed")
    latest = [
        {
            "url": f"{origin}/towns/caf%C3%A9-{ago}/",
            "kind": kinds[ago % 3],
            "at": (last - timedelta(hours=ago)).isoformat(),
            "engines": ["bing", "indexnow"],
        }
        for ago in range(12)
    ]
    section = Section.objects.get(site=SITE, name="towns")
    UrlChanges.objects.update_or_create({"latest": latest}, section=section)
    problems = [
        _finding("page-missing", 3, "the server answers 404"),
        _finding("page-missing", 8, "the server answers 404"),
        _finding("lastmod-future", 5, "2031-01-01 has not come yet"),
    ]
    counts = {"page-missing": 2, "lastmod-future": 1}
    keep_findings(get_site(), {"problems": problems, "counts": counts})


def _finding(rule: str, line: int, message: str) -> dict[str, Any]:
    return {
        "rule": rule,
        "line": line,
        "message": message,
        "source": "/sitemap-cities-1.xml",
    }


def sign_in() -> dict[str, str]:
    """Return session keys: of who may do everything, and of who may only look."""
    from django.contrib.auth.models import Permission, User
    from django.test import Client

    User.objects.create_superuser("ada")
    editor = User.objects.create_user("vera", is_staff=True)
    editor.user_permissions.set(Permission.objects.filter(codename="view_dashboard"))
    keys = {}
    for user in User.objects.all():
        client = Client()
        client.force_login(user)
        keys[user.get_username()] = client.cookies["sessionid"].value
    return keys


if __name__ == "__main__":
    django.setup()
    load()
    build()
    disturb_pages()
    disturb_engines()
    remember()
    print(json.dumps(sign_in()))  # noqa: T201 - this is what it is run for
