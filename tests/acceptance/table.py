"""Prints what the tables say: a JSON object of URLs and dates; run as a program."""

import json
import os
import sys
from datetime import UTC

import django

django.setup()

from django.conf import settings  # noqa: E402 - models need a set-up Django
from django.db.models import QuerySet  # noqa: E402
from django.urls import reverse  # noqa: E402
from django.utils.translation import override  # noqa: E402

from example_project.atlas.models import City, Country  # noqa: E402


def main() -> None:
    origin = os.environ["BASE_URL"]
    assert settings.SITEMAPS_PLUS["BASE_URL"] == origin
    found = {}
    for code, _ in settings.LANGUAGES:
        with override(code):
            for name in ("home", "about"):
                found[origin + reverse(f"atlas:{name}")] = None
            for row in [*Country.objects.all(), *cities_in(code).iterator()]:
                moment = row.updated_at.astimezone(UTC).isoformat(timespec="seconds")
                found[origin + row.get_absolute_url()] = moment
    json.dump(found, sys.stdout)


def cities_in(code: str) -> QuerySet[City]:
    cities = City.objects.defer("alternate_names")
    return cities if code == "en" else cities.exclude(**{f"name_{code}": ""})


if __name__ == "__main__":
    main()
