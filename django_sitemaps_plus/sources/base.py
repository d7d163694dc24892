"""``Source``, and what users may override; how its pages are read is in ``reading``."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any, ClassVar, Literal

from django_sitemaps_plus.core.entries import Entry


class Source:
    """Says which entries a section has.

    A subclass yields them from :meth:`entries`, up to 10,000,000. Such a section is
    paged by position: page two begins where page one is full. :class:`ModelSource`
    pages by key instead, which costs less and keeps pages stable.

    One instance serves every request and build, so it keeps no state of either.
    A subclass may have methods and attributes of its own under any other name; a
    check reports those that look like a mistake.

    Attributes:
        limit: entries a page should hold, at most 50,000.
        on_error: ``"skip"`` leaves out what cannot be listed and counts it;
            ``"raise"`` lets the error stop the page.
        max_age: seconds after which a build renders its pages again unasked; None
            for never, where changes are noticed otherwise.
        using: alias of the database to read; None for the one that is written to.
        mobile: whether entries are marked as pages for feature phones, which search
            engines have stopped reading.
        sites: names of the sites of ``SITES`` that have this section; None for all.
    """

    limit: int = 10_000
    on_error: Literal["skip", "raise"] = "skip"
    max_age: int | None = 3_600
    using: str | None = None
    mobile: bool = False
    sites: Collection[str | int] | None = None

    #: Kinds of extension element that entries may have; see ``NAMESPACES``.
    extensions: ClassVar[Collection[str]] = ("image", "video", "news", "xhtml")

    def entries(self, origin: str) -> Iterable[Entry]:
        """Yield every entry, in an order that does not change by itself.

        Args:
            origin: scheme and host of the site, such as ``https://shop.example``.
        """
        raise NotImplementedError(
            f"{type(self).__qualname__} does not define its entries"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__module__}.{type(self).__qualname__}>"


class DeclaredSource(Source):
    """Says by attributes what an entry has.

    With ``languages``, each row or view is listed once a language, and each of these
    entries names all versions.

    Attributes:
        languages: codes of languages, or ``"all"`` for those of ``LANGUAGES``.
        x_default: whether the entries name the URL of ``LANGUAGE_CODE``, without its
            prefix, for all other languages.
        get_languages: the languages of a row or view, where not each has all: a method
            that takes it; of rows, the path of a field that holds a list of codes.
    """

    languages: Sequence[str] | Literal["all"] = ()
    x_default: bool = False
    get_languages: Any = None

    lastmod: Any = None
    changefreq: Any = None
    priority: Any = None
    images: Any = None
    videos: Any = None
    news: Any = None
    alternates: Any = None
