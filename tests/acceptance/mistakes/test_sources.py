"""Mistakes in sources and where they are registered: each is named with its remedy."""

import re

import pytest

from .project import VIEWS, Project, said_of

SITEMAPS = "blog/sitemaps.py"


@pytest.mark.parametrize(
    ("path", "old", "new", "words"),
    [
        (SITEMAPS, '("posts")', "", 'write @register("products") above PostSource'),
        (
            SITEMAPS,
            "@reg",
            "register(Post())\n\n\n@reg",
            "as in register('blog-posts', PostSource)",
        ),
        (
            SITEMAPS,
            "\n\n\n@",
            "\nimport nothing_of_this_name\n@",
            "nothing_of_this_name'",
        ),
        (
            "mysite/settings.py",
            '["django_sitemaps_plus", "blog"]',
            '["blog"]',
            "ImproperlyConfigured: Add 'django_sitemaps_plus' to INSTALLED_APPS.",
        ),
    ],
    ids=["no name", "an instance", "an import", "an app"],
)
def test_what_cannot_be_imported_is_the_last_line(project, path, old, new, words):
    """With what to write, after the traceback."""
    project.replace(path, old, new)
    done = project.manage("check")
    assert done.returncode == 1
    assert words in done.stderr.splitlines()[-1]
    assert "UnboundLocalError" not in done.stderr


def test_nothing_registered(project):
    """Checks warn and say where they looked; a build of nothing fails."""
    text = (project.directory / SITEMAPS).read_text()
    (project.directory / SITEMAPS).unlink()
    project.write("blog/sitemap.py", text)
    checked = project.manage("check")
    assert (checked.returncode, "W025" in checked.stderr) == (0, True)
    assert "Rename it to sitemaps.py of an app" in checked.stderr
    built = project.manage("build_sitemaps")
    assert built.returncode == 1
    assert "CommandError: No section is registered" in built.stderr


@pytest.mark.parametrize(
    "name", ["blog.Sitemap", "blog.site_map", "blog.my_sitemaps", "mysite.sitemaps"]
)
def test_a_module_that_nothing_imports_is_named_beside_others(project, name):
    """W054: but not what has no section, nor what something imports."""
    text, path = (project.directory / SITEMAPS).read_text(), name.replace(".", "/")
    project.write(f"{path}.py", "# Nothing of ours.")
    assert warnings_of(project) == set()
    project.write(f"{path}.py", text.replace('"posts"', '"more"'))
    assert warnings_of(project) == {"W054"}
    project.write(SITEMAPS, f"import {name}\n{text}")
    assert warnings_of(project) == set()


def test_modules_of_a_package_that_imports_none_are_named(project):
    """W054: ``sitemaps/`` with an empty module ``__init__``; its tests are left out."""
    text = (project.directory / SITEMAPS).read_text()
    (project.directory / SITEMAPS).unlink()
    project.write("blog/sitemaps/__init__.py", "")
    project.write("blog/sitemaps/posts.py", text)
    project.write("blog/sitemaps/test_posts.py", text)
    checked = project.manage("check").stderr
    assert "Nothing imports blog.sitemaps.posts, " in checked
    assert "test_posts" not in checked
    project.write("blog/sitemaps/__init__.py", "from . import posts")
    assert warnings_of(project) == set()


def test_a_module_beside_settings_that_are_in_no_package_is_named(project):
    """W054: as with ``settings.py`` beside ``manage.py``."""
    text = (project.directory / SITEMAPS).read_text()
    project.write("top.py", "from mysite.settings import *")
    project.write("sitemaps.py", text.replace('"posts"', '"more"'))
    assert "W054" not in project.manage("check").stderr
    checked = project.manage("check", "--settings=top").stderr
    assert "Nothing imports sitemaps, and it registers sections." in checked


def test_what_nothing_reads_is_named(project):
    """W055, W056: but not the base of other sources."""
    text = (project.directory / SITEMAPS).read_text()
    text += "\nclass Base(ModelSource):\n    limit = 5\n"
    project.write(SITEMAPS, text)
    project.settings("sitemaps_plus = {'NOTIFY': False}")
    assert warnings_of(project) == {"W055", "W056"}
    more = "@register('more')\nclass More(Base):\n    model = Post"
    project.write(SITEMAPS, f"{text}\n{more}")
    assert warnings_of(project) == {"W055"}


WRONG = """
from blog.models import Post
from django.contrib.auth.models import Group
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django.db.models import Value
from django_sitemaps_plus import ModelSource, Route, ViewSource, register


class Posts(ModelSource):
    model = Post
    location = Route("post", slug="slug")

    def get_queryset(self):
        return super().get_queryset().filter(pk=Post.objects.get(slug="a").pk)


class Of(Posts):
    def get_queryset(self):
        return self.rows()


class PostSitemap(Sitemap):
    def items(self):
        return Post.objects.all()
"""

