"""URLs as a sitemap may list them: absolute, percent-encoded, of bounded length."""

from __future__ import annotations

import re
from urllib.parse import quote

from .limits import MAX_URL_LENGTH, MIN_URL_LENGTH

# A URL that needs no encoding, the usual case. A port of five digits may be too high.
_READY = re.compile(
    r"https?://[a-z0-9.-]+(?::[0-9]{1,4})?"
    r"(?:[/?](?:[A-Za-z0-9\-._~:/?@!$&'()*+,;=]|%[0-9A-Fa-f]{2})*)?"
)
# ASCII, or U+017F, the long s, would pass for the s of https.
_PARTS = re.compile(r"(https?)://([^/?#]*)(.*)", re.ASCII | re.IGNORECASE | re.DOTALL)
_HOST = re.compile(r"(?:[a-z0-9._-]+|\[[0-9a-f:.]+\])(?::(?P<port>[0-9]{1,5}))?")
_MAX_PORT = 65_535
_STRAY_PERCENT = re.compile(r"%(?![0-9A-Fa-f]{2})")

#: Characters that RFC 3986 allows in a path and a query, and present escapes.
SAFE = "/?:@!$&'()*+,;=~%"


def encode_url(url: str) -> str:
    """Return an absolute http(s) URL as RFC 3986 text with an IDNA host.

    Existing percent-encoding stays; what else a URL cannot contain is percent-encoded
    as UTF-8.

    Raises:
        TypeError: not a string.
        ValueError: relative, of another scheme, with credentials, with a host or port
            that cannot be, not expressible in UTF-8, or above 2,047 characters.
    """
    if not isinstance(url, str):
        raise TypeError(f"{url!r} is not a URL; give a string")
    encoded = url
    if not _READY.fullmatch(url):
        parts = _PARTS.fullmatch(url)
        if parts is None:
            raise ValueError(f"{url[:200]!r} is not an absolute http or https URL")
        scheme, authority, rest = parts.groups()
        before, hash_sign, fragment = rest.partition("#")
        rest = _quote(before) + (hash_sign and "#" + _quote(fragment))
        encoded = f"{scheme.lower()}://{_encode_authority(authority)}{rest}"
    if len(encoded) > MAX_URL_LENGTH:
        raise ValueError(
            f"a URL of {len(encoded):,} characters: at most {MAX_URL_LENGTH:,} "
            f"are allowed: {encoded[:80]}..."
        )
    return encoded


def _quote(text: str) -> str:
    try:
        return quote(_STRAY_PERCENT.sub("%25", text), safe=SAFE)
    except UnicodeEncodeError as error:
        raise ValueError(f"{text[:200]!r} cannot be written in UTF-8") from error


def _encode_authority(authority: str) -> str:
    host, colon, port = authority.partition(":")
    if not authority.isascii():
        try:
            host = host.encode("idna").decode("ascii")
        except UnicodeError as error:
            raise ValueError(f"{authority[:200]!r} is not a host name") from error
        authority = f"{host}{colon}{port}"
    match = _HOST.fullmatch(authority.lower())
    if not match:
        raise ValueError(f"{authority[:200]!r} is not a host, or has credentials in it")
    if int(match["port"] or 0) > _MAX_PORT:
        raise ValueError(f"{authority[:200]!r} has a port above {_MAX_PORT:,}")
    return authority.lower()


def encode_location(url: str) -> str:
    """Return a URL as :func:`encode_url` does, if it is long enough for an entry."""
    encoded = encode_url(url)
    if len(encoded) < MIN_URL_LENGTH:
        raise ValueError(
            f"{encoded!r} has {len(encoded)} characters: a location has at least "
            f"{MIN_URL_LENGTH}"
        )
    return encoded


def refuse_relative(url: str) -> None:
    """Raise a ValueError for what is no URL, where paths on the origin are allowed."""
    if "://" not in url:
        raise ValueError(
            f"{url[:200]!r} is not an absolute http or https URL, or a path that "
            "begins with a slash"
        )


def absolute_url(location: str, origin: str | None) -> str:
    """Return the URL of a path with one slash first, or of an absolute URL.

    With an origin, as ``https://shop.example``, a URL must be on it (sitemaps.org,
    "Sitemap file location"); without one, paths are not allowed.

    Raises:
        TypeError, ValueError: as :func:`encode_url`, or another origin, or under 12
            characters.
    """
    if not isinstance(location, str):
        raise TypeError(f"{location!r} is not a location; give a path or a URL")
    if origin and location.startswith("/") and not location.startswith("//"):
        return encode_location(origin + location)
    if origin:
        refuse_relative(location)
    url = encode_location(location)
    if (
        origin
        and url != origin
        and not url.startswith((f"{origin}/", f"{origin}?", f"{origin}#"))
    ):
        raise ValueError(f"{url[:200]!r} is not on {origin}")
    return url
