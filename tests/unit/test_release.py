"""What is released was tested, and the documentation promises no more."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

TOP = Path(__file__).parents[2]


def text_of(path: str) -> str:
    return (TOP / path).read_text("utf-8")


PROJECT = tomllib.loads(text_of("pyproject.toml"))["project"]

GUIDE = "docs/how-to/upgrade.md"

#: What only this repository needs.
OWN_EXTRAS = {"bench", "browser", "demo", "dev", "docs", "example"}


def classified(kind: str) -> list[str]:
    found = [
        re.fullmatch(rf"{kind} :: (\d+\.\d+)", it) for it in PROJECT["classifiers"]
    ]
    return [match[1] for match in found if match]


PYTHONS = classified("Programming Language :: Python")
DJANGOS = classified("Framework :: Django")

#: Python, Django and extra of each clean environment that CI makes.
TRIED = re.findall(r'^  "(\S+) (\S+) (\S+)"$', text_of(".ci/packages"), re.MULTILINE)


def promised() -> set[tuple[str, str]]:
    """Return each Python with each Django by the table in the guide to upgrades."""
    lines = re.findall(r"^\|(.*Python.*|.*Django.*)\|$", text_of(GUIDE), re.MULTILINE)
    [head, *rows] = [[cell.strip() for cell in it.split("|")] for it in lines]
    return {
        (python.removeprefix("Python "), row[0].removeprefix("Django "))
        for row in rows
        for python, cell in zip(head, row, strict=True)
        if cell == "yes"
    }


def test_each_python_is_tried_with_each_django_that_is_promised():
    assert {(python, django) for python, django, _ in TRIED} == promised()
    assert sorted({python for python, _, _ in TRIED}) == PYTHONS
    assert sorted({django for _, django, _ in TRIED}) == DJANGOS
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    beyond = f"{DJANGOS[-1][:-1]}{int(DJANGOS[-1][-1]) + 1}"
    assert PROJECT["dependencies"] == [f"Django>={DJANGOS[0]},<{beyond}"]


def test_all_tests_run_on_the_newest_and_the_oldest():
    script, workflow = text_of(".ci/run"), text_of(".github/workflows/ci.yml")
    assert f'"Django>={DJANGOS[-1]}' in script
    assert f"for python in python{PYTHONS[-1]} " in script
    assert set(PYTHONS) == set(re.findall(r"^ +(3\.\d+)$", workflow, re.MULTILINE))


def test_each_extra_is_tried_alone_and_in_the_readme():
    extras = set(PROJECT["optional-dependencies"]) - OWN_EXTRAS
    assert {extra for _, _, extra in TRIED} == extras | {"none"}
    _, _, part = text_of("README.md").partition("## Requirements")
    assert set(re.findall(r"^\| `(\w+)` ", part, re.MULTILINE)) == extras


def test_the_changelog_dates_the_version():
    heading = rf"^## {re.escape(PROJECT['version'])} - \d{{4}}-\d\d-\d\d$"
    assert re.search(heading, text_of("CHANGELOG.md"), re.MULTILINE)
