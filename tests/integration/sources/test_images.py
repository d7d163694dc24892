"""Images of rows: files in columns, at the end of relations, and from methods."""

from typing import Any

import pytest
from django.core.files.storage import FileSystemStorage
from django.db.models import OuterRef, Subquery, Window
from django.db.models.functions import Coalesce, RowNumber

from django_sitemaps_plus import ModelSource, Route, ViewSource
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.rendering import RenderedPage
from tests.support.documents import parse
from tests.support.rendered import plain, queries_of, render
from tests.support.testapp.models import Painting, Picture, Reprint

IMAGE = "{http://www.google.com/schemas/sitemap-image/1.1}"
NAMES = ("photos/a.jpg", "", None, "d'or & caf\u00e9.jpg", "../b", "c//d", "/e", "\\f")
MEDIA = "https://example.com/media"
#: Of each name, what Django itself makes of it.
URLS = [
    [f"{MEDIA}/photos/a.jpg"],
    [],
    [],
    [f"{MEDIA}/d'or%20%26%20caf%C3%A9.jpg"],
    ["https://example.com/b"],
    [f"{MEDIA}/c/d"],
    [f"{MEDIA}/e"],
    [f"{MEDIA}/f"],
]


class Refusing(FileSystemStorage):
    """Signs its URLs, and has none for one name."""

    def url(self, name: str | None) -> str:
        if name == NAMES[3]:
            raise OSError(name)
        return f"{super().url(name)}?a=1&b=2"


class PaintingSource(ModelSource):
    model = Painting
    location = Route("book-detail", slug="slug")
    images: Any = "photo"


class ReprintSource(PaintingSource):
    model = Reprint
    images = "painting__photo"


class AnnotationSource(ReprintSource):
    images = "first"

    def get_queryset(self) -> Any:
        rows = Painting.objects.filter(pk=OuterRef("painting_id")).values("photo")
        return super().get_queryset().annotate(first=Subquery(rows[:1]))


class ExpressionSource(ReprintSource):
    images = Coalesce("painting__photo", "painting__photo")


class InstanceSource(PaintingSource):
    """A method makes the rows instances, and leaves the column as it is."""

    def changefreq(self, painting: Painting) -> None:
        """Say nothing."""


class FileSource(PaintingSource):
    def images(self, painting: Painting) -> Any:
        return painting.photo


@pytest.fixture(autouse=True)
def rows(settings):
    """Add a painting for each name, none of which is the name of a file."""
    settings.MEDIA_URL = "/media/"
    for number, name in enumerate(NAMES):
        painting = Painting.objects.create(slug=f"slug-{number}", photo=name)
        Reprint.objects.create(painting=painting, slug=painting.slug)


def images_of(page: RenderedPage) -> list[list[str]]:
    root = parse(plain(page), "urlset")
    return [[image.text for image in url.iter(f"{IMAGE}loc")] for url in root]


SOURCES = [
    *(PaintingSource, ReprintSource, AnnotationSource, ExpressionSource),
    *(InstanceSource, FileSource),
]


@pytest.mark.parametrize("source", SOURCES)
class TestFiles:
    """However the source says it, the images are the same."""

    def test_each_is_where_its_storage_has_it(self, source):
        """One query reads all, and no file is opened, since none is there."""
        page = render(source)
        assert images_of(page) == URLS
        assert (page.tally.entries, page.tally.dropped) == (len(NAMES), 0)
        assert plain(page) == plain(render(FileSource))
        assert len(queries_of(source, KeyRange())) == 1

    def test_a_storage_that_refuses_one_costs_one(self, source, monkeypatch):
        storage = Refusing(base_url="https://cdn.example/")
        monkeypatch.setattr(Painting._meta.get_field("photo"), "storage", storage)
        page = render(source)
        first = ["https://cdn.example/photos/a.jpg?a=1&b=2"]
        assert images_of(page)[:4] == [first, [], [], []]
        assert page.tally.dropped == 1
        assert "listed without images: OSError: d'or" in page.tally.problems[0]


def test_files_of_many_rows():
    class Source(PaintingSource):
        def images(self, painting: Painting) -> Any:
            return ["/static/a.png", *[one.photo for one in Painting.objects.all()[:4]]]

    expected = ["https://example.com/static/a.png", *URLS[0], *URLS[3]]
    assert images_of(render(Source)) == [expected] * len(NAMES)


def test_the_images_of_views():
    class Source(ViewSource):
        views = ["home"]
        images: Any = "/static/a.png"

    class Method(Source):
        def images(self, view: str) -> Any:
            return Painting(photo="a b.jpg").photo

    assert images_of(render(Source)) == [["https://example.com/static/a.png"]]
    assert images_of(render(Method)) == [[f"{MEDIA}/a%20b.jpg"]]


class PictureSource(ReprintSource):
    """Objects of a media library, by the key that refers to them."""

    images = "picture"


class PictureExpressionSource(ReprintSource):
    images = Coalesce("picture", "picture")


