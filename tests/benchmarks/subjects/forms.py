"""Every form of a source: one page of it, beside contrib's and the bare loop."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from django.db import connection

from django_sitemaps_plus.testing import temporary_registry
from tests.benchmarks.building import bare_page
from tests.benchmarks.forms import FORMS, Form, ManyImagesSource, OneImageSource
from tests.benchmarks.harness import Subject, Target, timed
from tests.benchmarks.rows import add_galleries, greek
from tests.benchmarks.sources import FULL_PAGE
from tests.benchmarks.web import Web
from tests.support.testapp.models import Product

_LOC = re.compile("<loc>([^<]*)</loc>")
_UPDATED = 5_000
_ONE, _MANY = "an image a row", "three images a row, by a path to many"
_BARE = "bare loop, plain, not compressed"
_OWN_CODE = "rows and locations by contrib's class alone, no line written"


def setting(rows: int) -> Iterator[Subject]:
    """Compare page after page through the views; plans are kept, pages are not."""
    _fill()
    web = Web()
    for name, form in FORMS.items():
        with temporary_registry() as sections:
            for number, source in enumerate(form.sources):
                sections.register(f"{name}-{number}", source)
            yield _beside_contrib(web, name, form)
    with temporary_registry() as sections:
        sections.register("one", OneImageSource)
        sections.register("many", ManyImagesSource)
        yield _paths_to_many(web)


def _paths_to_many(web: Web) -> Subject:
    rows, photos = OneImageSource.limit, 3
    add_galleries(rows, photos)
    one = partial(web.get, "/sitemap-one-1.xml")
    many = partial(web.get, "/sitemap-many-1.xml")
    found = [it().body.count(b"<image:loc>") for it in (one, many)]
    if found != [rows, rows * photos]:
        raise RuntimeError(f"{found} images are listed")
    return Subject(
        title=f"path to many: {rows:,} entries, {rows * photos:,} images",
        contenders=[timed(_ONE, one), timed(_MANY, many)],
        rounds=7,
        targets=[Target(_MANY, beside=_ONE, times=3)],
    )


def _beside_contrib(web: Web, name: str, form: Form) -> Subject:
    theirs = partial(web.get, f"/contrib/forms-{name}.xml")
    ours = _pages(web, name, form)
    if _locations(theirs().body) != _locations(ours()):
        raise RuntimeError(f"{form.title}: the lists differ")
    contenders = [
        timed("contrib", theirs),
        timed("ours", ours),
        timed(_BARE, partial(bare_page, form.entries)),
    ]
    if form.aim < 10:  # each row runs code of the project
        contenders.append(timed(_OWN_CODE, partial(_located, form)))
    return Subject(
        title=f"{form.title}: {form.entries:,} entries",
        contenders=contenders,
        rounds=3,
        targets=list(_targets(form)),
    )


def _located(form: Form) -> None:
    """Read a page's rows, and ask for the location of each, as nobody can spare."""
    sitemap: Any = form.sitemap()
    for item in sitemap.paginator.page(1).object_list:
        sitemap._location(item)


def _targets(form: Form) -> Iterator[Target]:
    if form.aim:
        yield Target("ours", beside="contrib", times=1 / form.aim)
    if form.loops:
        yield Target("ours", beside=_BARE, times=form.loops)


def _pages(web: Web, name: str, form: Form) -> Callable[[], bytes]:
    paths = [f"/sitemap-{name}-{number}-1.xml" for number in range(len(form.sources))]
    return lambda: b"".join([web.get(path).body for path in paths])


def _locations(body: bytes) -> list[str]:
    # Theirs escapes an apostrophe, which XML does not ask for.
    return sorted(_LOC.findall(html.unescape(body.decode())))


def _fill() -> None:
    """Give rows a Greek name and a priority."""
    names = greek()
    for first in range(1, FULL_PAGE, _UPDATED):
        found = Product.objects.filter(pk__gte=first, pk__lt=first + _UPDATED)
        products = list(found.order_by("pk"))
        for product in products:
            name = names[product.pk % len(names)]
            product.frequency = f"{name[:13]}-{product.pk}"
            product.popularity = product.pk % 11 / 10
        Product.objects.bulk_update(products, ["frequency", "popularity"])
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
