"""The worker without a broker: ``run_sitemaps``, alive, killed and asked to end."""

import math
import signal
import time
from datetime import timedelta
from threading import Event
from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus.background import runner as running
from django_sitemaps_plus.background import work
from django_sitemaps_plus.background.runner import Runner
from django_sitemaps_plus.background.work import build_sections
from django_sitemaps_plus.diagnostics import requests
from django_sitemaps_plus.diagnostics.audit import read_findings
from django_sitemaps_plus.diagnostics.problems import problems_of
from django_sitemaps_plus.diagnostics.status import SiteStatus
from django_sitemaps_plus.exceptions import BuildError
from django_sitemaps_plus.models import Change, Delivery, Page, Section, Worker
from django_sitemaps_plus.models.claims import LEASES_TOLD, heartbeat
from django_sitemaps_plus.models.workers import GONE
from django_sitemaps_plus.sites import get_site
from django_sitemaps_plus.testing import RecordingEngine
from tests.reliability.tools.published import published_urls
from tests.reliability.tools.shop import unfinished
from tests.support.servers.programs import wait_until
from tests.support.servers.running import keeping
from tests.support.shop import limited, make_products

from .sources import BrokenSource, ProductSource, SlowSource
from .test_tasks import rename, wait_until_done, wait_until_published

#: Seconds of a lease and between two looks; after ten times both, a killed one's pages
#: hang.
LEASE, POLL = 2, 1
HANGS = 10 * (LEASE + POLL)

LONG_AGO = timezone.now() - timedelta(days=1)

ENGINE = f"{RecordingEngine.__module__}.RecordingEngine"


@pytest.mark.django_db(transaction=True)
class TestProcess:
    def test_a_save_is_published_without_broker_or_command(self, sections, configure):
        """The first build too, and engines hear of what changes after it.

        The button of the dashboard asks for an audit, which keeps no edit waiting.
        """
        engines = {"one": {"BACKEND": ENGINE, "OPTIONS": {}}}
        options = {"ENGINES": engines, "NOTIFY": True, "NOTIFY_DELAY_SECONDS": 0}
        configure(**options)
        make_products(3)
        sections.register("products", ProductSource)
        site = get_site()
        assert not requests.audit(site, "")
        with keeping(ProductSource) as worker:
            wait_until_done(3)
            rename(0, "renamed")
            wait_until_published("renamed")
            wait_until(Delivery.objects.filter(sent__gt=0).exists, "an engine is told")
            assert "products: 3 pages rendered, 3 changed" in worker.printed()
            assert [it.is_there for it in Worker.objects.seen()] == [True]
            assert requests.audit(site, "")
            rename(1, "another")
            wait_until_published("another")
            wait_until(lambda: read_findings(site), "it is audited")
        assert read_findings(site)["entries"] == 3
        assert work.asked_audits() == []

    def test_a_source_that_raises_is_a_line(self, sections):
        """Its traceback is in the log, which is no part of the terminal."""
        sections.register("products", BrokenSource)
        with keeping(BrokenSource) as worker:
            wait_until(lambda: "is away" in worker.printed(), "it says so")
            assert "Traceback" not in worker.printed()

    def test_it_ends_with_the_page_at_hand(self, sections):
        """No claim is left, and whoever is next builds the rest at once."""
        make_products(40)
        sections.register("products", SlowSource)
        with keeping(SlowSource) as worker:
            wait_until(
                Page.objects.filter(claimed_at__isnull=False).exists, "it builds"
            )
            worker.stop()
            assert not worker.is_running()
            assert "Ended." in worker.printed()
        assert Worker.objects.get().has_ended
        assert not Page.objects.exclude(token="").exists()
        assert Page.objects.dirty().count() > 20
        assert not Page.objects.exclude(attempts=0).exists()

    def test_two_share_the_pages_and_one_may_die(self, sections, configure):
        """Within a lease and a poll; it hangs after ten times as long."""
        configure(LEASE_SECONDS=LEASE, WAKE_SECONDS=POLL)
        make_products(60)
        sections.register("products", SlowSource)
        with keeping(SlowSource) as killed, keeping(SlowSource):
            wait_until(Page.objects.filter(built__gt=0).exists, "they build")
            killed.kill()
            wait_until_done(60, HANGS)
        builders = {url.split("/")[3] for url in published_urls()}
        assert len(builders) == 2
        assert unfinished() == []

    def test_one_that_is_killed_is_missed_and_one_that_starts_goes_on(
        self, sections, configure
    ):
        configure(LEASE_SECONDS=LEASE, WAKE_SECONDS=POLL)
        make_products(20)
        sections.register("products", SlowSource)

        def problems() -> list[str]:
            status = SiteStatus(site=get_site(), workers=Worker.objects.seen())
            return [it.id for it in problems_of(status)]

        with keeping(SlowSource) as worker:
            wait_until(Page.objects.filter(built__gt=0).exists, "it builds")
            worker.kill()
            assert problems() == []
            Worker.objects.update(seen_at=F("seen_at") - GONE)  # a minute is over
            assert problems() == ["worker_gone"]
            worker.start()
            wait_until(lambda: problems() == [], "it is there again")
            wait_until_done(20, HANGS)
            rename(0, "renamed")
            urls = f"/{worker.pid}/renamed/"
            wait_until(lambda: any(urls in it for it in published_urls()), "it builds")


