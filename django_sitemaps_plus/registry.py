"""The registry: which source serves which section."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, overload

from django.contrib.sitemaps import Sitemap
from django.utils.module_loading import autodiscover_modules

from .exceptions import AlreadyRegistered, ConfigurationError, NotRegistered
from .sources import SitemapSource, Source

#: The name of a section, which becomes part of URLs and file names.
NAME = re.compile(r"[a-z0-9_-]{1,64}")

S = TypeVar("S")

# Not None, which a faulty import may have left in place of a source.
_NOT_GIVEN: Any = object()


class SourceRegistry:
    """The sections of a project by name, in order of registration."""

    def __init__(self) -> None:
        # All state is here: Django's autodiscovery restores this one attribute when a
        # module fails to import.
        self._registry: dict[str, Source] = {}
        #: Called without arguments when a section is registered or unregistered.
        self.listeners: list[Callable[[], None]] = []

    @overload
    def register(self, name: str) -> Callable[[S], S]: ...

    @overload
    def register(self, name: str, source: S) -> S: ...

    def register(self, name: str, source: Any = _NOT_GIVEN) -> Any:
        """Register a source under a name; without a source, return a decorator.

        Args:
            name: 1 to 64 of ``a-z 0-9 _ -``; it becomes part of the URLs of its pages.
            source: a class or an instance, of ours or a contrib ``Sitemap``.

        Returns:
            The source as given.

        Raises:
            ConfigurationError: the name has other characters, or the source is not one.
            AlreadyRegistered: the name is taken.
        """
        if source is _NOT_GIVEN:
            return lambda decorated: self.register(name, decorated)
        check_name(name)
        if name in self._registry:
            raise AlreadyRegistered(
                f"Section {name!r} is registered already, by "
                f"{_where(self._registry[name])}. Choose another name, or unregister "
                "that one first."
            )
        self._registry[name] = _as_source(name, source)
        self.changed()
        return source

    def unregister(self, name: str) -> None:
        """Remove a section.

        Raises:
            NotRegistered: no section has this name.
        """
        self.get(name)
        del self._registry[name]
        self.changed()

    def changed(self) -> None:
        """Call the listeners."""
        for listener in self.listeners:
            listener()

    def get(self, name: str) -> Source:
        """Return the source of a section.

        Raises:
            NotRegistered: no section has this name.
        """
        try:
            return self._registry[name]
        except KeyError:
            known = ", ".join(self._registry) or "none"
            raise NotRegistered(
                f"No section {name!r}. Registered are: {known}."
            ) from None

    def items(self) -> list[tuple[str, Source]]:
        """Return names and sources, in order of registration."""
        return list(self._registry.items())

    def __contains__(self, name: object) -> bool:
        return name in self._registry

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._registry))

    def __len__(self) -> int:
        return len(self._registry)


def check_name(name: object) -> None:
    """Raise a ConfigurationError unless a section may have this name."""
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise ConfigurationError(
            f"{name!r} cannot name a section: it becomes part of a URL, so use 1 to 64 "
            "of a-z, 0-9, '_' and '-', as in register('blog-posts')."
        )


def _as_source(name: str, given: Any) -> Source:
    kind = given if inspect.isclass(given) else type(given)
    if issubclass(kind, Sitemap):
        return SitemapSource(given)
    if not issubclass(kind, Source):
        raise ConfigurationError(
            f"Section {name!r}: {given!r} is not a source. Register a subclass of "
            "ModelSource, ViewSource, Source or django.contrib.sitemaps.Sitemap."
        )
    source: Any = given
    made: Source = source() if inspect.isclass(given) else source
    return made


def _where(source: Source) -> str:
    return repr(source).strip("<>")


#: The sections of this project.
registry = SourceRegistry()

#: Short for ``registry.register``.
register = registry.register


def autodiscover() -> None:
    """Import the module ``sitemaps`` of every installed app that has one."""
    autodiscover_modules("sitemaps", register_to=registry)
