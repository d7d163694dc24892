"""What the figures were measured on."""

from __future__ import annotations

import os
import platform
import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from django.db import connection


def describe_machine() -> dict[str, str]:
    """Return words about processor, memory and versions."""
    return {
        "processor": _processor(),
        "cores": str(os.cpu_count()),
        "memory": f"{_memory_gib():.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "Python": platform.python_version(),
        "Django": version("Django"),
        "compression": f"isal {isal}" if (isal := _version("isal")) else "zlib",
        "busy before": f"load average {os.getloadavg()[0]:.1f}",
    }


def describe_database() -> str:
    """Return the name and version of the database in use, and of its driver."""
    connection.ensure_connection()
    numbers = ".".join(map(str, connection.get_database_version()))
    text = f"{connection.display_name} {numbers}"
    if connection.vendor == "postgresql":
        text += f", psycopg {_version('psycopg')}"
    return text


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor() or platform.machine()
    found = re.search(r"model name\s*:\s*(.+)", text)
    return found[1] if found else platform.machine()


def _memory_gib() -> float:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
