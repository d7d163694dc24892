"""The check of what engines do not hear of, since it has no pages."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus.checks.engines import check_built
from tests.support.builds import build_fully
from tests.support.shop import limited, make_products

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def engines(settings: Any) -> None:
    """Have an engine that is told of URLs."""
    settings.SITEMAPS_PLUS = {
        **settings.SITEMAPS_PLUS,
        "ENGINES": {"one": {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}},
    }
    make_products(3)


def test_a_section_that_is_not_built_is_named(sections):
    """Engines hear of saves alone then; a section with pages is none of these."""
    sections.register("products", limited(10))
    (message,) = check_built(databases=["default"])
    assert message.id == "sitemaps_plus.W007"
    assert "'products'" in message.msg
    build_fully()
    assert check_built(databases=["default"]) == []


@pytest.mark.parametrize(
    ("given", "debug", "databases"),
    [
        ({"ENGINES": {}}, False, ["default"]),
        ({"NOTIFY": False}, False, ["default"]),
        ({"ENGINES": {"one": {"BACKEND": "no.such.Engine"}}}, False, ["default"]),
        ({"ENGINES": "IndexNow"}, False, ["default"]),
        ({}, True, ["default"]),
        ({}, False, None),
        ({}, False, ["other"]),
    ],
)
def test_sections_that_are_not_built_are_fine(
    sections, settings, given, debug, databases
):
    """Without engines that are told of URLs, under DEBUG, or where nobody may look."""
    settings.SITEMAPS_PLUS = {**settings.SITEMAPS_PLUS, **given}
    settings.DEBUG = debug
    sections.register("products", limited(10))
    assert check_built(databases=databases) == []
