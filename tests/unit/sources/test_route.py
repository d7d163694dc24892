"""``Route`` gives what ``reverse()`` gives, whatever the pattern and the values."""

import pytest
from django.urls import (
    NoReverseMatch,
    URLPattern,
    URLResolver,
    clear_url_caches,
    path,
    reverse,
)
from django.urls.resolvers import RoutePattern
from django.utils import translation

from django_sitemaps_plus.sources.route import Route

from .zoo import ZOO, in_languages, surroundings, view

ENGLISH_FIRST, ALL_PREFIXED = in_languages(False), in_languages(True)


class TestCompile:
    def test_the_order_of_the_arguments_is_that_of_the_route(self):
        with surroundings(ZOO):
            assert Route("two", a="x", b="y").compile()(["s", 5]) == "/two/s/5/"
            assert Route("two", b="y", a="x").compile()([5, "s"]) == "/two/s/5/"

    def test_it_happens_once_in_the_same_surroundings(self):
        route = Route("slug", a="slug")
        with surroundings(ZOO):
            first = route.compile()
            assert route.compile() is first

    def test_it_happens_anew_for_another_prefix_language_or_urlconf(self):
        route = Route("about", a="slug")
        found = []
        for prefix in ("/", "/app/"):
            for urlconf in (ENGLISH_FIRST, ALL_PREFIXED):
                for language in ("en-us", "de"):
                    with surroundings(urlconf, prefix, language):
                        found.append(route.compile()(["x"]))
        languages = ("", "de/", "en-us/", "de/")
        expected = [f"/{language}about/x/" for language in languages]
        assert found == [*expected, *[f"/app{path}" for path in expected]]

    def test_it_happens_anew_when_the_urlconf_has_changed(self):
        route = Route("slug", a="slug")
        with surroundings(ZOO):
            first = route.compile()
            clear_url_caches()
            assert route.compile() is not first

    def test_it_works_without_a_language(self):
        with surroundings(ZOO), translation.override(None):
            assert Route("slug", a="slug").compile()(["x"]) == "/slug/x/"

    def test_a_wrong_number_of_values_is_an_error(self):
        with surroundings(ZOO), pytest.raises(ValueError, match="zip"):
            Route("slug", a="slug").compile()([])

    @pytest.mark.parametrize(
        ("name", "arguments", "can_match"),
        [
            *(("slug", "a", True), ("default", "ab", True), ("slug", "b", False)),
            *(("slug", "", False), ("nowhere", "a", False), ("nowhere:x", "a", False)),
        ],
    )
    def test_it_knows_whether_any_pattern_has_its_arguments(
        self, name, arguments, can_match
    ):
        """A check asks before any row is there; a row without a match has no URL."""
        with surroundings(ZOO):
            route = Route(name, **dict.fromkeys(arguments, "field")).compile()
            assert route.can_match is can_match
            if not can_match:
                with pytest.raises(NoReverseMatch):
                    route(["x"] * len(arguments))

    def test_no_match_names_pattern_and_values(self):
        with surroundings(ZOO), pytest.raises(NoReverseMatch) as caught:
            Route("int", a="pk").compile()(["\ud800" * 1_000])
        message = str(caught.value)
        assert message.isascii()
        assert "'int'" in message
        assert len(message) < 400

    def test_no_match_names_what_is_empty(self):
        """A row whose slug is "", mostly."""
        with (
            surroundings(ZOO),
            pytest.raises(NoReverseMatch, match=r"^Empty: a\. No pa"),
        ):
            Route("slug", a="slug").compile()([""])

    def test_its_repr_is_how_it_is_written(self):
        assert repr(Route("two", a="slug", b="pk")) == "Route('two', a='slug', b='pk')"


class OddResolver(URLResolver):
    """Reverses in a way of its own."""

    def _reverse_with_prefix(self, lookup_view, _prefix, *args, **kwargs):
        return f"{_prefix}odd/{lookup_view}/{kwargs['a']}"


ODD = (
    OddResolver(
        RoutePattern(""),
        [URLPattern(RoutePattern("<slug:a>/", is_endpoint=True), view, name="item")],
        app_name="odd",
        namespace="odd",
    ),
    path("slug/<slug:a>/", view, name="slug"),
)


class TestFallback:
    def test_what_cannot_be_compiled_asks_reverse(self):
        route = Route("odd:item", a="slug")
        with surroundings(ODD):
            assert route.compile()(["x y"]) == reverse("odd:item", kwargs={"a": "x y"})
            assert route.compile()(["x y"]) == "/odd/item/x y"
            assert route.compile().plain is None
            assert route.compile().can_match is True

    def test_it_says_so_once(self, caplog):
        """Nothing is said of other routes of the same URLconf."""
        route = Route("odd:item", a="slug")
        with surroundings(ODD):
            assert Route("slug", a="slug").compile().plain is not None
            for number in range(3):
                route.compile()([str(number)])
        [message] = caplog.messages
        assert "'odd:item' is not compiled" in message
        assert "OddResolver" in message
