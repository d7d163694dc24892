"""Groups of problems: things that have the same one, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django_sitemaps_plus.conf import Site

from .requests import command_for

#: Characters of what is said of one thing.
MAX_WORDS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One thing that has a problem: a row, a page, a host, a target or a file."""

    name: str = ""
    words: str = ""
    url: str = ""  # its page in the admin


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Things with the same problem, and what to do about it."""

    title: str
    count: int = 1  # of the things, also of those that are not named
    words: str = ""
    is_warning: bool = False  # whether the rest is complete without them
    items: Sequence[Item] = ()  # the first of them
    remedy: str
    command: str = ""
    action: str = ""  # of the dashboard, that helps as well, and
    target: str = ""  # the section or engine that it is for


def rebuilt(section: str, site: Site) -> dict[str, Any]:
    """Return what has every page of a section built, by a command and by an action."""
    command = command_for("build_sitemaps", site, section, "--full")
    return {"command": command, "action": "rebuild", "target": section}


def shortened(words: str, most: int = MAX_WORDS) -> str:
    """Return words as far as they are shown."""
    return words if len(words) <= most else f"{words[: most - 1]}…"
