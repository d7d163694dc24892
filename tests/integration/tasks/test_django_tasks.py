"""The executor of Django's Tasks, with the worker of django-tasks-db."""

import sys
from typing import Any

import pytest
from django_tasks_db.models import DBTaskResult

from django_sitemaps_plus.checks import check_settings
from django_sitemaps_plus.diagnostics import doctor
from django_sitemaps_plus.diagnostics.audit import read_findings
from django_sitemaps_plus.executors import tasks
from django_sitemaps_plus.executors.base import get_executor
from django_sitemaps_plus.models import Change, Page
from django_sitemaps_plus.sites import get_site
from tests.reliability.tools.published import published_urls
from tests.reliability.tools.shop import unfinished
from tests.support.servers.programs import wait_until
from tests.support.servers.running import keeping
from tests.support.servers.workers import send_wakeups
from tests.support.shop import make_products

from .sources import ProductSource, SlowSource
from .test_tasks import rename, wait_until_done, wait_until_published

pytestmark = pytest.mark.django_db(transaction=True)

EXECUTOR = f"{tasks.__name__}.TasksExecutor"
IMMEDIATE = f"{tasks.tasks.__name__}.backends.immediate.ImmediateBackend"
RQ = ["django_rq", "django_tasks_rq"]

#: Seconds of a lease and between two looks for tasks; after ten times both, a killed
#: one's pages hang.
LEASE, POLL = 2, 0.1
HANGS = 10 * (LEASE + POLL)

WORKER = [
    "db_worker",
    "--interval",
    str(POLL),
    *("--no-startup-delay", "--verbosity", "3"),
]


@pytest.fixture(autouse=True)
def executor(configure: Any) -> None:
    """Let workers of Django's Tasks build."""
    configure(EXECUTOR=EXECUTOR, WAKE_SECONDS=1, LEASE_SECONDS=LEASE)


def waiting() -> list[tuple[str, Any]]:
    send_wakeups()
    rows = DBTaskResult.objects.order_by("enqueued_at")
    return [(it.task_path.rpartition(".")[2], it.args_kwargs["args"]) for it in rows]


class TestWorkers:
    def test_a_save_is_published_without_any_command(self, publish):
        make_products(2)
        publish(ProductSource)
        with keeping(ProductSource, *WORKER, ready="Starting worker"):
            rename(0, "renamed")
            wait_until_published("renamed")
        [found] = doctor.workers(get_site())
        assert "cannot be asked. tasks last seen" in found.text

    def test_one_that_is_killed_loses_nothing(self, sections, run):
        """Its task may stay for ever: the next one, or a sweep, builds its pages."""
        make_products(40)
        sections.register("products", SlowSource)
        tasks.refresh.enqueue(["products"])
        with keeping(SlowSource, *WORKER, ready="Starting worker") as worker:
            wait_until(Page.objects.filter(built__gt=0).exists, "it builds")
            worker.kill()
            worker.start()
            wait_until(lambda: not claimed(), "its claims are over", HANGS)
            tasks.refresh.enqueue(["products"])
            wait_until_done(40, HANGS)
        assert len({url.split("/")[3] for url in published_urls()}) == 2


def claimed() -> bool:
    """Return whether pages are claimed that nobody is free to take."""
    dirty = Page.objects.dirty()
    return dirty.exists() and not Page.objects.claimable().exists()


class TestTasks:
    def test_they_name_sections_and_nothing_else(self, publish):
        make_products(2)
        publish(ProductSource)
        rename(0, "renamed")
        rename(1, "renamed-2")
        assert waiting() == [("refresh", [["products"]])]
        assert Change.objects.count() == 2

    def test_what_is_listed_is_audited(self, publish):
        make_products(2)
        publish(ProductSource)
        assert get_executor().audit("default")
        assert waiting() == [("audit_listed", ["default"])]
        tasks.audit_listed.func("default")
        assert not read_findings(get_site())["is_cut"]

    @pytest.mark.parametrize(
        ("backends", "said"),
        [
            ({}, "cannot be used"),
            ({"default": {"BACKEND": "nowhere.Backend"}}, "cannot be used"),
            ({"default": {"BACKEND": IMMEDIATE}}, "has no workers"),
        ],
    )
    def test_without_workers_a_save_asks_nobody(
        self, publish, settings, backends, said
    ):
        make_products(1)
        publish(ProductSource)
        settings.TASKS = backends
        [(fault, _)] = get_executor().faults()
        assert said in fault
        assert not get_executor().is_listening
        assert not get_executor().audit("default")
        rename(0, "renamed")
        assert waiting() == []
        assert Change.objects.count() == 1


def test_an_unknown_alias_is_named_with_those_that_exist(configure, monkeypatch):
    monkeypatch.delitem(sys.modules, tasks.__name__)  # as at the start of a process
    configure(EXECUTOR=EXECUTOR, TASKS_ALIAS="sitemap")
    [found] = [it for it in check_settings() if it.id.endswith(".E008")]
    assert "TASKS_ALIAS" in found.msg
    assert "'default'" in found.hint


def test_the_doctor_does_not_say_well_of_workers_that_cannot_be_asked(publish):
    publish(ProductSource)
    [found] = doctor.workers(get_site())
    assert found.ok is None
    assert "--once" in found.remedy


class TestAnotherBackend:
    """RQ, which keeps its tasks in Redis."""

    @pytest.fixture
    def options(self, settings: Any, redis_url: str) -> dict[str, Any]:
        """Return the settings of its workers, which this process has too."""
        options = {
            "INSTALLED_APPS": [*settings.INSTALLED_APPS, *RQ],
            "RQ_QUEUES": {"default": {"URL": redis_url}},
            "TASKS": {"default": {"BACKEND": "django_tasks_rq.RQBackend"}},
        }
        for name, value in options.items():
            setattr(settings, name, value)
        return options

    def test_a_save_is_published_and_after_a_kill_by_a_sweep(
        self, publish, options, run
    ):
        """The lock of a killed scheduler is in Redis for a minute."""
        make_products(2)
        publish(ProductSource)
        command = ["rqworker", "--job-class", f"{RQ[1]}.Job", "--with-scheduler"]
        ready = "Listening on default"
        with keeping(ProductSource, *command, ready=ready, **options) as worker:
            rename(0, "renamed")
            wait_until_published("renamed")
            worker.kill()
            rename(1, "renamed-2")
            send_wakeups()
            worker.start()
            run("run_sitemaps", once=True)
            assert unfinished() == []
