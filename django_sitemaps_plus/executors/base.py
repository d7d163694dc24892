"""The base class of executors."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from datetime import datetime

from django.utils.module_loading import import_string

from django_sitemaps_plus.conf import get_settings, until_settings_change
from django_sitemaps_plus.exceptions import ConfigurationError

_INSTEAD = (
    "Leave it out and run manage.py run_sitemaps, or use "
    "'django_sitemaps_plus.executors.tasks.TasksExecutor' for Django's Tasks (extra "
    "'tasks' on Django 5.2) or 'django_sitemaps_plus.tasks.CeleryExecutor' (extra "
    "'celery')."
)


class Executor:
    """Runs background builds."""

    #: Whether workers receive wake-ups.
    is_listening = False

    #: Seconds between two looks at all sections that a schedule asks for; 0: unknown.
    sweep_seconds: float = 0

    def wake(self, section: str) -> None:
        """Ask for a build of a section, soon.

        Best effort: the changes are in the database, and the next build finds them
        without it. The call never raises, and returns soon: a user's save makes it.
        """

    def notify(self, due: datetime) -> None:
        """Ask for deliveries at a time.

        Best effort and quiet, as :meth:`wake`.
        """

    def audit(self, site: str) -> bool:
        """Ask for an audit of what a site lists; return whether workers listen.

        Best effort: its message may be lost.
        """
        return False

    def faults(self) -> Iterable[tuple[str, str]]:
        """Return what keeps messages from workers, each with its remedy."""
        return ()

    def schedule_faults(self) -> Iterable[tuple[str, str]]:
        """Return what keeps a schedule from finding what no message tells, likewise."""
        return ()

    def workers(self) -> Iterable[str]:
        """Return the names of the workers that answer; as :meth:`worker_faults`."""
        return ()

    def worker_faults(self) -> Iterable[tuple[str, str]] | None:
        """Ask the workers; return what keeps them from building, with its remedy.

        The answer takes some seconds; whatever the broker's client raises is raised.
        None where workers cannot be asked.
        """
        return None


@until_settings_change
def get_executor() -> Executor:
    """Return the executor of the settings; ConfigurationError if it cannot be used."""
    path = get_settings().executor
    try:
        executor = import_string(path)()
    except ConfigurationError:  # of another setting, which it names
        raise
    except Exception as error:  # an import runs any code
        raise ConfigurationError(
            f"SITEMAPS_PLUS['EXECUTOR'] is {path!r}, which cannot be used: "
            f"{type(error).__name__}: {error}. {_INSTEAD}"
        ) from error
    if not isinstance(executor, Executor):
        raise ConfigurationError(
            f"SITEMAPS_PLUS['EXECUTOR'] is {path!r}, which is no Executor. {_INSTEAD}"
        )
    return executor


def usable_executor() -> Executor:
    """Return the executor, or one that reaches nobody where it cannot be used."""
    with suppress(ConfigurationError):  # checks and the doctor say why
        return get_executor()
    return Executor()
