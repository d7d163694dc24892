"""Hosts of a network of their own: the tests' process on one, and programs on others.

Each is a network namespace, which is no more when nothing is left on it.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

import pytest

from tests.support.servers import programs, s3, valkey

#: The address of the tests' process, and of the servers that it starts.
HUB = "10.77.0.1"

_LIBC = ctypes.CDLL(None, use_errno=True)  # the os module has these from Python 3.12
_NEW_NETWORK = 0x40000000


class Host:
    """A host beside the hub, whose clock is some seconds ahead of the hub's."""

    def __init__(self, number: int, clock_ahead: int) -> None:
        self.name, self.address = f"host{number}", f"10.77.0.{number}"
        with _returning():
            self._network = _new_network()
        _ip(f"link add {self.name} type veth peer name eth0")
        _ip(f"link set {self.name} master lan up")
        _ip(f"link set eth0 netns /proc/{os.getpid()}/fd/{self._network}")
        self._clock = {
            "CLOCK_AHEAD": str(clock_ahead),
            "PYTHONPATH": str(Path(__file__).parent / "clock"),
        }
        with self.entered():
            _ip(f"addr add {self.address}/24 dev eth0")
            _ip("link set eth0 up")

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Have what this thread starts in a ``with`` block run there."""
        with _returning(), mock.patch.dict(os.environ, self._clock):
            _call(_LIBC.setns, self._network, _NEW_NETWORK)
            yield

    def cut_off(self) -> None:
        """Lose what it sends, and what is sent to it, without a word."""
        _ip(f"link set {self.name} down")

    def join(self) -> None:
        """Let it reach the hub again."""
        _ip(f"link set {self.name} up")

    def close(self) -> None:
        """Give it up, with all programs gone."""
        os.close(self._network)


@contextmanager
def networked(*clocks_ahead: int) -> Iterator[list[Host]]:
    """Move this thread, and what it starts, to the hub; give hosts with their clocks.

    Servers listen where the hosts reach them.
    """
    try:
        with ExitStack() as stack:
            stack.enter_context(_returning())
            os.close(_new_network())
            _ip("link add lan type bridge")
            _ip(f"addr add {HUB}/24 dev lan")
            _ip("link set lan up")
            hosts = [Host(*it) for it in enumerate(clocks_ahead, 2)]
            made = stack.pop_all()
    except (OSError, subprocess.CalledProcessError) as error:
        pytest.skip(f"hosts need root, and network namespaces by ip: {error}")
    with made:
        for host in hosts:
            made.callback(host.close)
        for module in (programs, s3, valkey):
            made.enter_context(mock.patch.object(module, "HOST", HUB))
        yield hosts


def _new_network() -> int:
    """Move this thread to a network with nothing but itself; return its descriptor."""
    _call(_LIBC.unshare, _NEW_NETWORK)
    _ip("link set lo up")
    return _this_network()


def _this_network() -> int:
    return os.open("/proc/thread-self/ns/net", os.O_RDONLY)


@contextmanager
def _returning() -> Iterator[None]:
    """Bring this thread back to its network at the end of a ``with`` block."""
    network = _this_network()
    try:
        yield
    finally:
        _call(_LIBC.setns, network, _NEW_NETWORK)
        os.close(network)


def _call(function: ctypes._NamedFuncPointer, *arguments: int) -> None:
    if function(*arguments):
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _ip(words: str) -> None:
    path = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/sbin"
    subprocess.run(
        [shutil.which("ip", path=path) or "ip", *words.split()],
        check=True,
        capture_output=True,
    )
