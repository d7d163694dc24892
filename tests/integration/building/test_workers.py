"""Local processes build what one process builds; each test runs the real command."""

import os
import signal
import time
from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import override_settings

from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.pool import Helpers, reason_against
from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.models import Page, Section
from django_sitemaps_plus.models.claims import BATCH_PAGES
from tests.support.builds import build_fully
from tests.support.servers.commands import build_program, run_build
from tests.support.servers.programs import wait_until
from tests.support.servers.workers import pooled
from tests.support.shop import make_products
from tests.support.testapp.models import Product

from .worker_sources import (
    DeadlySource,
    EndlessSource,
    FailingSource,
    MeetingSource,
    SharedSource,
    SlowSource,
    StorelessSource,
    endless,
    helpers_seen,
)

pytestmark = pytest.mark.django_db(transaction=True)

ROWS = 40
SLUGS = [f"product-{number:05}" for number in range(ROWS)]
PROGRAM = (
    "import django; django.setup()\n"
    "from django.core.management import call_command\n"
    "call_command('build_sitemaps', workers=2)\n"
)
BOTH = {"command", "helper"}


def hashes() -> list[tuple[Any, ...]]:
    fields = ("section__name", "number", "low", "high", "entries", "skipped", "dropped")
    return list(
        Page.objects.order_by("section__name", "number").values_list(
            *fields, "plain_hash", "gzip_hash", "lastmod"
        )
    )


@pytest.fixture
def products(stock: Any) -> None:
    """Have a page for each row, which this process can show too."""
    stock(ROWS, limit=1)


@pytest.fixture
def rendered(crawl: Any) -> Any:
    """Return what builds, in the end well, and gives who has rendered which slugs."""

    def rendered(*words: str, **options: Any) -> tuple[set[str], list[str]]:
        done = run_build(SharedSource, *words, **options)
        assert done.returncode == 0, done.stderr
        found = [url.split("/")[3:5] for urls in crawl().values() for url in urls]
        return {who for who, _ in found}, sorted([slug for _, slug in found])

    return rendered


@pytest.fixture
def mended(crawl: Any) -> Any:
    """Return what builds all that failed, and looks whether all is there."""

    def mended() -> None:
        build_fully()
        assert not Page.objects.dirty().exists()
        assert len(crawl()) == ROWS

    return mended


class TestWorkers:
    def test_they_give_the_bytes_of_one(self, sections):
        """The same objects, counts and dates, in the same order."""
        made = make_products(95)
        Product.objects.filter(pk=made[7].pk).update(slug="unlisted")
        Product.objects.filter(pk=made[33].pk).update(popularity=7)
        found = []
        for workers in ("1", "3"):
            Section.objects.all().delete()
            is_alone = workers == "1"
            done = run_build(MeetingSource, "--workers", workers, IS_ALONE=is_alone)
            assert done.returncode == 0, done.stderr
            found.append(hashes())
        assert found[0] == found[1]
        entries, skipped, dropped = zip(
            *[row[4:7] for row in found[0][1:]], strict=True
        )
        assert (sum(entries), sum(skipped), sum(dropped)) == (94, 1, 1)
        assert helpers_seen().exists()

    @pytest.mark.database
    def test_they_share_the_pages(self, products, rendered):
        """The command renders some, helpers the rest, nobody any twice."""
        assert rendered("--workers", "2") == (BOTH, SLUGS)

    def test_few_pages_are_built_by_the_command_alone(self, stock, rendered):
        """To start a process would take longer than to build them."""
        stock(5, limit=1)
        assert rendered("--workers", "2", IS_ALONE=True) == ({"command"}, SLUGS[:5])

    def test_one_set_of_processes_for_all_sites(self, sections, crawl):
        sites = {
            name: {"BASE_URL": f"https://{name}.example"} for name in ("a", "b", "c")
        }
        make_products(ROWS)
        given = {**django_settings.SITEMAPS_PLUS, "SITES": sites}
        done = run_build(SharedSource, "--workers", "2", SITEMAPS_PLUS=given)
        assert done.returncode == 0, done.stderr
        assert Page.objects.filter(entries=1).count() == 3 * ROWS
        assert len(list(helpers_seen().iterdir())) == 1

    @pytest.mark.database
    @pytest.mark.skipif("connection.vendor != 'postgresql'", reason="has no pools")
    def test_a_pool_of_connections(self, products, rendered):
        """Each process has one of its own: a page never has another page's rows."""
        found = rendered("--workers", "3", DATABASES=pooled())
        assert found == (BOTH, SLUGS)

    @pytest.mark.database
    @pytest.mark.skipif("connection.vendor != 'postgresql'", reason="has no server")
    def test_another_database_that_is_down(self, products, rendered):
        """Only that of the pages must work."""
        default = {**pooled()["default"], "OPTIONS": {}}
        down = {**default, "HOST": "127.0.0.1", "PORT": "1"}
        given = {"default": default, "down": down}
        assert rendered("--workers", "2", DATABASES=given) == (BOTH, SLUGS)

    @pytest.mark.database
    @pytest.mark.skipif("connection.vendor != 'postgresql'", reason="has no schemas")
    def test_tables_that_helpers_find_elsewhere(self, products):
        """A project that chooses a schema while it runs is told so, and builds."""
        with connection.cursor() as cursor:
            cursor.execute("CREATE SCHEMA IF NOT EXISTS tenant")
        program = (
            "import django; django.setup()\n"
            "from django.db import connection\n"
            "from django.core.management import call_command\n"
            "options = {'options': '-c search_path=tenant,public'}\n"
            "connection.settings_dict['OPTIONS'] = options\n"
            "call_command('build_sitemaps', workers=2)\n"
        )
        done = run_build(SlowSource, program=["-c", program])
        assert done.returncode == 1
        assert "--workers 1" in done.stderr
        assert not Page.objects.exclude(number=0).dirty().exists()


