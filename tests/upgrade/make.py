"""Make the database and the files that a release leaves; each run gives the same.

``python -m tests.upgrade.make`` writes below the folder of the release:

- ``database.sql``: the tables of the app, as SQL of SQLite, with a row in each;
- ``project.sql``: rows of the project's own tables;
- ``files``: what is in the storage, without the public names, which are hard links;
- ``answers.json``: what a crawler was told of each path.
"""

import hashlib
import json
import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count
from pathlib import Path
from unittest import mock

import django
from django.core.management import call_command

#: Answers that an upgrade must not change, beside those of pages.
PATHS = ("/sitemap.xml", "/sitemap.xml.gz")


class Clock:
    """The time, for Python and for SQLite: some milliseconds later at each look."""

    def __init__(self) -> None:
        self._now = datetime(2026, 11, 1, 12, tzinfo=UTC)

    def now(self, tz: object = None) -> datetime:
        """Return the time in UTC, in the place of datetime's method."""
        self._now += timedelta(milliseconds=5)
        return self._now

    def strftime(self, *arguments: str) -> str:
        """Return the time as text, in the place of SQLite's function."""
        return f"{self.now():%Y-%m-%d %H:%M:%S.%f}"[:-3]

    def forward(self) -> None:
        """Let a minute pass."""
        self._now += timedelta(minutes=1)

    @contextmanager
    def running(self) -> Iterator[None]:
        """Be the only clock, and chance be none, for the time of a ``with`` block."""
        from django.db import connection

        numbers = count(1)
        connection.ensure_connection()
        connection.connection.create_function("STRFTIME", -1, self.strftime)
        with (
            # Defaults of fields hold the function that calls it.
            mock.patch("django.utils.timezone.datetime", self),
            mock.patch("random.uniform", max),
            mock.patch("secrets.token_hex", lambda n: f"{next(numbers):0{2 * n}x}"),
        ):
            yield


def main() -> None:
    from django.db import connection

    from .project import KEPT, TABLES, project

    shutil.rmtree(KEPT, ignore_errors=True)
    clock = Clock()
    with (
        tempfile.TemporaryDirectory() as directory,
        project(Path(directory)),
        clock.running(),
    ):
        call_command("migrate", run_syncdb=True, verbosity=0)
        _live(clock)
        answers = _answers()
        ignore = shutil.ignore_patterns("public")
        shutil.copytree(Path(directory, "sitemaps"), KEPT / "files", ignore=ignore)
    names = connection.introspection.table_names()
    own = sorted([it for it in names if it.startswith("sitemaps_plus_")])
    lines = [
        *_schema([*own, "django_migrations"]),
        *[line for name in own for line in _rows(name)],
        *_rows("django_migrations", "app = 'sitemaps_plus'"),
    ]
    (KEPT / "database.sql").write_text("\n".join([*lines, ""]), "utf-8")
    lines = [line for name in TABLES for line in _rows(name)]
    (KEPT / "project.sql").write_text("\n".join([*lines, ""]), "utf-8")
    (KEPT / "answers.json").write_text(json.dumps(answers, indent=1) + "\n", "utf-8")


def _live(clock: Clock) -> None:
    """Live through what leaves a row in each table, and something in each queue."""
    from django_sitemaps_plus import notify_changed
    from django_sitemaps_plus.building.build import build
    from django_sitemaps_plus.exceptions import BatchRejected, RetryLater
    from django_sitemaps_plus.models import Exclusion, Figure, Page, Section, Worker
    from django_sitemaps_plus.notifications.dispatch import notify_engines
    from tests.support.builds import build_and_relay
    from tests.support.shop import START, make_products
    from tests.support.testapp.models import Label, Product

    from .project import UrlEngine

    def edit(number: int) -> None:
        clock.forward()
        product = Product.objects.get(pk=number)
        product.slug = f"edited-{number}"
        product.save()

    make_products(25)
    for code in ("a", "b & c", "Ä", "é", "z"):
        Label.objects.create(code=code, updated_at=START)
    build_and_relay()
    edit(1)
    build_and_relay()
    notify_engines()
    for number, error in ((2, BatchRejected("unknown")), (3, RetryLater("it is down"))):
        edit(number)
        build_and_relay()
        with UrlEngine.failing(error):
            notify_engines()
    Exclusion.objects.create(model="testapp.product", key="4", note="sold out")
    notify_changed(Product.objects.filter(pk=4))
    edit(5)
    build()  # and nobody has relayed what it published
    Worker.objects.note("run_sitemaps")
    # These wait: a save, a deletion, rows without signals, and a page of a builder that
    # died.
    edit(6)
    Product.objects.get(pk=15).delete()
    Product.objects.filter(pk=24).update(slug="without-signals")
    notify_changed(Product.objects.filter(pk=24))
    Label.objects.create(code="new", updated_at=START)
    page = Page.objects.filter(section__name="pages")
    page.update(wanted=page.get().wanted + 1)
    Page.objects.claim([page.get().section_id])
    # How fast this machine is, is no part of it.
    Figure.objects.filter(kind=Figure.Kind.RATE).update(value=300)
    for section in Section.objects.exclude(answer=None):
        Section.objects.update(answer={**section.answer, "seconds": 0.01})


def _answers() -> dict[str, list[object]]:
    from django.test import Client

    from django_sitemaps_plus.models import Page

    pages = Page.objects.exclude(number=0).exclude(object="").order_by("pk")
    found = pages.values_list("section__name", "number")
    names = [f"/sitemap-{name}-{number}.xml" for name, number in found]
    paths = [*PATHS, *names, *[f"{name}.gz" for name in names]]
    return {path: answer(Client().get(path)) for path in paths}


def answer(response: django.http.HttpResponse) -> list[object]:
    """Return what a crawler sees of an answer: its status, validator and bytes."""
    digest = hashlib.sha256(response.content).hexdigest()
    return [response.status_code, response.headers.get("ETag"), digest]


def _schema(tables: list[str]) -> Iterator[str]:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SELECT tbl_name, sql FROM sqlite_master WHERE sql <> ''")
        yield from [f"{sql};" for name, sql in cursor.fetchall() if name in tables]


def _rows(table: str, where: str = "1") -> Iterator[str]:
    """Yield an INSERT for each row that names its columns, but generated ones."""
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute(f"PRAGMA table_info({table})")
        columns = [row[1] for row in cursor.fetchall()]
        quoted = ", ".join([f'"{it}"' for it in columns])
        values = " || ', ' || ".join([f'quote("{it}")' for it in columns])
        cursor.execute(f"SELECT {values} FROM {table} WHERE {where} ORDER BY 1")  # noqa: S608
        for (given,) in cursor.fetchall():
            yield f"INSERT INTO {table} ({quoted}) VALUES ({given});"  # noqa: S608


if __name__ == "__main__":
    os.environ["TEST_DB"] = "sqlite"
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.support.settings"
    django.setup()
    main()
