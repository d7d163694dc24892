"""Edits of the example's tables reach its sitemaps, and cost what they touch."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator

import pytest

from tests.acceptance.site import INDEX, Site, built_site
from tests.support.documents import read_urlset
from tests.support.web import Answer

#: With SOAK set, all 234,908 cities.
LOAD = ["--all"] if "SOAK" in os.environ else []


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve a site that is built."""
    with built_site(tmp_path_factory.mktemp("edits"), *LOAD) as site:
        yield site


def entries(answers: dict[str, Answer]) -> dict[str, set[str]]:
    """Return the URLs of each page."""
    return {
        path: {entry.loc for entry in read_urlset(answer.content)}
        for path, answer in answers.items()
        if path != INDEX
    }


@pytest.mark.parametrize("how", ["rename", "update", "delete"])
def test_an_edit_changes_the_pages_concerned(site: Site, how: str) -> None:
    """And the index; every other page keeps its tag, and the set is the table's."""
    before = site.published()
    gone = json.loads(site.run("-m", "tests.acceptance.editing", how))
    site.manage("build_sitemaps", "--verbosity", "0")
    after = site.published()
    gone_urls = {site.base_url + path for path in gone}
    concerned = {path for path, urls in entries(before).items() if urls & gone_urls}
    changed = {
        path
        for path in before.keys() | after.keys()
        if path not in after
        or path not in before
        or before[path].headers["ETag"] != after[path].headers["ETag"]
    }
    assert changed == {INDEX, *concerned}
    assert len(concerned) < len(before) - 1
    found = set().union(*entries(after).values())
    assert found == set(site.table())
    assert not found & gone_urls
