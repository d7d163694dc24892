"""What the signals that we send have told."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.dispatch import Signal


@contextmanager
def hearing(signal: Signal) -> Iterator[list[dict[str, Any]]]:
    heard = []

    def hear(sender, signal, **told):
        heard.append(told)

    signal.connect(hear)
    try:
        yield heard
    finally:
        signal.disconnect(hear)
