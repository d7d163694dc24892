"""The configuration of nginx that the documentation shows."""

from __future__ import annotations

import re
from pathlib import Path

_PAGE = Path(__file__).parents[3] / "docs" / "how-to" / "serve-files-with-nginx.md"

#: What a reader changes in it: address, host, directory and the address of Django.
_CHANGED = {
    "listen 80;": "listen {host}:{port};",
    "server_name shop.example;": "server_name _;",
    "root /srv/shop/media/sitemaps/public;": "root {public};",
    "proxy_pass http://127.0.0.1:8000;": "proxy_pass {upstream};",
}


def how_to_server() -> str:
    """Return the server block of the how-to, with places for :meth:`str.format`."""
    found = re.search(r"```nginx\n(.*?)```", _PAGE.read_text(), re.DOTALL)
    assert found is not None
    text = found[1].replace("{", "{{").replace("}", "}}")
    for shown, changed in _CHANGED.items():
        assert shown in text, shown
        text = text.replace(shown, changed)
    return text
