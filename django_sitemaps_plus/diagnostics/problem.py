"""A problem: what is wrong with one thing or many, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal, TypeAlias

from django_sitemaps_plus.conf import Site

from .requests import command_for

#: Characters of what is said of one thing.
MAX_WORDS = 500

Level: TypeAlias = Literal["error", "warning", "info"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """A thing that has a problem: a row, a page, a host, a target or a file."""

    name: str = ""
    words: str = ""
    url: str = ""  # its page in the admin


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A fault of one thing, or of many alike, and what to do about it."""

    id: str  # stable: monitors and tests compare this, never words
    level: Level = "error"
    subject: str  # the section, engine or rule; the target of the button
    message: str  # what is wrong, with the value
    remedy: str  # what to do
    command: str  # what to type
    action: str = ""  # the button of the dashboard that does the same
    since: datetime | None = None
    count: int = 1  # of the things, also of those that are not named
    items: Sequence[Item] = ()  # the first of them

    @property
    def cure(self) -> str:
        """The remedy and its command in one text, as commands and monitors print it."""
        return f"{self.remedy} Run {self.command}."

    def __str__(self) -> str:
        """Return the sentences that commands and monitors print."""
        return f"{self.subject}: {self.message.rstrip('.')}. {self.cure}"


def rebuilt(section: str, site: Site) -> dict[str, Any]:
    """Return what has every page of a section built, by a command and by an action."""
    command = command_for("build_sitemaps", site, section, "--full")
    return {"command": command, "action": "rebuild", "subject": section}


def shortened(words: str, most: int = MAX_WORDS) -> str:
    """Return words as far as they are shown."""
    return words if len(words) <= most else f"{words[: most - 1]}…"
