"""T2: killed at any step, a build leaves a complete set; the next needs no help.

The steps are every call that changes a file and every statement and commit of the
database; with SOAK each is tried in turn until the build gets through, else every
eleventh.
"""

from __future__ import annotations

import gzip
import shutil
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.db import connection, connections
from django.test import Client
from lxml import etree

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.models import Page, Section, State
from django_sitemaps_plus.publishing.sync import repair
from django_sitemaps_plus.registry import registry
from tests.support.testapp.models import Product

from .tools.killing import run_killed
from .tools.public import hash_of, just_looked, public_files, unlike_pages, wrong_public
from .tools.published import crawl, urls_in
from .tools.shop import (
    IS_SOAK,
    STEP,
    PlainSource,
    add,
    add_quietly,
    lost_objects,
    rename,
    table,
    unfinished,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        "connection.vendor != 'sqlite'", reason="it sweeps over copies of a SQLite file"
    ),
]

_NAMESPACE = "{http://www.sitemaps.org/schemas/sitemap/0.9}"

#: States that are wrong after which a sweep ends: one is enough to fail.
ENOUGH = 3

#: Steps from one that is tried to the next.
STRIDE = 1 if IS_SOAK else 11


class LargeSource(PlainSource):
    """Enough entries on few pages for the shrink guard to look at them."""

    limit = 40


def first_build() -> None:
    """Have rows, and nothing built."""
    registry.register("products", PlainSource)
    add_quietly(range(0, 4_000, STEP))


def edits_and_a_split() -> None:
    """Have changes on three of four pages; one of them will not hold its rows."""
    registry.register("products", PlainSource)
    add_quietly(range(0, 4_000, STEP))
    build()
    rename([0, 3_900], "renamed")
    Product.objects.get(pk=1_500).delete()
    add(range(1_001, 1_007))


def deletions_and_merges() -> None:
    """Have pages that lose most of their rows, so that neighbours merge."""
    registry.register("products", LargeSource)
    add_quietly(range(0, 16_000, STEP))
    build()
    Product.objects.filter(pk__gte=800, pk__lt=11_900).delete()
    rename([15_900], "renamed")


@dataclass(frozen=True)
class Template:
    """Database and files as they are before the build; copied for each step."""

    directory: Path
    media: Path

    @classmethod
    def take(cls, directory: Path, media: Path) -> Template:
        """Keep what there is now."""
        media.mkdir(parents=True, exist_ok=True)
        shutil.copytree(media, directory / "media")
        with connection.cursor() as cursor:
            cursor.execute("VACUUM INTO %s", [str(directory / "db")])
        return cls(directory, media)

    def restore(self) -> None:
        """Make everything as it was."""
        connections.close_all()
        name = Path(connection.settings_dict["NAME"])
        for suffix in ("-wal", "-shm"):
            name.with_name(name.name + suffix).unlink(missing_ok=True)
        shutil.copyfile(self.directory / "db", name)
        shutil.rmtree(self.media)
        shutil.copytree(self.directory / "media", self.media)
        cache.clear()


def wrong_documents(documents: dict[str, bytes]) -> Iterator[str]:
    """Yield what is not valid, in words."""
    for path, document in documents.items():
        root = etree.fromstring(document)
        if root.tag != f"{_NAMESPACE}urlset" or not len(root):
            yield f"{path} is no urlset with entries"
        if any(url[0].tag != f"{_NAMESPACE}loc" for url in root):
            yield f"{path} has an entry without location"


def wrong_files(media: Path) -> Iterator[str]:
    """Yield the objects that are not whole, in words; of names that are taken."""
    for path in media.rglob("*.xml.gz"):
        try:
            gzip.decompress(path.read_bytes())
        except (EOFError, OSError) as error:
            yield f"{path.name}: {error}"


def wrong_state(before: set[str], after: set[str], media: Path) -> list[str]:
    """Return what a crawler would find wrong, and what is wrong on disk, in words.

    Args:
        before: URLs that were listed before the build.
        after: URLs that the table lists now.
        media: where the files are.
    """
    documents = crawl(Client())
    listed = [url for document in documents.values() for url in urls_in(document)]
    found = [*wrong_documents(documents), *wrong_files(media), *lost_objects()]
    found += [f"{url} is missing" for url in (before & after) - set(listed)]
    found += [f"{url} is in no table" for url in set(listed) - before - after]
    if len(set(listed)) < len(listed):
        found.append("a URL is listed twice")
    return found


def is_harmless(difference: str) -> bool:
    """Return whether it is the name of an empty page, which no index lists."""
    return "should not be there" in difference


def wrong_end(options: dict[str, Any], media: Path) -> list[str]:
    """Build as usual; return what differs from the table, in words."""
    just_looked()
    build(**options)
    documents = crawl(Client())
    listed = sorted(url for document in documents.values() for url in urls_in(document))
    wrong = unfinished() + [it for it in unlike_pages(media) if not is_harmless(it)]
    repair(get_site())
    wrong += unlike_pages(media)
    return wrong + ([] if listed == table() else ["the table is not published"])


@pytest.mark.parametrize(
    ("prepare", "options"),
    [
        (first_build, {}),
        (edits_and_a_split, {}),
        (deletions_and_merges, {"allow_shrink": True}),
    ],
)
def test_killed_at_any_step(
    prepare: Callable[[], None],
    options: dict[str, Any],
    sections,
    media_root,
    tmp_path,
    figures,
    settings,
    no_flush,
):
    """The old set or part of the new one is there, and a build finishes the job.

    So it is in the public tree: its pages are those that its index lists.
    """
    # With plain files beside the others where pages vanish and change.
    has_plain = prepare is deletions_and_merges
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "PUBLIC_PLAIN": has_plain}
    prepare()
    before = {url for page in crawl(Client()).values() for url in urls_in(page)}
    after = set(table())
    earlier = {hash_of(data) for data in public_files(media_root).values()}
    (tmp_path / "before").mkdir()
    template = Template.take(tmp_path / "before", media_root)
    kills, bad, lost = 0, [], []
    began = time.monotonic()
    for step in count(1, STRIDE):
        template.restore()
        if not run_killed(lambda: build(**options), step):
            break
        kills += 1
        # A page may be published twice in a build, and killed before its name follows.
        earlier.update(Page.objects.values_list("gzip_hash", flat=True))
        wrong = wrong_state(before, after, media_root)
        wrong += wrong_public(media_root, earlier)
        bad += [f"step {step}: {it}" for it in wrong]
        lost += [f"step {step}: {it}" for it in wrong_end(options, media_root)]
        if len(bad) + len(lost) >= ENOUGH:
            break
    seconds = time.monotonic() - began
    figures(
        f"kill sweep, {prepare.__name__}",
        points=kills,
        kills=kills,
        lost=len(lost),
        bad=len(bad),
        seconds=round(seconds),
    )
    assert bad[:ENOUGH] == []
    assert lost[:ENOUGH] == []
    assert kills >= 134 // STRIDE  # with SOAK 400 points of three scenarios
    states = set(Section.objects.get(name="products").pages.values_list("state"))
    assert ((State.RETIRED,) in states) == (prepare is deletions_and_merges)
