"""Somebody who edits the example's tables in its admin, over HTTP as a browser does."""

from __future__ import annotations

import urllib.request
from http.cookiejar import CookieJar
from typing import Any
from urllib.parse import urlencode

from lxml import html

from .site import HANG, Site

_PASSWORD = "only-for-tests"


class Staff:
    """A superuser who is logged in."""

    def __init__(self, site: Site) -> None:
        self._base_url = site.base_url
        self._opener = urllib.request.build_opener(
            urllib.request.ProxyHandler({}),
            urllib.request.HTTPCookieProcessor(CookieJar()),
        )
        site.environment["DJANGO_SUPERUSER_PASSWORD"] = _PASSWORD
        site.manage(
            *("createsuperuser", "--noinput", "--username", "staff"),
            *("--email", "staff@shop.example"),
        )
        self.edit("/admin/login/?next=/about/", username="staff", password=_PASSWORD)

    def find(self, path: str, words: str) -> str:
        """Return the path of the form of the first that a list finds."""
        found = self._ask(f"{path}?{urlencode({'q': words})}")
        link: str = found.find_class("field-name")[0].find("a").get("href")
        return link

    def edit(self, path: str, **fields: str) -> None:
        """Fill in the form of a page, which has values already, and send it."""
        form = self._ask(path).get_element_by_id(
            "login-form" if "/login/" in path else "city_form"
        )
        buttons = ("_save", "_continue", "_addanother", "_saveasnew")
        values = {k: v for k, v in form.form_values() if k not in buttons}
        answer = self._ask(path, {**values, **fields})
        errors = answer.find_class("errorlist") + answer.find_class("errornote")
        assert not errors, [error.text_content() for error in errors]

    def _ask(self, path: str, sent: dict[str, str] | None = None) -> Any:
        url = self._base_url + path
        data = urlencode(sent).encode() if sent is not None else None
        request = urllib.request.Request(url, data, {"Referer": url})  # noqa: S310
        with self._opener.open(request, timeout=HANG) as response:
            return html.document_fromstring(response.read())
