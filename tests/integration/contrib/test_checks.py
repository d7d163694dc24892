"""A project may use the views in the place of contrib's, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.sitemaps import Sitemap
from django.contrib.sitemaps import views as contrib
from django.core.checks import run_checks
from django.urls import path
from django.views.decorators.cache import cache_page

from django_sitemaps_plus.contrib import views as ours

from .urls import patterns

pytestmark = pytest.mark.django_db  # checks of models ask what the database can do


@pytest.fixture(autouse=True)
def bare(settings: Any, sections: Any) -> None:
    """Have no section, no setting and no storage."""
    settings.SITEMAPS_PLUS = {}
    settings.MEDIA_ROOT = ""


def found(settings: Any, *urlpatterns: Any) -> set[str]:
    """Return the ids of what our checks say of URLs."""
    settings.ROOT_URLCONF = type("Urls", (), {"urlpatterns": list(urlpatterns)})
    ids = [it.id.partition("sitemaps_plus.")[2] for it in run_checks()]
    return set(filter(None, ids))


def test_it_needs_nothing_else(settings):
    """Decorated views count."""
    assert found(settings, *patterns(ours, "ours")) == set()
    assert found(settings, path("a.xml", cache_page(60)(ours.sitemap))) == set()


def test_the_views_of_contrib_do_not_count(settings):
    """There ours are not included, unless a view of the project's calls them."""
    missing = {"W004", "W025", "W038"}
    assert found(settings, *patterns(contrib, "theirs")) == missing


def test_a_registered_section_needs_the_rest(settings, sections):
    """Its URLs, an origin, and a place for its files."""
    sections.register("names", Sitemap)
    assert found(settings, *patterns(ours, "ours")) == {"E003", "W004", "W038"}
