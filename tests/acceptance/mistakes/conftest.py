"""A project of its own for each test."""

from pathlib import Path

import pytest

from .project import Project


@pytest.fixture(scope="session")
def fresh_project(tmp_path_factory: pytest.TempPathFactory) -> Project:
    return Project.start(tmp_path_factory.mktemp("mysite"))


@pytest.fixture
def project(fresh_project: Project, tmp_path: Path) -> Project:
    return fresh_project.copy(tmp_path / "mysite")
