"""One thing done in a fresh process, which prints the MiB that it took at its peak.

Linux only: it reads and resets the kernel's high-water mark of resident memory.
"""

from __future__ import annotations

import gc
import os
import re
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import django

_PROCESS = Path("/proc/self")

# pathlib interns each part of the names that Django's storages check, and where the
# interpreter's table of such strings is full, it takes 2 MiB for a larger one: once in
# tens of thousands of names. Held from before the first look, these make it grow then.
_INTERNED = 60_000


def main(name: str, rows: int) -> None:
    """Do it and print by how much memory rose."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.benchmarks.settings"
    django.setup()
    action = _action(name, rows)
    held = [sys.intern(f"held {number}") for number in range(_INTERNED)]
    gc.collect()
    (_PROCESS / "clear_refs").write_text("5")  # the mark falls to what is in use now
    before = _kib("VmRSS")
    action()
    print((_kib("VmHWM") - before) / 1024)
    del held
    _undo(name)


def _kib(name: str) -> int:
    found = re.search(rf"{name}:\s+(\d+) kB", (_PROCESS / "status").read_text())
    assert found is not None
    return int(found[1])


def _action(name: str, rows: int) -> Callable[[], object]:
    """Return what to do, once all that it imports is there and it has connected."""
    from .web import Web

    if name.startswith("/"):
        web = Web()
        web.get("/products/warm-up/")
        web.get("/generic/sitemap.xml")
        return partial(web.get, name)
    _do(name, 100)
    _undo(name)
    return partial(_do, name, rows)


def _undo(name: str) -> None:
    # Not part of what is measured: Django reads all rows that it deletes.
    if name != "plan":
        from .building import unbuild

        unbuild()


def _do(name: str, rows: int) -> None:
    """Build, or plan only."""
    from django_sitemaps_plus.planning import first_plan
    from django_sitemaps_plus.section import open_section
    from django_sitemaps_plus.testing import temporary_source

    from .building import build_all
    from .forms import WordsSource
    from .sources import DeclaredSource, NarrowSource

    sources: dict[str, Any] = {"narrow": NarrowSource, "places": WordsSource}
    source = sources.get(name, DeclaredSource)
    with temporary_source("products", source(rows)):
        if name == "plan":
            first_plan(open_section("products"))
        else:
            build_all(rows)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
