"""The house: what is counted in a small package, and when its limits fail."""

from __future__ import annotations

from pathlib import Path
from textwrap import dedent

import pytest

from tests.benchmarks.house import Package, figures, judge

FILES = {
    "tiny/__init__.py": """\
        from .top.view import shown

        __all__ = ["shown"]
        """,
    "tiny/top/__init__.py": "",
    "tiny/top/view.py": """\
        from ..low import store
        from ..low.store import Shelf, keep as keep_it

        def shown():
            keep_it(store.load())
            keep_it(Shelf().take())
            return [_once(), _twice(), _twice(), _registered()]

        def _once():
            return map(_handed_on, [])

        def _twice():
            return None

        def _handed_on(row):
            return row

        @register
        def _registered():
            return None
        """,
    "tiny/low/__init__.py": "",
    "tiny/low/store.py": """\
        from .rows import *

        def load():
            from .rows import Row
            return Row().read()

        def keep(row):
            from ..top import view
            return view.shown()

        class Shelf(dict):
            def take(self):
                return self._taken()

            def _taken(self):
                return ""

            def pop(self):
                return super().pop()
        """,
    "tiny/low/rows.py": """\
        from typing import TYPE_CHECKING

        if TYPE_CHECKING:
            from .store import Shelf

        class Base:
            def read(self):
                return None

        class Row(Base):
            def read(self):
                return None
        """,
    "tiny/migrations/0001_initial.py": "import os\n",
    "tests/test_tiny.py": "pass\n",
    "tests/tools/made.py": "pass\npass\n",
    "pyproject.toml": """\
        [[tool.importlinter.contracts]]
        type = "layers"
        layers = ["top", "(low)"]
        """,
}


@pytest.fixture
def top(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the directory in which the package stands."""
    for name, text in FILES.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(dedent(text))
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def test_what_one_place_calls_is_counted(top: Path):
    """Neither public, decorated, handed on, overrides, nor what two places call."""
    assert sorted(Package(top / "tiny").called_once()) == [
        "tiny.low.store.Shelf._taken",
        "tiny.low.store.Shelf.take",
        "tiny.low.store.load",
        "tiny.top.view._once",
    ]


def test_private_functions_with_one_use_are_counted_whatever_they_are(top: Path):
    assert Package(top / "tiny").private_used_once() == {
        "tiny.low.store._taken",
        *("tiny.top.view._handed_on", "tiny.top.view._once"),
        "tiny.top.view._registered",
    }


def test_imports_in_functions_and_for_type_checking_make_circles(top: Path):
    package = Package(top / "tiny")
    assert package.circles() == [["tiny.low.rows", "tiny.low.store", "tiny.top.view"]]
    assert package.upward(["top", "(low)"]) == [("tiny.low.store", "tiny.top.view")]


def test_lines_are_those_of_files_without_migrations(top: Path):
    measured = figures(Package(top / "tiny"), top)
    parts = ("top/view", "low/store", "low/rows", "__init__")
    texts = [(top / f"tiny/{part}.py").read_text() for part in parts]
    assert measured == measured | {
        "lines of the package": len("".join(texts).splitlines()),
        "files": 6,
        "most files in a folder": 3,
        "lines of the longest file": 20,
        "star imports": 1,
        "files in circles": 3,
        "lines of tests and support": 1,
        "lines of programs of tests": 2,
    }


def test_a_figure_over_its_limit_fails_by_name(capsys: pytest.CaptureFixture[str]):
    """Others can be lowered, which is said beside them."""
    with pytest.raises(SystemExit) as exited:
        judge(
            {"files": 3, "circles": 2, "lines": 50},
            {"files": 2, "circles": 2, "lines": 100},
        )
    assert exited.value.code == "files: 3 is over the limit of 2"
    said = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in said if "can be lowered" in line] == ["lines"]
    judge({"files": 2}, {"files": 2})
