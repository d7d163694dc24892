"""Baidu: URLs are pushed as plain text, one a line."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import ClassVar

from django.utils.timezone import now

from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused, RetryLater
from django_sitemaps_plus.notifications.base import Batch, Engine
from django_sitemaps_plus.notifications.configuration import (
    bad_option,
    endpoint_option,
    secret_option,
)
from django_sitemaps_plus.notifications.http import accepted, request
from django_sitemaps_plus.notifications.secrets import Secret

#: Uses https, unlike Baidu's own examples, since the token is part of the query.
ENDPOINT = "https://data.zz.baidu.com/urls"

# The quota's day begins at midnight there.
_CHINA = timezone(timedelta(hours=8))


class Baidu(Engine):
    """Pushes URLs to the search resource platform of Baidu.

    Args:
        token: the push token that the platform shows for the site.
        site: the site as it was added there, as ``www.shop.example``; None for the
            host of the URLs.
        endpoint: the URL of the interface.
    """

    max_batch: ClassVar[int] = 2_000

    def __init__(
        self,
        *,
        token: str | Secret | None = None,
        site: str | None = None,
        endpoint: str = ENDPOINT,
    ) -> None:
        self._token = secret_option(self, "token", token, "a push token of Baidu")
        if site is not None and not (isinstance(site, str) and site.strip()):
            raise bad_option(self, "site", "a host, as 'www.shop.example'")
        self._site = site
        self.endpoint = endpoint_option(self, "endpoint", endpoint)

    def send(self, batch: Batch) -> None:
        """Push up to 2,000 URLs, which count towards the quota of the day.

        Baidu accepts the good URLs of a batch, and lists the bad ones.
        """
        answer = request(
            "POST",
            self.endpoint,
            text="\n".join(batch.targets),
            query={"site": self._site or batch.host, "token": self._token},
        )
        said = answer.json()
        if said.get("message") == "over quota":
            here = now().astimezone(_CHINA)
            midnight = here.replace(hour=0, minute=0, second=0, microsecond=0)
            left = midnight + timedelta(days=1) - here
            reason = "It takes no more today: over quota."
            raise RetryLater(reason, left.total_seconds())
        if said.get("message") == "site error":
            raise EngineRefused(
                "It does not know the site: site error. Verify the site at Baidu, or "
                "set the option 'site' to its name there."
            )
        accepted(answer)

        not_valid, not_same_site = map(said.get, ("not_valid", "not_same_site"))
        if not_valid or not_same_site:
            listed = [u for u in (not_valid, not_same_site) if isinstance(u, list)]
            bad = {url for urls in listed for url in urls if isinstance(url, str)}
            others = set(batch.targets) - bad
            # The bad URLs are named only if it is certain that all others count.
            is_certain = said.get("success") == len(others) and bad <= {*batch.targets}
            reason = f"not_valid: {not_valid}, not_same_site: {not_same_site}"
            words = f"It did not accept all URLs: {reason:.300}"
            raise BatchRejected(words, bad if is_certain else ())
        if "success" not in said:
            raise RetryLater("It did not say how many URLs it has accepted.")
