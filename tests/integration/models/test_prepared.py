"""Statements that are compiled once."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import Any

import pytest
from django.db import connection
from django.db.models import F, QuerySet, Sum
from django.db.models.sql.compiler import SQLCompiler
from django.utils import timezone

from django_sitemaps_plus.models import Page, Publication, Section, prepared

pytestmark = pytest.mark.database


NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@cache
def method_of(make: Callable[..., Any]) -> Callable[..., Any]:
    return prepared.prepared(lambda rows, *shape, **values: make(*shape, **values))


def run(make: Callable[..., Any], *shape: Any, **values: Any) -> Any:
    return method_of(make)(Page.objects.all(), *shape, **values)


def entries_of(site: str, low: int) -> QuerySet[Page, Any]:
    pages = Page.objects.filter(section__site=site, number__gte=low)
    rows = pages.values("number").annotate(total=Sum("entries")).order_by("number")
    return rows.values_list("number", "total")


@pytest.fixture
def pages() -> None:
    prepared._compile.cache_clear()
    section = Section.objects.create(site="here", name="products")
    for number in (1, 2, 3):
        Page.objects.create(section=section, number=number, entries=10 * number)


def test_a_query_is_compiled_once_and_what_it_finds_is_not_kept(pages, monkeypatch):
    assert run(entries_of, "here", 1) == list(entries_of("here", 1))
    assert run(entries_of, "there", 1) == []
    assert run(entries_of, "here", 3) == [(3, 30)]

    def refuse(self: Any, *args: Any, **kwargs: Any) -> None:
        raise AssertionError("it is compiled again")

    with monkeypatch.context() as patch:
        patch.setattr(SQLCompiler, "as_sql", refuse)
        assert run(entries_of, "here", 3) == [(3, 30)]
    Page.objects.filter(number=3).update(entries=31)
    assert run(entries_of, "here", 3) == [(3, 31)]


def numbered(numbers: list[Any], before: Any) -> QuerySet[Page, Any]:
    pages = Page.objects.filter(number__in=numbers, published_at__lt=before)
    return pages.order_by("number").values_list("number", "published_at", "announce")


def published(
    is_first: bool, *, number: Any, low: Any, **fields: Any
) -> tuple[QuerySet[Page, Any], dict[str, Any]]:
    pages = Page.objects.filter(number=number, low=None if is_first else low)
    return pages, {"wanted": F("wanted") + 1, **fields}


def test_values_are_given_when_it_is_run(pages):
    """Lists of them too, and rows are as Django gives them."""
    Page.objects.filter(number__lt=3).update(published_at=NOON, announce=False)
    later = NOON + timedelta(seconds=1)
    found = run(numbered, numbers=[1, 3], before=later)
    assert found == [(1, NOON, False)]
    assert found == list(numbered([1, 3], later))
    assert run(numbered, numbers=[2, 3], before=later) == [(2, NOON, False)]
    assert run(numbered, numbers=[1, 2, 3], before=NOON) == []


def test_times_have_a_zone_after_a_test_without_zones(pages, settings):
    Page.objects.filter(number=1).update(published_at=NOON, announce=False)
    settings.USE_TZ = False
    clock = NOON.replace(tzinfo=None)
    rows = run(numbered, numbers=[1], before=clock + timedelta(days=1))
    assert rows[0][1].tzinfo is None
    settings.USE_TZ = True
    assert run(numbered, numbers=[1], before=NOON + timedelta(days=1))[0][1] == NOON


def with_sections(before: Any) -> QuerySet[Page]:
    pages = Page.objects.filter(number__lt=before).order_by("-number")
    rows = pages.select_related("section").defer("section__hold_reason", "error")
    return rows.annotate(double=F("entries") * 2)


def state(made: Any) -> dict[str, Any]:
    names = vars(made).keys() - {"_state"}
    return {name: getattr(made, name) for name in names}


def publications(since: Any) -> QuerySet[Publication]:
    return Publication.objects.filter(at__gt=since)


def test_rows_may_be_objects(pages, django_assert_num_queries):
    """As those of the query: with what it joins, works out and defers, and JSON."""
    with django_assert_num_queries(1):
        found = run(with_sections, before=3)
        assert [page.number for page in found] == [2, 1]
        assert [page.section.name for page in found] == ["products"] * 2
        assert [page.double for page in found] == [40, 20]
    for mine, theirs in zip(found, with_sections(3), strict=True):
        assert state(mine.section) == state(theirs.section)
        assert state(mine) == state(theirs)
    found[0].save(update_fields=["entries"])  # it is a row of ours, and no new one
    assert Page.objects.count() == 3
    Publication.objects.create(section=Section.objects.get(), old=["a", "b"], keys=[1])
    (found,) = run(publications, since=timezone.now() - timedelta(days=1))
    assert state(found) == state(Publication.objects.get())


def test_other_values_compile_nothing(pages):
    """Only another number of them does, and those of many are not kept."""
    run(numbered, numbers=[1, 3], before=NOON)
    run(published, True, number=1, low=None, entries=7)
    kept = prepared._compile.cache_info().currsize
    run(numbered, numbers=[4, 5], before=NOON)
    run(published, True, number=2, low=None, entries=8)
    many = list(range(9, prepared.MAX_LISTED + 10))
    assert run(numbered, numbers=many, before=NOON) == []
    assert prepared._compile.cache_info().currsize == kept
    run(numbered, numbers=[4], before=NOON)
    run(published, False, number=2, low="a", entries=9)
    assert prepared._compile.cache_info().currsize == kept + 2


def test_rows_are_updated(pages):
    """With values, with nulls, and with what the database works out."""
    values = {"object": "100% 'of' \"it\"", "published_at": NOON, "announce": False}
    assert run(published, True, number=2, low=None, **values) == 1
    page = Page.objects.get(number=2)
    assert (page.wanted, page.is_dirty) == (2, True)
    assert {name: getattr(page, name) for name in values} == values
    assert run(published, True, number=2, low=None, published_at=None) == 1
    assert Page.objects.get(number=2).published_at is None
    assert run(published, False, number=2, low="a", entries=9) == 0
    assert set(Page.objects.values_list("wanted", flat=True)) == {1, 3}


def test_an_empty_list_asks_nothing(pages, django_assert_num_queries):
    with django_assert_num_queries(0):
        assert run(numbered, numbers=[], before=NOON) == []
        assert run(listed, numbers=[]) == 0


@pytest.mark.skipif(connection.vendor != "sqlite", reason="others take the number")
def test_a_failed_look_up_leaves_the_callers_transaction_as_it_is(pages):
    """A template tag may look up pages within a view's transaction."""
    with pytest.raises(OverflowError):
        run(numbered, numbers=[2**70], before=timezone.now())
    assert Page.objects.count() == 3


def listed(numbers: Any) -> tuple[QuerySet[Page, Any], dict[str, Any]]:
    return Page.objects.filter(number__in=numbers), {"entries": 0}


def test_an_update_by_another_table_is_refused(pages):
    """MySQL finds its rows first, and what it found would be updated ever after."""
    with pytest.raises(ValueError, match="fetch the keys of rows first"):
        run(of_site, site="here")


def of_site(site: Any) -> tuple[QuerySet[Page, Any], dict[str, Any]]:
    return Page.objects.filter(section__site=site), {"entries": 0}
