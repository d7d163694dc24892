"""``build_sitemaps``: what it takes and says, how it ends, and ``--live``."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Value
from django.db.models.functions import Concat
from django.test import override_settings

from django_sitemaps_plus import ViewSource
from django_sitemaps_plus.building.build import build
from django_sitemaps_plus.building.plan import replan
from django_sitemaps_plus.building.plan.replan import serve_live
from django_sitemaps_plus.management import output
from django_sitemaps_plus.models import INDEX, Change, Page, Publication, Section
from django_sitemaps_plus.testing import RecordingEngine
from django_sitemaps_plus.tracking.collecting import waiting_changes
from tests.integration.diagnostics.rows import ENGINE
from tests.integration.diagnostics.time import pass_time
from tests.integration.diagnostics.time import run as prune
from tests.support.builds import build_and_relay
from tests.support.published import age, all_rows, files, objects, page_row, seen
from tests.support.shop import limited, make_products, product_urls
from tests.support.testapp.models import Product

PATHS = ("/sitemap.xml", "/sitemap-products-1.xml", "/sitemap-pages-1.xml")
PAGES_FILE = "public/sitemap-pages-1.xml.gz"


class Pages(ViewSource):
    """Views without rows."""

    views = ("home", "about")


@pytest.fixture(autouse=True)
def registered(sections: Any) -> Any:
    """Have two sections."""
    make_products(25)
    sections.register("products", limited(10))
    sections.register("pages", Pages)
    return sections


@pytest.fixture
def run(run: Any) -> Callable[..., str]:
    """Return what runs the command and gives what it prints."""
    return partial(run, "build_sitemaps")


def run_strictly(*arguments: str) -> str:
    """Return all that the command prints before it fails."""
    said = io.StringIO()
    with pytest.raises(CommandError):
        call_command("build_sitemaps", "--strict", *arguments, stdout=said, stderr=said)
    return said.getvalue()


class Terminal(io.StringIO):
    """A stream that looks like a terminal."""

    def isatty(self) -> bool:
        return True


class TestOutput:
    def test_it_ends_with_a_table(self, run):
        lines = run().splitlines()
        assert lines[:2] == [
            "products: 3 of 3 pages rendered",
            "pages: 1 of 1 pages rendered",
        ]
        head = "section pages entries bytes gzipped rendered changed seconds"
        assert lines[2].split() == head.split()
        row = r"products +3 +25 +[\d,]+ +[\d,]+ +3 +3 +\d+\.\d\d"
        assert re.fullmatch(row, lines[4])
        assert re.fullmatch(r"pages +1 +2 +\d+ +\d+ +1 +1 +\d+\.\d\d", lines[5])
        assert re.fullmatch(r"Index of 4 pages published\. \d+\.\d\d s\.", lines[6])
        assert len(lines) == 7
        assert "\x1b" not in "".join(lines)
        assert run(verbosity=0) == ""

    def test_a_terminal_gets_a_bar(self, monkeypatch, capsys):
        """With the extra ``cli``; lines without it; the table in both cases."""
        pytest.importorskip("rich")
        call_command("build_sitemaps", stdout=(terminal := Terminal()))
        assert "3 of 3 pages rendered" not in terminal.getvalue()
        assert "Index of 4 pages published" in terminal.getvalue()
        assert re.search(r"products \S+ 100%", capsys.readouterr().out)
        monkeypatch.setattr(output, "find_spec", {}.get)
        call_command("build_sitemaps", "--full", stdout=terminal)
        assert "products: 3 of 3 pages rendered" in terminal.getvalue()

    def test_json_is_all_that_is_printed(self, run):
        """With the rows that cannot be listed, whatever their text is."""
        Product.objects.filter(slug="product-00003").update(slug='"\x01é 🎉')
        report = json.loads(run("--json"))
        assert report["index_pages"] == 4
        assert report["is_dry_run"] is False
        products, pages = report["sections"]
        assert (products["section"], products["pages"]) == ("products", 3)
        assert (products["entries"], products["stored"]) == (24, 3)
        assert products["skipped"] == 1
        assert "NoReverseMatch" in products["problems"][0]
        assert pages["entries"] == 2

    def test_rows_of_pages_rendered_twice_are_named_once(self, run, registered):
        registered.unregister("products")
        registered.register("products", limited(500))
        make_products(1_225, first=25)
        run()
        few = Product.objects.filter(slug__lt="product-00080")
        few.update(slug=Concat(Value("no "), "slug"))
        *_, products = json.loads(run("--full", "--json"))["sections"]
        assert len(products["problems"]) == len({*products["problems"]}) == 20

    def test_strict_fails_while_something_is_left_out(self, run):
        """Also where this run rendered nothing; all else is published."""
        Product.objects.filter(slug="product-00003").update(slug="no slug")
        said = run()
        assert "Index of 4 pages published" in said
        assert "products: 24 of 25 entries listed, 0 values or rep" in said
        assert "no slug" in said
        for arguments in (["--strict"], ["--strict", "--dry-run"]):
            with pytest.raises(CommandError, match="products: 24 of 25 entries"):
                run(*arguments)
        run("pages", "--strict")
        Product.objects.filter(slug="no slug").update(slug="product-00003")
        run("--full", "--strict")

    def test_strict_names_each_row_once_whichever_build_left_it_out(self, run):
        """Rows of this build are named, and rows of pages that it does not render."""
        for number in (3, 14):
            row = Product.objects.get(slug=f"product-{number:05}")
            row.slug = f"no slug {number}"
            row.save()
        run()
        [named, _] = json.loads(run("--full", "--json"))["sections"]
        assert len(named["problems"]) == 2
        row.save()  # it is on the second page of three
        said = run_strictly()
        assert said.count("no slug 3") == said.count("no slug 14") == 1
        assert (
            json.loads(run_strictly("--json"))["sections"][0]["problems"]
            == (named["problems"])
        )

    def test_strict_names_a_row_once_whatever_its_reason_is(self, run, registered):
        """Texts are cut where they are noted, and not where they are stored."""

        def fail(self: Any, row: Product) -> Any:
            raise ValueError("\u202e" * 400)

        registered.unregister("products")
        registered.register("products", limited(25, priority=fail))
        [_, products] = json.loads(run_strictly("--json"))["sections"]
        assert len(products["problems"]) == 20

    @pytest.mark.parametrize("command", ["build_sitemaps", "sitemap_status", "doctor"])
    def test_sections_that_fail_alike_are_one_line(self, registered, command):
        """The line names the first three; --verbosity 2 has a line for each."""

        def fail(self: Any) -> Any:
            raise ValueError("its service is away")

        for name in (*"abcd", "pages of e"):
            registered.register(name, limited(10, get_queryset=fail))
        command = command.replace("doctor", "sitemap_doctor")
        if command != "build_sitemaps":
            build()

        def shown(verbosity: int) -> str:
            err = out = io.StringIO()
            try:
                call_command(command, stdout=out, stderr=err, verbosity=verbosity)
            except CommandError as error:
                return f"{out.getvalue()}\n{error}"
            raise AssertionError(out.getvalue())

        merged = "(?m)a, (section )?b, (section )?c and 2 more: .*its service is away"
        assert re.search(merged, shown(1))
        assert not re.search("(section|builds) [b-e]:", shown(1))
        for name in (*"abcd", "pages of e"):
            assert re.search(f"{name}: .*its service is away", shown(2))

    def test_pages_that_fail_alike_are_one_line(self, run, registered):
        """With their number; --verbosity 2 names each."""

        def fail(self: Any, row: Product) -> Any:
            raise ValueError(f"no price \u202e of {row.slug!r}")

        registered.unregister("products")
        registered.register("products", limited(10, on_error="raise", priority=fail))
        with pytest.raises(CommandError) as raised:
            run()
        [words, hint] = str(raised.value).splitlines()
        assert "no price \\u202e of" in words
        assert words.endswith("(2 more like it)")
        assert "--traceback" in hint
        with pytest.raises(CommandError) as raised:
            run("--full", verbosity=2)
        assert len(str(raised.value).splitlines()) == 4


def test_a_dry_run_changes_nothing(run, client):
    def everything() -> tuple[Any, ...]:
        return all_rows(), objects(), seen(client, *PATHS)

    before = everything()
    said = run("--dry-run")
    assert "Nothing was stored (--dry-run)" in said
    assert re.search(r"products +3 +25 +[\d,]+ +[\d,]+ +3 +3 ", said)
    assert everything() == before
    assert objects() == {}
    run()
    age()
    Product.objects.all().delete()
    before = everything()
    assert Change.objects.exists()
    report = json.loads(run("--dry-run", "--json"))
    assert report["is_dry_run"] is True
    assert report["sections"][0]["entries"] == 0
    assert everything() == before


class TestArguments:
    def test_sections_are_chosen_by_name(self, run):
        said = run("pages")
        assert "products" not in said
        assert "some section has never been built" in said
        planned = Section.objects.exclude(name=INDEX)
        assert list(planned.values_list("name", flat=True)) == ["pages"]
        assert "Index of 4 pages" in run("pages", "products")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["pages", "nothing"], r"'nothing'.*products, pages"),
            (["--fulll"], "unrecognized arguments"),
            *[
                ([f"--workers={number}"], "not a number from 1 to 64")
                for number in ("0", "65", "two", "²", "")
            ],
            (["--live"], "Name the sections to serve live: products, pages"),
            (["--live", "offers"], "'offers'. Registered are: products, pages"),
            (["--live", "products", "--dry-run"], "not allowed with argument"),
        ],
    )
    def test_what_cannot_be_is_refused(self, run, arguments, said):
        with pytest.raises(CommandError, match=said):
            run(*arguments)
        assert objects() == {}

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"SITEMAPS_PLUS": {}}, "Sitemap URLs have no origin"),
            (
                {"SITEMAPS_PLUS": {"BASE_URL": "https://a.example", "STORAGE": "s3"}},
                "'s3'",
            ),
        ],
    )
    def test_settings_that_cannot_work_are_named(self, run, given, said):
        with override_settings(**given), pytest.raises(CommandError, match=said):
            run()


def public() -> set[str]:
    """Return the public names."""
    return {name for name in files() if name.startswith("public/sitemap")}


@pytest.mark.django_db(transaction=True)
class TestLive:
    """``--live``: a section goes back to live serving."""

    @pytest.fixture(autouse=True)
    def built(self, registered: Any) -> None:
        """Build all, and have a change wait."""
        build_and_relay()
        build_and_relay()
        Product.objects.get(slug="product-00003").save()

    def test_it_answers_live_at_once(self, run, client, crawl):
        """With the change that no build has seen; the other section stays."""
        other = client.get("/sitemap-pages-1.xml").headers["ETag"]
        assert Change.objects.exists()
        assert "products is served live" in run("--live", "products")
        Product.objects.filter(slug="product-00004").delete()
        pages = crawl()
        assert [*pages] == [f"/sitemap-products-{n}.xml" for n in (1, 2, 3)] + [
            PATHS[2]
        ]
        assert sum(map(len, pages.values())) == 24 + 2
        assert "Last-Modified" not in client.get("/sitemap-products-1.xml").headers
        assert client.get("/sitemap-products-4.xml").status_code == 404
        assert client.get("/sitemap-pages-1.xml").headers["ETag"] == other

    def test_nothing_of_it_is_left_and_it_can_be_built_again(self, run):
        """Neither rows nor public names: the index is rendered until all is built."""
        run("--live", "products")
        assert set(Page.objects.values_list("section__name", "number")) == {
            (INDEX, 0),
            ("pages", 1),
        }
        assert public() == {PAGES_FILE}
        assert "some section has never been built" in run("pages")
        assert public() == {PAGES_FILE}
        pass_time()
        prune()
        assert {name.split("/")[1] for name in objects()} == {"pages"}
        assert "Index of 4 pages published" in run()
        assert len(public()) == 5
        assert page_row("products", 3).object

    def test_what_nothing_reads_any_more_does_not_wait(self, run):
        """Processes that have known the section as built record more of it."""
        assert waiting_changes(["products"])["products"][0] == 1
        run("--live", "products")
        Product.objects.get(slug="product-00005").save()
        assert Change.objects.count() == 2
        assert waiting_changes(["products"]) == {}
        pass_time()
        prune()
        assert Change.objects.count() == 2
        Change.objects.update(at=Page.objects.values("published_at")[:1])
        prune()
        assert not Change.objects.exists()

    @pytest.mark.database
    def test_a_builder_at_work_loses_its_claim(self, registered, crawl):
        is_first = [True]

        def lastmod(self, product):
            if is_first.pop() if is_first else False:
                serve_live(["products"])
            return product.updated_at

        registered.unregister("products")
        registered.register("products", limited(10, lastmod=lastmod))
        report = build(["products"])
        assert not is_first
        assert report.problems == []
        assert not Page.objects.filter(section__name="products").exists()
        assert public() == {PAGES_FILE}
        assert len(crawl()) == 4

    def test_a_builder_that_replans_leaves_it_live(
        self, registered, crawl, monkeypatch
    ):
        """A new plan alone would keep its pages from being served."""
        real = replan.first_plan

        def first_plan(*args: Any) -> Any:
            serve_live(["products"])
            return real(*args)

        monkeypatch.setattr(replan, "first_plan", first_plan)
        registered.unregister("products")
        registered.register("products", limited(5))
        build(["products"], replan=True)
        assert not Page.objects.filter(section__name="products").exists()
        assert len(crawl()) == 6

    def test_engines_are_notified_of_what_was_published(self, run, configure):
        configure(ENGINES={"one": ENGINE}, NOTIFY=True, NOTIFY_DELAY_SECONDS=0)
        RecordingEngine.clear()
        Product.objects.get(slug="product-00007").delete()
        build()
        assert Publication.objects.exists()
        run("--live", "products")
        assert not Publication.objects.exists()
        call_command("notify_search_engines", verbosity=0)
        assert product_urls([7])[0] in RecordingEngine.told()
        RecordingEngine.clear()

    def test_a_section_that_is_too_large_stays_built(self, run, configure):
        """Live it would be served nowhere."""
        configure(LIVE_MAX_ROWS=10)
        before = public()
        with pytest.raises(CommandError, match=r"more than 10 rows.*LIVE_MAX_ROWS"):
            run("--live", "products")
        assert public() == before

    @pytest.mark.parametrize(
        "options", [[], ["--full", "--replan"], ["--workers=2"], ["--dry-run"]]
    )
    def test_a_source_that_is_always_live_is_never_built(
        self, run, registered, crawl, options
    ):
        """To ask for it by name is an error, which says so in one sentence."""
        registered.unregister("products")
        registered.register("products", limited(10, live=True))
        with pytest.raises(CommandError) as caught:
            run("products", "pages", *options)
        assert str(caught.value) == (
            "products: rendered on request and not built, since its source has "
            "live = True"
        )
        for arguments in (options, [*options, "pages"]):
            said = run(*arguments)
            assert ("on request, as are: products" in said) is ("--dry-run" not in said)
        assert json.loads(run("--json", *options))["live"] == ["products"]
        assert ("public/sitemap-products-1.xml.gz" in public()) is (
            "--dry-run" in options
        )
        assert run("--live", "products") == "products is served live.\n"
        run()
        assert public() == {PAGES_FILE}
        assert len(crawl()) == 4
