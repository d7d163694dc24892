"""Mistakes in sources: each is named, with the value, the reason and the remedy."""

from __future__ import annotations

import re
from typing import Any

import pytest

from .project import Project

HEAD = """
from blog.models import Post
from django.contrib.auth.models import Group
from django.contrib.sitemaps import Sitemap
from django_sitemaps_plus import Entry, ModelSource, Route, Source, ViewSource, register


class Posts(ModelSource):
    model = Post
    location = Route("post", slug="slug")
"""

#: By the section's name: the class as somebody wrote it, and what the check says.
MISTAKES = {
    "items": (
        "class It(Posts):\n"
        "    def items(self): return Post.objects.filter(draft=False)",
        "It.items has no effect on a ModelSource. HINT: Write get_queryset() instead.",
    ),
    "queryset": (
        "class It(Posts):\n    queryset = Post.objects.filter(draft=False)",
        "It.queryset has no effect on a ModelSource. HINT: Write get_queryset()",
    ),
    "last_mod": (
        "class It(Posts):\n    last_mod = 'updated'",
        "It.last_mod has no effect on a ModelSource. HINT: Write lastmod instead.",
    ),
    "i18n": (
        "class It(Posts):\n    i18n = True",
        "It.i18n has no effect on a ModelSource. HINT: Write languages instead.",
    ),
    "image": (
        "class It(Posts):\n    def image(self, row): return row.image.url",
        "It.image has no effect on a ModelSource. HINT: Write images instead.",
    ),
    "meta": (
        "class It(Posts):\n    class Meta:\n        model = Post",
        "It.Meta has no effect on a ModelSource. HINT: Write its attributes in the",
    ),
    "entries": (
        "class It(Posts):\n    def entries(self, origin): return []",
        "It.entries has no effect on a ModelSource. HINT: Write get_queryset()",
    ),
    "near": (
        "class It(Posts):\n    prioritty = 0.5",
        "It.prioritty has no effect on a ModelSource. HINT: Did you mean 'priority'?",
    ),
    "contrib": (
        "class It(Sitemap):\n    def get_queryset(self): return Post.objects.all()",
        "It.get_queryset has no effect on a Sitemap. HINT: Write items() instead.",
    ),
    "entry": (
        "class It(Source):\n    lastmod = 'updated'\n"
        "    def entries(self, origin): yield Entry(origin + '/')",
        "It.lastmod has no effect on a Source. HINT: Give it to each Entry",
    ),
    "view": (
        "class It(ViewSource):\n    views = 'home'",
        "views is 'home', not a list of names. HINT: Write views = ['home'].",
    ),
    "views": (
        "class It(ViewSource):\n    views = ['post']",
        "view 'post' has no URL: 'post' takes slug, not none.",
    ),
    "name": (
        "class It(Posts):\n    location = Route('psot', slug='slug')",
        "no pattern is named 'psot'. HINT: Did you mean 'post'?",
    ),
    "arguments": (
        "class It(Posts):\n    location = Route('post', pk='pk')",
        "no URL pattern fits Route('post', pk='pk'): 'post' takes slug, not pk.",
    ),
    "field": (
        "class It(Posts):\n    lastmod = 'updatd'",
        "lastmod names 'updatd', which is not a field. HINT: Post has no field named "
        "'updatd'. Did you mean 'updated'?",
    ),
    "starts": (
        "class It(Posts):\n    starts = 'publish_at'",
        "starts names 'publish_at', which is not a field.",
    ),
    "key": (
        "class It(Posts):\n    key = 'slugs'",
        "key 'slugs' of blog.Post does not exist. HINT: Did you mean 'slug'?",
    ),
    "row": (
        "class It(Posts):\n    def lastmod(self): return None",
        "lastmod() cannot be called with a row: too many positional arguments. "
        "HINT: Write def lastmod(self, row).",
    ),
    "join": (
        "class It(Posts):\n    model = Group\n"
        "    location = Route('post', slug='name')\n"
        "    def get_queryset(self):\n"
        "        return Group.objects.filter(permissions__codename__startswith='a')",
        "get_queryset() joins auth_group_permissions, and lists a row for each",
    ),
}

FINE = """
@register("fine")
class Fine(Posts):
    queryset = Post.objects.filter(draft=False)
    image = "/logo.png"

    def get_queryset(self):
        return self.queryset.all()

    def images(self, row):
        return [self.image]
"""


@pytest.fixture(scope="module")
def checked(fresh_project: Project, tmp_path_factory: Any) -> Any:
    """Check a project with all mistakes at once; give what is said of each section."""
    project = fresh_project.copy(tmp_path_factory.mktemp("mistakes") / "mysite")
    classes = [f'@register("{n}")\n{code}' for n, (code, _) in MISTAKES.items()]
    project.write("blog/sitemaps.py", "\n\n\n".join([HEAD, FINE, *classes]))
    done = project.manage("check")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    said: dict[str, str] = {}
    for part in re.split(r"\n(?=<|\?:)", done.stderr):
        if name := re.search(r"Section '(\w+)': (.*)", part, re.DOTALL):
            said[name[1]] = said.get(name[1], "") + re.sub(r"\s+", " ", name[2])
    return said


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named_with_the_remedy(checked, name):
    """And with the page that says more."""
    assert MISTAKES[name][1] in checked[name]
    assert re.search(r"See docs/reference/checks.md#[ew]\d{3}", checked[name])


