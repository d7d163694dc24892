"""How a refresh is to go about it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from django_sitemaps_plus.models import Section

#: Told of each page that was built: its section, pages done and pages to do.
Progress = Callable[[str, int, int], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a refresh is asked for; as it is, what ``build_sitemaps`` does.

    Attributes:
        full: render every page, and store those whose bytes differ.
        replan: make new plans first.
        allow_shrink: let the guard pass everything.
        workers: local processes that build.
        progress: told of each page.
        notices: look for changes first, rather than build only what is known.
        audits: compare the pages longest unchecked too, for a bounded time.
        sums: count the entries and sizes of all pages for the report.
        waits: return when all is published, whoever builds it, and take over the
            claims of who began before; else leave to others what they are at.
        seconds: after which no more pages are begun; None for never.
        call_help: called with the names of the sections and the number of pages to
            build, before they are built.
    """

    full: bool = False
    replan: bool = False
    allow_shrink: bool = False
    workers: int = 1
    progress: Progress | None = None
    notices: bool = True
    audits: bool = True
    sums: bool = True
    waits: bool = True
    seconds: float | None = None
    call_help: Callable[[list[str], int], None] | None = None


@dataclass(slots=True)
class Told:
    """Counts the pages of each section for who wants to see how far a build is."""

    progress: Progress | None
    done: dict[str, int] = field(default_factory=dict)
    total: dict[str, int] = field(default_factory=dict)

    def expect(self, sections: list[Section]) -> None:
        """Count the pages that are to be built."""
        if self.progress is not None:
            for section in sections:
                self.total[section.name] = section.pages.dirty().count()

    def __call__(self, name: str) -> None:
        """Count a page that was built."""
        if self.progress is None:
            return
        done = self.done[name] = self.done.get(name, 0) + 1
        total = self.total[name] = max(done, self.total.get(name, 0))
        self.progress(name, done, total)
