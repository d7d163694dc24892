"""``{% sitemap_entry object %}``: a sentence, or its parts; and never an error."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import OperationalError
from django.template import Context, Template

from django_sitemaps_plus.maintenance.exclusions import exclude
from tests.support.configuring import configure
from tests.support.faults import fail_queries
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Label, Product

pytestmark = [pytest.mark.django_db, pytest.mark.database]


def printed(row: Any, tag: str = "{% sitemap_entry row %}", **context: Any) -> str:
    """Return what a template prints of a row."""
    template = Template("{% load sitemaps_plus %}" + tag)
    return template.render(Context({"row": row, **context}))


def test_it_says_where_an_object_is_listed_or_why_it_is_not(products):
    assert printed(products[12]) == "It is listed on page 2 of section products."
    parts = (
        "{% sitemap_entry row as entry %}{{ entry.is_listed }} {{ entry.url }}"
        "{% for it in entry.listings %} {{ it.page }}{% endfor %}"
    )
    assert printed(products[11], parts) == f"True {product_urls([11])[0]} 2"
    sentence = printed(Product.objects.create(slug="new", name="n"))
    assert sentence.startswith("It is not listed: it waits for a build: run manage.py")


def test_words_of_others_stay_words(sections):
    sections.register("products", limited(5))
    [product] = make_products(1)
    exclude(product, by="ada", note="<script>")
    assert "&lt;script&gt;." in printed(product)


def test_an_object_of_no_section_is_listed_by_none(sections):
    label = Label.objects.create(code="a")
    assert printed(label) == "No section lists it."


@pytest.mark.parametrize("row", [None, "", 3, Label(), Label])
def test_what_is_no_saved_object_is_said_to_be_listed_nowhere(products, row):
    assert printed(row).startswith(("It is not listed: ", "No section lists it."))


def test_the_site_is_that_of_the_request(sections, settings, rf):
    """Without one of several sites, it says so."""
    sites = {it: {"BASE_URL": f"https://{it}.example"} for it in ("one", "two")}
    configure(settings, SITES=sites, BASE_URL=None)
    sections.register("products", limited(5, sites=["two"]))
    [product] = make_products(1)
    for name, words in (("one", "No section lists it."), ("two", "It is listed")):
        request = rf.get("/", headers={"host": f"{name}.example"})
        assert printed(product, request=request).startswith(words)
    for request in (None, rf.get("/", headers={"host": "other.example"})):
        assert printed(product, request=request).startswith("It is not listed: ")


def test_a_database_that_is_down_is_no_error(products):
    with fail_queries(lambda sql: "sitemaps_plus_page" in sql, error=OperationalError):
        assert "OperationalError" in printed(products[0])
