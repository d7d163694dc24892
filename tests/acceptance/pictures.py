"""Draws the pictures of the README from the example project: ``make pictures``."""

import tempfile
from html import escape
from pathlib import Path
from typing import Any

from .browser.looking import chromium
from .dashboard.walk import DASHBOARD
from .site import ROOT, Site

PLACE = ROOT / "docs" / "images"

#: Bytes of all pictures together, at most.
MOST = 400_000

_PASSWORD = "for a picture"
_TERMINAL = """
<body style="margin: 0"><pre style="display: inline-block; margin: 0;
padding: 16px 20px; color: #e6e6e6; background: #1e2430;
font: 14px/1.5 'DejaVu Sans Mono', monospace">%s</pre></body>
"""


def main() -> None:
    """Build the sitemaps of a site, and draw a terminal and the dashboard."""
    PLACE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as directory, chromium() as browser:
        site = Site(Path(directory))
        site.environment["DJANGO_SUPERUSER_PASSWORD"] = _PASSWORD
        site.load()
        words = ("--noinput", "--username", "ada", "--email", "")
        site.manage("createsuperuser", *words)
        printed = [
            f"$ python manage.py {command}\n{site.manage(command)}"
            for command in ("build_sitemaps", "sitemap_status")
        ]
        page = browser.new_page(viewport={"width": 1440, "height": 620})
        page.set_content(_TERMINAL % escape("\n".join(printed).rstrip()))
        page.locator("pre").screenshot(path=PLACE / "terminal.png")
        with site.served("tests.acceptance.browser.wsgi"):
            show_dashboard(page, site.base_url)
            page.screenshot(path=PLACE / "dashboard.png")
        site.close()
    size = sum([it.stat().st_size for it in PLACE.iterdir()])
    if size > MOST:
        raise SystemExit(f"More than {MOST:,} bytes.")


def show_dashboard(page: Any, base_url: str) -> None:
    page.goto(f"{base_url}{DASHBOARD}")
    page.fill("[name=username]", "ada")
    page.fill("[name=password]", _PASSWORD)
    page.click("[type=submit]")
    page.get_by_role("button", name="Ask Django for the sitemap").click()
    page.goto(f"{base_url}{DASHBOARD}")
    page.wait_for_selector("[data-updated]:not(:empty)")


if __name__ == "__main__":
    main()
