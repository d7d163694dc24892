"""The plots: charts that a script draws from the tables beneath them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from django.utils import timezone
from lxml import html

from django_sitemaps_plus.models import Figure, Page, Section
from tests.support.configuring import configure

pytestmark = pytest.mark.django_db

NOW = datetime(2026, 11, 25, 15, 20, tzinfo=UTC)
HOUR = NOW.replace(minute=0)
DASH = "\N{EN DASH}"

#: A number as a chart reads it, and as it is shown; those of a line, newest first.
Cells = list[tuple[str | None, str]]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the time be NOW."""
    monkeypatch.setattr(timezone, "now", lambda: NOW)


@pytest.fixture
def show(client: Any) -> Any:
    """Return what gives the page as a tree, or the status that it has."""
    client.force_login(User.objects.create(is_staff=True, is_superuser=True))

    def show(**values: str) -> Any:
        url = reverse("admin:sitemaps_plus_dashboard_plots")
        response = client.get(f"{url}?{urlencode(values)}")
        if response.status_code != 200:
            return response.status_code
        return html.fromstring(response.content.decode())

    return show


def figure(hours: float, kind: str, value: float, **others: Any) -> None:
    """Add a figure of some hours ago."""
    key = {"site": "default", "name": "products", "kind": kind, **others}
    Figure.objects.create(**key, hour=HOUR - timedelta(hours=hours), value=value)


@pytest.fixture
def history() -> None:
    """Have two sections, and one engine that is notified of them."""
    for number, name in enumerate(("products", "others"), 1):
        section = Section.objects.create(site="default", name=name)
        Page.objects.create(section=section, number=1, index_position=number)
    figure(1, "entries", 12_345)
    figure(0, "entries", 7, name="others")
    figure(1, "pages", 9)
    figure(1, "builds", 2)
    figure(0, "pages", 4, name="others")
    figure(1, "accepted", 1_200, name="bing", bucket=60)
    figure(0, "failed", 3, name="bing")


def lines(page: Any, name: str) -> dict[str, Cells]:
    """Return the columns of the table of a chart."""
    (table,) = page.xpath(f"//details/div/table[@data-plot='{name}']")
    names = [cell.text for cell in table.xpath("thead/tr/th[@scope='col']")]
    rows = [
        [(cell.get("data-value"), cell.text_content()) for cell in row]
        for row in table.xpath("tbody/tr")
    ]
    return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))


def test_numbers_are_in_tables_from_which_they_are_drawn(show, history):
    """The newest first; numbers as the script reads them, and as a person does."""
    page = show()
    found = lines(page, "entries")
    assert found["products"][:3] == [("12345.0", "12,345")] * 2 + [(None, DASH)]
    assert found["others"][:2] == [("7.0", "7"), (None, DASH)]
    assert lines(page, "pages")["Pages"][:2] == [("4.0", "4"), ("4.5", "4.5")]
    found = lines(page, "deliveries")
    assert found["Accepted"][:3] == [("0", "0"), ("1200.0", "1,200"), ("0", "0")]
    assert found["Failed, tried again"][0] == ("3.0", "3")
    assert lines(page, "delays")["Median"][1] == ("45.0", "45")
    times = page.xpath("//table[@data-plot='entries']/tbody/tr/th[@scope='row']/time")
    assert times[0].get("datetime") == "2026-11-25T15:00:00+00:00"
    assert times[0].text == "11/25/2026 4 p.m."  # in Berlin, which the script hears of
    assert page.xpath("//@data-zone") == ["Europe/Berlin"]


def test_the_script_reads_numbers_in_any_language(show, history, settings):
    settings.LANGUAGE_CODE = "de"
    (number, *_) = show().xpath("//table[@data-plot='pages']//td[text() = '4,5']")
    assert number.get("data-value") == "4.5"


def test_charts_say_what_they_show(show, history):
    """Each with its latest number, for those who do not see it."""
    labels = show().xpath("//*[@role='img']/@aria-label")
    assert labels == [
        "Entries. Latest: products: 12,345, others: 7",
        "Pages per build. Latest: Pages: 4",
        "Deliveries per hour. Latest: Accepted: 0, Rejected: 0, Failed, tried again: 3",
        "Delay from commit to delivery. Latest: Median: 45 seconds, 95 %: 58.5 seconds",
    ]


def test_without_figures_it_says_what_makes_some(show):
    page = show()
    hints = page.xpath("//section/h2/following-sibling::p/text()")
    assert [hint.partition(": each ")[2].split()[0] for hint in hints] == [
        *["build"] * 3,
        *["submission"] * 2,
    ]
    assert page.xpath("//*[@role='img']") == []


@pytest.mark.parametrize(
    ("span", "rows", "title"),
    [
        ("24h", 24, "Deliveries per hour"),
        ("7d", 168, "Deliveries per hour"),
        ("30d", 120, "Deliveries per 6 hours"),
    ],
)
def test_a_range_is_chosen(show, history, span, rows, title):
    page = show(range=span)
    assert len(lines(page, "entries")["From"]) == rows
    assert page.xpath("//h2[@id='plot-deliveries']/text()") == [title]
    assert page.xpath("//option[@selected]/@value") == [span]


def test_a_section_is_chosen(show, history):
    """Deliveries stay those of all, and say so."""
    page = show(section="others")
    options = page.xpath("//select[@name='section']/option/text()")
    assert options == ["All sections", "others", "products"]
    assert list(lines(page, "entries")) == ["From", "others"]
    assert lines(page, "pages")["Pages"][:2] == [("4.0", "4"), (None, DASH)]
    assert lines(page, "deliveries")["Accepted"][1] == ("1200.0", "1,200")
    assert len(page.xpath("//p[starts-with(text(), 'Of all sections')]")) == 2


def test_a_site_is_chosen(show, history, settings):
    origins = {"default": "https://example.com", "blog": "https://blog.example"}
    sites = {name: {"BASE_URL": origin} for name, origin in origins.items()}
    configure(settings, BASE_URL=None, SITES=sites)
    figure(0, "entries", 5, site="blog", name="posts")
    page = show(site="blog")
    assert list(lines(page, "entries")) == ["From", "posts"]
    assert page.xpath("//select[@name='site']/option[@selected]/@value") == ["blog"]


def test_without_a_site_it_says_what_is_wrong(show, settings):
    configure(settings, BASE_URL=None, SITES={"blog": {}})
    page = show()
    assert "blog" in page.xpath("string(//p[@class='errornote'])")
    assert page.xpath("//script[contains(@src, 'plots')]") == []


@pytest.mark.parametrize("name", ["range", "section", "site"])
def test_what_is_not_there_is_not_found(show, history, name):
    assert show(**{name: "1<script>"}) == 404
    assert show(**{name: ""}).xpath("//table")
