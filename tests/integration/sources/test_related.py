"""Paths to many: all values of each row, by one more query a page."""

import re
from functools import partial
from itertools import chain
from typing import Any

import pytest
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.models import (
    Count,
    F,
    FilteredRelation,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Subquery,
    Value,
    Window,
)
from django.db.models.functions import Coalesce, RowNumber
from django.test.utils import CaptureQueriesContext

from django_sitemaps_plus import ModelSource, Route
from django_sitemaps_plus.checks import check_sources
from django_sitemaps_plus.core.key_ranges import KeyRange
from django_sitemaps_plus.diagnostics.explain import explain_object
from django_sitemaps_plus.diagnostics.section_pages import preview
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.sources import (
    Tally,
    reader_of,
    reading,
    related,
    surroundings,
)
from django_sitemaps_plus.sources.querysets import tuples
from tests.support.builds import build_fully
from tests.support.documents import parse, read_urlset
from tests.support.rendered import (
    SITE,
    pages_of,
    plain,
    queries_of,
    render,
    without_savepoints,
)
from tests.support.shop import START
from tests.support.testapp.models import (
    Annex,
    Cafe,
    Cover,
    Gallery,
    Genre,
    Loan,
    Meal,
    Note,
    Photo,
    Tag,
    Theatre,
    Wing,
)

pytestmark = pytest.mark.database

IMAGE = "{http://www.google.com/schemas/sitemap-image/1.1}loc"
VIDEO = "{http://www.google.com/schemas/sitemap-video/1.1}content_loc"
LINK = "{http://www.w3.org/1999/xhtml}link"
HOST = "https://img.example"

#: Galleries, and how many a page has.
ROWS, LIMIT = 30, 10


class GallerySource(ModelSource):
    model = Gallery
    location = Route("book-detail", slug="slug")
    limit = LIMIT


def listing(path: Any, name: str = "images", **declared: Any) -> type[GallerySource]:
    return type("Listing", (GallerySource,), {name: path, **declared})


@pytest.fixture(autouse=True)
def galleries() -> list[Gallery]:
    """Three pages of galleries; every third has no photos, the others two or three."""
    Gallery.objects.bulk_create([Gallery(slug=f"g-{n:02}") for n in range(ROWS)])
    made = list(Gallery.objects.order_by("pk"))
    photos = []
    for number, gallery in enumerate(made):
        for at in range(number % 3 + 1 if number % 3 else 0):
            where = f"{HOST}/{number}-{at}.jpg"
            photos.append(Photo(gallery=gallery, position=-at, address=where))
    photos += [Photo(gallery=made[1], position=-9, address="") for _ in range(2)]
    Photo.objects.bulk_create(photos)
    return made


def by_loop(attribute: str = "photos", field: str = "address") -> dict[str, list[Any]]:
    """Return the values of each gallery as a loop over its related rows gives them."""
    found = {}
    for gallery in Gallery.objects.order_by("pk"):
        rows = getattr(gallery, attribute).all()
        values = rows.order_by(*rows.model._meta.ordering, "pk").values_list(field)
        kept = [value for (value,) in values if value]
        found[f"https://example.com/books/{gallery.slug}/"] = list(dict.fromkeys(kept))
    return found


def found_in(*documents: bytes, tag: str = IMAGE) -> dict[str, list[Any]]:
    """Return what the entries of pages have, by location."""
    found = {}
    for document in documents:
        for url in parse(document, "urlset"):
            loc = url[0].text
            assert loc not in found
            found[loc] = [it.text or it.get("href") for it in url.iter(tag)]
    return found


@pytest.fixture
def served(client: Any, crawl: Any) -> Any:
    """Return what gives the values of all entries that are served."""
    return lambda: found_in(*[client.get(path).content for path in crawl()])


class Method(GallerySource):
    images = "photos__address"

    def changefreq(self, gallery: Gallery) -> None:
        """Say nothing."""


class Chosen(GallerySource):
    """A filter through the same relation lists rows, and restricts no values."""

    images = F("photos__address")

    def get_queryset(self) -> Any:
        found = super().get_queryset().filter(photos__address__endswith="-1.jpg")
        return found.distinct()


class Repeating(Chosen):
    """The same by a query that repeats rows."""

    def get_queryset(self) -> Any:
        return Gallery.objects.filter(photos__position__lte=0)


