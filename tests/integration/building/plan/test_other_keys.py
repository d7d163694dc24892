"""Keys of another type: by them the bounds of before say nothing, even as keys."""

from __future__ import annotations

import pytest

from django_sitemaps_plus import Entry, ModelSource, Route, Source, planning
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import Change
from django_sitemaps_plus.signals import urls_changed
from tests.support.builds import build_and_relay
from tests.support.shop import START, limited
from tests.support.testapp.models import Label, Product, Shop
from tests.support.told import hearing

from .plans import dirty, everything, numbers, replace, sizes, spread

pytestmark = pytest.mark.database


def digits(count):
    """Add products whose slugs are digits too, all above their keys."""
    Product.objects.bulk_create(
        [Product(pk=100 + n, name=f"{n}", slug=f"{500 + n}") for n in range(count)]
    )


def of_shops(limit):
    attributes = {"model": Shop, "location": Route("shop-detail", pk="pk")}
    return type("Shops", (ModelSource,), {"limit": limit, **attributes})


def of_labels(limit):
    attributes = {"model": Label, "location": Route("label-detail", code="code")}
    return type("Labels", (ModelSource,), {"limit": limit, **attributes})


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [("pk", "slug", [8, 8, 8, 6]), ("slug", "pk", [10, 10, 10])],
    ids=["to slug", "to pk"],
)
def test_bounds_that_are_keys_of_both_types_get_a_new_plan(
    publish, crawl, before, after, expected
):
    """Digits in order, as text and as numbers; by them one page owned all rows."""
    digits(30)
    section = publish(limited(10, key=before))
    urls = everything(crawl())
    replace(limited(10, key=after))
    build()
    assert sizes(section) == expected
    assert everything(crawl()) == urls
    assert build().sections[0].rendered == 0


@pytest.mark.parametrize("limit", [10, 50], ids=["pages", "one page"])
def test_a_save_beside_it_is_published_and_told(publish, crawl, limit):
    """In the same refresh, whether the plan has other pages then or the one it had."""
    digits(30)
    section = publish(limited(limit))
    saved = Product.objects.get(pk=115)
    saved.updated_at = START
    saved.save()
    replace(limited(limit, key="slug"))
    with hearing(urls_changed) as heard:
        build_and_relay()
    told = [url for news in heard if news["announce"] for url in news["updated"]]
    assert told == ["https://example.com/products/515/"]
    assert len(everything(crawl())) == 30
    assert (dirty(section), Change.objects.count()) == ([], 0)


def test_uuids_that_become_strings_get_a_new_plan(publish):
    """Every UUID is a string as well, and they come in the same order."""
    Shop.objects.bulk_create([Shop() for _ in range(30)])
    section = publish(of_shops(10))
    Label.objects.bulk_create([Label(code=f"z-{n:02}") for n in range(30)])
    replace(of_labels(10))
    build()
    assert sizes(section) == [8, 8, 8, 6]


def test_a_new_plan_that_could_not_be_made_is_made_later(publish, monkeypatch):
    digits(30)
    section = publish(limited(10))
    replace(limited(10, key="slug"))
    with monkeypatch.context() as patch:
        patch.setattr(planning, "key_ranges", lambda *_: 1 / 0)
        assert "ZeroDivisionError" in build().sections[0].errors[0]
    assert numbers(section) == [1, 2, 3]
    assert dirty(section) == []
    build()
    assert sizes(section) == [8, 8, 8, 6]


def test_a_plan_to_come_of_another_type_is_given_up(publish, failing):
    """Its bounds are those of the keys before the deploy, too."""
    digits(30)
    section = publish(limited(10))
    replace(limited(6))
    failing(6)
    build(replan=True)
    failing()
    replace(limited(10, key="slug"))
    build()
    assert sizes(section) == [8, 8, 8, 6]


def test_a_wider_key_of_the_same_type_keeps_the_plan(publish, monkeypatch):
    """A migration to BigAutoField, say; its pages are rendered once more."""
    spread(30)
    section = publish(limited(10))
    field = Product._meta.pk
    monkeypatch.setattr(field, "db_type", lambda connection: "numeric")
    replace(limited(15))  # a new plan would have other pages
    assert build().sections[0].rendered == 3
    assert numbers(section) == [1, 2, 3]


def test_rows_that_had_no_keys_get_a_new_plan(publish, crawl):
    """Positions are numbers in order, and so are integer keys."""
    digits(30)

    class Slugs(Source):
        limit = 10

        def entries(self, origin):
            slugs = Product.objects.order_by("pk").values_list("slug", flat=True)
            return [Entry(loc=f"{origin}/products/{slug}/") for slug in slugs]

    section = publish(Slugs)
    urls = everything(crawl())
    replace(limited(10))
    build()
    assert sizes(section) == [10, 10, 10]
    assert everything(crawl()) == urls
