"""Ages, whatever zone the project and the server of its database are in."""

from __future__ import annotations

import itertools
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.diagnostics.status import age_of, section_status
from django_sitemaps_plus.models import Change, Page, Section
from django_sitemaps_plus.models.clock import Now
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

HOURS = timedelta(hours=2)


@pytest.fixture(
    params=itertools.product((False, True), ("America/New_York", "Asia/Tokyo")),
    ids=str,
)
def zones(request: Any, settings: Any) -> Any:
    """Have a project in a zone, and a server in another one."""
    settings.USE_TZ, settings.TIME_ZONE = request.param
    if connection.vendor == "mysql":
        with connection.cursor() as cursor:
            cursor.execute("SET time_zone = '+05:00'")
    yield
    connection.close()


def test_what_the_database_says_is_what_python_says(zones, sections):
    section = Section.objects.create(name="products", new_since=Now())
    section.refresh_from_db()
    assert abs(age_of(section.new_since)) < 60
    # A query that is kept, too.
    (found,) = Section.objects.with_plan(site="", name="products")
    assert abs(age_of(found.now)) < 60


def test_ages_of_what_waits(zones, sections):
    """A change that was just made is not late, and one of two hours ago is."""
    make_products(3, updated_at=None)
    sections.register("products", limited(1))
    assert build().problems == []
    Product.objects.all()[0].save()
    call_command("sitemap_status", max_age=3_000, verbosity=0)
    (status,) = section_status(get_site())
    assert -60 < age_of(status.oldest) < 60
    assert -60 < age_of(status.newest_at) < 60
    Change.objects.update(at=F("at") - HOURS)
    with pytest.raises(
        CommandError, match=r"products: The oldest .* for (1 hour, 5|2 hours)"
    ):
        call_command("sitemap_status", max_age=3_000, verbosity=0)
    assert build().problems == []
    call_command("sitemap_status", max_age=3_000, verbosity=0)
    Section.objects.update(schedule_checked_at=timezone.now() - HOURS)
    with pytest.raises(
        CommandError, match=r"products: The last build was made (1 hour, 5|2 h)"
    ):
        call_command("sitemap_status", max_age=3_000, verbosity=0)


def test_pages_are_compared_when_it_is_time(zones, sections, settings):
    """And no earlier: their times are by the database's clock, too."""
    make_products(3, updated_at=None)
    sections.register("products", limited(1))
    build()
    Section.objects.update(new_since=None)
    before = set(Page.objects.values_list("checked_at", flat=True))
    assert build().sections[0].rendered == 0
    assert set(Page.objects.values_list("checked_at", flat=True)) == before
    Page.objects.update(checked_at=F("checked_at") - timedelta(hours=24))
    assert build().sections[0].rendered == 3