class FakeClock:
    """A monotonic clock that can be put forward."""

    def __init__(self, monkeypatch: Any) -> None:
        self.seconds, real = 0.0, time.monotonic
        monkeypatch.setattr(time, "monotonic", lambda: real() + self.seconds)


class Told:
    """A runner whose builds are noted, and made."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.runner = Runner(self.ignore, self.ignore, self.failures.append)
        self.asked: list[set[str]] = []

    def ignore(self, report: Any) -> None:
        """Tell nobody."""

    def build(self, names: Any, **options: Any) -> None:
        self.asked.append(set(names))
        build_sections(names, **options)

    def looks(self, times: int = 1) -> list[set[str]]:
        """Return what it builds at the next looks, but for audits."""
        self.asked.clear()
        for _ in range(times):
            self.runner._due["audit"] = math.inf
            self.runner._step()
        return [*self.asked]


@pytest.fixture
def told(shop: Any, monkeypatch: Any) -> Told:
    """Return a runner that has nothing left to do for two published sections."""
    shop()
    shop(0, name="others")
    told = Told()
    monkeypatch.setattr(running.work, "build_sections", told.build)
    assert told.looks(3)[0] == set()  # all
    assert told.looks() == []
    return told


class TestLooks:
    @pytest.mark.database
    def test_an_idle_one_is_a_query(self, told):
        with CaptureQueriesContext(connection) as asked:
            assert told.looks() == []
        assert len(asked) == 1

    def test_sections_that_have_changed_are_built(self, told):
        Page.objects.filter(section__name="others", number=1).update(wanted=9)
        assert told.looks(2) == [{"others"}]
        rename(0, "renamed")
        assert told.looks(2) == [{"products", "others"}]
        assert unfinished() == []

    @pytest.mark.database
    def test_a_change_that_must_wait_is_looked_at_once(self, told):
        """Until another comes, also one with a lower key that was committed later."""
        Change.objects.create(section="nobody", pk=9_000)
        assert told.looks(2) == [{"nobody"}]
        Change.objects.all().delete()
        Change.objects.create(section="nobody", pk=8_000)
        assert told.looks(2) == [{"nobody"}]

    def test_an_index_alone_takes_a_single_section(self, told):
        Page.objects.filter(section__name="").update(wanted=9)
        [names] = told.looks()
        assert len(names) == 1
        assert unfinished() == []

    def test_pages_of_other_code_wait_for_the_next_sweep(self, told, sections):
        for name in ("products", "others"):
            sections.unregister(name)
        Page.objects.filter(number=1).exclude(section__name="").update(wanted=9)
        assert told.looks(3) == [{"products", "others"}]
        told.runner._due["sweep"] = 0.0
        assert told.looks() == [set()]

    @pytest.mark.database
    def test_a_connection_that_broke_is_closed(self, told, monkeypatch):
        """That of a database which holds changes alone: nobody else would notice."""
        broken, sound = Mock(errors_occurred=True), Mock(errors_occurred=False)
        opened = Mock(all=Mock(return_value=[broken, sound]))
        monkeypatch.setattr(running, "connections", opened)
        told.looks()
        broken.close_if_unusable_or_obsolete.assert_called_once()
        sound.close_if_unusable_or_obsolete.assert_not_called()


class TestAudits:
    @pytest.fixture(autouse=True)
    def short(self, configure: Any) -> None:
        configure(AUDIT_INTERVAL_SECONDS=0, AUDIT_BUDGET_SECONDS=1)

    def test_one_ends_once_there_is_something_to_build(self, told):
        """Then it goes on, so that a site that is edited all the time is audited."""
        pages = Page.objects.of("default", "products").order_by("checked_at")
        rename(0, "renamed")
        checked = pages.last().checked_at
        told.runner._due["notify"] = math.inf
        told.runner._audit()
        assert pages.last().checked_at == checked
        assert told.runner._due["audit"] == 0.0
        assert told.looks()[0] == {"products", "others"}
        told.runner._due["audit"] = told.runner._due["notify"] = math.inf
        told.runner._audit()
        assert pages.first().checked_at > checked
        assert told.runner._due["audit"] == math.inf

    def test_one_waits_for_engines(self, told):
        told.runner._due["notify"] = 0.0
        told.runner._audit()
        assert told.runner._due["audit"] == 0.0


class TestFailures:
    @pytest.fixture(autouse=True)
    def alone(self, monkeypatch: Any) -> None:
        """Let it note nothing from a thread, which has a database of its own."""
        monkeypatch.setattr(running, "Presence", Mock())

    def test_one_is_told_once_and_nothing_seen_is_lost(self, told, monkeypatch):
        rename(0, "renamed")
        failures = [OperationalError("it is away")] * 2

        def build(names: Any, **options: Any) -> Any:
            if failures:
                raise failures.pop()
            told.runner.end()
            return told.build(names, **options)

        monkeypatch.setattr(running.work, "build_sections", build)
        told.runner._pause = 0
        told.runner.run()
        assert told.failures == ["OperationalError: it is away"]
        assert told.asked[-1] == set()  # all
        running.Presence().end.assert_called_once()

    def test_a_job_that_fails_keeps_back_no_other(self, told, monkeypatch):
        jobs = {"notify": Mock(), "prune_sites": Mock()}
        for name, job in jobs.items():
            monkeypatch.setattr(running.work, name, job)
        monkeypatch.setattr(
            running.work, "build_sections", Mock(side_effect=BuildError("no"))
        )
        told.runner._due = dict.fromkeys(told.runner._due, 0.0)
        told.runner._step()
        assert told.failures == ["no", "no"]  # of the build, and of the audit
        assert [job.call_count for job in jobs.values()] == [1, 1]

    def test_a_crash_is_no_clean_end(self, told, monkeypatch):
        monkeypatch.setattr(told.runner, "_step", Mock(side_effect=MemoryError))
        with pytest.raises(MemoryError):
            told.runner.run()
        running.Presence().end.assert_not_called()

    def test_one_that_hangs_is_not_there(self, told, monkeypatch, configure):
        """Until it has a heartbeat; one that waits for work has none, and is there."""
        configure(LEASE_SECONDS=2)
        clock, is_there = FakeClock(monkeypatch), list[bool]()

        def note() -> None:
            [_kind, moves] = running.Presence.call_args.args
            is_there.append(moves())

        def hang() -> None:
            note()
            clock.seconds += LEASES_TOLD * 2
            note()
            heartbeat()
            note()
            told.runner.end()

        monkeypatch.setattr(told.runner, "_step", hang)
        told.runner.run()
        clock.seconds += LEASES_TOLD * 2
        note()
        assert is_there == [True, False, True, True]

    def test_no_edit_waits_for_a_prune(self, told, monkeypatch):
        begun, ends = Event(), Event()

        def prune(age: Any) -> None:
            begun.set()
            ends.wait(HANGS)

        monkeypatch.setattr(running.work, "prune_sites", prune)
        told.runner._due["prune"] = 0.0
        try:
            told.looks()
            assert begun.wait(HANGS)
            rename(0, "renamed")
            assert told.looks() != []
            assert unfinished() == []
            assert told.runner._pruning.is_alive()
        finally:
            ends.set()
            told.runner._pruning.join()

    def test_nothing_is_begun_once_it_is_to_end(self, told, monkeypatch):
        told.runner.end()
        told.runner._due = dict.fromkeys(told.runner._due, 0.0)
        assert told.looks() == []


class TestOnce:
    def test_it_does_all_that_waits(self, shop, run, configure):
        shop()
        rename(0, "renamed")
        Worker.objects.note("run_sitemaps")  # one that stays, and may be killed
        assert "products: 1 page rendered, 1 changed" in run("run_sitemaps", once=True)
        assert unfinished() == []
        kinds = dict(Worker.objects.values_list("kind", "has_ended"))
        assert kinds == {"run_sitemaps": False, "run_sitemaps --once": True}

    def test_it_audits_what_is_listed_if_somebody_asked(self, shop, run):
        shop()
        run("run_sitemaps", once=True)
        assert read_findings(get_site()) is None
        Section.objects.note_of_index("default", audit_asked_at=timezone.now())
        run("run_sitemaps", once=True)
        assert read_findings(get_site())["entries"] > 0

    def test_it_audits_though_changes_must_wait(self, shop, run):
        shop()
        Change.objects.create(section="nobody")
        Page.objects.update(checked_at=timezone.now() - timedelta(days=30))
        run("run_sitemaps", once=True)
        assert Page.objects.earliest("checked_at").checked_at > LONG_AGO

    def test_it_fails_if_it_cannot_do_all(self, sections):
        def fail(self: Any) -> Any:
            raise RuntimeError("its service is away")

        sections.register("products", limited(10, get_queryset=fail))
        with pytest.raises(CommandError, match="its service is away"):
            call_command("run_sitemaps", once=True)

    def test_it_prunes_once_a_day(self, shop, run, monkeypatch):
        """And leaves signals as they were."""
        pruned = Mock(wraps=work.prune)
        monkeypatch.setattr(work, "prune", pruned)
        shop()
        before = [signal.getsignal(it) for it in (signal.SIGTERM, signal.SIGINT)]
        for _ in range(2):
            run("run_sitemaps", once=True)
        after = [signal.getsignal(it) for it in (signal.SIGTERM, signal.SIGINT)]
        assert (pruned.call_count, after) == (1, before)
        Section.objects.update(pruned_at=F("pruned_at") - timedelta(days=1))
        run("run_sitemaps", once=True)
        assert pruned.call_count == 2

    def test_it_ends_with_a_sentence(self, configure, sections):
        configure(BASE_URL="no")
        sections.register("products", limited(10))
        with pytest.raises(CommandError, match="BASE_URL"):
            call_command("run_sitemaps", once=True)
