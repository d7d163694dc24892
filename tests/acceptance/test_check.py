"""``check_sitemaps`` finds nothing in the example project, however it is asked."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.acceptance.site import INDEX, Site, built_site


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve a site that is built."""
    with built_site(tmp_path_factory.mktemp("check")) as site:
        yield site


def test_nothing_is_found_in_the_example(site: Site) -> None:
    """In its files, by its server, and on the pages it lists."""
    count, found = len(site.table()), "0 errors, 0 warnings\n"
    pages = len(site.published()) - 1
    tree = site.directory / "media" / "sitemaps" / "public"
    files = f"{pages + 1} files, {count + pages:,} entries: {found}"
    assert site.manage("check_sitemaps", str(tree)) == files
    assert site.manage("check_sitemaps", site.base_url + INDEX) == files
    assert site.manage("check_sitemaps", "--audit") == files
