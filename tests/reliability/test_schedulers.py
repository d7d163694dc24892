"""T21: however many ask for refreshes at once, one builder at a time has a page."""

import time
from contextlib import ExitStack

import pytest
from django.db import transaction
from django.db.models import F

from django_sitemaps_plus import tasks
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.models.claims import BATCH_PAGES
from tests.support.servers.programs import wait_until
from tests.support.servers.running import sweeping, working
from tests.support.testapp.models import Product

from .tools.claim_notes import (
    during_builds,
    note_request,
    notes,
    noting_claims,
    taken_over,
    unanswered,
)
from .tools.published import published_urls
from .tools.shop import (
    IS_SOAK,
    LIMIT,
    ON_SQLITE,
    STEP,
    PlainSource,
    publish,
    rename,
    table,
    unfinished,
)

pytestmark = [pytest.mark.django_db(transaction=True), ON_SQLITE]

BEATS = 3
WORKERS = 3
ASKED = 200 if IS_SOAK else 10

#: Seconds after which it hangs.
MAX_SECONDS = 30.0


class SlowSource(PlainSource):
    """Each page takes a while, for others to come between."""

    def location(self, item: Product) -> str:
        if item.pk // STEP % LIMIT == LIMIT - 1:
            time.sleep(0.1)
        return f"/products/{item.slug}/"


def test_beats_and_refreshes_at_once(celery, sections, configure, figures):
    """No claim is taken over, and each request has a build of its own page after it.

    No other request asks for that page, so nobody makes up for one that is lost.
    """
    # No lease ends, however slow the machine: nobody dies.
    configure(LEASE_SECONDS=600)
    publish(ASKED * LIMIT, SlowSource)
    pages = Page.objects.of("default", "products").order_by("number")
    firsts = range(0, ASKED * LIMIT * STEP, LIMIT * STEP)
    keys = dict(zip(pages.values_list("pk", flat=True), firsts, strict=True))
    with ExitStack() as stack:
        stack.enter_context(noting_claims())
        workers = stack.enter_context(working(celery, SlowSource, WORKERS))
        for _ in range(BEATS):
            stack.enter_context(sweeping(celery))
        # All but one worker are at work, and that one notices what is asked for.
        busy = pages.filter(number__lte=(WORKERS - 1) * BATCH_PAGES)
        busy.update(wanted=F("wanted") + 1)
        tasks.refresh.delay(["products"])
        wait_until(pages.exclude(token="").exists, "somebody builds")
        for page, key in keys.items():
            with transaction.atomic():
                rename([key], "change")
                note_request(page)
            tasks.refresh.delay(["products"])
        wait_until(lambda: not unfinished(), "nothing is left to do", MAX_SECONDS)
        noted = notes()
        done = sum(worker.printed().count(" succeeded in ") for worker in workers)
        failed = sum(worker.printed().count("Traceback") for worker in workers)
    lost = sorted(set(table()) ^ set(published_urls()))
    bad = [*taken_over(noted), *unanswered(noted)]
    figures(
        "schedulers",
        points=ASKED,
        lost=lost,
        bad=bad,
        beats=BEATS,
        tasks=done,
        claims=sum(not note.old and bool(note.new) for note in noted),
        asked_for_during_their_build=during_builds(noted),
    )
    assert failed == 0
    assert during_builds(noted)
