"""A lastmod that is the present time is no news: engines are not notified of it."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.core.management import CommandError, call_command
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.diagnostics.audit import read_findings
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.models.pages import RENDERED_NOW
from django_sitemaps_plus.notifications import url_changes
from django_sitemaps_plus.signals import urls_changed
from tests.support.builds import build_and_relay
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product
from tests.support.told import hearing

pytestmark = pytest.mark.database

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


class Present(Sitemap):
    """What many projects write."""

    limit = 3

    def items(self) -> Any:
        return Product.objects.all()

    def lastmod(self, row: Product) -> datetime:
        return timezone.now()


SOURCES = [Present, limited(3, lastmod=lambda self, row: timezone.now())]


@pytest.fixture
def later(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return what lets a time pass."""
    times = [NOW]
    monkeypatch.setattr("django.utils.timezone.now", lambda: times[-1])
    return lambda span: times.append(times[-1] + span)


def changes(heard: list[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Return the URLs that were added, and those that were updated."""
    return (
        [url for told in heard for url in told["added"]],
        [url for told in heard for url in told["updated"]],
    )


@pytest.mark.parametrize("source", SOURCES, ids=["contrib", "method"])
def test_one_edit_submits_no_other_url(publish, later, source):
    """Of two renderings running; what is added is submitted all the same."""
    rows = make_products(9)
    section = publish(source)
    assert not Page.objects.filter(problems__0=RENDERED_NOW).exists()
    later(timedelta(hours=1))
    with hearing(urls_changed) as heard:
        rows[0].save()
        build_and_relay()
    assert changes(heard) == ([], [])
    [problems] = section.pages.filter(number=1).values_list("problems", flat=True)
    assert problems == [RENDERED_NOW]
    later(timedelta(hours=1))
    with hearing(urls_changed) as heard:
        Product.objects.filter(pk=rows[1].pk).update(slug="another")
        rows[1].refresh_from_db()
        rows[1].save()
        build_and_relay()
    assert changes(heard) == (["https://example.com/products/another/"], [])


def test_rows_that_were_all_touched_are_submitted(publish, later):
    """Even twice: a field of the model says when, and so does a time before."""
    rows = make_products(3, updated_at=NOW)
    publish(limited(3))
    for _ in range(2):
        later(timedelta(hours=1))
        with hearing(urls_changed) as heard:
            for row in rows:
                row.updated_at = timezone.now()
                row.save()
            build_and_relay()
        assert sorted(changes(heard)[1]) == product_urls(range(3))
    assert not Page.objects.filter(problems__0=RENDERED_NOW).exists()


def test_the_audit_says_so(publish, later, settings):
    make_products(3)
    publish(Present)
    later(timedelta(hours=1))
    Page.objects.update(wanted=F("wanted") + 1)
    build_and_relay()
    with suppress(CommandError):  # the pages of products are not there
        call_command("check_sitemaps", audit=True, verbosity=0)
    found = read_findings(get_site())
    assert found is not None
    assert found["counts"]["lastmod-now"] == 1


def test_an_edit_is_told_wherever_the_ends_of_a_page_are_cut(publish, monkeypatch):
    """Only these are looked at, and both may be cut within a date."""
    rows = make_products(9)
    publish(limited(10))
    with hearing(urls_changed) as heard:
        for end in range(300, 410, 5):  # a line has some 107 bytes
            monkeypatch.setattr(url_changes, "_END", end)
            rows[4].slug = f"renamed-{end}"
            rows[4].save()
            build_and_relay()
    added, _ = changes(heard)
    slugs = [f"renamed-{end}" for end in range(300, 410, 5)]
    assert added == [f"https://example.com/products/{slug}/" for slug in slugs]
