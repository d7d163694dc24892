"""Addresses: where requests may go, whatever name servers answer."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import SplitResult, urlsplit

from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.exceptions import EngineRefused

#: Hosts that are this machine, and need no TLS.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

_PORTS = {"http": 80, "https": 443}

# The last label of what C libraries take for an address: 2130706433, 0x7f.1.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

# IANA assigns public IPv6 addresses from this range only. Outside are addresses that
# contain an IPv4 one, mapped, compatible or NAT64, which ipaddress calls global.
_PUBLIC_IPV6 = ip_network("2000::/3")

# Not public, though ipaddress calls them global in some or all versions of Python.
_NOT_PUBLIC = [
    ip_network(network)
    for network in (
        "192.0.0.0/24",  # protocols, and the metadata of a cloud
        "192.88.99.0/24",  # relays of 6to4
        "168.63.129.16/32",  # the metadata of another cloud
        "2001::/23",  # protocols, and Teredo, which holds IPv4 addresses
        "2002::/16",  # 6to4: holds IPv4 addresses
        "3fff::/20",  # documentation
    )
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Where a request goes.

    Attributes:
        scheme: ``http`` or ``https``.
        host: a name or an address, without brackets.
        port: 443 or 80 where the URL has none.
        authority: host and port as a URL has them.
        path: with a query, if there is one.
    """

    scheme: str
    host: str
    port: int
    authority: str
    path: str = field(repr=False)

    @property
    def is_loopback(self) -> bool:
        """Whether the URL itself names this machine."""
        return self.host in LOOPBACK


def parse_endpoint(url: str) -> Endpoint:
    """Return where a request to a URL goes.

    Raises:
        EngineRefused: it is not an absolute https URL, has credentials, or its host is
            an odd number.
    """
    parts = _split(url)
    if parts is None or not parts.hostname:
        # Without the URL, which may hold a password.
        raise EngineRefused(
            "The engine's URL is not an absolute https URL, or has credentials in it."
        )
    host = parts.hostname
    last = host.rstrip(".").rpartition(".")[2]
    if _NUMBER.fullmatch(last) and not _is_ipv4(host):
        raise EngineRefused(f"{host} is a number. Use a host name.")
    endpoint = Endpoint(
        scheme=parts.scheme,
        host=host,
        port=parts.port or _PORTS[parts.scheme],
        authority=parts.netloc,
        path=f"{parts.path or '/'}{parts.query and '?'}{parts.query}",
    )
    if endpoint.scheme != "https" and not endpoint.is_loopback:
        raise EngineRefused(f"Requests to {host} need https.")
    return endpoint


def find_addresses(endpoint: Endpoint) -> list[str]:
    """Return the addresses of a host, each of them checked.

    Raises:
        EngineRefused: one of them is not allowed.
        OSError: the look-up failed.
    """
    addresses = resolve(endpoint.host, endpoint.port)
    for address in addresses:
        if not _may_be_asked(address, endpoint):
            raise EngineRefused(
                f"{endpoint.host} has the address {address}, which is not public."
            )
    return addresses


def resolve(host: str, port: int) -> list[str]:
    """Return the addresses of a host in the order in which to try them.

    Raises:
        OSError: the look-up failed.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label that is empty or too long
        found = []
    if not found:
        raise OSError(f"{host} has no address")
    return list(dict.fromkeys([str(address[0]) for *_, address in found]))


def is_public(address: str) -> bool:
    """Return whether an address is one of the public internet's."""
    ip = ip_address(address)
    if isinstance(ip, IPv6Address) and ip not in _PUBLIC_IPV6:
        return False
    if ip.is_multicast or not ip.is_global:
        return False
    return not any([ip in network for network in _NOT_PUBLIC])


def _may_be_asked(address: str, endpoint: Endpoint) -> bool:
    if endpoint.is_loopback:
        return ip_address(address).is_loopback
    return is_public(address)


def _split(url: str) -> SplitResult | None:
    try:
        parts = urlsplit(encode_url(url))
        return None if parts.port == 0 else parts
    except (TypeError, ValueError):
        return None


def _is_ipv4(host: str) -> bool:
    try:
        IPv4Address(host)
    except ValueError:
        return False
    return True
