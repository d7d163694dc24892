"""Every page of the dashboard, and what is wrong with one as a browser shows it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from lxml import html

DASHBOARD = "/admin/sitemaps_plus/dashboard/"
_ENTRIES = f"{DASHBOARD}section/entries/?section=cities&number=1&page=6"

#: The path of each page, and what is in sight once it is complete.
PAGES = {
    "overview": (DASHBOARD, "[data-updated]:not(:empty)"),
    "workers": (f"{DASHBOARD}workers/", ".sitemaps-verdict"),
    "url": (f"{DASHBOARD}url/?url=/cities/", ".sitemaps-object"),
    "section": (f"{DASHBOARD}section/?section=towns", ".sitemaps-trends svg"),
    "section-found": (f"{DASHBOARD}section/?section=towns&q=a", ".sitemaps-entries"),
    "section-held": (f"{DASHBOARD}section/?section=harbours", ".sitemaps-pages"),
    "entries": (_ENTRIES, ".sitemaps-pager"),
    "problems": (f"{DASHBOARD}problems/", ".sitemaps-problem"),
    "submissions": (f"{DASHBOARD}submissions/", ".sitemaps-entries"),
    "rejected": (f"{DASHBOARD}submissions/?state=rejected&q=r", ".sitemaps-entries"),
    "release": (f"{DASHBOARD}actions/release/?section=harbours", "[type=submit]"),
    "submit": (f"{DASHBOARD}actions/submit/", "textarea"),
    "city": ("/admin/atlas/city/3/change/", ".sitemaps-listings"),
    "city-left-out": ("/admin/atlas/city/17/sitemap/", ".sitemaps-reasons"),
    "city-excluded": ("/admin/atlas/city/5/change/", "button[name=lift]"),
    "exclusions": ("/admin/sitemaps_plus/exclusion/", "#result_list"),
}

#: Conformance that is asked for.
_RULES = ["wcag2a", "wcag2aa", "wcag21aa", "wcag22aa", "best-practice"]

#: Ends transitions of colours, which follow a change of the scheme.
_SETTLE = "document.getAnimations().forEach((it) => it.finish())"
#: A window of a phone grows with its page, its screen does not.
_EXCESS = "document.documentElement.scrollWidth - Math.min(innerWidth, screen.width)"
_AXE = """
async (tags) => {
  const exclude = ["#changelist-filter", // which are Django's
    "body:not(.app-sitemaps_plus) .breadcrumbs"]
  const found = await axe.run({exclude}, {runOnly: tags, resultTypes: ["violations"]})
  return found.violations.flatMap(({id, impact, nodes}) =>
    nodes.map((node) => [id, impact, node.target.join(" "), node.failureSummary]))
}
"""


def axe() -> str:
    spec = find_spec("axe_playwright_python")
    if spec is None or spec.origin is None:
        pytest.skip("axe-core is missing: pip install -e .[browser]")
    return Path(spec.origin).with_name("axe.min.js").read_text()


@dataclass
class Walk:
    """A window that goes from page to page, and notes what is wrong."""

    page: Any
    base_url: str
    script: str
    shots: Path
    schemes: Sequence[str]
    heard: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        watch(self.page, self.heard)
        self.page.on("request", self._note)

    def _note(self, request: Any) -> None:
        if not request.url.startswith(f"{self.base_url}/"):
            self.heard.append(f"request to {request.url}")

    def faults(self, name: str) -> Iterator[str]:
        """Show a page in each scheme; yield what is wrong with it."""
        path, complete = PAGES[name]
        response = self.page.goto(self.base_url + path)
        self.page.locator(complete).first.wait_for()
        if response.status != 200:
            yield f"status {response.status}"
        yield from inline(response.text())
        yield from self.heard
        self.page.evaluate(self.script)
        for scheme in self.schemes:
            faults = list(self._faults_in(scheme))
            if faults:
                shot = self.shots / f"{name}-{scheme}.png"
                self.page.screenshot(path=shot, full_page=True)
            yield from faults
        self.heard.clear()  # of what screenshots added to the page

    def _faults_in(self, scheme: str) -> Iterator[str]:
        self.page.emulate_media(color_scheme=scheme)
        self.page.evaluate(_SETTLE)
        if (excess := self.page.evaluate(_EXCESS)) > 0:
            yield f"{excess} pixels wider than the screen, {scheme}"
        for rule, impact, *where in self.page.evaluate(_AXE, _RULES):
            if impact != "minor":
                yield f"{rule}, {scheme}: {': '.join(where)}"


def watch(page: Any, heard: list[str]) -> None:
    def hear(message: Any) -> None:
        if message.type in ("error", "warning"):
            heard.append(f"{message.type}: {message.text}")

    page.on("console", hear)
    page.on("pageerror", lambda error: heard.append(str(error)))


def inline(body: str) -> Iterator[str]:
    tree = html.fromstring(body)
    for element in tree.iter("script", "style"):
        if "src" not in element.attrib:
            yield f"<{element.tag}> in line {element.sourceline}"
    for element in tree.iter("*"):
        yield from [
            f"{name} of <{element.tag}>"
            for name in element.attrib
            if name == "style" or name.startswith("on")
        ]
