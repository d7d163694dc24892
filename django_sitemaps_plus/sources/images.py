"""Images: their URLs, paths on the site, and files of model fields."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from django.core.files import File
from django.db.models import FileField
from django.db.models.fields.files import FieldFile

from django_sitemaps_plus.core.entries import check_images
from django_sitemaps_plus.core.extensions import Image
from django_sitemaps_plus.core.limits import MAX_URL_LENGTH
from django_sitemaps_plus.core.locations import refuse_relative
from django_sitemaps_plus.core.xml import escape

from .columns import Column, Problem, UrlColumn, attempt
from .quoting import FILE_NAMES, Quoting, image_quoting

_BEFORE = "<image:image><image:loc>"
_AFTER = "</image:loc></image:image>"

# Names with much that storages quote, and with nothing.
_SAMPLES = ("Aa/b '\"%41?#&<+;:@,=$!*()[]~-_.\u00e9\U0001f600.JPG", "c")


def image_column(origin: str) -> UrlColumn:
    """Return what writes images on any host; paths are on the origin, if not empty."""
    return UrlColumn(
        name="images",
        write=partial(_images, origin),
        before=_BEFORE,
        after=_AFTER,
        quote=image_quoting(origin),
    )


def _images(origin: str, value: Any) -> str:
    is_one = isinstance(value, str | bytes | Image | File)  # files yield their bytes
    if is_one or not hasattr(value, "__iter__"):
        value = [value]
    found = [_image(origin, one) for one in value]
    images = check_images([image for image in found if image])
    return (_AFTER + _BEFORE).join([escape(image.loc) for image in images])


def _image(origin: str, value: Any) -> Image | None:
    if isinstance(value, File):
        value = value.url if value else None  # type: ignore[attr-defined]  # of a field
    if value is None or value == "":
        return None
    if isinstance(value, Image):
        return value
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is not an image; give a URL, a path or a file")
    if origin and value.startswith("/"):
        scheme, colon, _ = origin.partition(":")
        value = (scheme + colon if value.startswith("//") else origin) + value
    if origin:
        refuse_relative(value)
    return Image(value)


@dataclass(frozen=True, kw_only=True)
class FileColumn(Column):
    """Writes names of files, together if each URL is a prefix and the quoted name."""

    field: FileField

    @cached_property
    def prefix(self) -> tuple[str, Quoting] | None:
        """What all URLs begin with, and what quotes the names; None if they differ.

        The storage is asked before the first row is written, not for a query alone.
        """
        if self.field.attr_class.url is not FieldFile.url:
            return None
        answers = [attempt(self.write, name) for name in _SAMPLES]
        for quoting in FILE_NAMES:
            names, _ = quoting(_SAMPLES, MAX_URL_LENGTH)
            before = str(answers[-1]).removesuffix(names[-1])
            if answers == [before + name for name in names]:
                return before, quoting
        return None

    def texts(self, values: Sequence[Any], problems: list[Problem]) -> list[str]:
        if self.prefix is None:
            return super().texts(values, problems)
        before, quoting = self.prefix
        names, odd = quoting(values, MAX_URL_LENGTH - len(before))
        texts = [before + name if name else "" for name in names]
        self.write_rows(odd, values, texts, problems)
        return texts


def file_column(field: FileField, origin: str) -> FileColumn:
    """Return what writes the files of a field; paths are on the origin."""

    def write(value: Any) -> str:
        instance: Any = None  # of which only the name was read
        if isinstance(value, str):
            value = field.attr_class(instance, field, value)
        return _images(origin, value)

    return FileColumn(
        name="images", write=write, before=_BEFORE, after=_AFTER, field=field
    )
