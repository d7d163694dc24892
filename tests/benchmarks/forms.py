"""The forms that sources have, each beside contrib's class for the same entries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.contrib.sitemaps import Sitemap
from django.db.models import QuerySet, TextField, Value
from django.db.models.functions import Concat
from django.urls import reverse

from django_sitemaps_plus import ModelSource, Route
from tests.support.testapp.models import Gallery, Product

from .sources import FULL_PAGE, FullDeclaredSource, FullMethodSource, ProductSitemap

#: Rows of the class that is registered as it is, and of the one in four languages.
CLASS_ROWS, I18N_ROWS = 10_000, 6_250
LANGUAGES = ("en-us", "de", "fr", "es")
_IMAGES = "https://img.example/"


class WordsSource(FullDeclaredSource):
    """Names of places in five languages."""

    location = Route("named", name="name")


class GreekSource(FullDeclaredSource):
    """Names of places in Greek."""

    location = Route("named", name="frequency")


class PrioritySource(FullDeclaredSource):
    """A priority from a column."""

    priority = "popularity"


class ImageSource(FullDeclaredSource):
    """An image of each row."""

    images = Concat(Value(_IMAGES), "slug", Value(".jpg"), output_field=TextField())


class PathSource(FullDeclaredSource):
    """A location by a method."""

    def get_queryset(self) -> QuerySet[Any]:
        """Load what the method needs, as contrib's sitemap does."""
        return super().get_queryset().only("slug")

    def location(self, obj: Product) -> str:  # type: ignore[override]
        """Return the path of a product."""
        return f"/products/{obj.slug}/"


class UrlSource(FullMethodSource):
    """The usual model: its own method says where it is."""

    location = None  # type: ignore[assignment]  # of a class with a method


class LanguagesSource(FullDeclaredSource):
    """Four languages with alternates."""

    languages = LANGUAGES
    x_default = True
    location = Route("item", slug="slug")

    def get_queryset(self) -> QuerySet[Any]:
        """Return the first rows."""
        return super().get_queryset().filter(pk__lte=I18N_ROWS)


class OneImageSource(ModelSource):
    """An image of each row, in pages of the usual size."""

    model = Gallery
    location = Route("product-detail", slug="slug")
    lastmod = "updated_at"
    images: Any = Concat(
        Value(_IMAGES), "slug", Value(".jpg"), output_field=TextField()
    )


class ManyImagesSource(OneImageSource):
    """Three images of each row, which are rows of their own."""

    images = "photos__address"


class WordsSitemap(ProductSitemap):
    """Names of places in five languages."""

    def items(self) -> QuerySet[Product]:
        """Return the products with what is needed."""
        return Product.objects.order_by("pk").only("name", "updated_at")

    def location(self, item: Product) -> str:
        """Return the path of a name."""
        return reverse("named", kwargs={"name": item.name})


class GreekSitemap(ProductSitemap):
    """Names of places in Greek."""

    def items(self) -> QuerySet[Product]:
        """Return the products with what is needed."""
        return Product.objects.order_by("pk").only("frequency", "updated_at")

    def location(self, item: Product) -> str:
        """Return the path of a name."""
        return reverse("named", kwargs={"name": item.frequency})


class PrioritySitemap(ProductSitemap):
    """A priority from a column."""

    def items(self) -> QuerySet[Product]:
        """Return the products with what is needed."""
        return super().items().only("slug", "updated_at", "popularity")

    def priority(self, item: Product) -> float | None:
        """Return the priority of a product."""
        return item.popularity


class ImageSitemap(ProductSitemap):
    """An image of each row, written by a template of its own."""

    def get_urls(self, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        """Return the entries with their images."""
        urls: list[dict[str, Any]] = super().get_urls(*args, **kwargs)
        for url in urls:
            url["image"] = f"{_IMAGES}{url['item'].slug}.jpg"
        return urls


class PathSitemap(ProductSitemap):
    """A location by a method."""

    def location(self, item: Product) -> str:
        """Return the path of a product."""
        return f"/products/{item.slug}/"


class ClassSitemap(ProductSitemap):
    """The class that is registered as it is."""

    limit = CLASS_ROWS


class I18nSitemap(ProductSitemap):
    """Four languages with alternates."""

    i18n = True
    alternates = True
    x_default = True
    languages = list(LANGUAGES)

    def items(self) -> QuerySet[Product]:
        """Return the first products."""
        return super().items().filter(pk__lte=I18N_ROWS)

    def location(self, item: Product) -> str:
        """Return the path of a product in the language in force."""
        return reverse("item", kwargs={"slug": item.slug})


@dataclass(frozen=True, slots=True)
class Form:
    """One form of a source.

    Attributes:
        title: what it is.
        entries: on the page that is compared.
        sitemap: contrib's class.
        sources: ours, whose first pages have the same entries together.
        aim: times faster than contrib; 0 for none.
        loops: at most so many times the bare loop; 0 for none.
    """

    title: str
    entries: int
    sitemap: type[Sitemap[Any]]
    sources: Sequence[Any]
    aim: float
    loops: float = 0


_I18N_ENTRIES = I18N_ROWS * len(LANGUAGES)

#: By the name in their URLs.
FORMS = {
    "plain": Form("Route", FULL_PAGE, ProductSitemap, [FullDeclaredSource], 50, 1.6),
    "words": Form(
        "Route, five languages", FULL_PAGE, WordsSitemap, [WordsSource], 45, 1.8
    ),
    "greek": Form("Route, Greek", FULL_PAGE, GreekSitemap, [GreekSource], 35, 2.8),
    "priority": Form("priority", FULL_PAGE, PrioritySitemap, [PrioritySource], 45, 2.1),
    "image": Form("an image a row", FULL_PAGE, ImageSitemap, [ImageSource], 35, 2.4),
    "method": Form("location()", FULL_PAGE, PathSitemap, [PathSource], 8),
    "url": Form("get_absolute_url()", FULL_PAGE, ProductSitemap, [UrlSource], 5.5),
    "class": Form("contrib class", CLASS_ROWS, ClassSitemap, [ClassSitemap], 5),
    "i18n": Form(
        "contrib class, alternates", _I18N_ENTRIES, I18nSitemap, [I18nSitemap], 8
    ),
    "languages": Form(
        "Route, four languages", _I18N_ENTRIES, I18nSitemap, [LanguagesSource], 30
    ),
}
