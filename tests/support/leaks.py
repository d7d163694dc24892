"""All that people and programs may read of errors, logs, rows, caches and messages."""

import base64
import json
import logging
import pickle
import traceback
from collections.abc import Iterator
from typing import Any

from django.db import connection
from django.views.debug import ExceptionReporter
from redis import Redis


def everything(error: BaseException) -> Iterator[str]:
    yield from (str(error), repr(error), repr(error.args), repr(vars(error)))
    yield repr(pickle.dumps(error))
    # With locals, as tools that collect errors do.
    report = traceback.TracebackException.from_exception(error, capture_locals=True)
    yield "".join(report.format())
    page = ExceptionReporter(None, type(error), error, error.__traceback__)
    yield page.get_traceback_html()
    yield page.get_traceback_text()
    for link in (error.__cause__, error.__context__):
        if link is not None:
            yield from everything(link)


def everything_logged(records: list[logging.LogRecord]) -> Iterator[str]:
    for record in records:
        yield record.getMessage()
        yield repr(vars(record))
        if record.exc_info and record.exc_info[1] is not None:
            yield from everything(record.exc_info[1])


def everything_in_database() -> Iterator[str]:
    for name in connection.introspection.table_names():
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {connection.ops.quote_name(name)}")  # noqa: S608 - a name of ours
            yield f"{name}: {cursor.fetchall()!r}"


def everything_in_redis(url: str) -> Iterator[str]:
    """Yield all values of a server, and what is in the bodies of messages."""
    with Redis.from_url(url) as client:
        for key in client.scan_iter():
            yield f"{key!r}"
            for value in _values(client, key):
                yield f"{value!r}"
                yield from _bodies(value)


def _values(client: Redis, key: bytes) -> list[bytes]:
    kind = client.type(key)
    found: Any = {
        b"string": lambda: [client.get(key)],
        b"list": lambda: client.lrange(key, 0, -1),
        b"hash": lambda: list(client.hgetall(key).values()),
        b"set": lambda: list(client.smembers(key)),
        b"zset": lambda: client.zrange(key, 0, -1),
    }[kind]()
    return list(found)


def _bodies(value: bytes) -> Iterator[str]:
    """Yield what a message of Celery says, where the value is one."""
    try:
        message = json.loads(value)
        yield base64.b64decode(message["body"]).decode()
    except (ValueError, TypeError, KeyError):
        return
