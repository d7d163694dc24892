"""T20: whatever engines, errors and editors say stays text on every page."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pytest
from django.db import transaction
from prometheus_client.openmetrics.parser import text_string_to_metric_families

import django_sitemaps_plus
from django_sitemaps_plus.diagnostics.metrics import METRICS
from django_sitemaps_plus.models import Exclusion, Page, Section
from django_sitemaps_plus.testing import temporary_registry

from .tools.hostile import HOSTILE, Markup, storable
from .tools.hostile_rows import FEEDS, Small, engine_names, fill, names
from .tools.shop import add

pytestmark = pytest.mark.django_db

ADMIN = "/admin/sitemaps_plus/"
DASHBOARD = f"{ADMIN}dashboard/"
EXCLUSIONS = f"{ADMIN}exclusion/"
PANEL = "/admin/testapp/product/1/sitemap/"

#: Strings on one page.
AT_ONCE = 90

PARTS = [HOSTILE[at : at + AT_ONCE] for at in range(0, len(HOSTILE), AT_ONCE)]
HARMLESS = [f"word {number}" for number in range(AT_ONCE)]


def pages(client: Any, strings: Sequence[str]) -> dict[str, str]:
    """Return the HTML of all pages that show what is filled in."""
    section, engine = names(strings)[0], engine_names(strings)[0]
    queries = {
        "changelist": f"{DASHBOARD}?",
        "running": f"{DASHBOARD}running/?",
        "section": f"{DASHBOARD}section/?{urlencode({'section': section})}",
        "errors": f"{DASHBOARD}section/?section=products",
        "found": f"{DASHBOARD}section/?section=urls&q=example",
        "problems": f"{DASHBOARD}problems/?",
        "workers": f"{DASHBOARD}workers/?",
        "url": f"{DASHBOARD}url/?{urlencode({'url': strings[0]})}",
        "submissions": f"{DASHBOARD}submissions/?state=rejected",
        "submission": f"{DASHBOARD}submissions/?{urlencode({'q': strings[0]})}",
        "entries": f"{DASHBOARD}section/entries/?section=urls&number=1",
        "exclusions": f"{EXCLUSIONS}?",
        "exclusions found": f"{EXCLUSIONS}?{urlencode({'q': strings[0]})}",
        "panel": f"{PANEL}?part",
        "page of the panel": PANEL,
        "object": PANEL.replace("sitemap", "change"),
        "pause": f"{DASHBOARD}actions/pause/?{urlencode({'engine': engine})}",
    }
    answers = {name: client.get(url) for name, url in queries.items()}
    keys = [*Exclusion.objects.values_list("pk", flat=True)]
    data = {"action": "delete_selected", "_selected_action": keys}
    answers["to be deleted"] = client.post(EXCLUSIONS, data)
    assert {it.status_code for it in answers.values()} == {200}
    return {name: it.content.decode() for name, it in answers.items()}


@pytest.fixture
def shown(settings: Any, admin_client: Any, quiet: None) -> Any:
    """Return what gives the pages that show some strings."""
    settings.ROOT_URLCONF = "tests.reliability.test_permissions"

    def shown(strings: Sequence[str]) -> dict[str, Markup]:
        with transaction.atomic(), temporary_registry() as sections:
            fill(strings, settings, sections)
            found = pages(admin_client, strings)
            transaction.set_rollback(True)
        return {name: Markup(page) for name, page in found.items()}

    return shown


@pytest.fixture(scope="module")
def usual() -> dict[str, Markup]:
    """Have a place for the pages with other words, which are the same each time."""
    return {}


def test_there_are_200_strings():
    """All different."""
    assert len({*HOSTILE}) == len(HOSTILE) >= 200


def words_of(text: str) -> str:
    return " ".join(text[:150].split())


@pytest.mark.parametrize("part", range(len(PARTS)))
def test_strings_stay_text(part, shown, usual):
    """No page has a tag, an attribute or a scheme that it has not with other words."""
    strings = storable(PARTS[part])
    usual.update(usual or shown(HARMLESS))
    found = shown(strings)
    added = {name: it.parts - usual[name].parts for name, it in found.items()}
    for name in ("changelist", "running"):  # a command where there is no button
        added[name] -= {("code",), ("code", "dir")}
    assert {name: it for name, it in added.items() if it} == {}
    for name in ("changelist", "errors", "problems", "exclusions", "panel"):
        text = " ".join(found[name].texts.split())
        assert [it for it in strings if words_of(it) not in text] == [], name
    assert "%3C" in found["entries"].texts


#: Where a request may say what it will.
ASKED = {
    "q": f"{DASHBOARD}section/entries/?section=products&number=1&q=",
    "search": f"{EXCLUSIONS}?q=",
    "engine": f"{DASHBOARD}actions/pause/?engine=",
    "section": f"{DASHBOARD}section/?section=",
}

#: Where it may not.
REFUSED = [
    f"{DASHBOARD}section/?section=products&site=",
    f"{DASHBOARD}section/entries/?section=products&number=",
    f"{DASHBOARD}section/?section=products&from=",
    f"{DASHBOARD}actions/release/?section=",
]


@pytest.mark.parametrize("name", ASKED)
def test_what_requests_say_stays_text(name, configure, sections, admin_client, quiet):
    """Or is refused: each string is in one of the parameters."""
    at = [*ASKED].index(name)
    strings = storable(HOSTILE)[at :: len(ASKED)]
    if name == "engine":
        strings = engine_names(strings)
    elif name == "search":  # Django refuses these
        strings = [it for it in strings if "\x00" not in it]
    elif name != "q":
        strings = names(strings)
    configure(ENGINES=dict.fromkeys(["word", *strings], FEEDS))
    sections.register("products", Small)
    add([1])
    for section in ["word", *names(strings)]:
        Section.objects.create(site="default", name=section).pages.create(number=1)
    usual = Markup(admin_client.get(f"{ASKED[name]}word").text)
    for it in strings:
        answer = admin_client.get(ASKED[name] + quote(it))
        found = Markup(answer.text)
        assert (answer.status_code, found.parts - usual.parts) == (200, set())
        assert it.strip() in found.texts
        refused = REFUSED[at % len(REFUSED)] + quote(it)
        assert admin_client.get(refused).status_code == 404


def test_urls_that_cannot_be_submitted_stay_text(admin_client):
    """What is said of each quotes it."""
    submit = f"{DASHBOARD}actions/submit/"
    usual = Markup(admin_client.post(submit, {"urls": "//"}).text)
    for it in HOSTILE[::6]:
        found = Markup(admin_client.post(submit, {"urls": f"x://{it}"}).text)
        assert found.parts - usual.parts == set()


def test_names_of_sites_stay_text(configure, sections, admin_client, quiet):
    """On every page, with one section and one engine each."""
    found = []
    engine = FEEDS
    sections.register("products", Small)
    add([1])
    strings = engine_names(storable(HOSTILE))[::8]
    for words in (HARMLESS[: len(strings)], strings):
        origins = [f"https://s{number}.example" for number in range(len(words))]
        sites = {it: {"BASE_URL": o} for it, o in zip(words, origins, strict=True)}
        configure(SITES=sites, BASE_URL=None, ENGINES={"one": engine})
        Section.objects.all().delete()
        for it in words:
            row = Section.objects.create(site=it, name="products", hold_reason="x")
            Page.objects.create(section=row, number=1, wanted=2, error="x")
        query = urlencode({"site": words[0], "section": "products"})
        urls = ["", "running/", "problems/", "submissions/", f"section/?{query}"]
        urls += [f"section/entries/?{query}&number=1", f"actions/release/?{query}"]
        answers = [admin_client.get(f"{DASHBOARD}{url}") for url in urls]
        assert [it.status_code for it in answers] == [200] * len(urls)
        found.append([Markup(it.text) for it in answers])
    usual, hostile = found
    for url, one, other in zip(urls, usual, hostile, strict=True):
        assert (url, other.parts - one.parts) == (url, set())
    assert all(it in hostile[0].texts for it in strings)


def test_programs_get_what_is_no_page(settings, sections, admin_client, quiet):
    """JSON, and metrics in which no string makes a line or a label."""
    strings = storable(HOSTILE)
    fill(strings[-AT_ONCE:], settings, sections)
    answer = admin_client.get("/monitoring/health/")
    assert answer.headers["Content-Type"] == "application/json"
    assert set(answer.json()) == {"status", "problems", "ids"}
    text = admin_client.get("/monitoring/metrics/").text
    samples = [
        sample
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    ]
    assert {it.name for it in samples} <= {metric.name for metric in METRICS}
    assert {key for it in samples for key in it.labels} == {"site", "section", "engine"}
    engines = {it.labels["engine"] for it in samples if "engine" in it.labels}
    assert engines == {*engine_names(strings[-AT_ONCE:])}
    found = [it.labels["site"] for it in samples if it.name.endswith("_site_ok")]
    assert found == ["default"]
    assert text.count("\n# EOF\n") == 1


#: What makes elements of a text.
_MAKES_HTML = re.compile(
    r".*(?:innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|srcdoc"
    r"|setHTML|createContextualFragment|\beval\b|new Function).*"
)


def test_scripts_make_no_elements_of_data():
    """But of what the server has rendered as HTML."""
    static = Path(django_sitemaps_plus.__file__).parent / "static/sitemaps_plus"
    scripts = [*static.glob("*.js"), *static.glob("admin/*.js")]
    found = [line for it in scripts for line in _MAKES_HTML.findall(it.read_text())]
    assert len(scripts) >= 2
    assert len(found) == 2
    assert all(it.endswith(".innerHTML = await answer.text();") for it in found)