class TestWaysToRun:
    def test_a_script_without_a_guard(self, products, rendered, tmp_path):
        """Helpers do not run it again."""
        script = tmp_path / "script.py"
        script.write_text(PROGRAM)
        assert rendered(program=[str(script)]) == (BOTH, SLUGS)

    def test_settings_that_no_module_has(self, products, crawl):
        """Helpers could not have them, so the command builds alone and says so."""
        program = (
            "from tests.support import worker_settings as module\n"
            "from django.conf import settings\n"
            "names = [it for it in dir(module) if it.isupper()]\n"
            "settings.configure(**{it: getattr(module, it) for it in names})\n"
        )
        words = ["-c", program + PROGRAM]
        done = run_build(SharedSource, program=words, IS_ALONE=True)
        assert done.returncode == 0, done.stderr
        assert "One process builds" in done.stderr
        assert len(crawl()) == ROWS

    def test_a_test_of_a_project(self, products, crawl):
        """Its settings may be overridden, which no other process can see."""
        with override_settings(), Helpers(1) as helpers:
            assert reason_against()
            assert build(helpers=helpers).problems == []
        assert len(crawl()) == ROWS


class TestFailures:
    def test_a_storage_that_fails_in_a_helper(self, products, mended):
        """The command says so, and the next build has all its pages."""
        done = run_build(StorelessSource, "--workers", "2")
        assert done.returncode == 1
        assert "No space left on device" in done.stderr
        mended()

    def test_a_page_that_fails_is_tried_once_by_all_together(self, sections):
        """Its error is named once; else many would use up its attempts in one build."""
        make_products(12)
        done = run_build(FailingSource, "--workers", "3", "--verbosity", "2")
        assert done.returncode == 1
        for number in range(1, 13):
            assert done.stderr.count(f"page {number}:") == 1
        pages = Page.objects.exclude(number=0)
        assert set(pages.values_list("attempts", flat=True)) == {1}

    def test_a_helper_that_is_killed(self, products, mended):
        """The command says so, and does not wait for its lease; so do others' pages."""
        began = time.monotonic()
        done = run_build(DeadlySource, "--workers", "2")
        assert time.monotonic() - began < get_settings().lease_seconds / 2
        assert done.returncode == 1
        assert "a worker process died" in done.stderr
        left = Page.objects.exclude(number=0).dirty()
        assert set(left.values_list("attempts", flat=True)) == {1}
        assert left.count() <= BATCH_PAGES
        mended()

    @pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGTERM])
    def test_a_command_that_is_ended(self, number, products, mended, tmp_path):
        """Its helpers end with it, and give up the pages that they are at work on."""
        program = build_program(EndlessSource, "--workers=3", directory=tmp_path)
        program.start(waits=False)
        try:
            wait_until(lambda: len(endless()) == 3, "each process has a page")
            os.kill(program.pid, number)
            wait_until(lambda: not program.processes(), "all of it has ended")
        finally:
            program.kill()
        assert Page.objects.exclude(token="").count() == BATCH_PAGES  # its own
        mended()
