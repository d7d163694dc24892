"""Real commands, in processes of their own, on the database of the test."""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.conf import settings

from django_sitemaps_plus import Source

from .programs import HANG, Program
from .workers import ROOT, environment


def environment_with(source: type[Source], **overrides: Any) -> dict[str, str]:
    """Return the environment of a process that knows a source as "products"."""
    return environment(
        INSTALLED_APPS=[*settings.INSTALLED_APPS, "tests.support.sectioned"],
        WORKER_SECTIONS={"products": f"{source.__module__}.{source.__qualname__}"},
        **overrides,
    )


def run_build(
    source: type[Source],
    *words: str,
    program: Sequence[str] = ("-m", "django", "build_sitemaps"),
    **overrides: Any,
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *program, *words],
        cwd=ROOT,
        env=environment_with(source, **overrides),
        capture_output=True,
        text=True,
        timeout=HANG,
        check=False,
    )


def build_program(
    source: type[Source], *words: str, directory: Path, **overrides: Any
) -> Program:
    """Return ``build_sitemaps`` for a source, to be started and killed."""
    return Program(
        [sys.executable, "-m", "django", "build_sitemaps", *words],
        directory=directory,
        environment=environment_with(source, **overrides),
    )
