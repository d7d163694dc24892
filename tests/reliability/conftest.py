"""Fixtures of the reliability tests."""

import logging
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

#: Files whose tests take longest. They begin first, so that in the end no process has
#: one left while another has nothing to do.
_LONGEST = (
    *("test_kill_sweep.py", "test_example.py", "test_storage_faults.py"),
    *("test_torn_reads.py", "test_deliveries.py"),
)

#: What xdist carries the figures of a test under.
_FIGURES = "figures"


def pytest_configure(config: pytest.Config) -> None:
    """Let xdist give each process its tests one by one."""
    if getattr(config.option, "maxschedchunk", 1) is None:
        config.option.maxschedchunk = 1


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest, and leave the order as it is otherwise."""
    items.sort(key=lambda item: item.path.name not in _LONGEST)


@pytest.fixture
def quiet() -> Iterator[None]:
    """Log nothing: much is wrong on purpose."""
    logging.disable(logging.CRITICAL)
    yield
    logging.disable(logging.NOTSET)


@pytest.fixture
def figures(record_property: Callable[[str, object], None]) -> Callable[..., None]:
    """Return what notes the figures of a test, whether it passes or not.

    What is bad or lost may be counted already, or be listed: then there must be none.
    """
    none = {"seed": "none", "points": 1, "kills": 0, "lost": 0, "bad": 0}
    began = time.monotonic()

    def figures(test: str, **values: Any) -> None:
        listed = {
            k: values[k] for k in ("bad", "lost") if isinstance(values.get(k), list)
        }
        found = none | values | {name: len(it) for name, it in listed.items()}
        found["took"] = f"{time.monotonic() - began:.1f}s"
        words = " ".join([f"{name}={value}" for name, value in found.items()])
        record_property(_FIGURES, f"{test}: {words}")
        for it in listed.values():
            assert it[:5] == []

    return figures


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show the figures in the end: workers of xdist print nothing themselves."""
    lines = [
        str(value)
        for reports in terminalreporter.stats.values()
        for report in reports
        if getattr(report, "when", "") == "call"
        for name, value in report.user_properties
        if name == _FIGURES
    ]
    if lines:
        terminalreporter.section("figures")
        terminalreporter.write("\n".join([*sorted(lines), ""]))