class PictureMethodSource(ReprintSource):
    def images(self, reprint: Reprint) -> Any:
        return [reprint.picture, Item("https://cdn.example/more.jpg")]


class Item:
    """An object whose ``url`` is a method; it can be iterated over, as files can."""

    def __init__(self, url: str) -> None:
        self._url = url

    def __iter__(self) -> Any:
        yield b"a line"

    def url(self) -> str:
        return self._url


@pytest.mark.database
class TestObjects:
    @pytest.fixture(autouse=True)
    def pictures(self) -> None:
        """Have a picture for every other row, and one that is lost."""
        for number, reprint in enumerate(Reprint.objects.order_by("pk")[:6]):
            if name := ("", "1", "", "3", "lost", "5")[number]:
                reprint.picture = Picture.objects.create(name=name)
                reprint.save()

    @pytest.mark.parametrize("source", [PictureSource, PictureExpressionSource])
    def test_the_object_of_a_foreign_key(self, source):
        page = render(source)
        expected = [
            [f"https://cdn.example/{it}.jpg"] if it in (1, 3, 5) else []
            for it in range(len(NAMES))
        ]
        assert images_of(page) == expected
        assert page.tally.dropped == 1
        assert "ValueError: no file" in page.tally.problems[0]
        Picture.objects.filter(name="lost").delete()  # to name its row took one as well
        assert len(queries_of(source, KeyRange())) == 2

    def test_those_of_a_method(self):
        found = images_of(render(PictureMethodSource))
        more = "https://cdn.example/more.jpg"
        assert found[:2] == [[more], ["https://cdn.example/1.jpg", more]]

    def test_pages_of_several_rows_each_have_their_own(self, monkeypatch):
        """Rows of other pages are not read."""
        keys = list(Reprint.objects.order_by("pk").values_list("pk", flat=True))
        made, from_db = [], Picture.from_db.__func__

        def noting(kind: Any, db: Any, names: Any, values: Any, **options: Any) -> Any:
            made.append(values[1])
            return from_db(kind, db, names, values, **options)

        monkeypatch.setattr(Picture, "from_db", classmethod(noting))
        page = render(PictureSource, KeyRange(str(keys[1]), str(keys[3])))
        assert images_of(page) == [["https://cdn.example/1.jpg"], []]
        assert made == ["1"]

    @pytest.mark.parametrize("is_filtered", [False, True])
    @pytest.mark.parametrize("path", ["reprint__picture", "reprint"])
    def test_those_of_paths_to_many(self, path, is_filtered, monkeypatch):
        painting = Painting.objects.order_by("pk")[0]
        Reprint.objects.update(painting=painting)
        Picture.objects.filter(name="lost").update(name="4")
        address = property(lambda reprint: reprint.picture and reprint.picture.url)
        monkeypatch.setattr(Reprint, "url", address, raising=False)

        class Source(PaintingSource):
            images = path

            def get_queryset(self) -> Any:
                rows = Painting.objects.filter(pk=painting.pk)
                return rows.filter(reprint__picture__name="3") if is_filtered else rows

        names = [f"https://cdn.example/{it}.jpg" for it in (1, 3, 4, 5)]
        assert images_of(render(Source)) == [names]

    def test_those_of_rows_that_depend_on_others(self):
        class Source(PictureSource):
            def get_queryset(self) -> Any:
                number = Window(RowNumber(), order_by="pk")
                return Reprint.objects.annotate(number=number).filter(number__lte=2)

        assert images_of(render(Source)) == [[], ["https://cdn.example/1.jpg"]]


class TestPathsOnDisk:
    """They are nobody's business, and no image has such a URL."""

    def test_a_field_of_paths_is_refused(self):
        Reprint.objects.update(scan="/srv/scans/a.jpg")
        page = render(type("Scans", (ReprintSource,), {"images": "scan"}))
        assert images_of(page) == [[]] * len(NAMES)
        assert page.tally.dropped == len(NAMES)
        assert "path on the server's disk" in page.tally.problems[0]

    @pytest.mark.parametrize("is_list", [False, True])
    def test_a_path_below_media_root_is_refused(self, settings, is_list):
        def images(self, painting: Painting) -> Any:
            path = painting.photo.path if painting.slug == "slug-0" else "/a.png"
            return [path] if is_list else path

        page = render(type("Mistaken", (PaintingSource,), {"images": images}))
        assert images_of(page)[:2] == [[], ["https://example.com/a.png"]]
        assert settings.MEDIA_ROOT in page.tally.problems[0]
        assert page.tally.dropped == 1

    def test_a_url_that_looks_like_one_is_listed(self, settings):
        """Some have the same path as what is there."""
        settings.MEDIA_ROOT = settings.MEDIA_URL.rstrip("/")
        assert images_of(render(PaintingSource))[0] == URLS[0]


@pytest.mark.database
def test_the_queryset_is_asked_for_once():
    asked = []

    class Source(AnnotationSource):
        def get_queryset(self) -> Any:
            asked.append(self)
            return super().get_queryset()

    assert images_of(render(Source)) == URLS
    assert len(asked) == 1
