"""Django's Tasks: the executor for projects that run the workers of some backend.

The only module that knows them. As with Celery, a task says "look again" and nothing
else. No backend has a schedule, and some leave the task of a killed worker running for
ever: so ``run_sitemaps --once`` from cron, or ``run_sitemaps``, goes with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime, timedelta
from functools import partial, wraps
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.utils import timezone

from django_sitemaps_plus.background import work
from django_sitemaps_plus.conf import SETTING, get_settings
from django_sitemaps_plus.exceptions import ConfigurationError

from .base import Executor, get_executor
from .wakeups import Wakeups

try:
    from django import tasks
except ImportError:  # before Django 6.0
    import django_tasks as tasks  # type: ignore[no-redef]

# Backends that run a task at once, in the process that asks for it, or never.
_WITHOUT_WORKERS = {"ImmediateBackend", "DummyBackend"}


def _backend() -> Any:
    alias, known = get_settings().tasks_alias, tasks.task_backends.settings
    if alias not in known:
        raise ConfigurationError(
            f"{SETTING}['TASKS_ALIAS'] is {alias!r}, which TASKS lacks. "
            f"Define it there, or choose from {', '.join(map(repr, known))}."
        )
    return tasks.task_backends[alias]


def _task(function: Callable[..., None]) -> Any:
    """Make a task of the backend of TASKS_ALIAS, on its default or first queue."""
    queues = {*_backend().queues} or {"default"}
    queue = "default" if "default" in queues else min(queues)
    make: Any = tasks.task(backend=get_settings().tasks_alias, queue_name=queue)

    @wraps(function)
    def run(*arguments: Any) -> None:
        # A worker that waits for tasks says nothing.
        work.note_worker("tasks", has_ended=True)
        function(*arguments)

    return make(run)


@_task
def refresh(sections: list[str]) -> None:
    """Notice what has changed in sections, and build it together with other workers."""
    work.build_sections(sections, call_help=_call_help, audits=False)


@_task
def build_pages(sections: list[str]) -> None:
    """Build pages of sections that are known to have changed, until there are none."""
    work.build_sections(sections, call_help=_call_help, audits=False, notices=False)


@_task
def notify() -> None:
    """Submit to engines what is due, and ask for another call if more is due soon."""
    with work.noting_due(get_executor().notify) as notified:
        work.notify(notified)


@_task
def audit_listed(site: str) -> None:
    """Ask for the pages that a site lists, and keep what is found."""
    work.audit_listed(site)


class TasksExecutor(Executor):
    """Lets workers of Django's Tasks build and notify, soon after a change."""

    def __init__(self) -> None:
        self.wakeups = Wakeups(lambda name, seconds: _enqueue(refresh, seconds, [name]))
        self.notifications = Wakeups(lambda name, seconds: _enqueue(notify, seconds))

    @property
    def is_listening(self) -> bool:  # type: ignore[override]
        """Whether tasks wait for workers; else they would run in web processes."""
        with suppress(ImproperlyConfigured):  # a check reports it
            names = {it.__name__ for it in type(_backend()).__mro__}
            return names.isdisjoint(_WITHOUT_WORKERS)
        return False

    def wake(self, section: str) -> None:
        """Ask for a build of a section in WAKE_SECONDS."""
        if self.is_listening:
            self.wakeups.wake(section, get_settings().wake_seconds)

    def notify(self, due: datetime) -> None:
        """Ask for deliveries at a time, where the backend can wait for one."""
        if self.is_listening and _backend().supports_defer:
            wait = (due - timezone.now()).total_seconds()
            self.notifications.wake("engines", max(wait, 0))

    def audit(self, site: str) -> bool:
        """Ask for an audit of what a site lists."""
        ask = partial(_enqueue, audit_listed, 0)
        return self.is_listening and work.reach(ask, site)

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield that no worker gets any task."""
        alias = get_settings().tasks_alias
        try:
            _backend()
        except ImproperlyConfigured as error:
            remedy = f"Define it in TASKS, or set {SETTING}['TASKS_ALIAS']."
            yield f"TASKS[{alias!r}] cannot be used: {error}", remedy
            return
        if not self.is_listening:
            yield (
                f"TASKS[{alias!r}] has no workers, so nothing builds after a change.",
                "Use a backend that has, such as that of django-tasks-db; or run "
                "manage.py run_sitemaps, and leave EXECUTOR out.",
            )


def _call_help(sections: list[str]) -> None:
    _enqueue(build_pages, 0, sections)


def _enqueue(task: Any, seconds: float, *arguments: Any) -> None:
    """Add a task that runs in some seconds, or as soon as the backend can."""
    if seconds and task.get_backend().supports_defer:
        task = task.using(run_after=timezone.now() + timedelta(seconds=seconds))
    task.enqueue(*arguments)
