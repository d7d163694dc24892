"""``build_sitemaps --live``: a section goes back to live serving."""

from __future__ import annotations

import io
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps_plus import ViewSource
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan import replan
from django_sitemaps_plus.building.plan.replan import serve_live
from django_sitemaps_plus.models import INDEX, Change, Page, Publication
from django_sitemaps_plus.testing import RecordingEngine
from django_sitemaps_plus.tracking.collecting import waiting_changes
from tests.integration.diagnostics.time import pass_time
from tests.integration.diagnostics.time import run as prune
from tests.support.builds import build_and_relay
from tests.support.published import files, objects, page_row
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

pytestmark = [pytest.mark.database, pytest.mark.django_db(transaction=True)]

INDEX_FILE = "public/sitemap.xml.gz"
PAGES_FILE = "public/sitemap-pages-1.xml.gz"


class Pages(ViewSource):
    """A section that stays built."""

    views = ("home", "about")


class Recorder(RecordingEngine):
    """An engine with a memory of its own."""


@pytest.fixture(autouse=True)
def built(sections: Any) -> None:
    """Build two sections, and have a change wait."""
    make_products(25)
    sections.register("products", limited(10))
    sections.register("pages", Pages)
    build_and_relay()
    build_and_relay()
    Product.objects.get(slug="product-00003").save()


def run(*arguments: str) -> str:
    """Run the command; return what it prints."""
    call_command("build_sitemaps", *arguments, stdout=(out := io.StringIO()))
    return out.getvalue()


def public() -> set[str]:
    """Return the public names."""
    return {name for name in files() if name.startswith("public/sitemap")}


def test_it_answers_live_at_once(client, crawl):
    """With the change that no build has seen; the other section stays as it was."""
    other = client.get("/sitemap-pages-1.xml").headers["ETag"]
    assert Change.objects.exists()
    assert "products is served live" in run("--live", "products")
    Product.objects.filter(slug="product-00004").delete()
    pages = crawl()
    assert list(pages) == [f"/sitemap-products-{n}.xml" for n in (1, 2, 3)] + [
        "/sitemap-pages-1.xml"
    ]
    assert sum(map(len, pages.values())) == 24 + 2
    assert "Last-Modified" not in client.get("/sitemap-products-1.xml").headers
    assert client.get("/sitemap-products-4.xml").status_code == 404
    assert client.get("/sitemap-pages-1.xml").headers["ETag"] == other


def test_nothing_of_it_is_left(built):
    """Neither rows nor public names; the index is rendered until all is built again."""
    run("--live", "products")
    assert set(Page.objects.values_list("section__name", "number")) == {
        (INDEX, 0),
        ("pages", 1),
    }
    assert public() == {PAGES_FILE}
    assert "some section has never been built" in run("pages")
    assert public() == {PAGES_FILE}
    pass_time()
    prune()
    assert {name.split("/")[1] for name in objects()} == {"pages"}


def test_what_nothing_reads_any_more_does_not_wait(built):
    """Processes that have known the section as built record more of it."""
    assert waiting_changes(["products"])["products"][0] == 1
    run("--live", "products")
    Product.objects.get(slug="product-00005").save()
    assert Change.objects.count() == 2
    assert waiting_changes(["products"]) == {}
    pass_time()
    prune()
    assert Change.objects.count() == 2
    Change.objects.update(at=Page.objects.values("published_at")[:1])
    prune()
    assert not Change.objects.exists()


def test_it_can_be_built_again(built):
    """Its pages have the numbers that they had, and the index is published."""
    run("--live", "products")
    assert "Index of 4 pages published" in run()
    assert len(public()) == 5
    assert INDEX_FILE in public()
    assert page_row("products", 3).object


def test_a_builder_at_work_loses_its_claim(sections, crawl):
    """Whatever it renders is not published, and its build ends well."""
    is_first = [True]

    def lastmod(self, product):
        if is_first.pop() if is_first else False:
            serve_live(["products"])
        return product.updated_at

    sections.unregister("products")
    sections.register("products", limited(10, lastmod=lastmod))
    report = build(["products"])
    assert not is_first
    assert report.problems == []
    assert not Page.objects.filter(section__name="products").exists()
    assert public() == {PAGES_FILE}
    assert len(crawl()) == 4


def test_a_builder_that_is_about_to_replan_leaves_it_live(sections, crawl, monkeypatch):
    """A new plan alone would keep its pages from being served."""
    real = replan.first_plan

    def first_plan(*args: Any) -> Any:
        serve_live(["products"])
        return real(*args)

    monkeypatch.setattr(replan, "first_plan", first_plan)
    sections.unregister("products")
    sections.register("products", limited(5))
    build(["products"], replan=True)
    assert not Page.objects.filter(section__name="products").exists()
    assert len(crawl()) == 6


def test_engines_are_notified_of_what_was_published(configure):
    """And of a removed URL, whose publication waits."""
    engine = {"BACKEND": f"{__name__}.Recorder"}
    configure(ENGINES={"recording": engine}, NOTIFY=True)
    Product.objects.get(slug="product-00007").delete()
    build()
    assert Publication.objects.exists()
    run("--live", "products")
    assert not Publication.objects.exists()
    call_command("notify_search_engines", stdout=io.StringIO())
    assert "https://example.com/products/product-00007/" in Recorder.told()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--live"], "Name the sections to serve live: products, pages"),
        (["--live", "offers"], "No section 'offers'. Registered are: products, pages"),
        (["--live", "products", "--dry-run"], "not allowed with argument"),
    ],
)
def test_what_cannot_be_is_refused(built, arguments, said):
    """With what can be, and nothing is removed."""
    before = public()
    with pytest.raises(CommandError, match=said):
        run(*arguments)
    assert public() == before


def test_a_section_that_is_too_large_stays_built(configure):
    """Live it would be served nowhere."""
    configure(LIVE_MAX_ROWS=10)
    before = public()
    with pytest.raises(CommandError, match=r"more than 10 rows.*LIVE_MAX_ROWS"):
        run("--live", "products")
    assert public() == before
