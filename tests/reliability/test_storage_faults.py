"""T4: whatever of the storage fails, readers keep what they had or get what is new."""

from __future__ import annotations

import errno
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from django.core.management import CommandError, call_command
from django.test import Client

from django_sitemaps_plus.building.refresh import refresh
from django_sitemaps_plus.registry import registry
from tests.servers.workers import ROOT, Broker, environment
from tests.testapp.models import Product

from .faulting import Faults, build_faulty
from .public import hash_of, public_files, unlike_pages, wrong_public
from .published import crawl, published_urls
from .shop import IS_SOAK, STEP, PlainSource, add_quietly, rename, table, unfinished
from .test_kill_sweep import (
    Template,
    connection,
    deletions_and_merges,
    edits_and_a_split,
    first_build,
    is_harmless,
)

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        "connection.vendor != 'sqlite'", reason="what fails are files, not rows"
    ),
]

assert connection  # pytest looks at it above

ERRORS = [OSError(n, os.strerror(n)) for n in (errno.ENOSPC, errno.EIO)]
ERRORS += [OSError(n, os.strerror(n)) for n in (errno.EACCES, errno.EDQUOT)]

ENOUGH = 3


def answer(status: int, code: str) -> ClientError:
    """Return what boto3 raises for an answer of S3."""
    metadata = {"HTTPStatusCode": status}
    error = {"Code": code, "Message": code}
    return ClientError({"Error": error, "ResponseMetadata": metadata}, "PutObject")


S3_ERRORS: list[Exception] = [
    answer(500, "InternalError"),
    answer(503, "SlowDown"),
    answer(409, "ConditionalRequestConflict"),
    answer(412, "PreconditionFailed"),
    ReadTimeoutError(endpoint_url="http://s3.example"),
    EndpointConnectionError(endpoint_url="http://s3.example"),
]


def words_of(error: Exception) -> str:
    """Return what a command must say of an error."""
    return str(getattr(error, "strerror", None) or error).rstrip(".")


class Sweep:
    """One build, repeated with a fault at each of its steps."""

    def __init__(self, kind: str, media: Path, directory: Path) -> None:
        self.kind = kind
        self.media = media
        self.directory = directory
        self.old = crawl(Client())
        self.earlier = {hash_of(data) for data in public_files(media).values()}
        (directory / "before").mkdir()
        self.template = Template.take(directory / "before", media)
        refresh()
        self.new = crawl(Client())
        self.points = self.failed = 0
        self.bad: list[str] = []

    def run(self, errors: list[Exception], *, is_persistent: bool) -> None:
        """Try a fault at each step; with SOAK each error at each of them.

        Without it those that last begin at every third step.
        """
        for at in count(1, 3 if is_persistent and not IS_SOAK else 1):
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
        refresh()
        wrong += unfinished() + [it for it in self.unlike() if not is_harmless(it)]
        wrong += [] if published_urls() == table() else ["it is not mended"]
        where = f"step {at}, {error!r}, {'on' if is_persistent else 'once'}"
        self.bad += [f"{where}: {it}" for it in wrong]
        return True

    def unlike(self) -> list[str]:
        """Return how the public tree differs from the pages."""
        return unlike_pages(self.media) if self.kind == "files" else []

    def wrong(self, said: str | None, cause: str) -> Iterator[str]:
        """Yield what is wrong after a fault, in words."""
        documents = crawl(Client())
        for path, document in documents.items():
            if document not in (self.old.get(path), self.new.get(path)):
                yield f"{path} is neither what it was nor what it should be"
        if self.kind == "files":
            yield from wrong_public(self.media, self.earlier)
        if said is None and published_urls() != table():
            yield "it said that all is published"
        if said is not None and (cause not in said or said.startswith("NO")):
            yield f"it does not say why: {said}"


