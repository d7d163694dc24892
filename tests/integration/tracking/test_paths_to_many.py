"""What a row lists of many others is noticed as everything else is."""

from __future__ import annotations

from typing import Any

import pytest

from django_sitemaps_plus import notify_changed
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.section import open_section
from django_sitemaps_plus.tracking.deploys import fingerprint
from tests.support.builds import build_and_relay
from tests.support.rendered import SITE
from tests.support.testapp.models import Gallery, Loan, Note, Photo, Wing

from .rows import BookSource, noticed, recorded

pytestmark = pytest.mark.database

HOST = "https://img.example"


class GallerySource(BookSource):
    """Three galleries a page: the first page has galleries 0 to 2, and so on."""

    model = Gallery
    limit = 3
    images: Any = "photos__address"


class LoanSource(GallerySource):
    images = "loans__address"


class NoteSource(GallerySource):
    images = "notes__address"


class WingSource(GallerySource):
    images = "wings__pictures__address"


@pytest.fixture
def galleries() -> list[Gallery]:
    Gallery.objects.bulk_create([Gallery(slug=f"g-{n}") for n in range(9)])
    return list(Gallery.objects.order_by("pk"))


@pytest.fixture
def photo(galleries) -> Photo:
    """A photo of the gallery in the middle, on page 2."""
    photo = Photo(gallery=galleries[4], address=f"{HOST}/a.jpg")
    return Photo.objects.bulk_create([photo])[0]


def save(photo: Photo, *names: str, **fields: Any) -> None:
    for name, value in fields.items():
        setattr(photo, name, value)
    photo.save(update_fields=names or None)


@pytest.mark.parametrize(
    ("act", "pages"),
    [
        (lambda photo, other: save(photo), [2]),
        (lambda photo, other: save(photo, "address"), [2]),
        (lambda photo, other: save(photo, "position"), [2]),
        (lambda photo, other: save(photo, "caption"), []),
        (lambda photo, other: photo.delete(), [2]),
        (lambda photo, other: Photo.objects.filter(pk=photo.pk).delete(), [2]),
        (lambda photo, other: Photo.objects.create(gallery=other), [3]),
        (lambda photo, other: Photo.objects.create(), []),
        (lambda photo, other: save(photo, gallery=other), [3]),
        (lambda photo, other: save(photo, "gallery", gallery=other), [3]),
        (lambda photo, other: other.photos.add(photo, bulk=False), [3]),
    ],
    ids=[
        *("save", "value", "order", "other column", "delete", "delete query", "add"),
        *("add to none", "move", "move alone", "relate"),
    ],
)
def test_a_change_of_a_photo_marks_the_page_of_its_row(
    publish, galleries, photo, act, pages
):
    """Of one that moved that of the new row: the audit finds the other."""
    section = publish(GallerySource)
    act(photo, galleries[8])
    assert noticed(section) == pages
    assert "audit" not in [kind for kind, _, _ in recorded()]


def test_a_row_that_a_photo_leaves_is_noticed_if_it_is_told(publish, galleries, photo):
    section = publish(GallerySource)
    before = photo.gallery_id
    save(photo, gallery=galleries[8])
    notify_changed(Gallery.objects.filter(pk=before))
    assert noticed(section) == [2, 3]


def test_what_is_deleted_without_tracking_keeps_its_fast_delete(publish, photo):
    section = publish(type("Quiet", (GallerySource,), {"track_deletes": False}))
    photo.delete()
    assert recorded() == []
    assert noticed(section) == []


def test_a_photo_two_relations_away(publish, galleries):
    """Each still names the one before it."""
    wing = Wing.objects.create(gallery=galleries[4], name="a")
    photo = Photo.objects.create(wing=wing, address=f"{HOST}/a.jpg")
    section = publish(WingSource)
    photo.delete()
    assert noticed(section) == [2]
    build_and_relay()
    wing.delete()
    assert noticed(section) == [2]


@pytest.mark.parametrize(
    ("act", "pages"),
    [
        (lambda loan, other: loan.delete(), [2]),
        (lambda loan, other: Loan.objects.create(gallery=other, photo=loan.photo), [3]),
        (lambda loan, other: save(loan.photo, "position"), [2]),
        (lambda loan, other: other.loans.add(loan.photo), [3]),
    ],
    ids=["delete", "create", "order", "add"],
)
def test_a_relation_with_a_model_of_its_own(publish, galleries, photo, act, pages):
    loan = Loan.objects.create(gallery=galleries[4], photo=photo)
    section = publish(LoanSource)
    act(loan, galleries[8])
    assert noticed(section) == pages


@pytest.mark.parametrize(
    ("act", "pages"),
    [
        (lambda note, other: save(note), [2]),
        (lambda note, other: save(note, "text"), []),
        (lambda note, other: save(note, "object_id", object_id=other.pk), [3]),
        (lambda note, other: save(note, "content_type"), [2]),
        (lambda note, other: note.delete(), [2]),
        (lambda note, other: Note.objects.create(of=other, address="x"), [3]),
        (lambda note, other: Note.objects.create(of=Photo(pk=other.pk)), []),
    ],
    ids=["save", "other column", "move", "kind", "delete", "add", "add elsewhere"],
)
def test_a_generic_relation(publish, galleries, act, pages):
    note = Note.objects.create(of=galleries[4], address=f"{HOST}/a.jpg")
    section = publish(NoteSource)
    act(note, galleries[8])
    assert noticed(section) == pages


def test_another_order_is_another_fingerprint(publish, galleries, monkeypatch):
    section: Section = publish(GallerySource)
    opened = open_section(section.name, SITE)
    before = fingerprint(opened)
    assert fingerprint(opened) == before
    monkeypatch.setattr(Photo._meta, "ordering", ["-position"])
    assert fingerprint(opened) != before


@pytest.mark.parametrize("ordering", [["wing__name"], ["wing"], ["-wing__name"]])
def test_columns_of_an_order_further_away_count(
    publish, galleries, photo, monkeypatch, ordering
):
    """A relation is ordered by the order of its model, which is the name as well."""
    monkeypatch.setattr(Photo._meta, "ordering", ordering)
    wing = Wing.objects.create(gallery=galleries[0], name="a")
    Photo.objects.update(wing=wing)
    section = publish(GallerySource)
    wing.name = "b"
    wing.save(update_fields=["name"])
    assert noticed(section) == [2]


def test_an_edit_is_published(publish, galleries, photo, client):
    """The order too; the bytes of other pages stay."""
    publish(GallerySource)
    second = Photo.objects.create(gallery=galleries[4], address=f"{HOST}/b.jpg")
    build_and_relay()
    before = client.get("/sitemap-products-2.xml").content
    assert before.index(b"a.jpg") < before.index(b"b.jpg")
    save(second, "position", position=-1)
    [report] = build_and_relay().sections
    assert report.stored == 1
    after = client.get("/sitemap-products-2.xml").content
    assert after.index(b"b.jpg") < after.index(b"a.jpg")
    photo.delete()
    build_and_relay()
    assert b"a.jpg" not in client.get("/sitemap-products-2.xml").content
