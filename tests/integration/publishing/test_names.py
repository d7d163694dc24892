"""Public names follow what pages point to, whatever sections are called."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from django.core.management import CommandError
from django.db import connection
from django.utils import timezone

from django_sitemaps_plus import notify_changed
from django_sitemaps_plus.building import flip as flipping
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan.replan import serve_live
from django_sitemaps_plus.exceptions import StoreError
from django_sitemaps_plus.models import Page, State
from django_sitemaps_plus.publishing import sync, tree
from django_sitemaps_plus.publishing.tree import PublicTree
from tests.integration.building.overtaking import rename
from tests.integration.diagnostics.time import pass_time
from tests.integration.diagnostics.time import run as prune
from tests.support.builds import build_and_relay, build_fully
from tests.support.documents import read_index
from tests.support.published import page_row, path_of
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

from .names import wrong_names

pytestmark = pytest.mark.django_db(transaction=True)

PAGE = "sitemap-products-1.xml.gz"

#: The user and the group that own no files.
NOBODY = 65534

#: Names that sections may have.
NAMES = ["Blog", "blog.posts", "größe", "a b", "..", "x.xml.gz", "50%", "Ж" * 32]


def edit(mark: str) -> None:
    rename(mark)
    notify_changed(Product.objects.all())


def look_is_due() -> None:
    """Let the last comparison of all names be long ago."""
    sync._looked_at.clear()


def test_each_page_and_the_index_has_a_name(products, public):
    """A link to its object, so it takes no room, with the time of publication."""
    assert wrong_names(public) == []
    assert len(list(public.glob("sitemap*"))) == 4
    page = page_row("products", 1)
    assert (public / PAGE).samefile(path_of(page))
    assert (public / PAGE).stat().st_mtime == pytest.approx(
        page.published_at.timestamp(), abs=1e-5
    )


def test_an_object_that_was_just_stored_is_not_read(shop, public, monkeypatch):
    """A link to it is enough, for a first build may store millions."""
    real, names = sync.read_object, []

    def read(name: str, gzip_hash: str) -> bytes:
        names.append(name)
        return real(name, gzip_hash)

    monkeypatch.setattr(sync, "read_object", read)
    shop()
    rename("a")
    build()
    assert not [name for name in names if "/products/" in name]
    assert wrong_names(public) == []


def test_a_name_goes_with_its_page(products, public, monkeypatch):
    """A builder may be about to show a page that another process removes."""
    real, page = PublicTree.show, page_row("products", 1)

    def show(*args: Any) -> None:
        real(*args)
        page.delete()

    monkeypatch.setattr(PublicTree, "show", show)
    sync.show([page.pk])
    assert not (public / PAGE).exists()


@pytest.mark.database
def test_a_name_stays_with_the_page_that_has_it_now(products, public, monkeypatch):
    """A slow builder shows a page that has been removed and made again."""
    real, old = PublicTree.show, page_row("products", 1)

    def show(*args: Any) -> None:
        monkeypatch.setattr(PublicTree, "show", real)
        serve_live(["products"])
        build()
        real(*args)

    monkeypatch.setattr(PublicTree, "show", show)
    sync.show([old.pk])
    assert page_row("products", 1).pk != old.pk
    assert wrong_names(public) == []


def test_a_reader_keeps_the_file_that_it_has_opened(products, public):
    """However slowly a web server sends it."""
    before = (public / PAGE).read_bytes()
    with (public / PAGE).open("rb") as opened:
        rename("a")
        build_fully()
        assert opened.read() == before != (public / PAGE).read_bytes()


def test_names_are_looked_after_beside_a_section_that_is_always_live(
    products, public, sections
):
    """Its index has none, and a page that has lost its entries loses its own."""
    sections.register("news", limited(10, live=True))
    build()
    assert sorted(it.name for it in public.glob("sitemap*")) == [
        f"sitemap-products-{number}.xml.gz" for number in (1, 2, 3)
    ]
    (public / PAGE).unlink()
    Product.objects.filter(pk__gte=products[20].pk).delete()
    notify_changed(Product.objects.all())
    look_is_due()
    build_fully()
    assert not page_row("products", 3).object
    assert wrong_names(public) == []


def test_names_follow_every_flip(products, public, client):
    """Edits, splits, pages that become empty, merges and new plans."""
    edits = [
        lambda: rename("a"),
        lambda: make_products(40, first=25),
        Product.objects.filter(pk__lte=products[9].pk).delete,
        Product.objects.filter(pk__gte=products[12].pk).delete,
        lambda: make_products(20, first=100),
    ]
    for number, change in enumerate(edits):
        change()
        build_fully(allow_shrink=True, replan=number == 4)
        assert wrong_names(public) == []
        assert number != 2 or not (public / PAGE).exists()
    assert Page.objects.filter(state=State.RETIRED).exclude(object="").exists()


@pytest.mark.database
def test_two_flips_within_a_second_have_different_seconds(
    products, public, monkeypatch
):
    """A server may make its ETag of time and size."""
    now = timezone.now()
    monkeypatch.setattr(timezone, "now", lambda: now)
    seconds = set()
    for mark in "abcd":
        rename(mark)
        build_fully()
        seconds.add(int((public / PAGE).stat().st_mtime))
    assert len(seconds) == 4


def test_plain_names_are_there_when_asked_for(products, public, configure):
    """And go when they are not any more."""
    for has_plain in (True, False):
        configure(PUBLIC_PLAIN=has_plain)
        look_is_due()  # as in the new process that has this setting
        build()
        assert wrong_names(public, has_plain=has_plain) == []
        rename("a")
        build_fully()
        assert wrong_names(public, has_plain=has_plain) == []


@pytest.mark.parametrize(
    ("directory", "file", "expected"), [(0o751, 0o640, 0o751), (None, 0o644, 0o755)]
)
def test_modes_are_those_of_the_storage(
    shop, settings, configure, public, directory, file, expected
):
    """Whatever the umask of the builder: a web server is another user."""
    settings.FILE_UPLOAD_DIRECTORY_PERMISSIONS = directory
    settings.FILE_UPLOAD_PERMISSIONS = file
    configure(PUBLIC_PLAIN=True)
    before = os.umask(0o077)
    try:
        shop(5)
    finally:
        os.umask(before)
    assert public.stat().st_mode & 0o777 == expected
    modes = {path.stat().st_mode & 0o777 for path in public.glob("sitemap*")}
    assert modes == {file}


@pytest.mark.parametrize("call", ["link", "utime"])
def test_a_name_that_cannot_be_a_link_is_a_copy(shop, public, monkeypatch, call):
    """On a file system without links, and of an object of another user."""
    real = getattr(os, call)

    def refuse(path: Any, *args: Any, **kwargs: Any) -> None:
        if public not in Path(path).parents:
            raise PermissionError(1, "Operation not permitted")
        real(path, *args, **kwargs)

    monkeypatch.setattr(os, call, refuse)
    shop()
    rename("a")
    build_fully()
    assert wrong_names(public) == []
    assert not (public / PAGE).samefile(path_of(page_row("products", 1)))
    assert not list(public.glob(".sitemaps-plus-*"))


@pytest.mark.parametrize(
    ("backend", "names"),
    [
        ("FileSystemStorage", {"sitemap.xml.gz", "sitemap-products-1.xml.gz"}),
        ("InMemoryStorage", set()),
    ],
)
def test_any_storage_on_files_has_names(
    shop, settings, configure, public, backend, names
):
    """Also Django's own, beside its objects."""
    there = {"BACKEND": f"django.core.files.storage.{backend}"}
    there["OPTIONS"] = {"location": str(public.parent)}
    settings.STORAGES = {**settings.STORAGES, "sitemaps": there}
    configure(STORAGE="sitemaps")
    shop(5)
    assert {path.name for path in public.glob("sitemap*")} == names


