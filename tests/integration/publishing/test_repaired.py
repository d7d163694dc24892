"""Public names that somebody damaged, or that a killed builder left, are repaired."""

from __future__ import annotations

import os
import shutil
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.publishing import sync, tree
from tests.integration.building.overtaking import rename
from tests.support.builds import build_fully

from .names import wrong_names

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "sitemap-products-1.xml.gz"


def replace(public: Path) -> None:
    """Put another file in the place of one."""
    (public / PAGE).unlink()
    (public / PAGE).write_bytes(b"other")


def link_to_nothing(public: Path) -> None:
    """Put a link that leads nowhere in the place of one."""
    (public / PAGE).unlink()
    (public / PAGE).symlink_to("nowhere")


def change_in_place(public: Path) -> None:
    """Change bytes of what the name shows, a while later, but not how many."""
    published = (public / PAGE).stat()
    (public / PAGE).write_bytes(b"x" * published.st_size)
    os.utime(public / PAGE, (published.st_atime, published.st_mtime + 60))


#: What a name shows is the object itself, so that may be damaged too.
DAMAGES = {
    "one deleted": lambda public: (public / PAGE).unlink(),
    "all deleted": shutil.rmtree,
    "one of no page": lambda public: (public / "sitemap-a-99.xml").write_bytes(b"old"),
    "replaced": replace,
    "leads nowhere": link_to_nothing,
    "one cut off": lambda public: os.truncate(public / PAGE, 10),
    "all cut off": lambda public: [os.truncate(p, 0) for p in public.glob("sitemap*")],
    "changed in place": change_in_place,
}


def look_is_due() -> None:
    """Let the last comparison of all names be long ago."""
    sync._looked_at.clear()


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_a_wrong_name_is_repaired_by_one_build(products, public, damage, client):
    """So is the object, where it was damaged too."""
    contents = {path: client.get(path).content for path in ("/sitemap.xml", f"/{PAGE}")}
    build()
    shown = (public / PAGE).read_bytes()
    damage(public)
    look_is_due()
    build()
    assert wrong_names(public) == []
    assert (public / PAGE).read_bytes() == shown
    for path, content in contents.items():
        assert client.get(path).content == content
    assert not Page.objects.dirty().exists()


def test_what_a_killed_builder_has_flipped_is_shown(products, public, monkeypatch):
    """By the next refresh, though the number of names is right."""
    build()
    with monkeypatch.context() as patch:
        patch.setattr(sync, "show", lambda pages: None)
        patch.setattr(sync, "look_after", lambda *args, **kwargs: False)
        rename("a")
        build_fully()
        assert len(wrong_names(public)) >= 3
    build()
    assert wrong_names(public) == []


def test_names_are_compared_once_in_a_while(products, public, monkeypatch):
    """A build in the same minute, after which all is as it should be, compares none."""
    build()
    looks: list[Any] = []
    monkeypatch.setattr(sync, "repair", lambda site: looks.append(site) or set())
    build()
    assert looks == []
    look_is_due()
    build()
    assert len(looks) == 1


def test_other_files_stay(products, public):
    """Only names of pages are the app's own."""
    others = ("favicon.ico", ".htaccess", "sitemap.xsl", "sitemapindex.xml")
    for name in others:
        (public / name).write_bytes(b"mine")
    build()
    look_is_due()
    build()
    for name in others:
        assert (public / name).read_bytes() == b"mine"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (OSError("no inodes"), "no inodes"),
        (UnicodeEncodeError("ascii", "\xfc", 0, 1, "no"), "in ascii.*PYTHONUTF8=1"),
    ],
)
def test_a_name_that_cannot_be_changed_is_told_of(
    products, public, monkeypatch, error, said
):
    """Its page is published, and only status can say that web servers show less."""

    def refuse(*args: Any) -> None:
        raise error

    with monkeypatch.context() as patch:
        patch.setattr(os, "link", refuse)
        patch.setattr(tree, "write_file", refuse)
        rename("a")
        for _ in range(2):
            with pytest.raises(StoreError, match=said):
                build_fully()
            with pytest.raises(CommandError, match=said):
                call_command("sitemap_status", stdout=StringIO())
    build()
    call_command("sitemap_status", stdout=StringIO())
    assert wrong_names(public) == []
