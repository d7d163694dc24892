"""What a storage refuses is left to the next prune, and keeps nothing else back."""

from __future__ import annotations

import re
import secrets
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.files.storage import InMemoryStorage
from django.core.management import CommandError
from django.db import OperationalError, connection
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.publishing import prune as pruning
from django_sitemaps_plus.publishing.tree import PublicTree
from django_sitemaps_plus.storage import get_storage
from django_sitemaps_plus.storage.filesystem import TEMPORARY
from django_sitemaps_plus.storage.objects import list_objects
from tests.integration.building.overtaking import rename
from tests.support.builds import build_fully
from tests.support.published import files, page_row, path_of
from tests.support.shop import limited, make_products

from .time import DAYS, pass_time, retire_third_page
from .time import run as prune

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def call(run: Any) -> Any:
    """Return what runs the command and gives what it writes."""
    return partial(run, "prune_sitemaps")


SECTIONS = ("a", "b", "c")


class RefusingStorage(InMemoryStorage):
    """Deletes nothing that is held, lists nothing that is shut; all of it is old."""

    def __init__(self) -> None:
        super().__init__()
        self.held: set[str] = set()
        self.shut: set[str] = set()

    def delete(self, name: str) -> None:
        if name in self.held:
            raise RuntimeError("AccessDenied: legal hold")
        if not self.exists(name):
            raise FileNotFoundError(name)
        super().delete(name)

    def listdir(self, path: str) -> Any:
        if path.rpartition("/")[2] in self.shut:
            raise RuntimeError("https://us:hush@s3.example/bucket is shut")
        return super().listdir(path)

    def get_modified_time(self, name: str) -> Any:
        return super().get_modified_time(name) - DAYS


class Renaming(RefusingStorage):
    """Never stores anything under the name that it was given."""

    def get_available_name(self, name: str, max_length: int | None = None) -> str:
        return name.replace(".xml.gz", f"_{secrets.token_hex(4)}.xml.gz")


@pytest.fixture(params=[RefusingStorage])
def storage(request: Any, sections: Any, settings: Any, configure: Any) -> Any:
    """Have old objects: three of each section, and one of the index."""
    backend = f"{__name__}.{request.param.__name__}"
    settings.STORAGES = {**settings.STORAGES, "sitemaps": {"BACKEND": backend}}
    configure(STORAGE="sitemaps")
    make_products(25)
    for name in SECTIONS:
        sections.register(name, limited(10))
    build_fully()
    rename("x")
    build_fully()
    pass_time(timedelta())
    return get_storage()


def old() -> set[str]:
    """Return the objects that no page points to."""
    named = set(Page.objects.values_list("object", flat=True))
    known = Section.objects.values_list("name", "namespace")
    stored = [list_objects(*found).values() for found in known]
    return {name for pages in stored for names in pages for name in names} - named


def test_an_object_that_cannot_be_deleted(storage, call, monkeypatch):
    """A storage that refuses all is not asked for thousands: each takes its time."""
    monkeypatch.setattr(pruning, "MAX_FAILURES", 2)
    storage.held = {name for name in old() if "/a/" in name}
    said = re.escape("AccessDenied: legal hold (and 1 more failures)")
    with pytest.raises(CommandError, match=said):
        call()
    assert old() == storage.held
    storage.held = {min(storage.held)}
    for _ in range(2):
        with pytest.raises(StoreError, match=r"legal hold$"):
            prune()
        assert old() == storage.held
    storage.held = set()
    assert prune().objects == 1
    assert old() == set()


def test_a_public_name_that_stays(products, monkeypatch):
    def hide(self: PublicTree, name: str) -> None:
        raise StoreError(f"{name} stays")

    retire_third_page()
    monkeypatch.setattr(PublicTree, "hide", hide)
    with pytest.raises(StoreError, match=r"^sitemap-products-3 stays$"):
        prune()
    assert not Page.objects.filter(number=3).exists()


def test_a_section_that_cannot_be_listed(storage):
    """Those after it are pruned; what is said holds no password of an address."""
    storage.shut = {"a"}
    with pytest.raises(StoreError, match=r"/a/ could not be listed: .* shut") as caught:
        prune()
    assert "https://***@s3.example" in str(caught.value)
    assert "hush" not in str(caught.value)
    storage.shut = set()
    assert {name.split("/")[1] for name in old()} == {"a"}
    assert prune().objects == 3


@pytest.mark.parametrize("verb", ["listdir", "get_modified_time"])
def test_a_storage_without_lists_or_times(storage, monkeypatch, call, verb):
    def lacks(self: Any, name: str) -> Any:
        raise NotImplementedError(f"subclasses must provide a {verb}() method")

    monkeypatch.setattr(RefusingStorage, verb, lacks)
    retire_third_page()
    with pytest.raises(CommandError, match=rf"provide a {verb}\(\) method"):
        call()
    assert not Page.objects.filter(number=3).exists()


@pytest.mark.parametrize("verb", ["delete", "get_modified_time"])
def test_an_object_that_another_prune_has_deleted(storage, monkeypatch, verb):
    real = getattr(RefusingStorage, verb)

    def after_another(self: Any, name: str) -> Any:
        InMemoryStorage.delete(self, name)
        return real(self, name)

    monkeypatch.setattr(RefusingStorage, verb, after_another)
    assert prune().objects == 10
    assert old() == set()


@pytest.mark.parametrize("error", [PermissionError(13, "no"), FileNotFoundError(2, "")])
def test_an_unfinished_file_that_stays_or_has_just_gone(products, monkeypatch, error):
    """All else goes on; the message names a file that stays."""
    directory = path_of(page_row("products", 1)).parent
    (directory / f"{TEMPORARY}1").touch()
    monkeypatch.setattr(Path, "unlink", Mock(side_effect=error))
    later = timezone.now() + DAYS
    monkeypatch.setattr(timezone, "now", lambda: later)
    retire_third_page()
    with (
        pytest.raises(StoreError, match=f"/{TEMPORARY}1 could not be removed")
        if (error.errno == 13)
        else nullcontext()
    ):
        prune()
    assert not Page.objects.filter(number=3).exists()


@pytest.mark.parametrize(
    "statement",
    [
        "DELETE.*_change",
        "DELETE.*_page",
        "UPDATE.*_page. SET .token",
        "UPDATE.*_section",
    ],
)
def test_a_transaction_that_loses_is_tried_again(products, sections, statement):
    """Builders and relays write the same rows; the command hears of no deadlock."""
    sections.unregister("products")
    since = timezone.now() - DAYS
    Section.objects.update(missing_since=since)
    Page.objects.filter(number=2).update(token="t", claimed_at=Now() - DAYS)
    Change.objects.create(section="products", kind="key", low="1", at=Now() - DAYS)
    lost: list[str] = []

    def lose(execute: Any, sql: str, *rest: Any) -> Any:
        if re.match(statement, sql) and not lost:
            lost.append(sql)
            raise OperationalError(1213, "Deadlock found when trying to get lock")
        return execute(sql, *rest)

    with connection.execute_wrapper(lose):
        assert prune().pages == 3
    assert len(lost) == 1
    assert not Change.objects.exists()
    assert not Page.objects.filter(section__name="products").exists()


@pytest.mark.parametrize("storage", [Renaming], indirect=True)
def test_a_storage_that_gives_names_of_its_own(storage, crawl):
    assert "_" in page_row("a", 1).object
    assert len(old()) == 10
    assert prune().objects == 10
    assert old() == set()
    assert sum(map(len, crawl().values())) == 75
    assert files() == {}
