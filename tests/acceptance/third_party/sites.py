"""A site of Wagtail and a shop of Oscar, and what people edit in them."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.db.models import QuerySet
from django.dispatch import receiver
from oscar.core.loading import get_model
from treebeard.mp_tree import path_updated
from wagtail.contrib.sitemaps import Sitemap as WagtailSitemap
from wagtail.models import Locale, Page, PageViewRestriction, Site

from django_sitemaps_plus import ModelSource, Route, notify_changed, register, under
from django_sitemaps_plus.contrib.wagtail import PageSource

from .models import Article, Events

Category = get_model("catalogue", "Category")
Product = get_model("catalogue", "Product")


# Few entries a file, so that most children are not in that of their parent.
@register("pages-class")
class Pages(WagtailSitemap):
    limit = 5


@register("pages-source")
class FivePages(PageSource):
    limit = 5


@register("categories-class")
class Categories(Sitemap):
    limit = 2

    def items(self) -> QuerySet[Any]:
        return Category.objects.browsable()


@register("categories-source")
class CategorySource(ModelSource):
    model, limit, get_queryset = Category, 2, Categories.items
    watch = {Category: under("path")}


@receiver(path_updated, sender=Category)
def record_move(sender: Any, new_path: str, **kwargs: Any) -> None:
    """Record the categories of a branch that was moved."""
    notify_changed(sender.objects.filter(path__startswith=new_path))


@register("products-class")
class Products(Sitemap):
    limit = 10

    def items(self) -> QuerySet[Any]:
        return Product.objects.browsable()


@register("products-source")
class ProductSource(ModelSource):
    model, limit, get_queryset = Product, 10, Products.items
    location = Route("catalogue:detail", product_slug="slug", pk="pk")


#: What contrib lists of both forms of each section.
CLASSES = {"pages": Pages, "categories": Categories, "products": Products}


def fill() -> None:
    Locale.objects.create(language_code="en")
    home = _add(Page.add_root(instance=Page(title="Root", slug="root")), "home")
    host = settings.ALLOWED_HOSTS[0]
    Site.objects.create(hostname=host, port=443, root_page=home, is_default_site=True)
    _add(home, "draft", live=False)
    private = _add(home, "private")
    _restrict(_add(private, "secret"))
    _add(home, "events", Events)
    for number in range(10):
        section = _add(home, f"section-{number}")
        for article in range(19):
            _add(section, f"article-{number}-{article}")
    for number in range(2):
        department = Category.add_root(name=f"Department {number}")
        for aisle in range(3):
            middle = department.add_child(name=f"Aisle {number} {aisle}")
            for shelf in range(3):
                middle.add_child(name=f"Shelf {number} {aisle} {shelf}")
    _save(_category("Aisle 0 0"), is_public=False)
    for number in range(40):
        Product.objects.create(title=f"Book {number}", is_public=number > 0)


def _add(parent: Page, slug: str, kind: Any = Article, live: bool = True) -> Page:
    return parent.add_child(instance=kind(title=slug, slug=slug, live=live))


def _page(slug: str) -> Any:
    return Page.objects.get(slug=slug).specific


def _category(name: str) -> Any:
    return Category.objects.get(name=name)


def _product(number: int) -> Any:
    return Product.objects.get(title=f"Book {number}")


def _save(row: Any, **values: Any) -> None:
    for name, value in values.items():
        setattr(row, name, value)
    row.save()


def _rename(page: Any, slug: str = "renamed") -> None:
    page.slug = slug
    page.save_revision().publish()


def _restrict(page: Any) -> None:
    login = PageViewRestriction.LOGIN
    PageViewRestriction.objects.create(page=page, restriction_type=login)


def _host(page: Any) -> None:
    Site.objects.create(hostname="other.example", port=443, root_page=page)


def _move(row: Any, parent: Any) -> None:
    row.move(parent, "last-child")


#: Edits that change the entries of other rows, which classes do not notice.
BEYOND_CLASSES = {
    *("restrict a section", "lift its restriction", "make a section a site"),
    *("unpublish an aisle", "rename an aisle"),
}

EDITS = {
    "publish a draft": lambda: _page("draft").save_revision().publish(),
    "unpublish an article": lambda: _page("article-0-9").unpublish(),
    "move a section": lambda: _move(_page("section-1"), _page("section-0")),
    "rename a section": lambda: _rename(_page("section-2")),
    "restrict a section": lambda: _restrict(_page("section-3")),
    "lift its restriction": lambda: _page("section-3").view_restrictions.get().delete(),
    "rename events": lambda: _rename(_page("events"), "happenings"),
    "make a section a site": lambda: _host(_page("section-5")),
    "delete a section": lambda: _page("section-4").delete(),
    "publish an aisle": lambda: _save(_category("Aisle 0 0"), is_public=True),
    "unpublish an aisle": lambda: _save(_category("Aisle 0 1"), is_public=False),
    "move an aisle": lambda: _move(_category("Aisle 0 2"), _category("Department 1")),
    "rename an aisle": lambda: _save(_category("Aisle 1 0"), slug="renamed"),
    "delete an aisle": lambda: _category("Aisle 1 1").delete(),
    "publish a product": lambda: _save(_product(0), is_public=True),
    "unpublish a product": lambda: _save(_product(1), is_public=False),
    "rename a product": lambda: _save(_product(2), slug="renamed"),
    "delete a product": lambda: _product(3).delete(),
}
