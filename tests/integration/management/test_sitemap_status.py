"""``sitemap_status``: how sections and engines are, once or as they are watched."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from functools import partial
from typing import Any

import pytest
from django.core.management import (
    CommandError,
    call_command,
    get_commands,
    load_command_class,
)
from django.db import OperationalError, ProgrammingError
from django.db.models.functions import Now
from django.utils import timezone

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.core.xml import printable
from django_sitemaps_plus.management.commands import sitemap_status
from django_sitemaps_plus.management.output import one_a_kind
from django_sitemaps_plus.models import INDEX, MAX_ATTEMPTS, Change, Hold, Page, Section
from tests.integration.diagnostics.rows import ENGINE, deliver, know
from tests.support.faults import fail_queries
from tests.support.shop import limited

#: How many seconds ago each was, of a section that is unwell.
AGES = {
    "published_at": 3_600,
    "oldest": 100,
    "last_build_at": 50,
}

HEAD = ["engine", "waiting", "rejected", "stopped", "failing", "oldest"]


CLEAR = "\x1b[2J\x1b[H"


@pytest.fixture
def shown(run: Any) -> Callable[..., str]:
    """Return what gives what the command writes."""
    return partial(run, "sitemap_status")


def test_a_number_is_not_given_to_others():
    """Problems that differ by numbers are one line, which says whose they are."""
    words = "{}: Files that are missing: {}. Run manage.py build_sitemaps {}."
    [line] = one_a_kind([words.format(it, ord(it), it) for it in "abc"])
    assert line == f"{words.format('a', 97, 'a')} (more like it: b, c)"
    [line] = one_a_kind([words.format(it, 2, it) for it in "abc"])
    assert line == words.format("a, b, c", 2, "NAME")


def test_help_says_what_the_columns_mean():
    said = sitemap_status.Command().create_parser("manage.py", "it").format_help()
    _, _, words = said.partition("Columns: ")
    columns = {*sitemap_status._COLUMNS, *HEAD} - {"section", "engine"}
    assert [name for name in columns if name not in words] == []


class TestSections:
    @pytest.fixture
    def pages(self, shop: Any) -> Any:
        """Publish six pages."""
        return Page.objects.filter(section=shop(58))

    @pytest.fixture
    def unwell(self, pages: Any, monkeypatch: Any) -> Any:
        """Have six pages of an hour ago; no number of theirs is equal to another."""
        now = timezone.now().replace(microsecond=0)
        monkeypatch.setattr("django.utils.timezone.now", lambda: now)
        pages.filter(number__lte=4).update(wanted=9)
        pages.filter(number=1).update(attempts=MAX_ATTEMPTS, error="it broke")
        pages.filter(number__in=[3, 4]).update(hold=Hold.HELD)
        pages.filter(number=5).update(skipped=2, dropped=7)
        pages.filter(number=6).update(skipped=1)
        pages.filter(number=2).update(changed_at=now - timedelta(seconds=100))
        [section] = Section.objects.filter(name="products")
        Section.objects.recount(section.pk)
        Section.objects.update(
            schedule_checked_at=now - timedelta(seconds=50),
            published_at=now - timedelta(hours=1),
        )
        for key in "12345":
            at = now - timedelta(seconds=int(key))
            Change.objects.create(section="products", kind="key", low=key, at=at)
        return pages

    def test_one_that_was_never_built_is_live(self, sections, shown):
        sections.register("products", limited(10))
        assert shown().split()[-11:-8] == ["products", "live", "-"]
        assert json.loads(shown(json=True))["sections"][0]["live"] is True

    def test_the_row_says_each_number(self, unwell, capsys):
        words = "^products: Pages given up for now: 1.* it broke. Fix the errors"
        with pytest.raises(CommandError, match=words):
            call_command("sitemap_status")
        answers, head, _, row = capsys.readouterr().out.splitlines()
        assert answers == "Django answers: not known; last asked: never"
        columns = "section pages entries to build to approve given up left out changes"
        assert " ".join(head.split()) == f"{columns} oldest built published"
        numbers = "products 6 58 4 2 1 3 5 1 minute 50 s 1 hour"
        assert " ".join(row.split()) == numbers

    @pytest.mark.database
    def test_json_says_each_number(self, unwell, capsys):
        """A page that failed once needs a person too, though it is tried again."""
        unwell.filter(number=1).update(attempts=1)
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
        assert (found["entries"], found["skipped"], found["changes"]) == (58, 3, 5)
        assert sorted(found) == [
            "always_live",
            *("builders", "building", "changes", "dirty", "dropped", "entries"),
            *("error", "failed", "failed_since", "failure", "fault", "fault_since"),
            *("gzip_size", "held_pages", "held_since", "hold_numbers", "hold_reason"),
            *("live", "live_fault", "lost", "lost_since", "missing_since"),
            *("next_attempt_at", "pages"),
            *("parked", "plain_size", "planned", "registered", "section", "site"),
            "skipped",
        ]

    def test_a_clock_that_is_ahead_gives_no_negative_age(self, pages, shown):
        Section.objects.update(schedule_checked_at=timezone.now() + timedelta(hours=1))
        assert shown().split()[-5:] == ["-", "0", "s", "0", "s"]

    def test_what_waits_for_too_long_may_need_a_person(self, pages, shown):
        """As where workers have died: the oldest change, and the last build."""
        hour_ago = timezone.now() - timedelta(hours=1)
        Change.objects.create(section="products", kind="key", low="1", at=hour_ago)
        shown()
        shown(max_age=7_200)
        said = r"products: The oldest.* for 1 hour: .* 10 min"
        with pytest.raises(CommandError, match=said):
            shown(max_age=600)
        Change.objects.all().delete()
        shown(max_age=600)
        Section.objects.filter(name="products").update(schedule_checked_at=hour_ago)
        said = "products: The last build was made 1 hour"
        with pytest.raises(CommandError, match=said):
            shown(max_age=600)
        build()
        shown(max_age=600)

    @pytest.mark.parametrize("error", [OperationalError, ProgrammingError])
    def test_a_database_that_cannot_be_read_is_another_status(self, shown, error):
        """Whether it is away or not migrated: 2, in one sentence with the reason."""
        with (
            fail_queries(lambda sql: "sitemaps_plus" in sql, error=error),
            pytest.raises(CommandError, match="The state is unknown") as raised,
        ):
            shown()
        assert raised.value.returncode == 2

    def test_an_index_that_is_parked_needs_a_person(self, pages, run):
        """Both commands say what to do; a dirty one alone is about to be built."""
        index = Page.objects.filter(section__name=INDEX)
        index.update(wanted=9)
        run("sitemap_status")
        index.update(
            attempts=MAX_ATTEMPTS, tried=9, not_before=Now() + timedelta(hours=1)
        )
        for command in ("build_sitemaps", "sitemap_status"):
            with pytest.raises(CommandError, match=r"sitemap\.xml is not.*--full"):
                run(command, json=True)
        run("build_sitemaps", full=True)
        run("sitemap_status")


class TestEngines:
    @pytest.fixture(autouse=True)
    def engines(self, configure: Any, sections: Any) -> None:
        """Have one engine, which is not told of anything: this is a test."""
        class_ = "tests.integration.notifications.engines.ConsoleEngine"
        configure(ENGINES={"one": {"BACKEND": class_}})

    @pytest.fixture
    def lines(self, shown: Any) -> Callable[[], list[list[str]]]:
        """Return what gives the words of the command's lines about engines."""

        def lines() -> list[list[str]]:
            found = [line.split() for line in shown().splitlines()]
            return found[found.index(HEAD) + 2 :]

        return lines

    def test_one_that_was_told_nothing_yet(self, lines, shown, configure):
        """It is shown since the settings name it; without engines there is no table."""
        assert lines() == [["one", "0", "0", "0", "0", "-"]]
        configure(ENGINES={})
        assert "engine" not in shown()

    def test_what_waits_is_counted(self, lines, shown, configure):
        configure(NOTIFY=True)
        now = timezone.now()
        deliver("a", changed_at=now - timedelta(hours=1))
        deliver("b", changed_at=now)
        deliver("c", sent=1, changed_at=now - timedelta(days=1))
        deliver("d", site="other")
        said = r"one: The oldest .*: longer than 10 min"
        with pytest.raises(CommandError, match=said):
            shown(max_age=600)
        ((name, waiting, *_, age, unit),) = lines()
        assert (name, waiting, age, unit) == ("one", "2", "1", "hour")

    def test_one_that_fails_needs_nobody(self, lines):
        """An engine is tried again by itself, and shown; so is one of the past."""
        deliver("a")
        deliver("a", engine="old")
        know(failures=3, error="it is down")
        know(engine="old")
        assert [line[:5] for line in lines()] == [
            ["old", "1", "0", "0", "0"],
            ["one", "1", "0", "0", "1"],
        ]

    def test_what_one_says_of_a_feed_is_shown(self, lines, shown):
        feed = "https://example.com/sitemap.xml"
        deliver(feed, is_feed=True, sent=1, feedback={"warnings": 3})
        deliver("gone.xml", is_feed=True, wanted=0, feedback={"errors": 5})
        [_, said] = lines()
        assert said == f'one says of {feed}: {{"warnings": 3}}'.split()
        (one,) = json.loads(shown(json=True))["engines"]
        assert one["feedback"] == {feed: {"warnings": 3}}


