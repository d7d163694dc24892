"""Celery: tasks that do what the commands do, and the executor that calls them.

The only module that knows Celery. A message says "look again" and nothing else: what
there is to do is in the database. So it may be lost, or come twice or late.
"""

from __future__ import annotations

import logging
import math
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from celery import Task, current_app, shared_task
from celery.app import app_or_default
from celery.schedules import crontab
from celery.signals import heartbeat_sent, worker_shutdown
from django.utils import timezone
from django.utils.translation import gettext as _

from .background import work
from .background.presence import NOTE_SECONDS, Presence
from .conf import get_settings
from .core.suggestions import suggest
from .executors.base import Executor, get_executor
from .executors.wakeups import Wakeups

logger = logging.getLogger(__name__)


class _Task(Task):  # type: ignore[type-arg]  # not at run time
    """A task of ours.

    Its message is acknowledged when its work is done, and comes back if its worker
    died. No result is stored.
    """

    acks_late = True
    reject_on_worker_lost = True
    ignore_result = True


_task: Any = shared_task(base=_Task)

#: Seconds that a broker may take to accept a connection, or a message.
BROKER_SECONDS = 0.25

# Seconds that a broker and its workers may take to answer a person.
_ANSWER_SECONDS = 2

# Seconds between two looks at the database that are too many.
_LONGEST_SECONDS = 300

# Kombu's transports take each those that they know.
_TIMEOUTS = {
    "socket_timeout": BROKER_SECONDS,  # Redis
    "socket_connect_timeout": BROKER_SECONDS,
    "read_timeout": BROKER_SECONDS,  # AMQP
    "write_timeout": BROKER_SECONDS,
}


@_task
def refresh(sections: Iterable[str] = ()) -> None:
    """Notice what has changed, and build it together with other workers.

    Args:
        sections: names; none for all that are registered. Others are left out: another
            version of the project may have sent them.

    Raises:
        BuildError: a source, the storage or the database failed. The next call of the
            schedule goes on.
    """
    work.build_sections(sections, call_help=_call_help, audits=False)


@_task
def build_pages(sections: Iterable[str] = ()) -> None:
    """Build pages that are known to have changed, until there are no more.

    Args:
        sections: as for :func:`refresh`.
    """
    work.build_sections(sections, call_help=_call_help, audits=False, notices=False)


@_task
def audit() -> None:
    """Compare the pages longest unchecked with their rows, for AUDIT_BUDGET_SECONDS."""
    work.build_sections(call_help=_call_help, notices=False)


@_task
def audit_listed(site: str) -> None:
    """Ask for the pages that a site lists, and keep what is found."""
    work.audit_listed(site)


@_task
def notify() -> None:
    """Submit to engines what is due, and ask for another call if more is due soon.

    Raises:
        ConfigurationError: an engine is broken.
        DatabaseError: the database failed; what was not submitted waits.
    """
    with work.noting_due(get_executor().notify) as notified:
        work.notify(notified)


# Redis gives a message to another worker when its time is further away than this.
_LONGEST_COUNTDOWN = timedelta(seconds=60)


@_task
def prune() -> None:
    """Remove files and rows that are no longer needed.

    Raises:
        StoreError: the storage failed.
    """
    work.prune_sites()


class _Heart:
    """The presence of this worker, as long as it sends heartbeats to its broker."""

    def __init__(self) -> None:
        self._last = 0.0
        self._presence: Presence | None = None

    def beat(self, **kwargs: object) -> None:
        self._last = time.monotonic()
        if self._presence is None:
            self._presence = Presence("celery", self._is_beating)
            self._presence.start()

    def stop(self, **kwargs: object) -> None:
        if self._presence is not None:
            self._presence.end()

    def _is_beating(self) -> bool:
        return time.monotonic() - self._last < 3 * NOTE_SECONDS


_heart = _Heart()
heartbeat_sent.connect(_heart.beat)
worker_shutdown.connect(_heart.stop)


