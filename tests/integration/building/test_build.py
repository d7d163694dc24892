"""A build stores objects, and rows that point to them."""

from __future__ import annotations

import gzip
import hashlib
import re
from datetime import timedelta
from itertools import pairwise
from typing import Any

import pytest
from django.core.files.storage import storages
from django.db.models.functions import Now

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core import gzip as compression
from django_sitemaps_plus.models import INDEX, Page, Section
from tests.support.builds import build_fully
from tests.support.published import age, objects, page_row, path_of, seen, served
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

from .plan.plans import replace

PATHS = ("/sitemap.xml", *[f"/sitemap-products-{number}.xml" for number in (1, 2, 3)])


@pytest.mark.database
class TestFirstBuild:
    @pytest.fixture(autouse=True)
    def registered(self, sections: Any) -> None:
        make_products(25)
        sections.register("products", limited(10))

    def test_each_page_and_the_index_is_an_object_and_a_row(self):
        """Ranges part the whole key space, and the report adds up what is stored."""
        told: list[Any] = []
        report = build_fully(progress=lambda *step: told.append(step))
        pages = list(Page.objects.filter(section__name="products").order_by("number"))
        assert [(page.number, page.entries) for page in pages] == [
            (1, 10),
            (2, 10),
            (3, 5),
        ]
        for page in pages:
            packed = path_of(page).read_bytes()
            plain = gzip.decompress(packed)
            assert (page.gzip_size, page.plain_size) == (len(packed), len(plain))
            assert page.gzip_hash == hashlib.sha256(packed).hexdigest()
            assert page.plain_hash == hashlib.sha256(plain).hexdigest()
        keys = list(Product.objects.order_by("pk").values_list("pk", flat=True))
        cuts = [None, str(keys[10]), str(keys[20]), None]
        bounds = [(page.low, page.high) for page in pages]
        assert bounds == list(pairwise(cuts))
        (section,) = report.sections
        assert (section.section, section.pages, section.entries) == ("products", 3, 25)
        assert (section.stored, section.rendered) == (3, 3)
        assert section.plain_size == sum([page.plain_size for page in pages])
        assert section.gzip_size == sum([page.gzip_size for page in pages])
        assert told == [("products", done, 3) for done in (1, 2, 3)]
        index = page_row(INDEX, 0)
        assert index.entries == report.index_pages == 3
        assert gzip.decompress(path_of(index).read_bytes()).count(b"<sitemap>") == 3

    def test_names_of_objects_are_never_used_again(self):
        build_fully()
        Section.objects.all().delete()
        build_fully()
        assert len(objects()) == 8
        for name in objects():
            form = r"(products/[123]|sitemap\.xml/0)/[0-9a-f]{16}-[0-9a-f]{16}\.xml\.gz"
            assert re.fullmatch(rf"[0-9a-f]{{16}}/{form}", name)

    def test_bad_rows_are_counted_and_named(self):
        """Rows and values apart, in the report, the dry run and on the page's row."""
        Product.objects.filter(slug="product-00001").update(slug="no slug")
        rows = Product.objects.filter(slug__in=["product-00014", "product-00015"])
        rows.update(popularity=7)
        replace(limited(10, priority="popularity"))
        for is_dry in (True, False):
            (section,) = build_fully(dry_run=is_dry).sections
            assert (section.entries, section.skipped, section.dropped) == (24, 1, 2)
            assert len(section.problems) == 3
        pages = Page.objects.filter(section__name="products").order_by("number")
        counts = list(pages.values_list("entries", "skipped", "dropped"))
        assert counts == [(9, 1, 0), (10, 0, 2), (5, 0, 0)]

    def test_another_storage_may_take_the_objects(self, settings, configure, client):
        """The bytes are those of the live pages all the same."""
        memory = "django.core.files.storage.InMemoryStorage"
        settings.STORAGES = {**settings.STORAGES, "sitemaps": {"BACKEND": memory}}
        configure(STORAGE="sitemaps")
        live = [client.get(path).content for path in PATHS[1:]]
        build_fully()
        assert storages["sitemaps"].exists(page_row("products", 1).object)
        assert objects() == {}
        assert [client.get(path).content for path in PATHS[1:]] == live


