"""Mistakes in the languages of a project: each is named, with the remedy."""

from __future__ import annotations

from .project import Project

PREFIXES = """
from django.conf.urls.i18n import i18n_patterns

urlpatterns = [urlpatterns[-1], *i18n_patterns(*urlpatterns[:-1])]
"""


def warnings_of(project: Project) -> str:
    """Return what the checks say, in one line."""
    done = project.manage("check")
    assert done.returncode == 0, done.stderr
    return " ".join(done.stderr.split())


def test_languages_that_nobody_has_chosen_are_named(project):
    """As after startproject: Django has a hundred, and no middleware for them."""
    urls = (project.directory / "mysite/urls.py").read_text()
    project.write("mysite/urls.py", f"{urls}\n{PREFIXES}")
    project.replace("blog/sitemaps.py", '"updated"', '"updated"\n    languages = "all"')
    words = warnings_of(project)
    assert "W051) Section 'posts'" in words
    assert "404" in words
    assert "Add 'django.middleware.locale.LocaleMiddleware' to MIDDLEWARE" in words
    assert "W052) Section 'posts': languages is \"all\": " in words
    assert "Set LANGUAGES to those of your site, or name them in languages." in words
    project.settings(
        'MIDDLEWARE.insert(2, "django.middleware.locale.LocaleMiddleware")\n'
        'LANGUAGES = [("en", "English"), ("de", "German")]'
    )
    assert "W05" not in warnings_of(project)
