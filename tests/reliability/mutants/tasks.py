"""Mistakes of Celery's tasks and of what wakes workers."""

from __future__ import annotations

from .planting import mutant

_TASKS = "tests/integration/tasks/test_tasks.py"
_MESSAGES = f"{_TASKS}::TestMessages"
_LOST = f"{_TASKS}::TestLostWorkers"


@mutant(
    "background.work:build_sections",
    "tests/reliability/test_recovery.py::test_a_broker_that_is_killed",
    is_slow=True,
)
def sweep_builds_nothing(build, sections=(), *args, **changes):
    """A sweep looks at nothing, so a message that is lost is never made up for."""
    return build(sections, *args, **changes) if sections else []


@mutant(
    "executors.wakeups:Wakeups.wake",
    "tests/unit/executors/test_wakeups.py::"
    "test_a_change_once_the_build_may_have_begun_sends_another",
)
def wake_once(wake, wakeups, section, seconds):
    """A section that was woken is never woken again."""
    if section not in wakeups._due:
        wake(wakeups, section, seconds)


@mutant(
    "executors.wakeups:Wakeups.wake",
    f"{_MESSAGES}::test_each_section_has_a_message_of_its_own",
)
def one_message_for_all(wake, wakeups, section, seconds):
    """All sections share one message."""
    if not wakeups._due:
        wake(wakeups, section, seconds)


@mutant(
    "executors.wakeups:Wakeups._pause",
    f"{_MESSAGES}::test_a_broker_that_fails_is_left_alone_for_a_while",
)
def no_breaker(pause, wakeups, section, error):
    """Each save tries a broker that is away."""


@mutant(
    "tasks:_Task.acks_late",
    f"{_LOST}::test_a_message_whose_worker_died_comes_back",
    is_slow=True,
)
def acknowledged_early(acks_late):
    """Messages are acknowledged before their work is done."""
    return False


@mutant(
    "tasks:_Task.ignore_result",
    f"{_MESSAGES}::test_messages_name_sections_and_no_result_is_kept",
)
def results_kept(ignore_result):
    """Results of tasks are kept."""
    return False


@mutant(
    "tasks:_TIMEOUTS",
    f"{_MESSAGES}::test_help_that_cannot_be_called_delays_a_build_a_little",
    is_slow=True,
)
def broker_without_time_limit(timeouts):
    """No socket time limit: a broker that never answers keeps a task waiting."""
    return {}


@mutant(
    "outages:ends_work",
    f"{_LOST}::test_a_soft_limit_loses_no_row",
    is_slow=True,
)
def time_limit_blamed_on_a_row(ends_work, error):
    """A soft time limit is an error of the row at which it comes."""
    return False
