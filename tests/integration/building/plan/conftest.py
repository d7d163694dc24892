"""Fixtures of the tests of the plan."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import connection, models
from django.test.utils import isolate_apps

from django_sitemaps_plus.building import worker
from django_sitemaps_plus.exceptions import SourceError
from django_sitemaps_plus.models import Page, Section
from tests.support.shop import limited

from .plans import spread


@pytest.fixture(autouse=True)
def compared(right_totals: None) -> None:
    """Compare totals at the end of each test."""


@pytest.fixture
def spaced(publish: Callable[..., Section]) -> Callable[..., Section]:
    """Return what publishes products with room between their keys."""

    def spaced(rows: int, limit: int = 10, **attributes: Any) -> Section:
        spread(rows)
        return publish(limited(limit, **attributes))

    return spaced


@pytest.fixture
def keyed(transactional_db: None) -> Iterator[Callable[[models.Field], Any]]:
    """Return what makes a table whose primary key is a given field."""
    made = []

    def make(field: models.Field[Any, Any]) -> Any:
        with isolate_apps("tests.support.testapp"):
            meta = type("Meta", (), {"app_label": "testapp"})
            body = {"__module__": __name__, "Meta": meta, "code": field}
            model = type("Keyed", (models.Model,), body)
        with connection.schema_editor() as editor:
            editor.create_model(model)
        made.append(model)
        return model

    yield make
    for model in made:
        with connection.schema_editor() as editor:
            editor.delete_model(model)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return what makes pages of some numbers fail, and what mends them."""
    build = worker.build_page

    def fail(*numbers: int) -> None:
        def build_page(page: Page, *others: Any) -> Any:
            if page.number in numbers:
                raise SourceError("not today")
            return build(page, *others)

        monkeypatch.setattr(worker, "build_page", build_page)

    return fail
