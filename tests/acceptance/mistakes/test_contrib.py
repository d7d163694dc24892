"""What people bring from contrib, and what they get wrong on the way."""

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

#: By section: what is registered, and what the check says.
FAULTS = {
    "generic": ("GenericSitemap", "'info_dict'"),
    "class": ("lambda: PostSitemap", "returns <class 'blog.sitemaps.PostSitemap'>"),
    "method": ("PostSitemap.items", "missing 1 required positional argument"),
    "nowhere": (
        'GenericSitemap({"queryset": Group.objects.all()})',
        "it has no location(), and auth.Group no get_absolute_url().",
    ),
    "limit": ('type("S", (PostSitemap,), {"limit": 60_000})', "limit is 60000"),
    "property": (
        'type("S", (PostSitemap,), {"limit": property(len)})',
        "it cannot be used: TypeError: object of type 'S' has no len()",
    ),
    "scheme": ('type("S", (PostSitemap,), {"protocol": "https:"})', "https:://"),
    "domain": (
        'type("S", (PostSitemap,), {"get_domain": lambda s, site: "https://a.example"})',
        "'https://https://a.example'",
    ),
}


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


def test_each_fault_of_a_class_is_named(project):
    """By one check, with the section and what to do."""
    lines = [f"register({name!r}, {code})" for name, (code, _) in FAULTS.items()]
    project.write("blog/sitemaps.py", "\n".join([CONTRIB, *lines]))
    checked = project.manage("check")
    assert checked.returncode == 1
    assert "Traceback" not in checked.stderr
    for name, (_, said) in FAULTS.items():
        [line] = [it for it in checked.stderr.splitlines() if f"'{name}'" in it]
        assert said in line
    assert checked.stderr.count("HINT: ") == len(FAULTS)
    assert "Its limit, if it sets one, is a number." in checked.stderr


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ('register({"blog": PostSitemap})', "as in register('blog-posts')"),
        ("register(PostSitemap())", "as in register('blog-posts')"),
        ('register(PostSitemap, "b")', "as in register('blog-posts')"),
        ('register("news/blog", PostSitemap)', "'news/blog' cannot name a section"),
        (
            'register("blog", PostSitemap)\nregister("Blog", PostSitemap)',
            "Section 'Blog' is registered already as 'blog'",
        ),
        (
            'register("blog", {"queryset": Post.objects.all()})',
            "is not a source. Register a subclass",
        ),
    ],
)
def test_what_cannot_be_registered_is_refused(project, code, said):
    """With what to write, on the last line."""
    project.write("blog/sitemaps.py", f"{CONTRIB}\n{code}\n")
    checked = project.manage("check")
    assert checked.returncode == 1
    assert said in checked.stderr.splitlines()[-1]


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
