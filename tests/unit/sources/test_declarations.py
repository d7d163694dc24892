"""What a source's attributes declare."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from django.core.exceptions import FieldDoesNotExist
from django.db.models import F, Value
from django.db.models.functions import Concat

from django_sitemaps_plus.sources.declarations import (
    Columns,
    constant,
    find_field,
    is_expression,
    is_method,
    is_path,
    path_field,
    route_getter,
)
from django_sitemaps_plus.sources.route import CompiledRoute, Route
from tests.support.testapp.models import Author, Book, Label, Product


class TestKinds:
    @pytest.mark.parametrize("value", [F("slug"), Concat(Value("/"), "slug"), Value(1)])
    def test_expressions(self, value):
        """Anything that Django can resolve in a query."""
        assert is_expression(value)
        assert not is_method(value)

    @pytest.mark.parametrize("value", [len, lambda obj: obj, SimpleNamespace])
    def test_methods(self, value):
        """Code that takes the object."""
        assert is_method(value)
        assert not is_expression(value)

    @pytest.mark.parametrize("value", [Route("x", a="b"), "slug", 0.5, None, [1]])
    def test_neither(self, value):
        """Routes, paths and constants."""
        assert not is_method(value)
        assert not is_expression(value)

    def test_a_text_is_a_field_path(self):
        """Of any field."""
        assert is_path("location", "path")
        assert is_path("lastmod", "updated_at")
        assert is_path("priority", "0.5")

    def test_a_word_of_the_protocol_is_a_constant_changefreq(self):
        """Other text names a column there too."""
        assert not is_path("changefreq", "daily")
        assert is_path("changefreq", "frequency")
        assert is_path("lastmod", "daily")

    @pytest.mark.parametrize("value", [0.5, None, F("x"), Route("x")])
    def test_what_is_no_text_is_no_path(self, value):
        """Whatever it is."""
        assert not is_path("priority", value)


class TestFields:
    @pytest.mark.parametrize(
        ("path", "field"),
        [
            ("slug", Book._meta.get_field("slug")),
            ("pk", Book._meta.get_field("id")),
            ("author__name", Author._meta.get_field("name")),
            ("author__pk", Author._meta.get_field("id")),
            ("author_id", Book._meta.get_field("author")),
        ],
    )
    def test_the_field_at_a_path_is_found(self, path, field):
        """Across relations too."""
        assert path_field(Book, path) is field
        assert find_field(Book, path) is field

    @pytest.mark.parametrize(("model", "path"), [(Book, "slug__length")])
    def test_a_lookup_has_no_field(self, model, path):
        """A transform of a column is another thing."""
        assert path_field(model, path) is None

    def test_a_name_that_is_missing_is_an_error_or_nothing(self):
        """A check wants to know, a query may have an annotation of that name."""
        with pytest.raises(FieldDoesNotExist):
            path_field(Product, "nothing")
        with pytest.raises(FieldDoesNotExist):
            path_field(Book, "nothing__name")
        assert find_field(Product, "nothing") is None

    def test_the_key_of_another_name_is_found(self):
        """``pk`` is a name for it."""
        assert find_field(Label, "pk") is Label._meta.get_field("code")


class TestColumns:
    def test_tuples_are_read_by_position(self):
        """In the order in which columns were asked for."""
        columns = Columns(of_instances=False)
        first, second = columns.add("slug"), columns.add(Value(5))
        assert columns.expressions == [F("slug"), Value(5)]
        assert (first(("a", "b")), second(("a", "b"))) == ("a", "b")

    def test_instances_are_read_by_alias(self):
        """Under names that no field of a model has."""
        columns = Columns(of_instances=True)
        first, second = columns.add("slug"), columns.add("updated_at")
        aliases = columns.aliases()
        assert list(aliases.values()) == [F("slug"), F("updated_at")]
        row = SimpleNamespace(**dict(zip(aliases, ("a", "b"), strict=True)))
        assert (first(row), second(row)) == ("a", "b")

    def test_the_same_path_may_be_asked_for_twice(self):
        """Each asker has a column of its own."""
        columns = Columns(of_instances=True)
        columns.add("slug")
        columns.add("slug")
        assert len(columns.aliases()) == 2


class TestGetters:
    def test_a_constant_is_the_same_for_every_row(self):
        """Also where it is None."""
        assert constant(5)(None) == 5
        assert constant(None)(("a",)) is None

    def test_a_route_gets_its_values_in_its_own_order(self):
        """Wherever they stand in the row."""
        route = CompiledRoute("product-detail", ["slug"])
        getter = route_getter(route, [lambda row: row[1]])
        assert getter(("x", "shoe")) == "/products/shoe/"

    def test_a_row_without_a_value_has_no_url(self):
        """``reverse()`` would write the word None into it."""
        route = CompiledRoute("label-detail", ["code"])
        getter = route_getter(route, [lambda row: row[0]])
        with pytest.raises(ValueError, match="code of its URL is None"):
            getter((None,))
