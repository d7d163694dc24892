"""``sitemap_status``: how sections and engines are, and where one needs a person."""

from __future__ import annotations

import io
import json
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, ProgrammingError
from django.db.models import Sum
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.management.commands import sitemap_status
from django_sitemaps_plus.models import (
    INDEX,
    MAX_ATTEMPTS,
    Change,
    Delivery,
    EngineHost,
    Hold,
    Page,
    Section,
)
from django_sitemaps_plus.models.deliveries import hash_target
from tests.support.builds import build_fully
from tests.support.faults import fail_queries
from tests.support.shop import limited, make_products

from .notifying import FeedEngine

#: How many seconds ago each was, of a section that is unwell.
AGES = {
    "published_at": 3_600,
    "oldest": 100,
    "last_build_at": 50,
    "newest_at": 40,
    "oldest_at": 60,
}

HEAD = ["engine", "waiting", "rejected", "parked", "failing", "oldest"]


def shown(**options: Any) -> str:
    """Return what the command writes."""
    out = io.StringIO()
    call_command("sitemap_status", stdout=out, **options)
    return out.getvalue()


def test_help_says_what_the_columns_mean():
    said = sitemap_status.Command().create_parser("manage.py", "it").format_help()
    _, _, words = said.partition("Columns: ")
    columns = {*sitemap_status._COLUMNS, *HEAD} - {"section", "engine"}
    assert [name for name in columns if name not in words] == []


class TestSections:
    @pytest.fixture
    def pages(self, sections: Any) -> Any:
        """Publish six pages."""
        make_products(58)
        sections.register("products", limited(10))
        build_fully()
        return Page.objects.filter(section__name="products")

    @pytest.fixture
    def unwell(self, pages: Any, monkeypatch: Any) -> Any:
        """Have six pages of an hour ago; no number of theirs is equal to another."""
        now = timezone.now().replace(microsecond=0)
        monkeypatch.setattr("django.utils.timezone.now", lambda: now)
        hour_ago, rendered = now - timedelta(hours=1), now - timedelta(seconds=40)
        pages.update(published_at=hour_ago, checked_at=rendered)
        pages.filter(number=3).update(checked_at=now - timedelta(seconds=60))
        pages.filter(number__lte=4).update(wanted=9)
        pages.filter(number=1).update(attempts=MAX_ATTEMPTS, error="it broke")
        pages.filter(number__gte=5).update(hold=Hold.HELD)
        pages.filter(number=5).update(skipped=2, dropped=7)
        pages.filter(number=6).update(skipped=1)
        pages.filter(number=2).update(changed_at=now - timedelta(seconds=100))
        Section.objects.filter(name="products").update(
            schedule_checked_at=now - timedelta(seconds=50)
        )
        for key in "12345":
            at = now - timedelta(seconds=int(key))
            Change.objects.create(section="products", kind="key", low=key, at=at)
        return pages

    def test_one_that_was_never_built_is_live(self, sections):
        sections.register("products", limited(10))
        assert shown().split()[-11:-8] == ["products", "live", "-"]
        assert json.loads(shown(json=True))["sections"][0]["live"] is True

    def test_the_row_says_each_number(self, unwell, capsys):
        words = "^products: Given up for now: 1.* it broke. What was published stays"
        with pytest.raises(CommandError, match=words):
            call_command("sitemap_status")
        head, _, row = capsys.readouterr().out.splitlines()
        columns = "section pages entries dirty held given up skipped changes"
        assert " ".join(head.split()) == f"{columns} oldest built published"
        numbers = "products 6 58 4 2 1 3 5 100 s 50 s 3,600 s"
        assert " ".join(row.split()) == numbers

    def test_json_says_each_number(self, unwell, capsys):
        """A page that failed once needs a person too, though it is tried again."""
        unwell.filter(number=1).update(attempts=1)
        unwell.filter(number=3).update(token="one", claimed_at=Now())
        with pytest.raises(CommandError, match="it broke"):
            call_command("sitemap_status", "--json")
        printed = json.loads(capsys.readouterr().out)
        (found,) = printed["sections"]
        [problem] = printed["problems"]
        assert (problem["id"], problem["subject"]) == ("pages_failed", "products")
        assert printed["engines"] == []
        for name, age in AGES.items():
            moment = datetime.fromisoformat(found.pop(name))
            assert timezone.now() - moment == timedelta(seconds=age)
        sizes = unwell.aggregate(
            plain_size=Sum("plain_size"), gzip_size=Sum("gzip_size")
        )
        assert sizes["plain_size"] > sizes["gzip_size"] > 0
        assert found == {
            **sizes,
            "site": "default",
            "section": "products",
            "registered": True,
            "live": False,
            "pages": 6,
            "planned": 6,
            "entries": 58,
            "dirty": 4,
            "building": 1,
            "builders": 1,
            "parked": 0,
            "next_attempt_at": None,
            "failed": 1,
            "held_pages": 2,
            "hold_reason": "",
            "skipped": 3,
            "dropped": 7,
            "changes": 5,
            "error": "",
            "failure": "it broke",
            "fault": "",
            "fault_since": None,
        }

    def test_what_waits_for_too_long_may_need_a_person(self, pages):
        """As where workers have died: the oldest change, and the last build."""
        hour_ago = timezone.now() - timedelta(hours=1)
        Change.objects.create(section="products", kind="key", low="1", at=hour_ago)
        shown()
        shown(max_age=7_200)
        with pytest.raises(
            CommandError, match=r"products: The oldest.* for 1 hour: .* 10 min"
        ):
            shown(max_age=600)
        Change.objects.all().delete()
        shown(max_age=600)
        Section.objects.filter(name="products").update(schedule_checked_at=hour_ago)
        with pytest.raises(
            CommandError, match="products: The last build was made 1 hour"
        ):
            shown(max_age=600)
        build()
        shown(max_age=600)

    def test_a_database_that_cannot_be_read_is_another_status(self):
        """Whether it is away or not migrated: 2, in one sentence with the reason."""
        for error in (OperationalError, ProgrammingError):
            with (
                fail_queries(lambda sql: "sitemaps_plus" in sql, error=error),
                pytest.raises(CommandError, match="The state is unknown") as raised,
            ):
                shown()
            assert raised.value.returncode == 2

    def test_one_that_is_held_or_has_no_source_needs_a_person(self, pages, sections):
        Section.objects.filter(name="products").update(hold_reason="too few")
        with pytest.raises(CommandError, match="too few"):
            shown()
        sections.unregister("products")
        with pytest.raises(CommandError, match="no longer registered"):
            shown()

    def test_an_index_that_is_parked_needs_a_person(self, pages):
        """Both commands say what to do; a dirty one alone is about to be built."""
        index = Page.objects.filter(section__name=INDEX)
        index.update(wanted=9)
        shown()
        index.update(
            attempts=MAX_ATTEMPTS, tried=9, not_before=Now() + timedelta(hours=1)
        )
        for command in ("build_sitemaps", "sitemap_status"):
            with pytest.raises(CommandError, match=r"sitemap\.xml is not.*--full"):
                call_command(command, json=True, stdout=io.StringIO())
        call_command("build_sitemaps", full=True, verbosity=0)
        shown()


