"""Checks of what a source depends on and does not hear of."""

from __future__ import annotations

from collections.abc import Iterator

from django.apps import apps
from django.core.checks import CheckMessage

from django_sitemaps_plus.conf import DEFAULT_SITE, Site
from django_sitemaps_plus.core.plan import KeyRange
from django_sitemaps_plus.sources import ModelSource
from django_sitemaps_plus.sources.dependencies import inner_tables, joined_tables
from django_sitemaps_plus.tracking.watching import heard_models

from .messages import warning


def check_heard(source: ModelSource) -> Iterator[CheckMessage]:
    """Yield the models whose rows decide what is listed while nobody hears of them.

    The source can be queried.
    """
    if names := ", ".join(sorted(_unheard(source))):
        yield warning(
            9,
            f"it depends on rows of {names}, whose saves it does not hear.",
            "Name the model in watch, with the path that leads from it to the rows "
            "listed. Where no path does, pass these rows to notify_changed().",
        )


def _unheard(source: ModelSource) -> Iterator[str]:
    """Yield the labels of models that only joins and inner queries name."""
    heard = heard_models(source)
    tables = joined_tables(source.queryset().query)
    tables |= inner_tables(source.page_query(KeyRange(), Site(DEFAULT_SITE, "")).query)
    tables -= {model._meta.db_table for model in heard}
    for model in apps.get_models(include_auto_created=True):
        if model._meta.db_table not in tables:
            continue
        if not model._meta.auto_created:
            yield model._meta.label
            continue
        # Who watches the models at the ends of a relation hears of it as well.
        ends = [field.related_model for field in model._meta.fields]
        yield from {end._meta.label for end in ends if end and end not in heard}
