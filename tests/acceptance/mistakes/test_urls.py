"""Mistakes in the URLconf: crawlers do not find the index, or ignore what it lists."""

from __future__ import annotations

import pytest

INCLUDE = '    path("", include("django_sitemaps_plus.urls")),\n'

#: What somebody wrote in its place, and the exit status and words of `check`.
MISTAKES = {
    "none": ("", 0, "does not include the sitemaps"),
    "prefix": (
        '    path("seo/", include("django_sitemaps_plus.urls")),\n',
        0,
        "Sitemaps are below /seo/. The protocol lets a sitemap list only URLs at or "
        "below its own directory",
    ),
    "languages": (
        '    *i18n_patterns(path("", include("django_sitemaps_plus.urls"))),\n',
        0,
        "outside of i18n_patterns()",
    ),
    "file": (
        '    path("sitemap.xml", include("django_sitemaps_plus.urls")),\n',
        1,
        "The index is at /sitemap.xmlsitemap.xml",
    ),
    "catch-all": (
        f'    path("<path:slug>", post),\n{INCLUDE}',
        1,
        "/sitemap.xml leads to blog.views.post, not to the sitemaps.",
    ),
    "contrib": (
        '    path("sitemap.xml", sitemap, {"sitemaps": {}}),\n' + INCLUDE,
        1,
        "/sitemap.xml leads to django.contrib.sitemaps.views.sitemap, not to the",
    ),
    "namespace": (
        f'    path("", include(([\n{INCLUDE}    ], "seo"))),\n',
        0,
        "without a namespace",
    ),
}

IMPORTS = """
from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps.views import sitemap
"""


@pytest.mark.parametrize("name", MISTAKES)
def test_a_wrong_place_is_named_with_the_right_one(project, name):
    """A warning where some URLs may work, else an error."""
    written, status, said = MISTAKES[name]
    project.replace("mysite/urls.py", INCLUDE, written)
    project.replace("mysite/urls.py", "\nurlpatterns", f"{IMPORTS}\nurlpatterns")
    checked = project.manage("check")
    assert checked.returncode == status
    assert said in checked.stderr
    assert 'path("", include("django_sitemaps_plus.urls"))' in checked.stderr
