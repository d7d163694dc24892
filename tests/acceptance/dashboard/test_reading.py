"""What a person reads on the dashboard: by mouse, by keyboard, without scripts."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from .walk import DASHBOARD

CITY = "/admin/atlas/city/3/"


def texts(page: Any, selector: str) -> list[str]:
    """Return the texts of elements."""
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


def details(page: Any) -> tuple[str, str]:
    """Return number and state of the page that the map shows."""
    found = [
        page.locator(f"[data-detail={name}]").inner_text()
        for name in ("number", "state")
    ]
    return (found[0], found[1])


def open_map(visit: Any, **options: Any) -> tuple[Any, Any]:
    """Open the map of the towns; return the page and the strip on it."""
    page = visit(f"{DASHBOARD}map/?section=towns", **options)
    strip = page.get_by_role("slider", name="Pages of towns")
    strip.wait_for()
    return page, strip


def has_focus(element: Any) -> bool:
    """Return whether keys go to an element."""
    found: bool = element.evaluate("it => it === document.activeElement")
    return found


class TestOverview:
    def test_the_index_leads_to_the_verdicts(self, visit):
        """Whether all is complete, fresh and taken up, and what is not."""
        page = visit("/admin/")
        page.get_by_role("main").get_by_role("link", name="Dashboard").first.click()
        page.locator(".sitemaps-verdicts").wait_for()
        assert texts(page, ".sitemaps-verdict strong, .sitemaps-state") == [
            *("Complete", "No"),
            *("Fresh", "Look at it"),
            *("Taken up", "No"),
        ]
        [complete, _fresh, taken_up] = texts(page, ".sitemaps-verdict")
        assert "Held by the guard: harbours" in complete
        assert "Not notified: bing" in taken_up
        row = page.get_by_role("row").filter(
            has=page.get_by_role("rowheader", name="harbours")
        )
        assert "it would fall from" in row.inner_text()
        page.get_by_role("link", name="problems need a person").click()
        page.get_by_role("heading", name="Search engines (4)").wait_for()
        page.get_by_role("link", name="City 17").first.click()
        page.wait_for_url("/admin/atlas/city/17/change/")

    def test_without_scripts_everything_can_be_read(self, visit, site):
        """The overview, the problems, and whether an object is listed."""
        page = visit(DASHBOARD, java_script_enabled=False)
        assert len(texts(page, ".sitemaps-verdict")) == 3
        page.get_by_role("link", name="Ask the workers").click()
        page.get_by_text("No workers").wait_for()
        page.goto(f"{DASHBOARD}problems/")
        assert len(texts(page, ".sitemaps-problem")) > 5
        page.goto(f"{CITY}change/")
        page.get_by_role("link", name="Show whether this is in the sitemap").click()
        page.get_by_text("Listed", exact=True).wait_for()
        page.get_by_role("button", name="Exclude from sitemaps").click()
        page.get_by_text("until the next build").wait_for()
        assert page.url == f"{site.base_url}{CITY}sitemap/"

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
            buttons = page.locator(".sitemaps :is(button, .button)").count()
            statuses[user] = (buttons > 0, asked.status, acted.status)
        assert statuses == {"ada": (True, 200, 200), "vera": (False, 403, 403)}


class TestMap:
    def test_by_keyboard_to_a_page_an_entry_and_the_live_url(self, visit, site):
        page, strip = open_map(visit)
        for _ in range(60):
            if has_focus(strip):
                break
            page.keyboard.press("Tab")
        for _ in range(8):
            page.keyboard.press("ArrowRight")
        assert details(page) == ("9", "dirty")
        assert strip.get_attribute("aria-valuetext").startswith("Page 9, dirty")
        page.keyboard.press("Enter")
        page.wait_for_url("**/map/entries/?**")
        links = page.locator(".map-entries a")
        count, wanted = links.count(), links.last.get_attribute("href")
        page.get_by_label("Text in the URL").fill(wanted)
        page.keyboard.press("Enter")
        page.get_by_text(f"1 of {count} entries").wait_for()
        links.click()
        page.wait_for_url(wanted)
        assert site.get(wanted).status_code == 200

    def test_the_legend_goes_from_one_failed_page_to_the_next(self, visit):
        page, strip = open_map(visit)
        seen = []
        for _ in range(3):
            page.get_by_role("button", name="failed 2").click()
            seen.append(details(page))
        assert seen == [("21", "failed"), ("22", "failed"), ("21", "failed")]
        assert has_focus(strip)
        assert page.get_by_role("button", name="held 0").is_disabled()
        assert "OperationalError" in page.locator(".map-error").inner_text()

    def test_a_number_and_the_mouse_choose_a_page(self, visit):
        """What is hovered over is shown for as long."""
        page, strip = open_map(visit)
        page.get_by_label("Page number").fill("12")
        page.get_by_role("button", name="Go").click()
        assert details(page) == ("12", "building")
        strip.hover(position={"x": 3 + 8 * 2 + 4, "y": 15})
        assert details(page) == ("3", "fresh")
        page.get_by_role("heading", level=1).hover()
        assert details(page) == ("12", "building")
        strip.click(position={"x": 3 + 8 * 2 + 4, "y": 15})
        page.wait_for_url("**number=3")

    def test_times_are_in_the_zone_of_the_admin(self, visit, site):
        """Which is UTC, wherever the browser is."""
        page, _ = open_map(visit, timezone_id="Asia/Tokyo")
        shown = " ".join(page.locator("[data-detail=rendered]").inner_text().split())
        [(rendered,)] = site.rows(
            "SELECT max(checked_at) FROM sitemaps_plus_page WHERE number = 1 AND "
            "section_id = (SELECT id FROM sitemaps_plus_section WHERE name = 'towns')"
        )
        found = datetime.strptime(f"{shown} +0000", "%b %d, %Y, %I:%M %p %z")
        assert found == datetime.fromisoformat(f"{rendered[:16]}+00:00")


def test_plots_are_drawn_and_written_down(visit):
    """Each with its table; a section and a range can be chosen."""
    page = visit(f"{DASHBOARD}plots/?range=7d")
    page.locator("canvas").nth(4).wait_for()
    assert page.locator("canvas").count() == 5
    table = page.locator("table[data-plot=entries]")
    assert not table.is_visible()
    page.get_by_text("The numbers").first.click()
    assert table.is_visible()
    assert table.locator("tbody tr").count() == 7 * 24
    page.get_by_label("Section").select_option("towns")
    page.get_by_label("Range").select_option("30 days")
    page.get_by_role("button", name="Show").click()
    page.wait_for_url("**/plots/?section=towns&range=30d")
    page.get_by_role("heading", name="Deliveries per 6 hours").wait_for()
    page.locator(".u-label").first.wait_for()
    assert texts(page, "[aria-labelledby=plot-entries] .u-label") == ["From", "towns"]