class ByName(GallerySource):
    images, key = "photos__address", "slug"


class Latest(GallerySource):
    """Rows depend on other rows: a key range is a condition around the query."""

    images = "photos__address"

    def get_queryset(self) -> Any:
        number = Window(RowNumber(), partition_by="slug", order_by="pk")
        return super().get_queryset().annotate(number=number).filter(number=1)


class FetchedQuerySet(QuerySet):
    def _fetch_all(self) -> None:
        super()._fetch_all()


class Fetched(Method):
    """Rows are read as a loop over that queryset reads them."""

    def get_queryset(self) -> Any:
        return FetchedQuerySet(Gallery)


SOURCES = [
    *(listing("photos__address"), Method, ByName, Latest, Fetched),
    *(Chosen, Repeating),
]


@pytest.mark.parametrize("source", SOURCES)
class TestReverseKeys:
    def test_live_and_built_list_all_values_of_each_row(self, sections, served, source):
        """In the order of their model, however rows are read and chosen."""
        expected = by_loop()
        if source in (Chosen, Repeating):
            expected = {loc: found for loc, found in expected.items() if found}
        sections.register("galleries", source)
        live = served()
        assert live == expected
        assert [*live] == [*expected]
        build_fully()
        assert served() == expected

    def test_a_page_takes_one_more_query(self, source):
        source = type("Whole", (source,), {"limit": 2 * ROWS})
        asked = queries_of(source, KeyRange())
        assert [it.count("LEFT OUTER JOIN") for it in asked[:2]] == [0, 1]


def test_no_more_is_read_than_what_is_listed(galleries):
    def get_queryset(self) -> Any:
        return Gallery.objects.filter(slug__in=["g-02", "g-28"])

    sparse = listing("photos__address", limit=ROWS, get_queryset=get_queryset)
    _, read = queries_of(sparse, KeyRange())
    with connection.cursor() as cursor:
        cursor.execute(read)
        assert {row[0] for row in cursor} == {galleries[2].pk, galleries[28].pk}


@pytest.mark.parametrize(
    ("model", "key", "path"),
    [
        (Cafe, "pk", "meal__place__slug"),
        (Annex, "pk", "tags__name"),
        (Theatre, "venue", "tags__name"),
        (Genre, "pk", "genre__slug"),
    ],
)
@pytest.mark.parametrize("is_filtered", [False, True])
def test_keys_that_are_relations_and_rows_of_one_model(model, key, path, is_filtered):
    """Children of parents with tables of their own, and a tree."""
    tree = {"tree_id": 1, "lft": 1, "rght": 2} if model is Genre else {}
    first, second = [model.objects.create(slug=f"{HOST}/{n}", **tree) for n in "ab"]
    if model is Cafe:
        Meal.objects.bulk_create([Meal(place=second) for _ in range(2)])
    elif model is Genre:
        model.objects.create(slug=f"{HOST}/c", parent=second, **tree)
    else:
        second.tags.add(Tag.objects.create(name=f"{HOST}/t"))

    def get_queryset(self) -> Any:
        rows = model.objects.all()
        return rows.filter(slug__gt=first.slug) if is_filtered else rows

    location = Route("book-detail", slug="pk")
    declared = {"model": model, "key": key, "get_queryset": get_queryset}
    found = found_in(*pages_of(listing(path, location=location, **declared)))
    [(listed, images)] = [it for it in found.items() if it[1]]
    assert listed == f"https://example.com/books/{second.pk}/"
    assert len(images) == 1


def test_rows_are_merged_in_any_batches(monkeypatch):
    monkeypatch.setattr(reading, "CHUNK_ROWS", 2)
    monkeypatch.setattr(related, "tuples", partial(tuples, size=3))
    for source in (listing("photos__address"), Method, ByName):
        assert found_in(*pages_of(source)) == by_loop()


def test_a_class_that_orders_rows_where_they_are_fetched_loses_none(monkeypatch):
    """They do not come in the order of their keys, from one batch to the next."""

    class Turned(QuerySet):
        def __iter__(self) -> Any:
            return reversed([*super().__iter__()])

    rows = {"limit": ROWS, "get_queryset": lambda self: Turned(Gallery)}
    monkeypatch.setattr(reading, "CHUNK_ROWS", 4)
    assert found_in(plain(render(type("Source", (Method,), rows)))) == by_loop()


