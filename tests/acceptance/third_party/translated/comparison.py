"""Compares both forms of each section, at first and after each edit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import django

django.setup()

from django.core.management import call_command  # noqa: E402 - needs a set-up Django
from django.test import Client  # noqa: E402
from lxml import etree  # noqa: E402
from wagtail.models import Locale, Page, Site  # noqa: E402

from .models import Article, Product, TranslatedPage  # noqa: E402
from .sitemaps import CLASSES  # noqa: E402

HOST = "site.example"

#: The alternates of each URL, by language.
Urls = dict[str, dict[str, str]]


def fill() -> None:
    for number, codes in enumerate([("en", "de", "pt_br"), ("en", "de"), ("de",)]):
        slugs = {f"slug_{code}": f"p{number}-{code.lower()}" for code in codes}
        Product.objects.create(**slugs)
        article = Article()
        for code in codes:
            language = code.replace("_", "-")
            article.set_current_language(language)
            article.slug = f"a{number}-{language}"
            article.save()
    fill_pages()


def fill_pages() -> None:
    """Make a home page and two below it, in two locales; and one of another site."""
    english, german = [Locale.objects.create(language_code=it) for it in ("en", "de")]
    top = Page.add_root(instance=Page(title="Root", slug="root", locale=english))
    home = top.add_child(instance=TranslatedPage(title="Home", slug="home"))
    page = home.add_child(instance=TranslatedPage(title="About", slug="about"))
    plain = home.add_child(instance=Page(title="Plain", slug="plain"))
    for it in (home, page, plain):
        copied = it.copy_for_translation(german)
        copied.slug = f"{it.slug}-de"
        copied.save_revision().publish()
    names = {"hostname": HOST, "port": 443, "is_default_site": True}
    Site.objects.create(root_page=home, **names)
    other = top.add_child(instance=Page(title="Other", slug="other"))
    Site.objects.create(root_page=other, hostname="other.example")


def rename() -> None:
    product = Product.objects.first()
    product.slug_de = "neu"
    product.save()
    article = Article.objects.first()
    article.set_current_language("de")
    article.slug = "neu"
    article.save()
    _rename("about", "us")


def add() -> None:
    product = Product.objects.last()
    product.slug_en = "new"
    product.save()
    Article.objects.last().create_translation("en", slug="new")
    home = TranslatedPage.objects.get(slug="home")
    home.add_child(instance=TranslatedPage(title="New", slug="new"))


def remove() -> None:
    product = Product.objects.first()
    product.slug_pt_br = None
    product.save()
    Article.objects.first().delete_translation("pt-br")
    TranslatedPage.objects.get(slug="new").unpublish()


def _rename(slug: str, new: str) -> None:
    page = TranslatedPage.objects.get(slug=slug)
    page.slug = new
    page.save_revision().publish()


EDITS: tuple[Callable[[], None], ...] = (fill, rename, add, remove)


def main() -> int:
    """Make each edit in turn; return 1 if a build does not show it."""
    call_command("migrate", verbosity=0, run_syncdb=True)
    call_command("check", fail_level="WARNING")
    wrong = 0
    for edit in EDITS:
        edit()
        asked = build()
        # Their URLs are read by columns where their type has none of its own.
        assert asked == {TranslatedPage}, asked
        for name, kind in CLASSES.items():
            is_right = built(name) == expected(kind())
            wrong += not is_right
            line = f"{edit.__name__} {name}: {len(built(name))} entries"
            sys.stdout.write(f"{line}{'' if is_right else ' WRONG'}\n")
    return 1 if wrong else 0


def build() -> set[type]:
    """Build, and return the types of page that are asked for URLs."""
    asked, ask = set(), Page.get_url_parts

    def noted(page: Any, request: Any = None) -> Any:
        asked.add(type(page))
        return ask(page, request)

    with patch.object(Page, "get_url_parts", noted):
        call_command("build_sitemaps", verbosity=0)
    return asked


def expected(sitemap: Any) -> Urls:
    urls = sitemap.get_urls(1, SimpleNamespace(domain=HOST), "https")
    return {
        url["location"]: {
            it["lang_code"]: it["location"] for it in url.get("alternates", ())
        }
        for url in urls
    }


def built(section: str) -> Urls:
    path = f"/sitemap-{section}-1.xml"
    content = Client(headers={"host": HOST}).get(path, secure=True).content
    return {
        url[0].text: {
            link.get("hreflang"): link.get("href")
            for link in url.iter("{http://www.w3.org/1999/xhtml}link")
        }
        for url in etree.fromstring(content)
    }


if __name__ == "__main__":
    sys.exit(main())
