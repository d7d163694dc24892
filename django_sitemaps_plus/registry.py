"""The registry: which source serves which section."""

from __future__ import annotations

import inspect
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar, overload

from django.apps import apps
from django.contrib.sitemaps import Sitemap
from django.utils.module_loading import autodiscover_modules

from .conf import in_force, site_in_force
from .exceptions import AlreadyRegistered, ConfigurationError, NotRegistered
from .outages import in_one_line
from .sources import SitemapSource, Source

#: Bytes of the name of a section, at most: it becomes part of file names.
MAX_NAME_BYTES = 64

S = TypeVar("S")

# Not None, which a faulty import may have left in place of a source.
_NOT_GIVEN: Any = object()


class SourceRegistry:
    """The sections of a project by name, in order of registration.

    While a site is in force, as in its builds and views, it has those of that site.
    """

    def __init__(self) -> None:
        # All state is here: Django's autodiscovery restores this one attribute when a
        # module fails to import.
        self._registry: dict[str, Source] = {}
        #: Called without arguments when a section is registered or unregistered.
        self.listeners: list[Callable[[], None]] = []
        #: Registers what cannot be imported before Django has started, or None.
        self.pending: Callable[[], None] | None = None
        #: The error that this met when tried last, and may not meet the next time.
        self.unread: Exception | None = None

    @overload
    def register(self, name: str) -> Callable[[S], S]: ...

    @overload
    def register(self, name: str, source: S) -> S: ...

    def register(self, name: Any = _NOT_GIVEN, source: Any = _NOT_GIVEN) -> Any:
        """Register a source under a name; without a source, return a decorator.

        Args:
            name: 1 to 64 bytes without slashes and control characters; it becomes part
                of the URLs of its pages.
            source: a class or an instance, of ours or a contrib ``Sitemap``, or a
                callable that returns a contrib ``Sitemap``.

        Returns:
            The source as given.

        Raises:
            TypeError: there is no name, as in ``@register`` without parentheses.
            ConfigurationError: the name has other characters, or the source is not one.
            AlreadyRegistered: the name is taken, or differs in case or accents alone.
        """
        if source is _NOT_GIVEN and (name is _NOT_GIVEN or inspect.isclass(name)):
            above = getattr(name, "__qualname__", "the class")
            raise TypeError(
                f'register() needs the name of a section: write @register("products") '
                f"above {above}, with a name of your choice."
            )
        check_name(name)
        if source is _NOT_GIVEN:
            return lambda decorated: self.register(name, decorated)
        self._add(name, source)
        self.changed()
        return source

    def adopt(self, sitemaps: Mapping[Any, Any]) -> list[ConfigurationError]:
        """Register sections, but for those that are; return what is wrong with others.

        Threads may do this at the same time: who sees that nothing is pending any more
        sees all sections.
        """
        faults = []
        for name, source in sitemaps.items():
            try:
                if name not in self._registry:
                    check_name(name)
                    self._add(name, source)
            except ConfigurationError as fault:
                if name not in self._registry:  # or another thread was first
                    faults.append(fault)
        self.pending = self.unread = None
        self.changed()
        return faults

    def must_be_whole(self) -> None:
        """Raise a ConfigurationError while some sections are not known.

        Code that would take them for removed asks first.
        """
        self._loaded()
        if self.unread is not None:
            raise ConfigurationError(
                "The sections of SITEMAPS_PLUS['CONTRIB_SITEMAPS'] are not known: "
                f"{in_one_line(self.unread)}."
            ) from self.unread

    def _add(self, name: str, source: Any) -> None:
        taken = {_folded(it): it for it in self._registry}.get(_folded(name))
        if taken is not None:
            words = "" if taken == name else f" as {taken!r}, which databases and file "
            words += words and "systems that ignore case or accents take for the same"
            where = repr(self._registry[taken]).removeprefix("<").removesuffix(">")
            raise AlreadyRegistered(
                f"Section {name!r} is registered already{words}, by {where}. Choose "
                "another name, or unregister that one first."
            )

        is_class = inspect.isclass(source)
        kind = source if is_class else type(source)
        is_callable = callable(source) and not is_class
        if issubclass(kind, Sitemap) or (is_callable and not issubclass(kind, Source)):
            self._registry[name] = SitemapSource(source)
        elif issubclass(kind, Source):
            self._registry[name] = source() if is_class else source
        else:
            # The representation of a queryset asks a database that may be empty yet.
            is_queryset = hasattr(source, "model") and not is_class
            shown = f"a {kind.__name__}" if is_queryset else repr(source)
            raise ConfigurationError(
                f"Section {name!r}: {shown} is not a source. Register a subclass of "
                "ModelSource, ViewSource, Source or django.contrib.sitemaps.Sitemap."
            )

    def unregister(self, name: str) -> None:
        """Remove a section.

        Raises:
            NotRegistered: no section has this name.
        """
        self.get(name)
        del self._registry[name]
        self.changed()

    def changed(self) -> None:
        """Call the listeners, which see the sections of all sites."""
        with in_force(None):
            for listener in self.listeners:
                listener()

    def get(self, name: str) -> Source:
        """Return the source of a section.

        Raises:
            NotRegistered: no section has this name.
        """
        source = self._loaded().get(name)
        if source is None or not _is_on_site(source):
            known = ", ".join(self) or "none"
            raise NotRegistered(f"No section {name!r}. Registered are: {known}.")
        return source

    def items(self) -> list[tuple[str, Source]]:
        """Return names and sources, in order of registration."""
        return [item for item in self._loaded().items() if _is_on_site(item[1])]

    def live(self) -> list[str]:
        """Return the names of the sections that no build makes pages of."""
        return [name for name, source in self.items() if source.live is True]

    def _loaded(self) -> dict[str, Source]:
        """Return the sections, with those that wait for Django to have started."""
        if self.pending is not None and apps.ready_event.is_set():
            self.pending()
        return self._registry

    def __contains__(self, name: Any) -> bool:
        source = self._loaded().get(name)
        return source is not None and _is_on_site(source)

    def __iter__(self) -> Iterator[str]:
        return iter([name for name, _ in self.items()])

    def __bool__(self) -> bool:
        # Django's autodiscovery takes an empty registry for none, unless it is true.
        return True

    def __len__(self) -> int:
        return len(self.items())


