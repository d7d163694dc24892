"""A project of contrib's that adds one line: the dict of its URLconf is served."""

from __future__ import annotations

import pytest

INCLUDE = '    path("", include("django_sitemaps_plus.urls")),\n'

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

BROKEN = {
    "mysite.url.sitemaps": "No module named 'mysite.url'",
    "mysite.urls.sitemap": "module 'mysite.urls' has no attribute 'sitemap'",
    "mysite.urls.urlpatterns": "which is a list and not a dict.",
}


@pytest.fixture(autouse=True)
def of_contrib(project):
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


def test_the_dict_is_served_built_and_followed(project):
    """At our URLs and at the old ones; a save is recorded by any process."""
    checked = project.manage("check")
    assert (checked.returncode, checked.stderr) == (0, "")
    status, text, _ = project.get("/sitemap-posts-1.xml")
    assert (status, text.count("<loc>")) == (200, 2)
    assert project.manage("build_sitemaps").returncode == 0
    saved = project.manage("shell", "-c", SAVE)
    assert saved.stdout.splitlines()[-1] == "/admin/auth/user/"
    built = project.manage("build_sitemaps")
    assert (built.returncode, built.stderr) == (0, "")
    for section in ("posts", "all"):
        status, text, _ = project.get(f"/sitemap-{section}-1.xml")
        assert (status, text.count("<loc>")) == (200, 3)
        assert "https://blog.example/blog/saved/" in text
    assert project.get("/sitemap-all.xml")[0] == 301
    _, text, _ = project.get()
    assert text.count("<loc>https://blog.example/sitemap-") == 2


@pytest.mark.parametrize("path", BROKEN)
def test_a_wrong_path_is_named_and_django_starts(project, path):
    """By a check, with the value; the rest of the site is there."""
    project.settings(f'SITEMAPS_PLUS["CONTRIB_SITEMAPS"] = {path!r}')
    checked = project.manage("check")
    assert checked.returncode == 1
    assert f"(sitemaps_plus.E042) SITEMAPS_PLUS['CONTRIB_SITEMAPS'] is {path!r}" in (
        checked.stderr
    )
    assert BROKEN[path] in checked.stderr
    assert "Traceback" not in checked.stderr
    assert project.get("/blog/post-0/")[:2] == (200, "post-0")