def test_a_row_that_comes_in_between_costs_no_other_its_values(galleries, monkeypatch):
    """Each row is found by its key, whatever the two queries saw."""
    monkeypatch.setattr(reading, "CHUNK_ROWS", 4)
    gone = galleries[5]
    whole = related.related_values

    def without(rows: Any, *given: Any) -> Any:
        return whole(rows, *given).exclude(pk=gone.pk)

    expected = by_loop()
    expected[f"https://example.com/books/{gone.slug}/"] = []
    monkeypatch.setattr(related, "related_values", without)
    assert found_in(*pages_of(listing("photos__address", limit=ROWS))) == expected


class TestRelations:
    @pytest.fixture(autouse=True)
    def relations(self, galleries):
        photos = list(Photo.objects.exclude(address="").order_by("pk"))
        for number, gallery in enumerate(galleries[:12]):
            gallery.favourites.set(photos[number : number + 3])
            for photo in [photos[number], photos[number + 1], photos[number]]:
                Loan.objects.create(gallery=gallery, photo=photo)
            for at in (2, 1):
                Note.objects.create(of=gallery, address=f"{HOST}/n-{number}-{at}")
            Note.objects.create(of=photos[number], address=f"{HOST}/other")
            Cover.objects.create(gallery=gallery, address=f"{HOST}/c-{number}")
            for name in "ab":
                wing = Wing.objects.create(gallery=gallery, name=name)
                position = number % 2 if name == "a" else 0
                for at in (1, 2):
                    where = f"{HOST}/w-{number}-{name}{at}"
                    Photo.objects.create(wing=wing, position=position, address=where)

    @pytest.mark.parametrize("attribute", ["favourites", "loans", "notes"])
    def test_the_values_are_those_of_a_loop(self, attribute):
        source = listing(f"{attribute}__address")
        expected = by_loop(attribute)
        assert sum(map(len, expected.values())) > 20
        assert found_in(*pages_of(source)) == expected

    def test_a_path_over_two_relations_is_ordered_by_its_last(self):
        expected = {}
        for gallery in Gallery.objects.all():
            rows = Photo.objects.filter(wing__gallery=gallery)
            ordered = rows.order_by("position", "pk").values_list("address", flat=True)
            expected[f"https://example.com/books/{gallery.slug}/"] = list(ordered)
        assert found_in(*pages_of(listing("wings__pictures__address"))) == expected

    def test_a_foreign_key_after_it(self):
        wing = Wing.objects.order_by("pk").first()
        Photo.objects.filter(gallery__isnull=False).update(wing=wing)
        some = found_in(*pages_of(listing("loans__wing__gallery__cover__address")))
        assert some["https://example.com/books/g-00/"] == [f"{HOST}/c-0"]

    def test_a_relation_to_one_is_a_column(self):
        source = listing("cover__address", limit=ROWS)
        assert len(queries_of(source, KeyRange())) == 1
        [page] = pages_of(source)
        assert found_in(page)["https://example.com/books/g-01/"] == [f"{HOST}/c-1"]

    def test_the_far_side_of_many_to_many(self):
        location = Route("book-detail", slug="pk")
        source = listing(F("fans__notes__address"), model=Photo, location=location)
        photo = Photo.objects.filter(fans__isnull=False).order_by("pk").first()
        notes = Note.objects.filter(
            content_type=ContentType.objects.get_for_model(Gallery),
            object_id__in=photo.fans.values("pk"),
        )
        expected = list(notes.order_by("pk").values_list("address", flat=True))
        page = found_in(*pages_of(source))
        assert page[f"https://example.com/books/{photo.pk}/"] == expected


