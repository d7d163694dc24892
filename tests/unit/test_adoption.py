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
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.utils.functional import SimpleLazyObject

from django_sitemaps_plus import adoption
from django_sitemaps_plus.checks import check_adopted, check_sources
from django_sitemaps_plus.exceptions import ConfigurationError
from django_sitemaps_plus.registry import SourceRegistry, registry
from tests.support.lazy import Lazy
from tests.support.shop import ProductSource
from tests.support.testapp.models import Product


class Blog(Sitemap):
    pass


@pytest.fixture(autouse=True)
def no_faults(monkeypatch: Any) -> None:
    """Forget what a test finds."""
    monkeypatch.setattr(adoption, "faults", [])
    monkeypatch.setattr(registry, "pending", None)
    monkeypatch.setattr(registry, "unread", None)


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


class Shown(Lazy):
    """A dict that is read from somewhere else, as from a table."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)

    def read(self) -> dict[str, Any]:
        """Raise, or return."""
        if self.errors:
            raise self.errors.pop(0)
        return {"blog": Blog}


@pytest.mark.parametrize(
    ("error", "ids"),
    [
        (LookupError("no tenant"), ["W037"]),
        (ImproperlyConfigured("no client"), ["W037"]),
        (ConfigurationError("no site"), ["W037"]),
        (OperationalError("no such table"), []),
    ],
)
@pytest.mark.parametrize("wrap", [lambda given: given, lambda given: given.read()])
def test_what_cannot_be_read_now_is_adopted_later(adopting, caplog, error, ids, wrap):
    """Nothing is wrong, so nothing is logged; nobody takes its sections for removed."""
    lazy = Shown(*[error] * 3)
    sections = adopting(SimpleLazyObject(lambda: wrap(lazy)))
    assert list(sections) == []
    with pytest.raises(ConfigurationError, match="CONTRIB_SITEMAPS"):
        sections.must_be_whole()
    lazy.errors[:] = [error] * 2
    assert [it.id[-4:] for it in check_adopted()] == ids
    assert check_sources() == []  # not even that no section is registered
    lazy.errors.clear()
    assert list(sections) == ["blog"]
    sections.must_be_whole()
    assert check_adopted() == []
    assert caplog.records == []


@pytest.mark.parametrize(
    "text",
    [
        "import no_such_client",
        "import os; os.environ['SITEMAPS_NO_SUCH_VARIABLE']",
        "def __getattr__(name): raise LookupError(name)",
    ],
)
def test_a_module_that_cannot_be_imported_now(
    adopting, tmp_path, monkeypatch, text, caplog
):
    """Its own faults, and not the path that the setting names."""
    (tmp_path / "lacking.py").write_text(text)
    monkeypatch.syspath_prepend(tmp_path)
    sections = adopting({}, "lacking.sitemaps")
    assert list(sections) == []
    assert [it.id for it in check_adopted()] == ["sitemaps_plus.W037"]
    assert caplog.records == []
    sys.modules.pop("lacking", None)


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
