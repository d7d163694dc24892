"""IndexNow: one request notifies Bing, Yandex, Naver, Seznam, Yep and Amazon."""

from __future__ import annotations

import re
from typing import ClassVar
from urllib.parse import quote

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import EngineRefused, RetryLater
from django_sitemaps_plus.notifications.base import Batch, Engine
from django_sitemaps_plus.notifications.configuration import bad_option, endpoint_option
from django_sitemaps_plus.notifications.http import accepted, request
from django_sitemaps_plus.notifications.secrets import Secret
from django_sitemaps_plus.sites import origin_setting, site_at

#: Passes URLs on to all participating engines.
ENDPOINT = "https://api.indexnow.org/indexnow"

#: Seconds to wait after a 429 without Retry-After: the FAQ asks for some minutes.
RETRY_SECONDS = 600

_KEY = re.compile(r"[A-Za-z0-9-]{8,128}")


class IndexNow(Engine):
    """Submits URLs by the protocol of indexnow.org, in which Google takes no part.

    Args:
        key: 8 to 128 of ``A-Z a-z 0-9 -``. The site serves it at ``/<key>.txt``, so it
            is public; still, no message shows it.
        endpoint: the URL of one engine, which notifies the others.
    """

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
                is_secret=True,
            )
        self._key = Secret(text)
        self.endpoint = endpoint_option(self, "endpoint", endpoint)

    def send(self, batch: Batch) -> None:
        """Submit up to 10,000 URLs of one host, removed ones too."""
        site = site_at(batch.targets[0], batch.site) or batch.site
        # A project below a path serves the key file there too, for URLs below it.
        path = f"{quote(site.script_prefix)}{self._key.reveal()}.txt"
        answer = request(
            "POST",
            self.endpoint,
            json={
                "host": batch.host,
                "key": self._key,
                "keyLocation": Secret(f"{site.origin}{path}"),
                "urlList": list(batch.targets),
            },
        )
        if answer.status == 403:
            raise EngineRefused(
                f"It answered 403: {batch.host} has no key file, or one with another "
                "key. Check that /<key>.txt there contains the key alone. "
                f"{answer.text}".strip()
            )
        if answer.status == 422:
            raise EngineRefused(
                f"It answered 422: the URLs are not on {batch.host}, or the key is not "
                f"for it. Check that {origin_setting(batch.site)} is the public "
                "address. "
                f"{answer.text}".strip()
            )
        if answer.status == 429 and answer.retry_after is None:
            raise RetryLater(f"It answered 429, too many: {answer.text}", RETRY_SECONDS)
        accepted(answer)

    def files(self, site: Site) -> dict[str, str]:
        """Return the key file."""
        key = self._key.reveal()
        return {f"{key}.txt": key}