@pytest.mark.database
def test_a_name_changes_with_the_commit_alone(products, public, monkeypatch):
    """Of a flip that is rolled back nothing is seen."""
    build()  # so that none repairs the names for a while
    before = (public / PAGE).read_bytes()
    edit("a")
    real = flipping.show_when_committed

    def fail(*args: Any, **options: Any) -> None:
        real(*args, **options)
        raise RuntimeError("nothing is committed")

    with monkeypatch.context() as patch:
        patch.setattr(flipping, "show_when_committed", fail)
        with pytest.raises(RuntimeError):
            build()
    assert (public / PAGE).read_bytes() == before
    build()
    assert (public / PAGE).read_bytes() != before


def replace(public: Path) -> None:
    (public / PAGE).unlink()
    (public / PAGE).write_bytes(b"other")


def link_to_nothing(public: Path) -> None:
    (public / PAGE).unlink()
    (public / PAGE).symlink_to("nowhere")


def change_in_place(public: Path) -> None:
    published = (public / PAGE).stat()
    (public / PAGE).write_bytes(b"x" * published.st_size)
    os.utime(public / PAGE, (published.st_atime, published.st_mtime + 60))


def make_unreadable(public: Path) -> None:
    for path in public.glob("sitemap*"):
        path.chmod(0)


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
    "unreadable": make_unreadable,
}


@pytest.fixture
def unprivileged(media_root: Path) -> Iterator[None]:
    """Run as a user whom modes of files bind, with the files of the test as its own."""
    if os.geteuid():
        yield
        return
    for path in (media_root, *media_root.rglob("*")):
        os.chown(path, NOBODY, NOBODY)
    for path in media_root.parents:  # pytest shuts others out of them
        if not path.stat().st_mode & 0o001:
            path.chmod(0o711)
    os.seteuid(NOBODY)
    yield
    os.seteuid(0)


