"""The page of problems: links to objects, and buttons by permission."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from django.utils.translation import override
from lxml import html

from django_sitemaps_plus import ModelSource, Source
from django_sitemaps_plus.background import work
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.diagnostics.answers import look
from django_sitemaps_plus.diagnostics.audit import keep_findings
from django_sitemaps_plus.diagnostics.site_problems import read_problems
from django_sitemaps_plus.diagnostics.status import read_dashboard
from django_sitemaps_plus.models import (
    MAX_ATTEMPTS,
    EngineHost,
    Page,
    Section,
    Worker,
)
from django_sitemaps_plus.sites import get_site
from tests.integration.admin.desk import ObjectAdmin
from tests.integration.diagnostics.rows import ENGINE, deliver, know
from tests.support.faults import fail_queries
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Label, Product

from .test_actions import Listening

pytestmark = pytest.mark.usefixtures("urls")


@pytest.fixture
def shown(client: Client, user: Any) -> Callable[..., Any]:
    """Return what shows the page to a user who may see it, and has permissions."""

    def shown(*permissions: str) -> Any:
        user("view_dashboard", *permissions)
        response = client.get("/desk/sitemaps_plus/dashboard/problems/")
        assert response.status_code == 200
        page = html.fromstring(response.content.decode())
        return page.get_element_by_id("content-main")

    return shown


def refused(self: Any, row: Any) -> str:
    raise ValueError("odd")


def texts(elements: Any) -> list[str]:
    """Return the text of each element, with single spaces."""
    return [" ".join(it.text_content().split()) for it in elements]


def test_rows_lead_to_their_objects_until_they_are_mended(shown, publish):
    """In this admin; only what the user may see, and for as long as it is bad."""
    products = make_products(25)
    publish(limited(10))
    bad = [products[3], products[14]]
    for product in bad:
        product.slug = f"no slug {product.pk}"
        product.save()
    build()
    links = {str(it): f"/desk/testapp/product/{it.pk}/change/" for it in bad}
    page = shown("view_product")
    [anchor] = page.cssselect(".sitemaps-contents a")
    [heading] = page.cssselect("h2")
    assert texts([anchor]) == ["Rows and values left out (1)"]
    assert anchor.get("href") == f"#{heading.get('id')}"
    found = page.cssselect(".sitemaps-items a")
    assert {it.text_content(): it.get("href") for it in found} == links
    page = shown()  # to somebody who may not see products
    assert page.cssselect(".sitemaps-items") == []
    for name in (f"Product {bad[0].pk}", str(bad[0])):
        assert name not in page.text_content()
    assert texts(page.cssselect(".sitemaps-contents a")) == texts([anchor])
    for product in bad:
        product.slug = f"mended-{product.pk}"
        product.save()
    build()
    look(get_site())
    page = shown("view_product")
    assert "Nothing needs you." in page.text_content()
    assert page.cssselect("h2") == []
    assert "never checked" in page.text_content()
    assert texts(page.cssselect("code")) == ["manage.py check_sitemaps --audit"]
    finding = {"source": "https://example.com/a.xml", "line": 3, "rule": "loc-host"}
    finding["message"] = "it is on another host"
    keep_findings(get_site(), {"counts": {"loc-host": 2}, "problems": [finding]})
    page = shown()
    assert texts(page.cssselect("h3")) == ["URL not allowed (2)"]
    [item] = texts(page.cssselect(".sitemaps-items li"))
    assert item == "https://example.com/a.xml:3 it is on another host"
    assert "The listed pages were checked just now" in page.text_content()
    with override("de"):
        [german] = read_problems(read_dashboard([get_site()])[0], dict).kinds
    assert german.problems[0].subject == "URL nicht zulässig"


def test_errors_come_first(shown, publish, configure):
    """Also those of a kind that is named later, as in the banner."""
    make_products(3)
    row = publish(limited(10))
    Section.objects.filter(pk=row.pk).update(skipped=1)
    counts = {"lastmod-future": 9, "loc-host": 1}
    keep_findings(get_site(), {"counts": counts, "problems": []})
    page = shown()
    names = [it.get("id").partition("-")[0] for it in page.cssselect("h2")]
    assert names == ["findings", "rows"]
    levels = [it.get("class") for it in page.cssselect(".sitemaps-problem > p[class]")]
    assert levels == ["sitemaps-error"] + ["sitemaps-warning"] * 2
    assert "1 problem needs you." in page.text_content()  # as monitors count


def test_objects_are_named_that_the_user_may_see(shown, publish, monkeypatch):
    """Model and key stand for a ``str()`` that raises; those that have gone go."""
    products = make_products(25)
    Product.objects.filter(pk=products[4].pk).update(name="secret")
    publish(limited(10, location=refused))
    Product.objects.filter(pk=products[0].pk).delete()

    def as_text(row: Product) -> str:
        return row.name if row.pk != products[1].pk else 1 / 0

    monkeypatch.setattr(Product, "__str__", as_text)
    items = shown("view_product").cssselect(".sitemaps-items li")
    names = [it.cssselect("bdi")[0].text_content() for it in items]
    assert names == [
        f"Product {it.pk}" if at == 1 else it.name
        for at, it in enumerate(products[:20])
        if at not in (0, 4)
    ]
    assert all(it.cssselect("a") for it in items)


@pytest.mark.parametrize("form", [["slug"], None])
def test_values_that_a_form_lacks_are_in_no_reason(
    client, shown, publish, monkeypatch, form
):
    """Neither on the page nor in the file of rows left out."""

    def fail(self: Any, row: Product) -> str:
        raise ValueError(f"no place for {row.name}")

    [product] = make_products(1)
    publish(limited(10, location=fail))
    monkeypatch.setattr(ObjectAdmin, "fields", form, raising=False)
    said = [shown("view_product").text_content()]
    path = "/desk/sitemaps_plus/dashboard/section/csv/left-out/?section=products"
    said.append(client.get(path).getvalue().decode())
    for text in said:
        assert "ValueError" in text
        assert (f"no place for {product.name}" in text) == (form is None)


@pytest.mark.parametrize("language", ["en", "he"])
@pytest.mark.parametrize("is_built", [True, False])
def test_an_error_at_a_row_is_told_who_may_view_it(
    client, user, sections, settings, is_built, language
):
    """Others see its kind alone, on each page of the dashboard; as does a long text."""
    settings.LANGUAGE_CODE = language
    row = make_products(25)[20]
    Product.objects.filter(pk=row.pk).update(name="secret")

    def fail(self: Any, row: Product) -> Any:
        if row.name == "secret":
            raise ValueError(f"{row.name} {'long ' * 200}")
        return row.get_absolute_url()

    sections.register("products", limited(10, on_error="raise", location=fail))
    if is_built:
        build()
    else:
        assert client.get("/sitemap-products-3.xml").status_code == 503
        look(get_site())
    paths = ["", "problems/", "running/", "url/?url=/products/product-00020/"]
    paths += ["section/?section=products"] if is_built else []
    for rights in (["view_product"], []):
        user("view_dashboard", *rights)
        for path in paths:
            page = client.get(f"/desk/sitemaps_plus/dashboard/{path}").text
            assert "ValueError" in page, path
            for words in (f"ValueError (Product {row.pk}, location): secret", "secret"):
                assert (words in page) == bool(rights), path


def fail(self: Any, *args: Any) -> Any:
    raise ValueError("secret")


@pytest.mark.parametrize("name", ["odd", "kids' books", 'it\'s "odd"'])
@pytest.mark.parametrize(
    ("source", "has_model"),
    [
        (type("Rows", (ModelSource,), {"model": Product, "get_queryset": fail}), True),
        (type("Entries", (Source,), {"entries": fail}), False),
        (type("Odd", (Source,), {"entries": fail, "model": property(fail)}), False),
    ],
)
def test_an_error_without_a_row_is_told_who_may_view_all_rows(
    admin_client, shown, sections, name, source, has_model
):
    """Users who may view the model; superusers alone, where no model is known."""
    sections.register(name, source)
    build()
    for rights, is_seen in ((["view_product"], has_model), ([], False)):
        words = shown(*rights).text_content()
        assert "ValueError" in words
        assert ("secret" in words) == is_seen
    problems = admin_client.get("/desk/sitemaps_plus/dashboard/problems/")
    assert "secret" in problems.text


def test_objects_of_a_model_take_one_query(shown, publish):
    make_products(25)
    publish(limited(10, location=refused))
    with CaptureQueriesContext(connection) as queries:
        items = shown("view_product").cssselect(".sitemaps-items a")
    assert len(items) == 20
    assert ["testapp_product" in it["sql"] for it in queries].count(True) == 1


def test_a_problem_is_new_for_a_day(shown, shop):
    section = shop(3)
    for hours, new in ((23, ["New"]), (25, [])):
        since = timezone.now() - timedelta(hours=hours)
        Section.objects.filter(pk=section.pk).update(fault="odd", fault_since=since)
        assert texts(shown().cssselect("article strong")) == new


def test_what_is_copied_says_all_of_a_problem(shown, shop):
    section = shop(3)
    Section.objects.filter(pk=section.pk).update(fault='it has "<b>"')
    [button] = shown().cssselect("article [data-copy]")
    assert button.get("hidden") is not None  # until a script shows it
    assert button.get("data-copy").splitlines() == [
        "section_failed",
        'products: It could not be built: it has "<b>"',
        "Fix the error: the next build tries again.",
        "manage.py build_sitemaps products",
    ]


def test_a_link_opens_its_object(shown, publish, client):
    """Whatever is in its key; one without a page in the admin has no link."""
    label = Label.objects.create(code="a/b?c=d#\"e f'</a>"[:60])
    other = Label.objects.create(code="it's a_2Fb/?")
    given = {"model": Label, "location": "updated_at"}
    publish(type("Labels", (ModelSource,), given), "labels")
    links = shown("change_label").cssselect(".sitemaps-items a")
    [found] = [it for it in links if "it's" in it.text_content()]
    response = client.get(found.get("href"))
    assert response.status_code == 200
    assert response.context["original"] == other
    assert label.code not in {it.get("href") for it in links}


def test_buttons_are_those_that_the_user_may_press(shown, shop, configure, client):
    """What they lead to works; the command is there for all."""
    configure(ENGINES={"one": ENGINE})
    section = shop(3)
    section.pages.update(wanted=9, attempts=MAX_ATTEMPTS, error="it broke")
    Section.objects.filter(pk=section.pk).update(hold_reason="it would fall")
    know(parked_reason="it refused")
    deliver("a", dead_since="2026-01-01T00:00Z", error="it rejected")
    paths = {
        "rebuild_sections": "rebuild/?site=default&section=products",
        "release_sections": "release/?site=default&section=products",
        "retry_deliveries": "retry/?site=default&engine=one",
    }
    for permission, path in paths.items():
        [link] = shown(permission).cssselect("article a.button")
        assert link.get("href") == f"/desk/sitemaps_plus/dashboard/actions/{path}"
        assert client.get(link.get("href")).status_code == 200
    assert ">and 3 more<" in client.get("/desk/sitemaps_plus/dashboard/").text
    page = shown()
    assert "4 problems need you." in page.text_content()
    assert page.cssselect("article .button, article form") == []
    assert texts(page.cssselect("article code")) == [
        "manage.py build_sitemaps products --allow-shrink",
        "manage.py build_sitemaps products --full",
        *["manage.py notify_search_engines --engine one --retry"] * 2,
    ]
    [form] = shown("pause_engines").cssselect("article form")
    fields = {it.get("name"): it.get("value") for it in form.iter("input")}
    assert client.post(form.get("action"), fields).status_code == 302
    assert not EngineHost.objects.exclude(parked_reason="").exists()


def test_workers_audit_what_a_site_lists(shown, configure, client):
    """Where some listen or look; the command is there for all."""
    path = "/desk/sitemaps_plus/dashboard/actions/audit/"
    page = shown("refresh_sections")
    assert page.cssselect("form[method=post]") == []
    assert texts(page.cssselect("code")) == ["manage.py check_sitemaps --audit"]
    client.post(path)
    answer = client.get("/desk/sitemaps_plus/dashboard/")
    [message] = answer.context["messages"]
    assert "there is nothing to do" in str(message)
    Worker.objects.note("run_sitemaps")
    assert len(shown("refresh_sections").cssselect("form[method=post]")) == 1
    client.post(path)
    assert work.asked_audits() == ["default"]
    configure(EXECUTOR="tests.integration.admin.test_actions.Listening")
    Listening.woken.clear()
    assert shown().cssselect("form[method=post]") == []
    [form] = shown("refresh_sections").cssselect("form[method=post]")
    fields = {it.get("name"): it.get("value") for it in form.iter("input")}
    assert (form.get("action"), fields["site"]) == (path, "default")
    assert client.post(path, fields).status_code == 302
    assert Listening.woken == ["audit default"]


def test_findings_have_a_trend(shown):
    """The last of each day, and as numbers for those who do not see."""
    assert shown().cssselect("svg") == []
    for count in (7, 2):
        keep_findings(get_site(), {"counts": {"loc-host": count}, "problems": []})
    page = shown()
    assert len(page.cssselect(".sitemaps-trends svg")) == 1
    [today, yesterday, *_] = texts(page.cssselect("tbody td"))
    assert (today, yesterday) == ("2", "\N{EN DASH}")
    report = {"counts": {"loc-host": 1}, "problems": [], "is_cut": True}
    keep_findings(get_site(), report)
    page = shown()
    assert "There was no time for all files." in page.text_content()
    assert texts(page.cssselect("tbody td"))[0] == "2"


def test_two_sites_are_told_apart(shown, configure, sections):
    sites = {name: {"BASE_URL": f"https://{name}.example"} for name in ("a", "b")}
    configure(BASE_URL=None, SITES=sites)
    sections.register("products", limited(3))
    for name in sites:
        row = Section.objects.create(site=name, name="products", hold_reason="odd")
        Page.objects.create(section=row, number=1, built=1, entries=1)
        Section.objects.recount(row.pk)
    assert texts(shown().cssselect("h2")) == [
        f"Sections and index: https://{name}.example (1)" for name in sites
    ]
    assert "--site b" in texts(shown().cssselect("article code"))[1]
    configure(BASE_URL=None, SITES=None)
    assert "BASE_URL" in texts(shown().cssselect(".errornote"))[0]


@pytest.mark.parametrize(
    "path", ["", "running/", "section/?section=products", "problems/", "submissions/"]
)
def test_missing_tables_are_told_on_a_page(admin_client, sections, path):
    """Its other queries work, so the admin is not down."""
    sections.register("products", limited(10))
    with fail_queries(lambda sql: "sitemaps_plus_" in sql):
        answer = admin_client.get(f"/desk/sitemaps_plus/dashboard/{path}")
    assert answer.status_code == 503
    assert b"Run manage.py migrate" in answer.content
    assert b"the server closed" not in answer.content
