"""The tree of errors is the one that its docstring draws."""

from __future__ import annotations

import inspect
import re

import pytest
from django.core.exceptions import ImproperlyConfigured

from django_sitemaps_plus import exceptions
from django_sitemaps_plus.exceptions import (
    AlreadyRegistered,
    BuildError,
    ConfigurationError,
    NotRegistered,
    SitemapsPlusError,
)

ERRORS = [
    value
    for _, value in inspect.getmembers(exceptions, inspect.isclass)
    if value.__module__ == exceptions.__name__
]


def drawn() -> dict[str, str]:
    """Return each error of the docstring's tree, and the one that it hangs from."""
    parents: dict[str, str] = {}
    path: list[tuple[int, str]] = []
    for line in (exceptions.__doc__ or "").splitlines():
        found = re.match(r"[ |+-]*\b([A-Z][a-z]+[A-Z]\w+)", line)
        if found is None:
            continue
        depth, name = found.start(1), found[1]
        path = [(place, above) for place, above in path if place < depth]
        parents[name] = path[-1][1] if path else "Exception"
        path.append((depth, name))
    return parents


class TestTree:
    @pytest.mark.parametrize("error", ERRORS)
    def test_each_error_is_drawn_below_its_parent(self, error):
        """None is missing."""
        assert drawn()[error.__name__] == error.__mro__[1].__name__

    def test_nothing_else_is_drawn(self):
        """No error that is gone."""
        assert set(drawn()) == {error.__name__ for error in ERRORS}

    def test_all_of_them_have_one_root(self):
        """Who wants to catch us catches that."""
        assert all(issubclass(error, SitemapsPlusError) for error in ERRORS)

    def test_some_are_errors_of_django_and_python_too(self):
        """As the docstring says in brackets."""
        assert issubclass(ConfigurationError, ImproperlyConfigured)
        assert issubclass(AlreadyRegistered, ConfigurationError)
        assert issubclass(NotRegistered, LookupError)
        assert not issubclass(BuildError, ImproperlyConfigured)

    @pytest.mark.parametrize("error", ERRORS)
    def test_each_says_what_it_means(self, error):
        """In a sentence."""
        assert (error.__doc__ or "").strip().endswith(".")