def deliver(path: str, engine: str = "one", **fields: Any) -> None:
    """Add a URL that an engine is to be told of."""
    url = f"https://example.com/{path}"
    usual = {"site": "default", "host": "example.com", "wanted": 1}
    Delivery.objects.create(
        **{**usual, **fields}, engine=engine, target=url, target_hash=hash_target(url)
    )


def know(**fields: Any) -> None:
    """Add what is known of an engine."""
    usual = {"site": "default", "engine": "one", "host": "example.com"}
    EngineHost.objects.create(**{**usual, **fields})


class TestEngines:
    @pytest.fixture(autouse=True)
    def engines(self, configure: Any, sections: Any) -> None:
        """Have one engine, which is not told of anything: this is a test."""
        one = {"BACKEND": f"{FeedEngine.__module__}.FeedEngine"}
        configure(ENGINES={"one": one})

    def lines(self) -> list[list[str]]:
        """Return the words of the command's lines about engines."""
        found = [line.split() for line in shown().splitlines()]
        return found[found.index(HEAD) + 2 :]

    def test_one_that_was_told_nothing_yet(self, settings):
        """It is shown since the settings name it; without engines there is no table."""
        assert self.lines() == [["one", "0", "0", "0", "0", "-"]]
        settings.SITEMAPS_PLUS = {"BASE_URL": "https://example.com"}
        assert "engine" not in shown()

    def test_what_waits_is_counted(self):
        """And how long the oldest has waited; not what was told, or of other sites."""
        now = timezone.now()
        deliver("a", changed_at=now - timedelta(hours=1))
        deliver("b", changed_at=now)
        deliver("c", sent=1, changed_at=now - timedelta(days=1))
        deliver("d", site="other")
        with pytest.raises(
            CommandError, match=r"one: The oldest .*: longer than 10 min"
        ):
            shown(max_age=600)
        ((name, waiting, *_, age, unit),) = self.lines()
        assert (name, waiting, unit) == ("one", "2", "s")
        assert 3_600 <= int(age.replace(",", "")) < 7_200

    def test_one_that_fails_needs_nobody(self):
        """It is tried again by itself, and shown."""
        deliver("a")
        know(failures=3, error="it is down")
        assert self.lines()[0][:5] == ["one", "1", "0", "0", "1"]

    def test_one_that_is_parked_or_rejects_a_target_needs_a_person(self):
        know(parked_reason="the key is wrong")
        with pytest.raises(CommandError, match=r"the key is wrong.*--retry"):
            shown()
        deliver("a", dead_since=timezone.now(), error="no such URL")
        said = "Rejected targets: 1. no such URL.*--retry"
        with pytest.raises(CommandError, match=said):
            shown()

    def test_one_of_the_past_is_shown(self):
        """As long as something was submitted to it."""
        know(engine="old")
        deliver("a", engine="old")
        assert [line[:2] for line in self.lines()] == [["old", "1"], ["one", "0"]]

    def test_what_one_says_of_a_feed_is_shown(self):
        """Beside our own numbers; not of a feed that has gone."""
        deliver("sitemap.xml", is_feed=True, sent=1, feedback={"warnings": 3})
        deliver("gone.xml", is_feed=True, wanted=0, feedback={"errors": 5})
        [_, said] = self.lines()
        line = 'one says of https://example.com/sitemap.xml: {"warnings": 3}'
        assert said == line.split()
        (one,) = json.loads(shown(json=True))["engines"]
        assert one["feedback"] == {"https://example.com/sitemap.xml": {"warnings": 3}}
