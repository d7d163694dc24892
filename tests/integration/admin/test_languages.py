"""The dashboard in German, and in Hebrew, which is read from right to left."""

from __future__ import annotations

import re
from contextlib import nullcontext, suppress
from datetime import timedelta
from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone, translation
from lxml import html

from django_sitemaps_plus import tasks
from django_sitemaps_plus.building.guard import BAD, FALLEN, WAITING
from django_sitemaps_plus.diagnostics.explain import explain_object
from django_sitemaps_plus.diagnostics.requests import exclude
from django_sitemaps_plus.diagnostics.words import shortened
from django_sitemaps_plus.models import (
    INDEX,
    MAX_ATTEMPTS,
    Figure,
    Page,
    Section,
    Worker,
)
from django_sitemaps_plus.sites import get_site
from tests.integration.diagnostics.rows import ENGINE

DASHBOARD = "/admin/sitemaps_plus/dashboard/"
PATHS = {
    "overview": "",
    "problems": "problems/",
    "section": "section/?section=products",
    "other pages": "section/?section=products&from=1400",
    "entries": "section/entries/?section=products&number=1",
    "confirmation": "actions/submit/",
    "submissions": "submissions/",
    "workers": "workers/",
    "url": "url/?url=/products/product-00000/",
}

#: Names, and what has the same name in German.
SAME = {
    *("lastmod", "products", "one", "https://example.com"),
    *("Dashboard", "Index", "URL", "URLs", "it broke", "celery", "sitemap.xml"),
}

_LATIN = re.compile("[A-Za-z]{3}")
_URL = re.compile("https?://|/")


@pytest.fixture
def show(client: Any, settings: Any, configure: Any) -> Any:
    """Return what gives a page in a language, as a tree."""
    client.force_login(User.objects.create_superuser("ada"))
    middleware = "django.middleware.locale.LocaleMiddleware"
    settings.MIDDLEWARE = [*settings.MIDDLEWARE, middleware]
    settings.LANGUAGES = [("en", "English"), ("de", "German"), ("he", "Hebrew")]
    settings.USE_THOUSAND_SEPARATOR = True
    configure(ENGINES={"one": ENGINE})

    def show(path: str, language: str) -> Any:
        response = client.get(path, headers={"accept-language": language})
        assert response.status_code == 200
        return html.fromstring(response.content.decode())

    return show


@pytest.fixture
def section(shop: Any) -> Section:
    """Have 1,500 pages, of which 1,266 are to be built and one is parked."""
    section = shop(3)
    section.pages.update(built=1, wanted=0, problems=["Product 1 left out: odd"])
    pages = [Page(section=section, number=n, built=1) for n in range(2, 1_501)]
    for page in pages[233:]:
        page.wanted = 9
    pages[-1].attempts, pages[-1].error = MAX_ATTEMPTS, "it broke"
    Page.objects.bulk_create(pages)
    section.pages.filter(number=1).update(skipped=1_234)
    Section.objects.recount(section.pk)
    now = timezone.now().replace(minute=0, second=0, microsecond=0)
    key = {"site": "default", "name": "products", "hour": now - timedelta(days=1)}
    Figure.objects.create(**key, kind="entries", value=12_345)
    return section


def texts(page: Any) -> set[str]:
    """Return what a person reads or hears of the part that is ours."""
    [ours] = page.xpath("//*[@id='content-main']")
    found = ours.xpath(".//text()[not(ancestor::code)]")
    found += ours.xpath(".//@aria-label | .//@title | .//@data-label")
    words = [re.sub("[\u2068\u2069]", "", " ".join(it.split())) for it in found]
    parts = {part for it in words for part in re.split(r"[:;.]( |$)", it)}
    return {it for it in parts if _LATIN.search(it) and not _URL.match(it)}


@pytest.mark.parametrize(
    ("name", "reason"),
    [*product(PATHS, [FALLEN]), ("problems", BAD), ("problems", WAITING)],
)
@pytest.mark.parametrize("language", ["de", "he"])
def test_no_text_stays_english(show, section, name, language, reason):
    """Save names, and errors of the project."""
    rows = Section.objects.filter(pk=section.pk)
    rows.update(hold_reason=reason, hold_numbers=[45_801, 12])
    index = Page.objects.filter(section__name=INDEX)
    assert index.update(wanted=9, attempts=MAX_ATTEMPTS)
    Worker.objects.note("celery")
    english, found = [
        texts(show(DASHBOARD + PATHS[name], it)) for it in ("en", language)
    ]
    assert {it for it in english & found if it not in SAME} == set()


