"""CONTRIB_SITEMAPS: each item of a dict of contrib's sitemaps is a section."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from importlib import import_module
from types import ModuleType
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sitemaps import GenericSitemap, Sitemap

from django_sitemaps_plus import adoption
from django_sitemaps_plus.checks import check_adopted
from django_sitemaps_plus.registry import SourceRegistry
from tests.support.shop import ProductSource
from tests.support.testapp.models import Product


class Blog(Sitemap):
    pass


@pytest.fixture(autouse=True)
def no_faults(monkeypatch: Any) -> None:
    """Forget what a test finds."""
    monkeypatch.setattr(adoption, "faults", [])


@pytest.fixture
def adopting(
    sections: SourceRegistry, settings: Any, monkeypatch: Any
) -> Callable[..., SourceRegistry]:
    """Return what begins as a process whose setting names ``project.urls.sitemaps``."""

    def begin(sitemaps: Any, path: str = "project.urls.sitemaps") -> SourceRegistry:
        module = ModuleType("project.urls")
        module.sitemaps = sitemaps
        monkeypatch.setitem(sys.modules, "project.urls", module)
        settings.SITEMAPS_PLUS = {"CONTRIB_SITEMAPS": path}
        sections.pending = adoption.adopt
        return sections

    return begin


def test_each_item_is_a_section(adopting):
    """Whatever contrib's views take: classes, instances, callables."""
    generic = GenericSitemap({"queryset": Product.objects.all()})
    sitemaps = {"blog": Blog, "of.2024": Blog(), "goods": generic, "new": lambda: Blog}
    found = dict(adopting(sitemaps).items())
    assert {name: source.given for name, source in found.items()} == sitemaps
    assert check_adopted() == []


def test_a_section_of_the_project_wins(adopting):
    """A class that was moved to a source may stay in the dict."""
    sections = adopting({"products": Blog, "blog": Blog})
    sections.register("products", ProductSource)
    assert list(sections) == ["products", "blog"]
    assert isinstance(sections.get("products"), ProductSource)


def test_it_waits_until_all_apps_are_ready(adopting, monkeypatch):
    """A URLconf that is imported before would have an admin without models."""
    monkeypatch.setattr(apps, "ready_event", threading.Event())
    sections = adopting({"blog": Blog})
    assert list(sections) == []
    apps.ready_event.set()
    assert list(sections) == ["blog"]


def test_threads_may_ask_at_the_same_time(adopting, monkeypatch):
    """What another one has registered in the meantime is no fault."""
    sections = adopting({"blog": Blog, "news": Blog})

    def register(name: str) -> None:
        sections._registry.setdefault(name, ProductSource())

    module = import_module("django_sitemaps_plus.registry")
    monkeypatch.setattr(module, "check_name", register)
    assert list(sections) == ["blog", "news"]
    assert check_adopted() == []


def test_a_module_may_ask_for_the_sections_itself(
    adopting, settings, tmp_path, monkeypatch
):
    """As by a query of the URLconf: its dict is not there yet, and afterwards it is."""
    (tmp_path / "asking.py").write_text(ASKING)
    monkeypatch.syspath_prepend(tmp_path)
    sections = adopting({}, "asking.sitemaps")
    assert import_module("asking").before == []
    assert list(sections) == ["blog"]
    del sys.modules["asking"]
    assert check_adopted() == []


ASKING = """
from django_sitemaps_plus import registry
from tests.unit.test_adoption import Blog

before = list(registry)
sitemaps = {"blog": Blog}
"""


@pytest.mark.parametrize(
    ("path", "sitemaps", "said"),
    [
        ("no_such.sitemaps", {}, "ModuleNotFoundError: No module named 'no_such'"),
        ("project.urls.sitemap", {}, "module 'project.urls' has no attribute 'sitemap"),
        ("sitemaps", {}, "ValueError: Empty module name"),
        ("", {}, "is ''"),
        ("project.urls.sitemaps", [Blog], "which is a list and not a dict."),
    ],
)
def test_what_is_not_a_dict_is_named(adopting, caplog, path, sitemaps, said):
    """By the log of each process, and by a check; the others are there."""
    sections = adopting(sitemaps, path)
    sections.register("products", ProductSource)
    assert list(sections) == ["products"]
    [message] = check_adopted()
    assert message.id == "sitemaps_plus.E042"
    assert f"SITEMAPS_PLUS['CONTRIB_SITEMAPS'] is {path!r}" in message.msg
    assert said in message.msg
    assert [record.getMessage() for record in caplog.records] == [message.msg]


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("news/blog", Blog, "'news/blog' cannot name a section"),
        (5, Blog, "5 cannot name a section"),
        ("BLOG", Blog, "Section 'BLOG' is registered already as 'blog'"),
        ("posts", Product.objects.all(), "Section 'posts': a QuerySet is not a source"),
    ],
)
def test_what_is_not_a_section_is_named(adopting, name, value, said):
    """The rest of the dict is adopted."""
    sections = adopting({"blog": Blog, name: value, "last": Blog})
    assert list(sections) == ["blog", "last"]
    [message] = check_adopted()
    assert message.msg.startswith(said)
