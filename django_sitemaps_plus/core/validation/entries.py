"""Entries: which elements belong into one, and what must hold between them."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta

from django_sitemaps_plus.core.extensions import Alternate

from .reader import Element
from .rules import Fault
from .values import VALUES, check_url, is_signed

# How old an article of Google News may be, and how far ahead of UTC a lastmod: two days
# and some hours, and a day more where a date has no time.
_NEWS_AGE, _AHEAD = timedelta(days=3), timedelta(hours=15)

# The children of each element: ! is required, * may repeat, - is ignored by engines.
_SHAPES = {
    "sitemap": "loc! lastmod",
    "url": "loc! lastmod changefreq priority image:image* video:video* news:news "
    "xhtml:link* mobile:mobile-",
    "image:image": "image:loc! image:caption- image:geo_location- image:title- "
    "image:license-",
    "video:video": "video:thumbnail_loc! video:title! video:description! "
    "video:content_loc video:player_loc video:duration video:expiration_date "
    "video:rating video:view_count video:publication_date video:family_friendly "
    "video:restriction video:requires_subscription video:uploader video:platform "
    "video:live video:tag* video:id* video:content_segment_loc* video:category- "
    "video:gallery_loc- video:price- video:tvshow-",
    "news:news": "news:publication! news:publication_date! news:title! news:access- "
    "news:genres- news:keywords- news:stock_tickers-",
    "news:publication": "news:name! news:language!",
}
_CHILDREN = {
    parent: {name.rstrip("!*-"): name[-1] for name in names.split()}
    for parent, names in _SHAPES.items()
}
_LINK = "xhtml:link"
_EMPTY = {_LINK, "mobile:mobile"}
_VIDEO_URLS = {"video:content_loc", "video:player_loc"}
_MEDIA = {"image:loc", "video:thumbnail_loc", *_VIDEO_URLS}


def entry_faults(entry: Element, now: datetime) -> Iterator[Fault]:
    """Yield what is wrong in a ``url`` or ``sitemap``, but for its location."""
    yield from _faults(entry, now)

    versions = dict[str, str]()
    for link in entry.named(_LINK):
        try:
            language, href = _alternate(link.attributes)
            if versions.setdefault(language, href) != href:
                words = f"{language!r} has two URLs, {versions[language]} and {href}"
                raise Fault("alternate-duplicate", words)
        except Fault as fault:
            yield Fault(fault.code, f"<xhtml:link>: {fault}", link.line)
    loc = next(iter(entry.named("loc")), entry).text.strip()
    if versions and loc not in versions.values():
        words = f"{loc} is not among its own language versions: add it"
        yield Fault("alternate-self", words, entry.line)

    for video in entry.named("video:video"):
        if not {child.name for child in video.children} & _VIDEO_URLS:
            words = "<video:video> has no <video:content_loc> or <video:player_loc>"
            yield Fault("video-location-missing", words, video.line)


def alternates(entry: Element) -> set[str]:
    """Return the URLs of the language versions of an entry."""
    return {link.attributes.get("href", "") for link in entry.named(_LINK)}


def _faults(element: Element, now: datetime) -> Iterator[Fault]:
    """Yield what is wrong with the children of an element, or with its text."""
    parent, children = element.name, _CHILDREN.get(element.name, {})
    seen = set[str]()
    for child in element.children:
        name, line, kind = child.name, child.line, children.get(child.name, "")
        if name.startswith("{"):
            if "sitemap" in name:  # as https in place of http; all others are nobody's
                words = f"{name} is in a wrong namespace"
                yield Fault("extension-namespace", words, line)
        elif not kind:
            yield Fault("tag-unknown", f"<{parent}> cannot have <{name}>", line)
        elif kind == "-":
            yield Fault("tag-ignored", f"engines ignore <{name}>: remove it", line)
        elif name in seen and kind != "*":
            yield Fault("tag-duplicate", f"<{parent}> has more than one <{name}>", line)
        seen.add(name)
        if kind:
            yield from _faults(child, now)
    for name, kind in children.items():
        if kind == "!" and name not in seen:
            code = name.replace(":", "-").replace("_", "-") + "-missing"
            yield Fault(code, f"<{parent}> has no <{name}>", element.line)
    yield from _value_faults(element, now)


def _value_faults(element: Element, now: datetime) -> Iterator[Fault]:
    name, text, line = element.name, element.text.strip(), element.line
    if name in _CHILDREN or name in _EMPTY or element.children:
        return
    code, check = VALUES.get(name, ("", str))
    if not text:
        yield Fault("tag-empty", f"<{name}> is empty", line)
        return
    try:
        value = check(text)
    except ValueError as error:
        yield Fault(code or getattr(error, "code", ""), f"<{name}>: {error}", line)
        return
    if name == "lastmod" and value > now + _AHEAD:
        words = f"<lastmod>: {text} is in the future, so engines ignore it"
        yield Fault("lastmod-future", words, line)
    elif name == "news:publication_date" and now - value > _NEWS_AGE:
        words = f"an article of {text}: leave out <news:news> after two days"
        yield Fault("news-old", words, line)
    elif name in _MEDIA and is_signed(text):
        words = f"<{name}>: {text[:200]} is signed and expires, though the page is kept"
        yield Fault("media-signed", f"{words}: use a storage without signatures", line)


def _alternate(given: dict[str, str]) -> tuple[str, str]:
    """Return hreflang and href of a link."""
    for name in ("rel", "hreflang", "href"):
        if name not in given:
            raise Fault("alternate-incomplete", f"it has no {name}")
    if given["rel"] != "alternate":
        raise Fault("alternate-rel", f"rel is {given['rel']!r}: write alternate")
    code = "alternate-href"
    try:
        check_url(given["href"])
        code = "alternate-hreflang"
        if doubt := Alternate(given["hreflang"], given["href"]).doubt:
            raise ValueError(doubt)
    except ValueError as error:
        raise Fault(code, str(error)) from error
    return given["hreflang"].lower(), given["href"]
