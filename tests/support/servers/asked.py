"""A program in Python that answers each line that it reads with another."""

import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from .programs import HANG

ROOT = Path(__file__).parents[3]


class Asked:
    def __init__(self, process: subprocess.Popen[str]) -> None:
        self._process = process

    def ask(self, line: str) -> str:
        assert self._process.stdin
        assert self._process.stdout
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        return self._process.stdout.readline()

    def finish(self) -> float:
        """Let it end; return how many seconds that took."""
        assert self._process.stdin
        began = time.monotonic()
        self._process.stdin.close()
        assert self._process.wait() == 0
        return time.monotonic() - began


@contextmanager
def start_asked(
    *arguments: str, environment: Mapping[str, str], seconds: float = HANG
) -> Iterator[Asked]:
    """Run one for the time of a ``with`` block; it is ended where it hangs."""
    with subprocess.Popen(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        watchdog = threading.Timer(seconds, process.kill)
        watchdog.start()
        try:
            yield Asked(process)
        finally:
            watchdog.cancel()
            watchdog.join()
            process.kill()
