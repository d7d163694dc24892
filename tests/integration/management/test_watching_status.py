"""``sitemap_status --watch``: for people, again and again."""

from __future__ import annotations

import io
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps_plus.management.commands import sitemap_status
from django_sitemaps_plus.models import MAX_ATTEMPTS, EngineHost, Page
from django_sitemaps_plus.testing import RecordingEngine
from tests.support.builds import build_fully
from tests.support.faults import fail_queries
from tests.support.shop import limited, make_products

NAMES = ("books", "products", "pages")
CLEAR = "\x1b[2J\x1b[H"


class Terminal(io.StringIO):
    """A terminal, as far as a command can see."""

    def isatty(self) -> bool:
        """Return True."""
        return True


@pytest.fixture(autouse=True)
def built(configure: Any, sections: Any) -> None:
    """Publish three sections."""
    backend = f"{RecordingEngine.__module__}.RecordingEngine"
    engines = {name: {"BACKEND": backend} for name in ("fine", "down", "refused")}
    configure(ENGINES=engines)
    make_products(3)
    for name in NAMES:
        sections.register(name, limited(10))
    build_fully()


@pytest.fixture
def unwell() -> None:
    """Have a section that is to be built, one that failed, and the same of engines."""
    Page.objects.filter(section__name="books").update(wanted=9)
    parked = {"wanted": 9, "attempts": MAX_ATTEMPTS, "error": "it broke"}
    Page.objects.filter(section__name="pages").update(**parked)
    common = {"site": "default", "host": "example.com"}
    EngineHost.objects.create(engine="down", failures=1, error="away", **common)
    EngineHost.objects.create(engine="refused", parked_reason="the key", **common)


def shown(out: io.StringIO, **options: Any) -> str:
    """Return what the command writes, whatever it says of problems."""
    with suppress(CommandError):
        call_command("sitemap_status", stdout=out, **options)
    return out.getvalue()


@pytest.fixture
def rounds(monkeypatch: Any) -> Callable[..., list[int]]:
    """Return what sets what happens after each round; Ctrl-C is pressed at the end."""
    # Which would end the transaction of the test.
    closed = list[bool]()
    close = "close_old_connections"
    monkeypatch.setattr(sitemap_status, close, lambda: closed.append(True))

    def rounds(*events: Callable[[], object]) -> list[int]:
        left, waited = iter(events), list[int]()

        def sleep(seconds: int) -> None:
            waited.append(seconds)
            assert len(closed) == len(waited)
            event = next(left, None)
            if event is None:
                raise KeyboardInterrupt
            event()

        monkeypatch.setattr(sitemap_status, "sleep", sleep)
        return waited

    return rounds


def test_watching_shows_all_anew_until_ctrl_c(rounds, unwell):
    """With problems below the tables; then it ends as if all were well."""
    pages, out = Page.objects.filter(section__name="pages"), Terminal()
    waited = rounds(lambda: pages.update(wanted=1, built=1, attempts=0, error=""))
    call_command("sitemap_status", "--watch", stdout=out)
    before, first, second = out.getvalue().split(CLEAR)
    assert before == ""
    assert "pages: Given up for now: 1" in first
    assert "it broke" not in second
    for text in (first, second):
        assert text.splitlines()[-1].startswith("refused: Not notified: ")
    assert waited == [2, 2]


def test_watching_outlives_a_database_that_is_away(rounds):
    """The state is known again as soon as it is back."""
    outage = fail_queries(lambda sql: "sitemaps_plus" in sql)
    waited = rounds(outage.__enter__, lambda: outage.__exit__(None, None, None))
    text = shown(io.StringIO(), watch=7)
    assert text.count("The state is unknown: OperationalError") == 1
    assert text.count("products") == 2
    assert "\x1b" not in text
    assert waited == [7, 7, 7]


def test_ctrl_c_ends_a_round_as_well(rounds):
    """Not only the pause."""

    def press(sql: str) -> bool:
        raise KeyboardInterrupt

    with pytest.raises(AssertionError, match="no query was hit"), fail_queries(press):
        call_command("sitemap_status", watch=1, stdout=io.StringIO())


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--watch", "--json"], "Leave out --json"),
        (["--watch", "0"], "'0' is not a whole number, 1 or more"),
        (["--watch", "soon"], "'soon' is not a whole number"),
    ],
)
def test_what_cannot_be_watched_is_refused(rounds, arguments, said):
    """In a sentence, and at once."""
    waited = rounds()
    with pytest.raises(CommandError, match=said):
        call_command("sitemap_status", *arguments)
    assert waited == []


def test_sites_are_watched_together(rounds, configure, unwell):
    """Their tables first, then the problems of all."""
    sites = {name: {"BASE_URL": f"https://{name}.example"} for name in ("shop", "blog")}
    configure(BASE_URL=None, SITES=sites)
    for site in sites:
        EngineHost.objects.create(
            site=site, engine="fine", host="x", parked_reason="the key"
        )
    rounds()
    text = shown(io.StringIO(), watch=1)
    shop, blog, first, second = [
        text.index(it) for it in ("Site shop", "Site blog", "shop: fine", "blog: fine")
    ]
    assert shop < blog < first < second
