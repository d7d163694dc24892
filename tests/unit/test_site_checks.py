"""The checks of SITES, and of the sites that sources name."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus import ViewSource
from django_sitemaps_plus.checks import (
    check_engines,
    check_robots,
    check_settings,
    check_sites,
)
from django_sitemaps_plus.checks.settings import check_public_origin
from django_sitemaps_plus.conf import get_sites
from django_sitemaps_plus.sites import in_force

SHOP, BLOG = "https://shop.example", "https://blog.example"
SITES = {"shop": {"BASE_URL": SHOP}, "blog": {"BASE_URL": BLOG}}


@pytest.fixture(autouse=True)
def no_base_url(configure: Any) -> None:
    """Have sites in its place."""
    configure(BASE_URL=None)


def ids(messages: Any) -> list[str]:
    """Return the ids of messages, without the app's name."""
    return [str(message.id).partition(".")[2] for message in messages]


def test_sites_that_work_are_fine(configure, sections):
    """They are an origin, too."""
    source = type("Pages", (ViewSource,), {"views": ["home"], "sites": ["blog"]})
    sections.register("pages", source)
    configure(SITES=SITES)
    assert [*check_sites(), *check_settings(), *check_engines()] == []
    for site in get_sites():  # as sitemap_doctor asks
        with in_force(site):
            assert check_sites() == []


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, "E060"),
        ("contrib", "E060"),
        ("contrib.sites", "E060"),  # which is not installed
        (["shop"], "E060"),
        (5, "E060"),
        ({"Shop": {"BASE_URL": SHOP}}, "E060"),
        ({"../shop": {"BASE_URL": SHOP}}, "E060"),
        ({"shop\n": {"BASE_URL": SHOP}}, "E060"),
        ({5: {"BASE_URL": SHOP}}, "E060"),
        ({"shop": SHOP}, "E060"),
        ({"shop": {}}, "E060"),
        ({"shop": {"BASE_URL": "shop.example"}}, "E060"),
        ({"shop": {"BASE_URL": SHOP, "STORAGE": "other"}}, "E060"),
        ({"shop": {"BASE_URL": SHOP}, "blog": {"BASE_URL": f"{SHOP}/blog"}}, "E061"),
        ({"a": {"BASE_URL": SHOP}, "b": {"BASE_URL": "http://shop.example"}}, "E061"),
    ],
)
def test_what_is_wrong_with_the_setting_is_named(configure, sections, given, expected):
    configure(SITES=given)
    assert ids(check_sites()) == [expected]
    check_settings()  # and nothing else ends by it
    check_robots()


def test_two_sites_have_no_language_at_one_host(configure, sections):
    """As by LANGUAGE_ORIGINS of all, whose robots.txt would name one site alone."""
    configure(SITES=SITES, LANGUAGE_ORIGINS={"de": "https://de.example"})
    (message,) = check_sites()
    assert ids([message]) == ["E061"]
    assert "de.example" in message.msg


@pytest.mark.parametrize(
    ("sites", "given", "hint"),
    [
        (["blgo"], SITES, "Did you mean 'blog'?"),
        ("blog", SITES, "Write sites = ['blog']."),
        (["blog"], None, "Known: ['default']."),
    ],
)
def test_a_source_names_sites_that_exist(configure, sections, sites, given, hint):
    source = type("Pages", (ViewSource,), {"views": ["home"], "sites": sites})
    sections.register("pages", source)
    configure(SITES=given)
    (message,) = check_sites()
    assert ids([message]) == ["E062"]
    assert str(message.hint).startswith(hint)


def test_settings_of_one_site_are_checked_too(configure, sections):
    """Once, though all sites are looked at."""
    sites = {**SITES, "blog": {"BASE_URL": BLOG, "ROBOTS": {"RULE": []}}}
    sites["shop"] = {"BASE_URL": SHOP, "ENGINES": {"x": {"BACKEND": "nowhere"}}}
    configure(SITES=sites)
    assert ids(check_robots()) == ["E024"]
    assert ids(check_engines()) == ["E025"]
    wrong = {"NOTIFY": "no", "LANGUAGE_ORIGINS": {"de": "blog.example.de"}}
    configure(SITES={**SITES, "blog": {"BASE_URL": BLOG, **wrong}})
    assert ids(check_settings()) == ["E002", "E002"]
    wrong = {"LANGUAGE_ORIGINS": ["de"]}
    configure(SITES={**SITES, "blog": {"BASE_URL": BLOG, **wrong}})
    assert [*ids(check_settings()), *ids(check_sites())] == ["E002"]


def test_each_address_is_to_be_public(configure, sections):
    shop = {"BASE_URL": "https://shop.com"}
    configure(SITES={"shop": shop, "blog": {"BASE_URL": BLOG}})
    (message,) = check_public_origin()
    assert BLOG in message.msg
    assert "BASE_URL" not in f"{message.msg} {message.hint}"  # whose place SITES takes


def test_so_is_that_of_a_language(configure, sections):
    """Which a site may have for itself."""
    german = {"LANGUAGE_ORIGINS": {"de": "https://shop.test"}}
    configure(BASE_URL="https://shop.com", **german)
    (message,) = check_public_origin()
    assert "'https://shop.test'" in message.msg
    shop = {"BASE_URL": "https://shop.com", **german}
    configure(BASE_URL=None, LANGUAGE_ORIGINS={}, SITES={"shop": shop})
    assert ids(check_public_origin()) == ["W035"]
