"""Checks of the databases that a command names: tables, and pages of sections."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from django.db import ProgrammingError, connection, models
from django.test.utils import isolate_apps

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.checks import (
    check_built,
    check_current_site,
    check_routers,
    check_views,
)
from tests.support.builds import build_fully
from tests.support.shop import limited
from tests.support.testapp.models import Product

pytestmark = pytest.mark.database


class WritesElsewhere:
    """Writes products where our tables are not."""

    def db_for_write(self, model, **hints):
        return "other" if model is Product else None


class KeepsUsOut(WritesElsewhere):
    """Has no tables of ours there either."""

    def allow_migrate(self, alias, app_label, **hints):
        return alias != "other" or app_label != "sitemaps_plus"


@pytest.fixture(autouse=True)
def products(sections):
    sections.register("products", limited(10))
    return sections


def test_a_router_that_keeps_our_tables_out_is_named_unasked(settings, other_database):
    """Saves there are not recorded, and nothing else says so."""
    settings.DATABASE_ROUTERS = [WritesElsewhere()]
    assert check_routers() == []
    settings.DATABASE_ROUTERS = [KeepsUsOut()]
    (message,) = check_routers()
    assert message.id == "sitemaps_plus.W005"
    assert "testapp.Product is on the database 'other'" in message.msg
    assert "allow_migrate()" in message.hint


@pytest.fixture
def shown():
    """Return an unmanaged model over a view of products."""
    quote = connection.ops.quote_name
    sql = f"SELECT {quote('id')}, slug FROM {quote(Product._meta.db_table)}"  # noqa: S608
    with connection.cursor() as cursor:
        cursor.execute(f"CREATE VIEW shown_products AS {sql}")
    with isolate_apps("tests.support.testapp"):

        class Shown(models.Model):  # noqa: DJ008 - nobody reads it
            slug = models.SlugField()

            class Meta:
                app_label, db_table, managed = "testapp", "shown_products", False

        yield Shown
    with connection.cursor() as cursor:
        cursor.execute("DROP VIEW shown_products")


def test_a_view_of_the_database_that_watches_nothing_is_named(products, shown):
    """Only where the database may be asked."""
    products.unregister("products")
    source = {"model": shown, "location": Route("product-detail", slug="slug")}
    products.register("shown", type("Shown", (ModelSource,), source))
    assert check_views(databases=None) == []
    [message] = check_views(databases=["default"])
    assert message.id == "sitemaps_plus.W047"
    products.unregister("shown")
    watching = source | {"watch": {Product: lambda row: shown.objects.all()}}
    products.register("shown", type("Watching", (ModelSource,), watching))
    assert check_views(databases=["default"]) == []


class NeedsARequest:
    """Writes where the tenant of a request is."""

    def db_for_write(self, model, **hints):
        if model is Product:
            raise LookupError("tenant")


@pytest.mark.parametrize("check", [check_routers, check_views])
def test_a_router_that_needs_a_request_is_a_warning(settings, check):
    settings.DATABASE_ROUTERS = [NeedsARequest()]
    (message,) = check(databases=["default"])
    assert message.id == "sitemaps_plus.W037"
    assert "LookupError: tenant" in message.msg


class TestBuilt:
    @pytest.fixture(autouse=True)
    def engine(self, configure, monkeypatch):
        """Have an engine that takes URLs, outside tests."""
        one = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
        configure(ENGINES={"one": one})
        monkeypatch.setattr("django_sitemaps_plus.checks.crawlers.is_test_run", bool)

    def test_a_section_that_is_not_built_is_named(self):
        """Engines are notified of saves alone then."""
        Product.objects.create(name="a", slug="a")
        (message,) = check_built(databases=["default"])
        assert message.id == "sitemaps_plus.W007"
        assert "'products'" in message.msg
        build_fully()
        assert check_built(databases=["default"]) == []

    def test_one_that_is_always_live_needs_no_build(self, sections):
        sections.register("live", limited(10, live=True))
        sections.register("other", limited(10))
        named = [it.msg for it in check_built(databases=["default"])]
        assert any("'other'" in words for words in named)
        assert not any("'live'" in words for words in named)

    def test_tests_are_spared(self, monkeypatch):
        """Their database has nothing built, each time."""
        path = "django_sitemaps_plus.checks.crawlers.is_test_run"
        monkeypatch.setattr(path, lambda: True)
        Product.objects.create(name="a", slug="a")
        assert check_built(databases=["default"]) == []

    @pytest.mark.parametrize(
        ("given", "debug", "databases"),
        [
            ({"ENGINES": {}}, False, ["default"]),
            ({"NOTIFY": False}, False, ["default"]),
            ({"ENGINES": {"one": {"BACKEND": "no.such.Engine"}}}, False, ["default"]),
            ({}, True, ["default"]),
            ({}, False, None),
            ({}, False, ["other"]),
        ],
    )
    def test_it_is_fine(self, settings, configure, given, debug, databases):
        """Without engines that take URLs, under DEBUG, or where nobody may look."""
        configure(**given)
        settings.DEBUG = debug
        assert check_built(databases=databases) == []


class TestCurrentSite:
    """The row of django.contrib.sites that gives the origin."""

    @pytest.fixture(autouse=True)
    def current(self, settings, monkeypatch):
        """Have django.contrib.sites; return what reads its current row."""
        settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django.contrib.sites"]
        settings.SITEMAPS_PLUS, settings.SITE_ID = {}, 1
        from django.contrib.sites.models import Site

        current = Mock(return_value=Site(domain="shop.com"))
        monkeypatch.setattr(Site.objects, "get_current", current)
        current.missing = Site.DoesNotExist
        return current

    def test_one_that_does_not_exist_is_named(self, current):
        assert check_current_site(databases=["default"]) == []
        current.side_effect = current.missing
        assert check_current_site() == check_current_site(databases=["other"]) == []
        (message,) = check_current_site(databases=["default"])
        assert message.id == "sitemaps_plus.W023"
        assert "Set SITE_ID to one that exists" in message.msg

    def test_the_one_that_django_makes_is_not_public(self, current):
        """Its domain is example.com."""
        current.return_value.domain = "example.com"
        (message,) = check_current_site(databases=["default"])
        assert message.id == "sitemaps_plus.W035"
        assert "'https://example.com'" in message.msg

    def test_it_is_fine(self, settings, current):
        """Before migrate, and with BASE_URL."""
        current.side_effect = ProgrammingError("no such table")
        assert check_current_site(databases=["default"]) == []
        current.side_effect = current.missing
        settings.SITEMAPS_PLUS = {"BASE_URL": "https://shop.example"}
        assert check_current_site(databases=["default"]) == []
