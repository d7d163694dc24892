"""Every action of the dashboard: its button, what it asks, says, changes and logs."""

from __future__ import annotations

from typing import Any

import pytest

from .walk import DASHBOARD

PARKED = "SELECT parked_reason FROM sitemaps_plus_enginehost WHERE engine = '{}'"
SECTION = "SELECT {} FROM sitemaps_plus_section WHERE name = '{}'"
DIRTY = """
SELECT count(*) FROM sitemaps_plus_page JOIN sitemaps_plus_section section
ON section.id = section_id WHERE is_dirty = 1 AND section.name = '{}'
"""
DEAD = "SELECT count(*) FROM sitemaps_plus_delivery WHERE dead_since IS NOT NULL"
LOG = "SELECT change_message FROM django_admin_log ORDER BY id"
CITY = "/admin/atlas/city/3/change/"


def said(page: Any) -> str:
    """Return the message that the page shows."""
    text: str = page.locator(".messagelist li").inner_text()
    return text


def assert_logged(site: Any, page: Any, what: str, target: str) -> None:
    """Assert that the log of the admin has an action, and its index shows it."""
    assert site.rows(LOG) == [(f"{what} ({site.base_url})",)]
    page.goto("/admin/")
    [entry] = page.locator("#recent-actions-module li").all_inner_texts()
    assert target in entry


@pytest.mark.parametrize(
    ("what", "query", "expected", "command"),
    [
        ("Rebuild: countries", DIRTY.format("countries"), 1, "build_sitemaps"),
        (
            "Let it pass: harbours",
            SECTION.format("may_shrink", "harbours"),
            1,
            "build_sitemaps",
        ),
        ("Pause: console", PARKED.format("console"), "paused by ada", ""),
        ("Retry: indexnow", DEAD, 0, "notify_search_engines"),
    ],
    ids=["rebuild", "release", "pause", "retry"],
)
def test_what_matters_is_asked_first(visit, site, what, query, expected, command):
    """Cancel changes nothing; the page says what to run where no worker listens."""
    label, _, target = what.partition(": ")
    page, before = visit(DASHBOARD), site.rows(query)
    page.get_by_role("link", name=what).click()
    page.get_by_role("link", name="Cancel").click()
    page.wait_for_url(DASHBOARD)
    assert site.rows(query) == before != [(expected,)]
    page.get_by_role("link", name=what).click()
    page.get_by_role("heading", name=what).wait_for()
    page.get_by_role("main").get_by_role("button", name=label).click()
    assert said(page).startswith(f"{what}: ")
    assert command in said(page)
    assert site.rows(query) == [(expected,)]
    assert_logged(site, page, what, target)


@pytest.mark.parametrize(
    ("what", "query", "expected"),
    [
        # Workers look at once; without any there is nothing to note.
        ("Refresh: countries", DIRTY.format("countries"), 0),
        ("Resume: bing", PARKED.format("bing"), ""),
    ],
    ids=["refresh", "resume"],
)
def test_what_harms_nobody_is_done_at_once(visit, site, what, query, expected):
    page = visit(DASHBOARD)
    page.get_by_role("button", name=what).click()
    assert said(page).startswith(f"{what}: noted. No workers listen, so run: ")
    assert site.rows(query) == [(expected,)]
    assert_logged(site, page, what, what.partition(": ")[2])


def test_urls_are_submitted_to_every_engine_that_takes_some(visit, site):
    """Those of other sites are refused, and can be corrected."""
    page = visit(DASHBOARD)
    page.get_by_role("link", name="Submit URLs").click()
    field = page.get_by_label("URLs")
    field.fill("/about/\nhttps://elsewhere.example/")
    page.get_by_role("button", name="Submit URLs").click()
    page.locator(".errorlist").wait_for()
    field.fill("/about/")
    page.get_by_role("button", name="Submit URLs").click()
    url = f"{site.base_url}/about/"
    assert said(page).startswith(f"Submit URLs: {url}: noted.")
    rows = site.rows(
        "SELECT engine, target FROM sitemaps_plus_delivery WHERE state = 1"
    )
    assert [engine for engine, target in rows if target == url] == ["bing", "indexnow"]
    assert_logged(site, page, f"Submit URLs: {url}", site.base_url)


def test_the_overview_follows_a_build_by_itself(visit, site):
    """A held section that may pass is built; nobody loads the page again."""
    page = visit(DASHBOARD)
    page.clock.install()
    page.goto(f"{DASHBOARD}actions/release/?section=harbours")
    page.get_by_role("main").get_by_role("button", name="Let it pass").click()
    progress = page.locator(".sitemaps-progress").filter(has_text="harbours")
    progress.wait_for()
    page.evaluate("window.isTheSame = true")
    site.manage("build_sitemaps", "harbours", "--verbosity", "0")
    assert site.rows(SECTION.format("hold_reason", "harbours")) == [("",)]
    page.clock.fast_forward(6_000)
    progress.wait_for(state="detached")
    assert "harbours" not in page.locator(".sitemaps-verdicts").inner_text()
    row = page.get_by_role("row").filter(has_text="harbours")
    assert "up to date" in row.inner_text()
    assert "Let it pass" not in row.inner_text()
    assert page.evaluate("window.isTheSame")


def test_a_button_that_has_the_focus_stays(visit, site):
    """What a user is about to press is not replaced; all else is."""
    page = visit(DASHBOARD)
    page.clock.install()
    page.goto(DASHBOARD)
    button = page.get_by_role("link", name="Rebuild: towns")
    button.focus()
    page.evaluate("document.querySelector('[data-part=running]').innerHTML = ''")
    page.clock.fast_forward(6_000)
    page.locator(".sitemaps-verdicts").wait_for()
    assert page.evaluate("document.activeElement.innerText") == "Rebuild"


def test_a_city_leaves_the_sitemap_and_comes_back(visit, site):
    """By the panel on its own page, and a build for each."""
    page = visit(CITY)
    panel = page.get_by_role("region", name="Sitemap")
    listed = panel.get_by_text("Listed", exact=True)
    listed.wait_for()
    url = panel.locator(".sitemaps-listings a").first.get_attribute("href")
    panel.get_by_label("Reason").fill("It has moved")
    panel.get_by_role("button", name="Exclude from sitemaps").click()
    panel.get_by_role("status").filter(has_text="Excluded from sitemaps").wait_for()
    assert page.url == f"{site.base_url}{CITY}"
    assert is_listed(site, url)  # until the build
    build(site)
    assert not is_listed(site, url)
    page.goto("/admin/sitemaps_plus/exclusion/")
    page.get_by_role("cell", name="It has moved").wait_for()
    page.get_by_role("link", name="city 3").click()
    panel.get_by_role("button", name="List it again").click()
    panel.get_by_role("button", name="Exclude from sitemaps").wait_for()
    build(site)
    assert is_listed(site, url)
    page.reload()
    listed.wait_for()
    assert site.rows(LOG) == [
        ("Excluded from sitemaps: It has moved",),
        ("Listed again",),
    ]


def build(site: Any) -> None:
    """Build the section of cities, as a cron job does."""
    site.manage("build_sitemaps", "cities", "--verbosity", "0")


def is_listed(site: Any, url: str) -> bool:
    """Return whether the sitemap of cities lists a URL."""
    found: bytes = site.get("/sitemap-cities-1.xml").content
    return f"<loc>{url}</loc>".encode() in found
