"""The panel on an object's page: what it says, who may act, and what it leaves be."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.db.models import Exists
from django.urls import reverse
from django.utils import timezone
from lxml import html

from django_sitemaps_plus.admin import panel
from django_sitemaps_plus.admin.dashboard import VIEWS
from django_sitemaps_plus.diagnostics.requests import exclude
from django_sitemaps_plus.models import Change, Delivery, Exclusion, Section, UrlChanges
from django_sitemaps_plus.tracking import known
from tests.integration.diagnostics.rows import ENGINE
from tests.support.builds import build_and_relay, build_fully
from tests.support.faults import fail_queries
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Label, Product, Shop

from .desk import ObjectAdmin, OwnTemplateAdmin

pytestmark = pytest.mark.usefixtures("urls")

DASHBOARD = "/desk/sitemaps_plus/dashboard/"
EXCLUSIONS = "/desk/sitemaps_plus/exclusion/"


def fail(self: Any, *row: Any) -> Any:
    """Be a queryset, or a value of a row, that cannot be made."""
    raise RuntimeError("its service is away")


def panel_of(row: Any, query: str = "?part") -> str:
    """Return the path of the panel."""
    meta = row._meta
    name = f"admin:{meta.app_label}_{meta.model_name}_sitemap"
    return reverse(name, args=[row.pk], current_app="desk") + query


def text(response: Any) -> str:
    """Return the text of an answer, with single spaces."""
    assert response.status_code == 200
    return " ".join(html.fromstring(response.content.decode()).text_content().split())


class TestPage:
    def test_the_form_has_a_place_for_it_and_takes_no_query_more(
        self, client, editor, products, django_assert_num_queries
    ):
        """A script asks for it; without one, a link leads to it."""
        address = f"/desk/testapp/product/{products[0].pk}/change/"
        ContentType.objects.get_for_model(Product)  # which a process asks for once
        with django_assert_num_queries(3):  # for the session, the user, the product
            page = html.fromstring(client.get(address).content.decode())
        [place] = page.cssselect("[data-sitemaps-object]")
        assert place.get("data-sitemaps-object") == panel_of(products[0], "")
        assert place.cssselect("a")[0].get("href") == panel_of(products[0], "")
        assert len(page.cssselect("script[src$='sitemaps_plus/admin/object.js']")) == 1
        assert page.cssselect("input[name=slug]")

    def test_a_template_of_its_own_stays(self, client, editor):
        Label.objects.create(code="a/b")
        answer = client.get("/desk/testapp/label/a_2Fb/change/")
        assert OwnTemplateAdmin.change_form_template in [
            it.name for it in answer.templates
        ]
        page = html.fromstring(answer.content.decode())
        [place] = page.cssselect("[data-sitemaps-object]")
        answer = client.get(place.get("data-sitemaps-object"))
        assert "No section" in text(answer)

    def test_new_objects_and_popups_have_none(self, client, editor, products):
        change = f"/desk/testapp/product/{products[0].pk}/change/?_popup=1"
        for address in (change, "/desk/testapp/product/add/"):
            answer = client.get(address)
            assert answer.status_code == 200
            assert b"sitemaps-object" not in answer.content


class TestPanel:
    def test_it_says_where_an_object_is_listed(self, client, editor, products):
        answer = client.get(panel_of(products[12]))
        found = html.fromstring(answer.content.decode())
        assert found.cssselect("li > a")[0].get("href") == product_urls([12])[0]
        whole = html.fromstring(client.get(panel_of(products[12], "")).content.decode())
        [name] = whole.cssselect(".breadcrumbs bdi")
        assert name.text == str(products[12])
        link = found.cssselect("dd a")[0]
        assert link.text_content() == "products 2"
        assert link.get("href").endswith("?site=default&section=products&number=2")
        assert client.get(link.get("href")).status_code == 200
        for words in ("Listed", "2026-01-01T12:12:00+00:00", "just now"):
            assert words in text(answer)

    def test_it_says_what_engines_were_told(self, client, editor, products, configure):
        configure(ENGINES={"one": ENGINE})
        Delivery.objects.want("default", "one", product_urls([3]))
        found = text(client.get(panel_of(products[3])))
        assert "one next submission at" in found
        assert "one not submitted yet" in text(client.get(panel_of(products[4])))

    def test_all_sites_are_shown(self, client, editor, sections, configure):
        sites = {it: {"BASE_URL": f"https://{it}.example"} for it in ("one", "two")}
        configure(SITES=sites, BASE_URL=None)
        sections.register("products", limited(5, sites=["two"]))
        [product] = make_products(1)
        found = text(client.get(panel_of(product)))
        assert found.index("one.example") < found.index("No section")
        assert found.index("No section") < found.index("https://two.example Listed")

    @pytest.mark.parametrize("query", ["", "?part"])
    def test_errors_become_sentences(self, client, editor, products, configure, query):
        with fail_queries(lambda sql: "sitemaps_plus_page" in sql):
            found = text(client.get(panel_of(products[0], query)))
        assert "Nothing can be said: OperationalError" in found
        configure(BASE_URL="nonsense")
        assert "BASE_URL" in text(client.get(panel_of(products[0], query)))


class TestRights:
    """The matrix of tests.reliability has who may see and do what."""

    def test_who_may_not_see_the_object_sees_no_panel(self, client, user, products):
        """Whatever else they may do, and whoever the project keeps it from."""
        user("view_product", "add_exclusion")
        assert client.get(panel_of(products[0])).status_code == 200
        Product.objects.filter(pk=products[0].pk).update(name="secret")
        assert client.get(panel_of(products[0])).status_code == 403
        assert client.get("/desk/testapp/product/0/sitemap/").status_code == 404

    @pytest.mark.parametrize(
        ("rights", "shown"),
        [
            (["view_product", "add_exclusion"], []),
            (["change_product"], []),
            (["change_product", "add_exclusion"], ["Exclude from sitemaps"]),
            (["view_product", "delete_exclusion"], ["List it again"]),
        ],
    )
    def test_who_may_act_has_buttons(self, client, user, products, rights, shown):
        user(*rights)
        exclude(products[1], by="bob")
        found = "".join(text(client.get(panel_of(it))) for it in products[:2])
        buttons = ("Exclude from sitemaps", "List it again")
        assert [it for it in buttons if it in found] == shown
        for product, act, button in zip(
            products[:2], ("exclude", "lift"), buttons, strict=True
        ):
            answer = client.post(panel_of(product), {act: "1"})
            assert answer.status_code == (302 if button in shown else 403)

    @pytest.mark.parametrize(("rights", "links"), [(["view_dashboard"], 1), ([], 0)])
    def test_who_may_see_the_map_has_links(self, client, user, products, rights, links):
        user("view_product", *rights)
        found = html.fromstring(client.get(panel_of(products[0])).content.decode())
        assert len(found.cssselect("dd a")) == links


class TestActing:
    def test_excluding_is_logged_and_builds_the_page(self, client, editor, products):
        """The message names the command, since no worker listens."""
        address = panel_of(products[0])
        data = {"exclude": "1", "note": "sold out"}
        found = text(client.post(address, data, follow=True))
        assert "No workers listen, so run: manage.py build_sitemaps" in found
        assert "Listed until the next build" in found
        exclusion = Exclusion.objects.get()
        assert (exclusion.by, exclusion.note) == ("ada", "sold out")
        [entry] = LogEntry.objects.all()
        assert entry.get_edited_object() == products[0]
        assert entry.change_message == "Excluded from sitemaps: sold out"
        build_and_relay()
        found = text(client.get(address))
        assert "Not listed" in found
        assert "excluded by ada since" in found
        found = text(client.post(address, {"lift": "1"}, follow=True))
        assert "Listed again: noted." in found
        assert LogEntry.objects.count() == 2
        build_and_relay()
        assert "Not listed" not in text(client.get(address))

    def test_a_source_that_raises_keeps_nobody_back(
        self, client, editor, products, sections
    ):
        """Its own pages are compared, since nobody knows which rows it lists."""
        sections.unregister("products")
        sections.register("broken", limited(5, get_queryset=fail))
        sections.register("products", limited(5))
        address = panel_of(products[0])
        for data in ({"exclude": "1"}, {"lift": "1"}):
            known.add("broken")  # as a section that has a plan
            found = text(client.post(address, data, follow=True))
            assert "its service is away" in found
            assert "https://example.com/products/product-00000/" in found
            kinds = dict(Change.objects.values_list("section", "kind"))
            assert kinds == {"products": "key", "broken": "unknown"}
            Change.objects.all().delete()

    def test_values_of_fields_that_a_form_lacks_are_not_shown(
        self, client, editor, products, sections, monkeypatch
    ):
        """Nor those of other rows: the condition is told by names of fields alone."""
        sections.unregister("products")
        listed = Product.objects.filter(
            Exists(Label.objects.filter(code="secret")), name="parked", slug="other"
        )
        sections.register("products", limited(5, get_queryset=lambda _: listed))
        monkeypatch.setattr(ObjectAdmin, "fields", ["slug"], raising=False)
        found = text(client.get(panel_of(products[0])))
        assert "fields that you do not see here: name" in found
        assert "fields that you do not see here: those of other rows" in found
        assert "slug" in found
        assert "'other'" in found
        assert "parked" not in found
        assert "secret" not in found

    def test_what_was_published_of_a_source_that_raises_is_shown(
        self, client, editor, products, sections
    ):
        """The row is looked up without the query, which would say what else counts."""
        sections.unregister("products")
        sections.register("products", limited(5, get_queryset=fail))
        found = text(client.get(panel_of(products[0])))
        assert "Listed" in found
        assert "https://example.com/products/product-00000/ Page products 1" in found
        assert "its service is away" in found

    @pytest.mark.parametrize("name", ["location", "limit", "lastmod"])
    def test_what_cannot_be_looked_up_is_not_known(
        self, client, editor, products, sections, name
    ):
        """Crawlers get it still."""
        sections.unregister("products")
        source = limited(5, on_error="raise")
        setattr(source, name, property(fail) if name == "limit" else fail)
        sections.register("products", source)
        found = text(client.get(panel_of(products[0])))
        assert "Not known" in found
        assert "its service is away" in found

    def test_where_all_is_live_nothing_is_to_be_run(self, client, editor, sections):
        sections.register("products", limited(5))
        [product] = make_products(1)
        data = {"exclude": "1"}
        found = text(client.post(panel_of(product), data, follow=True))
        assert "Excluded from sitemaps: done." in found
        assert Section.objects.count() == 0

    def test_what_is_wrong_changes_nothing(self, client, editor, products):
        data = {"exclude": "1", "note": "x" * 201}
        found = text(client.post(panel_of(products[0]), data, follow=True))
        assert "at most 200 characters" in found
        assert not Exclusion.objects.exists()
        exclude(products[0], by="bob")
        data = {"exclude": "1"}
        found = text(client.post(panel_of(products[0]), data, follow=True))
        assert "there is nothing to do" in found
        assert Exclusion.objects.get().by == "bob"
        assert not LogEntry.objects.exists()


class TestExclusions:
    @staticmethod
    def objects(client):
        """Return the objects of the list, and the links among them."""
        found = html.fromstring(client.get(EXCLUSIONS).content.decode())
        links = found.cssselect(".field-object_link a")
        texts = [it.text_content() for it in found.cssselect(".field-object_link")]
        return texts, {it.text_content(): it.get("href") for it in links}

    def test_they_are_listed_with_their_objects(
        self, client, editor, products, django_assert_num_queries
    ):
        """By one query for the objects of each model."""
        shops = [Shop.objects.create(name=name) for name in ("A", "B")]
        for row in [products[0], shops[0]]:
            exclude(row, by="bob", note="why")
        # For the session, the user, two counts, the list, the filter and two models.
        with django_assert_num_queries(8):
            client.get(EXCLUSIONS)
        for row in [*products[1:9], shops[1]]:
            exclude(row, by="bob", note="why")
        for model in ("gone.thing", "nonsense"):
            Exclusion.objects.create(model=model, key="1", at="2020-01-01T00:00Z")
        with django_assert_num_queries(8):
            names, links = self.objects(client)
        assert links == {
            str(it): f"/desk/testapp/product/{it.pk}/change/" for it in products[:9]
        }
        assert {"A", "B"} < set(names)  # which this admin has not
        assert names[-2:] == ["nonsense 1", "gone.thing 1"]
        assert "why" in text(client.get(f"{EXCLUSIONS}?q=why&model=testapp.product"))

    def test_objects_are_named_to_those_who_may_see_them(self, client, user, products):
        """And have no link to those who may not, or once they have gone."""
        for product in products[:3]:
            exclude(product, by="bob")
        Product.objects.filter(pk=products[1].pk).update(name="secret")
        keys = [f"testapp.product {it.pk}" for it in products[:3][::-1]]
        user("view_exclusion")
        assert self.objects(client) == (keys, {})
        user("view_exclusion", "view_product")
        names = [str(products[2]), keys[1], str(products[0])]
        assert self.objects(client)[0] == names
        products[2].delete()
        names[0] = keys[0]
        assert self.objects(client)[0] == names
        assert [*self.objects(client)[1]] == names[2:]

    def test_they_are_found_by_the_urls_and_names_of_their_objects(
        self, client, user, products
    ):
        """By those who may view the objects."""
        for product in products[:3]:
            exclude(product, by="bob")
        [url], name = product_urls([1]), products[1].slug
        for rights, expected in (("view_product", [str(products[1])]), ("", [])):
            user("view_exclusion", rights)
            terms = (url, f" /products/{name}/ ", f"example.com/products/{name}/")
            for term in (*terms, f"{products[1]} ".upper()):
                found = html.fromstring(client.get(EXCLUSIONS, {"q": term}).text)
                texts = found.cssselect(".field-object_link bdi")
                assert [it.text for it in texts] == expected
        assert self.objects(client)[0] == [
            f"testapp.product {it.pk}" for it in products[2::-1]
        ]

    @pytest.mark.database
    def test_a_model_without_its_table_hides_no_exclusion(
        self, client, editor, products
    ):
        exclude(products[0], by="bob")
        with fail_queries(lambda sql: "testapp_product" in sql):
            names, links = self.objects(client)
        assert (names, links) == ([f"testapp.product {products[0].pk}"], {})

    @pytest.mark.parametrize(
        ("rights", "labels"),
        [
            (["view_exclusion"], ["Exclusions"]),
            (["view_dashboard"], ["Overview", "Problems", "Submissions"]),
            (
                ["view_exclusion", "view_dashboard"],
                ["Overview", "Problems", "Submissions", "Exclusions"],
            ),
        ],
    )
    def test_tabs_are_the_pages_that_a_user_may_open(
        self, client, user, rights, labels
    ):
        user(*rights)
        for label in labels:
            start = EXCLUSIONS if label == "Exclusions" else DASHBOARD
            page = html.fromstring(client.get(start).content.decode())
            boxes = page.cssselect(".sitemaps-search[action]")
            assert len(boxes) == ("view_dashboard" in rights)
            for box in boxes:
                assert client.get(box.get("action")).status_code == 200
            tabs = page.cssselect(".sitemaps-tabs a")
            assert [it.text_content() for it in tabs] == labels
            [address] = [it.get("href") for it in tabs if it.text_content() == label]
            page = html.fromstring(client.get(address).content.decode())
            [current] = page.cssselect(".sitemaps-tabs a[aria-current=page]")
            assert current.text_content() == label

    def test_who_deletes_some_has_their_pages_built(self, client, editor, products):
        """One on its own page, or several by the action of the list."""
        build_fully()
        for product in products[:3]:
            exclude(product, by="bob")
        build_and_relay()
        one, *others = Exclusion.objects.values_list("pk", flat=True)
        data = {"action": "delete_selected", "_selected_action": others, "post": "yes"}
        found = text(client.post(EXCLUSIONS, data, follow=True))
        assert "Listed again: noted." in found
        assert Change.objects.count() == 2
        client.post(f"{EXCLUSIONS}{one}/delete/", {"post": "yes"})
        assert Change.objects.count() == 3
        assert not Exclusion.objects.exists()


URL = "https://example.com/products/product-00003/"


@pytest.fixture
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


@pytest.mark.usefixtures("listed")
@pytest.mark.parametrize(
    "url",
    [URL, "/products/product-00003/", URL.removeprefix("https://"), f" {URL} "],
)
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


@pytest.mark.usefixtures("listed")
def test_since_when_it_is_listed(client, editor):
    """As far as it is among the last changes; an update does not count."""
    assert "Listed since" not in ask(client, URL)
    latest = [
        {"url": URL, "kind": kind, "at": f"2026-11-{day}T12:00:00+00:00", "engines": []}
        for kind, day in (("updated", 25), ("added", 20), ("added", 10))
    ]
    row = Section.objects.get(name="products")
    UrlChanges.objects.create(section=row, latest=latest)
    assert "Listed since Nov. 20, 2026" in ask(client, URL)


@pytest.mark.usefixtures("listed")
def test_it_can_be_submitted_again(client, editor, configure):
    engine = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
    configure(ENGINES={"one": engine}, NOTIFY=True)
    page = reverse("admin:sitemaps_plus_dashboard_url", current_app="desk")
    tree = html.fromstring(client.get(page, {"url": URL}).content.decode())
    [form] = tree.xpath("//form[.//button[text()='Submit it again']]")
    given = {it.get("name"): it.get("value") for it in form.xpath(".//input")}
    assert client.post(form.get("action"), given).status_code == 302
    assert Delivery.objects.waiting().get().target == URL


@pytest.mark.usefixtures("listed")
def test_one_that_nobody_has_recorded_stays_for_now(client, editor):
    Product.objects.filter(slug="product-00003").update(published=False)
    found = ask(client, URL)
    assert "Listed for now" in found
    assert "Why section products will not list it any longer" in found


@pytest.mark.usefixtures("listed")
def test_one_that_is_not(client, editor):
    """With the reason in words, and a link to nothing."""
    Product.objects.filter(slug="product-00003").update(published=False)
    build_fully()
    found = ask(client, URL)
    assert "Not listed Product" in found
    assert (
        "Why section products does not list it: published is No; it must be Yes"
        in found
    )


@pytest.mark.usefixtures("listed")
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


@pytest.mark.usefixtures("listed")
def test_what_could_not_be_read_is_not_known(client, editor, sections):
    """Nor is it said that the URL leads to no row."""

    def fail(self: Any) -> Any:
        raise RuntimeError("its service is away")

    sections.register("broken", limited(5, get_queryset=fail))
    found = ask(client, "/products/nothing/")
    assert "Not known" in found
    assert "its service is away" in found
    assert "to no row" not in found


@pytest.mark.usefixtures("listed")
def test_there_is_a_limit_of_time(client, editor, monkeypatch):
    monkeypatch.setattr(panel, "MAX_SECONDS", 0)
    found = ask(client, "/nothing/")
    assert "Not known" in found
    assert "There was no time to search all pages of section 'products'." in found


@pytest.mark.usefixtures("listed")
def test_the_site_of_a_url_answers(client, editor, sections, configure):
    """A path may be on each of them."""
    sites = {it: {"BASE_URL": f"https://{it}.example"} for it in ("one", "two")}
    configure(SITES=sites, BASE_URL=None)
    assert "one.example" not in ask(client, "https://two.example/products/x/")
    assert "one.example" in ask(client, "/products/product-00003/")


@pytest.mark.usefixtures("listed")
class TestRightsToReasons:
    """Who may see the dashboard may not see each model."""

    @pytest.fixture(autouse=True)
    def unlisted(self, listed: None, user: Any) -> None:
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
        assert (
            "list it any longer: a value of it cannot be listed (ValueError)" in found
        )
        monkeypatch.setattr(ObjectAdmin, "fields", None)
        assert "no place for confidential (ValueError)" in ask(client, URL)


@pytest.mark.database
@pytest.mark.usefixtures("listed")
def test_each_page_of_the_dashboard_asks(client, editor):
    for name, path, _view in VIEWS:
        if name not in ("running", "act", "csv"):
            url = reverse(f"admin:sitemaps_plus_dashboard_{name}", current_app="desk")
            page = client.get(url, {"section": "products", "number": 1}).content
            assert page.count(b'name="url"') == 1, path
