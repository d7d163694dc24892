"""One site for all tests of the dashboard."""

import json
import sqlite3
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from typing import Any

import pytest

from tests.acceptance.browser.looking import need_chromium, opened
from tests.acceptance.site import Site

from .walk import watch


class DashboardSite(Site):
    """A site whose database tests read, and put back to how it was."""

    sessions: dict[str, str]  # their keys, by the names of users

    def prepare(self) -> None:
        self.environment["DJANGO_SETTINGS_MODULE"] = f"{__package__}.settings"
        self.sessions = json.loads(self.run("-m", f"{__package__}.state"))
        self.before = sqlite3.connect(":memory:")
        with closing(self.database()) as database:
            database.backup(self.before)

    def restore(self) -> None:
        with closing(self.database()) as database:
            self.before.backup(database)

    def database(self) -> sqlite3.Connection:
        return sqlite3.connect(self.directory / "db.sqlite3", timeout=20)

    def rows(self, query: str) -> list[tuple[Any, ...]]:
        with closing(self.database()) as database:
            return database.execute(query).fetchall()

    def cookie(self, user: str) -> dict[str, str]:
        """Return what a browser sends for a user who has logged in."""
        return {"name": "sessionid", "value": self.sessions[user], "url": self.base_url}


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DashboardSite]:
    """Serve a site that has some of everything, if there is a browser."""
    need_chromium()
    site = DashboardSite(tmp_path_factory.mktemp("dashboard"))
    site.prepare()
    with site.served("tests.acceptance.browser.wsgi"):
        yield site
    site.close()


@pytest.fixture
def site(prepared: DashboardSite) -> DashboardSite:
    prepared.restore()
    return prepared


@pytest.fixture
def visit(browser: Any, site: DashboardSite) -> Iterator[Callable[..., Any]]:
    """Return what opens a path as a user; no page may report an error."""
    errors: list[str] = []

    def visit(path: str, user: str = "ada", **options: Any) -> Any:
        options["base_url"] = site.base_url
        context = contexts.enter_context(opened(browser, "desktop", **options))
        context.add_cookies([site.cookie(user)])
        page = context.new_page()
        watch(page, errors)
        page.goto(path)
        return page

    with ExitStack() as contexts:
        yield visit
    assert errors == []
