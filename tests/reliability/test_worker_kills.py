"""T2b: real workers, killed with all of their processes in the middle of builds."""

import random
import time
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from django_sitemaps_plus import tasks
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Page, Publication
from django_sitemaps_plus.publishing import prune
from tests.support.servers.programs import wait_until
from tests.support.servers.workers import messages_to, start_worker

from .tools.public import unlike_pages, wrong_set
from .tools.published import crawl, unpublished, urls_of
from .tools.shop import (
    IS_SOAK,
    SEEDS,
    STEP,
    lost_objects,
    publish,
    rename,
    some_seed,
    unfinished,
)

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

KILLS = 60 if IS_SOAK else 3

ROWS = 400

#: Seconds within which a worker that has begun to build is killed.
WITHIN = 0.4


def wrong_now(media: Any, seen: set[str]) -> list[str]:
    """Return what a crawler, or a reader of the tree, finds wrong, in words."""
    documents = crawl()
    n_urls = len(urls_of(documents))
    found = wrong_set(documents, media, seen)
    return found + ([] if n_urls == ROWS else [f"{n_urls} URLs are listed"])


def unnamed_files(media: Any) -> set[str]:
    """Return the files that no page points to, unfinished ones too."""
    named = set(Page.objects.exclude(object="").values_list("object", flat=True))
    top = media / "sitemaps"
    files = {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()}
    files -= {name for name in files if name.startswith("public/")}
    return files - named


@pytest.mark.parametrize("number", SEEDS)
def test_killed_while_building(
    number, configure, monkeypatch, sections, media_root, redis_broker, figures
):
    """After each kill all is complete; at the end nothing is left lying about."""
    monkeypatch.setattr(prune, "MARGIN", timedelta(0))
    configure(LEASE_SECONDS=1, PRUNE_SECONDS=0, WAKE_SECONDS=0)
    publish(ROWS)
    chance = random.Random(seed := some_seed(number))
    seen: set[str] = set()
    bad: list[str] = []
    kills = during = 0
    options = {"concurrency": 2, "include": ["tests.reliability.tools.shop_sections"]}
    with messages_to(redis_broker), start_worker(redis_broker, **options) as worker:
        for kill in range(KILLS):
            if kill:
                worker.start()
            seen.update(Page.objects.values_list("gzip_hash", flat=True))
            rename(range(0, ROWS * STEP, STEP), f"edit{kill}")
            tasks.refresh.delay(["products"])
            wait_until(begun, "a worker has begun")
            # The first at once, since a fast build is over before a later one.
            time.sleep(chance.uniform(0, WITHIN) if kill else 0)
            worker.kill()
            kills += worker.was_killed()
            during += not is_done()
            bad += [f"kill {kill}: {it}" for it in wrong_now(media_root, seen)]
    lost = wrong_end(media_root)
    figures(
        "worker kills",
        seed=seed,
        points=KILLS,
        kills=kills,
        during_builds=during,
        lost=lost,
        bad=bad,
    )
    assert kills == KILLS
    assert during >= KILLS // 2


def begun() -> bool:
    """Return whether a worker is building, or has built all."""
    return Page.objects.exclude(token="").exists() or is_done()


def is_done() -> bool:
    return unfinished() == []


def wrong_end(media: Any) -> list[str]:
    """Build once and prune; return what is not as it should be, in words."""
    build()
    wrong = unpublished() + unlike_pages(media)
    built = timezone.now().timestamp()
    wait_until(lambda: timezone.now().timestamp() > built + 4.1, "all graces are over")
    for _ in range(2):  # rows, and then their objects
        call_command("prune_sitemaps", verbosity=0)
    wrong += [f"{name} is left" for name in unnamed_files(media)]
    assert not Publication.objects.exists()
    return wrong + lost_objects()
