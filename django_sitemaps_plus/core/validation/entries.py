"""Entries: which elements belong into one, and what their text must be."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.entries import check_changefreq, check_priority
from django_sitemaps_plus.core.extensions import Alternate, News, Video
from django_sitemaps_plus.core.locations import encode_url

from .reader import Element
from .rules import Fault

_SESSION = re.compile(
    r"[;?&](?:jsessionid|phpsessid|sessionid|session_id|aspsessionid[a-z]{0,8}|sid)=",
    re.IGNORECASE,
)
_W3C = re.compile(
    r"\d{4}(-\d\d(-\d\d(T\d\d:\d\d(:\d\d(\.\d{1,9})?)?(?P<zone>Z|[+-]\d\d:\d\d)?)?)?)?",
    re.ASCII,
)

# Storages add an end and a signature to a URL that works for some time only.
_ENDS = re.compile(
    r"[?&;](?:x-(?:amz|goog|oss)-expires|expires|policy|se)=", re.IGNORECASE
)
_SIGNS = re.compile(
    r"[?&;](?:x-(?:amz|goog|oss)-signature|signature|sig)=", re.IGNORECASE
)


def is_signed(text: str) -> bool:
    """Return whether a URL, or one in lines of entries, expires."""
    return bool(_SIGNS.search(text) and _ENDS.search(text))


def read_url(text: str) -> str:
    """Return a URL as it must be written."""
    try:
        return encode_url(text)
    except ValueError as error:
        code = "loc-invalid" if "://" in text else "loc-relative"
        raise Fault(code, str(error)) from error


def check_url(text: str) -> None:
    """Raise Fault unless it is a URL as it must be written."""
    if (encoded := read_url(text)) != text:
        raise Fault("loc-encoding", f"{text[:200]!r} is not encoded: write {encoded}")


def check_scope(url: str, base: str) -> None:
    """Raise Fault unless a sitemap at a URL, the base, may list another URL."""
    own, other = urlsplit(base), urlsplit(url)
    directory = own.path.rpartition("/")[0] + "/"
    code, words = "", f"{url} is not on {own.scheme}://{own.netloc}"
    words += ": compare the site's address"
    if other.netloc.removeprefix("www.") != own.netloc.removeprefix("www."):
        code = "loc-host"
    elif other.netloc != own.netloc:
        code = "loc-www"
    elif other.scheme != own.scheme:
        code = "loc-protocol"
    elif not (other.path or "/").startswith(directory):
        words = f"{url} is not below {directory}, where the sitemap is: serve sitemaps"
        code, words = "loc-directory", f"{words} at the root"
    if code:
        raise Fault(code, words)


def location_faults(text: str, url: str, base: str) -> Iterator[Fault]:
    """Yield what is wrong with the text of a location, which means a URL."""
    given = text.strip()
    if given != text:
        yield Fault("loc-whitespace", f"spaces or line ends around {url}: remove them")
    if "#" in url:
        yield Fault("loc-fragment", f"{url} has a fragment: leave out # and the rest")
    if _SESSION.search(url):
        yield Fault("loc-session", f"{url} has a session id: leave it out")
    try:
        check_url(given)
        if not url.startswith(f"{base.rpartition('/')[0]}/"):
            check_scope(url, base)
    except Fault as fault:
        yield fault


def read_date(text: str) -> datetime:
    """Return the moment of a W3C date, the first one that it can mean."""
    match, words = _W3C.fullmatch(text), "write it as 2026-11-20T09:30:00+00:00"
    if match and "T" in text and not match["zone"]:
        raise Fault("lastmod-zone", f"{text!r} has no time zone: {words}")
    try:
        if match:
            return parse_w3c(text + "-01-01"[len(text) - 4 :])
    except ValueError as error:
        words = str(error)
    raise Fault("lastmod-format", f"{text[:80]!r} is not a W3C date: {words}")


_Check = Callable[[str], Any]


def _video(name: str, convert: Callable[[str], Any] = str) -> _Check:
    url = "https://shop.example/"
    valid = {"thumbnail_loc": url, "title": "-", "description": "-", "content_loc": url}
    return lambda text: _certain(Video(**{**valid, name: convert(text)}))


def _certain(value: News | Video) -> None:
    if value.doubt:
        raise ValueError(value.doubt)


_news = partial(News, name="-", publication_date=date.min, title="-")

#: The code of the rule of each element, and what raises ValueError at a wrong value. A
#: code that is empty is that of the Fault.
VALUES: dict[str, tuple[str, _Check]] = {
    "lastmod": ("", read_date),
    "changefreq": ("changefreq", check_changefreq),
    "priority": ("priority", check_priority),
    "image:loc": ("image-loc", check_url),
    "video:thumbnail_loc": ("video-url", check_url),
    "video:content_loc": ("video-url", check_url),
    "video:player_loc": ("video-url", check_url),
    "video:title": ("video-title", _video("title")),
    "video:description": ("video-description", _video("description")),
    "video:duration": ("video-duration", _video("duration", int)),
    "video:publication_date": ("video-date", read_date),
    "video:restriction": ("video-restriction", _video("allowed_countries")),
    "video:expiration_date": ("video-date", read_date),
    "news:language": ("news-language", lambda text: _certain(_news(language=text))),
    "news:publication_date": ("news-date", read_date),
}

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
