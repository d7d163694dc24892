"""A page of the documentation as a person follows it: files, commands and outputs."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.support.servers.programs import Program, wait_until

ROOT = Path(__file__).parents[2]

#: Seconds after which a command has hung.
HANG = 120

#: Beginnings of commands that a person repeats, until it is time or a worker is done.
_LOOKS = ("curl", "python manage.py explain_url")

_BLOCK = re.compile(r"^```(console|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_COMMAND = re.compile(r"^\$ (.*(?:\n> .*)*)\n((?:(?!\$ ).*\n)*)", re.MULTILINE)
_HASH = re.compile(r"[0-9a-f]{16,}")

#: What no two runs have in common. All other numbers must be as they are shown.
_MASKS = [
    (re.compile(r"\d{4}-\d\d-\d\d[T ][\d:]+(\+00:00)?"), "DATE"),
    (_HASH, "HASH"),
    (re.compile(r"[0-9,]+ bytes"), "N bytes"),
    (re.compile(r"\d+\.\d\d s\."), "N s."),
    (re.compile(r"\b\d+ s\b|\d:\d\d:\d\d"), "AGE"),
]

#: Columns of tables that depend on the machine.
_MACHINE = {"gzipped", "seconds"}


@dataclass
class Follower:
    """Follows a page in a directory.

    Attributes:
        directory: where its commands run, and its files are.
        environment: variables of their processes.
        port: of the server, in the place of 8000.
        skipped: beginnings of commands that are not run, such as an installation.
    """

    directory: Path
    environment: dict[str, str]
    port: int
    skipped: tuple[str, ...] = ()
    differences: list[str] = field(default_factory=list)
    _hashes: dict[str, str] = field(default_factory=dict)  # shown, and real

    def follow(self, text: str) -> list[str]:
        """Do all that a page says, in order; return what is not as it shows."""
        place = f"127.0.0.1:{self.port}"
        server = self._program("runserver", "--noreload", place, port=self.port)
        worker = self._program("run_sitemaps", ready="Sitemaps are kept up to date")
        try:
            for language, block in _BLOCK.findall(text):
                if language == "python":
                    self._write(block)
                    continue
                for command, shown in _COMMAND.findall(block):
                    if command == "python manage.py runserver":
                        server.start()
                    elif command == "python manage.py run_sitemaps":
                        worker.start()
                    elif not command.startswith(self.skipped):
                        self._compare(command, shown)
        finally:
            worker.kill()
            server.kill()
        return self.differences

    def _program(self, *words: str, **options: Any) -> Program:
        return Program(
            [sys.executable, f"{self.directory}/manage.py", *words],
            directory=self.directory.parent,
            environment=self.environment,
            **options,
        )

    def _write(self, block: str) -> None:
        named = re.match(r"# ([\w/]+\.py)", block)
        assert named is not None, f"no file is named:\n{block}"
        path = self.directory / named[1]
        before = path.read_text() if path.exists() else ""
        path.write_text(f"{before}\n{block}")

    def _compare(self, command: str, shown: str) -> None:
        real = ""

        def is_as_shown() -> bool:
            nonlocal real
            real = self.run(command)
            return list(_masked(shown)) == list(_masked(real))

        try:
            timeout = HANG if command.startswith(_LOOKS) else 0
            wait_until(is_as_shown, command, timeout)
        except AssertionError:
            self.differences.append(f"$ {command}\n{shown}--- really:\n{real}")
        hashes = zip(_HASH.findall(shown), _HASH.findall(real), strict=False)
        self._hashes |= dict(hashes)

    def run(self, command: str) -> str:
        command = command.replace("\n> ", "\n").replace(":8000/", f":{self.port}/")
        for shown, real in self._hashes.items():
            command = command.replace(shown, real)
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=self.directory,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=HANG,
            check=False,
        )
        # curl ends with 23 where `head` has read enough.
        is_fine = done.returncode in (0, 23) or command.startswith(_LOOKS)
        assert is_fine, f"{command}\n{done.stdout}"
        return done.stdout


def environment(directory: Path, **variables: str) -> dict[str, str]:
    """Return the variables of a shell in which our environment is active.

    A directory is given for the configuration of curl, which is to be quiet.
    """
    (directory / ".curlrc").write_text("silent\nnoproxy = *\n")
    ours = {k: v for k, v in os.environ.items() if not k.startswith("DJANGO_")}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ours |= {"PATH": path, "PYTHONPATH": str(ROOT), "CURL_HOME": str(directory)}
    quick = {"LC_ALL": "C.UTF-8", "PYTHONDEVMODE": ""}
    return {**ours, **quick, **variables}


def _masked(text: str) -> Iterator[str]:
    """Yield lines without what differs from run to run."""
    hidden: list[int] = []
    for line in text.splitlines():
        cells = line.split()
        if cells[:1] == ["section"]:
            hidden = [n for n, cell in enumerate(cells) if cell in _MACHINE]
        elif len(cells) <= max(hidden, default=0):
            hidden = []
        line = " ".join([c for n, c in enumerate(cells) if n not in hidden])
        if set(line) <= set("- "):
            continue  # a rule, as wide as its columns
        for mask, word in _MASKS:
            line = mask.sub(word, line)
        yield line
