"""Edits of the example's tables reach its sitemaps, and cost what they touch."""

import json
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass

import pytest

from tests.acceptance.site import INDEX, Site, built_site
from tests.support.documents import read_urlset

#: With SOAK set, all 234,908 cities.
LOAD = ["--all"] if "SOAK" in os.environ else []


#: Lets eleven minutes pass since the first plan and its pages.
LATER = """
UPDATE sitemaps_plus_section
SET new_since = strftime('%Y-%m-%d %H:%M:%f', new_since, '-11 minutes');
UPDATE sitemaps_plus_page
SET checked_at = strftime('%Y-%m-%d %H:%M:%f', checked_at, '-11 minutes');
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    with built_site(tmp_path_factory, *LOAD) as site:
        yield site


@dataclass(frozen=True)
class Crawl:
    """What a site has published: the tag and the URLs of each page, and all URLs."""

    tags: dict[str, str]
    pages: dict[str, set[str]]

    @property
    def found(self) -> set[str]:
        return set().union(*self.pages.values())


def crawl(site: Site) -> Crawl:
    answers = site.published()
    pages = {
        path: {entry.loc for entry in read_urlset(answer.content)}
        for path, answer in answers.items()
        if path != INDEX
    }
    return Crawl({path: it.headers["ETag"] for path, it in answers.items()}, pages)


def test_an_edit_renders_its_page_alone_long_after_the_first_plan(site: Site) -> None:
    """No other version is at work, so nothing is compared once more."""
    with closing(sqlite3.connect(site.directory / "db.sqlite3")) as rows:
        rows.executescript(LATER)
    edit = "from example_project.atlas.models import City; City.objects.first().save()"
    site.manage("shell", "-c", edit)
    assert "\ncities: 1 of 1 pages rendered\n" in f"\n{site.manage('build_sitemaps')}"


def test_an_edit_changes_the_pages_concerned(site: Site) -> None:
    """And the index; every other page keeps its tag, and the set is the table's."""
    before = crawl(site)
    for how in ("rename", "update", "delete"):
        gone = json.loads(site.run("-m", "tests.acceptance.editing", how))
        site.manage("build_sitemaps", "--verbosity", "0")
        after = crawl(site)
        gone_urls = {site.base_url + path for path in gone}
        concerned = {path for path, urls in before.pages.items() if urls & gone_urls}
        changed = {path for path, _ in before.tags.items() ^ after.tags.items()}
        assert changed == {INDEX, *concerned}, how
        assert len(concerned) < len(before.pages), how
        assert after.found == set(site.table()), how
        assert not after.found & gone_urls, how
        before = after
