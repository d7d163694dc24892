"""CONTRIB_SITEMAPS that cannot be read for now: nothing is taken for removed."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from itertools import chain
from types import ModuleType
from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap
from django.db import connection, transaction

from django_sitemaps_plus import adoption, registry
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.diagnostics.problems import problems_of
from django_sitemaps_plus.diagnostics.status import read_dashboard
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.publishing.prune import prune
from django_sitemaps_plus.testing import tracking
from tests.support.builds import build_and_relay, build_fully
from tests.support.lazy import Lazy
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = pytest.mark.database


TABLE, MISSING = Product._meta.db_table, "no_such_table"


class OfTable(Lazy):
    """A dict that a table decides on, which may be missing."""

    table = ""

    def read(self) -> dict[str, Any]:
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT count(*) FROM {self.table}")  # noqa: S608
        return {"products": GenericSitemap({"queryset": Product.objects.all()})}


@pytest.fixture
def lazy(
    sections: Any, configure: Any, monkeypatch: Any
) -> Iterator[Callable[[str], None]]:
    """Return what begins a process that has not read the dict yet."""
    module = ModuleType("project.lazy")
    module.sitemaps = OfTable()
    monkeypatch.setitem(sys.modules, "project.lazy", module)
    configure(CONTRIB_SITEMAPS="project.lazy.sitemaps")

    def begin(table: str) -> None:
        module.sitemaps.table = table
        sections._registry.pop("products", None)
        sections.pending = adoption.adopt
        sections.changed()

    yield begin
    sections.pending = sections.unread = None


def test_views_and_builds_wait_until_it_can_be_read(lazy, client, crawl):
    make_products(12)
    lazy(MISSING)
    for path in ("/sitemap.xml", "/sitemap-products-1.xml", "/sitemap-products.txt"):
        assert client.get(path).status_code == 503
    for work in (build_and_relay, build_fully, lambda: prune(get_site())):
        with pytest.raises(ConfigurationError, match="CONTRIB_SITEMAPS"):
            work()
    assert not Section.objects.exists()
    [status] = read_dashboard([get_site()])
    assert [it.id for it in problems_of(status)] == ["index_failed"]
    lazy(TABLE)
    assert len([*chain(*crawl().values())]) == 12
    assert build_and_relay().missing == []
    [status] = read_dashboard([get_site()])
    assert problems_of(status) == []


def test_what_was_published_stays(lazy, client, crawl, sections):
    make_products(12)
    sections.register("others", limited(10))
    lazy(TABLE)
    build_and_relay()
    before = crawl()
    lazy(MISSING)
    assert crawl() == before
    for work in (build_and_relay, lambda: prune(get_site())):
        with pytest.raises(ConfigurationError):
            work()
    assert crawl() == before
    assert not Section.objects.exclude(missing_since=None).exists()


@pytest.mark.django_db(transaction=True)
def test_a_save_that_asks_for_the_sections_goes_on(lazy, sections):
    lazy(MISSING)
    with tracking(), transaction.atomic():
        made = make_products(1)[0]
        made.name = "other"
        made.save()
        assert list(registry) == []
        made.save()
    assert Product.objects.get().name == "other"
