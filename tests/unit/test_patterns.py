"""T14b: no regular expression of ours takes long, whatever it is given."""

from __future__ import annotations

import importlib
import pkgutil
import re
import time
from collections.abc import Iterator

import pytest

import django_sitemaps_plus
from django_sitemaps_plus.views import files

SIZE = 65_536

#: Ten times what RELIABILITY allows, for busy machines.
HANG = 0.5

#: Pieces that repeat, and what comes after them, which fits nothing.
PIECES = [
    *("a", "A", "0", "-", "/", ".", "%", " ", ",", "\n"),
    *("a.", "0.", "0x", "a-", "/a\n", "AA ", "web ", "zh-", "http://a", "a:0", "[:"),
    *("%2", "<lastmod>", " at 0x", "a b"),
]
ENDS = ("", "!", "\x00")


def patterns() -> Iterator[tuple[str, re.Pattern[str] | re.Pattern[bytes]]]:
    """Yield the compiled patterns of all modules, and those of URL converters."""
    package = django_sitemaps_plus
    for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
        if ".migrations" in module.name or ".contrib.wagtail" in module.name:
            continue
        for name, value in vars(importlib.import_module(module.name)).items():
            # isinstance() would wake the proxies of Celery before there is an app.
            if type(value) is re.Pattern:
                yield f"{module.name}.{name}", value
    for name, value in vars(files).items():
        if hasattr(value, "regex"):
            yield f"converters.{name}", re.compile(value.regex)


def pumps(pattern: re.Pattern[str] | re.Pattern[bytes]) -> Iterator[str | bytes]:
    for piece in PIECES:
        for end in ENDS:
            text = piece * (SIZE // len(piece)) + end
            yield text if isinstance(pattern.pattern, str) else text.encode()


FOUND = dict(patterns())


@pytest.mark.parametrize("name", FOUND)
def test_it_is_as_fast_as_its_text_is_short(name):
    """Matching at the begin, of all, and anywhere."""
    assert len(FOUND) >= 20
    pattern = FOUND[name]
    for text in pumps(pattern):
        for match in (pattern.match, pattern.fullmatch, pattern.search):
            began = time.perf_counter()
            match(text)  # type: ignore[arg-type] # of its type
            seconds = time.perf_counter() - began
            assert seconds < HANG, f"{match.__name__} of {text[:20]!r}: {seconds:.1f} s"
