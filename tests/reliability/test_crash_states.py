"""T3: whatever of a publish a power cut leaves on the disk, a whole set is there.

The database keeps its promise: what it has committed stays. So an object must be on
the disk before the row that points to it, and a page before the index that lists it.
"""

import gzip
import shutil
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from functools import cache
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.conf import settings
from django.db import connection
from django.test import override_settings

from django_sitemaps_plus.building.build import build

from .tools.crashes import Cut, Disk, Recorder, cuts, on_disk
from .tools.public import hash_of
from .tools.published import urls_in
from .tools.shop import ON_SQLITE, ORIGIN
from .tools.states import STATES, edits_and_a_split

pytestmark = [pytest.mark.django_db(transaction=True), ON_SQLITE]

MAX_STATES = 50_000

#: States that are wrong after which it ends: one is enough to fail.
ENOUGH = 3

Rows = frozenset[tuple[str, str]]


digest = cache(hash_of)


@cache
def document(packed: bytes) -> bytes:
    try:
        plain = gzip.decompress(packed)
    except (EOFError, OSError):
        return b""
    whole = plain.rstrip().endswith((b"</urlset>", b"</sitemapindex>"))
    return plain if whole else b""


@cache
def listed(index: bytes) -> list[str]:
    return [url.removeprefix(f"{ORIGIN}/") for url in urls_in(index)]


def pointers() -> Rows:
    """Return what the committed rows point to, asked as another process would."""
    name = str(connection.settings_dict["NAME"])
    sql = "SELECT object, gzip_hash FROM sitemaps_plus_page WHERE object != ''"
    with closing(sqlite3.connect(name)) as database:
        return frozenset(database.execute(sql + " AND state != 'coming'"))


@contextmanager
def noting_commits(recorder: Recorder) -> Iterator[None]:
    """Let the record say what rows point to, each time that this has changed."""
    real, known = connection._commit, [pointers()]
    recorder.note("rows", known[0])

    def commit() -> None:
        real()
        now = pointers()
        if now != known[-1]:
            known.append(now)
            recorder.note("rows", now)

    with mock.patch.object(connection, "_commit", commit):
        yield


def wrong_objects(disk: Disk, rows: Rows) -> Iterator[str]:
    """Yield the objects that rows point to and the disk has not, in words."""
    for name, gzip_hash in rows:
        data = disk.get(f"sitemaps/{name}")
        if data is None or digest(data) != gzip_hash:
            yield f"{name} is {'missing' if data is None else 'torn'}"


def wrong_names(disk: Disk) -> Iterator[str]:
    """Yield what a reader of the public tree would find wrong, in words."""
    top = "sitemaps/public/"
    for name, data in disk.items():
        if data is not None and name.startswith(top) and f"{top}." not in name:
            packed = data if name.endswith(".gz") else gzip.compress(data)
            if not document(packed):
                yield f"{name} is torn"
    index = disk.get(f"{top}sitemap.xml.gz")
    for name in listed(document(index)) if index else ():
        if disk.get(f"{top}{name}.gz") is None:
            yield f"{name} is listed and missing"


def wrong_after(cut: Cut, *, was_public: bool) -> Iterator[str]:
    """Yield what is wrong in any state after a power cut; "" for each state."""
    # The last commit may be lost as well, where the database takes its time.
    possible = [step[1] for step in cut.noted[-2:]]
    for disk in cut.states():
        yield ""
        for rows in possible:
            yield from wrong_objects(disk, rows)
        yield from wrong_names(disk)
        if was_public and disk.get("sitemaps/public/sitemap.xml.gz") is None:
            yield "the public index is missing"


def not_new(cut: Cut, media: Path) -> Iterator[str]:
    """Yield the public names that a power cut may still undo, in words."""
    top = "sitemaps/public/sitemap"
    new = {name: data for name, data in on_disk(media).items() if name.startswith(top)}
    for disk in cut.states():
        shown = {name: data for name, data in disk.items() if name.startswith(top)}
        for name in shown.keys() | new.keys():
            if shown.get(name) != new.get(name):
                yield f"{name} is not what was published"


def recorded(
    prepare: Callable[[], None], options: dict[str, Any], media: Path
) -> Recorder:
    """Publish; return what was done, which must explain all that is on the disk."""
    prepare()
    media.mkdir(exist_ok=True)
    recorder = Recorder(media)
    recorder.start_with(on_disk(media))
    with recorder.recording(), noting_commits(recorder):
        build(**options)
    *_, last = cuts(recorder.steps)
    *_, disk = (state for state in last.states() if len(state) == len(on_disk(media)))
    assert disk == on_disk(media), "the record is not complete"
    return recorder


def a_new_tree() -> None:
    """Have objects, as of a version that made no public tree, and some changes."""
    edits_and_a_split()
    shutil.rmtree(Path(settings.MEDIA_ROOT) / "sitemaps" / "public")


@pytest.mark.parametrize(("prepare", "options"), [(a_new_tree, {}), *STATES])
@pytest.mark.parametrize("has_plain", [False, True], ids=["gzip", "plain"])
def test_power_cut_at_any_step(
    prepare: Callable[[], None],
    options: dict[str, Any],
    has_plain: bool,
    sections,
    media_root,
    figures,
):
    """The old set or part of the new one; all of the new one at the end."""
    given = {**settings.SITEMAPS_PLUS, "PUBLIC_PLAIN": has_plain}
    with override_settings(SITEMAPS_PLUS=given):
        recorder = recorded(prepare, options, media_root)
    points = states = 0
    bad: list[str] = []
    total = sum([1 for _ in cuts(recorder.steps)])
    for cut in cuts(recorder.steps):
        points += 1
        was_public = "sitemaps/public/sitemap.xml.gz" in cut.base
        is_last = points == total
        for it in wrong_after(cut, was_public=was_public or is_last):
            states += not it
            bad += [f"step {points}: {it}"] if it else []
        if is_last:
            bad += [f"at the end: {it}" for it in not_new(cut, media_root)]
        if len(bad) >= ENOUGH:
            break
    figures(
        f"crash states, {prepare.__name__}{', plain' * has_plain}",
        points=points,
        states=states,
        bad=bad,
    )
    assert points <= states <= MAX_STATES
