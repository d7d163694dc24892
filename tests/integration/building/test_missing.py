"""Sections that have left the registry: said at once, and listed for a day."""

from __future__ import annotations

import io
import json
import logging
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db.models import F
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.models import INDEX, Page, Section
from tests.support.builds import build_fully
from tests.support.shop import limited, make_products

GONE, KEPT = "/sitemap-gone-1.xml", "/sitemap-kept-1.xml"


@pytest.fixture
def gone(sections: Any) -> None:
    make_products(3)
    for name in ("kept", "gone"):
        sections.register(name, limited(10))
    build_fully()
    sections.unregister("gone")


def run(**options: Any) -> tuple[str, str]:
    """Run the command, which succeeds; return what it wrote to stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    call_command("build_sitemaps", stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


@pytest.mark.parametrize(("hours", "listed"), [(23, [KEPT, GONE]), (25, [KEPT])])
def test_it_is_listed_for_a_day_and_served_on(gone, crawl, client, hours, listed):
    """A deploy may be under way; only a prune takes its pages."""
    assert list(crawl()) == [KEPT, GONE]
    assert build().missing == ["gone"]
    now = timezone.now()
    rows = Section.objects.filter(name="gone", missing_since__isnull=False)
    assert rows.update(missing_since=now - timedelta(hours=hours)) == 1
    # An index that is older is rendered again by the audit, whatever it lists.
    indexes = Page.objects.filter(section__name=INDEX)
    indexes.update(checked_at=now - timedelta(hours=23))
    assert build().missing == ["gone"]
    assert list(crawl()) == listed
    assert client.get(GONE).status_code == 200


@pytest.mark.parametrize("is_built", [False, True])
def test_an_index_that_is_rendered_meanwhile_lists_it(gone, crawl, is_built):
    """By a view, or by the next build: as after an edit of another section."""
    build()
    indexes = Page.objects.filter(section__name=INDEX)
    indexes.update(wanted=F("wanted") + 1)
    if is_built:
        build()
        assert not indexes.filter(wanted__gt=F("built")).exists()
    assert list(crawl()) == [KEPT, GONE]


def test_the_log_names_it_once_and_the_command_each_time(gone, caplog):
    """An error, since a person is to know whether it was meant; no command fails."""
    for _ in range(2):
        assert run()[1] == (
            "Section 'gone' is no longer registered: its pages leave the index after "
            "24 hours, and are served until prune_sitemaps removes them. Register it "
            "again if it is to stay. If you renamed or removed it, run prune_sitemaps "
            "--section gone --now\n"
        )
    [record] = [r for r in caplog.records if r.msg.startswith("No longer")]
    assert (record.levelno, record.action) == (logging.ERROR, "section_missing")
    assert record.getMessage() == (
        "No longer registered, so they leave the index in 24 hours: section 'gone'"
    )
    out, err = run(json=True)
    assert (err, json.loads(out)["missing"]) == ("", ["gone"])
    assert run(verbosity=0) == ("", "")
