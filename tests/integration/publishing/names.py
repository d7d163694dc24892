"""What the public names show, and what they should."""

import gzip
from pathlib import Path

from django_sitemaps_plus.models import Page, State
from django_sitemaps_plus.publishing.sync import page_name
from tests.support.published import path_of


def wrong_names(public: Path, *, has_plain: bool = False) -> list[str]:
    """Return the names that do not show what the rows say, in words."""
    expected = {}
    for page in Page.objects.exclude(state=State.NEXT).exclude(object=""):
        name = page_name(page.section.name, page.number)
        found = path_of(page).read_bytes()
        second = int(page.published_at.timestamp())
        expected[f"{name}.xml.gz"] = (second, found)
        if has_plain:
            expected[f"{name}.xml"] = (second, gzip.decompress(found))
    shown = {
        path.name: (int(path.stat().st_mtime), path.read_bytes())
        for path in public.glob("sitemap*")
    }
    return sorted(
        name for name in shown | expected if shown.get(name) != expected.get(name)
    )
