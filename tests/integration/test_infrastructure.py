"""The database that these tests were asked to run on is the one that answers."""

import os
import threading
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection

from tests.support.testapp.models import Product

pytestmark = pytest.mark.database

ASKED_FOR = os.environ.get("TEST_DB", "sqlite")


@pytest.mark.django_db(transaction=True)
def test_the_database_is_what_was_asked_for() -> None:
    """No run on one database passes for another, nor two workers' tests for one.

    It keeps every script, and other threads see what is committed.
    """
    worker = os.environ.get("PYTEST_XDIST_WORKER", "")
    assert connection.vendor == ASKED_FOR
    assert str(connection.settings_dict["NAME"]).endswith(worker)
    name = "Zürich, القاهرة, 東京, \U0001f5fa"
    Product.objects.create(name=name, slug="everywhere")
    seen: list[str] = []

    def look() -> None:
        seen.extend(Product.objects.values_list("name", flat=True))
        connection.close()

    thread = threading.Thread(target=look)
    thread.start()
    thread.join()
    assert seen == [name]


@pytest.mark.parametrize("number", range(2))
def test_media_root_is_new_in_each_test(number) -> None:
    """No test sees the files of another."""
    Path(settings.MEDIA_ROOT).mkdir(parents=True)
