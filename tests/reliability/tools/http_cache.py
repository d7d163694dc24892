"""A client with a cache of its own, as RFC 9110 and RFC 9111 describe it.

It asks the server each time (as with ``Cache-Control: no-cache``), so that every answer
shows whether what it keeps is still right.
"""

from __future__ import annotations

import gzip
import random
from dataclasses import dataclass

from django.http import HttpResponse
from django.test import Client


@dataclass
class Stored:
    """A response that is kept, and the request header that it varies by."""

    encoding: str
    etag: str
    last_modified: str
    coding: str  # Content-Encoding
    body: bytes

    @property
    def plain(self) -> bytes:
        """What the client makes of it."""
        return gzip.decompress(self.body) if self.coding == "gzip" else self.body


class HttpCache:
    """Keeps responses by URL, one for each Accept-Encoding."""

    def __init__(self, client: Client, chance: random.Random) -> None:
        self.client = client
        self.chance = chance
        self.stored: dict[str, list[Stored]] = {}
        self.not_modified = 0
        self.bodies: dict[tuple[str, str], bytes] = {}  # by path and ETag
        self.ambiguous = 0  # ETags that were given to two sequences of bytes

    def get(self, path: str, encoding: str) -> bytes | None:
        """Return the document that the client ends up with; None where it is gone."""
        headers, mine = self._conditions(path, encoding)
        response = self.client.get(path, headers=headers)
        if response.status_code == 304:
            self.not_modified += 1
            return self._fresh(path, response, mine).plain
        if response.status_code != 200:
            self.stored.pop(path, None)
            return None
        return self._keep(path, encoding, response).plain

    def head(self, path: str, encoding: str) -> None:
        """Ask for the head, and let go of what it shows to be old (RFC 9111, 4.3.5)."""
        response = self.client.head(path, headers=_accept(encoding))
        mine = self._mine(path, encoding)
        if mine is None:
            return
        if response.status_code != 200 or response["ETag"] != mine.etag:
            self.stored[path].remove(mine)

    def _mine(self, path: str, encoding: str) -> Stored | None:
        found = [it for it in self.stored.get(path, []) if it.encoding == encoding]
        return found[0] if found else None

    def _conditions(
        self, path: str, encoding: str
    ) -> tuple[dict[str, str], Stored | None]:
        headers, mine = _accept(encoding), self._mine(path, encoding)
        kind = self.chance.choice(["none", "all", "weak", "dates", "dates", "both"])
        tags = [it.etag for it in self.stored.get(path, [])]
        if kind in ("all", "both") and tags:
            headers["If-None-Match"] = ", ".join(tags)
        if kind == "weak" and tags:
            headers["If-None-Match"] = ", ".join([f"W/{tag}" for tag in tags])
        if kind in ("dates", "both") and mine is not None and mine.last_modified:
            headers["If-Modified-Since"] = mine.last_modified
        return headers, mine

    def _fresh(self, path: str, response: HttpResponse, mine: Stored | None) -> Stored:
        """Return the stored response that a 304 speaks of (RFC 9111, 4.3.4)."""
        tag = response["ETag"].removeprefix("W/")
        for stored in self.stored[path]:
            # nginx calls the tag of what it inflates a weak one.
            if stored.etag.removeprefix("W/") == tag:
                return stored
        assert mine is not None, "a 304 for what was never asked for"
        return mine

    def _keep(self, path: str, encoding: str, response: HttpResponse) -> Stored:
        new = Stored(
            encoding,
            response["ETag"],
            response.get("Last-Modified", ""),
            response.get("Content-Encoding", ""),
            response.content,
        )
        if self.bodies.setdefault((path, new.etag), new.body) != new.body:
            self.ambiguous += 1
        old = self.stored.get(path, [])
        varies = "Accept-Encoding" in response.get("Vary", "")
        kept = [it for it in old if varies and it.encoding != encoding]
        self.stored[path] = [*kept, new]
        return new


def _accept(encoding: str) -> dict[str, str]:
    return {"Accept-Encoding": encoding} if encoding else {}
