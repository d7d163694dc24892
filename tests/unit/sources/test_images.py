"""Images: columns of files are what their storage says of each, name by name."""

import random
from copy import copy
from dataclasses import replace
from typing import Any, cast
from unittest.mock import Mock

import pytest
from django.core.files.base import ContentFile
from django.core.files.storage import FileSystemStorage, Storage
from django.db import OperationalError
from django.db.models import FileField, ImageField
from django.db.models.fields.files import FieldFile
from django.utils.encoding import filepath_to_uri
from django.utils.safestring import mark_safe
from storages.backends.s3 import S3Storage

from django_sitemaps_plus import Image
from django_sitemaps_plus.core.limits import MAX_URL_LENGTH
from django_sitemaps_plus.core.locations import encode_url
from django_sitemaps_plus.core.xml import escape
from django_sitemaps_plus.sources.columns import Column, Failed, Problem, attempt
from django_sitemaps_plus.sources.images import file_column, image_column

from .zoo import OTHERS, TEXTS

ORIGIN = "https://shop.example"
S3 = {"bucket_name": "b-1", "querystring_auth": False, "region_name": "eu-west-1"}

#: Parts of names, those among them that storages change or refuse.
PARTS = (*TEXTS, "photos/2026/", "IMG_1.JPG", ".jpg", "../", "./", "http:", "a\\b", ";")


class Signing(Storage):
    """URLs with a signature each."""

    def url(self, name: str | None) -> str:
        quoted = filepath_to_uri(name)
        return f"https://cdn.example/{quoted}?a=1&b={hash(name)}"


class Odd(Storage):
    """Another URL for some names, none for others."""

    def url(self, name: str | None) -> str:
        if name and "x" in name:
            raise ValueError(f"no {name!r}")
        return f"https://{len(name or '')}.cdn.example/{filepath_to_uri(name)}"


class Placeholder(Storage):
    def url(self, name: str | None) -> str:
        return "https://cdn.example/c"


class Lower(FieldFile):
    """A file that changes what its storage says."""

    @property
    def url(self) -> str:
        return super().url.lower() if "IMG" in (self.name or "") else super().url


class LowerField(FileField):
    attr_class = Lower


def on(base_url: str) -> FileField:
    """Return a field whose files are at an address."""
    return FileField(storage=FileSystemStorage(base_url=base_url))


#: Fields, and whether their URLs are a prefix and the name.
FIELDS = {
    "file system": (on("/media/"), True),
    "images": (ImageField(storage=FileSystemStorage(base_url="/i/")), True),
    "host": (on("https://cdn.example/m/"), True),
    "other scheme's host": (on("//cdn.example/"), True),
    "encoded": (on("/o'd & \u00e9%/"), True),
    "custom domain": (FileField(storage=S3Storage(custom_domain="c.x", **S3)), True),
    "S3": (FileField(storage=S3Storage(**S3)), True),
    "signing": (FileField(storage=Signing()), False),
    "odd": (FileField(storage=Odd()), False),
    "placeholder": (FileField(storage=Placeholder()), False),
    "no URL": (FileField(storage=Storage()), False),
    "not a URL": (on("ftp://cdn.example/"), False),
    "long": (on(f"/{'m' * 1_900}/"), True),
    "too long": (on(f"/{'m' * 2_100}/"), False),
    "own files": (LowerField(storage=FileSystemStorage(base_url="/media/")), False),
}


def absolute(url: str) -> str:
    if url.startswith("//"):
        return encode_url(f"https:{url}")
    return encode_url(ORIGIN + url if url.startswith("/") else url)


def listed(field: FileField, name: Any) -> str | None:
    """Return the text of one file in the obvious way; None if it has none."""
    try:
        file = field.attr_class(None, field, name)
        return escape(absolute(file.url)) if file else ""
    except Exception:  # noqa: BLE001 - whatever it is, the row has no image
        return None


USUAL = ["photos/2026/IMG_1.JPG", "caf\u00e9 (1)/d'or & co.jpg", "", None]


def written(column: Column, values: list[Any]) -> tuple[list[str], list[Problem]]:
    """Return the texts of values, and what is wrong with others."""
    problems: list[Problem] = []
    return column.texts(values, problems), problems


