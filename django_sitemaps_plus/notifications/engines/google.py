"""Google Search Console: submits indexes, and reads Google's reports on them."""

from __future__ import annotations

import json
import re
from contextlib import suppress
from datetime import timedelta
from os import PathLike
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar
from urllib.parse import parse_qsl, quote

from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import (
    BatchRejected,
    ConfigurationError,
    EngineRefused,
    RetryLater,
)
from django_sitemaps_plus.notifications.base import Batch, Engine, Takes
from django_sitemaps_plus.notifications.configuration import bad_option, endpoint_option
from django_sitemaps_plus.notifications.http import Answer, accepted, request
from django_sitemaps_plus.notifications.secrets import Secret

ENDPOINT = "https://www.googleapis.com/webmasters/v3"
SCOPE = "https://www.googleapis.com/auth/webmasters"

# A URL prefix, or a domain with all of its hosts.
_PROPERTY = re.compile(r"https?://[^\s/]+/(?:\S*/)?|sc-domain:[^\s/]+")


class SearchConsole(Engine):
    """Submits indexes to Google Search Console, each at most once a day.

    Args:
        service_account_key: the path of a service account's JSON key file, or a Secret
            of its text. The account must be an owner of the property.
        site_url: the property, as ``https://shop.example/`` or
            ``sc-domain:shop.example``; None for the origin with a slash.
        endpoint: the API's URL, with its version.
    """

    takes: ClassVar[Takes] = Takes.FEEDS
    again_after: ClassVar[timedelta | None] = timedelta(days=1)

    def __init__(
        self,
        *,
        service_account_key: str | PathLike[str] | Secret | None = None,
        site_url: str | None = None,
        endpoint: str = ENDPOINT,
    ) -> None:
        self._site_url = site_url
        if site_url is not None and not _PROPERTY.fullmatch(str(site_url)):
            what = "'sc-domain:shop.example', or a URL with the slash at its end"
            raise bad_option(self, "site_url", f"a property: {what}")
        self.endpoint = endpoint_option(self, "endpoint", endpoint).rstrip("/")
        self._credentials, reason = _read_key(service_account_key)
        if self._credentials is None:
            what = "the path of a service account's JSON key file, or a Secret of its"
            what += f" text{reason}"
            raise bad_option(self, "service_account_key", what, is_secret=True)

    def send(self, batch: Batch) -> None:
        """Submit one index."""
        [target] = batch.targets
        accepted(self._ask("PUT", batch.site, target))

    def read_back(self, site: Site, target: str) -> dict[str, Any] | None:
        """Return Google's own numbers, under its own names.

        ``submitted`` is the number of URLs found, by kind of content.
        """
        answer = self._ask("GET", site, target)
        if answer.status == 404:
            return None
        said = accepted(answer).json()
        if not said:
            return None
        # Google writes its numbers as strings, and leaves out those that are 0.
        report: dict[str, Any] = {
            "errors": int(said.get("errors", 0)),
            "warnings": int(said.get("warnings", 0)),
            "isPending": bool(said.get("isPending")),
            "submitted": {
                item["type"]: int(item.get("submitted", 0))
                for item in said.get("contents", [])
            },
        }
        times = ("lastSubmitted", "lastDownloaded")
        return report | {name: said[name] for name in times if name in said}

    def _ask(self, method: str, site: Site, target: str) -> Answer:
        was_valid = self._credentials.valid
        if not was_valid and (error := _refresh(self._credentials)):
            raise error
        authorization = Secret(f"Bearer {self._credentials.token}")
        # The property and the index are one segment of the path each, slashes and all.
        site_url = quote(self._site_url or f"{site.origin}/", safe="")
        path = f"sites/{site_url}/sitemaps/{quote(target, safe='')}"
        headers = {"Authorization": authorization}
        answer = request(method, f"{self.endpoint}/{path}", headers=headers)
        if answer.status == 401:
            self._credentials.token = None
            if was_valid:
                raise RetryLater("It answered 401: the access token ended early.")
        reasons: list[str] = []
        if answer.status == 403:  # it may be about too many requests, not about rights
            with suppress(LookupError, TypeError):
                errors = answer.json()["error"]["errors"]
                reasons = [str(error["reason"]) for error in errors]
        if any(r == "quotaExceeded" or r.endswith("LimitExceeded") for r in reasons):
            reason = f"It answered {answer.status}, over quota: {answer.text}"
            raise RetryLater(reason, answer.retry_after)
        return answer


def _read_key(key: Any) -> tuple[Any, str]:
    """Return google-auth's credentials, or None and the reason.

    An error of the key itself is not raised: its traceback would hold the key.
    """
    try:
        from google.oauth2.service_account import Credentials
    except ImportError as error:
        raise ConfigurationError(
            "Search Console needs google-auth, which is not installed. Install "
            "django-sitemaps-plus[google]."
        ) from error
    try:
        text = key.reveal() if isinstance(key, Secret) else Path(key).read_text("utf-8")
        create: Any = Credentials.from_service_account_info
        return create(json.loads(text), scopes=[SCOPE]), ""
    except OSError as error:
        return None, f" (the file cannot be read: {error.strerror})"
    except (AttributeError, TypeError, ValueError):
        return None, ""


def _refresh(credentials: Any) -> RetryLater | EngineRefused | None:
    """Fetch an access token; return the error to raise, if there is one.

    An error of google-auth itself is not raised: its traceback would hold secrets.
    """
    try:
        credentials.refresh(_post)
    except RetryLater as error:
        return RetryLater(str(error), error.after)
    except (BatchRejected, EngineRefused) as error:
        return EngineRefused(
            f"Google gives {credentials.service_account_email} no access token. Check "
            f"that its key still exists, and that this server's clock is right. {error}"
        )
    except Exception:  # noqa: BLE001 - whatever google-auth makes of an odd answer
        return RetryLater("Google answered without an access token.")
    return None


def _post(url: str, body: bytes, **others: Any) -> SimpleNamespace:
    """Send a form of google-auth's by our client, as its own transports do."""
    form = [(name, Secret(value)) for name, value in parse_qsl(body.decode())]
    answer = accepted(request("POST", url, form=form))
    return SimpleNamespace(status=answer.status, headers={}, data=answer.body)
