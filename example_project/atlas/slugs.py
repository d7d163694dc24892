"""Turns the name of a place, in any script, into the slug of its URL."""

from __future__ import annotations

import unicodedata

from django.utils.text import slugify


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
