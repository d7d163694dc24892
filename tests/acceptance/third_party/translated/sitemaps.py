"""The sections: as the guide to languages shows them, and as contrib's classes."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.sitemaps import Sitemap
from django.db.models import OuterRef, QuerySet, Subquery
from wagtail.models import Page

from django_sitemaps_plus import ModelSource, Route, register
from django_sitemaps_plus.contrib.wagtail import PageSource

from .models import Article, ArticleTranslation, Product

register("pages", PageSource)


@register("products")
class ProductSource(ModelSource):
    model = Product
    location = Route("product", slug="slug_{language}")
    languages = "all"
    x_default = True


@register("articles")
class ArticleSource(ModelSource):
    model = Article
    location = Route("article", slug="slug_{language}")
    languages = "all"
    x_default = True
    watch = {ArticleTranslation: "master"}

    def get_queryset(self) -> QuerySet[Article]:
        queryset: QuerySet[Article] = super().get_queryset()
        for code, _ in settings.LANGUAGES:
            found = ArticleTranslation.objects.filter(
                master=OuterRef("pk"), language_code=code
            )
            name = "slug_" + code.replace("-", "_")
            queryset = queryset.annotate(**{name: Subquery(found.values("slug"))})
        return queryset


class Translated(Sitemap):
    i18n = alternates = x_default = True


class Products(Translated):
    def items(self) -> QuerySet[Product]:
        return Product.objects.order_by("pk")

    def get_languages_for_item(self, item: Product) -> list[str]:
        names = {code: code.replace("-", "_") for code, _ in settings.LANGUAGES}
        return [it for it, name in names.items() if getattr(item, f"slug_{name}")]


class Articles(Translated):
    def items(self) -> QuerySet[Article]:
        return Article.objects.order_by("pk").prefetch_related("translations")

    def get_languages_for_item(self, item: Article) -> list[str]:
        found = {it.language_code for it in item.translations.all()}
        return [code for code, _ in settings.LANGUAGES if code in found]


class Pages(Sitemap):
    """The pages of all locales, which Wagtail's own class lists of one."""

    def get_urls(self, *args: Any, **kwargs: Any) -> list[dict[str, Any]]:
        pages = Page.objects.filter(live=True, depth__gt=1).specific()
        urls = [url for page in pages for url in page.get_sitemap_urls()]
        return [it for it in urls if it["location"].startswith("https://site.example/")]


#: What contrib lists of each section.
CLASSES = {"products": Products, "articles": Articles, "pages": Pages}
