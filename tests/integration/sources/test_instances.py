"""Instances that are made quickly are those that Django makes."""

from __future__ import annotations

from typing import Any

import pytest
from django.db.models import (
    F,
    ImageField,
    IntegerField,
    Model,
    QuerySet,
    SlugField,
    Value,
)
from django.db.models.functions import Upper
from django.db.models.signals import post_init
from django.test.utils import isolate_apps

from django_sitemaps_plus.sources.querysets import quickly_made
from tests.support.shop import make_products
from tests.support.testapp.models import Author, Book, Product
from tests.support.testapp.more_models import Annex, Cafe, Painting, PlaceProxy, Post

pytestmark = pytest.mark.database


@pytest.fixture(autouse=True)
def rows():
    """Rows with each kind of column that the models have."""
    make_products(3)
    Cafe.objects.create(slug="cafe", seats=4)
    Annex.objects.create(slug="annex")
    Painting.objects.create(slug="a", photo="a.jpg")
    Painting.objects.create(slug="b", photo=None)
    Post.objects.create(slug="post")
    book = Book.objects.create(author=Author.objects.create(name="Ann"), slug="book")
    book.tags.create(name="tag")


def state(instance: Model) -> dict[str, Any]:
    known = vars(instance)
    names = ("db", "adding", "fields_cache", "fetch_mode")
    return known | {"_state": [getattr(known["_state"], it, None) for it in names]}


def both(queryset: QuerySet[Any]) -> tuple[list[Any], list[Any]]:
    """Return the instances as they are made quickly, and as Django makes them."""
    queryset = queryset.order_by("pk")
    return list(quickly_made(queryset).iterator(2)), list(queryset.iterator(2))


def is_quick(queryset: QuerySet[Any]) -> bool:
    return quickly_made(queryset)._iterable_class is not queryset._iterable_class


@pytest.mark.parametrize(
    "queryset",
    [
        Product.objects.all(),
        Product.objects.only("slug"),
        Product.objects.defer("updated_at", "name"),
        Product.objects.annotate(a=Upper("slug"), b=F("updated_at")).only("name"),
        Product.objects.annotate(a=Value(1)).distinct(),
        Product.objects.extra(select={"c": "1 + 1"}),
        Product.objects.none(),
        Cafe.objects.all(),
        Annex.objects.all(),
        PlaceProxy.objects.all(),
        Painting.objects.all(),
        Post.objects.all(),
        Book.objects.all(),
    ],
    ids=lambda queryset: queryset.model.__name__,
)
def test_they_are_equal(queryset):
    quick, usual = both(queryset)
    assert is_quick(queryset)
    assert [(type(it), state(it)) for it in quick] == [
        (type(it), state(it)) for it in usual
    ]


@isolate_apps("tests.support.testapp")
def test_models_with_images():
    """An image without columns of its own for width and height is a file."""

    class Picture(Model):
        slug = SlugField()
        photo = ImageField(null=True)

        class Meta:
            app_label = "testapp"
            db_table = Painting._meta.db_table

        def __str__(self):
            return self.slug

    quick, usual = both(Picture.objects.all())
    assert is_quick(Picture.objects.all())
    assert [state(it) for it in quick] == [state(it) for it in usual]
    assert [it.photo.name for it in quick] == ["a.jpg", ""]

    class Measured(Picture):
        width = IntegerField()
        other = ImageField(width_field="width")

        class Meta:
            app_label = "testapp"

    assert not is_quick(Measured.objects.all())


def test_what_is_deferred_can_be_read():
    quick, usual = both(Product.objects.only("slug"))
    assert [it.name for it in quick] == [it.name for it in usual]


@pytest.mark.parametrize(
    ("queryset", "quick", "queries"),
    [
        (Book.objects.prefetch_related("tags"), True, 2),
        (Book.objects.select_related("author"), False, 2),
    ],
    ids=["prefetched", "selected"],
)
def test_related_rows_are_there(queryset, quick, queries, django_assert_num_queries):
    assert is_quick(queryset) is quick
    with django_assert_num_queries(queries):
        (book,) = quickly_made(queryset).iterator(500)
        assert [tag.name for tag in book.tags.all()] == ["tag"]
        assert quick or book.author.name == "Ann"


def test_rows_of_an_object_know_it(django_assert_num_queries):
    author = Author.objects.get()
    (book,) = quickly_made(author.book_set.all()).iterator(500)
    assert book.author is author


def proxy(bases: tuple[type, ...] = (), **attributes: Any) -> Any:
    """Return a proxy of Product with code of its own."""
    meta = type("Meta", (), {"proxy": True, "app_label": "testapp"})
    own = {"__module__": __name__, "Meta": meta, **attributes}
    return type("Own", (Product, *bases), own)


class TestOwnCode:
    """Code of the project that takes part in making an instance runs."""

    @isolate_apps("tests.support.testapp")
    @pytest.mark.parametrize("name", ["__init__", "__new__", "__setattr__", "from_db"])
    def test_a_method(self, name):
        quick, _ = both(proxy(**{name: vars(OwnWay)[name]}).objects.all())
        assert {it.is_marked for it in quick} == {True}

    @isolate_apps("tests.support.testapp")
    def test_a_method_of_a_class_behind_the_model(self):
        """``Model.__init__()`` calls it."""
        quick, _ = both(proxy(bases=(Behind,)).objects.all())
        assert {it.is_marked for it in quick} == {True}

    @isolate_apps("tests.support.testapp")
    def test_an_attribute_in_the_place_of_a_fields(self):
        name = property(
            lambda self: self.kept, lambda self, value: setattr(self, "kept", "x")
        )
        quick, _ = both(proxy(name=name).objects.all())
        assert {it.name for it in quick} == {"x"}

    def test_a_receiver(self):
        seen = []

        def note(instance, **kwargs):
            seen.append(instance.slug)

        post_init.connect(note, sender=Product)
        try:
            list(quickly_made(Product.objects.all()).iterator(500))
        finally:
            post_init.disconnect(note, sender=Product)
        assert len(seen) == 3

    def test_a_queryset_that_yields_something_else(self):
        names = Product.objects.order_by("pk").values_list("name", flat=True)
        assert list(quickly_made(names).iterator(500)) == list(names)


class OwnWay:
    """Each way to take part, which leaves a mark."""

    def __init__(self, *args, **kwargs):
        super(Product, self).__init__(*args, **kwargs)
        self.__dict__["is_marked"] = True

    def __new__(cls, *args, **kwargs):
        made = object.__new__(cls)
        made.__dict__["is_marked"] = True
        return made

    def __setattr__(self, name, value):
        object.__setattr__(self, name, value)
        self.__dict__["is_marked"] = True

    @classmethod
    def from_db(cls, *args, **kwargs):
        made = super(Product, cls).from_db(*args, **kwargs)
        made.is_marked = True
        return made


class Behind:
    """A class whose ``__init__()`` comes after that of ``Model``."""

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self.is_marked = True
