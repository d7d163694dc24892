"""Use the installed package as a new project would, away from its repository."""

from __future__ import annotations

import sys
import tempfile
import types
from importlib.metadata import version
from importlib.resources import files
from io import StringIO
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import include, path


def main() -> None:
    """Configure, migrate, serve live, build, serve what was built."""
    with tempfile.TemporaryDirectory() as directory:
        database = {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": str(Path(directory) / "db.sqlite3"),
        }
        templates = "django.template.backends.django.DjangoTemplates"
        settings.configure(
            SECRET_KEY="smoke",  # noqa: S106 - it protects nothing
            INSTALLED_APPS=["django_sitemaps_plus"],
            ROOT_URLCONF="smoke_urls",
            DATABASES={"default": database},
            TEMPLATES=[{"BACKEND": templates, "APP_DIRS": True}],
            MEDIA_ROOT=directory,
            ALLOWED_HOSTS=["*"],
            SITEMAPS_PLUS={"BASE_URL": "https://smoke.example"},
        )
        django.setup()
        _make_urls()
        _use(directory)


def _make_urls() -> None:
    urls = types.ModuleType("smoke_urls")
    urls.urlpatterns = [  # type: ignore[attr-defined]
        path("", lambda request: HttpResponse("home"), name="home"),
        path("sitemap/", include("django_sitemaps_plus.html_urls")),
        path("", include("django_sitemaps_plus.urls")),
    ]
    sys.modules["smoke_urls"] = urls


def _use(directory: str) -> None:
    from django_sitemaps_plus import ViewSource, register

    class PageSource(ViewSource):
        views = ["home"]

    register("pages", PageSource)
    call_command("check", fail_level="ERROR")
    call_command("migrate", verbosity=0)
    live = Client().get("/sitemap-pages-1.xml")
    call_command("build_sitemaps")
    built = Client().get("/sitemap-pages-1.xml")
    index = Client().get("/sitemap.xml")
    assert live.content == built.content, built.content  # noqa: S101
    assert b"https://smoke.example/sitemap-pages-1.xml" in index.content  # noqa: S101
    assert list(Path(directory).rglob("*.xml.gz"))  # noqa: S101
    for name in ("py.typed", "static/sitemaps_plus/sitemap.css"):
        assert (files("django_sitemaps_plus") / name).is_file(), name  # noqa: S101
    call_command("sitemap_doctor", explain="W013", stdout=StringIO())
    assert b"/sitemap/pages/" in Client().get("/sitemap/").content  # noqa: S101
    print("The wheel works:", version("django-sitemaps-plus"))  # noqa: T201


main()
