"""URLs that an engine may have, a resolver, and what hears each connection."""

from __future__ import annotations

import socket
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import Any

PUBLIC = "93.184.216.34"
METADATA = "169.254.169.254"

_REAL_LOOKUP = socket.getaddrinfo
_REAL_CONNECT = socket.socket.connect

#: Names, and what a resolver says of them. Others it does not know.
NAMES = {
    "loopback.example": ["127.0.0.1"],
    "loopback6.example": ["::1"],
    "mixed.example": [PUBLIC, "127.0.0.1"],
    "mixed6.example": ["127.0.0.1", "2606:4700::1111"],
    "metadata.example": [METADATA],
    "private10.example": ["10.0.0.1"],
    "private172.example": ["172.31.255.255"],
    "private192.example": ["192.168.0.1"],
    "shared.example": ["100.100.100.200"],
    "any.example": ["0.0.0.0"],  # noqa: S104 - nothing listens there
    "azure.example": ["168.63.129.16"],
    "oracle.example": ["192.0.0.192"],
    "multicast.example": ["224.0.1.1"],
    "broadcast.example": ["255.255.255.255"],
    "mapped.example": ["::ffff:127.0.0.1"],
    "compatible.example": ["::127.0.0.1"],
    "nat64.example": ["64:ff9b::a9fe:a9fe"],
    "local-nat64.example": ["64:ff9b:1::a9fe:a9fe"],
    "6to4.example": ["2002:7f00:1::1"],
    "teredo.example": ["2001::1"],
    "ula.example": ["fd00:ec2::254"],
    "link.example": ["fe80::1"],
    "site.example": ["fec0::1"],
    "documentation.example": ["2001:db8::1"],
    "unspecified.example": ["::"],
    "localhost.example": ["127.0.0.1"],
    "benchmark.example": ["198.18.0.1"],
    "reserved.example": ["240.0.0.1"],
    "6to4-relay.example": ["192.88.99.1"],
    "mapped-public.example": ["::ffff:8.8.8.8"],
    "multicast6.example": ["ff0e::1"],
    "documentation6.example": ["3fff::1"],
    "segment.example": ["5f00::1"],
}

#: URLs that may not be asked; PORT is of a server on loopback.
FORBIDDEN = [
    *[f"https://{name}:PORT/" for name in NAMES],
    # Another scheme, or none.
    f"http://{PUBLIC}:PORT/",
    "http://engine.example:PORT/",
    "ftp://localhost:PORT/",
    "file:///etc/passwd",
    "gopher://127.0.0.1:PORT/_x",
    "//127.0.0.1:PORT/",
    "127.0.0.1:PORT",
    "https:127.0.0.1:PORT",
    "https:///127.0.0.1:PORT/",
    "",
    # Addresses as only C libraries and browsers read them.
    "http://2130706433:PORT/",
    "https://2130706433:PORT/",
    "https://0x7f000001:PORT/",
    "https://0x7f.0.0.1:PORT/",
    "https://0177.0.0.1:PORT/",
    "https://017700000001:PORT/",
    "https://127.1:PORT/",
    "https://127.0.1:PORT/",
    "https://127.0.0.01:PORT/",
    "https://127.0.0.1.:PORT/",
    "https://0:PORT/",
    "https://2852039166:PORT/latest/",
    "https://1572395042:PORT/",
    "https://0x5db8d822:PORT/",
    "https://93.184.216.042:PORT/",
    # The same machine by another name than the three that are meant.
    "http://127.0.0.2:PORT/",
    "http://0.0.0.0:PORT/",
    "http://[::]:PORT/",
    "http://[::ffff:127.0.0.1]:PORT/",
    "https://[::ffff:7f00:1]:PORT/",
    "https://[::127.0.0.1]:PORT/",
    "https://[64:ff9b::7f00:1]:PORT/",
    "https://[0:0:0:0:0:0:0:1]:PORT/",
    "https://[fe80::1%25lo]:PORT/",
    "http://localhost.:PORT/",
    "http://localhost.localdomain:PORT/",
    # Who is it, after all?
    "http://user@127.0.0.1:PORT/",
    "http://user:password@127.0.0.1:PORT/",
    "https://engine.example@127.0.0.1:PORT/",
    "https://engine.example:443@127.0.0.1:PORT/",
    "https://engine.example\\@127.0.0.1:PORT/",
    "http://127.0.0.1:PORT\\@engine.example/",
    "https://engine.example%2F@127.0.0.1:PORT/",
    "http://127.0.0.1%00.engine.example:PORT/",
    "http://127.0.0.1 .engine.example:PORT/",
    "http://127.0.0.1:PORT:PORT/",
    "http://127.0.0.1:99999/",
    "http://127.0.0.1:0/",
    # Others in the network.
    f"https://{METADATA}:PORT/latest/meta-data/",
    f"http://{METADATA}/latest/meta-data/",
    "https://[fd00:ec2::254]:PORT/",
    "https://10.0.0.1:PORT/",
    "https://192.168.1.1:PORT/",
]

#: URLs that may be asked, and the only address to which each then connects.
ALLOWED = {
    "https://engine.example/": PUBLIC,
    "https://engine.example:8443/ping": PUBLIC,
    "https://ENGINE.example./": PUBLIC,
    f"https://{PUBLIC}/": PUBLIC,
    "https://engine6.example/": "2606:4700::1111",
    "https://[2606:4700::1111]/": "2606:4700::1111",
    "https://engine.example/?at=user@127.0.0.1": PUBLIC,
    "https://engine.example#@127.0.0.1/": PUBLIC,
    "https://xn--mnchen-3ya.example/": PUBLIC,
    "https://münchen.example/": PUBLIC,
}
NAMES_ALLOWED = {
    "engine.example": [PUBLIC],
    "engine.example.": [PUBLIC],
    "engine6.example": ["2606:4700::1111"],
    "xn--mnchen-3ya.example": [PUBLIC],
    # At first public, and then not: what a name server does to who asks twice.
    "rebinding.example": [PUBLIC],
}


@dataclass
class Wire:
    """What the process asks name servers, and where it connects to.

    It gets no further than this machine.
    """

    lookups: list[str] = field(default_factory=list)
    connected: list[str] = field(default_factory=list)

    def resolve(self, host: str, port: int, *rest: Any, **options: Any) -> Any:
        """Stand for ``socket.getaddrinfo()``: numbers as ever, names from a table."""
        options["flags"] = options.get("flags", 0) | socket.AI_NUMERICHOST
        try:
            return _REAL_LOOKUP(host, port, *rest, **options)
        except socket.gaierror:
            self.lookups.append(host)
        if self.lookups.count(host) > 1:
            found = ["127.0.0.1"]
        else:
            found = {"localhost": ["127.0.0.1"], **NAMES, **NAMES_ALLOWED}.get(host, [])
        if not found:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")
        return [info for a in found for info in _REAL_LOOKUP(a, port, *rest, **options)]

    def connect(self, client: socket.socket, address: Any) -> None:
        """Stand for ``socket.connect()``: nobody outside answers."""
        self.connected.append(address[0])
        if not ip_address(address[0]).is_loopback:
            raise ConnectionRefusedError
        _REAL_CONNECT(client, address)
