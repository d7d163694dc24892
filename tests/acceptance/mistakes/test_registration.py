"""Sources that nobody finds, and sources that are broken when Django starts."""

from __future__ import annotations

import pytest

SITEMAPS = "blog/sitemaps.py"


@pytest.mark.parametrize(
    ("new", "words"),
    [
        ("@register", 'write @register("products") above PostSource'),
        ("@register()", 'write @register("products") above the class'),
        (
            'register("all", Post.objects.all())',
            "Section 'all': a QuerySet is not a source. Register a subclass of",
        ),
        (
            'register("all", type("Posts", (), {"model": Post}))',
            "Section 'all': <class 'blog.sitemaps.Posts'> is not a source. Register a",
        ),
    ],
)
def test_what_register_is_not_given(project, new, words):
    """The message has what to write, and the traceback the line where it is wrong."""
    project.replace(SITEMAPS, '@register("posts")', new)
    done = project.manage("check")
    assert done.returncode == 1
    assert words in done.stderr.splitlines()[-1]
    assert 'blog/sitemaps.py", line' in done.stderr


@pytest.mark.parametrize(
    ("module", "old", "words"),
    [
        ("blog/sitemap.py", "", "Rename the module blog.sitemap to sitemaps."),
        ("mysite/sitemaps.py", "", "Looked for: blog.sitemaps (missing)."),
        (SITEMAPS, '@register("posts")', "Looked for: blog.sitemaps."),
    ],
    ids=["sitemap.py", "outside of the installed apps", "no decorator"],
)
def test_nothing_registered(project, module, old, words):
    """Checks warn and say where they looked; a build of nothing fails."""
    text = (project.directory / SITEMAPS).read_text()
    (project.directory / SITEMAPS).unlink()
    project.write(module, text.replace(old, "") if old else text)
    checked = project.manage("check")
    assert (checked.returncode, "W025" in checked.stderr) == (0, True)
    assert words in checked.stderr
    assert '@register("pages")' in checked.stderr
    built = project.manage("build_sitemaps")
    assert built.returncode == 1
    assert "CommandError: No section is registered" in built.stderr


def test_an_error_in_the_first_module_is_shown_as_it_is(project):
    """Although the module had registered a section before."""
    text = (project.directory / SITEMAPS).read_text()
    project.write(SITEMAPS, f"{text}\n\nimport nothing_of_this_name\n")
    done = project.manage("check")
    assert done.returncode == 1
    last = done.stderr.splitlines()[-1]
    assert last == "ModuleNotFoundError: No module named 'nothing_of_this_name'"
    assert "UnboundLocalError" not in done.stderr


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("    model = Post\n", "", "E013) Section 'posts': model is None."),
        ("= Post\n", '= "blog.Post"\n', "E013) Section 'posts': model is 'blog.Post'."),
        ("= Post\n", "= Post\n    starts = 5\n", "E023) Section 'posts': it cannot be"),
    ],
    ids=["no model", "the name of a model", "a number for a path"],
)
def test_a_broken_source_reaches_the_checks(project, old, new, words):
    """Django starts, and the check names section, value and remedy."""
    project.replace(SITEMAPS, old, new)
    done = project.manage("check")
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stderr.count("Saves of section 'posts' are not recorded: ") <= 1
    assert "HINT" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_source_that_asks_the_database_lets_an_empty_one_be_migrated(project):
    """As is natural with Wagtail, where a queryset depends on the site's root."""
    (project.directory / "db.sqlite3").unlink()
    asks = ".filter(draft=Post.objects.filter(title='none').exists())"
    project.replace(SITEMAPS, ".filter(draft=False)", asks)
    done = project.manage("migrate")
    assert (done.returncode, done.stderr) == (0, "")
    assert project.manage("check").returncode == 0


def test_an_app_that_is_not_installed_is_named(project):
    """By the URLconf, which includes its URLs."""
    project.settings('INSTALLED_APPS.remove("django_sitemaps_plus")')
    done = project.manage("check")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].endswith(
        "ImproperlyConfigured: Add 'django_sitemaps_plus' to INSTALLED_APPS."
    )
