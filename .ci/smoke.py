"""Use the installed package as a new project would, away from its repository.

The argument is the extra that was installed with it, or ``none``.
"""

from __future__ import annotations

import importlib
import sys
import tempfile
import types
from importlib.metadata import version
from importlib.resources import files
from importlib.util import find_spec
from io import StringIO
from pathlib import Path

import django
from django.conf import settings
from django.core.management import call_command
from django.http import HttpResponse
from django.test import Client
from django.urls import include, path

#: A module that works with an extra alone, and the setting that names it, if any.
MODULES = {
    "fast": ("isal", {}),
    "cli": ("rich", {}),
    "celery": (
        "django_sitemaps_plus.tasks",
        {"EXECUTOR": "django_sitemaps_plus.tasks.CeleryExecutor"},
    ),
    "tasks": (
        "django_sitemaps_plus.executors.tasks",
        {"EXECUTOR": "django_sitemaps_plus.executors.tasks.TasksExecutor"},
    ),
    "google": ("google.auth", {}),
    "s3": ("storages.backends.s3", {}),
    "mysql": ("MySQLdb", {}),
}

EXTRA = sys.argv[1]


def main() -> None:
    """Configure, migrate, serve live, build, serve what was built."""
    module, setting = MODULES.get(EXTRA, ("", {}))
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
            SITEMAPS_PLUS={"BASE_URL": "https://smoke.example", **setting},
        )
        django.setup()
        if module:
            importlib.import_module(module)
        else:
            others = ("isal", "rich", "celery", "storages", "google", "MySQLdb")
            assert not any([find_spec(name) for name in others])
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
    assert live.content == built.content, built.content
    assert b"https://smoke.example/sitemap-pages-1.xml" in index.content
    assert list(Path(directory).rglob("*.xml.gz"))
    for name in ("py.typed", "static/sitemaps_plus/sitemap.css"):
        assert (files("django_sitemaps_plus") / name).is_file(), name
    call_command("sitemap_doctor", explain="W013", stdout=StringIO())
    assert b"/sitemap/pages/" in Client().get("/sitemap/").content
    python = f"Python {sys.version.split()[0]}, Django {django.__version__}"
    print(version("django-sitemaps-plus"), "works:", EXTRA, python)


main()
