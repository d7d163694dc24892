"""A save of columns that no page depends on writes nothing; any doubt counts."""

from __future__ import annotations

import pytest
from django.db.models import (
    Case,
    Exists,
    F,
    FilteredRelation,
    OuterRef,
    Q,
    Subquery,
    Value,
    When,
)
from django.db.models.expressions import RawSQL
from django.db.models.functions import Lower

from django_sitemaps_plus import Route
from django_sitemaps_plus.tracking import recording
from tests.support.joins import joined
from tests.support.shop import ProductSource
from tests.support.testapp.models import (
    Author,
    Book,
    Country,
    Painting,
    Post,
    Product,
    Reprint,
)

from .rows import (
    BookSource,
    keys,
    like,
    make_books,
    make_product,
    recorded,
    times,
)

POSTS = {"model": Post, "location": Route("book-detail", slug="pk")}

SOME_BOOK = Book.objects.filter(slug=OuterRef("slug"))


def rows(change):
    return {"get_queryset": lambda self: change(Product.objects.all())}


def method(self, obj):
    return obj.popularity


# What a source says, the columns that count then, and one that does not.
TOLD = {
    "declared": ({}, "slug updated_at", "popularity"),
    "order": (rows(lambda p: p.order_by("name")), "slug", "name"),  # keys decide it
    "path": ({"priority": "popularity"}, "popularity slug", "name"),
    "F": ({"priority": F("popularity")}, "popularity", "name"),
    "case of Q": (
        {
            "priority": Case(
                When(Q(popularity__gt=5) | ~Q(name="x"), then=Value(0.9)),
                default=Value(0.1),
            )
        },
        "popularity name",
        "created_on",
    ),
    "route": (
        {"location": Route("product-detail", slug=Lower("name"))},
        "name",
        "slug",
    ),
    "filter": (rows(lambda p: p.filter(published=True)), "published", "name"),
    "F in a filter": (
        rows(lambda p: p.filter(updated_at__gt=F("created_on"))),
        "created_on",
        "name",
    ),
    "transform": (
        rows(lambda p: p.filter(created_on__year=2026)),
        "created_on",
        "name",
    ),
    "annotation": (
        {"priority": "score", **rows(lambda p: p.annotate(score=F("popularity")))},
        "popularity",
        "name",
    ),
    "alias": (
        rows(lambda p: p.alias(x=Lower("frequency")).filter(x="daily")),
        "frequency",
        "name",
    ),
}

# What cannot be told counts as a whole.
UNTOLD = {
    "method": {"priority": method},
    "no location": {"location": None},
    "Exists": rows(lambda p: p.filter(Exists(SOME_BOOK))),
    "Subquery": rows(
        lambda p: p.annotate(x=Subquery(SOME_BOOK.values("slug"))).filter(x=None)
    ),
    "RawSQL": rows(lambda p: p.annotate(x=RawSQL("popularity", ())).filter(x=None)),
    "extra": rows(lambda p: p.extra(where=["popularity IS NULL"])),
    "declared Exists": {"priority": Case(When(Exists(SOME_BOOK), then=0.9))},
    "declared RawSQL": {"priority": RawSQL("popularity", ())},
    "fails": rows(lambda p: p.filter(no_such_column=1)),
    "join of others": rows(joined),
}


@pytest.fixture
def planned(sections, monkeypatch):
    """Register a source as if it had a plan, whether it can be built or not."""
    monkeypatch.setattr(recording, "is_read", lambda section, using: True)

    def planned(source=ProductSource, name="products", **attributes):
        sections.register(name, like(source, **attributes))

    return planned


@pytest.mark.parametrize("name", TOLD)
def test_a_column_that_is_named_counts_and_another_does_not(planned, name):
    attributes, counting, other = TOLD[name]
    product = make_product("one")
    planned(**attributes)
    product.save(update_fields=[other])
    assert recorded() == []
    for column in counting.split():
        product.save(update_fields=[column])
    assert recorded() == keys(product) * len(counting.split())


@pytest.mark.parametrize("name", UNTOLD)
def test_every_column_counts_where_nobody_can_tell(planned, name):
    """A method may read anything, and so may SQL that we do not see into."""
    product = make_product("one")
    planned(**UNTOLD[name])
    product.save(update_fields=["popularity"])
    assert recorded() == keys(product)


LIVE = Case(When(is_live=True, then=Value(0.9)), default=Value(0.1))


@pytest.mark.parametrize(
    "declared",
    [
        {"get_queryset": lambda self: Post.objects.filter(is_live=True)},
        {"get_queryset": lambda self: Post.objects.alias(x=F("is_live")).filter(x=1)},
        {"priority": LIVE},
    ],
    ids=["filter", "alias", "declared"],
)
def test_what_a_generated_column_is_computed_from_counts(planned, declared):
    """A save names these alone, and no other column for it."""
    planned(BookSource, **POSTS | declared)
    post = Post.objects.bulk_create([Post(slug="one")])[0]
    post.save(update_fields=["visits"])
    assert recorded() == []
    post.save(update_fields=["published_at"])
    assert recorded() == keys(post)


def test_a_generated_column_behind_a_relation(planned):
    """It is the other model's save that counts then."""
    planned(
        BookSource, **POSTS | {"model": Country, "priority": times("post__is_live")}
    )
    post = Post.objects.bulk_create([Post(slug="one")])[0]
    post.save(update_fields=["visits"])
    assert recorded() == []
    post.save(update_fields=["published_at"])
    assert [row[:2] for row in recorded()] == [("related", str(post.pk))]


def test_the_condition_of_a_filtered_relation_counts(planned):
    """A column there stands nowhere else in the query, until a path crosses it."""
    author = FilteredRelation("author", condition=Q(author__name=F("slug")))
    planned(
        BookSource,
        location=Route("book-detail", slug="pk"),
        lastmod="writer__updated_at",
        get_queryset=lambda self: Book.objects.alias(writer=author),
    )
    [book] = make_books(Author.objects.create(name="a"), 1)
    before = recorded()
    book.save(update_fields=["slug"])
    assert recorded() == before + keys(book)


def test_a_file_that_is_the_image_counts(planned):
    """A save of it alone is recorded, for its row and for those that refer to it."""
    planned(BookSource, "paintings", model=Painting, images="photo")
    planned(BookSource, "reprints", model=Reprint, images="painting__photo")
    painting = Painting.objects.bulk_create([Painting(slug="one")])[0]
    painting.save(update_fields=["slug"])
    assert recorded() == keys(painting)
    painting.save(update_fields=["photo"])
    assert [row[:2] for row in recorded()[1:]] == [
        ("key", str(painting.pk)),
        ("related", str(painting.pk)),
    ]


def test_where_the_queryset_joins_every_column_counts(planned):
    """The one that points to the other row decides whether its own is listed."""
    [book] = make_books(Author.objects.create(name="x"), 1)
    joins = {"get_queryset": lambda self: Book.objects.filter(author__name="x")}
    planned(BookSource, **joins)
    book.save(update_fields=["author"])
    assert recorded() == keys(book)
