"""Failures, which end a command with one sentence."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import CommandError
from django.db import Error

from django_sitemaps_plus.exceptions import SitemapsPlusError
from django_sitemaps_plus.outages import in_one_line


@contextmanager
def in_a_sentence(sentence: str = "{}.") -> Iterator[None]:
    """Raise what the app, the settings or a database fail with as a CommandError."""
    try:
        yield
    except (SitemapsPlusError, ImproperlyConfigured, Error) as error:
        raise CommandError(sentence.format(in_one_line(error))) from error
