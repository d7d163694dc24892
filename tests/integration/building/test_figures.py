"""What builds record of the hour, for the page of a section."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Figure, Page
from tests.support.builds import build_and_relay, build_fully
from tests.support.faults import fail_queries
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

HOUR = timezone.now().replace(minute=0, second=0, microsecond=0)


@pytest.fixture(autouse=True)
def shop(sections: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have two sections, of three pages and one, and a clock that stands."""
    make_products(25)
    sections.register("products", limited(10))
    sections.register("others", limited(50))
    monkeypatch.setattr(timezone, "now", lambda: HOUR.replace(minute=59))


def figures(name: str) -> dict[str, float]:
    """Return the figures of a section by their kind."""
    rows = Figure.objects.filter(site="default", name=name, hour=HOUR)
    return dict(rows.values_list("kind", "value"))


def test_builds_add_to_those_of_their_sections():
    """An hour has the sums of all, and the entries that the last one left."""
    build_and_relay()
    assert figures("products") == {"entries": 25, "pages": 3}
    assert figures("others") == {"entries": 25, "pages": 1}
    Product.objects.get(slug="product-00024").delete()
    build_fully(["products"])
    assert figures("products") == {"entries": 24, "pages": 6}
    assert figures("others") == {"entries": 25, "pages": 1}
    assert not Figure.objects.filter(name="").exists()  # no index


def test_who_helps_a_build_adds_its_pages():
    build()
    Page.objects.update(wanted=F("wanted") + 1)
    build(notices=False)
    assert figures("products") == {"entries": 25, "pages": 6}


def test_a_build_with_nothing_to_do_asks_nothing_more():
    build_and_relay()
    before = list(Figure.objects.order_by("pk").values())
    with CaptureQueriesContext(connection) as queries:
        build()
    assert not [q for q in queries if Figure._meta.db_table in q["sql"]]
    assert list(Figure.objects.order_by("pk").values()) == before


def test_a_build_that_cannot_record_has_built(client, caplog):
    """The pages are published by then, and the log says what is missing."""
    with fail_queries(lambda sql: Figure._meta.db_table in sql):
        assert build().problems == []
    assert client.get("/sitemap-products-3.xml").status_code == 200
    assert "The figures of products are lost: the server closed" in caplog.text
    assert not Figure.objects.exists()