class CeleryExecutor(Executor):
    """Lets Celery workers build and notify, soon after something has changed."""

    def __init__(self) -> None:
        self.wakeups = Wakeups(lambda name, seconds: _send(refresh, [[name]], seconds))
        self.notifications = Wakeups(lambda name, seconds: _send(notify, [], seconds))

    @property
    def is_listening(self) -> bool:  # type: ignore[override]
        """Whether there are workers; eager tasks would run inside of a user's save."""
        return not current_app.conf.task_always_eager

    @property
    def sweep_seconds(self) -> float:  # type: ignore[override]
        """How often beat asks for all sections, if it does so day and night."""
        entries = [
            it.get("schedule")
            for it in current_app.conf.beat_schedule.values()
            if it.get("task") == refresh.name and not it.get("args")
        ]
        times = [it for it in entries if len(getattr(it, "hour", range(24))) == 24]
        return min(map(_seconds_between, times), default=0)

    def wake(self, section: str) -> None:
        """Ask for a build of a section in WAKE_SECONDS."""
        self.wakeups.wake(section, get_settings().wake_seconds)

    def notify(self, due: datetime) -> None:
        """Ask for deliveries at a time; the schedule sees to one that is far away."""
        wait = max(due - timezone.now(), timedelta())
        if self.is_listening and wait <= _LONGEST_COUNTDOWN:
            self.notifications.wake("engines", wait.total_seconds())

    def audit(self, site: str) -> bool:
        """Ask for an audit of what a site lists."""
        ask = partial(_send, audit_listed)
        return self.is_listening and work.reach(ask, [site])

    def faults(self) -> Iterator[tuple[str, str]]:
        """Yield that messages go nowhere, and that time limits are too short."""
        # Workers must not end what ends by itself after TASK_SECONDS.
        conf, limits = current_app.conf, []
        for task in (refresh, build_pages, audit, audit_listed):
            limits.append(task.time_limit or conf.task_time_limit)
            limits.append(task.soft_time_limit or conf.task_soft_time_limit)
        numbers = [it for it in limits if it and isinstance(it, int | float)]
        least = min(numbers, default=math.inf)
        if least <= (seconds := get_settings().task_seconds):
            yield (
                f"Celery ends tasks after {least:g} s, and one that builds leaves "
                f"after {seconds} s, TASK_SECONDS.",
                "Set TASK_SECONDS to less, or longer limits for the tasks of "
                "django_sitemaps_plus in task_annotations.",
            )

        # Look from a new thread, as a wake-up does: an app may be current in one alone.
        with ThreadPoolExecutor(1) as pool:
            app = pool.submit(app_or_default).result()
        is_made_by_celery = (app.main, app.loader_cls) == ("default", "default")
        if is_made_by_celery and not app.conf.broker_write_url:
            yield (
                "Messages for workers go to amqp://localhost, since no Celery app of "
                "the project is loaded.",
                "Import the app in the __init__.py of the project, and set "
                "DJANGO_SETTINGS_MODULE before it is made.",
            )

    def schedule_faults(self) -> Iterator[tuple[str, str]]:
        """Yield tasks of beat that do not exist, and that none refreshes."""
        own = sorted(it for it in current_app.tasks if it.startswith(f"{__name__}."))
        schedule = current_app.conf.beat_schedule
        names = [str(entry.get("task")) for entry in schedule.values()]
        for name in sorted({*names}.difference(current_app.tasks)):
            is_ours = name.startswith("django_sitemaps_plus.")
            if (hint := suggest(name, own, cutoff=0.6 if is_ours else 0.85)) or is_ours:
                yield f"Beat asks for {name!r}, which is no task.", hint
        # A scheduler of another app keeps its entries elsewhere.
        is_celerys = "celery.beat" in str(current_app.conf.beat_scheduler)
        if is_celerys and refresh.name not in names:
            yield (
                f"Beat does not ask for {refresh.name!r}: what no message tells waits.",
                "Add it to CELERY_BEAT_SCHEDULE, every 30 seconds; or run "
                "manage.py run_sitemaps --once from cron.",
            )
        for entry in schedule.values():
            task, seconds = entry.get("task"), _seconds_between(entry.get("schedule"))
            if task in (refresh.name, notify.name) and seconds > _LONGEST_SECONDS:
                yield (
                    f"Beat asks for {task!r} every {seconds:,.0f} s only.",
                    "Ask every 30 seconds: what no message tells waits for it.",
                )

    def workers(self) -> list[str]:
        """Return the names of the workers that answer."""
        with _inspection() as asked:
            return sorted(asked.ping() or ())

    def worker_faults(self) -> Iterator[tuple[str, str]]:
        """Yield why no worker takes the tasks that build."""
        with _inspection() as asked:
            tasks = asked.registered() or {}
            queues = (tasks and asked.active_queues()) or {}
        own = current_app.amqp.router.route({}, refresh.name)["queue"].name
        able = [name for name, known in tasks.items() if refresh.name in known]
        if not tasks:
            words = _("No worker answers in %s s.") % _ANSWER_SECONDS
            yield words, _("Start one: %s.") % "celery -A PROJECT worker"
        elif not able:
            words = _("Workers answer, and none knows %s.") % refresh.name
            remedy = _("Call app.autodiscover_tasks() in celery.py, and restart them.")
            yield words, remedy
        elif own not in [q["name"] for name in able for q in queues.get(name, ())]:
            words = _("No worker listens to the queue '%s', where our messages go.")
            start = f"celery -A PROJECT worker -Q {own}"
            yield words % own, _("Start one: %s.") % start


def _seconds_between(schedule: object) -> float:
    """Return how many seconds lie between two runs, on average; 0 if none can tell."""
    given: Any = schedule  # the types of Celery lack these attributes
    if isinstance(schedule, crontab):
        return 86_400 / (len(given.hour) * len(given.minute))
    every = getattr(schedule, "run_every", schedule)
    if isinstance(every, timedelta):
        return every.total_seconds()
    return every if isinstance(every, int | float) else 0


@contextmanager
def _inspection() -> Iterator[Any]:
    """Give what asks all workers, by a connection that does not wait without end."""
    options = {"socket_timeout": _ANSWER_SECONDS}
    with current_app.connection_for_write(transport_options=options) as broker:
        # Without it Celery would try for ever.
        broker.ensure_connection(max_retries=1, timeout=_ANSWER_SECONDS)
        yield current_app.control.inspect(timeout=_ANSWER_SECONDS, connection=broker)


def _send(task: Any, arguments: list[Any], seconds: float = 0) -> None:
    """Send a message, or fail soon.

    A connection of its own, since those of the project may wait without end; and
    without a retry, which would take longer than it helps.
    """
    app = task.app
    with app.connection_for_write(
        connect_timeout=BROKER_SECONDS, transport_options=_TIMEOUTS
    ) as connection:
        task.apply_async(
            arguments,
            connection=connection,
            countdown=seconds or None,
            # Later it is of no use: a sweep has found what there was.
            expires=seconds + get_settings().task_seconds,
            retry_policy={"max_retries": 0},
        )


def _call_help(sections: list[str]) -> None:
    if not current_app.conf.task_always_eager:
        _send(build_pages, [sections])
