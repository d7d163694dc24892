"""Images: their URLs, paths on the site, files of model fields, and objects."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from django.conf import settings
from django.core.files import File
from django.core.files.storage import FileSystemStorage, InMemoryStorage
from django.db.models import FileField, FilePathField, ForeignKey, QuerySet
from django.db.models.expressions import Col
from django.db.models.fields.files import FieldFile

from django_sitemaps_plus.core.entries import check_images
from django_sitemaps_plus.core.extensions import Image
from django_sitemaps_plus.core.limits import MAX_URL_LENGTH
from django_sitemaps_plus.core.locations import encode_url, refuse_relative
from django_sitemaps_plus.core.xml import escape

from .columns import Column, Problem, UrlColumn, attempt
from .quoting import FILE_NAMES, Quoting, image_quoting

_BEFORE = "<image:image><image:loc>"
_AFTER = "</image:loc></image:image>"
_ELEMENT: dict[str, Any] = {"name": "images", "before": _BEFORE, "after": _AFTER}

# Names with much that storages quote, and with nothing.
_SAMPLES = ("Aa/b '\"%41?#&<+;:@,=$!*()[]~-_.\u00e9\U0001f600.JPG", "c")

_ON_DISK = "is a path on the server's disk; give the URL at which the file is served"


@dataclass(frozen=True, kw_only=True)
class _ImageColumn(UrlColumn):
    """Writes images, but none by its path on the server's disk."""

    origin: str

    def texts(self, values: Sequence[Any], problems: list[Problem]) -> list[str]:
        texts = super().texts(values, problems)
        # URLs that are made of paths below MEDIA_ROOT and STATIC_ROOT begin with these.
        given = (settings.MEDIA_ROOT, settings.STATIC_ROOT)
        roots = [f"{str(root).rstrip('/')}/" for root in given if root and self.origin]
        served = (settings.MEDIA_URL, settings.STATIC_URL)
        urls = [url for url in served if url and url.startswith("/")]
        on_disk = [
            escape(encode_url(self.origin + root))
            for root in roots
            if root.startswith("/")
            and root != "/"
            and not any(root.startswith(url) or url.startswith(root) for url in urls)
        ]

        joined = "\n".join(texts)
        for root in filter(joined.__contains__, on_disk):
            for row, text in enumerate(texts):
                if root in text:
                    error = ValueError(f"{values[row]!r} {_ON_DISK}")
                    problems.append((row, self.name, error))
                    texts[row] = ""
        return texts


def image_column(origin: str) -> UrlColumn:
    """Return what writes images on any host; paths are on the origin, if not empty."""
    write, quote = partial(_images, origin), image_quoting(origin)
    return _ImageColumn(**_ELEMENT, origin=origin, write=write, quote=quote)


def _images(origin: str, value: Any) -> str:
    is_one = isinstance(value, str | bytes | dict | Image | File)  # not what it yields
    if is_one or not hasattr(value, "__iter__") or hasattr(value, "url"):
        value = [value]
    images = list[Image]()
    for one in value:
        if isinstance(one, dict):  # as templates in the place of contrib's take it
            one = one.get("loc")
        if isinstance(one, File):
            one = one.url if one else None  # type: ignore[attr-defined]  # of a field
        elif not isinstance(one, str | Image):  # as those of media libraries
            one = getattr(one, "url", one)
            one = one() if callable(one) else one
        if one is None or one == "":
            continue

        if not isinstance(one, str | Image):
            raise TypeError(f"{one!r} is not an image; give a URL, a path or a file")
        if origin and isinstance(one, str):
            if one.startswith("/"):
                scheme, colon, _ = origin.partition(":")
                one = (scheme + colon if one.startswith("//") else origin) + one
            refuse_relative(one)
        images.append(Image(one) if isinstance(one, str) else one)
    return (_AFTER + _BEFORE).join([escape(it.loc) for it in check_images(images)])


@dataclass(frozen=True, kw_only=True)
class FileColumn(Column):
    """Writes names of files, together if each URL is a prefix and the quoted name."""

    field: FileField

    @cached_property
    def prefix(self) -> tuple[str, Quoting] | None:
        """The beginning of all URLs, and what quotes the names; None if they differ.

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


def lacks_media_url(column: Column | None) -> bool:
    """Return whether files of a column get URLs by a MEDIA_URL that is not set.

    Django reads "" as the path of the project, where nothing serves them.
    """
    if not isinstance(column, FileColumn):
        return False
    storage: Any = column.field.storage
    # The class of the default storage, which is a lazy object, is asked for so.
    is_djangos = storage.__class__.url in (FileSystemStorage.url, InMemoryStorage.url)
    project: Any = settings
    # By the setting itself, which Django gives a slash.
    is_unset = not project._wrapped.MEDIA_URL and storage.base_url == settings.MEDIA_URL
    return is_unset and is_djangos and storage._base_url is None


def file_column(field: FileField, origin: str) -> FileColumn:
    """Return what writes the files of a field; paths are on the origin."""

    def write(value: Any) -> str:
        instance: Any = None  # of which only the name was read
        if isinstance(value, str):
            value = field.attr_class(instance, field, value)
        return _images(origin, value)

    return FileColumn(**_ELEMENT, write=write, field=field)


@dataclass(frozen=True, kw_only=True)
class _ObjectColumn(Column):
    """Writes objects that have a URL, given the keys by which rows refer to them."""

    keys: QuerySet[Any]  # those of all rows of the page
    model: Any  # that of the objects
    attribute: str  # which has such a key

    @cached_property
    def objects(self) -> dict[Any, Any]:
        """The objects, read by one query for a page."""
        rows = self.model._base_manager.using(self.keys.db)
        rows = rows.filter(**{f"{self.attribute}__in": self.keys})
        return {getattr(row, self.attribute): row for row in rows.iterator()}

    def texts(self, values: Sequence[Any], problems: list[Problem]) -> list[str]:
        return super().texts([self.objects.get(key) for key in values], problems)


def held_images(
    resolved: Any, rows: Callable[[], QuerySet[Any]], images: Any, origin: str
) -> Column | None:
    """Return what writes the images that a column of a query holds.

    The answer is None where its values are images themselves. The column is given as
    the query has it, and as it was declared; ``rows`` returns the rows of the page.
    """
    field = resolved.output_field
    if isinstance(field, FileField):
        return file_column(field, origin)
    if isinstance(field, FilePathField):

        def refuse(value: object) -> str:
            if value:
                raise ValueError(f"{value!r} {_ON_DISK}")
            return ""

        return Column(name="images", write=refuse)
    model, attribute = _target(resolved) or (None, "")
    if hasattr(model, "url"):
        # The method of a subclass may order columns anew.
        keys = QuerySet.values_list(QuerySet.order_by(rows()), images)
        return _ObjectColumn(
            **_ELEMENT,
            write=partial(_images, origin),
            keys=keys,
            model=model,
            attribute=attribute,
        )
    return None


def _target(resolved: Any) -> tuple[Any, str] | None:
    """Return the model and attribute to which the keys of an expression refer."""
    if isinstance(resolved, Col):
        field: Any = resolved.target
        if isinstance(field, ForeignKey) and not field.remote_field.parent_link:
            return field.related_model, field.target_field.attname
        # A relation that leads back, as from a product to its photos.
        return (field.model, field.attname) if field.primary_key else None
    parts: list[Any] = getattr(resolved, "get_source_expressions", list)()
    targets = {_target(part) for part in parts}
    return targets.pop() if len(targets) == 1 else None
