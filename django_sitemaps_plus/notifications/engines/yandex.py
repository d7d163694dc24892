"""Yandex Webmaster: indexes are added to a user's sitemaps."""

from __future__ import annotations

from typing import ClassVar
from urllib.parse import quote

from django_sitemaps_plus.notifications.base import Batch, Engine, Takes
from django_sitemaps_plus.notifications.configuration import (
    bad_option,
    endpoint_option,
    secret_option,
)
from django_sitemaps_plus.notifications.http import accepted, request
from django_sitemaps_plus.notifications.secrets import Secret

ENDPOINT = "https://api.webmaster.yandex.net/v4"


class YandexWebmaster(Engine):
    """Adds indexes to a site of Yandex Webmaster.

    Args:
        user_id: the number that ``GET <endpoint>/user`` returns.
        host_id: the site, as ``https:shop.example:443``.
        token: an OAuth token with access to Webmaster.
        endpoint: the API's URL, with its version.
    """

    takes: ClassVar[Takes] = Takes.FEEDS

    def __init__(
        self,
        *,
        user_id: int | str | None = None,
        host_id: str | None = None,
        token: str | Secret | None = None,
        endpoint: str = ENDPOINT,
    ) -> None:
        number = str(user_id)
        if not number.isdecimal() or not number.isascii():
            raise bad_option(self, "user_id", "the number of a Yandex user")
        if not isinstance(host_id, str) or host_id.count(":") < 2:
            raise bad_option(self, "host_id", "a site, as 'https:shop.example:443'")
        self._token = secret_option(self, "token", token, "an OAuth token of Yandex")
        self.endpoint = endpoint_option(self, "endpoint", endpoint).rstrip("/")
        host = quote(host_id, safe=":")
        self._path = f"/user/{number}/hosts/{host}/user-added-sitemaps"

    def send(self, batch: Batch) -> None:
        """Add one index; 409 means that it was added before."""
        [target] = batch.targets
        authorization = Secret(f"OAuth {self._token.reveal()}")
        answer = request(
            "POST",
            self.endpoint + self._path,
            json={"url": target},
            headers={"Authorization": authorization},
        )
        if answer.status != 409:
            accepted(answer)
