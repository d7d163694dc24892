"""Sources of the tests with local processes, which import them by name."""

import os
import signal
import time
from multiprocessing import parent_process
from pathlib import Path
from typing import Any

from django.conf import settings

from django_sitemaps_plus.models import Page
from django_sitemaps_plus.storage import AtomicFileSystemStorage
from tests.support.servers.programs import HANG, wait_until
from tests.support.shop import limited
from tests.support.testapp.models import Product

#: Whether this is a process that helps another.
IS_HELPER = parent_process() is not None


def helpers_seen() -> Path:
    """Return the directory in which helpers that are at work leave their number."""
    return Path(settings.MEDIA_ROOT) / "helpers"


def meet() -> None:
    """Return once a helper is at work; before pages are built there is none."""
    is_alone = getattr(settings, "IS_ALONE", False)
    if is_alone or not Page.objects.exclude(token="").exists():
        return
    if IS_HELPER:
        helpers_seen().mkdir(parents=True, exist_ok=True)
        (helpers_seen() / str(os.getpid())).touch()
    wait_until(helpers_seen().exists, "a helper has a page")


class SharedSource(limited(1)):
    def location(self, item: Product) -> str:
        meet()
        return f"/{'helper' if IS_HELPER else 'command'}/{item.slug}/"


class MeetingSource(limited(10)):
    """Ten rows a page, with one and a value that are left out."""

    priority = "popularity"

    def location(self, item: Product) -> str | None:
        meet()
        return None if item.slug == "unlisted" else f"/products/{item.slug}/"


class SlowSource(limited(1)):
    """It takes longer than it takes a helper to begin."""

    def location(self, item: Product) -> str:
        time.sleep(0.1)
        return f"/products/{item.slug}/"


class FailingSource(limited(1)):
    on_error = "raise"

    def priority(self, item: Product) -> float:
        meet()
        return 7.0


def endless() -> list[Path]:
    """Return what processes leave that are at a page of the endless source."""
    return list(Path(settings.MEDIA_ROOT).glob("endless-*"))


class EndlessSource(limited(1)):
    """Each process that begins a page is at it until it is ended."""

    def location(self, item: Product) -> str:
        meet()
        if Page.objects.exclude(token="").exists():
            (Path(settings.MEDIA_ROOT) / f"endless-{os.getpid()}").touch()
            time.sleep(HANG)
        return f"/products/{item.slug}/"


class DeadlySource(limited(1)):
    """A helper dies of what it renders, as where memory runs out."""

    def location(self, item: Product) -> str:
        meet()
        if IS_HELPER:
            os.kill(os.getpid(), signal.SIGKILL)
        return f"/products/{item.slug}/"


class StorelessSource(limited(1)):
    """A helper finds the disk full."""

    def location(self, item: Product) -> str:
        meet()
        if IS_HELPER:
            AtomicFileSystemStorage._save = _refuse  # type: ignore[method-assign]
        return f"/products/{item.slug}/"


def _refuse(self: Any, name: str, content: Any) -> str:
    raise OSError(28, "No space left on device")
