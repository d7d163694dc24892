"""Which source serves which section."""

from __future__ import annotations

import sys
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.contrib.sitemaps import Sitemap
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps_plus import Source, ViewSource, register, registry
from django_sitemaps_plus.checks import check_sources
from django_sitemaps_plus.exceptions import (
    AlreadyRegistered,
    ConfigurationError,
    NotRegistered,
)
from django_sitemaps_plus.registry import SourceRegistry, autodiscover
from django_sitemaps_plus.sources import SitemapSource


class Pages(ViewSource):
    """A source."""


class Blog(Sitemap):
    """One of contrib's."""


@pytest.fixture
def sources() -> SourceRegistry:
    return SourceRegistry()


class TestRegister:
    def test_a_class_is_made_an_instance_once(self, sources):
        """One serves every request and build; the call returns what it was given."""
        assert sources.register("pages", Pages) is Pages
        assert type(sources.get("pages")) is Pages
        assert sources.get("pages") is sources.get("pages")

    def test_as_a_decorator_it_returns_the_class(self, sources):

        @sources.register("pages")
        class Decorated(ViewSource):
            pass

        assert isinstance(Decorated, type)
        assert type(sources.get("pages")) is Decorated

    def test_an_instance_is_taken_as_it_is(self, sources):
        source = Pages()
        assert sources.register("pages", source) is source
        assert sources.get("pages") is source

    @pytest.mark.parametrize("sitemap", [Blog, Blog()])
    def test_contribs_sitemaps_are_taken(self, sources, sitemap):
        assert sources.register("blog", sitemap) is sitemap
        source = sources.get("blog")
        assert isinstance(source, SitemapSource)
        assert source.given is sitemap

    @pytest.mark.parametrize("call", [lambda: Blog(), partial(Blog)])
    def test_what_makes_contribs_sitemaps_is_taken(self, sources, call):
        """As contrib's dict takes it; it is called when the section is read."""
        assert sources.register("blog", call) is call
        assert sources.get("blog").kind is Blog

    @pytest.mark.parametrize(
        "name",
        ["a", "blog-posts", "0_9", "-", "x" * 64, "Blog", "blog.posts", "größe", "a b"],
    )
    def test_a_name_that_contrib_takes_is_taken(self, sources, name):
        sources.register(name, Pages)
        assert name in sources

    @pytest.mark.parametrize(
        "name",
        ["", "x" * 65, "ö" * 33, " a", "a/b", "a\\b", "a\n", "\x00", "\ud800", Blog()],
    )
    def test_another_name_is_refused(self, sources, name):
        with pytest.raises(ImproperlyConfigured, match="cannot name a section"):
            sources.register(name, Pages)
        with pytest.raises(ConfigurationError, match="cannot name a section"):
            sources.register(name)(Pages)
        assert len(sources) == 0

    def test_a_decorator_is_refused_with_the_wrong_name(self, sources):
        """When it is made, since a wrong first argument is often the source."""
        with pytest.raises(ConfigurationError, match="cannot name a section"):
            sources.register(Blog())
        with pytest.raises(ConfigurationError, match="cannot name a section"):
            sources.register({"blog": Blog})

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

    @pytest.mark.parametrize(
        ("first", "where"),
        [
            (Pages, f"{__name__}.Pages"),
            (Blog, f"{__name__}.Blog"),
            (Blog(), f"{__name__}.Blog"),
        ],
    )
    def test_a_second_one_of_the_same_name_is_refused(self, sources, first, where):
        """The error names the first, which stays."""
        sources.register("pages", first)
        kept = sources.get("pages")
        with pytest.raises(AlreadyRegistered, match="'pages' is registered") as caught:
            sources.register("pages", Pages)
        assert f"by {where}. " in str(caught.value)
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
        """The error has the line to write."""
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
            module = SimpleNamespace(__name__=name, __path__=[str(tmp_path / name)])
            installed.append(SimpleNamespace(name=name, module=module))
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

    def test_a_module_that_fails_leaves_no_half_of_its_sections(
        self, sections, install
    ):
        """And its error is not swallowed."""
        install(
            "discovered_broken",
            "from django_sitemaps_plus import register, ViewSource\n"
            "register('half', ViewSource)\n"
            "import nothing_of_this_name\n",
        )
        sections.register("before", Pages)
        with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
            autodiscover()
        assert list(sections) == ["before"]

    def test_the_first_module_may_fail(self, sections, install):
        """Its own error is shown, whatever it registered before."""
        install(
            "discovered_first",
            "from django_sitemaps_plus import register, ViewSource\n"
            "register('half', ViewSource)\n"
            "import nothing_of_this_name\n",
        )
        with pytest.raises(ModuleNotFoundError, match="nothing_of_this_name"):
            autodiscover()
        assert len(sections) == 0

    def test_a_project_without_sections_is_named(self, sections, install, tmp_path):
        """With the module that has nearly the right name."""
        install("discovered_typo", None)
        (tmp_path / "discovered_typo" / "sitemap.py").write_text("")
        (message,) = check_sources()
        assert message.id == "sitemaps_plus.W025"
        assert "discovered_typo.sitemap" in message.msg
