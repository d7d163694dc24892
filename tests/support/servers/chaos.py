"""A proxy between a client and a server that does what bad networks do."""

import contextlib
import selectors
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from .programs import HOST, port_of, reserve_port

#: Seconds after which a connection looks whether its fate has changed.
TICK = 0.01

#: Closing a socket with it sends RST in place of FIN.
_ABORT = struct.pack("ii", 1, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Weather:
    silent: bool = False  # nothing is passed on
    breaks: bool = False  # every connection breaks, new ones at once
    listens: bool = True


class ChaosProxy:
    """A proxy of a TCP server; each method but ``close`` says how it is from now on."""

    def __init__(self, upstream_port: int) -> None:
        self.accepted = 0
        self._upstream = (HOST, upstream_port)
        self._reserved = reserve_port()
        self.port = port_of(self._reserved)
        self._threads: list[threading.Thread] = []
        self._listener: socket.socket | None = None
        self._age = 0  # connections of an earlier age are to break
        self.heal()

    def heal(self) -> None:
        """Pass everything on, that which a black hole withheld too."""
        self._become(_Weather())

    def black_hole(self) -> None:
        """Take connections and data, and never answer."""
        self._become(_Weather(silent=True))

    def reset(self) -> None:
        """Break all connections, those to come too."""
        self._become(_Weather(breaks=True))

    def refuse(self) -> None:
        """Break all connections and listen no more."""
        self._become(_Weather(breaks=True, listens=False))

    def close(self) -> None:
        self.refuse()
        for thread in self._threads:
            thread.join()
        self._reserved.close()

    def _become(self, weather: _Weather) -> None:
        self._weather = weather
        if weather.breaks:
            self._age += 1
        if weather.listens and self._listener is None:
            self._listener = socket.create_server((HOST, self.port), backlog=128)
            self._run(self._accept, self._listener)
        elif not weather.listens and self._listener is not None:
            listener, self._listener = self._listener, None
            # Closing alone would not wake the thread that accepts.
            with contextlib.suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)
            listener.close()

    def _run(self, function: Callable[..., None], *arguments: Any) -> None:
        thread = threading.Thread(target=function, args=arguments, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            self.accepted += 1
            self._run(self._serve, client, self._age)

    def _serve(self, client: socket.socket, age: int) -> None:
        with client:
            try:
                if self._weather.breaks:
                    raise ConnectionAbortedError
                with socket.create_connection(self._upstream, timeout=5) as server:
                    self._relay(client, server, age)
            except OSError:
                with contextlib.suppress(OSError):
                    client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _ABORT)

    def _relay(self, client: socket.socket, server: socket.socket, age: int) -> None:
        client.settimeout(5)
        with selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ, server)
            selector.register(server, selectors.EVENT_READ, client)
            while age == self._age:
                ready = selector.select(TICK)
                if self._weather.silent:
                    time.sleep(TICK)  # what can be read stays so
                    continue
                for key, _ in ready:
                    source: Any = key.fileobj
                    data = source.recv(65_536)
                    if not data:
                        return
                    key.data.sendall(data)
        raise ConnectionAbortedError


@contextmanager
def start_chaos(upstream_port: int) -> Iterator[ChaosProxy]:
    """Run a proxy for the time of a ``with`` block."""
    proxy = ChaosProxy(upstream_port)
    try:
        yield proxy
    finally:
        proxy.close()
