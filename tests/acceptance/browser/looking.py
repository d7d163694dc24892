"""What Chromium makes of a page: styles, sizes, requests, and a screenshot."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

SIZES: dict[str, dict[str, Any]] = {
    "desktop": {"viewport": {"width": 1280, "height": 800}},
    # A mobile one lays out documents that say nothing of it for a width of 980.
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "is_mobile": True,
        "has_touch": True,
        "device_scale_factor": 2,
    },
}
SCHEMES = ("light", "dark")

#: Returns what tests assert of a document.
_MEASURE = """
() => {
  const style = (selector, pseudo) => {
    const root = document.documentElement
    const element = selector ? document.querySelector(selector) : root
    if (!element) return null
    const found = getComputedStyle(element, pseudo)
    return {display: found.display, color: found.color, content: found.content,
            background: found.backgroundColor, size: parseFloat(found.fontSize)}
  }
  return {
    overflow: document.documentElement.scrollWidth - innerWidth,
    shrink: innerWidth / screen.width,
    scripts: document.querySelectorAll("script").length,
    root: style(""), body: style("body"), heading: style("", "::before"),
    count: style("", "::after"), entry: style("url, sitemap"), loc: style("loc"),
    lastmod: style("lastmod"), image: style("image", "::before"),
    language: style("link", "::before"), thumbnail: style("thumbnail_loc"),
    link: style("main a"), date: style("main time"),
  }
}
"""


@dataclass
class Look:
    found: dict[str, Any]
    console: list[str] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)


def need_chromium() -> tuple[Any, str]:
    """Return what drives Chromium, and where it is; skip where one is missing."""
    api = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is missing: pip install -e .[browser]"
    )
    program = shutil.which("chromium")
    if program is None:
        pytest.skip("Chromium is missing: apt install chromium")
    return api, program


@contextmanager
def chromium() -> Iterator[Any]:
    api, program = need_chromium()
    with api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=program)
        yield browser
        browser.close()


@contextmanager
def opened(
    browser: Any, size: str, scheme: str = "light", **options: Any
) -> Iterator[Any]:
    context = browser.new_context(color_scheme=scheme, **SIZES[size], **options)
    context.route("**/favicon.ico", lambda route: route.fulfill(status=204))
    yield context
    context.close()


def look(context: Any, url: str, shot: Path) -> Look:
    page, seen = context.new_page(), Look({})
    page.on("console", lambda message: seen.console.append(message.text))
    page.on("pageerror", lambda error: seen.console.append(str(error)))
    page.on("request", lambda request: seen.asked.append(request.url))
    assert page.goto(url).status == 200
    seen.found = page.evaluate(_MEASURE)
    page.screenshot(path=shot)
    page.close()
    return seen
