"""Addresses: which are the public internet's."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.notifications.http.addresses import is_public


@pytest.mark.parametrize(
    "address",
    ["1.1.1.1", "93.184.216.34", "204.79.197.200", "2606:4700::1111", "2a00:1450::1"],
)
def test_addresses_of_engines_are_public(address: str):
    """Those that anybody can ask."""
    assert is_public(address)


@pytest.mark.parametrize(
    "address",
    [
        "0.0.0.0",  # noqa: S104 - nothing listens there
        "10.0.0.1",
        "100.100.100.200",
        "127.0.0.1",
        "168.63.129.16",
        "169.254.169.254",
        "172.16.0.1",
        "192.0.0.192",
        "192.88.99.1",
        "192.168.1.1",
        "198.18.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "::",
        "::1",
        "::127.0.0.1",
        "::ffff:127.0.0.1",
        "::ffff:8.8.8.8",
        "64:ff9b::a9fe:a9fe",
        "64:ff9b:1::1",
        "2001::1",
        "2001:db8::1",
        "2002:7f00:1::1",
        "3fff::1",
        "5f00::1",
        "fd00:ec2::254",
        "fe80::1",
        "fe80::1%lo",
        "fec0::1",
        "ff0e::1",
    ],
)
def test_addresses_of_networks_inside_are_not(address: str):
    """Private, special, and those that hold another address."""
    assert not is_public(address)
