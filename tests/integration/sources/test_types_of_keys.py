"""Keys of every type: ranges where their text gives them back, else positions."""

from __future__ import annotations

import uuid
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.db import models

from django_sitemaps_plus.checks import check_sources
from django_sitemaps_plus.sources.contrib import SitemapSource
from django_sitemaps_plus.sources.keys import has_text
from django_sitemaps_plus.sources.reading import reader_of
from tests.support.builds import build_and_relay, pass_grace
from tests.support.documents import all_locs, read_index
from tests.support.testapp.models import Blob, Coin, Label, Product, Seat, Stamp

pytestmark = pytest.mark.database

MOMENT = datetime(2026, 11, 1, 12, 30, 0, 250, tzinfo=UTC)

#: Values that a key of each of Django's types may have.
VALUES: list[tuple[models.Field, Any]] = [
    (models.AutoField(), 7),
    (models.BigIntegerField(), -(10**15)),
    (models.BooleanField(), True),
    (models.CharField(), " a\u00e4'\"%\\ "),
    (models.DateField(), date(2026, 11, 1)),
    (models.DateTimeField(), MOMENT),
    (models.DecimalField(max_digits=9, decimal_places=3), Decimal("-1.250")),
    (models.DurationField(), timedelta(days=-3, microseconds=5)),
    (models.EmailField(), "a@example.com"),
    (models.FileField(), "a/b.jpg"),
    (models.FilePathField(), "/srv/a.jpg"),
    (models.FloatField(), 0.1 + 0.2),
    (models.GenericIPAddressField(), "2001:db8::1"),
    (models.PositiveSmallIntegerField(), 3),
    (models.SlugField(), "a-b"),
    (models.TextField(), "a\nb"),
    (models.TimeField(), time(23, 59, 59, 5)),
    (models.URLField(), "https://example.com/?a=b"),
    (models.UUIDField(), uuid.UUID(int=5)),
]


def unasked() -> Any:
    raise AssertionError("a type of Django is known")


@pytest.mark.parametrize(("field", "value"), VALUES)
def test_the_text_of_a_type_of_django_gives_the_value_back(field, value):
    assert has_text(field, unasked)
    assert field.to_python(str(value)) == value


@pytest.mark.parametrize(
    "field", [models.BinaryField(), models.JSONField(), Seat._meta.pk]
)
def test_some_types_of_django_have_no_such_text(field):
    assert not has_text(field, unasked)


def rows_of(model: Any) -> None:
    """Make 25 rows of a model with any type of key."""
    numbers = range(25)
    made = {
        Seat: lambda n: Seat(row=n % 5, number=n),
        Blob: lambda n: Blob(digest=bytes([255 - n, n])),
        Stamp: lambda n: Stamp(code=("a", f"{n:02}")),
        Coin: lambda n: Coin(code=f"C{n:02}"),
        Label: lambda n: Label(code=f"c-{n:02}"),
        Product: lambda n: Product(name=f"n-{n:02}", slug=f"p-{n:02}"),
    }
    model.objects.bulk_create([made[model](number) for number in numbers])


@pytest.mark.parametrize("model", [Seat, Blob, Stamp, Coin, Label, Product])
def test_a_contrib_class_over_a_key_of_any_type(model, sections, client):
    """Three pages, live, built, and after an edit."""

    class Rows(Sitemap):
        limit = 10

        def items(self):
            return model.objects.all()

        def location(self, item):
            return f"/{item}/"

    sections.register("rows", Rows)
    rows_of(model)

    def check() -> None:
        expected = sorted(f"https://example.com/{row}/" for row in model.objects.all())
        pages = read_index(client.get("/sitemap.xml").content)
        found = all_locs(
            client.get(page.removeprefix("https://example.com")).content
            for page in pages
        )
        assert sorted(found) == expected
        assert len(pages) >= 3

    check()
    build_and_relay()
    check()
    pass_grace()  # pages by position rest for a minute
    model.objects.order_by("pk")[3].delete()
    build_and_relay()
    check()


@pytest.mark.parametrize(
    ("model", "is_key"),
    [(Seat, False), (Blob, False), (Stamp, False), (Coin, True), (Label, True)],
)
def test_pages_are_ranges_of_keys_where_they_can_be(model, is_key):
    class Rows(Sitemap):
        def items(self):
            return model.objects.all()

    rows_of(model)
    reader = reader_of(SitemapSource(Rows))
    assert (reader.key_space() is not None) == is_key


def test_a_check_says_what_positions_cost(sections):
    """W016, where the model is known without a query."""
    sections.register("seats", GenericSitemap({"queryset": Seat.objects.all()}))
    sections.register("labels", GenericSitemap({"queryset": Label.objects.all()}))
    found = [it.id.partition(".")[2] for it in check_sources()]
    assert [it for it in found if it.startswith("W")] == ["W016"]


def test_a_later_key_that_is_no_bound_fails_and_is_named(sections):
    """Instead of pages that are cut where nothing lies."""

    class Rows(Sitemap):
        limit = 10

        def items(self):
            return Coin.objects.all()

    sections.register("rows", Rows)
    rows_of(Coin)
    assert reader_of(SitemapSource(Rows)).key_space() is not None
    Coin.objects.filter(code="C10").delete()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(Coin._meta.pk), "to_python", lambda self, text: text[:2])
        report = build_and_relay()
    assert "cannot be a bound of pages: testapp.Coin.code" in str(report.problems)
