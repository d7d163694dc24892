"""Which part may do what, and how long a pattern takes."""

import ast
import importlib
import pkgutil
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import django_sitemaps_plus
from django_sitemaps_plus.views import files

PACKAGE = Path(django_sitemaps_plus.__file__).parent

#: Calls that change a file system, by the last part of their names.
WRITES = {
    *("write_text", "write_bytes", "unlink", "rmtree", "rmdir", "mkdir", "makedirs"),
    *("rename", "symlink_to", "hardlink_to", "mkstemp", "copyfile", "copy2", "utime"),
    *("chmod", "touch", "fsync"),
}


def modules(*but: str) -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(but):
            yield name, path.read_text("utf-8")


def writes(call: ast.Call) -> bool:
    function = call.func
    if isinstance(function, ast.Name):
        modes = [*call.args[1:2], *[k.value for k in call.keywords if k.arg == "mode"]]
        return function.id == "open" and any(
            isinstance(mode, ast.Constant) and set(str(mode.value)) & set("wax+")
            for mode in modes
        )
    if not isinstance(function, ast.Attribute):
        return False
    is_of_os = isinstance(function.value, ast.Name) and function.value.id == "os"
    return function.attr in WRITES or (
        is_of_os and function.attr in {"replace", "link"}
    )


def test_only_storage_and_publishing_write_files():
    found = [
        f"{name}:{node.lineno}"
        for name, text in modules("storage/", "publishing/")
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Call) and writes(node)
    ]
    assert found == []


def test_only_prepared_queries_and_sources_know_the_compiler():
    """Django may change django.db.models.sql in any release."""
    compiler = r"django\.db\.models(\.sql| import (\([^)]*|.*)\bsql)\b"
    others = modules("models/prepared.py", "sources/")
    assert [name for name, text in others if re.search(compiler, text)] == []


#: Half of what RELIABILITY speaks of: what grows with its square shows all the same.
SIZE = 32_768

#: Ten times what RELIABILITY allows, for busy machines.
HANG = 0.5

#: Pieces that repeat, and what comes after them, which fits nothing.
PIECES = [
    *("a", "A", "0", "-", "/", ".", "%", " ", ",", "\n"),
    *("a.", "0.", "0x", "a-", "/a\n", "AA ", "web ", "zh-", "http://a", "a:0", "[:"),
    *("%2", "<lastmod>", " at 0x", "a b"),
]
ENDS = ("", "!", "\x00")


def patterns() -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes]]]:
    """Yield the compiled patterns of all modules, and those of URL converters."""
    package = django_sitemaps_plus
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if ".migrations" in module.name or ".contrib.wagtail" in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            # isinstance() would wake the proxies of Celery before there is an app.
            if type(value) is re.Pattern:
                yield f"{module.name}.{name}", value
    for name, value in vars(files).items():
        if hasattr(value, "regex"):
            yield f"converters.{name}", re.compile(value.regex)


def pumps(pattern: re.Pattern[str] | re.Pattern[bytes]) -> Iterator[str | bytes]:
    for piece in PIECES:
        for end in ENDS:
            text = piece * (SIZE // len(piece)) + end
            yield text if isinstance(pattern.pattern, str) else text.encode()


FOUND = dict(patterns())


@pytest.mark.parametrize("name", FOUND)
def test_it_is_as_fast_as_its_text_is_short(name):
    assert len(FOUND) >= 20
    pattern = FOUND[name]
    for text in pumps(pattern):
        for match in (pattern.fullmatch, pattern.search):  # which begins as match()
            began = time.thread_time()
            match(text)  # type: ignore[arg-type] # of its type
            seconds = time.thread_time() - began
            assert seconds < HANG, f"{match.__name__} of {text[:20]!r}: {seconds:.1f} s"


START = """
import sys, django
from django.conf import settings
apps = ["auth", "contenttypes", "sessions", "messages", "admin"]
settings.configure(
    INSTALLED_APPS=[*(f"django.contrib.{app}" for app in apps), "django_sitemaps_plus"],
    ROOT_URLCONF="django_sitemaps_plus.urls", SITEMAPS_PLUS={})
django.setup()
from django.contrib import admin
from django.urls import get_resolver
admin.site.urls, get_resolver().url_patterns
ours = {name.partition(".")[2] for name in sys.modules if "sitemaps_plus." in name}
print(*sorted({name.partition(".")[0] for name in ours}))
"""


def test_a_process_starts_with_what_it_serves_alone():
    """Diagnostics, checks and engines are imported when they are asked."""
    command = [sys.executable, "-c", START]
    started = subprocess.run(command, capture_output=True, text=True, check=True)
    later = {"diagnostics", "checks", "notifications", "management", "monitoring"}
    assert later.isdisjoint(started.stdout.split())
