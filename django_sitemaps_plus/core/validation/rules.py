"""Rules: each has a code, and the words that Search Console has for a breach."""

from __future__ import annotations

from dataclasses import dataclass

# From the reports "Sitemaps" and "Page indexing"; where they are silent, the closest. A
# question mark makes a warning.
_CODES = {
    "Couldn't fetch": "unreachable fetch-redirect",
    "HTTP error": "http-status",
    "Compression error": "gzip-damaged gzip-truncated gzip-twice gzip-missing",
    "Sitemap file size error": "file-size entry-size",
    "Empty sitemap": "file-empty entries-none?",
    "Unsupported format": "html root",
    "Leading whitespace": "leading-whitespace",
    "Incorrect namespace": "namespace extension-namespace prefix",
    "Parsing error": "utf-8 xml doctype entity tag-unknown",
    "Invalid XML: too many tags": "tag-duplicate",
    "Missing XML tag": """loc-missing tag-empty image-loc-missing
        video-description-missing video-location-missing news-name-missing
        news-language-missing news-publication-date-missing news-title-missing""",
    "Missing <publication> tag": "news-publication-missing",
    "Missing thumbnail URL": "video-thumbnail-loc-missing",
    "Missing video title": "video-title-missing",
    "Missing XML attribute": "alternate-incomplete",
    "Invalid attribute value": """alternate-rel alternate-hreflang alternate-href
        alternate-duplicate alternate-self alternate-reciprocal""",
    "Too many URLs": "entries-many",
    "Too many sitemaps": "index-many",
    "Incorrect sitemap index format: Nested sitemap indexes": "index-nested index-self",
    "Invalid URL": """loc-invalid loc-encoding loc-whitespace? loc-fragment loc-session
        loc-duplicate image-loc video-url media-signed?""",
    "URLs not followed": "loc-relative",
    "URL not allowed": "loc-host loc-protocol loc-directory",
    "Path mismatch: Missing www, or Includes www": "loc-www",
    "Invalid date": """lastmod-format lastmod-zone lastmod-future? lastmod-now?
        video-date news-date news-old?""",
    "Invalid tag value": """changefreq priority video-title video-description
        video-duration video-restriction news-language tag-ignored?""",
    "Page with redirect": "page-redirect",
    "Not found (404)": "page-missing",
    "Blocked due to access forbidden (403)": "page-forbidden",
    "Server error (5xx)": "page-error",
    "Excluded by 'noindex' tag": "page-noindex",
    "Alternate page with proper canonical tag": "page-canonical",
    "URL blocked by robots.txt": "page-blocked",
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
