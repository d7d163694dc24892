"""``preview_sitemap``: the first entries as they would be written."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import F

from django_sitemaps_plus import Entry, Source
from tests.support.builds import build_and_relay
from tests.support.published import all_rows, objects
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product


class Broken(Source):
    """One that cannot be read."""

    def entries(self, origin: str):
        raise LookupError("no such shelf")


class Nothing(Source):
    """One without entries."""

    def entries(self, origin: str):
        yield from ()


class Letters(Source):
    """One without keys."""

    limit = 2

    def entries(self, origin: str):
        for letter in "abc":
            yield Entry(f"{origin}/{letter}/")


@pytest.fixture(autouse=True)
def registered(sections: Any) -> None:
    """Have products, one of which cannot be listed."""
    make_products(25)
    Product.objects.filter(slug="product-00002").update(slug="no slug")
    sections.register("products", limited(10, changefreq="popularity"))
    for source in (Broken, Nothing, Letters):
        sections.register(source.__name__.lower(), source)


def run(*arguments: str) -> list[str]:
    """Run the command; return the lines that it prints."""
    call_command("preview_sitemap", *arguments, stdout=(out := io.StringIO()))
    return out.getvalue().splitlines()


def served(client: Any, path: str) -> list[str]:
    """Return the lines of entries that a page has."""
    lines = client.get(path).content.decode().splitlines()
    return [line for line in lines if line.startswith("<url>")]


@pytest.mark.parametrize("is_built", [False, True])
def test_it_shows_what_a_page_has(client, is_built):
    """Of a section that is built or not; and it writes nothing."""
    if is_built:
        build_and_relay(["products"])
    before = all_rows(), objects()
    head, *first = run("products")
    _, *second = run("products", "--page", "2", "--limit", "2")
    assert (all_rows(), objects()) == before
    assert head == "products, page 1: https://example.com/sitemap-products-1.xml"
    assert first[:5] == served(client, "/sitemap-products-1.xml")[:5]
    assert second == served(client, "/sitemap-products-2.xml")[:2]
    assert len(run("products", "--limit", "100")) == 1 + 9 + 2


def test_what_is_left_out_is_named(caplog):
    """With the row and the reason, once."""
    *_, counts, problem = run("products")
    listed = "9 of 10 entries listed"
    assert counts == f"{listed}, 0 values or repetitions left out"
    assert "Product" in problem
    assert "no slug" in problem


def test_as_many_problems_are_shown_as_entries():
    """The rest are counted."""
    Product.objects.filter(slug__lt="product-00005").update(slug=F("name"))
    *_, counts, problem, more = run("products", "--limit", "1")
    assert counts.startswith("5 of 10 entries listed, ")
    assert "Product" in problem
    assert more == "  and 4 more"


def test_pages_by_position(client):
    """They are cut where those of the live plan are."""
    assert run("letters", "--page", "2")[1:] == served(client, "/sitemap-letters-2.xml")
    assert run("nothing") == [
        "nothing, page 1: https://example.com/sitemap-nothing-1.xml",
        "It has no entries.",
    ]


@pytest.mark.parametrize("is_built", [False, True])
@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["offers"], "No section 'offers'. Registered are: products"),
        (["products", "--page", "4"], r"section 'products' has no page 4: it has 3\.$"),
        (["letters", "--page", "9"], r"section 'letters' has no page 9: it has 2\.$"),
        (["products", "--page", "0"], "'0' is not a number from 1 on"),
        (["products", "--limit", "many"], "'many' is not a number from 1 on"),
        (["broken"], "'broken' could not be read: LookupError: no such shelf"),
        ([], "required"),
    ],
)
def test_what_cannot_be_shown_is_refused(is_built, arguments, said):
    """By the same words, whether the section is built or not."""
    if is_built:
        build_and_relay(["products", "letters"])
    with pytest.raises(CommandError, match=said):
        run(*arguments)
