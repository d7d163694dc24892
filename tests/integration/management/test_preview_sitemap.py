"""``preview_sitemap``: the first entries as they would be written."""

from __future__ import annotations

from typing import Any

import pytest
from django.core.management import CommandError
from django.db.models import F

from django_sitemaps_plus import Entry, Source
from tests.support.builds import build_and_relay
from tests.support.published import all_rows, objects
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product


def fail(self: Any, origin: str) -> Any:
    """Be entries that cannot be read."""
    raise LookupError("no such shelf")


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
    sections.register("letters", Letters)
    sections.register("broken", type("Broken", (Source,), {"entries": fail}))
    nothing = {"entries": lambda self, origin: iter([])}
    sections.register("nothing", type("Nothing", (Source,), nothing))


@pytest.fixture
def run(run: Any) -> Any:
    """Return what runs the command and gives the lines that it prints."""
    return lambda *arguments: run("preview_sitemap", *arguments).splitlines()


def served(client: Any, path: str) -> list[str]:
    """Return the lines of entries that a page has."""
    lines = client.get(path).content.decode().splitlines()
    return [line for line in lines if line.startswith("<url>")]


@pytest.mark.parametrize("is_built", [False, True])
def test_it_shows_what_a_page_has(client, run, is_built):
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


def test_what_is_left_out_is_named_once(run, caplog):
    *_, counts, problem = run("products")
    assert counts == "9 of 10 entries listed, 0 values or repetitions left out"
    assert "Product" in problem
    assert "no slug" in problem
    Product.objects.filter(slug__lt="product-00005").update(slug=F("name"))
    *_, counts, problem, more = run("products", "--limit", "1")
    assert counts.startswith("5 of 10 entries listed, ")
    assert "Product" in problem
    assert more == "  and 4 more"


def test_pages_by_position(client, run):
    assert run("letters", "--page", "2")[1:] == served(client, "/sitemap-letters-2.xml")
    assert run("nothing")[1:] == ["It has no entries."]


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
def test_what_cannot_be_shown_is_refused(run, is_built, arguments, said):
    if is_built:
        build_and_relay(["products", "letters"])
    with pytest.raises(CommandError, match=said):
        run(*arguments)
