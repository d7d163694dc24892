"""IndexNow: Bing, Yandex, Naver, Seznam, Yep and Amazon hear of URLs by one request."""

from __future__ import annotations

import re
from typing import ClassVar
from urllib.parse import quote

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import EngineRefused, RetryLater
from django_sitemaps_plus.notifications.base import Batch, Engine, Takes
from django_sitemaps_plus.notifications.http import Answer, accepted, request
from django_sitemaps_plus.notifications.options import bad_option, endpoint_option
from django_sitemaps_plus.notifications.secrets import Secret

#: Hands on to all engines that take part.
ENDPOINT = "https://api.indexnow.org/indexnow"

#: Seconds of patience where a 429 names none: the FAQ asks for some minutes.
PATIENCE = 600

_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")


class IndexNow(Engine):
    """Tells URLs by the protocol of indexnow.org; Google takes no part in it.

    Args:
        key: 8 to 128 of ``A-Z a-z 0-9 -``. The site serves it at ``/<key>.txt``, so it
            is public, yet no message shows it.
        endpoint: of one engine; it tells the others.

    Raises:
        ConfigurationError: the key or the endpoint is none.
    """

    takes: ClassVar[Takes] = Takes.URLS
    max_batch: ClassVar[int] = 10_000

    def __init__(
        self, *, key: str | Secret | None = None, endpoint: str = ENDPOINT
    ) -> None:
        text = key.reveal() if isinstance(key, Secret) else key
        if not isinstance(text, str) or not _KEY.fullmatch(text):
            raise bad_option(
                self,
                "key",
                "8 to 128 of A-Z, a-z, 0-9 and '-', such as manage.py "
                "notify_search_engines --new-key prints",
            )
        self._key = Secret.of(text)
        self._endpoint = endpoint_option(self, "endpoint", endpoint)

    def send(self, batch: Batch) -> None:
        """Tell up to 10,000 URLs of one host: added, updated and removed ones alike."""
        answer = request(
            "POST",
            self._endpoint,
            json={
                "host": batch.host,
                "key": self._key,
                "keyLocation": self._key_location(batch.site),
                "urlList": list(batch.targets),
            },
        )
        _judge(answer, batch)

    def files(self, site: Site) -> dict[str, str]:
        """Return the key file."""
        key = self._key.reveal()
        return {f"{key}.txt": key}

    def _key_location(self, site: Site) -> Secret:
        # Of a project below a path, the key file is there too, and vouches for it.
        path = f"{quote(site.script_prefix)}{self._key.reveal()}.txt"
        return Secret.of(f"{site.origin}{path}")


def _judge(answer: Answer, batch: Batch) -> None:
    if answer.status == 403:
        raise EngineRefused(
            f"It answered 403: no key file on {batch.host}, or another key in it. See "
            f"that /<key>.txt there answers with the key alone. {answer.text}"
        )
    if answer.status == 422:
        raise EngineRefused(
            f"It answered 422: these are no URLs of {batch.host}, or not with this "
            "key. See that BASE_URL is the address under which the site is known. "
            f"{answer.text}"
        )
    if answer.status == 429 and answer.retry_after is None:
        raise RetryLater(f"It answered 429, too many: {answer.text}", PATIENCE)
    accepted(answer)
