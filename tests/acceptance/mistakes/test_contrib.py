"""What people bring from contrib: classes, and the dict of a URLconf."""

from __future__ import annotations

import pytest

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
