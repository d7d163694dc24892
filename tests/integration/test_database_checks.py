"""Checks of the databases that a command names: tables, and pages of sections."""

from __future__ import annotations

import django
import pytest
from django.core.management import call_command
from django.db import connections

from django_sitemaps_plus.checks import check_built, check_migrated, check_routers
from django_sitemaps_plus.models import Change
from tests.support.builds import build_fully
from tests.support.shop import limited
from tests.support.testapp.models import Product

pytestmark = [pytest.mark.database, pytest.mark.django_db]


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
    """Have a section of products, and nothing else."""
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


class TestMigrated:
    def test_a_database_without_our_tables_is_named(self, settings, other_database):
        """No save could be recorded beside its object."""
        settings.DATABASE_ROUTERS = [WritesElsewhere()]
        assert check_migrated() == check_migrated(databases=["default"]) == []
        (message,) = check_migrated(databases=["default", "other"])
        assert message.id == "sitemaps_plus.W005"
        assert "testapp.Product is on the database 'other'" in message.msg
        assert "migrate --database other" in message.hint
        with connections["other"].schema_editor() as editor:
            editor.create_model(Change)
        assert check_migrated(databases=["default", "other"]) == []

    def test_so_is_one_that_a_source_names(self, products, other_database):
        products.get("products").using = "other"
        (message,) = check_migrated(databases=["other"])
        assert "Section 'products'" in message.msg

    def test_the_command_asks_the_databases_that_it_names(
        self, settings, other_database, capsys
    ):
        """And, before Django 6.1, no others."""
        settings.DATABASE_ROUTERS = [WritesElsewhere()]
        call_command("check", tags=["sitemaps_plus"])
        assert django.VERSION >= (6, 1) or "W005" not in capsys.readouterr().err
        call_command("check", tags=["sitemaps_plus"], databases=["other"])
        assert "W005" in capsys.readouterr().err


class TestBuilt:
    @pytest.fixture(autouse=True)
    def engine(self, settings):
        """Have an engine that takes URLs."""
        one = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, "ENGINES": {"one": one}}

    def test_a_section_that_is_not_built_is_named(self):
        """Engines are notified of saves alone then."""
        Product.objects.create(name="a", slug="a")
        (message,) = check_built(databases=["default"])
        assert message.id == "sitemaps_plus.W007"
        assert "'products'" in message.msg
        build_fully()
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
    def test_it_is_fine(self, settings, given, debug, databases):
        """Without engines that take URLs, under DEBUG, or where nobody may look."""
        settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **given}
        settings.DEBUG = debug
        assert check_built(databases=databases) == []
