"""Whom the example project tells of changes: nobody, unless its environment says so."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from .site import HANG, ROOT

#: Prints the addresses of its engines, and whether they are told.
LOOK = """
import json, django
django.setup()
from django.conf import settings
from django_sitemaps_plus.conf import notifies_engines
engines = settings.SITEMAPS_PLUS.get("ENGINES", {}).values()
print(json.dumps([[e["OPTIONS"]["endpoint"] for e in engines], notifies_engines()]))
"""

OURS = ("INDEXNOW", "BASE_URL", "DEBUG")


def look(**variables: str) -> list[object]:
    """Return what the project is when these variables, and no others of it, are set."""
    environment = {k: v for k, v in os.environ.items() if not k.startswith(OURS)}
    environment["DJANGO_SETTINGS_MODULE"] = "example_project.settings"
    printed = subprocess.check_output(
        [sys.executable, "-c", LOOK],
        cwd=ROOT,
        env={**environment, **variables},
        timeout=HANG,
    )
    found: list[object] = json.loads(printed)
    return found


def test_nobody_is_told_as_it_comes():
    """Whoever tries it tells the world nothing, public or not."""
    assert look() == [[], False]
    assert look(DEBUG="off", BASE_URL="https://atlas.shop") == [[], False]


def test_an_engine_of_this_machine_is_told_where_it_is_named():
    """Under DEBUG, and of a site that is not public either."""
    url = "http://127.0.0.1:8100/indexnow"
    assert look(INDEXNOW_ENDPOINT=url, INDEXNOW_KEY="0123456789abcdef") == [[url], True]


@pytest.mark.parametrize(
    ("debug", "base_url", "told"),
    [
        ("on", "https://atlas.shop", False),
        ("off", "http://localhost:8000", False),
        ("off", "https://atlas.shop", True),
    ],
)
def test_a_public_engine_is_told_of_a_public_site_only(debug, base_url, told):
    """Named or not, it never hears of a machine at home."""
    url = "https://api.indexnow.org/indexnow"
    found = look(INDEXNOW_ENDPOINT=url, DEBUG=debug, BASE_URL=base_url)
    assert found == [[url], told]
