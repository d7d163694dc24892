"""A service account of Google: its key signs, its access tokens open the API."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.views.decorators.debug import sensitive_variables

from django_sitemaps_plus.exceptions import (
    BatchRejected,
    ConfigurationError,
    EngineRefused,
    RetryLater,
)
from django_sitemaps_plus.notifications.http import accepted, request
from django_sitemaps_plus.notifications.secrets import Secret

TOKEN_URI = "https://oauth2.googleapis.com/token"  # noqa: S105 - an address

#: Seconds that a signed claim holds, the most that Google allows.
LIFETIME = 3_600
#: Seconds before its end at which a token is no longer used.
MARGIN = 300

_GRANT = "urn:ietf:params:oauth:grant-type:jwt-bearer"


@dataclass(frozen=True, slots=True)
class _Token:
    value: Secret
    until: float  # of time.monotonic()


class ServiceAccount:
    """Gives access tokens for one scope, and keeps the last one in memory.

    Args:
        info: what the JSON key file holds.
        scope: what the tokens are to open.

    Raises:
        ConfigurationError: google-auth is not installed.
        ValueError: this is no key of a service account. It holds nothing of it.
    """

    @sensitive_variables()
    def __init__(self, info: Mapping[str, Any], scope: str) -> None:
        signer = _signer(info)
        email = info.get("client_email")
        if signer is None or not isinstance(email, str):
            raise ValueError("no key of a service account")
        self.email = email
        self._signer = signer
        self._scope = scope
        self._token_uri = str(info.get("token_uri") or TOKEN_URI)
        self._token: _Token | None = None

    @property
    def has_token(self) -> bool:
        """Whether there is a token that has not ended."""
        return self._token is not None and time.monotonic() < self._token.until

    def token(self) -> Secret:
        """Return an access token that holds for some minutes at least.

        Raises:
            RetryLater: Google gives none now.
            EngineRefused: it gives none for this key.
        """
        if self._token is None or not self.has_token:
            self._token = self._fetch()
        return self._token.value

    def forget_token(self) -> None:
        """Fetch another one when next asked."""
        self._token = None

    @sensitive_variables()
    def _fetch(self) -> _Token:
        begun = time.monotonic()
        form = (("grant_type", _GRANT), ("assertion", self._assertion()))
        answer = request("POST", self._token_uri, form=form)
        try:
            said = accepted(answer).json()
        except (BatchRejected, EngineRefused) as error:
            raise EngineRefused(
                f"Google gives {self.email} no access token. See that its key still "
                f"exists, and that the clock of this machine is right. {error}"
            ) from error
        token = said.get("access_token") if isinstance(said, dict) else None
        if not isinstance(token, str) or not token:
            raise RetryLater(
                "Google answered the service account without an access token."
            )
        return _Token(Secret.of(token), begun + _seconds(said) - MARGIN)

    def _assertion(self) -> Secret:
        from google.auth import jwt

        issued = int(time.time())
        claims = {
            "iss": self.email,
            "scope": self._scope,
            "aud": self._token_uri,
            "iat": issued,
            "exp": issued + LIFETIME,
        }
        signed: bytes = jwt.encode(self._signer, claims)  # type: ignore[no-untyped-call] # it has no types
        return Secret.of(signed.decode("ascii"))


def _seconds(said: Mapping[str, Any]) -> float:
    seconds = said.get("expires_in")
    return seconds if isinstance(seconds, int | float) else LIFETIME


@sensitive_variables()
def _signer(info: Mapping[str, Any]) -> Any:
    """Return what signs with the key; None where it is none."""
    try:
        from google.auth.crypt import RSASigner
        from google.auth.exceptions import GoogleAuthError
    except ImportError as error:
        raise ConfigurationError(
            "Search Console needs google-auth, which is not installed: "
            "python -m pip install 'django_sitemaps_plus[google]'."
        ) from error
    try:
        return RSASigner.from_service_account_info(info)  # type: ignore[no-untyped-call] # it has no types
    except (GoogleAuthError, TypeError, ValueError, AttributeError):
        return None


@sensitive_variables()
def read_credentials(given: object) -> Mapping[str, Any] | None:
    """Return what a key file holds; None where it holds no object of JSON.

    Args:
        given: the path of the file, its text, or a dict of it.

    Raises:
        OSError: the file cannot be read.
    """
    if isinstance(given, Mapping):
        return given
    text = given.reveal() if isinstance(given, Secret) else given
    if not isinstance(text, str) or not text.lstrip().startswith("{"):
        text = _read(text)
    # Not while an error is handled, which would hold the text.
    return _parse(text)


def _read(path: Any) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (TypeError, ValueError):
        return ""


@sensitive_variables()
def _parse(text: str) -> Mapping[str, Any] | None:
    try:
        found = json.loads(text)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None
