"""Public names that somebody damaged, or that a killed builder left, are repaired."""

from __future__ import annotations

import os
import shutil
import stat
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import CommandError, call_command

from django_sitemaps_plus.building.build import refresh
from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.publishing import sync as showing
from django_sitemaps_plus.storage import get_storage, read_object
from tests.integration.building.overtaking import rename
from tests.support.builds import build
from tests.support.published import page_row, path_of
from tests.support.shop import limited, make_products

from .names import wrong_names

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "sitemap-products-1.xml.gz"


def delete(public: Path) -> None:
    """Delete one name."""
    (public / PAGE).unlink()


def delete_all(public: Path) -> None:
    """Delete the directory."""
    shutil.rmtree(public)


def add_other(public: Path) -> None:
    """Leave the name of a page that does not exist."""
    (public / "sitemap-products-99.xml.gz").write_bytes(b"old")


@pytest.mark.parametrize("damage", [delete, delete_all, add_other])
def test_a_wrong_number_of_names_is_seen_at_once(products, public, damage):
    """The next refresh puts it right."""
    refresh()
    damage(public)
    refresh()
    assert wrong_names(public) == []


def replace(public: Path) -> None:
    """Put another file in the place of one."""
    (public / PAGE).unlink()
    (public / PAGE).write_bytes(b"other")


def link_to_nothing(public: Path) -> None:
    """Put a link that leads nowhere in the place of one."""
    (public / PAGE).unlink()
    (public / PAGE).symlink_to("nowhere")


def make_directories(public: Path) -> None:
    """Put directories in the place of one, and where no name should be."""
    (public / PAGE).unlink()
    for name in (PAGE, "sitemap-products-99.xml.gz"):
        (public / name / "inside").mkdir(parents=True)


def cut_off(public: Path) -> None:
    """Cut off what the name shows, which is the object itself."""
    with (public / PAGE).open("r+b") as file:
        file.truncate(10)


def empty_all(public: Path) -> None:
    """Cut off the index too."""
    for path in public.glob("sitemap*"):
        path.write_bytes(b"")


def change_in_place(public: Path) -> None:
    """Change bytes of what the name shows, a while later, but not how many."""
    published = (public / PAGE).stat()
    (public / PAGE).write_bytes(b"x" * published.st_size)
    os.utime(public / PAGE, (published.st_atime, published.st_mtime + 60))


def look_is_due() -> None:
    """Let the last look at all names be long ago."""
    cache.clear()


@pytest.mark.parametrize(
    "damage",
    [
        replace,
        link_to_nothing,
        make_directories,
        cut_off,
        empty_all,
        change_in_place,
    ],
)
def test_a_wrong_file_is_seen_in_time(products, public, damage, client, monkeypatch):
    """And one refresh puts it right: also the object, where it was damaged too."""
    monkeypatch.setattr(showing, "FEW_NAMES", 0)
    contents = {path: client.get(path).content for path in ("/sitemap.xml", f"/{PAGE}")}
    refresh()
    shown = (public / PAGE).read_bytes()
    damage(public)
    look_is_due()
    refresh()
    assert wrong_names(public) == []
    assert (public / PAGE).read_bytes() == shown
    for path, content in contents.items():
        assert client.get(path).content == content
    assert not Page.objects.dirty().exists()


