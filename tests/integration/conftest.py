"""Fixtures of the tests that need a database."""

import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client, override_settings

from django_sitemaps_plus.models import Section
from django_sitemaps_plus.registry import SourceRegistry
from django_sitemaps_plus.tracking import known
from tests.support.builds import build_and_relay, build_fully
from tests.support.documents import locs, read_index
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

FOLDER = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give each test here the database, unless it says how it wants it."""
    for item in items:
        if FOLDER in item.path.parents and not item.get_closest_marker("django_db"):
            item.add_marker(pytest.mark.django_db)


@pytest.fixture(autouse=True)
def unknown_plans(no_flush: None) -> Iterator[None]:
    """Begin each test as a process that knows of no plan, and has not asked for any."""
    known.forget()
    known._asked_at = -known.PAUSE_SECONDS
    yield
    known.forget()


@pytest.fixture
def publish(sections: SourceRegistry) -> Callable[..., Section]:
    """Return what registers a source, builds it and gives its section."""

    def publish(source: Any, name: str = "products") -> Section:
        if name in sections:
            sections.unregister(name)
        sections.register(name, source)
        build_and_relay([name])
        return Section.objects.get(name=name)

    return publish


@pytest.fixture
def shop(publish: Callable[..., Section]) -> Callable[..., Section]:
    """Return what publishes products, ten a page, and gives their section."""

    def shop(
        rows: int = 25, limit: int = 10, name: str = "products", **attributes: Any
    ) -> Section:
        make_products(rows)
        return publish(limited(limit, **attributes), name)

    return shop


@pytest.fixture
def stock(sections: SourceRegistry) -> Callable[..., None]:
    """Return what registers products, ten a page, and builds nothing."""

    def stock(
        rows: int = 25, limit: int = 10, name: str = "products", **attributes: Any
    ) -> None:
        make_products(rows)
        sections.register(name, limited(limit, **attributes))

    return stock


@pytest.fixture
def crawl(client: Client) -> Callable[[], dict[str, list[str]]]:
    """Return what fetches the index and its pages: path -> locations."""

    def crawl(origin: str = "https://example.com") -> dict[str, list[str]]:
        found = {}
        for url in read_index(client.get("/sitemap.xml").content):
            assert url.startswith(origin + "/")
            path = url.removeprefix(origin)
            response = client.get(path)
            assert response.status_code == 200
            found[path] = locs(response.content)
        return found

    return crawl


@pytest.fixture
def messages(caplog: pytest.LogCaptureFixture) -> Callable[..., list[str]]:
    """Return what gives the logged messages of an action."""
    caplog.set_level(logging.INFO, "django_sitemaps_plus")

    def messages(action: str) -> list[str]:
        return [
            record.getMessage()
            for record in caplog.records
            if getattr(record, "action", None) == action
        ]

    return messages


@pytest.fixture
def other_database(tmp_path: Path) -> Iterator[str]:
    """Give the alias of a second database, which has products of its own."""
    alias = "other"
    settings: dict[str, Any] = {
        "default": connections.settings["default"],
        # A file, for Django never closes a database in memory.
        alias: {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(tmp_path / "other.sqlite3"),
            # Closed after an error, it could not be opened again; see below.
            "CONN_MAX_AGE": None,
        },
    }
    connections.settings[alias] = connections.configure_settings(settings)[alias]
    # Only what is connected already is open to a test that did not ask for it.
    connections[alias].connect()
    with connections[alias].schema_editor() as editor:
        editor.create_model(Product)
    yield alias
    connections[alias].close()
    del connections.settings[alias], connections[alias]


@pytest.fixture
def site_rows(settings: Any, configure: Any) -> Iterator[Any]:
    """Have django.contrib.sites with two rows; return its model."""
    installed = [*settings.INSTALLED_APPS, "django.contrib.sites"]
    with override_settings(INSTALLED_APPS=installed):
        from django.contrib.sites.models import Site

        with connection.schema_editor() as editor:
            editor.create_model(Site)
        Site.objects.clear_cache()
        Site.objects.create(pk=1, domain="shop.example", name="Shop")
        Site.objects.create(pk=2, domain="blog.example", name="Blog")
        configure(BASE_URL="https://shop.example")
        yield Site
        Site.objects.clear_cache()
        with connection.schema_editor() as editor:
            editor.delete_model(Site)


@pytest.fixture
def products(sections: SourceRegistry) -> list[Product]:
    made = make_products(25)
    sections.register("products", limited(10))
    build_fully()
    return made
