"""Values: what text of an element must be, by the rules that entries are made by."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

from django_sitemaps_plus.core.dates import parse_w3c
from django_sitemaps_plus.core.entries import check_changefreq, check_priority
from django_sitemaps_plus.core.extensions import News, Video
from django_sitemaps_plus.core.locations import encode_url

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
    code, words = "", f"{url} is not on {own.scheme}://{own.netloc}: compare BASE_URL"
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
