"""An upgrade loses nothing: what a release left is served, and its queues go on."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.test import Client
from django.urls import reverse

from django_sitemaps_plus.models import Change, Delivery, Exclusion, Page, UrlChanges
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.tracking import known
from tests.support.builds import build_and_relay
from tests.support.documents import locs, read_index
from tests.support.testapp.models import Label, Product

from .make import answer
from .project import KEPT, FeedEngine, UrlEngine, project

pytestmark = pytest.mark.skipif(
    connection.vendor != "sqlite", reason="what is kept is SQL of SQLite"
)

OURS = "https://example.com"
MODELS = list(apps.get_app_config("sitemaps_plus").get_models())


def statements(name: str) -> list[str]:
    return (KEPT / name).read_text("utf-8").splitlines()


def execute(text: str) -> None:
    connection.ensure_connection()
    connection.connection.executescript(f"BEGIN;\n{text};\nCOMMIT;")


def migrated() -> None:
    """The release's database is migrated by the current code."""
    execute("\n".join(statements("database.sql")))
    call_command("migrate", run_syncdb=True, verbosity=0)


def written_meanwhile() -> None:
    """The release's code still runs, and writes rows into the current schema."""
    rows = [it for it in statements("database.sql") if it.startswith("INSERT")]
    ours = [it for it in rows if not it.startswith("INSERT INTO django_migrations")]
    call_command("migrate", run_syncdb=True, verbosity=0)
    execute("\n".join(ours))


def rolled_back() -> None:
    """The current code is the former one, and runs on the schema of the next."""
    migrated()
    for model in MODELS:
        if not model._meta.proxy:
            name = model._meta.db_table
            execute(f"ALTER TABLE {name} ADD later varchar(9) NOT NULL DEFAULT 'new'")


@pytest.fixture(params=[migrated, written_meanwhile, rolled_back])
def upgraded(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    media_root: Path,
    no_flush: None,
    django_db_blocker: Any,
) -> Iterator[None]:
    """Be a process of the project after an upgrade."""
    before = connection.settings_dict["NAME"]
    with django_db_blocker.unblock():
        connection.close()
        connection.settings_dict["NAME"] = str(tmp_path / "kept.sqlite3")
        try:
            request.param()
            execute("\n".join(statements("project.sql")))
            shutil.copytree(KEPT / "files", media_root / "sitemaps")
            known.forget()
            with project(media_root):
                yield
        finally:
            connection.close()
            connection.settings_dict["NAME"] = before
            known.forget()


def test_a_row_of_each_table_is_kept():
    inserted = [it.split()[2] for it in statements("database.sql") if it[0] == "I"]
    assert set(inserted) >= {it._meta.db_table for it in MODELS}


@pytest.mark.usefixtures("upgraded")
def test_it_is_served_unchanged(client: Client):
    """Bytes and validators are those of before, so crawlers get a 304."""
    kept = json.loads((KEPT / "answers.json").read_text("utf-8"))
    assert {path: answer(client.get(path)) for path in kept} == kept
    for path, (_, etag, _) in kept.items():
        asked = client.get(path, headers={"If-None-Match": etag})
        assert asked.status_code == 304, path


@pytest.mark.usefixtures("upgraded")
def test_its_queues_go_on(client: Client):
    """Changes that wait are built, engines get what they were not told."""
    assert Change.objects.count() == 4
    assert UrlChanges.objects.count() == 1
    waiting = Delivery.objects.filter(state=Delivery.State.WAITING)
    targets = {it.target for it in waiting}
    assert len(targets) == 2
    build_and_relay()
    notify_engines()
    assert not Change.objects.exists()
    assert not Page.objects.dirty().exists()
    told = set(UrlEngine.told())
    assert told >= targets
    slugs = ("edited-5", "edited-6", "without-signals")
    edited = {f"{OURS}/products/{it}/" for it in slugs}
    assert told >= edited | {f"{OURS}/labels/new/", f"{OURS}/products/product-00014/"}
    assert FeedEngine.told() == [f"{OURS}/sitemap.xml"]
    [excluded] = Exclusion.objects.values_list("key", flat=True)
    listed = set()
    for url in read_index(client.get("/sitemap.xml").content):
        listed |= set(locs(client.get(url.removeprefix(OURS)).content))
    slugs = Product.objects.exclude(pk=excluded).values_list("slug", flat=True)
    labels = Label.objects.values_list("pk", flat=True)
    assert listed == {
        *[f"{OURS}/", f"{OURS}/about/"],
        *[OURS + reverse("product-detail", args=[it]) for it in slugs],
        *[OURS + reverse("label-detail", args=[it]) for it in labels],
    }
