"""The Celery app of the test project; tests/support/servers/workers.py runs it."""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tests.support.worker_settings")

app = Celery("tests", set_as_current=True)
# Of all threads, though a test before has asked for the app when there was none.
app.set_default()
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