class TestFields:
    def test_files_are_where_their_storage_has_them(self, settings, galleries):
        settings.MEDIA_URL = "/media/"
        for gallery, name in zip(galleries[1:3], ("a b.jpg", ""), strict=True):
            Photo.objects.filter(gallery=gallery).update(image=name)
        page = found_in(*pages_of(listing("photos__image")))
        assert [page[f"https://example.com/books/g-0{it}/"] for it in (1, 2)] == [
            ["https://example.com/media/a%20b.jpg"],
            [],
        ]

    def test_videos_and_images_of_one_row_take_a_query_each(self, galleries):
        films = [f"{HOST}/v-{at}.mp4" for at in (2, 1)]
        for film in films:
            Photo.objects.create(gallery=galleries[0], film=film)
        source = listing("photos__address", videos="photos__film", limit=ROWS)
        videos = found_in(*pages_of(source), tag=VIDEO)
        assert videos["https://example.com/books/g-00/"] == films
        assert found_in(*pages_of(source)) == by_loop()
        assert len(queries_of(source, KeyRange())) == 3

    @pytest.mark.parametrize(
        ("given", "expected"),
        [
            (["de", f"{HOST}/de"], ["de"]),
            ([["de", f"{HOST}/de"], ["fr", f"{HOST}/fr"]], ["de", "fr"]),
            ([["de", f"{HOST}/de"], ["fr"]], ["de"]),
            ([], []),
            (None, []),
        ],
    )
    def test_alternates_are_one_or_several_a_row(self, galleries, given, expected):
        Photo.objects.all().delete()
        for version in (given, ["it", f"{HOST}/it"]):
            Photo.objects.create(gallery=galleries[0], versions=version)
        page = render(listing("photos__versions", "alternates", limit=ROWS))
        links = parse(plain(page), "urlset")[0].iter(LINK)
        assert [link.get("hreflang") for link in links] == [*expected, "it"]
        assert page.tally.dropped == (given == [["de", f"{HOST}/de"], ["fr"]])

    def test_a_bad_value_is_left_out_and_the_others_stay(self, galleries):
        Photo.objects.create(gallery=galleries[3], position=-5, address="not a URL")
        page = render(listing("photos__address", limit=ROWS))
        assert page.tally.dropped == 1
        assert "without an image" in page.tally.problems[0]
        expected = by_loop()
        expected["https://example.com/books/g-03/"] = []
        assert found_in(plain(page)) == expected

    def test_an_entry_has_a_thousand_at_most(self, galleries):
        urls = [f"{HOST}/{at}.jpg" for at in range(1_002)]
        photos = [
            Photo(gallery=galleries[0], position=at, address=url)
            for at, url in enumerate(urls)
        ]
        Photo.objects.bulk_create(photos)
        page = render(listing("photos__address", limit=ROWS))
        found = found_in(plain(page))["https://example.com/books/g-00/"]
        assert found == urls[:1_000]
        assert page.tally.dropped == 1


def test_versions_of_a_row_have_the_same_images():
    class Source(GallerySource):
        languages = ["en", "de"]
        location = Route("book-detail", slug="slug_{language}")
        images = "photos__address"

        def get_queryset(self) -> Any:
            slugs = {"slug_en": F("slug"), "slug_de": Coalesce("slug", Value("x"))}
            return super().get_queryset().annotate(**slugs)

    urls = chain(*[parse(page, "urlset") for page in pages_of(Source)])
    found = [(url[0].text, [it.text for it in url.iter(IMAGE)]) for url in urls]
    assert len(found) == 2 * ROWS
    expected = by_loop()
    assert all(images == expected[loc] for loc, images in found)


def test_a_row_alone_has_them_too(sections, galleries):
    sections.register("galleries", listing("photos__address"))
    row, other = galleries[2], galleries[4]
    with surroundings(SITE):
        reader = reader_of(sections.get("galleries"))
        lines = dict(reader.lines_by_key([other.pk, row.pk], Tally("galleries")))
    assert re.findall("image:loc>([^<]+)", lines[str(row.pk)]) == [
        f"{HOST}/2-{at}.jpg" for at in (2, 1, 0)
    ]
    assert lines[str(other.pk)].count("<image:loc>") == 2
    [lead] = explain_object(row, SITE).rows
    assert lead.lines == lines[str(row.pk)]
    shown, _ = preview("galleries", 1, 3, SITE)
    assert shown[2] == lines[str(row.pk)].strip()


def test_a_live_page_takes_one_query_more_for_each_path(sections, client):
    sections.register("galleries", listing("photos__address", videos="photos__film"))
    client.get("/sitemap-galleries-1.xml")
    with CaptureQueriesContext(connection) as queries:
        client.get("/sitemap-galleries-2.xml")
    assert len(without_savepoints(queries)) <= 4 + 2


