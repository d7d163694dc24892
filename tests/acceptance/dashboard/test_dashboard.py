"""The dashboard as a person sees and reads it, and every action of it."""

import os
from typing import Any

import pytest

from tests.acceptance.browser.looking import SCHEMES, opened

from .walk import DASHBOARD, PAGES, Walk, axe

PARKED = "SELECT parked_reason FROM sitemaps_plus_enginehost WHERE engine = '{}'"
SECTION = "SELECT {} FROM sitemaps_plus_section WHERE name = '{}'"
DIRTY = """
SELECT count(*) FROM sitemaps_plus_page JOIN sitemaps_plus_section section
ON section.id = section_id WHERE is_dirty = 1 AND section.name = '{}'
"""
DEAD = "SELECT count(*) FROM sitemaps_plus_delivery WHERE dead_since IS NOT NULL"
LOG = "SELECT change_message FROM django_admin_log ORDER BY id"
CITY = "/admin/atlas/city/3/change/"


@pytest.mark.parametrize(
    ("query", "selector"),
    [("", ".sitemaps-spark svg"), ("section/?section=pages", "figure svg")],
)
def test_each_trend_shows_something(visit, query, selector):
    """Also the trend of a single day, and the one of a day that has none."""
    page = visit(f"{DASHBOARD}{query}")
    page.locator(selector).first.wait_for()
    for svg in page.locator(selector).all():
        shown = svg.screenshot()
        svg.evaluate("it => it.querySelector('path').remove()")
        assert svg.screenshot() != shown


@pytest.mark.parametrize(
    ("size", "schemes"),
    [("desktop", SCHEMES), ("phone", SCHEMES)]
    if "SOAK" in os.environ
    else [("desktop", ["light"]), ("phone", ["dark"])],
)
def test_no_page_has_a_fault(browser, site, size, schemes):
    """No error, no request elsewhere, nothing inline, nothing that axe-core minds."""
    with opened(browser, size) as context:
        context.add_cookies([site.cookie("ada")])
        page, shots = context.new_page(), site.directory / size
        walk = Walk(page, site.base_url, axe(), shots, schemes)
        found = [f"{name}: {it}" for name in PAGES for it in walk.faults(name)]
    assert not found, "\n".join(found)


def texts(page: Any, selector: str) -> list[str]:
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def has_focus(element: Any) -> bool:
    found: bool = element.evaluate("it => it === document.activeElement")
    return found


class TestOverview:
    def test_the_index_leads_to_the_verdicts(self, visit):
        """Whether all is complete, fresh and taken up, and what is not."""
        page = visit("/admin/")
        page.get_by_role("main").get_by_role("link", name="Dashboard").first.click()
        page.locator(".sitemaps-verdicts").wait_for()
        assert texts(page, ".sitemaps-verdict strong, .sitemaps-state") == [
            *("Django answers", "Yes"),
            *("Complete", "No"),
            *("Up to date", "Soon"),
            *("Engines told", "No"),
        ]
        [_answers, complete, _fresh, taken_up] = texts(page, ".sitemaps-verdict")
        assert "harbours: It waits for your approval" in complete
        assert "bing: Not notified" in taken_up
        row = page.get_by_role("row").filter(
            has=page.get_by_role("rowheader", name="harbours")
        )
        assert "it would fall from" in row.inner_text()
        page.get_by_role("link", name="more").click()
        page.get_by_role("heading", name="Search engines (2)").wait_for()
        page.get_by_role("link", name="Gomīshān").first.click()
        page.wait_for_url("/admin/atlas/city/17/change/")

    def test_a_problem_is_copied(self, visit):
        rights = ["clipboard-read", "clipboard-write"]
        page = visit(f"{DASHBOARD}problems/", permissions=rights)
        page.get_by_role("button", name="Copy").first.click()
        page.get_by_role("button", name="Copied").wait_for()
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied.startswith("section_held\nharbours: ")
        assert copied.endswith("manage.py build_sitemaps harbours --allow-shrink")

    def test_without_scripts_everything_can_be_read(self, visit, site):
        """The overview, the problems, and whether an object is listed."""
        page = visit(DASHBOARD, java_script_enabled=False)
        assert len(texts(page, ".sitemaps-verdict")) == 4
        page.get_by_role("link", name="Ask the workers").click()
        page.get_by_text("No workers").wait_for()
        page.goto(f"{DASHBOARD}problems/")
        assert len(texts(page, ".sitemaps-problem")) > 5
        assert not page.get_by_text("Copy", exact=True).first.is_visible()
        page.goto(CITY)
        page.get_by_role("link", name="Show whether this is in the sitemap").click()
        page.get_by_text("Listed", exact=True).wait_for()
        page.get_by_role("button", name="Exclude from sitemaps").click()
        page.get_by_text("until the next build").wait_for()
        assert page.url == f"{site.base_url}/admin/atlas/city/3/sitemap/"

    def test_an_editor_who_may_look_can_do_nothing_else(self, visit, site):
        """No button; what is asked for all the same is refused, with a valid token."""
        statuses = {}
        for user in ("ada", "vera"):
            page = visit(DASHBOARD, user)
            [token] = [
                cookie["value"]
                for cookie in page.context.cookies()
                if cookie["name"] == "csrftoken"
            ]
            url = f"{site.base_url}{DASHBOARD}actions/rebuild/?section=towns"
            asked = page.request.get(url)
            form = {"section": "towns", "csrfmiddlewaretoken": token}
            acted = page.request.post(url, form=form)
            buttons = page.locator(".sitemaps-actions :is(button, .button)").count()
            statuses[user] = (buttons > 0, asked.status, acted.status)
        assert statuses == {"ada": (True, 200, 200), "vera": (False, 403, 403)}


