"""Commands go on where sources lack rows, services or an environment."""

import re
from typing import Any

import pytest

from .project import Project, said_of

HEAD = """
import contextvars
import os
import threading
from pathlib import Path
from urllib.parse import urlsplit

import redis
from blog.models import Post
from django.conf import settings
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group, User
from django.contrib.sitemaps import Sitemap
from django.contrib.sites.models import Site
from django.core.exceptions import FieldError, ImproperlyConfigured
from django.db.models import FilteredRelation, Q
from django_sitemaps_plus import ModelSource, Route, ViewSource, register
from redis.backoff import NoBackoff
from redis.retry import Retry
from tests.support.joins import joined

at_once = Retry(NoBackoff(), 0)
local, variable = threading.local(), contextvars.ContextVar("tenant")


class Posts(ModelSource):
    model = Post
    location = Route("post", slug="slug")


def listing(name, rows):
    def get_queryset(self):
        return rows(Post.objects.all())

    register(name, type("Listed", (Posts,), {"get_queryset": get_queryset}))


def unlike(fault):
    raise fault


@register("site")
class OfSite(Posts):
    def get_queryset(self, site):
        return super().get_queryset().filter(slug=site.origin.split("/")[7])


@register("filtered")
class Filtered(ModelSource):
    model = User
    location = Route("post", slug="username")
    lastmod = "entry__action_time"
    watch = {LogEntry: "user"}

    def get_queryset(self):
        condition = Q(logentry__action_flag=1)
        return super().get_queryset().alias(
            entry=FilteredRelation("logentry", condition=condition)
        )


@register("views")
class Views(ViewSource):
    @property
    def views(self):
        return [("post", {"slug": local.slug})]


class Contrib(Sitemap):
    def items(self):
        return Post.objects.filter(slug=local.slug)

    def get_domain(self, site=None):
        return local.domain


register("domain", Contrib)
register("made", lambda: unlike(ImproperlyConfigured("no client")))
"""

#: Sections by what ``get_queryset()`` makes of all posts, in situations that are no
#: fault at all.
QUIET = {
    "list": "rows.filter(pk__in=list(Group.objects.values_list('pk', flat=True)))",
    "nothing": "rows.filter(pk__in=[])",
    "none": "rows.none()",
    "exclude": "rows.exclude(pk__in=[])",
    "inner": "rows.filter(pk__in=Post.objects.none())",
}

#: The same of those that cannot be examined, with what is raised.
LACKING = {
    "get": ("rows.filter(pk=Post.objects.get(slug='a').pk)", "DoesNotExist: Post"),
    "first": ("rows.filter(pk__gte=Post.objects.first().pk)", "AttributeError: 'None"),
    "current": ("rows.filter(slug=Site.objects.get(pk=7))", "DoesNotExist: Site"),
    "redis": (
        "rows.filter(pk=redis.Redis(port=1, retry=at_once).get('pk'))",
        "ConnectionError: ",
    ),
    "thread": ("rows.filter(slug=local.tenant)", "AttributeError: "),
    "context": ("rows.filter(slug=variable.get())", "LookupError: "),
    "environment": ("rows.filter(slug=os.environ['BLOG_SLUG'])", "KeyError: 'BLOG_"),
    "file": ("rows.filter(slug=Path('slug.txt').read_text())", "FileNotFoundError: "),
    "client": ("unlike(ImproperlyConfigured('no client'))", "ImproperlyConfigured: no"),
    "settings": ("rows.filter(slug=settings.BLOG_SLUG)", "AttributeError: 'Settings'"),
    "raised": ("unlike(FieldError('no tenant'))", "FieldError: no tenant"),
    "value": ("rows.filter(pk='x')", "ValueError: Field 'id' expected a number"),
    "join": ("joined(rows)", "joins tables by tests.support.joins.Joined"),
}

#: Sections of classes above that cannot be examined.
CLASSES = {
    "site": "IndexError: ",
    "views": "AttributeError: ",
    "domain": "AttributeError: ",
    "made": "ImproperlyConfigured: no client",
}