ADDRESSES = Photo.objects.filter(gallery=OuterRef("pk")).values("address")


class TestChecks:
    """E036: what would list a row once for each of its related ones."""

    @pytest.mark.parametrize(
        "declared",
        [
            {"lastmod": "photos__taken"},
            {"lastmod": F("photos__taken")},
            {"lastmod": Coalesce("photos__taken", "updated_at")},
            {"priority": "favourites__position"},
            {"priority": "favourites"},
            {"location": Route("book-detail", slug="wings")},
            {"priority": Count("wings") + F("photos__position")},
            {"priority": "notes__object_id"},
            {"changefreq": "wings__name"},
            {"location": "photos__address"},
            {"location": Route("book-detail", slug="wings__name")},
            {"location": Route("book-detail", slug=F("loans__caption"))},
            {"images": Coalesce("photos__address", Value("/x.png"))},
            {"news": "photos__caption"},
            {"get_languages": "photos__versions", "languages": ["en"]},
        ],
    )
    def test_it_is_an_error_and_is_never_rendered(self, declared, sections):
        """The hint for a time says what to write."""
        sections.register("galleries", type("Wrong", (GallerySource,), declared))
        [message] = [it for it in check_sources() if it.is_serious()]
        assert message.id == "sitemaps_plus.E036"
        assert message.hint
        if declared.get("lastmod") == "photos__taken":
            assert "lastmod = Max('photos__taken')" in message.hint
        with pytest.raises(SourceError, match="leads to many rows"):
            render(sections.get("galleries"))

    @pytest.mark.parametrize("is_built", [False, True])
    @pytest.mark.parametrize(
        "condition", [Q(photos__position=0), Q(photos__position__lte=0)]
    )
    def test_a_filtered_relation_lists_each_row(
        self, client, crawl, sections, condition, is_built
    ):
        """In the first crawl, whether one related row is left of it or several."""
        Photo.objects.filter(position__lte=0).update(taken=START)

        class Source(GallerySource):
            lastmod = "first__taken"

            def get_queryset(self) -> Any:
                first = FilteredRelation("photos", condition=condition)
                return super().get_queryset().alias(first=first)

        sections.register("galleries", Source)
        assert "sitemaps_plus.W032" in [it.id for it in check_sources()]
        if is_built:
            build_fully()
        pages = [read_urlset(client.get(path).content) for path in crawl()]
        assert len(pages) == 3 or is_built
        listed = sorted(chain(*pages), key=lambda it: it.loc)
        dated = [bool(it.lastmod) for it in listed]
        assert dated == [number % 3 > 0 for number in range(ROWS)]

    def test_what_it_says_works(self, galleries, client, served, sections):
        galleries[1].photos.update(taken=START)
        source = listing(Max("photos__taken"), "lastmod", images="photos__address")
        sections.register("galleries", source)
        assert check_sources() == []
        assert served() == by_loop()
        assert client.get("/sitemap-galleries-1.xml").content.count(b"<lastmod>") == 1

    @pytest.mark.parametrize(
        "declared",
        [
            {"images": "photos__address", "videos": "photos__film"},
            {"images": F("loans__image"), "alternates": "photos__versions"},
            {"images": "cover__address"},
            {"images": "notes__address", "priority": Count("photos") * 0.0 + 0.5},
            {"images": Subquery(ADDRESSES[:1])},
        ],
    )
    def test_it_is_fine(self, sections, declared):
        sections.register("galleries", type("Right", (GallerySource,), declared))
        assert [it.id for it in check_sources() if it.id != "sitemaps_plus.W009"] == []

    def test_a_relation_that_the_queryset_joins_itself_is_its_own(self, sections):
        """As of translations, one of which is chosen."""

        def get_queryset(self) -> Any:
            return Gallery.objects.filter(Q(wings__name="b"))

        Wing.objects.create(gallery=Gallery.objects.first(), name="b")
        location = Route("book-detail", slug="wings__name")
        source = listing(None, location=location, get_queryset=get_queryset)
        sections.register("galleries", source)
        assert [it.id for it in check_sources()] == ["sitemaps_plus.W032"]
        assert render(source).tally.entries == 1