def test_errors_have_a_direction_of_their_own(show, section):
    """They are English, among words from right to left."""
    for language, words in (("he", "\u2068it broke\u2069"), ("de", ". it broke")):
        page = show(DASHBOARD + PATHS["problems"], language)
        assert words in page.text_content()


def test_numbers_and_times_are_as_readers_write_them(show, section):
    """Those that scripts and bars of progress read have no separators."""
    now = timezone.now()
    Section.objects.update(published_at=now - timedelta(days=3))
    Section.objects.recount(section.pk)
    section.pages.filter(number=999).update(token="a" * 32, claimed_at=now)
    page = show(DASHBOARD, "de")
    words = " ".join(page.text_content().split())
    assert "Aktualisiert: 234 von 1.500" in words
    assert "1.234 Zeilen" in words
    assert "vor\xa03\xa0Tagen" in page.text_content()
    [bar] = page.xpath("//progress")
    assert (bar.get("max"), bar.get("value")) == ("1500", "234")
    page = show(f"{DASHBOARD}section/?section=products", "de")
    day = f"{timezone.localtime() - timedelta(days=1):%d.%m.%Y}"
    [row] = page.xpath(f"//details//tr[th/time[text() = '{day}']]")
    assert row.xpath("td/text()") == ["12.345", "\N{EN DASH}", "\N{EN DASH}"]
    section.pages.filter(number=1).update(number=1_501)
    page = show(f"{DASHBOARD}section/entries/?section=products&number=1501", "de")
    assert page.xpath("//input[@name='number']/@value") == ["1501"]
    assert "Seite 1.501" in page.text_content()


def test_hebrew_is_read_from_right_to_left(show, section):
    """English sentences in it are isolated: their full stops stay at the end."""
    page = show(DASHBOARD, "he")
    assert (page.get("lang"), page.get("dir")) == ("he", "rtl")
    assert page.xpath("//nav[@class='sitemaps-tabs']//a/text()")[0] == "סקירה"
    assert page.xpath("//*[@class='sitemaps-error']/bdi[contains(., 'it broke')]")
    named = "starts-with(., '\u2068products\u2069: ')"
    assert page.xpath(f"//*[contains(@class, 'sitemaps-verdict ')]//bdi[{named}]")


def test_no_words_are_none_in_hebrew():
    """Else an object without a reason would have a line of its own."""
    with translation.override("he"):
        assert shortened("") == ""


@pytest.mark.parametrize(
    ("path", "place"),
    [
        ("", "th[@scope='row']/bdi[. = 'one']"),
        (PATHS["section"], "div[@class='breadcrumbs']/bdi[. = 'products']"),
        (PATHS["entries"], "p/a/bdi[. = 'products']"),
        (PATHS["url"], "p/bdi[. = 'products']"),
        ("url/?url=/products/product-00001", "p/bdi[contains(., 'product-00001')]"),
    ],
)
def test_names_have_a_direction_of_their_own(show, products, path, place):
    """Also within sentences."""
    exclude(products[0], by="bob")
    assert show(DASHBOARD + path, "he").xpath(f"//{place}")


def test_reasons_are_in_the_language_of_the_reader(products, settings, capsys):
    """Rendering has the language of the settings; what commands say stays English."""
    product = products[3]
    exclude(product, by="ada")
    settings.LANGUAGE_CODE = "en"
    with translation.override("de"):
        [lead] = explain_object(product, get_site()).rows
        call_command("explain_url", f"/products/{product.slug}/")
    assert lead.reasons[0].startswith("ausgeschlossen von ada seit ")
    assert "Left out: excluded by ada since" in capsys.readouterr().out


def test_workers_that_do_not_answer(monkeypatch):
    asked = nullcontext(SimpleNamespace(registered=dict))
    monkeypatch.setattr(tasks, "_inspection", lambda: asked)
    with translation.override("de"):
        [(fault, remedy)] = tasks.CeleryExecutor().worker_faults()
    assert fault == "Kein Worker antwortet innerhalb von 2 s."
    assert remedy == "Starten Sie einen: celery -A PROJECT worker."


def test_the_doctor_says_in_english_how_rows_are_read(products, settings, capsys):
    settings.LANGUAGE_CODE = "de"
    with translation.override("de"), suppress(CommandError):
        call_command("sitemap_doctor")
    words = capsys.readouterr().out
    assert ("columns; " in words, "Spalten" in words) == (True, False)
