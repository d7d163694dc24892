"""Imported by workers: registers the sections that the test has told them of."""

from django.conf import settings
from django.utils.module_loading import import_string

from django_sitemaps_plus import registry

for name, path in settings.WORKER_SECTIONS.items():
    registry.register(name, import_string(path))
