"""How far it is: what somebody passes who follows a request, a save or a build.

``python -m tests.benchmarks.walks`` counts the files and functions of the package that
six walks lead through, and how often the next function is in another file than the
one before. Each walk has a process of its own.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from importlib import import_module
from inspect import CO_OPTIMIZED
from itertools import pairwise
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import django
from django.core.management import call_command
from django.test import Client, override_settings
from django.urls import get_resolver

PACKAGE = str(Path(__file__).parents[2] / "django_sitemaps_plus") + os.sep

ROWS, ROWS_OF_A_PAGE = 25, 10

_PAGE = "/sitemap-products-1.xml"

Figures = tuple[int, int, int]


def figures(walk: Callable[[], object]) -> Figures:
    """Return files, functions and changes of file, in the order of first calls."""
    passed: dict[Any, str] = {}

    def note(frame: Any, event: str, argument: object) -> None:
        code = frame.f_code
        # Neither lambdas and comprehensions, nor classes that are being defined.
        is_function = code.co_flags & CO_OPTIMIZED and code.co_name[0] != "<"
        if event == "call" and is_function and code.co_filename.startswith(PACKAGE):
            passed.setdefault(code, code.co_filename)

    sys.setprofile(note)
    try:
        walk()
    finally:
        sys.setprofile(None)
    files = list(passed.values())
    changes = sum(a != b for a, b in pairwise(files))
    return len(set(files)), len(files), changes


def _get(path: str) -> None:
    assert Client().get(path).status_code == 200


def _build() -> None:
    call_command("build_sitemaps", verbosity=0)


def _save() -> None:
    from tests.support.testapp.models import Product

    product = Product.objects.get(slug="product-00003")
    product.name += "."
    product.save()


def _all() -> None:
    _save()
    _build()
    call_command("notify_search_engines", verbosity=0)
    _get(_PAGE)


FIRST_BUILD = "build_sitemaps, first build, 3 pages"

#: What is counted, in this order, with the figures that it is to come to.
WALKS: dict[str, tuple[Callable[[], object], Figures]] = {
    "/sitemap.xml live, one section": (lambda: _get("/sitemap.xml"), (14, 60, 30)),
    FIRST_BUILD: (_build, (36, 200, 100)),
    "published page, GET": (lambda: _get(_PAGE), (9, 21, 11)),
    "build_sitemaps, nothing to do": (_build, (22, 80, 40)),
    "save() alone": (_save, (6, 14, 8)),
    "save, build, notify, GET (recording engine)": (_all, (45, 230, 115)),
}

#: Walks of a process that has built and answered before.
LATER = {"published page, GET", "build_sitemaps, nothing to do", "save() alone"}


def _set_up() -> None:
    from tests.support.shop import make_products

    call_command("migrate", run_syncdb=True, verbosity=0)
    make_products(ROWS)


def _walk(title: str, results: Any) -> None:
    from django_sitemaps_plus.registry import registry
    from tests.support.shop import limited

    registry.register("products", limited(ROWS_OF_A_PAGE))
    walk, _ = WALKS[title]
    ours: dict[str, Any] = {"BASE_URL": "https://example.com"}
    if walk is _all:
        engine = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
        ours |= {"ENGINES": {"recording": engine}, "NOTIFY": True}
    with override_settings(SITEMAPS_PLUS=ours):
        if title in LATER:
            _build()
            _get("/sitemap.xml")
        results.put(figures(walk))


def taken(titles: Iterable[str]) -> Iterator[Figures]:
    """Yield the figures of walks, on an SQLite database that is made for them."""
    os.environ["DJANGO_SETTINGS_MODULE"] = "tests.support.settings"
    os.environ["TEST_DB"] = "sqlite"
    django.setup()
    # Code that an import runs, such as a decorator, is no part of a walk.
    for name in ("admin.panel", "diagnostics.doctor", "serving.feeds", "views.files"):
        import_module(f"django_sitemaps_plus.{name}")
    get_resolver().url_patterns  # noqa: B018 - the project has more
    context = get_context("fork")
    _in_child(context, _set_up)
    for title in titles:
        results = context.SimpleQueue()
        _in_child(context, _walk, title, results)
        yield results.get()


def main() -> None:
    """Take the walks and print the table."""
    print(f"{'walk':45} {'files':>11} {'functions':>13} {'changes':>13}")
    for found, (title, (_, aims)) in zip(taken(WALKS), WALKS.items(), strict=True):
        pairs = zip(found, aims, (11, 13, 13), strict=True)
        cells = [f"{f'{count} / {aim}':>{width}}" for count, aim, width in pairs]
        print(f"{title:45} {' '.join(cells)}")
    print(f"\nfound / aim; {ROWS} rows, {ROWS_OF_A_PAGE} a page, on SQLite")


def _in_child(context: Any, function: Callable[..., object], *arguments: Any) -> None:
    process = context.Process(target=function, args=arguments)
    process.start()
    process.join()
    if process.exitcode:
        sys.exit(process.exitcode)


if __name__ == "__main__":
    main()
