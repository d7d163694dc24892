"""The tree of errors is the one that its docstring draws."""

from __future__ import annotations

import inspect
import re

from django.core.exceptions import ImproperlyConfigured

from django_sitemaps_plus import exceptions
from django_sitemaps_plus.exceptions import (
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


def test_the_tree_is_drawn_as_it_is():
    """Each error below its parent, and none that is gone; all have one root."""
    assert drawn() == {error.__name__: error.__mro__[1].__name__ for error in ERRORS}
    assert all(issubclass(error, SitemapsPlusError) for error in ERRORS)


def test_some_are_errors_of_django_and_python_too():
    assert issubclass(ConfigurationError, ImproperlyConfigured)
    assert issubclass(NotRegistered, LookupError)
    assert not issubclass(BuildError, ImproperlyConfigured)
