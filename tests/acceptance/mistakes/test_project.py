"""The project without a mistake: all is well, so that what tests find is theirs."""

from __future__ import annotations


def test_the_project_has_no_mistake(project):
    """It checks, builds and serves its posts without a word on stderr."""
    project.rows(2)
    checked = project.manage("check", "--fail-level", "WARNING")
    assert (checked.returncode, checked.stderr) == (0, "")
    built = project.manage("build_sitemaps")
    assert (built.returncode, built.stderr) == (0, "")
    status, text, logged = project.get("/sitemap-posts-1.xml")
    assert (status, logged) == (200, "")
    assert "https://blog.example/blog/post-1/" in text
