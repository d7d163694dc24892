"""The views in the place of contrib's answer as those do."""

from __future__ import annotations

import random
from collections.abc import Callable
from datetime import date, timedelta
from inspect import signature
from itertools import chain
from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.contrib.sitemaps import views as contrib
from lxml import etree

from django_sitemaps_plus.contrib import views as ours
from tests.integration.sources import contrib_zoo as zoo
from tests.support.documents import Listed, read_index, read_urlset
from tests.support.shop import START, make_products
from tests.support.testapp.models import Product, Shop

from . import urls

KINDS = [*zoo.BY_KEY, *zoo.BY_POSITION, *zoo.OWN_PAGES]


def entries(content: bytes) -> list[Listed]:
    """Return what a page lists; priorities may be written with more digits."""
    if b"<url>" not in content:
        return []  # contrib answers with an empty urlset, which no schema accepts
    return [
        Listed(
            it.loc,
            it.lastmod,
            it.changefreq,
            it.priority and str(float(it.priority)),
            it.alternates,
        )
        for it in read_urlset(content)
    ]


def pages(get: Callable[..., Any], name: str) -> list[list[Listed]]:
    """Return the entries of all pages; our index may name more than contrib has."""
    index = read_index(get("/ours/index.xml").content)
    paths = [url.removeprefix("http://testserver/ours/") for url in index]
    found = [get(f"/{name}/{path}") for path in paths]
    return [entries(it.content) for it in found if it.status_code == 200]


def together(found: list[list[Listed]]) -> list[list[Listed]]:
    """Return the entries of all pages, since pages are cut otherwise."""
    return [sorted(chain(*found), key=str)]


def random_sitemap(chance: random.Random) -> Any:
    """Return a sitemap as projects have them."""
    order = chance.choice(["pk", "-pk", "name", "popularity", "-updated_at"])
    first = f"product-{chance.choice([0, 0, 3, 20]):05}"
    dates = chance.choice(["updated_at", "created_on", "nothing"])
    attributes = {
        "limit": chance.choice([3, 50_000, 50_000]),
        "protocol": chance.choice([None, "https"]),
        "changefreq": chance.choice([None, "daily"]),
        "priority": chance.choice([None, 0.25, 1]),
        "items": lambda _: Product.objects.filter(slug__gte=first).order_by(
            order, "pk"
        ),
        "lastmod": lambda _, item: getattr(item, dates, None),
    }
    unwanted = {chance.choice(["changefreq", "priority", "lastmod", ""])}
    kept = {key: it for key, it in attributes.items() if key not in unwanted}
    return type("Random", (Sitemap,), kept)


