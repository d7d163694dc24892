"""Rewrites one file over and over, until it is told to stop; run as a program."""

from __future__ import annotations

import importlib
import sys
import threading

from django.conf import settings
from django.core.files.base import ContentFile

NAME = "page.xml"

#: Each content is one letter, so that a mixture of two shows.
SIZE = 600_000


def main(kind: str, location: str) -> None:
    """Save contents in turn, a line to stdout for each hundred."""
    settings.configure()
    module, _, name = kind.rpartition(".")
    storage = getattr(importlib.import_module(module), name)(
        location=location, allow_overwrite=True
    )
    stop = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), stop.set()), daemon=True).start()
    count = 0
    while not stop.is_set():
        content = ContentFile(b"ab"[count % 2 : count % 2 + 1] * SIZE)
        assert storage.save(NAME, content) == NAME
        count += 1
        if count % 20 == 0:
            print(count, flush=True)  # noqa: T201 - read by the test


if __name__ == "__main__":
    main(*sys.argv[1:])
