"""Google Search Console: indexes are submitted, and what Google says is read back."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from os import PathLike
from typing import Any, ClassVar
from urllib.parse import quote

from django.views.decorators.debug import sensitive_variables

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import RetryLater
from django_sitemaps_plus.notifications.base import Batch, Engine, Takes
from django_sitemaps_plus.notifications.http import Answer, accepted, request
from django_sitemaps_plus.notifications.options import (
    bad_option,
    encoded_url,
    endpoint_option,
)
from django_sitemaps_plus.notifications.secrets import Secret

from .service_account import ServiceAccount, read_credentials

ENDPOINT = "https://www.googleapis.com/webmasters/v3"
SCOPE = "https://www.googleapis.com/auth/webmasters"

#: Of a property that covers all hosts of a domain.
DOMAIN_PREFIX = "sc-domain:"

# More of a text than any date has is not kept.
_MAX_TEXT = 64

Credentials = str | PathLike[str] | Mapping[str, Any] | Secret


class SearchConsole(Engine):
    """Submits indexes to Google Search Console, each at most once a day.

    Args:
        credentials: of a service account that is an owner of the property: the path
            of its JSON key file, the text of that file, or a dict of it.
        site_url: the property, as ``https://shop.example/`` or
            ``sc-domain:shop.example``; None for the origin with a slash.
        endpoint: where the API is, with its version.

    Raises:
        ConfigurationError: an option is missing or cannot work, or google-auth is
            not installed.
    """

    takes: ClassVar[Takes] = Takes.FEEDS
    max_batch: ClassVar[int] = 1
    again_after: ClassVar[timedelta | None] = timedelta(days=1)

    @sensitive_variables("credentials")
    def __init__(
        self,
        *,
        credentials: Credentials | None = None,
        site_url: str | None = None,
        endpoint: str = ENDPOINT,
    ) -> None:
        self._site_url = site_url
        if site_url is not None and not _is_property(site_url):
            raise bad_option(
                self,
                "site_url",
                "a property, as 'https://shop.example/' with its slash at the end, or "
                "'sc-domain:shop.example'",
            )
        self._endpoint = endpoint_option(self, "endpoint", endpoint).rstrip("/")
        self._account = self._read_account(credentials)

    def send(self, batch: Batch) -> None:
        """Submit one index."""
        [target] = batch.targets
        accepted(self._ask("PUT", batch.site, target))

    def read_back(self, site: Site, target: str) -> dict[str, Any] | None:
        """Return Google's own numbers, under its own names.

        ``errors``, ``warnings``, ``isPending``, ``lastSubmitted``, ``lastDownloaded``,
        and ``submitted``: kinds of content with how many URLs of each were found.
        """
        answer = self._ask("GET", site, target)
        if answer.status == 404:
            return None
        said = accepted(answer).json()
        return _report(said) if isinstance(said, dict) else None

    @sensitive_variables("credentials")
    def _read_account(self, credentials: object) -> ServiceAccount:
        reason = ""
        try:
            info = read_credentials(credentials)
        except OSError as error:
            info, reason = None, f" (it cannot be read: {error.strerror})"
        account = _account(info) if info is not None else None
        if account is None:
            raise bad_option(
                self,
                "credentials",
                "the path of a service account's JSON key file, or its text" + reason,
            )
        return account

    def _ask(self, method: str, site: Site, target: str) -> Answer:
        was_kept = self._account.has_token
        token = self._account.token()
        answer = request(
            method,
            self._url(site, target),
            headers={"Authorization": Secret.of(f"Bearer {token.reveal()}")},
        )
        if answer.status == 401:
            self._account.forget_token()
            if was_kept:
                raise RetryLater("It answered 401: the access token ended early.")
        if _is_over_quota(answer):
            words = f"It answered {answer.status}, over quota: {answer.text}"
            raise RetryLater(words, answer.retry_after)
        return answer

    def _url(self, site: Site, target: str) -> str:
        # Each is one segment of the path, slashes and all.
        site_url = quote(self._site_url or f"{site.origin}/", safe="")
        feed = quote(target, safe="")
        return f"{self._endpoint}/sites/{site_url}/sitemaps/{feed}"


def _is_property(site_url: object) -> bool:
    if not isinstance(site_url, str):
        return False
    if site_url.startswith(DOMAIN_PREFIX):
        return (
            encoded_url(f"https://{site_url.removeprefix(DOMAIN_PREFIX)}") is not None
        )
    return site_url.endswith("/") and encoded_url(site_url) is not None


@sensitive_variables("info")
def _account(info: Mapping[str, Any]) -> ServiceAccount | None:
    try:
        return ServiceAccount(info, SCOPE)
    except ValueError:
        return None


def _is_over_quota(answer: Answer) -> bool:
    """Return whether a 403 is about too many requests, and not about rights."""
    said = answer.json() if answer.status == 403 else None
    error = said.get("error") if isinstance(said, dict) else None
    errors = error.get("errors") if isinstance(error, dict) else None
    reasons = [e.get("reason") for e in errors or () if isinstance(e, dict)]
    return any(
        r == "quotaExceeded" or str(r).endswith("LimitExceeded") for r in reasons
    )


def _report(said: Mapping[str, Any]) -> dict[str, Any]:
    report: dict[str, Any] = {
        name: _number(said.get(name)) for name in ("errors", "warnings")
    }
    report["isPending"] = bool(said.get("isPending"))
    for name in ("lastSubmitted", "lastDownloaded"):
        if said.get(name):
            report[name] = str(said[name])[:_MAX_TEXT]
    contents = said.get("contents")
    report["submitted"] = {
        item["type"][:_MAX_TEXT]: _number(item.get("submitted"))
        for item in (contents if isinstance(contents, list) else ())
        if isinstance(item, dict) and isinstance(item.get("type"), str)
    }
    return report


def _number(value: object) -> int | None:
    # Google writes its numbers as strings.
    text = str(value)
    return int(text) if text.isdecimal() and len(text) < 20 else None
