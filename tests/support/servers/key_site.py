"""A site with a key file, by which engines see that who tells them owns it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from .programs import HOST, Program, answers, port_of, reserve_port


class KeySite:
    """Serves the file, in a process of its own: a test that forks has no threads."""

    def __init__(self, port: int, directory: Path, key: str) -> None:
        self.url = f"http://{HOST}:{port}"
        self._line = f'"GET /{key}.txt HTTP/1.1" 200'
        (directory / "files").mkdir()
        (directory / "files" / f"{key}.txt").write_text(key)
        command = [sys.executable, "-m", "http.server", "--bind", HOST, str(port)]
        command += ["--directory", "files"]
        self.program = Program(command, directory=directory)

    def count_fetched(self) -> int:
        """Return how many times the file was fetched."""
        return self.program.printed().count(self._line)


@contextmanager
def start_key_site(directory: Path, key: str) -> Iterator[KeySite]:
    """Run one for the time of a ``with`` block."""
    with reserve_port() as reserved:
        port = port_of(reserved)
        site = KeySite(port, directory, key)
        try:
            site.program.start(lambda: answers(port))
            yield site
        finally:
            site.program.kill()
