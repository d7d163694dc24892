"""Programs that tests start, freeze and kill, and the ports that they listen on."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Self

HOST = "127.0.0.1"

#: Seconds after which a program that does not answer has hung.
HANG = 60


def reserve_port() -> socket.socket:
    """Return a socket that keeps a free port for a server to come, and to come back.

    It never listens: connecting to the port is refused until the server does, who
    may, since both say SO_REUSEADDR, while the system gives the port to nobody else.
    """
    reserved = socket.socket()
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind((HOST, 0))
    return reserved


def port_of(reserved: socket.socket) -> int:
    number: int = reserved.getsockname()[1]
    return number


@contextmanager
def place(name: str) -> Iterator[tuple[int, Path]]:
    """Give a port that stays reserved, and a directory that goes in the end."""
    with (
        reserve_port() as reserved,
        tempfile.TemporaryDirectory(prefix=f"sitemaps-plus-{name}-") as directory,
    ):
        yield port_of(reserved), Path(directory)


def answers(port: int) -> bool:
    with socket.socket() as client:
        client.settimeout(1)
        return client.connect_ex((HOST, port)) == 0


def wait_until(
    condition: Callable[[], object], what: str, timeout_seconds: float = HANG
) -> None:
    deadline = time.monotonic() + timeout_seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not in {timeout_seconds} s"
        time.sleep(0.01)


def _ending_with_us() -> list[str]:
    # Else a run of tests that is killed leaves its servers behind.
    found = shutil.which("setpriv")
    return [found, "--pdeathsig", "KILL"] if found else []


class Program:
    """A program with its children, in a process group of its own.

    Args:
        command: its words.
        directory: of its log, which holds all that it printed, of earlier runs too.
        environment: of it; that of the tests unless told.
        port: where it listens, once it is ready.
        ready: what it prints once it is ready, where it does not listen.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        directory: Path,
        environment: Mapping[str, str] | None = None,
        port: int = 0,
        ready: str = "",
    ) -> None:
        self.command = list(command)
        self.directory = directory
        self.environment = environment
        self.port = port
        self.url = f"http://{HOST}:{port}"
        self.log = directory / "log"
        self._ready = ready
        self._process: subprocess.Popen[bytes] | None = None
        self._log_begins = 0

    @property
    def pid(self) -> int:
        """Return the id of the process that runs, or was the last to."""
        assert self._process is not None, "it was never started"
        return self._process.pid

    @contextmanager
    def started(self) -> Iterator[Self]:
        try:
            self.start()
            yield self
        finally:
            self.kill()

    def restart(self) -> None:
        self.kill()
        self.start()

    def start(self, *, waits: bool = True) -> None:
        """Start it, or start it again, and return when it is ready."""
        # A file and no pipe, which would stop the program when nobody reads it.
        with self.log.open("ab") as log:
            self._log_begins = log.tell()
            self._process = subprocess.Popen(
                [*_ending_with_us(), *self.command],
                cwd=self.directory if self.environment is None else None,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        if not waits:
            return
        try:
            wait_until(self._is_up, f"{self.command[0]} is ready")
        except BaseException:
            self.kill()
            raise

    def is_ready(self) -> bool:
        """Return whether it does its work."""
        return answers(self.port) if self.port else self._ready in self.printed()

    def is_running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def printed(self) -> str:
        with self.log.open("rb") as log:
            log.seek(self._log_begins)
            return log.read().decode(errors="replace")

    def processes(self) -> set[int]:
        """Return the ids of it and its children, as far as they have not ended."""
        found = set()
        for stat in Path("/proc").glob("[0-9]*/stat"):
            try:
                # After the name, which may hold anything: state, parent, group.
                state, _, group = stat.read_text().rpartition(")")[2].split()[:3]
            except OSError:
                continue  # it ended meanwhile
            if int(group) == self.pid and state not in "ZX":
                found.add(int(stat.parent.name))
        return found

    def freeze(self) -> None:
        """Stop it and its children where they are."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """End it and its children at once, as a loss of power would."""
        if self._process is None:
            return
        self._signal(signal.SIGKILL)
        self._process.wait(HANG)
        # A child that lives a moment longer may still hold the port.
        wait_until(lambda: not self.processes(), "all of it is gone")

    def was_killed(self) -> bool:
        """Return whether it is a kill that has ended it."""
        return self._process is not None and self._process.returncode == -signal.SIGKILL

    def stop(self) -> None:
        """Ask it to end, and wait until it has."""
        if self._process is not None and self._process.poll() is None:
            self._process.terminate()
            self._process.wait(HANG)

    def _is_up(self) -> bool:
        assert self.is_running(), f"it ended at once: {self.printed()[-2_000:]}"
        return self.is_ready()

    def _signal(self, number: int) -> None:
        # An id that was waited for may belong to a stranger already. Only the leader
        # is waited for here, so while it is not, its group is still ours.
        if self._process is not None and self._process.returncode is None:
            os.killpg(self._process.pid, number)