def test_a_wrong_name_is_repaired_by_one_build(products, public, client, unprivileged):
    """So is the object, where it was damaged too."""
    contents = {path: client.get(path).content for path in ("/sitemap.xml", f"/{PAGE}")}
    build()
    shown = (public / PAGE).read_bytes()
    for name, damage in DAMAGES.items():
        damage(public)
        look_is_due()
        build()
        assert wrong_names(public) == [], name
        assert (public / PAGE).read_bytes() == shown, name
        for path, content in contents.items():
            assert client.get(path).content == content, name
        modes = {path.stat().st_mode & 0o444 for path in public.iterdir()}
        assert modes == {0o444}, name
        assert not Page.objects.dirty().exists(), name


@pytest.mark.parametrize("damage", ["bytes", "directory", "unreadable"])
def test_a_damaged_object_is_stored_again_by_a_full_build(
    products, public, damage, client, unprivileged
):
    """Size and time are as before, so no public name looks wrong."""
    path = path_of(page_row("products", 1))
    stored, status = path.read_bytes(), path.stat()
    if damage == "bytes":
        path.write_bytes(stored[::-1])
        os.utime(path, (status.st_atime, status.st_mtime))
    elif damage == "directory":
        path.unlink()
        path.mkdir()
    else:
        path.chmod(0)
    build_fully()
    assert path_of(page_row("products", 1)).read_bytes() == stored
    assert wrong_names(public) == []


def test_a_directory_in_the_place_of_a_name_is_told_of(products, public, run):
    """Whose it is nobody knows, so it stays."""
    (public / PAGE).unlink()
    (public / PAGE).mkdir()
    look_is_due()
    with pytest.raises(CommandError, match=PAGE.partition(".")[0]):
        run("build_sitemaps")
    assert (public / PAGE).is_dir()


@pytest.mark.django_db
def test_names_that_wait_for_a_commit_are_not_wrong(shop, caplog):
    """Nothing is logged of a build in a TestCase, whose transaction is never over."""
    shop(3)
    assert caplog.messages == []


def test_names_are_compared_once_in_a_while(products, public, monkeypatch):
    """A build in the same minute, after which all is as it should be, compares none."""
    build()
    looks: list[Any] = []
    monkeypatch.setattr(sync, "repair", lambda: looks.append(1) or set())
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
    products, public, run, monkeypatch, error, said
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
                run("sitemap_status")
    build()
    run("sitemap_status")
    assert wrong_names(public) == []


@pytest.mark.database
def test_a_section_may_have_any_name(sections, client, public):
    """Each has its URL and directory, also where the database ignores case."""
    for name in NAMES:
        sections.register(name, limited(10))
    make_products(3)
    build_and_relay()
    Product.objects.filter(slug="product-00001").delete()
    build_and_relay()
    found = set(read_index(client.get("/sitemap.xml").content))
    paths = [f"/sitemap-{quote(name)}-1.xml" for name in NAMES]
    assert found == {f"https://example.com{path}" for path in paths}
    for name, path in zip(NAMES, paths, strict=True):
        assert client.get(path).status_code == 200
        gzipped = b"".join(client.get(f"{path}.gz"))
        assert (public / f"sitemap-{name}-1.xml.gz").read_bytes() == gzipped
    assert client.get("/sitemap-BLOG-1.xml").status_code in (404, 410)
    assert client.get("/sitemap-%00-1.xml").status_code == 404
    # None leaves the directory of the storage, or differs from others by case alone.
    directories = {path_of(page_row(name, 1)).parents[1] for name in NAMES}
    assert len({str(path).lower() for path in directories}) == len(NAMES)
    assert len({path.parent for path in directories}) == 1
    assert all(path.name.isascii() for path in directories)
    # Builds that repair names, and prunes of old objects, leave what is in use.
    before = sorted(path.name for path in public.iterdir())
    build_and_relay()
    pass_time()
    assert prune().objects == len(NAMES) + 1  # of the first build, and the index
    assert sorted(path.name for path in public.iterdir()) == before
    assert all(path_of(page_row(name, 1)).exists() for name in NAMES)


@pytest.mark.database
def test_a_name_that_differs_in_case_alone_overwrites_nothing(sections, shop, client):
    """A section was renamed; where the database ignores case, the build says so."""
    shop(3, name="blog")
    before = page_row("blog", 1).object
    sections.unregister("blog")
    sections.register("Blog", limited(10))
    problems = build_and_relay().problems
    assert page_row("blog", 1).object == before
    if connection.vendor == "mysql":
        [problem] = problems
        assert "section 'Blog' cannot be kept" in problem
        assert "'blog', which is known there. Choose another name" in problem
    else:
        assert problems == []
        assert client.get("/sitemap-Blog-1.xml").status_code == 200
