"""What a person reads on the dashboard: by mouse, by keyboard, without scripts."""

from __future__ import annotations

from typing import Any

from .walk import DASHBOARD

CITY = "/admin/atlas/city/3/"


def texts(page: Any, selector: str) -> list[str]:
    """Return the texts of elements."""
    return [text.strip() for text in page.locator(selector).all_inner_texts()]


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


class TestSection:
    def test_by_keyboard_to_a_page_an_entry_and_the_live_url(self, visit, site):
        page = visit(DASHBOARD)
        page.get_by_role("link", name="towns", exact=True).click()
        link = page.get_by_role("link", name="page 9", exact=True)
        for _ in range(60):
            if has_focus(link):
                break
            page.keyboard.press("Tab")
        page.keyboard.press("Enter")
        page.wait_for_url("**/section/entries/?**")
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
        assert page.locator("details tbody tr").count() == 30
