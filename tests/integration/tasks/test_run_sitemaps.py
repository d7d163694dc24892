"""The worker without a broker: ``run_sitemaps``, alive, killed and asked to end."""

from __future__ import annotations

from typing import Any
from unittest.mock import Mock

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus.background import runner as running
from django_sitemaps_plus.background.runner import Runner
from django_sitemaps_plus.background.work import build_sections
from django_sitemaps_plus.models import Change, Delivery, Page, Worker
from django_sitemaps_plus.testing import RecordingEngine
from tests.reliability.tools.published import published_urls
from tests.reliability.tools.shop import unfinished
from tests.support.servers.programs import wait_until
from tests.support.servers.running import keeping
from tests.support.shop import limited, make_products

from .sources import ProductSource, SlowSource
from .test_tasks import rename, wait_until_done, wait_until_published

ENGINE = f"{RecordingEngine.__module__}.RecordingEngine"


@pytest.mark.django_db(transaction=True)
class TestProcess:
    def test_a_save_is_published_without_broker_or_command(self, sections, configure):
        """The first build too, and engines hear of what changes after it."""
        engines = {"one": {"BACKEND": ENGINE, "OPTIONS": {}}}
        options = {"ENGINES": engines, "NOTIFY": True, "NOTIFY_DELAY_SECONDS": 0}
        configure(**options)
        make_products(3)
        sections.register("products", ProductSource)
        with keeping(ProductSource) as worker:
            wait_until_done(3)
            rename(0, "renamed")
            wait_until_published("renamed")
            wait_until(Delivery.objects.filter(sent__gt=0).exists, "an engine is told")
            assert "products: 3 pages rendered, 3 changed" in worker.printed()
            assert Worker.objects.get().is_there

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
        configure(LEASE_SECONDS=2)
        make_products(60)
        sections.register("products", SlowSource)
        with keeping(SlowSource) as killed, keeping(SlowSource):
            wait_until(Page.objects.filter(built__gt=0).exists, "they build")
            killed.kill()
            wait_until_done(60)
        builders = {url.split("/")[3] for url in published_urls()}
        assert len(builders) == 2
        assert unfinished() == []


class Told:
    """A runner whose builds are noted, and made if it is to build."""

    def __init__(self) -> None:
        self.failures: list[str] = []
        self.runner = Runner(self.ignore, self.ignore, self.failures.append)
        self.asked: list[set[str]] = []

    def ignore(self, report: Any) -> None:
        """Tell nobody."""

    def build(self, names: Any, **options: Any) -> Any:
        """Build as workers do, and note what was asked for."""
        self.asked.append(set(names))
        return build_sections(names, **options)

    def looks(self, times: int = 1) -> list[set[str]]:
        """Return what it builds at the next looks."""
        self.asked.clear()
        for _ in range(times):
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


@pytest.mark.database
class TestLooks:
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

    def test_a_change_that_must_wait_is_looked_at_once(self, told, configure):
        """Until another comes: pages without keys rest after each build."""
        Change.objects.create(section="nobody")
        assert told.looks(2) == [{"nobody"}]
        Change.objects.create(section="nobody")
        assert told.looks(2) == [{"nobody"}]

    def test_pages_of_other_code_wait_for_the_next_sweep(self, told, sections):
        for name in ("products", "others"):
            sections.unregister(name)
        Page.objects.filter(number=1).exclude(section__name="").update(wanted=9)
        assert told.looks(3) == [{"products", "others"}]
        told.runner._due["sweep"] = 0.0
        assert told.looks() == [set()]

    def test_an_audit_ends_once_there_is_something_to_build(self, told, configure):
        configure(AUDIT_INTERVAL_SECONDS=0, AUDIT_BUDGET_SECONDS=1)
        pages = Page.objects.of("default", "products").order_by("checked_at")
        rename(0, "renamed")
        checked = pages.last().checked_at
        told.runner._audit()
        assert pages.last().checked_at == checked
        assert told.looks()[0] == {"products", "others"}
        told.runner._audit()
        assert pages.first().checked_at > checked

    def test_a_failure_is_told_and_nothing_seen_is_lost(self, told, monkeypatch):
        rename(0, "renamed")
        failures = [OperationalError("the server closed the connection")]

        def build(names: Any, **options: Any) -> Any:
            if failures:
                raise failures.pop()
            told.runner.ended.set()
            return told.build(names, **options)

        monkeypatch.setattr(running.work, "build_sections", build)
        monkeypatch.setattr(running, "RETRY_SECONDS", 0)
        monkeypatch.setattr(running, "Presence", Mock())
        monkeypatch.setattr(running.connections, "close_all", Mock())
        told.runner.run()
        assert told.failures == ["OperationalError: the server closed the connection"]
        assert told.asked[-1] == set()  # all


@pytest.mark.database
class TestOnce:
    def test_it_does_all_that_waits(self, shop, run, configure):
        shop()
        rename(0, "renamed")
        assert "products: 1 page rendered, 1 changed" in run("run_sitemaps", once=True)
        assert unfinished() == []
        assert not Worker.objects.exists()

    def test_it_ends_with_a_sentence(self, configure, sections):
        configure(BASE_URL="no")
        sections.register("products", limited(10))
        with pytest.raises(CommandError, match="BASE_URL"):
            call_command("run_sitemaps", once=True)
