"""Every claim of a page and every end of one, as SQLite itself notes them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

from django.db import connection

_BEGIN = [
    """CREATE TABLE noted (number integer PRIMARY KEY, page bigint,
    old varchar(32), new varchar(32), built bigint)""",
    """CREATE TRIGGER note_claim AFTER UPDATE OF token ON sitemaps_plus_page
    FOR EACH ROW WHEN (OLD.token <> NEW.token)
    BEGIN INSERT INTO noted (page, old, new, built)
    VALUES (NEW.id, OLD.token, NEW.token, NEW.built - OLD.built); END""",
]
_END = ["DROP TRIGGER note_claim", "DROP TABLE noted"]


class Note(NamedTuple):
    """A page's token has changed; without any, somebody asks for the page."""

    number: int  # they come in this order
    page: int
    old: str
    new: str
    built: int  # versions by which its pointer rose


@contextmanager
def noting_claims() -> Iterator[None]:
    """Note each change of a token for the time of a ``with`` block."""
    _execute(_BEGIN)
    try:
        yield
    finally:
        _execute(_END)


def note_request(page: int) -> None:
    """Note that a page is asked for."""
    with connection.cursor() as cursor:
        cursor.execute(
            "INSERT INTO noted (page, old, new, built) VALUES (%s, '', '', 0)", [page]
        )


def notes() -> list[Note]:
    """Return what was noted, in order."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT number, page, old, new, built FROM noted ORDER BY 1")
        return [Note(*row) for row in cursor.fetchall()]


def taken_over(noted: list[Note]) -> list[Note]:
    """Return the claims of pages that somebody had."""
    return [it for it in noted if it.old and it.new]


def unanswered(noted: list[Note]) -> list[Note]:
    """Return the requests without a build of their page that began after them."""
    begun = {it.new: it.number for it in noted if it.new}
    last = {it.page: begun[it.old] for it in noted if it.built}
    asked = [it for it in noted if it.old == it.new]
    return [it for it in asked if last.get(it.page, 0) < it.number]


def during_builds(noted: list[Note]) -> int:
    """Return how many pages were asked for while somebody built them."""
    tokens: dict[int, str] = {}
    count = 0
    for it in noted:
        count += it.old == it.new and bool(tokens.get(it.page))
        if it.old != it.new:
            tokens[it.page] = it.new
    return count


def _execute(statements: list[str]) -> None:
    with connection.cursor() as cursor:
        for statement in statements:
            cursor.execute(statement)
