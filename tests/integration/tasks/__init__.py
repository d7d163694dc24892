"""Tests of the Celery tasks, with real workers on a real broker."""
