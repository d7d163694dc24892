"""The boundary around user code: what it sets, and what it makes of errors."""

import pytest
from django.db import OperationalError, ProgrammingError, connection, transaction
from django.urls import get_script_prefix

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import (
    ConfigurationError,
    NotRegistered,
    SourceError,
    StalePlanError,
    StoreError,
)
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.section import open_section
from tests.support.shop import ProductSource

SITE = Site("default", "https://example.com", "/shop/")


class SoftTimeLimitExceeded(Exception):
    """The error by which Celery ends a task."""


@pytest.fixture(autouse=True)
def products(sections):
    sections.register("products", ProductSource)


class TestReading:
    def test_a_source_is_given_in_the_surroundings_of_its_site(self):
        section = open_section("products", SITE)
        assert isinstance(section.source, ProductSource)
        with section.reading():
            assert get_script_prefix() == "/shop/"
        assert get_script_prefix() == "/"
        with pytest.raises(NotRegistered):
            open_section("nothing", SITE)

    @pytest.mark.parametrize(
        ("error", "is_outage"),
        [
            (ValueError("odd"), False),
            (ConfigurationError("odd"), False),
            (ProgrammingError("odd"), False),
            (OperationalError("odd: closed the connection unexpectedly"), True),
        ],
    )
    def test_what_a_source_raises_names_its_section(self, error, is_outage):
        """An outage is known as one: no page is to blame for it."""
        kind = type(error).__name__
        words = rf"section 'products' could not be read: {kind} \(Product\): odd"
        with (
            pytest.raises(SourceError, match=words) as caught,
            open_section("products", SITE).reading(),
        ):
            raise error
        assert caught.value.__cause__ is error
        assert caught.value.is_outage is is_outage

    def test_a_source_without_a_section_is_named_itself(self):
        source, words = ProductSource(), "ProductSource> could not be read"
        with (
            pytest.raises(SourceError, match=words),
            open_section(source, SITE).reading(),
        ):
            raise ValueError

    @pytest.mark.parametrize(
        "error",
        [
            StalePlanError("other keys"),
            StoreError("no space"),
            LimitExceededError("too many"),
            SoftTimeLimitExceeded(),
        ],
    )
    def test_what_somebody_else_deals_with_passes(self, error):
        with (
            pytest.raises(type(error)) as caught,
            open_section("products", SITE).reading(),
        ):
            raise error
        assert caught.value is error

    def test_an_error_of_our_own_database_is_none_of_the_source(self, monkeypatch):
        """Where our rows cannot be read either, nothing else can go on."""
        monkeypatch.setattr(Section._meta, "db_table", "no_such_table")
        with pytest.raises(OperationalError), open_section("products", SITE).reading():
            raise OperationalError("server closed the connection unexpectedly")

    def test_a_transaction_of_the_caller_goes_on(self):
        """After a query that PostgreSQL refuses as well."""
        with transaction.atomic():
            with (
                pytest.raises(SourceError),
                open_section("products", SITE).reading(),
                connection.cursor() as cursor,
            ):
                cursor.execute("SELECT no_such_column")
            assert not Page.objects.exists()
