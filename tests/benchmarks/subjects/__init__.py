"""What is measured, one file a subject."""

from __future__ import annotations

from tests.benchmarks.harness import Setting

from . import build, index, memory, not_modified, page, plan

#: In the order of the table.
SETTINGS: dict[str, Setting] = {
    "page": page.setting,
    "index": index.setting,
    "not-modified": not_modified.setting,
    "plan": plan.setting,
    "build": build.setting,
    "memory": memory.setting,
}