class TestSection:
    def test_by_keyboard_to_a_page_an_entry_and_the_live_url(self, visit, site):
        page = visit(DASHBOARD)
        page.get_by_role("link", name="towns", exact=True).click()
        page.get_by_role("heading", name="towns", exact=True, level=1).wait_for()
        link = page.get_by_role("link", name="page 9", exact=True)
        for _ in range(120):
            if has_focus(link):
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/section/entries/?**")
        page.get_by_role("heading", name="towns: page 9", level=1).wait_for()
        links = page.locator(".sitemaps-entries a")
        count, wanted = links.count(), links.last.get_attribute("href")
        page.get_by_label("Text in the URL").fill(wanted)
        page.keyboard.press("Enter")
        page.get_by_text(f"1 of {count} entries").wait_for()
        links.click()
        page.wait_for_url(wanted)
        assert site.get(wanted).status_code == 200

    def test_each_page_says_how_it_is(self, visit):
        """In words, and with the error where there is one; also without scripts."""
        page = visit(f"{DASHBOARD}section/?section=towns", java_script_enabled=False)
        said = {}
        for number in (8, 9, 12, 21, 22):
            row = page.get_by_role("row").filter(
                has=page.get_by_role("rowheader", name=f"page {number}", exact=True)
            )
            said[number] = row.get_by_role("cell").last.inner_text().split("\n")
        assert {number: words[0] for number, words in said.items()} == {
            8: "up to date",
            9: "to build",
            12: "being built",
            21: "gave up after 5 attempts",
            22: "failed, is tried again",
        }
        assert said[21][1].startswith("OperationalError: could not read")
        page.get_by_text("The numbers").click()
        assert page.locator(".sitemaps-trends + details tbody tr").count() == 30


def said(page: Any) -> str:
    text: str = page.locator(".messagelist li").inner_text()
    return text


def choose(page: Any, role: str, what: str) -> None:
    """Choose an action from the menu of a section or an engine."""
    page.get_by_label(f"Actions: {what.partition(': ')[2]}").click()
    page.locator(".sitemaps-menu").get_by_role(role, name=what).click()


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
    choose(page, "link", what)
    page.get_by_role("link", name="Cancel").click()
    page.wait_for_url(DASHBOARD)
    assert site.rows(query) == before != [(expected,)]
    choose(page, "link", what)
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
        ("Update: countries", DIRTY.format("countries"), 0),
        ("Resume: bing", PARKED.format("bing"), ""),
    ],
    ids=["refresh", "resume"],
)
def test_what_harms_nobody_is_done_at_once(visit, site, what, query, expected):
    page = visit(DASHBOARD)
    choose(page, "button", what)
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
    row = page.get_by_role("row").filter(has_text="harbours")
    row.get_by_text("it would fall from").wait_for()
    page.evaluate("window.isTheSame = true")
    site.manage("build_sitemaps", "harbours", "--verbosity", "0")
    assert site.rows(SECTION.format("hold_reason", "harbours")) == [("",)]
    page.clock.fast_forward(6_000)
    row.get_by_text("Rows left out: 1").wait_for()
    assert "harbours" not in page.locator(".sitemaps-verdicts").inner_text()
    assert "Let it pass" not in row.inner_text()
    assert page.evaluate("window.isTheSame")


def test_a_button_that_has_the_focus_stays(visit, site):
    """What a user is about to press is not replaced; all else is."""
    page = visit(DASHBOARD)
    page.clock.install()
    page.goto(DASHBOARD)
    page.get_by_label("Actions: towns").click()
    page.get_by_role("link", name="Rebuild: towns").focus()
    page.evaluate("document.querySelector('[data-part=running]').innerHTML = ''")
    page.clock.fast_forward(6_000)
    page.locator(".sitemaps-verdicts").wait_for()
    assert page.evaluate("document.activeElement.innerText") == "Rebuild"
    page.keyboard.press("Escape")
    page.get_by_role("region", name="Sections").focus()
    page.evaluate("document.querySelector('[data-part=tables] h2').remove()")
    page.evaluate("document.querySelector('[data-part=running]').innerHTML = ''")
    page.clock.fast_forward(6_000)
    page.locator(".sitemaps-verdicts").wait_for()
    assert page.evaluate("document.activeElement.ariaLabel") == "Sections"


def test_escape_closes_a_menu(visit):
    """The focus goes back to what has opened it."""
    page = visit(DASHBOARD)
    menu = page.get_by_label("Actions: towns")
    menu.click()
    button = page.get_by_role("button", name="Update: towns")
    button.focus()
    page.keyboard.press("Escape")
    assert has_focus(menu)
    assert not button.is_visible()


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
    row = page.get_by_role("row").filter(has_text="It has moved")
    row.get_by_role("link").click()
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
    site.manage("build_sitemaps", "cities", "--verbosity", "0")


def is_listed(site: Any, url: str) -> bool:
    found: bytes = site.get("/sitemap-cities-1.xml").content
    return f"<loc>{url}</loc>".encode() in found
