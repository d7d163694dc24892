"""Is this URL listed? The answer in the browser, and what it keeps to itself."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from lxml import html

from django_sitemaps_plus.admin import objects
from django_sitemaps_plus.admin.dashboard import VIEWS
from django_sitemaps_plus.models import Delivery, Exclusion
from tests.integration.diagnostics.rows import ENGINE
from tests.support.builds import build_fully
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

from .desk import ObjectAdmin
from .test_objects import text

pytestmark = pytest.mark.usefixtures("urls")

URL = "https://example.com/products/product-00003/"


@pytest.fixture(autouse=True)
def listed(sections: Any) -> None:
    """Have products that are published, and a page for each five."""
    rows = Product.objects.filter(published=True, name__startswith="Name")
    sections.register("products", limited(5, get_queryset=lambda self: rows.all()))
    make_products(12)
    build_fully()


def ask(client: Any, url: str) -> str:
    """Return what the page says of a URL."""
    page = reverse("admin:sitemaps_plus_dashboard_url", current_app="desk")
    return text(client.get(page, {"url": url}))


@pytest.mark.parametrize("url", [URL, "/products/product-00003/", f" {URL} "])
def test_one_that_is_listed(client, editor, configure, url):
    configure(ENGINES={"one": ENGINE})
    Delivery.objects.want("default", "one", [URL])
    found = ask(client, url)
    assert f"Listed {URL} Page" in found
    assert "2026-01-01T12:03:00+00:00" in found
    assert "next submission at" in found
    page = reverse("admin:sitemaps_plus_dashboard_url", current_app="desk")
    links = html.fromstring(client.get(page, {"url": url}).content.decode())
    [link] = links.xpath("//a[contains(@href, 'number=1')]")
    assert client.get(link.get("href")).status_code == 200


def test_it_can_be_submitted_again(client, editor, configure):
    engine = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
    configure(ENGINES={"one": engine}, NOTIFY=True)
    page = reverse("admin:sitemaps_plus_dashboard_url", current_app="desk")
    tree = html.fromstring(client.get(page, {"url": URL}).content.decode())
    [form] = tree.xpath("//form[.//button[text()='Submit it again']]")
    given = {it.get("name"): it.get("value") for it in form.xpath(".//input")}
    assert client.post(form.get("action"), given).status_code == 302
    assert Delivery.objects.waiting().get().target == URL


def test_one_that_is_not(client, editor):
    """With the reason in words, and a link to nothing."""
    Product.objects.filter(slug="product-00003").update(published=False)
    build_fully()
    found = ask(client, URL)
    assert "Not listed Product" in found
    assert "Left out of section products: published is No; it must be Yes" in found


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("https://elsewhere.example/", "It is not on https://example.com"),
        ("/nothing/", "The site has no page at this address."),
        ("/products/product-00003", "Not https://example.com/products/product-00003"),
        ("https://[example.com/", "Nothing can be said:"),
        ("", "Enter a URL of the site, or a path."),
    ],
)
def test_what_cannot_be_listed(client, editor, url, words):
    assert words in ask(client, url)


def test_what_could_not_be_read_is_not_known(client, editor, sections):
    """Nor is it said that the URL leads to no row."""

    def fail(self: Any) -> Any:
        raise RuntimeError("its service is away")

    sections.register("broken", limited(5, get_queryset=fail))
    found = ask(client, "/products/nothing/")
    assert "Not known" in found
    assert "its service is away" in found
    assert "to no row" not in found


def test_there_is_a_limit_of_time(client, editor, monkeypatch):
    monkeypatch.setattr(objects, "MAX_SECONDS", 0)
    found = ask(client, "/nothing/")
    assert "Not known" in found
    assert "There was no time to search all pages of section 'products'." in found


def test_the_site_of_a_url_answers(client, editor, sections, configure):
    """A path may be on each of them."""
    sites = {it: {"BASE_URL": f"https://{it}.example"} for it in ("one", "two")}
    configure(SITES=sites, BASE_URL=None)
    assert "one.example" not in ask(client, "https://two.example/products/x/")
    assert "one.example" in ask(client, "/products/product-00003/")


class TestRights:
    """Who may see the dashboard may not see each model."""

    @pytest.fixture(autouse=True)
    def unlisted(self, user: Any) -> None:
        """Have an excluded row, which its query leaves out as well."""
        rows = Product.objects.filter(slug="product-00003")
        rows.update(published=False, name="confidential")
        at = timezone.now()
        Exclusion.objects.create(
            model="testapp.product", key=str(rows.get().pk), by="bob", at=at
        )
        user("view_dashboard")

    def test_others_see_neither_name_nor_reason(self, client):
        found = ask(client, URL)
        assert "only those who may view it see why: product" in found
        for word in (
            "secret",
            "published",
            "bob",
            f"Product {Product.objects.first()}",
        ):
            assert word not in found

    def test_those_who_may_view_it_see_values_of_its_form(
        self, client, user, monkeypatch
    ):
        user("view_dashboard", "view_product")
        monkeypatch.setattr(ObjectAdmin, "fields", ["published"], raising=False)
        found = ask(client, URL)
        assert "excluded by bob" in found
        assert "published is No; it must be Yes" in found
        assert "fields that you do not see here: name" in found
        assert "confidential" not in found

    def test_errors_have_values_too(self, client, user, sections, monkeypatch):
        """Whose words are told only where the form has every field."""

        def fail(self: Any, row: Product) -> Any:
            raise ValueError(f"no place for {row.name}")

        Exclusion.objects.all().delete()
        sections.unregister("products")
        sections.register("products", limited(5, location=fail))
        user("view_dashboard", "view_product")
        monkeypatch.setattr(ObjectAdmin, "fields", ["published"], raising=False)
        found = ask(client, URL)
        assert "Left out of section products: ValueError The page" in found
        monkeypatch.setattr(ObjectAdmin, "fields", None)
        assert "ValueError: no place for confidential" in ask(client, URL)


@pytest.mark.database
def test_each_page_of_the_dashboard_asks(client, editor):
    for name, path, _view in VIEWS:
        if name not in ("running", "act", "csv"):
            url = reverse(f"admin:sitemaps_plus_dashboard_{name}", current_app="desk")
            page = client.get(url, {"section": "products", "number": 1}).content
            assert page.count(b'name="url"') == 1, path
