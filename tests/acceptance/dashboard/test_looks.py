"""Each page at the width of a computer and a phone, in light and dark."""

from __future__ import annotations

from itertools import product

import pytest

from tests.acceptance.browser.looking import SCHEMES, SIZES, opened

from .walk import PAGES, Walk, axe


@pytest.mark.parametrize(("size", "scheme"), [*product(SIZES, SCHEMES)])
def test_no_page_has_a_fault(browser, site, size, scheme):
    """No error, no request elsewhere, nothing inline, nothing that axe-core minds."""
    shots = site.directory / f"{size}-{scheme}"
    with opened(browser, size, scheme) as context:
        context.add_cookies([site.cookie("ada")])
        walk = Walk(context.new_page(), site.base_url, axe(), shots)
        found = [f"{name}: {it}" for name in PAGES for it in walk.faults(name)]
    assert not found, "\n".join(found)
