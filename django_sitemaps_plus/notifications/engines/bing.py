"""Bing Webmaster Tools: indexes are submitted by ``SubmitFeed``."""

from __future__ import annotations

from typing import ClassVar

from django_sitemaps_plus.exceptions import EngineRefused, RetryLater
from django_sitemaps_plus.notifications.base import Batch, Engine, Takes
from django_sitemaps_plus.notifications.configuration import (
    bad_option,
    encoded_url,
    endpoint_option,
    secret_option,
)
from django_sitemaps_plus.notifications.http import accepted, request
from django_sitemaps_plus.notifications.secrets import Secret

ENDPOINT = "https://ssl.bing.com/webmaster/api.svc/json/SubmitFeed"

# Values of its ApiErrorCode, which come with status 400.
_BUSY = (1, 2, 4, 5)  # internal, unknown, too much for the user or the host
_NOT_ALLOWED = (3, 6, 10, 13, 14)  # key, blocked, no user, not allowed, no rights
_KNOWN_ALREADY = 12


class BingWebmaster(Engine):
    """Submits indexes to Bing Webmaster Tools.

    Args:
        api_key: of the account, from its settings, "API access".
        site_url: the site as it was added there; None for the origin.
        endpoint: the URL of the method.
    """

    takes: ClassVar[Takes] = Takes.FEEDS

    def __init__(
        self,
        *,
        api_key: str | Secret | None = None,
        site_url: str | None = None,
        endpoint: str = ENDPOINT,
    ) -> None:
        self._api_key = secret_option(
            self, "api_key", api_key, "an API key of Bing Webmaster Tools"
        )
        if site_url is not None and encoded_url(site_url) is None:
            raise bad_option(self, "site_url", "an absolute URL")
        self._site_url = site_url
        self.endpoint = endpoint_option(self, "endpoint", endpoint)

    def send(self, batch: Batch) -> None:
        """Submit one index."""
        [target] = batch.targets
        answer = request(
            "POST",
            self.endpoint,
            json={"siteUrl": self._site_url or batch.site.origin, "feedUrl": target},
            query={"apikey": self._api_key},
        )
        code = answer.json().get("ErrorCode") if answer.status == 400 else None
        if code == _KNOWN_ALREADY:
            return
        if code in _BUSY:
            reason = f"It answered {answer.status}, too busy: {answer.text}"
            raise RetryLater(reason, answer.retry_after)
        if code in _NOT_ALLOWED:
            raise EngineRefused(
                f"It answered {answer.status}: the API key is not for this site. Check "
                f"that the site is verified in the key's account. {answer.text}"
            )
        accepted(answer)
