"""Contrib sitemaps of every kind that projects have."""

from datetime import datetime
from typing import Any

from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.core.paginator import Paginator
from django.urls import reverse

from tests.support.testapp.models import Product


class Plain(Sitemap):
    """The example of Django's documentation."""

    changefreq = "never"
    priority = 0.5

    def items(self) -> Any:
        return Product.objects.filter(published=True)

    def lastmod(self, obj: Product) -> Any:
        return obj.updated_at


class Ordered(Plain):
    changefreq = None
    priority = None
    lastmod = None

    def items(self) -> Any:
        return Product.objects.order_by("popularity", "slug").reverse()

    def location(self, item: Product) -> str:
        return f"/elsewhere/{item.slug}"


class Deferred(Plain):
    def items(self) -> Any:
        return Product.objects.only("slug", "updated_at").order_by("slug").distinct()


class Methods(Plain):
    def changefreq(self, item: Product) -> str | None:  # type: ignore[override]
        return "daily" if item.slug.endswith("2") else None

    def priority(self, item: Product) -> float | None:  # type: ignore[override]
        """Return None for some; contrib writes no empty element for them."""
        return None if item.slug.endswith("3") else 0.25


class Remembering(Plain):
    """Keeps what the location was, for the methods that contrib asks after it."""

    def location(self, item: Product) -> str:
        self.current = item
        return f"/{item.slug}"

    def lastmod(self, obj: Product) -> Any:
        return self.current.updated_at


class DatesWithoutTime(Plain):
    def lastmod(self, obj: Product) -> Any:
        return obj.created_on


class ConstantLastmod(Plain):
    """A lastmod that is no method, in the time zone of the settings."""

    lastmod = datetime.fromisoformat("2026-07-01T12:00:00")


class OfList(Plain):
    def items(self) -> Any:
        return list(Product.objects.order_by("slug"))


class OfNames(Sitemap):
    def items(self) -> Any:
        return ("home", "about", "contact")

    def location(self, item: str) -> str:
        return reverse(item)


class OfValues(Sitemap):
    def items(self) -> Any:
        return Product.objects.order_by("slug").values("slug", "updated_at")

    def location(self, item: dict[str, Any]) -> str:
        return f"/values/{item['slug']}/"

    def lastmod(self, item: dict[str, Any]) -> Any:
        return item["updated_at"]


class OfUnion(Plain):
    def items(self) -> Any:
        low = Product.objects.order_by().filter(slug__lt="product-00003")
        high = Product.objects.order_by().filter(slug__gte="product-00003")
        return low.union(high).order_by("slug")


class Sliced(Plain):
    def items(self) -> Any:
        return Product.objects.order_by("-slug")[:5]


class DistinctOnFields(Plain):
    """One product of each frequency; PostgreSQL alone can do that."""

    def items(self) -> Any:
        return Product.objects.order_by("frequency", "slug").distinct("frequency")


class OwnLimit(Plain):
    limit = 2


class Http(Plain):
    protocol = "http"


class OwnUrls(OfList):
    """Adds to what contrib makes of an item."""

    limit = 3

    def get_urls(self, page: Any = 1, site: Any = None, protocol: Any = None) -> Any:
        urls = super().get_urls(page, site, protocol)
        urls[0]["location"] += "?first"
        return urls


class OwnPrivateUrls(OfList):
    """The same one step lower."""

    limit = 3

    def _urls(self, page: Any, protocol: str, domain: str) -> Any:
        urls = super()._urls(page, protocol, domain)
        return [url for url in urls if not url["location"].endswith("4/")]


class OwnPaginator(OfList):
    @property
    def paginator(self) -> Any:  # type: ignore[override]
        return Paginator(self._items(), 4, orphans=1)


class OwnPrivateItems(Plain):
    def _items(self) -> Any:
        return list(super()._items())[1:]


class InLanguages(Plain):
    i18n = True


class WithAlternates(InLanguages):
    """The languages name each other."""

    alternates = True
    limit = 4


class WithDefault(WithAlternates):
    """And say which one is for everybody else."""

    x_default = True
    languages = ("en-us", "de")


class LanguagesOfItems(WithDefault):
    """Not every item is there in every language."""

    languages = ("en-us", "de", "fr")
    limit = 6

    def get_languages_for_item(self, item: Product) -> list[str]:
        return ["de", "en-us", "fr"][: int(item.slug[-1]) % 3 + 1]


class ListInLanguages(WithDefault):
    def items(self) -> Any:
        return list(Product.objects.order_by("slug"))


def generic(**arguments: Any) -> Any:
    """Return an instance of contrib's own sitemap of a queryset."""
    information = {"queryset": Product.objects.all(), "date_field": "updated_at"}
    return GenericSitemap(information, **arguments)


#: Paged by the key of the rows.
BY_KEY = [
    *(Plain, Plain(), Ordered, Deferred, Methods, Remembering, DatesWithoutTime),
    *(ConstantLastmod, OwnLimit, Http, InLanguages, WithAlternates, WithDefault),
    *(LanguagesOfItems, generic),
]

#: Paged by the position of the items.
BY_POSITION = [OfList, OfNames, OfValues, OfUnion, Sliced, ListInLanguages]

#: Paged by their own code.
OWN_PAGES = [OwnUrls, OwnPrivateUrls, OwnPaginator, OwnPrivateItems]


def made(kind: Any) -> Any:
    """Return a class or an instance as a project would register it."""
    return generic(priority=0.6, changefreq="daily") if kind is generic else kind


def name_of(kind: Any) -> str:
    """Return a name for the test report."""
    return str(getattr(kind, "__name__", "instance"))
