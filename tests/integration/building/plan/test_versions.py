"""A key that was located just before its page changed still marks the right page."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan.replan import begin_replan
from django_sitemaps_plus.models import Change, PageQuerySet, Section
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.sources import reader_of
from django_sitemaps_plus.tracking.locating import locate, mark, mark_keys
from tests.support.shop import limited
from tests.support.testapp.models import Product

from .plans import add, dirty, spread

pytestmark = pytest.mark.database


@pytest.fixture
def section(publish):
    spread(30)
    return publish(limited(10))


def find(section, *keys):
    return locate(section, reader_of(registry.get("products")).key_space(), keys)


def number_of(section, located):
    rows = section.pages.filter(pk__in=located.pages).order_by("number")
    return list(rows.values_list("number", flat=True))


def split_page_two():
    add(111, 112)
    build()


def merge_two_and_three():
    Product.objects.filter(pk__in=[*range(110, 200, 10), *range(220, 310, 10)]).delete()
    build(allow_shrink=True)


def replan():
    registry.unregister("products")
    registry.register("products", limited(7))
    build(replan=True)


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        (split_page_two, [2], [4]),
        (merge_two_and_three, [3], [2]),
        (replan, [2], [6]),
    ],
)
def test_a_plan_that_changes_after_a_key_was_located(section, change, before, after):
    """The old answer marks nothing; located again, the key marks its new page."""
    key = 200 if change is not merge_two_and_three else 210
    located = find(section, key)
    assert number_of(section, located) == before
    change()
    assert dirty(section) == []
    assert mark(section, located) is False
    assert dirty(section) == []
    again = find(section, key)
    assert mark(section, again) is True
    assert dirty(section) == after


def test_changes_stay_until_their_pages_are_marked(section):
    """What was located by the old plan is not deleted with it."""
    located = find(section, 200)
    split_page_two()
    waiting = Change.objects.create(section="products", kind="key", low="200")
    assert mark(section, located, changes=[waiting]) is False
    assert list(Change.objects.all()) == [waiting]
    assert mark(section, find(section, 200), changes=[waiting]) is True
    assert Change.objects.count() == 0


def test_a_first_page_that_splits_between_two_looks(section, monkeypatch):
    """Found on no page with a begin, its key is not taken for one of the first."""
    real = PageQuerySet.owners_from_below

    def interrupted(*args, **kwargs):
        found = real(*args, **kwargs)
        monkeypatch.setattr(PageQuerySet, "owners_from_below", real)
        add(11, 12)
        build()
        return found

    monkeypatch.setattr(PageQuerySet, "owners_from_below", interrupted)
    space = reader_of(registry.get("products")).key_space()
    mark_keys(section, space, [95])
    assert dirty(section) == [4]


def test_keys_and_ranges_are_located(section):
    """The first range has no begin, the last no end; of ranges both ends count."""
    assert number_of(section, find(section, -(10**9))) == [1]
    assert number_of(section, find(section, 10**12)) == [3]
    space = reader_of(registry.get("products")).key_space()
    located = locate(section, space, [], [(100, 110), (215, 215)])
    assert number_of(section, located) == [1, 2, 3]


def test_while_a_plan_is_coming_a_key_marks_its_page_in_both(section):
    """Else the new one would be out of date the moment it is served."""
    registry.unregister("products")
    registry.register("products", limited(7))
    begin_replan(open_section(Section.objects.get(pk=section.pk)))
    located = find(section, 110)
    states = section.pages.filter(pk__in=located.pages).values_list("state", flat=True)
    assert sorted(states) == ["active", "next"]
