"""What only some parts may do; import-linter cannot say it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import django_sitemaps_plus

PACKAGE = Path(django_sitemaps_plus.__file__).parent

#: Calls that change a file system, by the last part of their names.
WRITES = {
    *("write_text", "write_bytes", "unlink", "rmtree", "rmdir", "mkdir", "makedirs"),
    *("rename", "symlink_to", "hardlink_to", "mkstemp", "copyfile", "copy2", "utime"),
    *("chmod", "touch", "fsync"),
}


def modules(*but: str) -> Iterator[tuple[str, ast.Module]]:
    """Yield modules of the package by their paths, but for those of some parts."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if not name.startswith(but):
            yield name, ast.parse(path.read_text())


def writes(call: ast.Call) -> bool:
    """Return whether a call changes a file system, by what it looks like."""
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


def imported(tree: ast.AST) -> set[str]:
    """Return the modules that a module imports from elsewhere."""
    nodes = list(ast.walk(tree))
    names = {a.name for n in nodes if isinstance(n, ast.Import) for a in n.names}
    froms = [n for n in nodes if isinstance(n, ast.ImportFrom) and n.module]
    return names | {f"{n.module}.{a.name}" for n in froms for a in n.names}


def test_only_storage_and_publishing_write_files():
    """All else stores objects, whatever they are stored in."""
    found = [
        f"{name}:{node.lineno}"
        for name, tree in modules("storage/", "publishing/")
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and writes(node)
    ]
    assert found == []


def test_only_prepared_queries_and_sources_know_the_compiler():
    """Django may change django.db.models.sql in any release."""
    found = [
        name
        for name, tree in modules("models/prepared.py", "sources/")
        if any(part.startswith("django.db.models.sql") for part in imported(tree))
    ]
    assert found == []
