"""Makes the edits, builds after each, and prints a table of what the builds show."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from datetime import timedelta
from types import SimpleNamespace
from unittest.mock import patch

import django

django.setup()

from django.conf import settings  # noqa: E402 - models need a set-up Django
from django.core.management import call_command  # noqa: E402
from django.db.models import F  # noqa: E402
from django.test import Client  # noqa: E402

from django_sitemaps_plus.contrib import wagtail  # noqa: E402
from django_sitemaps_plus.models import Page, Section  # noqa: E402
from django_sitemaps_plus.section import open_section  # noqa: E402
from django_sitemaps_plus.sources.reading import page_query  # noqa: E402
from django_sitemaps_plus.tracking.deploys import (  # noqa: E402
    fingerprint,
    query_values,
)

from .sites import BEYOND_CLASSES, CLASSES, EDITS, fill  # noqa: E402

LATER = timedelta(minutes=2)
HOST = settings.ALLOWED_HOSTS[0]

#: The URLs of each section.
Urls = dict[str, set[str]]


def main() -> int:
    """Make each edit in turn; return 1 if one is shown too late."""
    call_command("migrate", verbosity=0, run_syncdb=True)
    fill()
    say("section", "edit", "expected", "next build", "two minutes later")
    built()
    before = version()
    verdicts = [verdict for name in EDITS for verdict in shown(name)]
    assert version() == before, "an edit is taken for a deploy"
    late = verdicts.count("LATE")
    say(f"{late} of {len(verdicts)} edits are not shown in time.")
    return 1 if late else 0


def version() -> tuple[str, str]:
    """Check how the pages are read; return what says that a deploy changes that.

    Sites and restrictions are constants of the query, up to a number of them.
    """
    section = open_section(Section.objects.get(name="pages-source"))
    with section.reading():
        few = page_query(section.source)
        assert "wagtailcore_site" not in str(few.query)
        assert "restriction" not in str(few.query)
        current = fingerprint(section)
        versions = current, query_values(section, current)
        with patch.object(wagtail, "MAX_RESTRICTIONS", 0):
            many = page_query(section.source)
            assert "restriction" in str(many.query)
            assert fingerprint(section) == current
            rows = list(many.values_list("pk"))
        assert rows == list(few.values_list("pk"))
    return versions


def say(*cells: str) -> None:
    widths = zip(cells, (19, 22, 10, 12, 19, 0), strict=False)
    line = "".join([cell.ljust(width) for cell, width in widths]).rstrip()
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def shown(name: str) -> Iterator[str]:
    """Make an edit; print and yield what is shown of each section that it changes."""
    before = expected()
    assert built(full=True) == before, f"a list was wrong before: {name}"
    EDITS[name]()
    wanted, at_once = expected(), built()
    # As if the clock had moved on: builds look at pages again by their age.
    Page.objects.update(checked_at=F("checked_at") - LATER)
    later = built()
    assert wanted != before, f"it changes no list: {name}"
    for section, urls in before.items():
        if wanted[section] != urls:
            seen = [difference(urls, it[section]) for it in (wanted, at_once, later)]
            verdict = "LATE" if later[section] != wanted[section] else ""
            if section.endswith("-class") and name in BEYOND_CLASSES:
                verdict = "within a day"
            say(section, name, *seen, verdict)
            yield verdict


def difference(before: set[str], after: set[str]) -> str:
    return f"-{len(before - after)} +{len(after - before)}"


def expected() -> Urls:
    """Return what contrib's own code lists; both forms of a section should.

    A source lists no page of another site, which a class with own paging does.
    """
    site, found = SimpleNamespace(domain=HOST), {}
    for name, kind in CLASSES.items():
        numbers = kind().paginator.page_range
        pages = [kind().get_urls(number, site, "https") for number in numbers]
        urls = {url["location"] for page in pages for url in page}
        own = {url for url in urls if url.startswith(f"https://{HOST}/")}
        found |= {f"{name}-class": urls, f"{name}-source": own}
    return found


def built(**options: bool) -> Urls:
    call_command("build_sitemaps", verbosity=0, **options)
    found: Urls = {}
    for url in listed("/sitemap.xml"):
        section = url.removeprefix(f"https://{HOST}/sitemap-").rpartition("-")[0]
        found.setdefault(section, set()).update(listed(url))
    return found


def listed(url: str) -> list[str]:
    answer = Client(headers={"host": HOST}).get(url, secure=True)
    assert answer.status_code == 200, (url, answer.status_code)
    return re.findall("<loc>([^<]*)</loc>", answer.content.decode())


if __name__ == "__main__":
    sys.exit(main())