def test_names_that_methods_use_are_no_mistakes(checked):
    assert "fine" not in checked


GROUPS = (
    HEAD
    + """
@register("groups")
class Groups(ModelSource):
    model = Group
    location = Route("post", slug="name")

    def get_queryset(self):
        return Group.objects.filter(permissions__codename__startswith="add")
"""
)


def test_rows_that_a_join_repeats_are_listed_once(project):
    """The command says so once, with the row and the remedy."""
    project.write("blog/sitemaps.py", GROUPS)
    project.execute("INSERT INTO auth_group (id, name) VALUES (7, 'staff')")
    project.execute(
        "INSERT INTO auth_group_permissions (group_id, permission_id) "
        "SELECT 7, id FROM auth_permission WHERE codename LIKE 'add%'"
    )
    built = project.manage("build_sitemaps", "groups")
    assert built.returncode == 0
    remedy = "Group 7 listed once: its query repeats it. Add .distinct()"
    assert built.stderr.count(remedy) == 1
    _, text, _ = project.get("/sitemap-groups-1.xml")
    assert text.count("<loc>") == text.count("/staff/") == 1


CONSOLE = """
LOGGING = {
    "version": 1,
    "handlers": {
        "console": {"class": "logging.StreamHandler"},
        "file": {"class": "logging.FileHandler", "filename": BASE_DIR / "log"},
    },
    "root": {"handlers": ["console", "file"], "level": "WARNING"},
}
"""


@pytest.mark.parametrize("logging", ["", CONSOLE])
def test_a_bad_row_is_named_once_as_it_is(project, logging):
    """On the console; a log file has it too."""
    project.settings(logging)
    project.rows(3)
    project.execute("UPDATE blog_post SET slug = '\u4f60 \u597d' WHERE id = 2")
    built = project.manage("build_sitemaps")
    assert built.returncode == 0
    assert built.stderr.count("Post 2 left out: ") == 1
    assert "\u4f60 \u597d" in built.stderr
    if logging:
        assert "Post 2 left out: " in (project.directory / "log").read_text()


BROKEN = """
    def get_queryset(self):
        return Post.objects.filter(pk__in=[int("broken")])
"""


def test_a_source_that_fails_is_one_sentence(project):
    """A traceback is shown if somebody asks for it."""
    project.write(
        "blog/sitemaps.py", f'{HEAD}\n@register("it")\nclass It(Posts):{BROKEN}'
    )
    project.settings("SILENCED_SYSTEM_CHECKS = ['sitemaps_plus.W037']")
    built = project.manage("build_sitemaps")
    assert built.returncode == 1
    assert built.stderr.count("invalid literal for int()") == 1
    assert "section 'it' could not be read: ValueError: " in built.stderr
    assert "run it again with --traceback" in built.stderr
    assert "Traceback" not in built.stderr
    traced = project.manage("build_sitemaps", "--traceback")
    assert "blog/sitemaps.py" in traced.stderr


def test_a_renamed_section_can_be_acknowledged(project):
    """Until then it is named; its old URLs say that they are gone."""
    project.rows(3)
    project.manage("build_sitemaps")
    project.replace("blog/sitemaps.py", '"posts"', '"articles"')
    built = project.manage("build_sitemaps")
    assert built.returncode == 0
    assert "Section 'posts' is no longer registered: its pages leave" in built.stderr
    assert "prune_sitemaps --section posts --now" in built.stderr
    wrong = project.manage("prune_sitemaps", "--section", "post", "--now")
    assert wrong.returncode == 1
    assert (
        "Section 'post' is registered, or has no pages. No longer registered are: "
        in (wrong.stderr)
    )
    assert project.manage("prune_sitemaps", "--section", "posts", "--now").stderr == ""
    status = project.manage("sitemap_status")
    assert (status.returncode, status.stderr) == (0, "")
    assert project.get("/sitemap-posts-1.xml")[0] == 410
    assert "posts" not in project.get("/sitemap.xml")[1]


ENGINE = """
SITEMAPS_PLUS["ENGINES"] = {"indexnow": {
    "BACKEND": "django_sitemaps_plus.notifications.engines.indexnow.IndexNow",
    "OPTIONS": {"key": "0123456789abcdef"},
}}
"""


def test_engines_that_wait_for_one_reason_say_which(project):
    project.settings(ENGINE)
    done = project.manage("notify_search_engines")
    assert done.returncode == 1
    assert "not notified: DEBUG is on. SITEMAPS_PLUS['NOTIFY'] = True forces" in (
        done.stderr
    )
