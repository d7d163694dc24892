"""A program that saves products as told, and prints what that took.

Each line that it reads is a context and a number of saves; it answers with the seconds
of all and of the slowest, and with what was raised.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable

import django
from django.db import transaction

from tests import celery_app  # noqa: F401 - whose messages ours are


def in_autocommit(work: Callable[[], None]) -> None:
    """Save as a shell does."""
    work()


def in_atomic(work: Callable[[], None]) -> None:
    """Save as a view with ATOMIC_REQUESTS does."""
    with transaction.atomic():
        work()


def in_nested_atomic(work: Callable[[], None]) -> None:
    """Save in a savepoint of a transaction."""
    with transaction.atomic(), transaction.atomic():
        work()


def save(context: str, count: int) -> dict[str, object]:
    """Save a product so often; return what it took."""
    from tests.testapp.models import Product

    product = Product.objects.order_by("pk")[0]
    slowest, raised = 0.0, []
    began = time.perf_counter()
    for number in range(count):
        product.slug = f"{context}-{number}"
        start = time.perf_counter()
        try:
            globals()[f"in_{context}"](product.save)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is reported
            raised.append(repr(error))
        slowest = max(slowest, time.perf_counter() - start)
    seconds = time.perf_counter() - began
    return {"seconds": seconds, "slowest": slowest, "raised": raised[:3]}


def main() -> None:
    """Answer each line."""
    django.setup()
    from tests.servers import sections  # noqa: F401 - they are registered

    for line in sys.stdin:
        context, count = line.split()
        print(json.dumps(save(context, int(count))), flush=True)


if __name__ == "__main__":
    main()
