"""A site with a key file, by which engines see that who tells them owns it."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from .programs import HOST, Program, place


class KeySite(Program):
    """Serves the file, in a process of its own: a test that forks has no threads."""

    def count_fetched(self) -> int:
        return self.printed().count('.txt HTTP/1.1" 200')


@contextmanager
def start_key_site(key: str) -> Iterator[KeySite]:
    """Serve a file with a key, by its name, for the time of a ``with`` block."""
    with place("key-site") as (port, directory):
        (directory / "files").mkdir()
        (directory / "files" / f"{key}.txt").write_text(key)
        command = [sys.executable, "-m", "http.server", "--bind", HOST, str(port)]
        command += ["--directory", "files"]
        with KeySite(command, directory=directory, port=port).started() as site:
            yield site
