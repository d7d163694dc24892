"""T4: whatever of the storage fails, readers keep what they had or get what is new."""

import errno
import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError
from django.core.management import CommandError, call_command

from django_sitemaps_plus.building.build import build
from tests.support.servers.workers import ROOT, environment
from tests.support.testapp.models import Product

from .tools.faulting import Sweep, stride
from .tools.public import unlike_pages, wrong_public
from .tools.published import crawl, published_urls, unpublished
from .tools.shop import (
    IS_SOAK,
    ON_SQLITE,
    PlainSource,
    lost_objects,
    publish,
    rename,
    table,
)
from .tools.states import deletions_and_merges, edits_and_a_split, first_build

pytestmark = [pytest.mark.django_db(transaction=True), ON_SQLITE]

ERRORS = [OSError(n, os.strerror(n)) for n in (errno.ENOSPC, errno.EIO)]
ERRORS += [OSError(n, os.strerror(n)) for n in (errno.EACCES, errno.EDQUOT)]


def answer(status: int, code: str) -> ClientError:
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


BUILDS = [edits_and_a_split, first_build, deletions_and_merges]

#: Steps of each build, at least. With SOAK a fault at each makes over 600 points.
STEPS = {
    "edits_and_a_split": 100,
    "first_build": 130,
    "deletions_and_merges": 135,
    "S3": 9,
}


def least_points(what: str, *, is_soak: bool) -> int:
    """Return how many faults a sweep must have tried."""
    kind = "s3" if what == "S3" else "files"
    tried = len(range(0, STEPS[what], stride(kind, is_soak=is_soak)))
    errors = S3_ERRORS if what == "S3" else ERRORS
    return tried * (len(errors) if is_soak else 1)


@pytest.mark.parametrize("is_persistent", [False, True], ids=["once", "on"])
@pytest.mark.parametrize("prepare", BUILDS if IS_SOAK else BUILDS[:1])
def test_files(
    prepare: Callable[[], None],
    is_persistent: bool,
    sections,
    media_root,
    tmp_path,
    figures,
    configure,
    no_flush,
):
    """Full, broken or forbidden at any step: told with its cause, and mended."""
    configure(PUBLIC_PLAIN=True)
    prepare()
    sweep = Sweep("files", media_root, tmp_path)
    sweep.run(ERRORS, is_persistent=is_persistent)
    judged(sweep, figures, prepare.__name__, is_persistent)


@pytest.mark.parametrize("is_persistent", [False, True], ids=["once", "on"])
def test_s3(
    is_persistent, sections, media_root, tmp_path, figures, settings, configure, moto
):
    """Errors, refusals and timeouts of the service, whatever it was asked."""
    settings.STORAGES = {**settings.STORAGES, "sitemaps": moto.storage()}
    configure(STORAGE="sitemaps")
    edits_and_a_split()
    sweep = Sweep("s3", media_root, tmp_path)
    sweep.run(S3_ERRORS, is_persistent=is_persistent)
    judged(sweep, figures, "S3", is_persistent)


def judged(
    sweep: Sweep, figures: Callable[..., None], what: str, is_persistent: bool
) -> None:
    what_of_it = f"storage faults, {what}, persistent={is_persistent}"
    figures(what_of_it, points=sweep.points, failed=sweep.failed, bad=sweep.bad)
    assert sweep.failed > 0
    assert sweep.points >= least_points(what, is_soak=IS_SOAK)


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
        rows, 2_000, update_conflicts=True, unique_fields=["id"], update_fields=["slug"]
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
        assert unpublished() + unlike_pages(media_root) == []
    figures("storage faults, a disk of 1 MiB", seed=1)


CALLS = {
    "fsync": ("fsync:error=EIO:when=2", "Input/output error"),
    "rename": ("rename,renameat,renameat2:error=ENOSPC:when=3", "No space left"),
}


@pytest.mark.parametrize("call", ["fsync", "rename"])
def test_the_kernel_refuses(call, sections, media_root, figures):
    """Injected by strace into the real command, which says why and breaks nothing."""
    program = shutil.which("strace")
    if (
        program is None
        or subprocess.run([program, "-o", os.devnull, "true"]).returncode
    ):
        pytest.skip("strace is missing, or may not trace: apt install strace")
    edits_and_a_split()
    fault, cause = CALLS[call]
    old, expected = crawl(), table()
    command = [program, "-f", "-o", os.devnull, "-e", f"inject={fault}"]
    command += [sys.executable, "-m", "tests.reliability.tools.command"]
    failed = subprocess.run(
        command,
        cwd=ROOT,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert failed.returncode == 1, failed.stderr
    assert "Nothing more was published" in failed.stderr
    assert cause in failed.stderr
    meanwhile = crawl()
    assert meanwhile.keys() == old.keys()
    assert lost_objects() == []
    build()
    assert (published_urls(), unlike_pages(media_root)) == (expected, [])
    assert lost_objects() == []
    new = crawl()
    for path, document in meanwhile.items():
        assert document in (old[path], new.get(path)), path
    figures(f"storage faults, strace {call}")


class HungrySource(PlainSource):
    """A source that asks code of the model, which may run out of memory."""

    def location(self, product: Product) -> str:
        return product.get_absolute_url()


def test_a_source_without_memory(sections, media_root, monkeypatch):
    """Its page stays byte for byte, the others follow their rows."""
    locate = Product.get_absolute_url

    def without_memory(product: Product) -> str:
        if "renamed" in product.slug:
            raise MemoryError("no more")
        return locate(product)

    publish(40, HungrySource)
    old = crawl()
    rename([0], "renamed")
    rename([3_900], "other")
    monkeypatch.setattr(Product, "get_absolute_url", without_memory)
    with pytest.raises(CommandError, match=r"MemoryError .*: no more"):
        call_command("build_sitemaps", verbosity=0)
    now = crawl()
    different = {path for path in old if now[path] != old[path]}
    assert different == {max(old)}
    monkeypatch.setattr(Product, "get_absolute_url", locate)
    call_command("build_sitemaps", verbosity=0)
    assert unpublished() + unlike_pages(media_root) == []
