"""The check of the executor says where messages of Celery would be lost."""

from __future__ import annotations

import pytest
from celery import Celery, _state

from django_sitemaps_plus.checks import check_settings
from django_sitemaps_plus.executors.base import Executor

from .test_checks import BASE, SHARED, ids

CELERY = {**BASE, "EXECUTOR": "django_sitemaps_plus.tasks.CeleryExecutor"}
TASK = "django_sitemaps_plus.tasks.{}"


@pytest.fixture(autouse=True)
def no_app(settings, monkeypatch):
    """Have no Celery app, neither of this thread nor of all."""
    for name in ("", "READ_", "WRITE_"):
        monkeypatch.delenv(f"CELERY_BROKER_{name}URL", raising=False)
    monkeypatch.setattr(_state._tls, "current_app", None)
    monkeypatch.setattr(_state, "default_app", None)
    settings.CACHES = SHARED
    settings.SITEMAPS_PLUS = CELERY


def make_app(name: str = "shop") -> Celery:
    """Return an app that is nobody's yet, as if no settings were named."""
    return Celery(name, broker="memory://", set_as_current=False, fixups=[])


class TestApp:
    def test_it_needs_one_of_the_project(self):
        """Else Celery makes one, which sends to a broker that nobody chose."""
        [message] = check_settings()
        assert ids([message]) == ["W010"]
        assert "amqp://localhost" in message.msg
        assert "__init__.py" in message.hint

    @pytest.mark.parametrize("name", ["shop", "default"])
    def test_one_of_the_project_is_fine(self, name):
        make_app(name).set_default()
        assert check_settings() == []

    def test_one_of_one_thread_is_not_enough(self):
        """It is current in the thread that made it; others wake the workers."""
        make_app().set_current()
        assert ids(check_settings()) == ["W010"]

    @pytest.mark.parametrize("name", ["CELERY_BROKER_URL", "CELERY_BROKER_WRITE_URL"])
    def test_a_broker_that_celery_finds_by_itself_is_fine(self, monkeypatch, name):
        monkeypatch.setenv(name, "memory://")
        assert check_settings() == []


@pytest.mark.parametrize(
    ("conf", "seconds", "expected"),
    [
        ({"task_time_limit": 60}, 60, ["W010"]),
        ({"task_soft_time_limit": 60}, 60, ["W010"]),
        ({"task_soft_time_limit": 60}, 50, []),
        ({"task_time_limit": 60}, "300", ["E002"]),
        (
            {"task_annotations": {TASK.format("build_pages"): {"time_limit": 30}}},
            60,
            ["W010"],
        ),
        (
            {
                "task_soft_time_limit": 60,
                "task_annotations": {
                    TASK.format(name): {"soft_time_limit": 300}
                    for name in ("refresh", "build_pages", "audit")
                },
            },
            60,
            [],
        ),
    ],
)
def test_a_time_limit_that_ends_each_long_build_is_named(
    settings, conf, seconds, expected
):
    settings.SITEMAPS_PLUS = {**CELERY, "TASK_SECONDS": seconds}
    app = make_app()
    app.set_default()
    app.conf.update(conf)
    assert ids(check_settings()) == expected


class Faulty(Executor):
    """An executor of the project."""

    def faults(self):
        """Name one thing."""
        yield "It is broken.", "Mend it."


def test_an_executor_says_what_is_wrong_with_it(settings):
    settings.SITEMAPS_PLUS = {**BASE, "EXECUTOR": f"{__name__}.Faulty"}
    [message] = check_settings()
    assert message.msg == "It is broken."
    assert message.hint.startswith("Mend it. See docs/")
