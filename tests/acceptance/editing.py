"""Edits of the example's tables, as people and scripts make them; run as a module.

``rename`` saves a city in the admin, ``update`` changes a thousand cities without a
signal, and ``delete`` removes a country with its cities. Each prints the URLs that it
took away, as JSON.
"""

import json
import sys

import django


def rename() -> list[str]:
    """Give a city another slug in the admin."""
    from django.contrib.auth import get_user_model
    from django.test import Client
    from django.test.utils import setup_test_environment
    from django.urls import reverse

    from example_project.atlas.models import City

    setup_test_environment()  # so that an answer has its context
    city = City.objects.order_by("-pk")[5_000]
    gone = [city.get_absolute_url()]
    admin = get_user_model().objects.create_superuser("admin")
    client = Client(headers={"host": "127.0.0.1"})
    client.force_login(admin)
    address = reverse("admin:atlas_city_change", args=[city.pk])
    form = client.get(address).context["adminform"].form
    answer = client.post(address, {**form.initial, "slug": f"{city.slug}-renamed"})
    if answer.status_code != 302:
        raise SystemExit(f"The admin answers {answer.status_code}")
    return gone


def update() -> list[str]:
    """Change the slugs of the first thousand cities in one statement."""
    from django.db.models import Value
    from django.db.models.functions import Concat
    from django.utils import timezone

    from example_project.atlas.models import City

    cities = list(City.objects.order_by("pk")[:1_000])
    moved = Concat("slug", Value("-moved"))
    rows = City.objects.filter(pk__in=[city.pk for city in cities])
    rows.update(slug=moved, updated_at=timezone.now())
    return [city.get_absolute_url() for city in cities]


def delete() -> list[str]:
    from django.db.models import Count

    from example_project.atlas.models import Country

    sizes = Country.objects.annotate(size=Count("cities")).filter(size__gte=20)
    country = sizes.order_by("size", "pk")[0]
    gone = [country, *country.cities.all()]
    urls = [place.get_absolute_url() for place in gone]
    country.delete()
    return urls


if __name__ == "__main__":
    django.setup()
    edits = {"rename": rename, "update": update, "delete": delete}
    json.dump(edits[sys.argv[1]](), sys.stdout)
