"""What is measured, one file a subject."""

from __future__ import annotations

from importlib import import_module

from tests.benchmarks.harness import Setting

_NAMES = [
    "page",
    "index",
    "small",
    "start",
    "not-modified",
    "plan",
    "build",
    "build-icv",
    "workers",
    "memory",
    "refresh-one",
    "refresh-one-icv",
    "refresh-pages",
    "refresh-none",
    "audit",
    "random-insert",
    "save",
    "celery-build",
    "celery-pages",
    "celery-resume",
    "wake-up",
    "notice",
    "forms",
    "dashboard",
]


def _setting(name: str) -> Setting:
    file, is_icv = name.removesuffix("-icv"), name.endswith("-icv")
    module = import_module(f".{file.replace('-', '_')}", __package__)
    found: Setting = module.icv_setting if is_icv else module.setting
    return found


#: In the order of the table.
SETTINGS: dict[str, Setting] = {name: _setting(name) for name in _NAMES}
