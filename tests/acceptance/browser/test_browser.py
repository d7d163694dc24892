"""Sitemaps and the HTML site map in Chromium: phone and desktop, light and dark."""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any

import pytest

from tests.acceptance.site import Site

from .looking import SCHEMES, SIZES, Look, look, opened

PATHS = {
    "index": "/sitemap.xml",
    "page": "/sitemap-everything-1.xml",
    "map": "/sitemap/",
    "section": "/sitemap/everything/",
}
XML, HTML = ("index", "page"), ("map", "section")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    site = Site(tmp_path_factory.mktemp("browser"))
    site.environment["DJANGO_SETTINGS_MODULE"] = f"{__package__}.settings"
    site.manage("migrate", "--verbosity", "0")
    with site.served(f"{__package__}.wsgi"):
        yield site
    site.close()


@pytest.fixture(scope="module")
def looks(browser: Any, site: Site) -> dict[tuple[str, ...], Look]:
    """Look at each page by each size and scheme; screenshots lie with the site."""
    looks = {}
    for how in product(SIZES, SCHEMES):
        with opened(browser, *how) as context:
            for name, path in PATHS.items():
                shot = site.directory / f"{name}-{'-'.join(how)}.png"
                looks[name, *how] = look(context, site.base_url + path, shot)
    return looks


@pytest.fixture(params=product(SIZES, SCHEMES), ids="-".join)
def by_name(request: Any, looks: dict[tuple[str, ...], Look]) -> dict[str, Look]:
    return {name: looks[(name, *request.param)] for name in PATHS}


def test_every_page_fits_its_screen(by_name):
    """Nothing to scroll sideways, and letters that a person can read."""
    for name, seen in by_name.items():
        size = "loc" if name in XML else "body"
        assert seen.found["overflow"] <= 0, name
        assert seen.found[size]["size"] / seen.found["shrink"] >= 14, name


def test_a_page_asks_nobody_else_and_runs_nothing(by_name, site):
    """No error, no request to another host, no script."""
    for name, seen in by_name.items():
        assert seen.console == [], name
        assert all(url.startswith(f"{site.base_url}/") for url in seen.asked), name
        assert seen.found["scripts"] == 0, name


def test_a_sitemap_is_a_list(by_name):
    """With a heading, a count, and one entry below the other."""
    for name, heading, count in [
        ("index", '"Sitemap index"', '"Sitemaps: " counter(entries)'),
        ("page", '"Sitemap"', '"URLs: " counter(entries)'),
    ]:
        found = by_name[name].found
        assert found["root"]["display"] == "block"
        assert found["entry"]["display"] == "flex"
        assert found["heading"]["content"] == heading
        assert found["count"]["content"] == count


def test_extensions_are_named(by_name):
    """An image by a label, a language by its code; details are left out."""
    found = by_name["page"].found
    assert found["image"]["content"] == '"image"'
    assert found["language"]["content"] == '"en"'
    assert found["thumbnail"]["display"] == "none"


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("size", SIZES)
def test_dark_mode_is_dark(looks, name, size):
    """And texts stand out from their ground in both."""
    light, dark = (looks[name, size, scheme].found for scheme in SCHEMES)
    ground = "root" if name in XML else "body"
    texts = {"index": ["loc", "count"], "page": ["loc", "lastmod", "image"]}
    assert luminance(light[ground]["background"]) > 0.8
    assert luminance(dark[ground]["background"]) < 0.05
    for found in (light, dark):
        for text in texts.get(name, ["body", "link"]):
            assert contrast(found[text]["color"], found[ground]["background"]) >= 4.5


def contrast(one: str, other: str) -> float:
    """Return the ratio of two colours, of which WCAG asks for 4.5."""
    low, high = sorted([luminance(one), luminance(other)])
    return (high + 0.05) / (low + 0.05)


def luminance(colour: str) -> float:
    parts = [int(value) / 255 for value in re.findall(r"\d+", colour)[:3]]
    red, green, blue = (
        it / 12.92 if it <= 0.04045 else ((it + 0.055) / 1.055) ** 2.4 for it in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_a_person_goes_from_page_to_page(browser, site):
    """By the names of links, in the layout of the project."""
    page = browser.new_page()
    page.goto(f"{site.base_url}/about/")
    page.get_by_role("link", name="Site map").click()
    assert page.get_by_role("heading", level=1).all_text_contents() == ["Site map"]
    page.get_by_role("link", name="Everything").click()
    page.get_by_role("navigation", name="Pages").get_by_text("Next").click()
    assert page.url == f"{site.base_url}/sitemap/everything/?page=2"
    links = page.locator("ul.site-map").get_by_role("link")
    assert links.nth(99).get_attribute("href").endswith("/597-with-a-name/")
    assert page.get_by_role("link", name="Atlas").is_visible()
