"""Rules: each has a code, and the words that Search Console has for a breach."""

from __future__ import annotations

from dataclasses import dataclass


def _(words: str) -> str:
    """Mark words for translators."""
    return words


# From the reports "Sitemaps" and "Page indexing"; where they are silent, the closest. A
# question mark makes a warning.
_CODES = {
    _("Couldn't fetch"): "unreachable fetch-redirect",
    _("HTTP error"): "http-status",
    _("Compression error"): "gzip-damaged gzip-truncated gzip-twice gzip-missing",
    _("Sitemap file size error"): "file-size entry-size",
    _("Empty sitemap"): "file-empty entries-none?",
    _("Unsupported format"): "html root",
    _("Leading whitespace"): "leading-whitespace",
    _("Incorrect namespace"): "namespace extension-namespace prefix",
    _("Parsing error"): "utf-8 xml doctype entity tag-unknown",
    _("Invalid XML: too many tags"): "tag-duplicate",
    _("Missing XML tag"): """loc-missing tag-empty image-loc-missing
        video-description-missing video-location-missing news-name-missing
        news-language-missing news-publication-date-missing news-title-missing""",
    _("Missing <publication> tag"): "news-publication-missing",
    _("Missing thumbnail URL"): "video-thumbnail-loc-missing",
    _("Missing video title"): "video-title-missing",
    _("Missing XML attribute"): "alternate-incomplete",
    _("Invalid attribute value"): """alternate-rel alternate-hreflang
        alternate-href alternate-duplicate alternate-self alternate-reciprocal""",
    _("Too many URLs"): "entries-many",
    _("Too many sitemaps"): "index-many",
    _("Incorrect sitemap index format: Nested sitemap indexes"): """index-nested
        index-self""",
    _("Invalid URL"): """loc-invalid loc-encoding loc-whitespace? loc-fragment
        loc-session loc-duplicate image-loc video-url media-signed?""",
    _("URLs not followed"): "loc-relative",
    _("URL not allowed"): "loc-host loc-protocol loc-directory",
    _("Path mismatch: Missing www, or Includes www"): "loc-www",
    _("Invalid date"): """lastmod-format lastmod-zone lastmod-future?
        lastmod-now? video-date news-date news-old?""",
    _("Invalid tag value"): """changefreq priority video-title video-description
        video-duration video-restriction news-language tag-ignored?""",
    _("Page with redirect"): "page-redirect",
    _("Not found (404)"): "page-missing",
    _("Blocked due to access forbidden (403)"): "page-forbidden",
    _("Server error (5xx)"): "page-error",
    _("Excluded by 'noindex' tag"): "page-noindex",
    _("Alternate page with proper canonical tag"): "page-canonical",
    _("URL blocked by robots.txt"): "page-blocked",
}

#: Search Console's words by the code of a rule.
WORDS = {c.rstrip("?"): words for words, codes in _CODES.items() for c in codes.split()}

#: Codes of what engines accept, though they may ignore a part of it.
WARNINGS = {c[:-1] for codes in _CODES.values() for c in codes.split() if c[-1] == "?"}


class Fault(ValueError):
    """A breach of the rule of a code, in a line from 1, or 0 for the whole file."""

    def __init__(self, code: str, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.code, self.line = code, line


@dataclass(frozen=True, slots=True)
class Problem:
    """A fault with its place."""

    source: str  # path or URL of the file
    line: int  # from 1; 0 for the file as a whole
    rule: str
    message: str

    @property
    def is_warning(self) -> bool:
        """Whether engines accept it."""
        return self.rule in WARNINGS

    def __str__(self) -> str:
        place = f"{self.source}:{self.line}" if self.line else self.source
        kind = "warning" if self.is_warning else "error"
        return f"{place}: {kind} {self.rule}: {self.message} [{WORDS[self.rule]}]"
