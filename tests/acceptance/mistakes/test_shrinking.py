"""Small sites whose sections lose all that they list: a typo, a filter, a deletion."""

from __future__ import annotations

import pytest

TYPO = '    def location(self, post):\n        return f"/blog/{post.slugg}/"\n'


def entries(project):
    """Return how many posts are listed."""
    return project.get("/sitemap-posts-1.xml")[1].count("<url>")


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        (
            '    location = Route("post", slug="slug")\n',
            TYPO,
            "99 of 99 rows cannot be listed",
        ),
        ("draft=False", "draft=True", "it would fall from 99 entries to 0"),
    ],
    ids=["a typo in location()", "the opposite filter"],
)
def test_a_small_section_that_would_lose_all_is_held(project, old, new, reason):
    """The build and the status fail and say why; what was published stays."""
    project.rows(99)
    assert project.manage("build_sitemaps").returncode == 0
    project.replace("blog/sitemaps.py", old, new)
    for command in ("build_sitemaps", "sitemap_status"):
        done = project.manage(command)
        assert done.returncode == 1
        named = "Post 1 left out: AttributeError: 'Post' object has no attribute"
        assert (named in done.stderr) == (new == TYPO and command == "build_sitemaps")
        assert reason in done.stderr
        assert "run build_sitemaps posts --allow-shrink" in done.stderr
    assert entries(project) == 99


def test_a_first_build_of_rows_that_are_all_left_out_fails(project):
    """Also later, until rows can be listed; the message names a row and its error."""
    project.rows(3)
    right = '    location = Route("post", slug="slug")\n'
    project.replace("blog/sitemaps.py", right, TYPO)
    for command in ("build_sitemaps", "build_sitemaps", "sitemap_status"):
        done = project.manage(command)
        assert done.returncode == 1
        assert "lists none of its" in done.stderr
    built = project.manage("build_sitemaps", "--full").stderr
    assert "'Post' object has no attribute 'slugg'" in built
    project.replace("blog/sitemaps.py", TYPO, right)
    assert project.manage("build_sitemaps").returncode == 0
    assert entries(project) == 3


def test_the_last_rows_of_a_small_section_go_when_that_is_allowed(project):
    """Some of them go unasked."""
    project.rows(3)
    assert project.manage("build_sitemaps").returncode == 0
    project.execute("DELETE FROM blog_post WHERE slug <> 'post-1'")
    assert project.manage("build_sitemaps", "--full").returncode == 0
    assert entries(project) == 1
    project.execute("DELETE FROM blog_post")
    done = project.manage("build_sitemaps", "--full")
    assert "it would fall from 3 entries to 0" in done.stderr
    assert project.manage("build_sitemaps", "--allow-shrink").returncode == 0
    assert project.manage("sitemap_status").returncode == 0
    assert entries(project) == 0