class TestAsContrib:
    """What contrib's views answer to the same request."""

    @pytest.mark.parametrize("name", ["index", "sitemap"])
    def test_the_arguments_are_the_same(self, name):
        def arguments(view: Any) -> list[Any]:
            found = signature(view).parameters.values()
            return [(it.name, it.default) for it in found]

        assert arguments(getattr(ours, name)) == arguments(getattr(contrib, name))

    @pytest.mark.parametrize("kind", KINDS, ids=zoo.name_of)
    def test_every_kind_of_sitemap_has_the_same_entries(self, kind, client):
        """One page lists them in the same order."""
        make_products(7)
        Product.objects.filter(slug__endswith="4").update(updated_at=None)
        urls.sitemaps["kind"] = zoo.made(kind)
        found, wanted = pages(client.get, "ours"), pages(client.get, "theirs")
        if len(wanted) > 1:
            found, wanted = together(found), together(wanted)
        assert found == wanted

    @pytest.mark.parametrize("seed", range(12))
    def test_random_dicts_have_the_same_index_entries_and_headers(self, seed, client):
        chance = random.Random(seed)
        for product in make_products(chance.choice([0, 5, 9, 9])):
            product.updated_at = START - timedelta(minutes=chance.randrange(9_999))
            product.created_on = date(2026, 1, chance.randint(1, 28))
            product.popularity = chance.random()
            product.save()
        for number in range(chance.randint(1, 3)):
            urls.sitemaps[f"section-{number}"] = random_sitemap(chance)
        index, theirs = [client.get(f"/{it}/index.xml") for it in ("ours", "theirs")]
        assert index.content == theirs.content.replace(b"/theirs/", b"/ours/")
        assert index.get("Last-Modified") == theirs.get("Last-Modified")
        assert index["X-Robots-Tag"] == theirs["X-Robots-Tag"]
        sections = [f"sitemap-{it}.xml" for it in urls.sitemaps]
        for path in sections:
            self._compare(client, path)
        for number in range(1, 4):
            page, *parts = [
                client.get(f"/ours/{it}?p={number}") for it in ["all.xml", *sections]
            ]
            assert (page.status_code == 200) == all(
                it.status_code == 200 for it in parts
            )
            if page.status_code == 200:
                found = [entries(it.content) for it in parts]
                assert entries(page.content) == list(chain(*found))
        page, theirs = [client.get(f"/{it}/all.xml") for it in ("ours", "theirs")]
        if entries(page.content) == entries(theirs.content):
            assert page.get("Last-Modified") == theirs.get("Last-Modified")

    def _compare(self, client: Any, path: str) -> None:
        """See that both have the same pages, with the same entries altogether."""
        answers = [
            [client.get(f"/{it}/{path}?p={number}") for number in range(1, 7)]
            for it in ("ours", "theirs")
        ]
        found, wanted = [
            [it for it in all_ if it.status_code == 200] for all_ in answers
        ]
        assert len(found) == len(wanted)
        roots = [etree.fromstring(it[0].content).nsmap for it in (found, wanted)]
        assert roots[0] == roots[1]
        lists = [[entries(it.content) for it in pages] for pages in (found, wanted)]
        if len(wanted) == 1:
            assert found[0].get("Last-Modified") == wanted[0].get("Last-Modified")
        else:
            lists = [together(it) for it in lists]
        assert lists[0] == lists[1]

    @pytest.mark.parametrize(
        "page", ["0", "3", "-1", "x", "1.0", "", "9" * 30, "9" * 5_000, "1%00"]
    )
    def test_pages_that_do_not_exist_are_404_with_the_same_words(
        self, page, client, rf
    ):
        make_products(4)
        urls.sitemaps["products"] = type("Two", (zoo.Plain,), {"limit": 2})
        found = []
        for view in (ours.sitemap, contrib.sitemap):
            with pytest.raises(Exception) as caught:  # noqa: PT011 - its type is compared
                view(rf.get(f"/?p={page}"), urls.sitemaps)
            found.append((type(caught.value), str(caught.value)))
        assert found[0] == found[1]
        assert client.get(f"/ours/all.xml?p={page}").status_code == 404

    def test_pages_are_as_full_as_contribs(self, client):
        """Also without a limit of its own, and where keys come in any order."""
        Shop.objects.bulk_create([Shop(name=str(number)) for number in range(6)])
        path = {"location": lambda *_: "/shop/"}
        items = {"items": lambda _: range(10_001)}
        urls.sitemaps["many"] = type("Many", (Sitemap,), path | items)
        items = {"items": lambda _: Shop.objects.all(), "limit": 6}
        urls.sitemaps["shops"] = type("Shops", (Sitemap,), path | items)
        index = client.get("/ours/index.xml")
        assert len(read_index(index.content)) == 2

    def test_an_empty_document_is_the_same(self, client):
        for path in ("all.xml", "index.xml"):
            page, theirs = [client.get(f"/{it}/{path}") for it in ("ours", "theirs")]
            assert page.content.strip() == theirs.content.strip()

    def test_templates_of_the_project_are_used(self, client, settings, tmp_path):
        """Also one with the name of contrib's."""
        make_products(1)
        urls.sitemaps["products"] = zoo.Plain
        (tmp_path / "sitemap.xml").write_text((tmp_path / "own.xml").read_text())
        page = client.get("/theirs/own.xml").content
        assert b"/products/product-00000/ Jan" in page
        assert client.get("/ours/own.xml").content == page
        assert client.get("/ours/all.xml").content == page
        index = client.get("/ours/own-index.xml").content
        assert b"/ours/sitemap-products.xml Jan" in index

    def test_the_content_type_is_that_of_the_url(self, client):
        urls.sitemaps["products"] = zoo.Plain
        assert client.get("/ours/text.xml")["Content-Type"] == "text/plain"
