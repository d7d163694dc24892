"""Addresses: where requests may go, whatever name servers answer."""

from __future__ import annotations

import re
import socket
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from urllib.parse import urlsplit

from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.exceptions import EngineRefused

#: Hosts that are this machine, and need no TLS.
LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})

_PORTS = {"http": 80, "https": 443}

# The last label of what C libraries take for an address: 127.0.0.1, but also 0x7f.1.
_NUMBER = re.compile(r"[0-9]+|0x[0-9a-f]*")

# IANA assigns public IPv6 addresses from this range only. Outside are addresses that
# contain an IPv4 one, mapped, compatible or NAT64, which ipaddress calls global.
_PUBLIC_IPV6 = ip_network("2000::/3")

# Networks that some or all versions of Python call global, and are not public.
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
    """Where a request goes."""

    scheme: str
    host: str  # a name or an address, without brackets
    port: int
    authority: str  # host and port as the URL has them
    path: str = field(repr=False)  # with a query, if there is one

    @property
    def is_loopback(self) -> bool:
        """Whether the URL itself names this machine."""
        return self.host in LOOPBACK


def parse_endpoint(url: str) -> Endpoint:
    """Return where a request to a URL goes, or raise EngineRefused."""
    try:
        parts = urlsplit(encode_url(url))
        host, port = parts.hostname or "", parts.port
        if _NUMBER.fullmatch(host.rstrip(".").rpartition(".")[2]):
            IPv4Address(host)
    except (TypeError, ValueError):
        host, port = "", 0
    if not host or port == 0:
        # The URL is not quoted, since it may hold a password.
        raise EngineRefused(
            "The engine's URL is not an absolute https URL, has credentials in it, or "
            "has a number in place of a host name."
        )
    if parts.scheme != "https" and host not in LOOPBACK:
        raise EngineRefused(f"Requests to {host} need https.")
    return Endpoint(
        scheme=parts.scheme,
        host=host,
        port=port or _PORTS[parts.scheme],
        authority=parts.netloc,
        path=f"{parts.path or '/'}{parts.query and '?'}{parts.query}",
    )


def find_addresses(endpoint: Endpoint) -> list[str]:
    """Return the addresses of a host in the order in which to try them, all checked."""
    host, port = endpoint.host, endpoint.port
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except UnicodeError:  # a label that is empty or too long
        answers = []
    addresses = list(dict.fromkeys([str(address[0]) for *_, address in answers]))
    for address in addresses:
        if not may_be_asked(address, endpoint):
            words = f"{host} has the address {address}, which is not public."
            raise EngineRefused(words)
    if not addresses:
        raise OSError(f"{host} has no address")
    return addresses


def is_public(address: str) -> bool:
    """Return whether an address is one of the public internet's."""
    ip = ip_address(address)
    if ip.is_multicast or not ip.is_global:
        return False
    if isinstance(ip, IPv6Address) and ip not in _PUBLIC_IPV6:
        return False
    return not any([ip in network for network in _NOT_PUBLIC])


def may_be_asked(address: str, endpoint: Endpoint) -> bool:
    """Return whether requests to an endpoint may go to an address of its host."""
    if endpoint.is_loopback:
        return ip_address(address).is_loopback
    return is_public(address)
