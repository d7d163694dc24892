"""Options of engines, checked when an engine is made."""

from __future__ import annotations

from urllib.parse import urlsplit

from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.exceptions import ConfigurationError, EngineRefused

from .base import Engine
from .http.addresses import parse_endpoint
from .secrets import Secret


def bad_option(engine: Engine, option: str, remedy: str) -> ConfigurationError:
    """Return the error of an option that is missing or cannot work.

    It does not repeat what was given: any option may hold a secret.

    Args:
        engine: whose option it is.
        option: its name.
        remedy: what it must be, to follow the word "be".
    """
    return ConfigurationError(
        f"The option {option!r} of {type(engine).__name__} must be {remedy}. "
        "Set it in SITEMAPS_PLUS['ENGINES']."
    )


def secret_option(engine: Engine, option: str, value: object, what: str) -> Secret:
    """Return a key or a token that can stand in a header or a query.

    Args:
        engine: whose option it is.
        option: its name.
        value: a string or a secret.
        what: whose key it is, for the message.

    Raises:
        ConfigurationError: it is empty, or has spaces or control characters, as the
            line end of the file from which it was read.
    """
    text = value.reveal() if isinstance(value, Secret) else value
    if not isinstance(text, str) or not text.isascii() or not _is_one_word(text):
        raise bad_option(engine, option, f"{what}, without spaces and line ends")
    return Secret.of(text)


def _is_one_word(text: str) -> bool:
    return text.isprintable() and text.split() == [text]


def url_option(engine: Engine, option: str, value: object) -> str:
    """Return an absolute URL, as a sitemap would list it.

    Raises:
        ConfigurationError: it is none, or has credentials in it.
    """
    url = encoded_url(value)
    if url is None:
        raise bad_option(engine, option, "an absolute URL")
    return url


def endpoint_option(
    engine: Engine, option: str, value: object, *, may_have_query: bool = False
) -> str:
    """Return a URL that may be asked, as far as that can be seen from itself.

    Raises:
        ConfigurationError: it is none, is not https, has credentials or a fragment in
            it, or a query where the engine adds its own.
    """
    url = encoded_url(value)
    if url is None or not _may_be_asked(url, may_have_query):
        without = "a fragment" if may_have_query else "a query"
        raise bad_option(engine, option, f"an absolute https URL without {without}")
    return url


def _may_be_asked(url: str, may_have_query: bool) -> bool:
    parts = urlsplit(url)
    if parts.fragment or (parts.query and not may_have_query):
        return False
    try:
        parse_endpoint(url)
    except EngineRefused:
        return False
    return True


def encoded_url(value: object) -> str | None:
    """Return a URL as a sitemap would list it; None where it is none."""
    try:
        return encode_url(value)  # type: ignore[arg-type] # which it looks at
    except (TypeError, ValueError):
        return None
