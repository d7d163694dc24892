"""T2: killed at any step, a build leaves a complete set; the next needs no help.

The steps are every call that changes a file and every statement and commit of the
database; with SOAK each is tried in turn until the build gets through, else every
eleventh.
"""

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page, Section, State
from django_sitemaps_plus.publishing.sync import repair

from .tools.killing import run_killed
from .tools.public import (
    hash_of,
    is_harmless,
    just_looked,
    public_files,
    unlike_pages,
    wrong_set,
)
from .tools.published import crawl, published_urls, unpublished, urls_of
from .tools.shop import IS_SOAK, ON_SQLITE, table, wrong_totals
from .tools.states import STATES, Template, deletions_and_merges

pytestmark = [pytest.mark.django_db(transaction=True), ON_SQLITE]

#: States that are wrong after which a sweep ends: one is enough to fail.
ENOUGH = 3

#: Steps from one that is tried to the next.
STRIDE = 1 if IS_SOAK else 11


def wrong_state(before: set[str], after: set[str], *where: Any) -> list[str]:
    """Return what a crawler would find wrong, and what is wrong on disk, in words."""
    documents = crawl()
    listed = set(urls_of(documents))
    found = wrong_set(documents, *where)
    found += [f"{url} is missing" for url in (before & after) - listed]
    found += wrong_totals()
    return found + [f"{url} is in no table" for url in listed - before - after]


def wrong_end(options: dict[str, Any], media: Path) -> list[str]:
    """Build as usual; return what differs from the table, in words."""
    just_looked()
    build(**options)
    wrong = unpublished() + [it for it in unlike_pages(media) if not is_harmless(it)]
    repair()
    return wrong + unlike_pages(media)


@pytest.mark.parametrize(("prepare", "options"), STATES)
def test_killed_at_any_step(
    prepare: Callable[[], None],
    options: dict[str, Any],
    sections,
    media_root,
    tmp_path,
    figures,
    configure,
    no_flush,
):
    """The old set or part of the new one is there, and a build finishes the job.

    So it is in the public tree: its pages are those that its index lists.
    """
    # With plain files beside the others where pages vanish and change.
    has_plain = prepare is deletions_and_merges
    configure(PUBLIC_PLAIN=has_plain)
    prepare()
    before, after = set(published_urls()), set(table())
    earlier = {hash_of(data) for data in public_files(media_root).values()}
    template = Template.take(tmp_path / "before", media_root)
    kills, bad, lost = 0, [], []
    for step in count(1, STRIDE):
        template.restore()
        if not run_killed(lambda: build(**options), step):
            break
        kills += 1
        # A page may be published twice in a build, and killed before its name follows.
        earlier.update(Page.objects.values_list("gzip_hash", flat=True))
        wrong = wrong_state(before, after, media_root, earlier)
        bad += [f"step {step}: {it}" for it in wrong]
        lost += [f"step {step}: {it}" for it in wrong_end(options, media_root)]
        if len(bad) + len(lost) >= ENOUGH:
            break
    what = f"kill sweep, {prepare.__name__}"
    figures(what, points=kills, kills=kills, lost=lost, bad=bad)
    assert kills >= 134 // STRIDE  # with SOAK 400 points of three scenarios
    states = set(Section.objects.get(name="products").pages.values_list("state"))
    assert ((State.RETIRED,) in states) == (prepare is deletions_and_merges)
