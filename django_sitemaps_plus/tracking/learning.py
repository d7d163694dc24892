"""Learning: which models contrib classes list, as only their ``items()`` says."""

from __future__ import annotations

import time
from contextlib import suppress

from django.apps import apps
from django.db.models import Model

from django_sitemaps_plus.conf import is_tracking
from django_sitemaps_plus.models import Section
from django_sitemaps_plus.models.clock import Now
from django_sitemaps_plus.models.transactions import contained
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sources import SitemapSource, Source

#: Seconds after which a process asks again for what is not known yet.
PAUSE_SECONDS = 10.0

_asked_at = -PAUSE_SECONDS  # by the monotonic clock


def note_models(section: Section, source: Source, *, is_new: bool) -> None:
    """Note for all processes what a class lists, which is asked once a deploy."""
    if not isinstance(source, SitemapSource):
        return
    models = None if is_new else _models(section.listed_models)
    if models is None:  # or does not say it yet: a list may be empty
        models = source.listed_models()
        labels = None if models is None else ",".join(m._meta.label for m in models)
        if labels != section.listed_models:
            section.listed_models = labels
            # Saves were not recorded: the grace begins anew.
            noted = {"listed_models": labels, "new_since": Now()}
            Section.objects.filter(pk=section.pk).update(**noted)
    if models not in (None, source.models):
        source.models = models
        registry.changed()


def unknown_sections() -> dict[str, SitemapSource]:
    """Return the sections of which this process does not know what they list."""
    return {
        name: source
        for name, source in registry.items()
        if isinstance(source, SitemapSource) and source.models is None
    }


def learn() -> set[str]:
    """Learn what builds have noted, unless asked of late; return sections now known."""
    global _asked_at
    now = time.monotonic()
    if now < _asked_at + PAUSE_SECONDS or not is_tracking():
        return set()
    _asked_at = now
    sections = unknown_sections()
    # Without our tables, or out of reach: no build can be there either.
    with suppress(Exception), contained():
        rows = Section.objects.filter(name__in=sections, listed_models__isnull=False)
        for name, labels in rows.values_list("name", "listed_models"):
            sections[name].models = _models(labels)
        if found := sections.keys() - unknown_sections():
            registry.changed()
        return found
    return set()


def _models(labels: str | None) -> tuple[type[Model], ...] | None:
    try:
        names = filter(None, (labels or "").split(","))
        return None if labels is None else tuple(map(apps.get_model, names))
    except LookupError:  # of other code
        return None
