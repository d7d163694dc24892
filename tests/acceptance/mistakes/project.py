"""A project on disk as ``startproject`` makes it, with a blog, and its commands."""

from __future__ import annotations

import json
import os
import re
import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

ROOT = Path(__file__).parents[3]

#: Seconds after which a command has hung.
HANG = 60

SETTINGS = """
INSTALLED_APPS += ["django_sitemaps_plus", "blog"]
MEDIA_ROOT = BASE_DIR / "media"
SITEMAPS_PLUS = {"BASE_URL": "https://blog.example"}
"""

MODELS = """
from django.db import models
from django.urls import reverse


class Post(models.Model):
    slug = models.SlugField(unique=True)
    title = models.CharField(max_length=100)
    draft = models.BooleanField(default=False)
    updated = models.DateTimeField(auto_now=True, db_index=True)

    def __str__(self):
        return self.title

    def get_absolute_url(self):
        return reverse("post", args=[self.slug])
"""

SITEMAPS = """
from blog.models import Post
from django_sitemaps_plus import ModelSource, Route, register


@register("posts")
class PostSource(ModelSource):
    model = Post
    location = Route("post", slug="slug")
    lastmod = "updated"

    def get_queryset(self):
        return super().get_queryset().filter(draft=False)
"""

URLS = """
from blog.views import post
from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("admin/", admin.site.urls),
    path("blog/<slug:slug>/", post, name="post"),
    path("", include("django_sitemaps_plus.urls")),
]
"""

VIEWS = """
from django.http import HttpResponse


def post(request, slug):
    return HttpResponse(slug)
"""

#: Prints the status and the text that a URL answers with; errors go to stderr.
GET = """
import json
from django.test import Client
client = Client(raise_request_exception=False, SERVER_NAME="localhost")
response = client.get({path!r}, headers={{"accept-encoding": "identity"}})
print(json.dumps([response.status_code, response.text]))
"""


class Project:
    """A project ``mysite`` with an app ``blog``, whose posts have a section."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def start(cls, directory: Path) -> Project:
        project = cls(directory)
        project._python("-m", "django", "startproject", "mysite", str(directory))
        project.write("blog/__init__.py", "")
        project.write("blog/models.py", MODELS)
        project.write("blog/sitemaps.py", SITEMAPS)
        project.write("blog/views.py", VIEWS)
        project.write("mysite/urls.py", URLS)
        project.settings(SETTINGS)
        for arguments in (["makemigrations", "blog"], ["migrate"]):
            done = project.manage(*arguments)
            assert done.returncode == 0, done.stderr
        return project

    def copy(self, directory: Path) -> Project:
        """Return a copy with a database of its own."""
        shutil.copytree(self.directory, directory, dirs_exist_ok=True)
        return Project(directory)

    def write(self, path: str, text: str) -> None:
        file = self.directory / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def replace(self, path: str, old: str, new: str) -> None:
        text = (self.directory / path).read_text()
        assert text.count(old) == 1, f"{path} has {old!r} {text.count(old)} times"
        self.write(path, text.replace(old, new))

    def settings(self, text: str) -> None:
        with (self.directory / "mysite/settings.py").open("a") as file:
            file.write(f"\n{text}\n")

    def manage(self, *arguments: str, **variables: str) -> CompletedProcess[str]:
        return self._python("manage.py", *arguments, **variables)

    def get(self, path: str = "/sitemap.xml", **variables: str) -> tuple[int, str, str]:
        """Return the status and text that a URL answers with, and what is logged."""
        done = self.manage("shell", "-c", GET.format(path=path), **variables)
        assert done.returncode == 0, done.stderr
        status, text = json.loads(done.stdout.splitlines()[-1])
        return status, text, done.stderr

    def rows(self, number: int) -> None:
        [[begin]] = self.execute("SELECT count(*) FROM blog_post")
        now = datetime.now(UTC).replace(tzinfo=None).isoformat(" ")
        rows = [(f"post-{begin + n}", f"Post {begin + n}", now) for n in range(number)]
        insert = "INSERT INTO blog_post (slug, title, draft, updated) VALUES "
        values = ", ".join(["(?, ?, 0, ?)"] * number)
        self.execute(insert + values, [value for row in rows for value in row])

    def execute(self, sql: str, values: Iterable[object] = ()) -> list[tuple[Any, ...]]:
        """Run a statement behind Django's back; return its rows."""
        database = sqlite3.connect(self.directory / "db.sqlite3")
        try:
            with database:
                return database.execute(sql, tuple(values)).fetchall()
        finally:
            database.close()

    def _python(self, *arguments: str, **variables: str) -> CompletedProcess[str]:
        ours = {k: v for k, v in os.environ.items() if not k.startswith("DJANGO_")}
        return subprocess.run(
            [sys.executable, *arguments],
            cwd=self.directory,
            env={
                **ours,
                "PYTHONPATH": str(ROOT),
                "NO_PROXY": "*",
                "PYTHONDEVMODE": "",
                **variables,
            },
            capture_output=True,
            text=True,
            timeout=HANG,
            check=False,
        )


def said_of(done: CompletedProcess[str]) -> dict[str, str]:
    """Return what a command has said of each section, with the id."""
    found: dict[str, str] = {}
    for line in done.stderr.splitlines():
        if part := re.search(r"\(sitemaps_plus\.(\w+)\) Section '(.*?)': (.*)", line):
            found[part[2]] = found.get(part[2], "") + f"{part[1]} {part[3]}\n"
    return found
