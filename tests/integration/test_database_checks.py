"""Checks name the databases of objects that lack our tables."""

from __future__ import annotations

import django
import pytest
from django.core.management import call_command
from django.db import connections

from django_sitemaps_plus.checks import check_migrated, check_routers
from django_sitemaps_plus.models import Change
from tests.support.shop import ProductSource
from tests.support.testapp.models import Product

pytestmark = [pytest.mark.database, pytest.mark.django_db]


class WritesElsewhere:
    """Writes products where our tables are not."""

    def db_for_write(self, model, **hints):
        """Write to the other database."""
        return "other" if model is Product else None

    def allow_migrate(self, alias, app_label, **hints):
        """Keep our tables out of it."""
        return alias != "other" or app_label != "sitemaps_plus"


class WritesAndMigrates(WritesElsewhere):
    """Writes products where our tables belong too."""

    def allow_migrate(self, alias, app_label, **hints):
        """Let them in."""
        return True


@pytest.fixture
def products(sections):
    """A section of products, and nothing else."""
    sections.register("products", ProductSource)
    return sections


def ids(messages):
    return [message.id for message in messages]


class TestDatabases:
    @pytest.mark.parametrize(
        ("router", "expected"),
        [(WritesElsewhere, ["sitemaps_plus.W005"]), (WritesAndMigrates, [])],
    )
    def test_a_router_that_keeps_changes_out_is_told(
        self, products, settings, other_database, router, expected
    ):
        """No save could be recorded beside its object."""
        assert check_routers() == []
        settings.DATABASE_ROUTERS = [router()]
        found = check_routers()
        assert ids(found) == expected
        assert all("testapp.Product" in m.msg and "'other'" in m.msg for m in found)

    def test_a_database_without_our_tables_is_told(
        self, products, settings, other_database
    ):
        """Where a command names it, since that one is asked."""
        settings.DATABASE_ROUTERS = [WritesAndMigrates()]
        assert check_migrated() == check_migrated(databases=["default"]) == []
        (message,) = check_migrated(databases=["default", "other"])
        assert ids([message]) == ["sitemaps_plus.W005"]
        assert "migrate --database other" in message.hint
        with connections["other"].schema_editor() as editor:
            editor.create_model(Change)
        assert check_migrated(databases=["default", "other"]) == []

    def test_a_database_that_a_source_names_is_one_of_them(
        self, products, other_database
    ):
        """Its objects are saved there, as a rule."""
        products.get("products").using = "other"
        (message,) = check_migrated(databases=["other"])
        assert "Section 'products'" in message.msg

    def test_the_command_asks_the_databases_that_it_names(
        self, products, settings, other_database, capsys
    ):
        """And, before Django 6.1, no others."""
        settings.DATABASE_ROUTERS = [WritesAndMigrates()]
        call_command("check", tags=["sitemaps_plus"])
        assert django.VERSION >= (6, 1) or "W005" not in capsys.readouterr().err
        call_command("check", tags=["sitemaps_plus"], databases=["other"])
        assert "W005" in capsys.readouterr().err
