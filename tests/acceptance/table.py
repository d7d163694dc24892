"""Prints what the tables say: a JSON object of URLs and dates; run as a program."""

from __future__ import annotations

import json
import os
import sys
from datetime import UTC

import django

django.setup()

from django.conf import settings  # noqa: E402 - models need a set-up Django
from django.urls import reverse  # noqa: E402

from example_project.atlas.models import City, Country  # noqa: E402


def main() -> None:
    """Ask each row for its URL, one by one."""
    origin = os.environ["BASE_URL"]
    assert settings.SITEMAPS_PLUS["BASE_URL"] == origin
    found = {origin + reverse(f"atlas:{name}"): None for name in ("home", "about")}
    for model in (Country, City):
        for row in model.objects.only("slug", *extra(model), "updated_at").iterator():
            moment = row.updated_at.astimezone(UTC).isoformat(timespec="seconds")
            found[origin + row.get_absolute_url()] = moment
    json.dump(found, sys.stdout)


def extra(model: type) -> list[str]:
    return ["geoname_id"] if model is City else []


if __name__ == "__main__":
    main()
