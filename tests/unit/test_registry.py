"""Which source serves which section, and which CONTRIB_SITEMAPS adds by itself."""

import sys
import threading
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from django.apps import apps
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.core.exceptions import ImproperlyConfigured
from django.db import OperationalError
from django.utils.functional import SimpleLazyObject

from django_sitemaps_plus import Source, ViewSource, adoption, register
from django_sitemaps_plus.checks import check_adopted, check_sources
from django_sitemaps_plus.exceptions import (
    AlreadyRegistered,
    ConfigurationError,
    NotRegistered,
)
from django_sitemaps_plus.registry import SourceRegistry, autodiscover, registry
from django_sitemaps_plus.sources import SitemapSource
from tests.support.lazy import Lazy
from tests.support.shop import ProductSource
from tests.support.testapp.models import Product


class Pages(ViewSource):
    """A source."""


class Blog(Sitemap):
    """One of contrib's."""


@pytest.fixture
def sources() -> SourceRegistry:
    return SourceRegistry()


class TestRegister:
    @pytest.mark.parametrize("given", [Pages, Pages()])
    def test_a_class_is_made_an_instance_once(self, sources, given):
        assert sources.register("pages", given) is given
        assert type(sources.get("pages")) is Pages
        assert sources.get("pages") is sources.get("pages")
        assert (sources.get("pages") is given) == (given is not Pages)

    def test_as_a_decorator_it_returns_the_class(self, sources):
        assert sources.register("pages")(Pages) is Pages
        assert type(sources.get("pages")) is Pages

    @pytest.mark.parametrize("given", [Blog, Blog(), lambda: Blog(), partial(Blog)])
    def test_contribs_sitemaps_are_taken(self, sources, given):
        """As contrib's dict takes them; a call is made when the section is read."""
        assert sources.register("blog", given) is given
        source = sources.get("blog")
        assert isinstance(source, SitemapSource)
        assert source.given is given
        assert source.kind is Blog

    @pytest.mark.parametrize(
        "name",
        ["a", "blog-posts", "0_9", "-", "x" * 64, "Blog", "blog.posts", "größe", "a b"],
    )
    def test_a_name_that_contrib_takes_is_taken(self, sources, name):
        sources.register(name, Pages)
        assert name in sources

    @pytest.mark.parametrize(
        "name",
        [
            *("", "x" * 65, "ö" * 33, " a", "a/b", "a\\b", "a\n", "\x00", "\ud800"),
            *(Blog(), {"blog": Blog}),
        ],
    )
    def test_another_name_is_refused(self, sources, name):
        with pytest.raises(ImproperlyConfigured, match="cannot name a section"):
            sources.register(name, Pages)
        with pytest.raises(ConfigurationError, match="cannot name a section"):
            sources.register(name)  # not only when it decorates a class
        assert len(sources) == 0

    @pytest.mark.parametrize(
        ("first", "second"),
        [("blog", "Blog"), ("größe", "GRÖSSE"), ("cafe", "café"), ("ﬁn", "fin")],
    )
    def test_names_that_a_database_may_take_for_one_are_refused(
        self, sources, first, second
    ):
        """Or the second would overwrite the pages of the first."""
        sources.register(first, Pages)
        with pytest.raises(AlreadyRegistered, match=f"{second!r}.* as {first!r}"):
            sources.register(second, Pages)
        assert list(sources) == [first]

    @pytest.mark.parametrize("given", [object(), dict, "pages", None])
    def test_what_is_no_source_is_refused(self, sources, given):
        with pytest.raises(ConfigurationError, match=r"'pages': .* is not a source"):
            sources.register("pages", given)
        assert "pages" not in sources

    @pytest.mark.parametrize("first", [Pages, Blog, Blog()])
    def test_a_second_one_of_the_same_name_is_refused(self, sources, first):
        sources.register("pages", first)
        kept = sources.get("pages")
        name = "Pages" if first is Pages else "Blog"
        with pytest.raises(AlreadyRegistered, match=rf"by {__name__}\.{name}\. "):
            sources.register("pages", Pages)
        assert sources.get("pages") is kept

    def test_the_short_form_fills_the_projects_registry(self, sections):
        register("pages", Pages)
        assert "pages" in registry
        assert sections is registry