def _is_on_site(source: Source) -> bool:
    """Return whether the site in force, if there is one, has a section."""
    site = site_in_force()
    try:
        sites = None if site is None else source.sites
    except Exception:  # noqa: BLE001 - a property; whoever reads the source tells why
        return True
    if site is None or not isinstance(sites, list | tuple | set | frozenset):
        return True  # what is not a list is named by a check
    return site.name in map(str, sites)


def check_name(name: object) -> None:
    """Raise a ConfigurationError unless a section may have this name."""
    if not isinstance(name, str):
        raise ConfigurationError(
            f"{name!r} cannot name a section. A name comes first, and then the source, "
            "as in register('blog-posts', PostSource)."
        )
    # In this order: what is not printable, such as half a surrogate, has no bytes.
    if (
        not name.isprintable()
        or {"/", "\\"} & {*name}
        or name != name.strip()
        or not 1 <= len(name.encode()) <= MAX_NAME_BYTES
    ):
        raise ConfigurationError(
            f"{name!r} cannot name a section: it becomes part of URLs and file names, "
            f"so use 1 to {MAX_NAME_BYTES} bytes without slashes, control characters "
            "and spaces at the ends, as in register('blog-posts')."
        )


def _folded(name: str) -> str:
    """Return a name as databases and file systems that ignore case compare it."""
    letters = unicodedata.normalize("NFKD", name).casefold()
    return "".join([it for it in letters if not unicodedata.combining(it)])


#: The sections of this project.
registry = SourceRegistry()

#: Short for ``registry.register``.
register = registry.register


def autodiscover() -> None:
    """Import the module ``sitemaps`` of every installed app that has one."""
    autodiscover_modules("sitemaps", register_to=registry)
