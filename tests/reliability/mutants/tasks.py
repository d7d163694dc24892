"""Mistakes of Celery's tasks and of what wakes workers."""

from __future__ import annotations

from contextlib import nullcontext, suppress

from .planting import mutant

_TASKS = "tests/integration/tasks"
_MESSAGES = f"{_TASKS}/test_wake_ups.py::TestMessages"


@mutant(
    "tasks:_build",
    "tests/reliability/test_recovery.py::test_a_broker_that_is_killed",
    is_slow=True,
)
def sweep_builds_nothing(build, sections, **changes):
    """A sweep looks at nothing, so a message that is lost is never made up for."""
    if sections:
        build(sections, **changes)


@mutant(
    "executors.wakeups:Wakeups.wake",
    "tests/reliability/test_save_safety.py::"
    "test_a_lost_broker_and_cache[black_hole-no limits]",
    is_slow=True,
)
def wake_up_in_the_saving_thread(wake, wakeups, section):
    """A wake-up has no time limit, and the save waits for it."""
    with suppress(Exception):
        wakeups._tell(section)


@mutant(
    "serving.cache:forget",
    f"{_MESSAGES}::test_a_save_while_a_refresh_is_at_work_sends_another",
    is_slow=True,
)
def wake_key_kept(forget, key):
    """The wake key stays while a build reads changes."""


@mutant("tasks:_wake_key", f"{_MESSAGES}::test_each_section_has_a_message_of_its_own")
def one_wake_key(wake_key, section):
    """All sections share one wake key."""
    return "wake"


@mutant(
    "tasks:_ask", f"{_MESSAGES}::test_a_broker_that_fails_is_left_alone_for_a_while"
)
def no_breaker(ask, section):
    """Nobody notices that a wake-up was not sent, so each save tries again."""
    with suppress(Exception):
        ask(section)


@mutant(
    "tasks:_Task.acks_late",
    f"{_TASKS}/test_lost_workers.py::test_a_message_whose_worker_died_comes_back",
    is_slow=True,
)
def acknowledged_early(acks_late):
    """Messages are acknowledged before their work is done."""
    return False


@mutant(
    "tasks:_Task.ignore_result",
    f"{_TASKS}/test_messages.py::test_messages_name_sections_and_no_result_is_kept",
)
def results_kept(ignore_result):
    """Results of tasks are kept."""
    return False


@mutant(
    "tasks:_TIMEOUTS",
    f"{_TASKS}/test_messages.py::"
    "test_help_that_cannot_be_called_delays_a_build_a_little",
    is_slow=True,
)
def broker_without_time_limit(timeouts):
    """No socket time limit: a broker that never answers keeps a task waiting."""
    return {}


@mutant("tasks:ended_by", f"{_TASKS}/test_time_limits.py", is_slow=True)
def time_limit_blamed_on_a_row(ended_by, kind):
    """A soft time limit is an error of the row at which it comes."""
    return nullcontext()
