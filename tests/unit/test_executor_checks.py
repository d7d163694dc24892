"""The check of the executor says where messages of Celery would be lost."""

from __future__ import annotations

import pytest
from celery import Celery, _state

from django_sitemaps_plus.checks import check_building
from django_sitemaps_plus.executors.base import Executor

from .test_checks import BASE, ids

TASKS = ("refresh", "build_pages", "audit")

CELERY = {**BASE, "EXECUTOR": "django_sitemaps_plus.tasks.CeleryExecutor"}


@pytest.fixture(autouse=True)
def no_app(monkeypatch):
    """Have no Celery app, neither of this thread nor of all."""
    for name in ("", "READ_", "WRITE_"):
        monkeypatch.delenv(f"CELERY_BROKER_{name}URL", raising=False)
    monkeypatch.setattr(_state._tls, "current_app", None)
    monkeypatch.setattr(_state, "default_app", None)


def make_app(name: str) -> Celery:
    """Return an app that is nobody's yet, as if no settings were named."""
    return Celery(name, broker="memory://", set_as_current=False, fixups=[])


class TestCelery:
    def test_it_needs_an_app_of_the_project(self, settings):
        """Else Celery makes one, which sends to a broker that nobody chose."""
        settings.SITEMAPS_PLUS = CELERY
        [message] = check_building()
        assert ids([message]) == ["W010"]
        assert "amqp://localhost" in message.msg
        assert "__init__.py" in message.hint

    @pytest.mark.parametrize("name", ["shop", "default"])
    def test_an_app_of_the_project_is_fine(self, settings, name):
        """Whatever it is called, and wherever its broker is."""
        settings.SITEMAPS_PLUS = CELERY
        make_app(name).set_default()
        assert check_building() == []

    def test_an_app_of_one_thread_is_not_enough(self, settings):
        """It is current in the thread that made it; others tell the workers."""
        settings.SITEMAPS_PLUS = CELERY
        make_app("shop").set_current()
        assert ids(check_building()) == ["W010"]

    @pytest.mark.parametrize("name", ["CELERY_BROKER_URL", "CELERY_BROKER_WRITE_URL"])
    def test_a_broker_that_celery_finds_by_itself_is_fine(
        self, settings, monkeypatch, name
    ):
        """Its own app knows the broker of the environment."""
        settings.SITEMAPS_PLUS = CELERY
        monkeypatch.setenv(name, "memory://")
        assert check_building() == []


class TestTimeLimits:
    @pytest.mark.parametrize("name", ["task_time_limit", "task_soft_time_limit"])
    def test_one_that_ends_each_long_build_is_named(self, settings, name):
        """Such builds would go on, but each task of them would end as a failure."""
        settings.SITEMAPS_PLUS = CELERY
        app = make_app("shop")
        app.set_default()
        app.conf[name] = 60
        [message] = check_building()
        assert ids([message]) == ["W010"]
        assert "after 60 s" in message.msg
        settings.SITEMAPS_PLUS = {**CELERY, "TASK_SECONDS": 50}
        assert check_building() == []

    def test_those_of_our_own_tasks_count(self, settings):
        """Where a project gives them more than all others."""
        settings.SITEMAPS_PLUS = CELERY
        app = make_app("shop")
        app.set_default()
        app.conf.task_soft_time_limit = 60
        longer = {"soft_time_limit": 300}
        names = [f"django_sitemaps_plus.tasks.{name}" for name in TASKS]
        app.conf.task_annotations = dict.fromkeys(names, longer)
        assert check_building() == []

    def test_those_of_one_task_count(self, settings):
        """The others may be as long as they like."""
        settings.SITEMAPS_PLUS = CELERY
        app = make_app("shop")
        app.set_default()
        task = "django_sitemaps_plus.tasks.build_pages"
        app.conf.task_annotations = {task: {"time_limit": 30}}
        assert ids(check_building()) == ["W010"]

    def test_what_is_no_number_is_left_to_another_check(self, settings):
        """Whatever limits there are."""
        settings.SITEMAPS_PLUS = {**CELERY, "TASK_SECONDS": "300"}
        app = make_app("shop")
        app.set_default()
        app.conf.task_time_limit = 60
        assert check_building() == []


class Faulty(Executor):
    """An executor of the project."""

    def faults(self):
        """Name one thing."""
        yield "It is broken.", "Mend it."


def test_an_executor_says_what_is_wrong_with_it(settings):
    """Any does; by itself it says nothing."""
    settings.SITEMAPS_PLUS = {**BASE, "EXECUTOR": f"{__name__}.Faulty"}
    [message] = check_building()
    assert message.msg == "It is broken."
    assert message.hint.startswith("Mend it. See docs/")
    settings.SITEMAPS_PLUS = BASE
    assert check_building() == []