class TestFiles:
    def compare(self, field: FileField, names: list[Any]) -> None:
        texts, problems = written(file_column(field, ORIGIN), names)
        expected = [listed(field, name) for name in names]
        assert texts == [text or "" for text in expected], names
        bad = [row for row, text in enumerate(expected) if text is None]
        assert [row for row, _, _ in problems] == bad

    @pytest.mark.parametrize("kind", FIELDS)
    def test_each_is_what_the_storage_says(self, kind):
        field, _ = FIELDS[kind]
        for name in (*PARTS, None):
            self.compare(field, [name])
        for _ in range(150):
            names = ["".join(random.choices(PARTS, k=4)) for _ in range(4)]
            names += random.choices((*USUAL, "n" * 40), k=5)
            random.shuffle(names)
            self.compare(field, names)

    @pytest.mark.parametrize("kind", FIELDS)
    def test_a_storage_is_asked_for_samples_or_for_each(self, kind, monkeypatch):
        field, is_prefix = FIELDS[kind]
        asked = []
        url = type(field.storage).url
        monkeypatch.setattr(field, "storage", copy(field.storage))

        def count(name: str) -> str:
            asked.append(name)
            return url(field.storage, name)

        monkeypatch.setattr(field.storage, "url", count, raising=False)
        column = file_column(field, ORIGIN)
        assert asked == []
        for _ in range(3):
            written(column, [*USUAL, "n.jpg"])
        assert len(asked) == 2 if is_prefix else len(asked) >= 9

    @pytest.mark.parametrize("letter", ["n", "&", "\u00e9"])
    def test_a_url_of_2_047_characters_is_the_longest(self, letter):
        room = MAX_URL_LENGTH - len(f"{ORIGIN}/media/")
        for length in (room // 6, room // 3, room):
            self.compare(on("/media/"), [letter * length, "a.jpg"])
            self.compare(on("/media/"), [letter * (length + 1), "a.jpg"])

    def test_a_field_may_read_files_instead_of_names(self):
        values = ["a", file("b"), b"c", mark_safe("d")]
        texts, ((row, _, error),) = written(file_column(on("/m/"), ORIGIN), values)
        expected = [f"{ORIGIN}/m/a", f"{ORIGIN}/media/b", "", f"{ORIGIN}/m/d"]
        assert texts == expected
        assert row == 2
        assert "b'c' is not an image" in str(error)

    def test_an_outage_costs_no_row(self, monkeypatch):
        """A storage whose URLs are in a database that is away."""
        field = on("/media/")
        error = OperationalError("connection lost")
        monkeypatch.setattr(field.storage, "url", Mock(side_effect=error))
        with pytest.raises(OperationalError):
            written(file_column(field, ORIGIN), ["a"])


def file(name: str | None) -> FieldFile:
    """Return a file that does not exist, so that reading it is an error."""
    return FieldFile(cast("Any", None), on("/media/"), name)


class TestImages:
    @pytest.mark.parametrize(
        ("value", "expected"),
        [
            ("/media/\u00fc.jpg", [f"{ORIGIN}/media/%C3%BC.jpg"]),
            ("//cdn.example/a&b", ["https://cdn.example/a&amp;b"]),
            (Image("http://other.example/"), ["http://other.example/"]),
            (
                ["/a", None, "", file(None), "http://b.c/d"],
                [f"{ORIGIN}/a", "http://b.c/d"],
            ),
            ((file("a b"), file("c")), [f"{ORIGIN}/media/a%20b", f"{ORIGIN}/media/c"]),
            (file("../d"), [f"{ORIGIN}/d"]),
            ({"loc": file("b"), "title": "B"}, [f"{ORIGIN}/media/b"]),
            ([{"loc": "/a", "caption": "A"}, {}], [f"{ORIGIN}/a"]),
            (file(""), []),
            (file(None), []),
            ("", []),
            (None, []),
            ([], []),
        ],
    )
    def test_paths_and_files_become_absolute(self, value, expected):
        between = "</image:loc></image:image><image:image><image:loc>"
        texts = [between.join(expected)]
        assert written(image_column(ORIGIN), [value]) == (texts, [])

    @pytest.mark.parametrize(
        ("value", "said"),
        [
            (5, "5 is not an image; give a URL"),
            ([5], "5 is not an image"),
            (b"/a", "b'/a' is not an image"),
            (["/a", "a.jpg"], "URL, or a path that begins with a slash"),
            ("ftp://a.example/", "'ftp://a.example/' is not an absolute"),
            (ContentFile("bytes"), "has no attribute 'url'"),
            (["/a"] * 1_001, "1,001 images"),
        ],
    )
    def test_others_are_named(self, value, said):
        texts, ((row, name, error),) = written(image_column(ORIGIN), [value])
        assert (texts, row, name) == ([""], 0, "images")
        assert said in str(error)

    def test_strings_are_written_together(self):
        """URLs of any host, paths and nothing are not handled row by row."""
        column = image_column(ORIGIN)
        values = ["/m/a.jpg", "", "https://cdn.example/\u00e9'", "/m/?a=b&c=%C3%A9"]
        values += [None, f"{ORIGIN}/a", "http://a.example:80"]
        expected = [column.write(value) if value else "" for value in values]
        column = replace(column, write=Mock(side_effect=AssertionError))
        assert written(column, values) == (expected, [])

    def test_each_string_is_what_it_is_alone(self):
        column = image_column(ORIGIN)
        odd = (*TEXTS, *OTHERS, *[f"/{text}" for text in TEXTS], "/\n", "a\n/b", "\n")
        odd += (ORIGIN, "https://a", "https:///a", "/" + "m" * 2_030, "/" + "&" * 700)
        for _ in range(300):
            values = random.choices(("/m/a.jpg", "http://cdn.example/a", ""), k=5)
            values += random.choices(odd, k=2)
            random.shuffle(values)
            texts, problems = written(column, values)
            alone = [attempt(column.write, v) if v is not None else "" for v in values]
            assert texts == ["" if type(it) is Failed else it for it in alone], values
            bad = [row for row, it in enumerate(alone) if type(it) is Failed]
            assert [row for row, _, _ in problems] == bad
