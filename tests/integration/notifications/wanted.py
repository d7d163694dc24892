"""URLs that engines are to be told of."""

from __future__ import annotations

from django_sitemaps_plus.notifications.outbox import want_urls


def urls(count: int, first: int = 0, host: str = "example.com") -> list[str]:
    """Return URLs of a host, in their order."""
    return [f"https://{host}/{number:05}/" for number in range(first, first + count)]


def want(*targets: str) -> None:
    """Have engines hear of URLs."""
    want_urls(targets)
