"""The release was tested, and the documentation promises no more."""

import re
import tomllib
from pathlib import Path

import pytest
import yaml

TOP = Path(__file__).parents[2]


def text_of(path: str) -> str:
    return (TOP / path).read_text("utf-8")


PROJECT = tomllib.loads(text_of("pyproject.toml"))["project"]

GUIDE = "docs/how-to/upgrade.md"

#: Extras that only this repository needs.
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
    [line] = re.findall(r"^Extras: .*", part, re.MULTILINE)
    assert set(re.findall(r"`(\w+)`", line)) == extras


def test_the_changelog_dates_the_version():
    heading = rf"^## {re.escape(PROJECT['version'])} - \d{{4}}-\d\d-\d\d$"
    assert re.search(heading, text_of("CHANGELOG.md"), re.MULTILINE)


WORKFLOWS = {path.name: path for path in (TOP / ".github/workflows").glob("*.yml")}


@pytest.mark.parametrize("name", WORKFLOWS)
def test_actions_are_pinned_and_may_only_read(name: str):
    """The name of a version may move; whoever needs more rights names them in a job."""
    workflow = yaml.safe_load(WORKFLOWS[name].read_text("utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    steps = [step for job in workflow["jobs"].values() for step in job["steps"]]
    used = [step["uses"] for step in steps if "uses" in step]
    assert [it for it in used if not re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", it)] == []


def test_only_what_was_tried_is_published():
    jobs = yaml.safe_load(WORKFLOWS["publish.yml"].read_text("utf-8"))["jobs"]
    runs = [step.get("run", "") for step in jobs["build"]["steps"]]
    assert any(".ci/packages dist" in run for run in runs)
    assert jobs["publish"]["needs"] == "build"
    assert jobs["publish"]["permissions"] == {"id-token": "write"}


@pytest.mark.parametrize("name", ["problem", "idea"])
def test_issue_forms_ask(name: str):
    form = yaml.safe_load(text_of(f".github/ISSUE_TEMPLATE/{name}.yml"))
    assert {"name", "description", "body"} <= set(form)
    asked = [it for it in form["body"] if it["type"] != "markdown"]
    assert len({it["id"] for it in asked}) == len(asked)
    assert all(it["attributes"]["label"] for it in asked)
