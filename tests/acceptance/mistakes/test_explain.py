"""``explain_url`` in a project: what leaves a post out of the sitemap."""

from __future__ import annotations

import pytest

POST = "https://blog.example/blog/post-1"

#: Of each mistake what is replaced in which file, and words of the answer.
MISTAKES = {
    "draft": (None, '"draft"; its draft is True'),
    "error": (
        ("blog/models.py", 'reverse("post", args=[self.slug])', "self.missing"),
        "AttributeError: 'Post' object has no attribute 'missing'",
    ),
    "source": (
        ("blog/sitemaps.py", "filter(draft=False)", "filter(draf=False)"),
        "Cannot resolve keyword 'draf' into field",
    ),
    "route": (
        ("mysite/urls.py", '    path("blog/<slug:slug>/", post, name="post"),\n', ""),
        "No URL pattern matches it.",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_the_answer_names_what_leaves_a_post_out(project, name):
    """And no traceback is shown."""
    project.rows(2)
    change, words = MISTAKES[name]
    if change is None:
        project.execute("UPDATE blog_post SET draft = 1 WHERE slug = 'post-1'")
    else:
        project.replace(*change)
    if name == "error":
        declared = '    location = Route("post", slug="slug")\n'
        method = (
            "    def location(self, post):\n        return post.get_absolute_url()\n"
        )
        project.replace("blog/sitemaps.py", declared, method)
    done = project.manage("explain_url", f"{POST}/")
    assert words in done.stdout
    assert done.stderr == f"CommandError: {POST}/ is not listed.\n"
    assert done.returncode == 1


def test_a_post_without_its_slash_is_a_near_miss(project):
    """Its page is served live."""
    project.rows(2)
    done = project.manage("explain_url", POST)
    assert done.stdout.startswith(f"Listed instead: {POST}/ is on page 1 of section")
    assert done.returncode == 1
