"""Django's own tests of its sitemaps, with the views of this app in their URLs.

Run ``python -m tests.acceptance.third_party.django_sitemaps``, or the tests with
``SOAK=1``. It fetches the source distribution of the Django that is installed, changes
the import of the views in ``tests/sitemaps_tests/urls``, adds the app to the installed
ones, and runs the tests. All of them are to pass; the exit code is that of Django.

They have ``USE_TZ = False``, and contrib's index prints naive datetimes without their
zone, which no W3C date may lack: what they expect there gets that of ``TIME_ZONE``.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import django

ROOT = Path(__file__).parents[3]

#: In each file, what is changed.
CHANGES = {
    "runtests.py": [
        (
            "ALWAYS_INSTALLED_APPS = [",
            'ALWAYS_INSTALLED_APPS = ["django_sitemaps_plus",',
        ),
        # So that system checks see the project that the tests are about.
        ('ROOT_URLCONF = "urls"', 'ROOT_URLCONF = "sitemaps_tests.urls.http"'),
    ],
    "sitemaps_tests/urls/http.py": [
        (
            "from django.contrib.sitemaps import GenericSitemap, Sitemap, views",
            "from django.contrib.sitemaps import GenericSitemap, Sitemap\n"
            "from django_sitemaps_plus.contrib import views",
        )
    ],
    "sitemaps_tests/urls/https.py": [
        (
            "from django.contrib.sitemaps import views",
            "from django_sitemaps_plus.contrib import views",
        )
    ],
    "sitemaps_tests/test_generic.py": [
        ("2013-03-13T10:00:00</lastmod>", "2013-03-13T10:00:00-05:00</lastmod>")
    ],
    "sitemaps_tests/test_http.py": [
        ("2013-03-13T10:00:00</lastmod>", "2013-03-13T10:00:00-05:00</lastmod>"),
        ("2014-03-13T10:00:00</lastmod>", "2014-03-13T10:00:00-05:00</lastmod>"),
        (
            'index_response.headers["Last-Modified"], "Thu, 13 Mar 2014 10:00:00 GMT"',
            'index_response.headers["Last-Modified"], "Thu, 13 Mar 2014 15:00:00 GMT"',
        ),
    ],
}


def main() -> int:
    with tempfile.TemporaryDirectory() as directory:
        tests = fetched(Path(directory)) / "tests"
        for name, changes in CHANGES.items():
            text = (tests / name).read_text()
            for before, after in changes:
                assert before in text, f"{name} has changed: {before}"
                text = text.replace(before, after)
            (tests / name).write_text(text)
        command = [sys.executable, "runtests.py", "sitemaps_tests", "--parallel=1"]
        environment = {**os.environ, "PYTHONPATH": str(ROOT)}
        for name in ("DJANGO_SETTINGS_MODULE", "PYTHONDEVMODE"):
            environment.pop(name, None)
        done = subprocess.run(command, cwd=tests, env=environment, check=False)
    return done.returncode


def fetched(directory: Path) -> Path:
    options = ["-qq", "--no-deps", "--no-binary=django", f"--dest={directory}"]
    wanted = f"django=={django.__version__}"
    pip = [sys.executable, "-m", "pip", "download", *options, wanted]
    subprocess.run(pip, check=True)
    (archive,) = directory.glob("*.tar.gz")
    with tarfile.open(archive) as file:
        file.extractall(directory, filter="data")
    return directory / archive.name.removesuffix(".tar.gz")


if __name__ == "__main__":
    sys.exit(main())