#: Classes with attributes, or other things to register, that are wrong whatever the
#: rows are, with the ids of errors.
ERRORS = {
    "filter": ("Of, rows=lambda self: Post.objects.filter(publishd=1)", "E023"),
    "inner": ("Of, rows=lambda self: Post.objects.filter(slug__nme=1)", "E023"),
    "order": ("Of, rows=lambda self: Post.objects.order_by('publishd')", "E023"),
    "values": ("Of, rows=lambda self: Post.objects.values('publishd')", "E023"),
    "meta": ("Of, rows=lambda self: Post._meta.get_field('publishd')", "E023"),
    "none": ("Of, rows=lambda self: Post.objects.filter(publishd=1).none()", "E023"),
    "slice": ("Of, rows=lambda self: Post.objects.all()[:5]", "E023"),
    "shape": ("Of, rows=lambda self: [1]", "E023"),
    "type": (
        "Of, rows=lambda self: Post.objects.none(), priority=Value(1) + Value('a')",
        "E023",
    ),
    "starts": ("Posts, starts=5", "E023"),
    "using": ("Posts, using='replica'", "E023"),
    "limit": ("Posts, limit=0", "E011"),
    "bad": ("Posts, on_error='ignore'", "E012"),
    "model": ("Posts, model=None", "E013"),
    "key": ("Posts, key='slugs'", "E014"),
    "not unique": ("Posts, key='title'", "E016 E018"),
    "location": ("Posts, model=Group, location=None", "E020"),
    "route": ("Posts, location=Route('psot', slug='slug')", "E021"),
    "field": ("Posts, lastmod='updatd', get_queryset=ModelSource.get_queryset", "E022"),
    "watch": ("Posts, watch={Group: 'posts'}", "E027"),
    "name": ("Posts, queryset=None", "E030"),
    "method": ("Posts, lastmod=lambda self: None", "E034"),
    "languages": ("Posts, languages=['xx']", "E050"),
    "default": ("Posts, x_default=True", "E051"),
    "views": ("ViewSource, views=['hme']", "E021"),
    "constant": ("Posts, priority=5", "E037"),
    "text": ("Of, rows=lambda self: Post.objects.none(), priority='0.8'", "E022"),
    "label": ("Posts, model='Post'", "E013"),
    "column": ("Posts, lastmod=Post.updated", "E037"),
    "no rows": ("Of, rows=lambda self: None", "E023"),
    "letters": ("ViewSource, views='home'", "E033"),
    "number": ("ViewSource, views=5", "E033"),
    "pair": ("ViewSource, views=[5]", "E033"),
    "generic": ("GenericSitemap", "E040"),
    "class": ("Sitemap, get_domain=lambda self, site: 'https://a.example'", "E040"),
    "maker": ("lambda: PostSitemap", "E040"),
    "loose": ("PostSitemap.items", "E040"),
    "nowhere": ("GenericSitemap({'queryset': Group.objects.all()})", "E020"),
    "too many": ("PostSitemap, limit=60_000", "E011"),
    "property": ("PostSitemap, limit=property(len)", "E040"),
    "scheme": ("PostSitemap, protocol='https:'", "E040"),
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


def registration(name: str, code: str) -> str:
    """Return the line that registers a class, or another with attributes."""
    base, _, attributes = code.partition(", ")
    if attributes and "=" in attributes:
        code = f"type('It', ({base},), dict({attributes}))"
    return f"register({name!r}, {code})"


def test_what_is_always_wrong_stops_every_command(project):
    """Without a table, before anything can be asked; each fault has its remedy."""
    (project.directory / "db.sqlite3").unlink()
    lines = [registration(name, code) for name, (code, _) in ERRORS.items()]
    project.write("blog/sitemaps.py", "\n".join([WRONG, FINE, *lines]))
    project.settings('SITEMAPS_PLUS |= {"CACHE": "nowhere", "BASE_ULR": ""}')
    done = project.manage("migrate")
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    said = {
        name: " ".join(re.findall(r"^E\w+", text, re.MULTILINE))
        for name, text in said_of(done).items()
    }
    assert said == {name: ids for name, (_, ids) in ERRORS.items()}
    for code in ("E001", "E006"):
        assert f"(sitemaps_plus.{code})" in done.stderr
    messages = done.stderr.count("(sitemaps_plus.")
    assert done.stderr.count("HINT: ") == messages
    commands = re.findall(r"See: manage.py (.+) (\w+)$", done.stderr, re.MULTILINE)
    assert len(commands) == messages
    first, code = commands[0]
    done = project.manage(*first.split(), code)
    assert done.returncode == 0
    assert done.stdout.startswith(f"sitemaps_plus.{code}\n\n")


PREFIXES = """
from django.conf.urls.i18n import i18n_patterns

urlpatterns = [urlpatterns[-1], *i18n_patterns(*urlpatterns[:-1])]
"""


def warnings_of(project: Project) -> set[str]:
    done = project.manage("check")
    assert done.returncode == 0, done.stderr
    return set(re.findall(r"\(sitemaps_plus\.(\w+)\)", done.stderr))


def test_languages_that_nobody_has_chosen_are_named(project):
    """As after startproject: Django has a hundred, and no middleware for them."""
    urls = (project.directory / "mysite/urls.py").read_text()
    project.write("mysite/urls.py", f"{urls}\n{PREFIXES}")
    project.replace("blog/sitemaps.py", '"updated"', '"updated"\n    languages = "all"')
    assert warnings_of(project) == {"W051", "W052"}
    project.settings(
        'MIDDLEWARE.insert(2, "django.middleware.locale.LocaleMiddleware")\n'
        'LANGUAGES = [("en", "English"), ("de", "German")]'
    )
    assert warnings_of(project) == set()


GROUPS = """
from django.contrib.auth.models import Group
from django_sitemaps_plus import ModelSource, Route, register


@register("groups")
class Groups(ModelSource):
    model = Group
    location = Route("post", slug="name")

    def get_queryset(self):
        return Group.objects.filter(permissions__codename__startswith="add")
"""


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


def test_a_bad_row_is_named_once_as_it_is(project):
    """On the console; a log file has it too."""
    project.rows(3)
    project.execute("UPDATE blog_post SET slug = '\u4f60 \u597d' WHERE id = 2")
    for settings in ("", CONSOLE):
        project.settings(settings)
        built = project.manage("build_sitemaps", "--full")
        assert built.returncode == 0
        assert built.stderr.count("Post 2 left out: ") == 1
        assert "\u4f60 \u597d" in built.stderr
    assert "Post 2 left out: " in (project.directory / "log").read_text()


BROKEN = """
    def get_queryset(self):
        return Post.objects.filter(pk__in=[int("broken")])
"""


def test_a_source_that_fails_is_one_sentence(project):
    """A traceback is shown if somebody asks for it."""
    project.write(SITEMAPS, f'{WRONG}\n@register("it")\nclass It(Posts):{BROKEN}')
    project.settings("SILENCED_SYSTEM_CHECKS = ['sitemaps_plus.W037']")
    built = project.manage("build_sitemaps")
    assert built.returncode == 1
    assert built.stderr.count("invalid literal for int()") == 1
    assert "section 'it' could not be read: ValueError (Post): " in built.stderr
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
    assert "posts: no longer registered. Its pages leave" in built.stderr
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


OURS = """
from django_sitemaps_plus.contrib import views
from django.contrib.sitemaps import Sitemap


class Posts(Sitemap):
    def items(self):
        return Post.objects.order_by("pk")


def sitemap(request):
    return views.sitemap(request, {"posts": Posts})
"""


def test_a_function_of_the_project_may_call_our_view(project):
    """No check can see that; the URLs of this app are not needed then."""
    project.rows(2)
    project.write("blog/views.py", f"from blog.models import Post\n{OURS}\n{VIEWS}")
    (project.directory / "blog/sitemaps.py").unlink()
    urls = project.directory / "mysite/urls.py"
    text = urls.read_text().replace("import post\n", "import post, sitemap\n")
    include = 'path("", include("django_sitemaps_plus.urls"))'
    project.write("mysite/urls.py", text.replace(include, 'path("s.xml", sitemap)'))
    project.settings("SITEMAPS_PLUS = {}\nDEBUG = False\nALLOWED_HOSTS = ['*']")
    assert warnings_of(project) == {"W025", "W038"}
    status, text, _ = project.get("/s.xml")
    assert (status, text.count("<loc>")) == (200, 2)


CONTRIB = """
from blog.models import Post
from django.contrib.auth.models import Group
from django.contrib.sitemaps import GenericSitemap, Sitemap
from django_sitemaps_plus import register


class PostSitemap(Sitemap):
    def items(self):
        return Post.objects.filter(draft=False)

    def lastmod(self, post):
        return post.updated
"""

#: What contrib takes, or ignores, and we take.
TAKEN = """
class Moved(PostSitemap):
    i18n = alternates = True
    languages = ["en", "de"]

    def get_domain(self, site=None):
        return "www.blog.example"


class Shown(PostSitemap):
    def images(self, post):
        return f"/media/{post.slug}.jpg"


register("größe", Moved)
register("blog.posts", lambda: PostSitemap())
register("Blog", Shown)
"""


def test_what_contrib_takes_is_taken(project):
    """A host of its own; a callable; names; images."""
    project.rows(2)
    project.write("blog/sitemaps.py", CONTRIB + TAKEN)
    checked = project.manage("check")
    assert checked.returncode == 0
    built = project.manage("build_sitemaps")
    assert built.returncode == 0, built.stderr
    status, text, _ = project.get("/sitemap-gr%C3%B6%C3%9Fe-1.xml")
    assert status == 200
    assert text.count("<loc>https://www.blog.example/blog/post-") == 4
    assert text.count('href="https://www.blog.example/blog/post-') == 8
    assert "https://blog.example" not in text
    _, text, _ = project.get("/sitemap-Blog-1.xml")
    assert "<image:loc>https://blog.example/media/post-0.jpg</image:loc>" in text
    public = project.directory / "media/sitemaps/public"
    assert (public / "sitemap-blog.posts-1.xml.gz").exists()
    assert (public / "sitemap-größe-1.xml.gz").exists()


def test_strict_is_for_continuous_integration(project):
    """A lastmod as text is left out: a warning, or a failure if that is asked for."""
    project.rows(2)
    text = CONTRIB.replace("post.updated", "str(post.updated.year)")
    project.write("blog/sitemaps.py", f'{text}\nregister("blog", PostSitemap)\n')
    assert project.manage("build_sitemaps").returncode == 0
    preview = project.manage("preview_sitemap", "blog", "--limit", "1")
    assert preview.returncode == 0
    assert preview.stderr == ""
    assert preview.stdout.splitlines()[1:3] == [
        "<url><loc>https://blog.example/blog/post-0/</loc></url>",
        "2 of 2 entries listed, 2 values or repetitions left out",
    ]
    assert "Post 1 listed without lastmod" in preview.stdout
    strict = project.manage("build_sitemaps", "--strict")
    assert strict.returncode == 1
    said = "blog: 2 of 2 entries listed, 2 values or repetitions left out"
    assert said in strict.stderr.splitlines()[-1]


URLS = """
from blog.models import Post
from django.contrib.sitemaps import GenericSitemap, Sitemap


class PostSitemap(Sitemap):
    def items(self):
        return Post.objects.filter(draft=False)


sitemaps = {
    "posts": PostSitemap,
    "all": GenericSitemap({"queryset": Post.objects.all()}),
}
"""

#: What a process does that has asked for no section yet.
SAVE = """
from blog.models import Post
from django.urls import reverse
Post.objects.create(slug="saved", title="Saved")
print(reverse("admin:auth_user_changelist"))
"""


@pytest.fixture
def adopted(project):
    """Have two posts, a dict in the URLconf and no module that registers sections.

    Our app comes before the admin, whose URLs must not be made before it is ready.
    """
    project.rows(2)
    (project.directory / "blog/sitemaps.py").unlink()
    project.replace("mysite/urls.py", "\nurlpatterns", f"{URLS}\n\nurlpatterns")
    project.settings(
        'INSTALLED_APPS = ["django_sitemaps_plus", *INSTALLED_APPS[:-2], "blog"]\n'
        'SITEMAPS_PLUS["CONTRIB_SITEMAPS"] = "mysite.urls.sitemaps"'
    )
    return project


def test_the_dict_is_served_built_and_followed(adopted):
    """At our URLs and at the old ones; a save is recorded by any process."""
    checked = adopted.manage("check")
    assert (checked.returncode, checked.stderr) == (0, "")
    status, text, _ = adopted.get("/sitemap-posts-1.xml")
    assert (status, text.count("<loc>")) == (200, 2)
    assert adopted.manage("build_sitemaps").returncode == 0
    saved = adopted.manage("shell", "-c", SAVE)
    assert saved.stdout.splitlines()[-1] == "/admin/auth/user/"
    built = adopted.manage("build_sitemaps")
    assert (built.returncode, built.stderr) == (0, "")
    for section in ("posts", "all"):
        status, text, _ = adopted.get(f"/sitemap-{section}-1.xml")
        assert (status, text.count("<loc>")) == (200, 3)
        assert "https://blog.example/blog/saved/" in text
    assert adopted.get("/sitemap-all.xml")[0] == 301
    _, text, _ = adopted.get()
    assert text.count("<loc>https://blog.example/sitemap-") == 2


def test_a_wrong_path_is_named_and_django_starts(adopted):
    """By a check, with the value; the rest of the site is there."""
    adopted.settings('SITEMAPS_PLUS["CONTRIB_SITEMAPS"] = "mysite.url.sitemaps"')
    checked = adopted.manage("check")
    assert checked.returncode == 1
    assert "(sitemaps_plus.E042)" in checked.stderr
    assert "No module named 'mysite.url'" in checked.stderr
    assert "Traceback" not in checked.stderr
    assert adopted.get("/blog/post-0/")[:2] == (200, "post-0")