class TestSections:
    def test_they_keep_their_order_and_may_go_while_they_are_listed(self, sources):
        for name in ("b", "a", "c"):
            sources.register(name, Pages)
        assert [name for name, _ in sources.items()] == list(sources) == ["b", "a", "c"]
        assert all(isinstance(source, Source) for _, source in sources.items())
        for name in sources:
            sources.unregister(name)
        assert len(sources) == 0
        sources.register("a", Blog)
        assert "a" in sources

    def test_one_that_is_missing_is_an_error(self, sources):
        with pytest.raises(NotRegistered, match="Registered are: none"):
            sources.get("blog")
        sources.register("pages", Pages)
        sources.register("blog", Blog)
        with pytest.raises(NotRegistered, match="Registered are: pages, blog"):
            sources.get("blogs")
        with pytest.raises(NotRegistered, match="'blogs'"):
            sources.unregister("blogs")
        with pytest.raises(LookupError):
            sources.get("blogs")

    def test_a_decorator_without_a_name_is_refused(self, sources):
        with pytest.raises(TypeError, match=r'@register\("products"\) above Pages'):
            sources.register(Pages)
        assert len(sources) == 0


class TestAutodiscover:
    @pytest.fixture
    def install(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
        """Return what installs an app with a module ``sitemaps``."""
        installed = []
        monkeypatch.syspath_prepend(str(tmp_path))
        monkeypatch.setattr(apps, "get_app_configs", lambda: installed)

        def install(name: str, code: str | None) -> None:
            (tmp_path / name).mkdir()
            (tmp_path / name / "__init__.py").write_text("")
            if code is not None:
                (tmp_path / name / "sitemaps.py").write_text(code)
            path = str(tmp_path / name)
            module = SimpleNamespace(__name__=name, __path__=[path])
            # Django looks for translations there, if nobody has needed any before.
            installed.append(SimpleNamespace(name=name, module=module, path=path))
            for known in (name, f"{name}.sitemaps"):
                monkeypatch.delitem(sys.modules, known, raising=False)

        return install

    def test_the_module_sitemaps_of_each_app_is_imported(self, sections, install):
        code = "from {0} import register, ViewSource\nregister('{1}', ViewSource)\n"
        install("discovered_blog", code.format("django_sitemaps_plus", "blog"))
        install("discovered_nothing", None)
        install("discovered_shop", code.format("django_sitemaps_plus", "shop"))
        autodiscover()
        assert list(sections) == ["blog", "shop"]

    @pytest.mark.parametrize("before", [[], ["before"]])
    def test_a_module_that_fails_leaves_no_half_of_its_sections(
        self, sections, install, before
    ):
        code = "from django_sitemaps_plus import register, ViewSource\n"
        code += "register('half', ViewSource)\nimport nothing_of_this_name\n"
        install("discovered_broken", code)
        for name in before:
            sections.register(name, Pages)
        with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
            autodiscover()
        assert list(sections) == before

    def test_a_project_without_sections_is_named(self, sections, install, tmp_path):
        install("discovered_typo", None)
        (tmp_path / "discovered_typo" / "sitemap.py").write_text("")
        (message,) = check_sources()
        assert message.id == "sitemaps_plus.W025"
        assert "discovered_typo.sitemap" in message.msg


@pytest.fixture(autouse=True)
def no_faults(monkeypatch: Any) -> None:
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
from tests.unit.test_registry import Blog

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
    sections = adopting({"blog": Blog, name: value, "last": Blog})
    assert list(sections) == ["blog", "last"]
    [message] = check_adopted()
    assert message.msg.startswith(said)
