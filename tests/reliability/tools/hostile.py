"""Strings that try to become markup, and what a page is made of."""

from __future__ import annotations

import re
from html.parser import HTMLParser

from django.db import connection

_TAGS = (
    *("script", "img", "svg", "iframe", "a", "b", "style", "form", "input", "math"),
    *("object", "base", "link", "meta", "textarea", "title", "template", "details"),
)
_EVENTS = (
    *("click", "error", "load", "focus", "mouseover", "toggle", "animationstart"),
    *("input", "submit", "pointerenter", "beforeinput", "message"),
)
_SCHEMES = (
    *("javascript", "data", "vbscript", "file", "blob", "JaVaScRiPt", " javascript"),
    *("java\tscript", "java\nscript", "\x01javascript", "javascript&colon;", "feed"),
)

#: Each is another way out of where it is put.
HOSTILE: list[str] = [
    *[f"<{tag}>" for tag in _TAGS],
    *[f"</{tag}>" for tag in _TAGS],
    *[f'"><{tag} src=x onerror=alert(1)>' for tag in _TAGS],
    *[f"'><{tag} href=javascript:alert(1) x='" for tag in _TAGS],
    *[f'x" on{event}="alert(1)' for event in _EVENTS],
    *[f"x' on{event}='alert(1)" for event in _EVENTS],
    *[f"x on{event}=alert(1) y" for event in _EVENTS],
    *[f"{scheme}:alert(1)" for scheme in _SCHEMES],
    *[f"{scheme}://x.example/%0aalert(1)//" for scheme in _SCHEMES],
    # What ends a place of texts, and what templates and formats know.
    *("-->", "<!--", "<!--><b>", "<![CDATA[<b>", "]]><b>", "<?php b ?>", "<!b>", "<b"),
    *("--!><b>", "</option></select><b>", "`><b>", "<b/", "< b>", "<<b>>", '\\"><b>'),
    *("{{ request }}", "{% debug %}", "{% load x %}", "{# x #}", "{{", "%}", "${7*7}"),
    *("<%= 7 %>", "%(count)s", "%s %d", "{0}", "{number}", "%", "\\u003cb\\u003e"),
    *("&lt;b&gt;", "&#60;b&#62;", "&#x3c;b&#x3e;", "&quot; onclick=&quot;x"),
    *("&amp;lt;", "&#0;", "&nbsp;", "&lt", "&no;", '"', "'", "`", "\\", "\\'"),
    # Letters, lines and directions.
    *("a\u2028<b>", "a\u2029<b>", "a\u0085<b>", "a\n<b>", "a\r\n<b>", "a\x0b<b>"),
    *("\u202e>b<gnp", "\u2066<b>\u2069", "\u200f<b>", "\ufeff<b>", "\x1b[31m<b>"),
    *("\uff1cscript\uff1e", "\u2039b\u203a", "\u00e9\u0301<b>", "\U0001f4a9<b>"),
    *("\x7f", '";alert(1);//', "\x00<b>", "<b\x00>", "<scr\x00ipt>"),
    # A line of metrics that is not one.
    *('a"} 1\nsitemaps_plus_site_ok{site="b', "a\n# EOF\n", 'a\\"} 1', "a\\\nb 1\nb"),
    *("<b>" * 4_000, '"' * 9_000, "&" * 9_000, "x" * 9_000, "</div>" * 2_000),
]


def storable(strings: list[str]) -> list[str]:
    """Return the strings that the database takes."""
    if connection.vendor != "postgresql":
        return strings
    return [it for it in strings if "\x00" not in it]


_SCHEME = re.compile(r"[\x00-\x20]*([a-z][a-z0-9+.\s-]*):", re.IGNORECASE)
_LINKS = {"href", "src", "action", "formaction", "srcset", "poster", "data", "content"}


class Markup(HTMLParser):
    """What a page is made of.

    Attributes:
        parts: its tags, their attributes, and the schemes of their links.
        texts: all else, as people read it.
    """

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.parts: set[tuple[str, ...]] = set()
        self.texts = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note a tag."""
        self.parts.add((tag,))
        for name, value in attrs:
            self.parts.add((tag, name))
            self.texts += f"\n{value or ''}"
            if name in _LINKS and (scheme := _SCHEME.match(value or "")):
                self.parts.add((tag, name, scheme[1].lower()))

    def handle_data(self, data: str) -> None:
        """Note a text."""
        self.texts += data

    def handle_comment(self, data: str) -> None:
        """Note that there is a comment."""
        self.parts.add(("<!--",))

    def handle_pi(self, data: str) -> None:
        """Note that there is an instruction."""
        self.parts.add(("<?",))

    def unknown_decl(self, data: str) -> None:
        """Note that there is a declaration."""
        self.parts.add(("<![",))