LAZY = """
from django.utils.functional import SimpleLazyObject


def made():
    from blog.models import Post
    from django.contrib.sitemaps import GenericSitemap

    first = Post.objects.get(slug="a")
    return {f"of-{first.slug}": GenericSitemap({"queryset": Post.objects.all()})}


sitemaps = SimpleLazyObject(made)
"""

SETTINGS = """
import os
INSTALLED_APPS += ["django.contrib.sites"]
SITE_ID = 1
DEBUG = False
ALLOWED_HOSTS = ["*"]
SITEMAPS_PLUS["BASE_URL"] = "https://blog.dev"
SITEMAPS_PLUS["CONTRIB_SITEMAPS"] = "mysite.lazy.sitemaps"
SITEMAPS_PLUS["MONITORING_TOKEN"] = os.environ.get("BLOG_TOKEN", "")
SITEMAPS_PLUS["ENGINES"] = {"indexnow": {
    "BACKEND": "django_sitemaps_plus.notifications.IndexNow",
    "OPTIONS": {"key": os.environ.get("BLOG_KEY")},
}}
"""

TESTS = """
from blog.models import Post
from django.test import TestCase


class PostTests(TestCase):
    def test_save(self):
        Post.objects.create(slug="x", title="X").delete()
"""

#: Prints the status and the URLs of a page that the lazy dict lists, of one whose query
#: has a join of another library, and of one that has no rows.
SHOW = """
from django.test import Client
for name in ("of-a", "join", "filtered"):
    answer = Client().get(f"/sitemap-{name}-1.xml", headers={"accept-encoding": ""})
    print(f"{answer.status_code}:{answer.content.count(b'<loc>')}")
"""

COMMANDS = [["migrate"], ["check"], ["loaddata", "a.json"], ["test"]]

JSON = (
    '[{"model": "blog.post", "pk": 1, "fields": {"slug": "a", "title": "A", '
    '"updated": "2026-01-01T00:00:00Z"}}]'
)


@pytest.fixture(scope="module")
def lacking(fresh_project: Project, tmp_path_factory: Any) -> Project:
    """Have a source in each situation, and a database without tables."""
    project = fresh_project.copy(tmp_path_factory.mktemp("lacking") / "mysite")
    (project.directory / "db.sqlite3").unlink()
    rows = QUIET | {name: code for name, (code, _) in LACKING.items()}
    lines = [f"listing({name!r}, lambda rows: {code})" for name, code in rows.items()]
    project.write("blog/sitemaps.py", "\n".join([HEAD, *lines]))
    project.write("blog/tests.py", TESTS)
    project.write("a.json", JSON)
    project.write("mysite/lazy.py", LAZY)
    project.settings(SETTINGS)
    return project


def test_no_command_is_stopped(lacking):
    """From a database without tables on; each section is named that was not seen."""
    for command in COMMANDS:
        done = lacking.manage(*command)
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
        assert "not recorded" not in done.stderr
        said = said_of(done)
        if command == ["check"]:
            expected = {name: words for name, (_, words) in LACKING.items()} | CLASSES
            # The relation that it filters has several rows, whatever there are today.
            assert said.pop("filtered").startswith("W032 a declaration")
            assert said.keys() == expected.keys()
            for name, words in expected.items():
                assert said[name].startswith("W037 it"), said[name]
                assert words in said[name]
            assert "(sitemaps_plus.W037) CONTRIB_SITEMAPS could not" in done.stderr
            assert "W025" not in done.stderr
    # With the row that loaddata has brought, and what else there is in production.
    done = lacking.manage("check", BLOG_SLUG="a")
    assert done.returncode == 0
    gone = {"get", "first", "environment"}
    expected = LACKING.keys() | CLASSES.keys() | {"filtered"}
    assert said_of(done).keys() == expected - gone
    assert "CONTRIB_SITEMAPS" not in done.stderr
    shown = lacking.manage("shell", "-v0", "-c", SHOW).stdout.split()
    assert shown == ["200:1", "200:1", "404:0"]
    done = lacking.manage("check", "--deploy")
    assert done.returncode == 1
    errors = re.findall(r"\(sitemaps_plus\.(E\d+)\)", done.stderr)
    assert sorted(errors) == ["E025", "E063"]
