"""What a local engine receives, decides and knows."""

import json
from dataclasses import dataclass, field
from email.message import Message
from typing import Any
from urllib.parse import parse_qs


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What was received; the path as it was sent, without the query."""

    method: str
    path: str
    query: str
    headers: Message
    body: bytes

    def parameters(self) -> dict[str, str]:
        found = parse_qs(self.query, strict_parsing=True)
        require(all(len(v) == 1 for v in found.values()), 400, "named twice")
        return {name: values[0] for name, values in found.items()}

    def form(self) -> dict[str, list[str]]:
        self.is_of("application/x-www-form-urlencoded")
        return parse_qs(self.body.decode("ascii"), strict_parsing=True)

    def json(self) -> Any:
        self.is_of("application/json")
        return json.loads(self.body.decode("utf-8"))

    def is_of(self, content_type: str) -> None:
        found = self.headers.get_content_type()
        require(found == content_type, 400, f"{found} is not {content_type}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    status: int
    body: bytes = b""
    targets: tuple[str, ...] = ()

    @property
    def is_accepted(self) -> bool:
        """Whether the engine will look at the targets."""
        return 200 <= self.status < 300


class RefusedError(Exception):
    """Says no, with a status and a body."""

    def __init__(self, status: int, body: str) -> None:
        super().__init__(body)
        self.verdict = Verdict(status=status, body=body.encode())


def require(condition: object, status: int, body: str) -> None:
    """Refuse a request unless a condition holds."""
    if not condition:
        raise RefusedError(status, body)


@dataclass(slots=True, kw_only=True)
class State:
    """What an engine knows.

    Attributes:
        url: its own address.
        site_url: where the sites under test are, to look for key files; None to
            believe every key.
        public_keys: of service accounts, by their address.
        properties: that those accounts own; None for any.
        sitemaps: what was submitted to Search Console, by property and URL.
        tokens: access tokens that hold.
        yandex: URLs that a Yandex user has added.
    """

    url: str
    site_url: str | None = None
    public_keys: dict[str, bytes] = field(default_factory=dict)
    properties: set[str] | None = None
    sitemaps: dict[tuple[str, str], dict[str, Any]] = field(default_factory=dict)
    tokens: set[str] = field(default_factory=set)
    yandex: set[str] = field(default_factory=set)
