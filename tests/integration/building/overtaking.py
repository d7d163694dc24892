"""Three pages that builders compete for, and how to tell whose result is served."""

from typing import Any

from django.db.models.functions import Now

from django_sitemaps_plus.building import worker
from django_sitemaps_plus.building.report import SectionReport
from django_sitemaps_plus.building.state import Build
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Page
from django_sitemaps_plus.sites import get_site
from tests.support.testapp.models import Product

PATHS = tuple(f"/sitemap-products-{number}.xml" for number in (1, 2, 3))


def rename(suffix: str) -> None:
    """Change a row of each of three pages."""
    for number, product in enumerate(Product.objects.order_by("pk")):
        if number % 10 == 0:
            slug = f"product-{number:05}-{suffix}"
            Product.objects.filter(pk=product.pk).update(slug=slug)


def marks(client: Any) -> list[str]:
    """Return the suffix of the row that was renamed, page by page."""
    contents = [client.get(path).content.decode() for path in PATHS]
    return [content.partition("0-")[2].partition("/")[0] for content in contents]


def end_leases() -> None:
    """Let the claims that exist be older than any build that begins now."""
    Page.objects.exclude(claimed_at=None).update(
        claimed_at=Now() - 2 * get_settings().lease
    )


def work(sections: list[int]) -> dict[str, SectionReport]:
    """Build the dirty pages of sections, as one worker; return what was done."""
    build = Build(names=[], site=get_site())
    return worker.build_dirty_pages(build, sections).reports
