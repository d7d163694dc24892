"""This project, asked in the same process as a crawler would ask it."""

from __future__ import annotations

import logging
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.test import Client, override_settings

from django_sitemaps_plus.conf import Site


class Project:
    """Answers requests without cookies, and logs nothing of them.

    Args:
        site: the site that is asked.
        raises: whether errors of views are raised; else they are answers with 500.
    """

    def __init__(self, site: Site, *, raises: bool = False) -> None:
        self._site = site
        self._client = Client(raise_request_exception=raises)

    def get(self, url: str) -> Any:
        """Return the response to a GET for a URL of the site.

        In development every host is allowed, for BASE_URL may be that of production.
        """
        parts, prefix = urlsplit(url), self._site.script_prefix
        path = parts.path or "/"
        if path.startswith(prefix):  # which a web server takes away
            path = path[len(prefix) - 1 :]
        hosts = ["*"] if settings.DEBUG else settings.ALLOWED_HOSTS
        disabled = logging.root.manager.disable
        self._client.cookies.clear()
        logging.disable()
        try:
            with override_settings(ALLOWED_HOSTS=hosts):
                return self._client.get(
                    f"{path}?{parts.query}",
                    secure=parts.scheme == "https",
                    SCRIPT_NAME=prefix.rstrip("/"),
                    HTTP_HOST=parts.netloc,
                )
        finally:
            logging.disable(disabled)
