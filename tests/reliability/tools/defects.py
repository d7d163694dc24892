"""Odd things that a source may say of a row."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

from django.utils.functional import lazystr

from tests.support.testapp.models import Product

#: What a source may say where it should say a location; none can be written.
LOCATIONS: dict[str, Any] = {
    "nothing": None,
    "empty": "",
    "a number": 7,
    "bytes": b"/product/",
    "a list": ["/product/"],
    "an object": object(),
    "3,000 characters": "/" + "a" * 3_000,
    "another host": "https://other.example/product/",
    "a script": "javascript:alert(1)",
    "a mail address": "mailto:me@example.com",
    "an error": ZeroDivisionError(),
    "a missing attribute": AttributeError("slug"),
    "a missing key": KeyError("slug"),
    "an endless recursion": RecursionError(),
    "an end of iteration": StopIteration(),
    "a row that has gone": Product.DoesNotExist(),
}

#: What it may say of a field; the entry is listed without it.
VALUES: dict[str, tuple[str, Any]] = {
    "a lastmod in words": ("lastmod", "yesterday"),
    "a number as lastmod": ("lastmod", 20_260_101),
    "a list as lastmod": ("lastmod", [date(2026, 1, 1)]),
    "a lastmod that raises": ("lastmod", ValueError("no date")),
    "an unknown changefreq": ("changefreq", "often"),
    "a number as changefreq": ("changefreq", 1),
    "a changefreq that raises": ("changefreq", LookupError()),
    "a priority that is no number": ("priority", float("nan")),
    "an endless priority": ("priority", float("inf")),
    "a priority below 0": ("priority", -0.1),
    "a priority above 1": ("priority", 1.1),
    "a priority in words": ("priority", "high"),
    "an image that is none": ("images", [object()]),
    "images that are no list": ("images", 7),
    "a video that is none": ("videos", [b"film"]),
    "news that are none": ("news", "today"),
    "an alternate that is none": ("alternates", [("de", "/de/")]),
}

#: Odd, and yet nothing is wrong with them.
HARMLESS: dict[str, tuple[str, Any]] = {
    "a lazy location": ("location", lazystr("/products/lazy/")),
    "a lastmod of the year 1": ("lastmod", date(1, 1, 1)),
    "an aware lastmod": ("lastmod", datetime(2026, 1, 1, tzinfo=UTC)),
    "no lastmod": ("lastmod", None),
    "a whole priority": ("priority", 1),
    "no images": ("images", []),
}
