"""Finds the names of a place by their script, and turns them into slugs of URLs."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from django.utils.text import slugify

# Of the languages of the site but English. Names in Arabic or Latin script may be of
# any of several languages.
_SCRIPTS = {
    "el": re.compile("[\u0370-\u03ff\u1f00-\u1fff -]+"),
    "he": re.compile("[\u05d0-\u05ea '\"-]+"),
    "ko": re.compile("[\uac00-\ud7a3 -]+"),
}


def names_by_language(names: Iterable[str]) -> dict[str, str]:
    """Return the longest of the names in the script of each language, or ""."""
    given = [name for name in names if name.strip()]  # shorter ones are often historic
    return {
        language: max(filter(script.fullmatch, given), key=len, default="")
        for language, script in _SCRIPTS.items()
    }


def make_slug(name: str) -> str:
    """Return an ASCII slug where that loses no letter, else one in the name's script.

    "São Paulo" becomes `sao-paulo`, while "Łódź" and "城郊" keep their letters. A name
    without any letter or digit becomes `place`, so the slug is never empty.
    """
    slug = slugify(name, allow_unicode=not _has_ascii_letters_only(name))
    return slug or "place"


def _has_ascii_letters_only(name: str) -> bool:
    # NFKD sets accents apart from their letters; modifier letters (Lm) such as the
    # okina of Hawaiian are left out because dropping them harms no one's reading.
    letters = (
        char
        for char in unicodedata.normalize("NFKD", name)
        if unicodedata.category(char) in {"Lu", "Ll", "Lt", "Lo", "Nd"}
    )
    return all(char.isascii() for char in letters)
