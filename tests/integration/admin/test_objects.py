"""The panel on an object's page: what it says, who may act, and what it leaves be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.admin import AdminSite, ModelAdmin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Permission, User
from django.contrib.contenttypes.models import ContentType
from django.test import Client
from django.urls import include, path, reverse
from lxml import html

from django_sitemaps_plus.admin import DashboardAdmin, ExclusionAdmin, SitemapMixin
from django_sitemaps_plus.diagnostics.requests import exclude
from django_sitemaps_plus.models import (
    Change,
    Dashboard,
    Delivery,
    Exclusion,
    Page,
    Section,
)
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_and_relay, build_fully
from tests.support.faults import fail_queries
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Label, Product
from tests.support.urls import urlpatterns as usual

INJECTED = "</script><script>alert(1)</script><a href=javascript:alert(1) onclick='x'>"


class ObjectAdmin(SitemapMixin, ModelAdmin):
    """What a project writes."""

    def has_view_permission(self, request: Any, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) and (
            obj is None or getattr(obj, "name", "") != "secret"
        )


class OwnTemplateAdmin(ObjectAdmin):
    """One with a template of its own, which has no block of ours."""

    change_form_template = "admin/auth/user/add_form.html"


desk = AdminSite(name="desk")
desk.register(Dashboard, DashboardAdmin)
desk.register(Exclusion, ExclusionAdmin)
desk.register(Product, ObjectAdmin)
desk.register(Label, OwnTemplateAdmin)

urlpatterns = [path("desk/", desk.urls), path("", include(usual))]


@pytest.fixture(autouse=True)
def urls(settings: Any) -> None:
    settings.ROOT_URLCONF = __name__


@pytest.fixture
def user(client: Client) -> Callable[..., User]:
    """Return what logs in a user of the admin with permissions."""

    def user(*permissions: str, **fields: Any) -> User:
        found, _ = User.objects.get_or_create(
            username="ada", is_staff=True, defaults=fields
        )
        found.user_permissions.set(Permission.objects.filter(codename__in=permissions))
        client.force_login(found)
        return found

    return user


@pytest.fixture
def editor(user: Any) -> User:
    """Log in a user who may do everything."""
    return user(is_superuser=True)


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
        """With its page, since when, and a link to its entries."""
        answer = client.get(panel_of(products[12]))
        found = html.fromstring(answer.content.decode())
        assert found.cssselect("li > a")[0].get("href") == product_urls([12])[0]
        link = found.cssselect("dd a")[0]
        assert link.text_content() == "products 2"
        assert link.get("href").endswith("?site=default&section=products&number=2")
        assert client.get(link.get("href")).status_code == 200
        assert "Listed" in text(answer)
        assert "2026-01-01T12:12:00+00:00" in text(answer)
        assert "just now" in text(answer)

    def test_it_says_what_leaves_an_object_out(self, client, editor, sections):
        class Published(limited(5)):
            def get_queryset(self):
                return Product.objects.filter(published=True)

        sections.register("products", Published)
        [product] = make_products(1, published=False)
        found = text(client.get(panel_of(product)))
        assert "Not listed" in found
        assert "its published is False" in found

    def test_it_says_what_engines_were_told(self, client, editor, products, configure):
        backend = f"{RecordingEngine.__module__}.RecordingEngine"
        configure(ENGINES={"one": {"BACKEND": backend}})
        Delivery.objects.want("default", "one", product_urls([3]))
        found = text(client.get(panel_of(products[3])))
        assert "oneit is asked next at" in found
        assert "oneit was never asked" in text(client.get(panel_of(products[4])))

    def test_all_sites_are_shown(self, client, editor, sections, configure):
        sites = {
            name: {"BASE_URL": f"https://{name}.example"} for name in ("one", "two")
        }
        configure(SITES=sites, BASE_URL=None)
        sections.register("products", limited(5, sites=["two"]))
        [product] = make_products(1)
        found = text(client.get(panel_of(product)))
        assert found.index("one.example") < found.index("No section")
        assert found.index("No section") < found.index("https://two.example Listed")

    def test_an_object_of_no_section_is_said_to_be_of_none(self, client, editor):
        label = Label.objects.create(code="a")
        assert "No section" in text(client.get(panel_of(label)))

    @pytest.mark.parametrize("query", ["", "?part"])
    def test_errors_become_sentences(self, client, editor, products, configure, query):
        with fail_queries(lambda sql: "sitemaps_plus_page" in sql):
            found = text(client.get(panel_of(products[0], query)))
        assert "Nothing can be said: OperationalError" in found
        configure(BASE_URL="nonsense")
        assert "BASE_URL" in text(client.get(panel_of(products[0], query)))

    def test_words_of_others_stay_words(self, client, editor, products, configure):
        """In the reason, the name of the object, and what an engine said."""
        backend = f"{RecordingEngine.__module__}.RecordingEngine"
        engine = "<script>alert(1)</script>"
        configure(ENGINES={engine: {"BACKEND": backend}})
        product = products[0]
        Product.objects.filter(pk=product.pk).update(name=INJECTED)
        exclude(product, by=INJECTED, note=INJECTED)
        Delivery.objects.want("default", engine, product_urls([0]))
        Delivery.objects.update(error=INJECTED)
        Page.objects.update(error=INJECTED)
        change = f"/desk/testapp/product/{product.pk}/change/"
        exclusions = "/desk/sitemaps_plus/exclusion/"
        for address in (panel_of(product), panel_of(product, ""), change, exclusions):
            found = html.fromstring(client.get(address).content.decode())
            assert not found.xpath("//script[not(@src)] | //*[@onclick]"), address
            links = [it.get("href") for it in found.xpath("//a[@href]")]
            assert not [link for link in links if link.startswith("javascript")]
        assert INJECTED in text(client.get(panel_of(product)))


class TestRights:
    VIEW = "view_product"
    CHANGE = "change_product"

    def test_who_may_not_see_the_object_sees_no_panel(self, client, user, products):
        assert client.get(panel_of(products[0])).status_code == 302  # to the login
        user("view_dashboard", "add_exclusion", "delete_exclusion")
        assert client.get(panel_of(products[0])).status_code == 403
        user(self.VIEW, "add_exclusion")
        Product.objects.filter(pk=products[0].pk).update(name="secret")
        assert client.get(panel_of(products[0])).status_code == 403
        assert client.get("/desk/testapp/product/0/sitemap/").status_code == 404

    @pytest.mark.parametrize(
        ("rights", "may"),
        [
            ([VIEW], False),
            ([VIEW, "add_exclusion"], False),
            ([CHANGE], False),
            ([CHANGE, "delete_exclusion"], False),
            ([CHANGE, "add_exclusion"], True),
        ],
    )
    def test_to_exclude_takes_both_rights(self, client, user, products, rights, may):
        user(*rights)
        page = client.get(panel_of(products[0]))
        assert ("Exclude from sitemaps" in text(page)) is may
        answer = client.post(panel_of(products[0]), {"exclude": "1", "note": ""})
        assert answer.status_code == (302 if may else 403)
        assert Exclusion.objects.exists() is may

    @pytest.mark.parametrize(
        ("rights", "may"),
        [([VIEW], False), ([CHANGE, "add_exclusion"], False), (["delete"], True)],
    )
    def test_to_list_again_takes_the_right_to_delete(
        self, client, user, products, rights, may
    ):
        user(self.VIEW, *[f"{it}_exclusion" if it == "delete" else it for it in rights])
        exclude(products[0], by="bob")
        page = client.get(panel_of(products[0]))
        assert ("List it again" in text(page)) is may
        answer = client.post(panel_of(products[0]), {"lift": "1"})
        assert answer.status_code == (302 if may else 403)
        assert Exclusion.objects.exists() is not may

    def test_the_map_is_linked_for_those_who_may_see_it(self, client, user, products):
        for rights, links in ((["view_dashboard"], 1), ([], 0)):
            user(self.VIEW, *rights)
            answer = client.get(panel_of(products[0]))
            found = html.fromstring(answer.content.decode())
            assert len(found.cssselect("dd a")) == links

    def test_a_get_changes_nothing_and_a_post_needs_a_token(self, user, products):
        editor = user(is_superuser=True)
        strict = Client(enforce_csrf_checks=True)
        strict.force_login(editor)
        address = panel_of(products[0])
        assert strict.get(f"{address}&exclude=1").status_code == 200
        assert strict.post(address, {"exclude": "1"}).status_code == 403
        assert strict.delete(address).status_code in (403, 405)
        assert not Exclusion.objects.exists()


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
        assert not LogEntry.objects.exists()

    def test_twice_is_said_to_be_nothing(self, client, editor, products):
        exclude(products[0], by="bob")
        data = {"exclude": "1"}
        found = text(client.post(panel_of(products[0]), data, follow=True))
        assert "there is nothing to do" in found
        assert Exclusion.objects.get().by == "bob"


class TestExclusions:
    LIST = "/desk/sitemaps_plus/exclusion/"

    def test_they_are_listed_with_their_objects(
        self, client, editor, products, django_assert_max_num_queries
    ):
        """By few queries, however many there are."""
        for product in products[:9]:
            exclude(product, by="bob", note="why")
        Exclusion.objects.create(model="gone.thing", key="1")
        with django_assert_max_num_queries(7):
            answer = client.get(self.LIST)
        found = html.fromstring(answer.content.decode())
        links = [it.get("href") for it in found.cssselect(".field-object_link a")]
        assert f"/desk/testapp/product/{products[0].pk}/change/" in links
        assert len(links) == 9
        assert "why" in text(client.get(f"{self.LIST}?q=why&model=testapp.product"))
        assert client.get(f"{self.LIST}add/").status_code == 403

    def test_who_deletes_some_has_their_pages_built(self, client, editor, products):
        """One on its own page, or several by the action of the list."""
        build_fully()
        for product in products[:3]:
            exclude(product, by="bob")
        build_and_relay()
        one, *others = Exclusion.objects.values_list("pk", flat=True)
        data = {"action": "delete_selected", "_selected_action": others, "post": "yes"}
        found = text(client.post(self.LIST, data, follow=True))
        assert "Listed again: noted." in found
        assert Change.objects.count() == 2
        client.post(f"{self.LIST}{one}/delete/", {"post": "yes"})
        assert Change.objects.count() == 3
        assert not Exclusion.objects.exists()
