"""Metrics: what each of them counts."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from django_sitemaps_plus.conf import get_sites
from django_sitemaps_plus.diagnostics.metrics import exposition
from django_sitemaps_plus.diagnostics.status import read_dashboard
from django_sitemaps_plus.models import MAX_ATTEMPTS, EngineHost, Page, Section
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_fully
from tests.support.shop import limited, make_products


@pytest.fixture(autouse=True)
def configured(configure: Any, sections: Any) -> None:
    """Have an engine and three pages of products."""
    backend = f"{RecordingEngine.__module__}.RecordingEngine"
    configure(ENGINES={"one": {"BACKEND": backend}})
    make_products(25)
    sections.register("products", limited(10))
    build_fully()


def samples() -> dict[tuple[str, ...], float]:
    """Return the values of metrics by their names and the values of their labels."""
    text = exposition(read_dashboard(get_sites()))
    return {
        (it.name, *it.labels.values()): it.value
        for family in text_string_to_metric_families(text)
        for it in family.samples
    }


def test_every_metric_has_its_number():
    """Of the site, its section and its engine."""
    now = timezone.now()
    Section.objects.filter(name="products").update(
        hold_reason="too few", schedule_checked_at=now - timedelta(seconds=50)
    )
    pages = Page.objects.filter(section__name="products")
    pages.filter(number=1).update(wanted=9, attempts=MAX_ATTEMPTS, error="it broke")
    pages.filter(number=2).update(skipped=2, dropped=7)
    EngineHost.objects.create(
        site="default", engine="one", host="a.example", parked_reason="the key"
    )
    found = samples()
    of_section = {k[0][14:]: v for k, v in found.items() if k[2:] == ("products",)}
    assert of_section.pop("plain_bytes") > of_section.pop("gzip_bytes") > 0
    assert 50 <= of_section.pop("last_build_age_seconds") < 100
    assert of_section == {
        "entries": 25,
        "pages": 3,
        "dirty_pages": 1,
        "building_pages": 0,
        "parked_pages": 1,
        "failed_pages": 0,
        "section_held": 1,
        "skipped_rows": 2,
        "dropped_values": 7,
        "waiting_changes": 0,
    }
    of_engine = {k[0][14:]: v for k, v in found.items() if k[2:] == ("one",)}
    assert of_engine == {
        "waiting_deliveries": 0,
        "resting_deliveries": 0,
        "rejected_deliveries": 0,
        "recently_accepted_deliveries": 0,
        "recently_failed_deliveries": 0,
        "parked_hosts": 1,
        "failing_hosts": 0,
    }
    assert found["sitemaps_plus_site_ok", "default"] == 0


def test_sites_have_labels(configure):
    sites = {it: {"BASE_URL": f"https://{it}.example"} for it in ("shop", "blog")}
    configure(BASE_URL=None, SITES=sites)
    found = samples()
    assert found["sitemaps_plus_site_ok", "shop"] == 1
    assert found["sitemaps_plus_parked_hosts", "blog", "one"] == 0


def test_a_live_section_has_no_numbers(sections):
    """They would say that it lists nothing."""
    sections.register("books", limited(10))
    assert [key for key in samples() if "books" in key] == []