@pytest.mark.parametrize("is_persistent", [False, True], ids=["once", "on"])
@pytest.mark.parametrize(
    "prepare",
    [
        edits_and_a_split,
        *([first_build, deletions_and_merges] if IS_SOAK else []),
    ],
)
def test_files(
    prepare: Callable[[], None],
    is_persistent: bool,
    sections,
    media_root,
    tmp_path,
    figures,
    settings,
):
    """Full, broken or forbidden at any step: told with its cause, and mended."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "PUBLIC_PLAIN": True}
    began = time.monotonic()
    prepare()
    sweep = Sweep("files", media_root, tmp_path)
    sweep.run(ERRORS, is_persistent=is_persistent)
    judged(sweep, figures, f"{prepare.__name__}, persistent={is_persistent}", began)


@pytest.mark.parametrize("is_persistent", [False, True], ids=["once", "on"])
def test_s3(is_persistent, sections, media_root, tmp_path, figures, settings, moto):
    """Errors, refusals and timeouts of the service, whatever it was asked."""
    settings.STORAGES = {**settings.STORAGES, "sitemaps": moto.storage()}
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "STORAGE": "sitemaps"}
    began = time.monotonic()
    edits_and_a_split()
    sweep = Sweep("s3", media_root, tmp_path)
    sweep.run(S3_ERRORS, is_persistent=is_persistent)
    judged(sweep, figures, f"S3, persistent={is_persistent}", began)


def judged(sweep: Sweep, figures: Callable[..., None], what: str, began: float) -> None:
    """Print what was tried, and fail if any of it went wrong."""
    figures(
        f"storage faults, {what}",
        seed="none",
        points=sweep.points,
        failed=sweep.failed,
        bad=len(sweep.bad),
        seconds=round(time.monotonic() - began),
    )
    assert sweep.bad[:ENOUGH] == []
    assert sweep.failed > 0


@contextmanager
def small_disk(directory: Path) -> Iterator[Path]:
    """Mount a disk of 1 MiB; skip where that is not allowed."""
    directory.mkdir(exist_ok=True)
    command = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(directory)]
    if os.getuid() != 0 or subprocess.run(command, capture_output=True).returncode:
        pytest.skip("only root may mount a disk, and not in every container")
    try:
        yield directory
    finally:
        subprocess.run(["umount", "-l", str(directory)], check=True)


def fill(seed: int) -> None:
    """Give 18,000 products slugs that gzip hardly makes smaller."""
    chance = random.Random(seed)
    slugs = [chance.randbytes(32).hex() for _ in range(18_000)]
    rows = [Product(pk=n, name=s, slug=s) for n, s in enumerate(slugs)]
    Product.objects.bulk_create(
        rows,
        2_000,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["slug"],
    )


def test_a_full_disk(sections, media_root, figures):
    """A real one: the old set stays, and with more room the new one is published."""
    with small_disk(media_root):
        sections.register("products", type("Large", (PlainSource,), {"limit": 3_000}))
        fill(1)
        call_command("build_sitemaps", verbosity=0)
        old = crawl()
        fill(2)
        with pytest.raises(CommandError, match="No space left on device"):
            call_command("build_sitemaps", full=True, verbosity=0)
        assert crawl() == old
        assert list(wrong_public(media_root, [])) == []
        more = ["mount", "-o", "remount,size=16m", str(media_root)]
        subprocess.run(more, check=True)
        call_command("build_sitemaps", full=True, verbosity=0)
        assert published_urls() == table()
        assert unlike_pages(media_root) == []
    figures("storage faults, a disk of 1 MiB", seed=1, points=1, bad=0)


CALLS = {
    "fsync": "fsync:error=EIO:when=2",
    "rename": "rename,renameat,renameat2:error=ENOSPC:when=3",
}


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_the_kernel_refuses(call, sections, media_root, figures):
    """Injected into the real command by strace."""
    program = shutil.which("strace")
    if (
        program is None
        or subprocess.run([program, "-o", os.devnull, "true"]).returncode
    ):
        pytest.skip("strace is missing, or may not trace: apt install strace")
    edits_and_a_split()
    old, expected = crawl(), table()
    command = [program, "-f", "-o", os.devnull, "-e", f"inject={CALLS[call]}"]
    command += [sys.executable, "-m", "tests.reliability.command"]
    failed = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(Broker("memory://")),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert failed.returncode == 1, failed.stderr
    assert "Nothing more was published" in failed.stderr
    assert ("Input/output error" in failed.stderr) == (call == "fsync")
    assert crawl().keys() == old.keys()
    refresh()
    assert (published_urls(), unlike_pages(media_root)) == (expected, [])
    figures(f"storage faults, strace {call}", seed="none", points=1, bad=0)


class HungrySource(PlainSource):
    """A source that runs out of memory in the middle of one page."""

    is_hungry = False

    def chunks(self, *args: Any, **kwargs: Any) -> Iterator[str]:
        """Yield the lines of a page, or some of them."""
        for text in super().chunks(*args, **kwargs):
            yield text
            if self.is_hungry and "renamed" in text:
                raise MemoryError("no more")


def test_a_source_without_memory(sections, media_root, monkeypatch):
    """Its page stays byte for byte, the others follow their rows."""
    registry.register("products", HungrySource)
    add_quietly(range(0, 4_000, STEP))
    refresh()
    old = crawl()
    rename([0], "renamed")
    rename([3_900], "other")
    monkeypatch.setattr(HungrySource, "is_hungry", True)
    with pytest.raises(CommandError, match="MemoryError: no more"):
        call_command("build_sitemaps", verbosity=0)
    now = crawl()
    different = {path for path in old if now[path] != old[path]}
    assert different == {max(old)}
    monkeypatch.setattr(HungrySource, "is_hungry", False)
    call_command("build_sitemaps", verbosity=0)
    assert published_urls() == table()
    assert unlike_pages(media_root) == []
