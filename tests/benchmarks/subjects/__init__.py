"""What is measured, one file a subject."""

from __future__ import annotations

from tests.benchmarks.harness import Setting

from . import (
    audit,
    build,
    celery_build,
    celery_pages,
    celery_resume,
    index,
    memory,
    not_modified,
    notice,
    page,
    plan,
    random_insert,
    refresh_none,
    refresh_one,
    refresh_pages,
    save,
    wake_up,
    workers,
)

#: In the order of the table.
SETTINGS: dict[str, Setting] = {
    "page": page.setting,
    "index": index.setting,
    "not-modified": not_modified.setting,
    "plan": plan.setting,
    "build": build.setting,
    "build-icv": build.icv_setting,
    "workers": workers.setting,
    "memory": memory.setting,
    "refresh-one": refresh_one.setting,
    "refresh-one-icv": refresh_one.icv_setting,
    "refresh-pages": refresh_pages.setting,
    "refresh-none": refresh_none.setting,
    "audit": audit.setting,
    "random-insert": random_insert.setting,
    "save": save.setting,
    "celery-build": celery_build.setting,
    "celery-pages": celery_pages.setting,
    "celery-resume": celery_resume.setting,
    "wake-up": wake_up.setting,
    "notice": notice.setting,
}