class Terminal(io.StringIO):
    """A terminal, as far as a command can see."""

    def isatty(self) -> bool:
        return True


class TestWatching:
    @pytest.fixture(autouse=True)
    def built(self, configure: Any, shop: Any) -> None:
        """Publish a section, and have engines of which one is parked."""
        configure(ENGINES={"fine": ENGINE, "refused": ENGINE})
        shop(3)
        know(engine="refused", parked_reason="the key")

    @pytest.fixture
    def rounds(self, monkeypatch: Any) -> Callable[..., list[int]]:
        """Return what sets what happens after each round; at the end is Ctrl-C."""
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

    def test_it_shows_all_anew_until_ctrl_c(self, rounds):
        """With problems below the tables; then it ends as if all were well."""
        pages, out = Page.objects.filter(section__name="products"), Terminal()
        pages.update(wanted=9, attempts=MAX_ATTEMPTS, error="it broke")
        waited = rounds(lambda: pages.update(wanted=1, built=1, attempts=0, error=""))
        call_command("sitemap_status", "--watch", stdout=out)
        before, first, second = out.getvalue().split(CLEAR)
        assert before == ""
        assert "products: Pages given up for now: 1" in first
        assert "it broke" not in second
        for text in (first, second):
            assert text.splitlines()[-1].startswith("refused: Not notified: ")
        assert waited == [2, 2]

    def test_it_outlives_a_database_that_is_away(self, rounds):
        outage, out = fail_queries(lambda sql: "sitemaps_plus" in sql), io.StringIO()
        waited = rounds(outage.__enter__, lambda: outage.__exit__(None, None, None))
        call_command("sitemap_status", watch=7, stdout=out)
        assert out.getvalue().count("The state is unknown: OperationalError") == 1
        assert out.getvalue().count("products") == 2
        assert "\x1b" not in out.getvalue()
        assert waited == [7, 7, 7]

    def test_ctrl_c_ends_a_round_as_well(self, shown):
        def press(sql: str) -> bool:
            raise KeyboardInterrupt

        hit = pytest.raises(AssertionError, match="no query was hit")
        with hit, fail_queries(press):
            shown(watch=1)

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--watch", "--json"], "Leave out --json"),
            (["--watch", "0"], "'0' is not a whole number, 1 or more"),
            (["--watch", "soon"], "'soon' is not a whole number"),
        ],
    )
    def test_what_cannot_be_watched_is_refused(self, rounds, shown, arguments, said):
        waited = rounds()
        with pytest.raises(CommandError, match=said):
            shown(*arguments)
        assert waited == []


OURS = [name for name, app in get_commands().items() if app == "django_sitemaps_plus"]


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("style", ["--no-color", "--force-color"])
def test_no_command_prints_what_a_terminal_obeys(name, style, monkeypatch, capsys):
    """Whatever rows, people and engines say; styles are its own."""
    hostile = "a\x1b[31mb\r\x07\x9bc\u202ed\u2066e\u200ff\u061cg"
    command = load_command_class("django_sitemaps_plus", name)

    def run(**options: Any) -> None:
        command.stdout.write(hostile)
        command.stderr.write(hostile, command.style.WARNING)
        raise CommandError(f"{hostile}\n{hostile}")

    monkeypatch.setattr(command, "run", run)
    known = {"explain_url": ["/"], "preview_sitemap": ["products"]}
    arguments = ["--skip-checks"] * bool(command.requires_system_checks)
    arguments += known.get(name, ())
    with pytest.raises(SystemExit):
        command.run_from_argv(["manage.py", name, style, *arguments])
    printed = "".join(capsys.readouterr())
    lines = re.sub(r"\x1b\[[0-9;]*m", "", printed).splitlines()
    assert len(lines) == 4
    assert all(line.endswith(printable(hostile)) for line in lines)
