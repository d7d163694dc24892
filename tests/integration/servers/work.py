"""Tasks for the workers of these tests."""

from __future__ import annotations

import time

from celery import shared_task

from tests.support.testapp.models import Product


@shared_task(ignore_result=True)
def count_products() -> None:
    n = Product.objects.count()
    Product.objects.create(name=f"saw {n}", slug=f"saw-{n}")


@shared_task(ignore_result=True, acks_late=True, reject_on_worker_lost=True)
def hold() -> None:
    count_products()
    time.sleep(600)