def mode_of(path: Path) -> int:
    """Return who may do what with a file."""
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("mode", [0o000, 0o600])
def test_who_may_read_a_name_may_read_it_again(
    products, public, settings, monkeypatch, mode
):
    """A builder that is not root, and may not read the object either, included."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "PUBLIC_PLAIN": True}
    refresh()
    damaged = [public / name for name in (PAGE, PAGE[:-3], "sitemap.xml.gz")]
    for path in damaged:
        path.chmod(mode)

    def read(name: str, gzip_hash: str) -> bytes:
        if not mode_of(Path(get_storage().path(name))) & stat.S_IRUSR:
            raise StoreError("permission denied")
        return read_object(name, gzip_hash)

    monkeypatch.setattr(showing, "read_object", read)
    refresh()
    assert [mode_of(path) for path in damaged] == [0o644] * 3
    assert wrong_names(public, has_plain=True) == []
    assert not Page.objects.dirty().exists()


def test_a_mode_that_gives_more_is_left(products, public):
    """Those who serve the files know why."""
    (public / PAGE).chmod(0o664)
    refresh()
    assert mode_of(public / PAGE) == 0o664


def test_no_name_is_wrong_where_files_have_no_modes(
    products, public, monkeypatch, caplog
):
    """As on a mounted share, where each file has the same."""
    refresh()
    (public / PAGE).chmod(0o600)
    monkeypatch.setattr(os, "chmod", lambda *args, **kwargs: None)
    caplog.clear()
    refresh()
    assert "were wrong" not in caplog.text


def test_no_name_is_wrong_where_the_umask_gives_modes(
    sections, public, media_root, settings, caplog
):
    """Django's own storage leaves them to it where it is told none."""
    backend = "django.core.files.storage.FileSystemStorage"
    options = {"location": media_root / "sitemaps", "file_permissions_mode": None}
    settings.STORAGES = {
        **settings.STORAGES,
        "own": {"BACKEND": backend, "OPTIONS": options},
    }
    settings.FILE_UPLOAD_PERMISSIONS = None
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "STORAGE": "own"}
    make_products(5)
    sections.register("products", limited(10))
    before = os.umask(0o027)
    try:
        build()
        caplog.clear()
        refresh()
    finally:
        os.umask(before)
    assert mode_of(public / PAGE) == 0o640
    assert "were wrong" not in caplog.text


def test_an_object_that_is_stored_again_is_shown(products, public):
    """The name was a link to the damaged one."""
    page = page_row("products", 1)
    found = path_of(page).read_bytes()
    path_of(page).write_bytes(found[:-1])
    build()
    assert page_row("products", 1).object != page.object
    assert (public / PAGE).read_bytes() == found
    assert wrong_names(public) == []


def test_what_a_killed_builder_has_flipped_is_shown(products, public, monkeypatch):
    """By the next refresh, though the number of names is right."""
    monkeypatch.setattr(showing, "FEW_NAMES", 0)
    refresh()
    with monkeypatch.context() as patch:
        patch.setattr(showing, "show", lambda pages, **how: None)
        patch.setattr(showing, "look_after", lambda *args, **kwargs: False)
        rename("a")
        build()
        assert len(wrong_names(public)) >= 3
    refresh()
    assert wrong_names(public) == []


def test_a_builder_paused_before_it_shows_changes_nothing_when_it_wakes(
    products, public, monkeypatch
):
    """Meanwhile another has flipped and shown; a refresh before that shows its flip."""
    real, todo = showing.show, [1]

    def paused(pages: Any, **how: Any) -> None:
        if todo:
            todo.clear()
            refresh()
            assert wrong_names(public) == []
            rename("b")
            build()
        real(pages, **how)

    monkeypatch.setattr(showing, "show", paused)
    rename("a")
    build()
    assert todo == []
    assert wrong_names(public) == []


def test_a_name_is_not_looked_at_for_nothing(products, public, monkeypatch):
    """While their number is right, many are looked at only now and then."""
    monkeypatch.setattr(showing, "FEW_NAMES", 0)
    refresh()
    looks: list[Any] = []
    monkeypatch.setattr(showing, "repair", lambda site: looks.append(site) or set())
    refresh()
    assert looks == []
    look_is_due()
    refresh()
    assert len(looks) == 1
    monkeypatch.setattr(showing, "FEW_NAMES", 64)
    refresh()
    assert len(looks) == 2


def test_other_files_stay(products, public):
    """Only names of pages are the app's own."""
    others = ("favicon.ico", ".htaccess", "sitemap.xsl", "sitemapindex.xml")
    for name in others:
        (public / name).write_bytes(b"mine")
    refresh()
    look_is_due()
    refresh()
    for name in others:
        assert (public / name).read_bytes() == b"mine"


def test_a_name_that_cannot_be_changed_is_told_of(products, public, monkeypatch):
    """Its page is published, and only status can say that web servers show less."""

    def refuse(*args: Any) -> None:
        raise OSError("no inodes")

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", refuse)
        patch.setattr(shutil, "copy2", refuse)
        rename("a")
        for _ in range(2):
            with pytest.raises(StoreError, match="no inodes"):
                build()
            with pytest.raises(CommandError, match="no inodes"):
                call_command("sitemap_status", stdout=StringIO())
    refresh()
    call_command("sitemap_status", stdout=StringIO())
    assert wrong_names(public) == []
