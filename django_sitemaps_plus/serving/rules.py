"""What the setting ROBOTS says, as far as it can be written into a robots.txt."""

from __future__ import annotations

import difflib
import logging
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.core.signals import setting_changed
from django.dispatch import receiver

from django_sitemaps_plus.conf import SETTING, get_settings
from django_sitemaps_plus.core.robots import (
    Group,
    agent,
    delay_text,
    extra_line,
    path_pattern,
    sitemap_url,
)

logger = logging.getLogger(__name__)

#: Keys of the setting, and of each of its RULES.
KEYS = ("RULES", "EXTRA", "SITEMAPS")
RULE_KEYS = ("USER_AGENT", "ALLOW", "DISALLOW", "CRAWL_DELAY")

_PLACE = f"{SETTING}['ROBOTS']"


@dataclass(frozen=True, slots=True)
class Records:
    """What can be written.

    Attributes:
        groups: who may fetch what; one at least.
        extra: other lines.
        sitemaps: URLs of sitemaps on other hosts.
        faults: what cannot be used, in words.
    """

    groups: tuple[Group, ...]
    extra: tuple[str, ...]
    sitemaps: tuple[str, ...]
    faults: tuple[str, ...]


@cache
def robots_records() -> Records:
    """Return the records of the settings in force."""
    given = get_settings().robots
    found = _Reader().read({} if given is None else given)
    for fault in found.faults:
        logger.error("%s", fault, extra={"action": "robots_fault"})
    return found


@receiver(setting_changed)
def _clear(*, setting: str, **kwargs: object) -> None:
    if setting == SETTING:
        robots_records.cache_clear()


class _Reader:
    """Reads the setting, and notes what is wrong with it."""

    def __init__(self) -> None:
        self.faults: list[str] = []

    def read(self, given: Any) -> Records:
        """Return all that can be used."""
        values = self._keys(_PLACE, given, KEYS)
        groups = [
            group
            for number, rule in enumerate(_listed(values.get("RULES", ())))
            if (group := self._group(f"{_PLACE}['RULES'][{number}]", rule))
        ]
        extra = self._each("EXTRA", values, extra_line)
        sitemaps = self._each("SITEMAPS", values, sitemap_url)
        return Records(tuple(groups) or (Group(),), extra, sitemaps, tuple(self.faults))

    def _group(self, place: str, rule: Any) -> Group | None:
        """Return a group of rules; None where nobody knows whose they are."""
        values = {"USER_AGENT": "*", **self._keys(place, rule, RULE_KEYS)}
        agents = self._each("USER_AGENT", values, agent, place)
        if not agents:
            self.faults.append(f"{place}: no crawler is named that could follow it")
        if not agents or not isinstance(rule, Mapping):
            return None
        delays = self._each("CRAWL_DELAY", values, _delay, place)
        return Group(
            agents=agents,
            allow=self._each("ALLOW", values, path_pattern, place),
            disallow=self._each("DISALLOW", values, path_pattern, place),
            crawl_delay=next(iter(delays), None),
        )

    def _keys(self, place: str, given: Any, known: tuple[str, ...]) -> dict[str, Any]:
        if not isinstance(given, Mapping):
            self.faults.append(f"{place}: {given!r:.200} is no dict")
            return {}
        for key in given:
            if key not in known:
                close = difflib.get_close_matches(str(key).upper(), known, n=1)
                those = f"known: {', '.join(known)}"
                meant = f"did you mean {close[0]!r}?" if close else those
                self.faults.append(f"{place}: unknown key {key!r:.200} ({meant})")
        return {key: given[key] for key in known if given.get(key) is not None}

    def _each(
        self,
        key: str,
        values: Mapping[str, Any],
        clean: Callable[[Any], Any],
        place: str = _PLACE,
    ) -> tuple[Any, ...]:
        """Return the values of a key that can be used."""
        found = []
        for value in _listed(values.get(key, ())):
            try:
                found.append(clean(value))
            except (TypeError, ValueError) as error:
                self.faults.append(f"{place}[{key!r}]: {error}")
        return tuple(found)


def _listed(value: Any) -> Iterable[Any]:
    """Return the values of a list, or the only one."""
    return value if isinstance(value, list | tuple) else [value]


def _delay(seconds: Any) -> float:
    delay_text(seconds)
    return float(seconds)
