"""robots.txt (RFC 9309): groups of rules, other lines, and URLs of sitemaps."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import quote

from .locations import encode_url

#: Seconds that crawlers can be asked to wait between two requests: a day.
MAX_DELAY = 86_400

# Characters that some reader takes for a line end, or that UTF-8 cannot express.
_BREAK = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]")

# RFC 9309 has letters, "_" and "-"; names of crawlers have more than that.
_AGENT = re.compile(r"\*|[A-Za-z0-9_-][A-Za-z0-9_./+ -]*")

# Crawlers compare patterns with URLs byte by byte, so the rest stays as it is.
_SAFE = "!\"$%&'()*+,/:;<=>?@[\\]^`{|}~"


def extra_line(text: str) -> str:
    """Return a line of any kind, such as a comment, without control characters."""
    if not isinstance(text, str):
        raise TypeError(f"{text!r:.200} is not a string")
    if _BREAK.search(text):
        raise ValueError(
            f"{text!r:.200} has a line break, a control character or a lone surrogate"
        )
    return text.strip()


def agent(text: str) -> str:
    """Return the name of a crawler for a User-agent line; ``*`` means all others."""
    name = extra_line(text)
    if not _AGENT.fullmatch(name):
        raise ValueError(f"{name[:200]!r} is not a name of a crawler")
    return name


def path_pattern(text: str) -> str:
    """Return a path for Allow and Disallow lines; ``*`` and ``$`` are special.

    Spaces, ``#`` and characters outside ASCII are percent-encoded, as in a request.
    """
    path = extra_line(text)
    if path and not path.startswith(("/", "*")):
        raise ValueError(f"{path[:200]!r} is not a path: begin it with '/' or '*'")
    return quote(path, safe=_SAFE)


def sitemap_url(url: str) -> str:
    """Return the URL of a sitemap, on any host, for a Sitemap line."""
    encoded = encode_url(extra_line(url))
    if "#" in encoded:  # readers of the file take a fragment for a comment
        raise ValueError(f"{encoded[:200]!r} has a fragment: leave it out")
    return encoded


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """The paths that some crawlers may fetch; the longest pattern that matches decides.

    Names are as :func:`agent` returns them, paths as :func:`path_pattern`, and the
    delay as :func:`delay_text`.
    """

    agents: Sequence[str] = ("*",)
    allow: Sequence[str] = ()
    disallow: Sequence[str] = ()
    crawl_delay: str | None = None

    def lines(self) -> list[str]:
        """Return its lines."""
        rules = [
            *[f"Allow: {path}" for path in self.allow],
            *[f"Disallow: {path}".rstrip() for path in self.disallow],
        ]
        if self.crawl_delay is not None:
            rules.append(f"Crawl-delay: {self.crawl_delay}")
        # Without a rule a reader may take those of the next group for this one's.
        agents = [f"User-agent: {name}" for name in self.agents]
        return [*agents, *(rules or ["Disallow:"])]

    def allows(self, path: str) -> bool:
        """Return whether the crawlers may fetch a path (RFC 9309, 2.2.2)."""
        return _longest(self.allow, path) >= _longest(self.disallow, path)


def parse_robots(text: str, crawler: str) -> Group:
    """Return what a robots.txt says to a crawler: its own groups, else those of all."""
    by_agent: dict[str, list[tuple[str, str]]] = {}
    agents, has_rules = list[str](), False
    for line in text.splitlines():
        key, _, value = map(str.strip, line.partition("#")[0].partition(":"))
        if (verb := key.lower()) == "user-agent":
            agents = [value.lower()] if has_rules else [*agents, value.lower()]
            by_agent.setdefault(value.lower(), [])
            has_rules = False
        elif verb in ("allow", "disallow"):
            has_rules = True
            with suppress(ValueError):  # no path fits it
                rule = verb, path_pattern(value)
                for name in agents:
                    by_agent[name].append(rule)
    rules = by_agent.get(crawler.lower(), by_agent.get("*", []))
    allow = [path for verb, path in rules if verb == "allow"]
    return Group(allow=allow, disallow=[p for verb, p in rules if verb == "disallow"])


def delay_text(seconds: float) -> str:
    """Return a number of seconds, to the millisecond, for a Crawl-delay line."""
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        raise TypeError(f"{seconds!r:.200} is not a number of seconds")
    if not 0 <= seconds <= MAX_DELAY:
        raise ValueError(f"a delay is a number of seconds from 0 to {MAX_DELAY:,}")
    return f"{seconds:.3f}".rstrip("0").rstrip(".")


def _longest(patterns: Iterable[str], path: str) -> int:
    longest = 0
    for pattern in patterns:
        pieces = map(re.escape, pattern.removesuffix("$").split("*"))
        end = r"\Z" if pattern.endswith("$") else ""
        if re.match(".*".join(pieces) + end, path):
            longest = max(longest, len(pattern))
    return longest


def render_robots(
    groups: Iterable[Group], extra: Sequence[str] = (), sitemaps: Iterable[str] = ()
) -> bytes:
    """Render a robots.txt of one record a line, in UTF-8."""
    lines = [line for group in groups for line in [*group.lines(), ""]]
    lines += [extra_line(text) for text in extra]
    if extra:
        lines.append("")
    lines += [f"Sitemap: {sitemap_url(url)}" for url in sitemaps]
    return ("\n".join(lines).rstrip("\n") + "\n").encode()
