"""Print as JSON what a fresh process takes for the code of sources, and what it builds.

To be called with a directory, which all processes share, and the number of the process.
"""

from __future__ import annotations

import json
import os
import sys
from contextlib import suppress
from typing import Any

import django
from django.conf import settings
from django.core.management import call_command
from django.test.utils import override_settings
from django.urls import include, path

ATLAS_LANGUAGES = [(code, code) for code in ("en", "el", "he", "ko")]


def main(directory: str, number: str) -> None:
    """Print fingerprints, hashes of values, and counts of pages rendered."""
    database: dict[str, Any] = {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": f"{directory}/db",
    }
    database["OPTIONS"] = {"init_command": "PRAGMA synchronous=OFF"}
    os.fsync = lambda descriptor: None  # nothing is to last
    os.environ |= {"TEST_DATABASE": json.dumps(database), "TEST_PROCESS": number}
    from tests.support import settings as given

    values = {key: value for key, value in vars(given).items() if key.isupper()}
    values["INSTALLED_APPS"] = [*given.INSTALLED_APPS, "example_project.atlas"]
    settings.configure(**values | {"MEDIA_ROOT": f"{directory}/media"})
    django.setup()

    from django_sitemaps_plus import register
    from django_sitemaps_plus.exceptions import SourceError
    from django_sitemaps_plus.registry import registry
    from django_sitemaps_plus.section import open_section
    from django_sitemaps_plus.tracking.deploys import fingerprint, query_values
    from tests.support import urls
    from tests.support.builds import build_and_relay
    from tests.support.shop import make_products

    from .zoo import sources

    urls.urlpatterns.append(path("a/", include("example_project.atlas.urls")))
    registry._registry.clear()
    found = sources()
    if number == "1":
        call_command("migrate", run_syncdb=True, verbosity=0)
        make_products(5)
    else:
        found = dict(reversed(found.items()))
    printed: dict[str, Any] = {}
    rendered: dict[str, int] = {}
    for is_atlas, languages in (False, given.LANGUAGES), (True, ATLAS_LANGUAGES):
        names = [it for it in found if it.startswith("example_project") == is_atlas]
        with override_settings(LANGUAGES=languages):
            for name in names:
                register(name, found[name])
                section = open_section(name)
                with suppress(SourceError), section.reading():
                    printed[name] = [it := fingerprint(section)]
                    printed[name].append(query_values(section, it))
            for report in build_and_relay(names).sections:
                if not report.errors:
                    rendered[report.section] = report.rendered
    json.dump([printed, rendered], sys.stdout)


if __name__ == "__main__":
    main(*sys.argv[1:])
