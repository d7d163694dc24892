"""Baidu: URLs are pushed in lists of plain text."""

from __future__ import annotations

from datetime import timedelta, timezone
from typing import Any, ClassVar

from django.utils.timezone import now

from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused, RetryLater
from django_sitemaps_plus.notifications.base import Batch, Engine, Takes
from django_sitemaps_plus.notifications.http import Answer, accepted, request
from django_sitemaps_plus.notifications.options import (
    bad_option,
    endpoint_option,
    secret_option,
)
from django_sitemaps_plus.notifications.secrets import Secret

#: Over https, which Baidu's own examples do not use: the token goes with the query.
ENDPOINT = "https://data.zz.baidu.com/urls"

# By whose midnight its days begin.
_CHINA = timezone(timedelta(hours=8))


class Baidu(Engine):
    """Pushes URLs to the search resource platform of Baidu.

    Args:
        token: that the platform shows for the site.
        site: the site as it was added there, as ``www.shop.example``; None for the
            host of the URLs.
        endpoint: where the interface is.

    Raises:
        ConfigurationError: an option is missing or cannot work.
    """

    takes: ClassVar[Takes] = Takes.URLS
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
        self._endpoint = endpoint_option(self, "endpoint", endpoint)

    def send(self, batch: Batch) -> None:
        """Push up to 2,000 URLs; they count towards the quota of the day.

        Of a batch with bad ones it takes all others, and says which are bad.
        """
        answer = request(
            "POST",
            self._endpoint,
            text="\n".join(batch.targets),
            query={"site": self._site or batch.host, "token": self._token},
        )
        _judge(answer, batch)


def _judge(answer: Answer, batch: Batch) -> None:
    said = answer.json()
    said = said if isinstance(said, dict) else {}
    if said.get("message") == "over quota":
        raise RetryLater("It takes no more today: over quota.", _until_tomorrow())
    if said.get("message") == "site error":
        raise EngineRefused(
            "It does not know the site: site error. Verify the site at Baidu, or set "
            "the option 'site' to its name there."
        )
    accepted(answer)
    _look_for_bad_urls(said, batch)


def _look_for_bad_urls(said: dict[str, Any], batch: Batch) -> None:
    bad = {name: _listed(said, name) for name in ("not_valid", "not_same_site")}
    if any(bad.values()):
        words = ", ".join(f"{name}: {len(urls)}" for name, urls in bad.items())
        named = _known([*bad["not_valid"], *bad["not_same_site"]], said, batch)
        raise BatchRejected(f"It did not take all URLs: {words}.", named)
    if "success" not in said:
        raise RetryLater("It did not say how many URLs it has taken.")


def _listed(said: dict[str, Any], name: str) -> list[Any]:
    urls = said.get(name)
    return urls if isinstance(urls, list) else []


def _known(bad: list[Any], said: dict[str, Any], batch: Batch) -> set[str]:
    """Return the bad URLs, where it has taken all others for sure; else none."""
    told = set(batch.targets)
    if not all(isinstance(url, str) and url in told for url in bad):
        return set()
    named = set(bad)
    return named if said.get("success") == len(told - named) else set()


def _until_tomorrow() -> float:
    here = now().astimezone(_CHINA)
    midnight = here.replace(hour=0, minute=0, second=0, microsecond=0)
    return (midnight + timedelta(days=1) - here).total_seconds()
