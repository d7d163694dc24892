"""Processes whose n-th step towards the disk, or towards S3, fails; and their sweep."""

from __future__ import annotations

import json
import os
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple
from unittest import mock

from django.core.management import CommandError, call_command
from django.db import connection

from django_sitemaps_plus.building import settle
from django_sitemaps_plus.building.build import build

from .os_files import standing_before
from .processes import in_child
from .public import hash_of, is_harmless, public_files, unlike_pages, wrong_public
from .published import crawl, published_urls, unpublished
from .shop import ALLOW, IS_SOAK, table
from .states import Template

#: What may fail; a file that could not be closed is closed nevertheless.
STEPS = ("open", "write", "fsync", "replace", "unlink", "link", "utime", "mkdir")

#: Wrong states after which a sweep ends: one is enough to fail.
ENOUGH = 3


class Faults:
    """Counts steps, and lets the n-th fail; where it is persistent, all later ones."""

    def __init__(self, error: Exception, at: int, *, is_persistent: bool) -> None:
        self.error = error
        self.at = at
        self.is_persistent = is_persistent
        self.count = 0

    @property
    def was_hit(self) -> bool:
        """Whether any step has failed."""
        return self.count >= self.at

    def step(self) -> None:
        """Count a step, and fail where it is to."""
        self.count += 1
        if self.count == self.at or (self.is_persistent and self.was_hit):
            raise self.error

    def of_files(self) -> AbstractContextManager[None]:
        """Let what changes files fail for the time of a ``with`` block."""
        doubles = {**dict.fromkeys(STEPS, self._step_and), "close": self._and_step}
        return standing_before(doubles)

    def of_s3(self) -> AbstractContextManager[Any]:
        """Let what is asked of S3 fail for the time of a ``with`` block."""
        from botocore.client import BaseClient

        real = BaseClient._make_api_call
        return mock.patch.object(
            BaseClient, "_make_api_call", lambda *args: self._step_and(real, *args)
        )

    def _step_and(self, real: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.step()
        return real(*args, **kwargs)

    def _and_step(self, real: Callable[..., Any], *args: Any) -> None:
        real(*args)
        self.step()


class Outcome(NamedTuple):
    """How a command ended in spite of the faults."""

    was_hit: bool  # whether there were so many steps
    error: str | None  # what it said; None where it succeeded
    leaked: int  # files that it has left open


def open_files() -> list[str]:
    """Return what this process has open, but for its databases and connections."""
    found = []
    for path in Path("/proc/self/fd").iterdir():
        with suppress(FileNotFoundError):
            name = os.readlink(path)
            if ".sqlite3" not in name and not name.startswith(("socket:", "/proc")):
                found.append(name)
    return found


def build_faulty(faults: Faults, kind: str, directory: Path) -> Outcome:
    """Run ``build_sitemaps`` in a process with faults."""
    report = directory / "outcome"

    def work() -> None:
        connection.ensure_connection()
        before = len(open_files())
        error = None
        with faults.of_s3() if kind == "s3" else faults.of_files():
            try:
                call_command("build_sitemaps", allow_shrink=True, verbosity=0)
            except CommandError as found:
                error = str(found)
            except Exception:  # noqa: BLE001 - it is what the test is to show
                error = f"NO COMMAND ERROR: {traceback.format_exc()}"
        leaked = len(open_files()) - before
        report.write_text(json.dumps([faults.was_hit, error, leaked]))

    assert in_child(work) == 0, "it failed otherwise than a command should"
    return Outcome(*json.loads(report.read_text()))


def words_of(error: Exception) -> str:
    """Return what a command must say of an error."""
    return str(getattr(error, "strerror", None) or error).rstrip(".")


def stride(kind: str, *, is_soak: bool) -> int:
    """Return how many steps further a sweep tries its next fault."""
    return 1 if is_soak else 5 if kind == "s3" else 8


class Sweep:
    """One build, repeated with a fault at each of its steps."""

    def __init__(self, kind: str, media: Path, directory: Path) -> None:
        self.kind = kind
        self.media = media
        self.directory = directory
        self.old = crawl()
        self.earlier = self.shown()
        self.template = Template.take(directory / "before", media)
        self.between = self.built(merges=False)
        self.earlier |= self.shown()
        self.template.restore()
        self.new = self.built(merges=True)
        self.points = self.failed = 0
        self.bad: list[str] = []

    def shown(self) -> set[str]:
        """Return the hashes of what has public names."""
        return {hash_of(data) for data in public_files(self.media).values()}

    def built(self, *, merges: bool) -> dict[str, bytes]:
        """Build, and return all documents; pages are flipped before they merge."""
        none = mock.patch.object(settle, "merge_small", return_value=False)
        with nullcontext() if merges else none:
            build(**ALLOW)
        return crawl()

    def run(self, errors: list[Exception], *, is_persistent: bool) -> None:
        """Try a fault at some steps; with SOAK each error at each of them."""
        for at in count(1, stride(self.kind, is_soak=IS_SOAK)):
            chosen = errors if IS_SOAK else [errors[at % len(errors)]]
            hits = [self.try_one(e, at, is_persistent) for e in chosen]
            if not any(hits) or len(self.bad) >= ENOUGH:
                break

    def try_one(self, error: Exception, at: int, is_persistent: bool) -> bool:
        """Build with one fault, look, and build again; return whether it was met."""
        self.template.restore()
        faults = Faults(error, at, is_persistent=is_persistent)
        outcome = build_faulty(faults, self.kind, self.directory)
        if not outcome.was_hit:
            return False
        self.points += 1
        self.failed += outcome.error is not None
        wrong = list(self.wrong(outcome.error, words_of(error)))
        wrong += ["files are left open"] * bool(outcome.leaked)
        build(**ALLOW)
        wrong += unpublished() + [it for it in self.unlike() if not is_harmless(it)]
        where = f"step {at}, {error!r}, {'on' if is_persistent else 'once'}"
        self.bad += [f"{where}: {it}" for it in wrong]
        return True

    def unlike(self) -> list[str]:
        """Return how the public tree differs from the pages."""
        return unlike_pages(self.media) if self.kind == "files" else []

    def wrong(self, said: str | None, cause: str) -> Iterator[str]:
        """Yield what is wrong after a fault, in words."""
        documents = crawl()
        for path, document in documents.items():
            right = [them.get(path) for them in (self.old, self.between, self.new)]
            if document not in right:
                yield f"{path} is neither what it was nor what it should be"
        if self.kind == "files":
            yield from wrong_public(self.media, self.earlier)
        if said is None and published_urls() != table():
            yield "it said that all is published"
        if said is not None and (cause not in said or said.startswith("NO")):
            yield f"it does not say why: {said}"