@pytest.mark.database
def test_a_dry_run_plans_a_section_whose_pages_were_pruned(shop):
    """Its numbers are still used."""
    shop().pages.all().delete()
    [section] = build_fully(dry_run=True).sections
    assert (section.pages, section.entries) == (3, 25)


class TestSecondBuild:
    @pytest.fixture(autouse=True)
    def built(self, monkeypatch: Any, shop: Any) -> None:
        monkeypatch.setattr(compression, "isal_zlib", None)
        shop()
        age()

    @pytest.mark.database
    @pytest.mark.parametrize("level", [None, 1], ids=["same", "other compression"])
    def test_nothing_is_stored_where_nothing_changed(self, client, monkeypatch, level):
        """Equal plain bytes are the same page: object, ETag and dates stay."""
        before = served(), objects(), seen(client, *PATHS)
        page = page_row("products", 1)
        plain = gzip.decompress(path_of(page).read_bytes())
        if level is not None:
            monkeypatch.setattr(compression, "_ZLIB_LEVEL", level)
        is_same = compression.write_document([plain]).gzip_hash == page.gzip_hash
        assert is_same == (level is None)
        report = build_fully()
        assert [section.stored for section in report.sections] == [0]
        assert (served(), objects(), seen(client, *PATHS)) == before

    @pytest.mark.database
    def test_nothing_left_is_404(self, client):
        """A site without entries has no index, built or not."""
        Product.objects.all().delete()
        build_fully(allow_shrink=True)
        assert [client.get(path).status_code for path in PATHS] == [404] * 4
        make_products(1)
        build_fully()
        assert client.get("/sitemap.xml").status_code == 200

    @pytest.mark.parametrize(
        "damage",
        [lambda path: path.unlink(), lambda path: path.write_bytes(b"half")],
        ids=["gone", "cut short"],
    )
    def test_an_object_that_is_lost_is_stored_again(self, client, damage):
        """Under another name, and no reader sees a difference."""
        before = seen(client, *PATHS)
        for page in (page_row("products", 2), page_row(INDEX, 0)):
            damage(path_of(page))
        (section,) = build_fully().sections
        assert section.stored == 1
        for page in (page_row("products", 2), page_row(INDEX, 0)):
            assert path_of(page).stat().st_size == page.gzip_size
        assert seen(client, *PATHS) == before


@pytest.mark.django_db(transaction=True)
class TestDamagedObjects:
    @pytest.mark.parametrize("damage", ["gone", "changed"])
    def test_one_that_a_view_missed_is_stored_again(self, products, client, damage):
        """By the next build, though nothing has changed."""
        before = client.get(PATHS[2])
        path = path_of(page_row("products", 2))
        if damage == "gone":
            path.unlink()
        else:
            path.write_bytes(b"x" * path.stat().st_size)
        live = client.get(PATHS[2])
        assert live.content == before.content
        assert "Last-Modified" not in live
        assert build().sections[0].stored == 1
        assert path_of(page_row("products", 2)).exists()
        assert client.get(PATHS[2])["ETag"] == before["ETag"]

    def test_one_that_came_back_is_left_alone(self, products, client):
        """A view may have looked while a disk was away."""
        path = path_of(page_row("products", 2))
        away = path.rename(path.with_suffix(".away"))
        client.get(PATHS[2])
        away.rename(path)
        assert build().sections[0].stored == 0

    @pytest.mark.database
    def test_the_audit_finds_an_index_that_is_gone(self, products):
        """As it does pages, though no view has told this process of it."""
        build()
        index = page_row(INDEX, 0)
        path_of(index).unlink()
        build()
        assert not path_of(page_row(INDEX, 0)).exists()
        Page.objects.filter(pk=index.pk).update(checked_at=Now() - timedelta(days=2))
        build()
        assert path_of(page_row(INDEX, 0)).exists()
