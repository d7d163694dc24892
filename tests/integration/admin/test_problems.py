"""The page of problems: links and buttons by permission, and words that stay words."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from lxml import html

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.diagnostics.audit import keep_findings
from django_sitemaps_plus.models import (
    MAX_ATTEMPTS,
    Delivery,
    EngineHost,
    Page,
    Section,
)
from django_sitemaps_plus.models.deliveries import hash_target
from django_sitemaps_plus.sources.lines import LeftOut
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Label

from . import staff

ENGINE = {"BACKEND": f"{RecordingEngine.__module__}.RecordingEngine"}
INJECTED = '</span></a><img src=x onerror=alert(1)><a href="javascript:alert(1)">\''


@pytest.fixture(autouse=True)
def urls(settings: Any) -> None:
    settings.ROOT_URLCONF = staff.__name__


@pytest.fixture
def shown(client: Client) -> Callable[..., Any]:
    """Return what shows the page to a user who may see it, and has permissions."""

    def shown(*permissions: str) -> Any:
        user, _ = User.objects.get_or_create(username="one", is_staff=True)
        names = ["view_dashboard", *permissions]
        user.user_permissions.set(Permission.objects.filter(codename__in=names))
        client.force_login(user)
        response = client.get("/staff/sitemaps_plus/dashboard/problems/")
        assert response.status_code == 200
        return html.fromstring(response.content.decode()).get_element_by_id(
            "content-main"
        )

    return shown


def texts(elements: Any) -> list[str]:
    """Return the text of each element, with single spaces."""
    return [" ".join(it.text_content().split()) for it in elements]


def fail(section: Section) -> None:
    """Park a page, an engine, and a target."""
    section.pages.update(wanted=9, attempts=MAX_ATTEMPTS, error=INJECTED)
    key = {"site": "default", "engine": "one", "host": "example.com"}
    EngineHost.objects.create(**key, parked_reason=INJECTED)
    target = f"javascript:{INJECTED}"
    Delivery.objects.create(
        **key,
        target=target,
        target_hash=hash_target(target),
        wanted=1,
        dead_since="2026-01-01T00:00Z",
        error=INJECTED,
    )


def test_where_all_is_well_nothing_needs_anybody(shown, publish):
    """And it says how to audit the pages."""
    make_products(3)
    publish(limited(2))
    page = shown()
    assert "Nothing needs you." in page.text_content()
    assert page.cssselect("h2") == []
    assert "never audited" in page.text_content()
    assert texts(page.cssselect("code")) == ["manage.py check_sitemaps --audit"]


def test_rows_lead_to_their_objects_until_they_are_mended(shown, publish):
    """In this admin; only what the user may see, and for as long as it is bad."""
    products = make_products(25)
    publish(limited(10))
    bad = [products[3], products[14]]
    for product in bad:
        product.slug = f"no slug {product.pk}"
        product.save()
    build()
    links = {
        f"Product {it.pk}": f"/staff/testapp/product/{it.pk}/change/" for it in bad
    }
    page = shown("view_product")
    assert texts(page.cssselect(".sitemaps-contents a")) == [
        "Rows and values left out (2)"
    ]
    [anchor] = page.cssselect(".sitemaps-contents a")
    [heading] = page.cssselect("h2")
    assert anchor.get("href") == f"#{heading.get('id')}"
    found = page.cssselect(".sitemaps-items a")
    assert {it.text_content(): it.get("href") for it in found} == links
    page = shown()
    assert page.cssselect(".sitemaps-items a") == []
    assert f"Product {bad[0].pk}" in page.text_content()
    for product in bad:
        product.slug = f"mended-{product.pk}"
        product.save()
    build()
    assert "Nothing needs you." in shown("view_product").text_content()


def test_a_link_opens_its_object(shown, publish, client):
    """Whatever is in its key; one without a page in the admin has no link."""

    class Labels(ModelSource):
        model = Label
        location = "updated_at"

    label = Label.objects.create(code="a/b?c=d#\"e f'</a>"[:60])
    other = Label.objects.create(code="it's a_2Fb/?")
    publish(Labels, "labels")
    links = shown("change_label").cssselect(".sitemaps-items a")
    [found] = [it for it in links if "it's" in it.text_content()]
    response = client.get(found.get("href"))
    assert response.status_code == 200
    assert response.context["original"] == other
    assert label.code not in {it.get("href") for it in links}


def test_hostile_words_stay_words(shown, publish, configure):
    """Of rows, errors, engines, targets and audits."""
    configure(ENGINES={"one": ENGINE})
    make_products(3)
    section = publish(limited(3))
    fail(section)
    unknown = {"model": "", "key": "", "field": INJECTED}
    rows = [
        LeftOut("row_skipped", "Product", "testapp.Product", INJECTED, "", INJECTED),
        LeftOut("row_skipped", INJECTED, **unknown, reason=INJECTED),
        LeftOut("value_dropped", "Product 1", **unknown, reason=INJECTED),
    ]
    problems = [*map(asdict, rows), f"{INJECTED} left out: {INJECTED}"]
    section.pages.update(skipped=2, dropped=1, problems=problems)
    Section.objects.update(hold_reason=INJECTED)
    finding = {"source": f"javascript:{INJECTED}", "line": 1, "message": INJECTED}
    finding["rule"] = "page-error"
    keep_findings(get_site(), {"counts": {"page-error": 1}, "problems": [finding]})
    page = shown("view_product", "rebuild_sections", "pause_engines")
    assert page.cssselect("img, script, article a *:not(bdi), li span *:not(bdi)") == []
    assert page.text_content().count(INJECTED) >= 7
    links = [it.get("href") for it in page.iter("a")]
    assert all(it.startswith(("/staff/", "#")) for it in links)
    names = {name for it in page.iter() for name in it.attrib}
    assert not any(name.startswith("on") or name == "style" for name in names)


def test_buttons_are_those_that_the_user_may_press(shown, publish, configure, client):
    """What they lead to works; the command is there for all."""
    configure(ENGINES={"one": ENGINE})
    make_products(3)
    fail(publish(limited(3)))
    Section.objects.filter(name="products").update(hold_reason="it would fall")
    paths = {
        "rebuild_sections": "rebuild/?site=default&section=products",
        "release_sections": "release/?site=default&section=products",
        "retry_deliveries": "retry/?site=default&engine=one",
    }
    for permission, path in paths.items():
        page = shown(permission)
        [link] = page.cssselect("article a")
        assert link.get("href") == f"/staff/sitemaps_plus/dashboard/actions/{path}"
        assert client.get(link.get("href")).status_code == 200
    commands = texts(shown().cssselect("article code"))
    assert commands == [
        "manage.py build_sitemaps products --allow-shrink",
        "manage.py build_sitemaps products --full",
        *["manage.py notify_search_engines --engine one --retry"] * 2,
    ]
    assert shown().cssselect("article a, article form") == []
    [form] = shown("pause_engines").cssselect("article form")
    fields = {it.get("name"): it.get("value") for it in form.iter("input")}
    assert client.post(form.get("action"), fields).status_code == 302
    assert not EngineHost.objects.exclude(parked_reason="").exists()


def test_the_findings_of_the_last_audit_are_shown(shown, publish):
    """With their age; those of the audit before are gone."""
    make_products(3)
    publish(limited(3))
    finding = {"source": "https://example.com/a.xml", "line": 3, "rule": "loc-host"}
    finding["message"] = "https://other.example/ is not on https://example.com"
    keep_findings(get_site(), {"counts": {"loc-host": 2}, "problems": [finding]})
    page = shown()
    assert texts(page.cssselect("h2, h3")) == [
        "Findings of the audit (2)",
        "URL not allowed (2)",
    ]
    [item] = texts(page.cssselect(".sitemaps-items li"))
    assert item == f"https://example.com/a.xml:3 {finding['message']}"
    assert "The pages were audited just now." in page.text_content()
    keep_findings(get_site(), {"counts": {}, "problems": []})
    assert "Nothing needs you." in shown().text_content()


def test_two_sites_are_told_apart(shown, configure, sections):
    """Each heading names its site, and a wrong setting is a sentence."""
    sites = {name: {"BASE_URL": f"https://{name}.example"} for name in ("a", "b")}
    configure(BASE_URL=None, SITES=sites)
    sections.register("products", limited(3))
    for name in sites:
        row = Section.objects.create(site=name, name="products", hold_reason="odd")
        Page.objects.create(section=row, number=1, built=1, entries=1)
    assert texts(shown().cssselect("h2")) == [
        f"Sections and index: https://{name}.example (1)" for name in sites
    ]
    assert "--site b" in texts(shown().cssselect("article code"))[1]
    configure(BASE_URL=None, SITES=None)
    assert "BASE_URL" in texts(shown().cssselect(".errornote"))[0]
