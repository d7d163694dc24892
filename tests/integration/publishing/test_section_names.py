"""Sections have names of many characters, in rows, files and URLs."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from django.db import connection

from tests.integration.diagnostics.time import pass_time, run
from tests.support.builds import build_and_relay
from tests.support.documents import read_index
from tests.support.published import page_row, path_of
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

NAMES = ["Blog", "blog.posts", "größe", "a b", "..", "x.xml.gz", "50%", "Ж" * 32]


@pytest.fixture
def built(sections, public):
    """Build a section of each name, twice, so that there are old objects."""
    for name in NAMES:
        sections.register(name, limited(10))
    make_products(3)
    build_and_relay()
    Product.objects.filter(slug="product-00001").delete()
    build_and_relay()


def test_each_is_served_under_its_name(built, client, public):
    """By a view and from the public tree, at the URL that the index lists."""
    found = set(read_index(client.get("/sitemap.xml").content))
    paths = [f"/sitemap-{quote(name)}-1.xml" for name in NAMES]
    assert found == {f"https://example.com{path}" for path in paths}
    for name, path in zip(NAMES, paths, strict=True):
        assert client.get(path).status_code == 200
        gzipped = b"".join(client.get(f"{path}.gz"))
        assert (public / f"sitemap-{name}-1.xml.gz").read_bytes() == gzipped


def test_directories_do_not_differ_in_case_alone(built):
    """And nothing leaves the directory of the storage."""
    directories = {path_of(page_row(name, 1)).parents[1] for name in NAMES}
    assert len({str(path).lower() for path in directories}) == len(NAMES)
    assert len({path.parent for path in directories}) == 1
    assert all(path.name.isascii() for path in directories)


def test_names_and_objects_in_use_stay(built, public, monkeypatch):
    """When builds repair names, and when old objects are pruned."""
    before = sorted(path.name for path in public.iterdir())
    build_and_relay()
    pass_time()
    assert run().objects == len(NAMES) + 1  # of the first build, and the index
    assert sorted(path.name for path in public.iterdir()) == before
    for name in NAMES:
        assert path_of(page_row(name, 1)).exists()


def test_another_case_is_another_page(built, client):
    """Also where the database ignores case."""
    assert client.get("/sitemap-Blog-1.xml").status_code == 200
    assert client.get("/sitemap-BLOG-1.xml").status_code in (404, 410)
    assert client.get("/sitemap-%00-1.xml").status_code == 404


def test_a_name_that_differs_in_case_alone_overwrites_nothing(sections, client):
    """A section was renamed; where the database ignores case, the build says so."""
    make_products(3)
    sections.register("blog", limited(10))
    build_and_relay()
    before = page_row("blog", 1).object
    sections.unregister("blog")
    sections.register("Blog", limited(10))
    problems = build_and_relay().problems
    assert page_row("blog", 1).object == before
    if connection.vendor == "mysql":
        [problem] = problems
        assert "section 'Blog' cannot be kept" in problem
        assert "'blog', which is known there. Choose another name" in problem
    else:
        assert problems == []
        assert client.get("/sitemap-Blog-1.xml").status_code == 200
