"""T35: what is done for one page costs no more where there are very many pages."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from django.test import Client
from django.urls import reverse

from django_sitemaps_plus.building.flip import flip
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.models.claims import UNTRIED
from django_sitemaps_plus.publishing import sync
from django_sitemaps_plus.tracking import known
from tests.support.builds import build_and_relay
from tests.support.examined import examining
from tests.support.grown import as_built, grow
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(
        connection.vendor != "postgresql",
        reason="PostgreSQL alone says how many rows a statement has examined",
    ),
]

FEW, MANY = 1_000, 100_000

#: Rows that a statement may examine in any case: small tables are read as a whole.
ALLOWED = 20

#: Part of the statement that reads the rows of an index: it lists every page.
INDEX_ROWS = '"index_position" >='

Examined = dict[tuple[str, str], int]  # by step and statement


class Walk:
    """Steps whose statements are noted, at one number of pages."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.section = Section.objects.get(name="products")
        self.examined: Examined = {}

    def take(self, n_pages: int) -> Examined:
        """Return the rows that each statement of each step examines."""
        self.examined = {}
        grow(self.section, n_pages)
        analyze()
        known.forget()  # as a process that has just begun
        self.note("save", save_one_of_each_page)
        self.note("edit", build_and_relay)
        self.note("nothing to do", build_and_relay)
        self.note_304("/sitemap-products-1.xml")
        self.note_304("/sitemap.xml")
        overview = reverse("admin:sitemaps_plus_dashboard_changelist")
        self.note("overview", lambda: self.client.get(overview))

        pages, now = self.section.pages, Section.objects.with_plan
        pages.update(wanted=F("wanted") + 1)
        analyze()
        [row] = now(site="default", name="products")
        self.note("save, all to build", save_one_of_each_page)
        self.note("claim", lambda: pages.claim([row.pk]))
        claimed = self.note("claim since", lambda: pages.claim([row.pk], since=row.now))
        self.note("renew", lambda: pages.renew(claimed))
        built = [as_built(page) for page in claimed]
        assert len(self.note("flip", lambda: flip(built))) == len(built)
        self.note("release", lambda: pages.release(pages.claim([row.pk])))
        self.note_304("/sitemap-products-1.xml")
        done = {"built": F("wanted"), "token": "", "claimed_at": None, **UNTRIED}
        Page.objects.update(**done)
        return self.examined

    def note(self, step: str, action: Callable[[], Any]) -> Any:
        """Do something, and note what it examines."""
        with examining() as found:
            done = action()
        self.examined |= {(step, sql): rows for sql, rows in found.items()}
        return done

    def note_304(self, path: str) -> None:
        """Ask for a file again, which has not changed."""
        headers = {"If-None-Match": self.client.get(path)["ETag"]}
        answer = self.note(path, lambda: self.client.get(path, headers=headers))
        assert answer.status_code == 304


def analyze() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def save_one_of_each_page() -> None:
    for product in Product.objects.filter(slug__endswith="5"):
        product.name += "."
        product.updated_at += timedelta(days=1)
        product.save()


def test_no_statement_grows_with_the_pages(
    sections, admin_client, figures, monkeypatch
):
    """An edit among 100,000 pages examines at most twice as many rows as among 1,000.

    So do a build without anything to do, a claim and a flip in a first build, a 304 and
    the overview. What is about every page may grow: the rows of an index, and the look
    at all public names, once a minute.
    """
    make_products(30)
    sections.register("products", limited(10))
    build_and_relay()
    monkeypatch.setattr(sync, "repair", lambda: False)
    walk = Walk(admin_client)
    few, many = walk.take(FEW), walk.take(MANY)
    bad = [
        f"{step}: {few.get((step, sql), 0)} to {rows} rows: {sql}"
        for (step, sql), rows in many.items()
        if INDEX_ROWS not in sql and rows > max(2 * few.get((step, sql), 0), ALLOWED)
    ]
    figures("T35", points=len(many), bad=bad)
