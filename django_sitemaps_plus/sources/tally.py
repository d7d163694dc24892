"""What happened to the rows of one page: listed, skipped, or short of a value."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field

logger = logging.getLogger(__name__)

#: Problems of one page that are named one by one; the rest is only counted.
MAX_NAMED = 20


@dataclass(slots=True)
class Tally:
    """Counts of one page, filled while it is rendered.

    Attributes:
        section: name of the section, for the log.
        entries: entries written.
        skipped: rows left out, since no location could be written.
        dropped: values left out of their entry.
        newest: the latest lastmod as W3C text, or ``""``.
        problems: the first of them in words.
    """

    section: str
    entries: int = 0
    skipped: int = 0
    dropped: int = 0
    newest: str = ""
    problems: list[str] = field(default_factory=list)

    def skip(self, row: str, error: Exception) -> None:
        """Count a row that is left out, and say why."""
        self.skipped += 1
        self._name(f"{row} left out: {_reason(error)}", "row_skipped")

    def drop(self, row: str, name: str, error: Exception) -> None:
        """Count a value that is left out, and say why."""
        self.dropped += 1
        self._name(f"{row} listed without {name}: {_reason(error)}", "value_dropped")

    def _name(self, problem: str, action: str) -> None:
        if len(self.problems) >= MAX_NAMED:
            return
        self.problems.append(problem)
        extra = {"action": action, "section": self.section}
        logger.warning("section=%s %s", self.section, problem, extra=extra)


def _reason(error: Exception) -> str:
    # Lone surrogates in the data would break the log's own encoding.
    return f"{type(error).__name__}: {_message(error)}"[:300]


def _message(error: Exception) -> str:
    try:
        return str(error).encode("ascii", "backslashreplace").decode()
    except Exception:  # noqa: BLE001 - the error's class is the user's code too
        return "an error without words"
