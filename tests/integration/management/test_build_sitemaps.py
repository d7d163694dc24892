"""``build_sitemaps``: what it takes, what it says and how it ends."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Value
from django.db.models.functions import Concat
from django.test import override_settings

from django_sitemaps_plus import ViewSource
from django_sitemaps_plus.management import output
from django_sitemaps_plus.models import INDEX, Change, Page, Section
from tests.support.published import age, all_rows, objects, seen
from tests.support.shop import limited, make_products
from tests.support.testapp.models import Product

PATHS = ("/sitemap.xml", "/sitemap-products-1.xml", "/sitemap-pages-1.xml")


class Pages(ViewSource):
    """Views without rows."""

    views = ("home", "about")


@pytest.fixture(autouse=True)
def registered(sections: Any) -> Any:
    """Have two sections."""
    make_products(1_250)
    sections.register("products", limited(500))
    sections.register("pages", Pages)
    return sections


def run(*arguments: Any, **options: Any) -> tuple[str, str]:
    """Run the command; return what it wrote to stdout and stderr."""
    out, err = io.StringIO(), io.StringIO()
    call_command("build_sitemaps", *arguments, stdout=out, stderr=err, **options)
    return out.getvalue(), err.getvalue()


class Terminal(io.StringIO):
    """A stream that looks like a terminal."""

    def isatty(self) -> bool:
        return True


class TestOutput:
    def test_it_ends_with_a_table(self):
        """A line for each section while it works, then the table, then the index."""
        out, err = run()
        lines = out.splitlines()
        assert lines[:2] == [
            "products: 3 of 3 pages rendered",
            "pages: 1 of 1 pages rendered",
        ]
        head = "section pages entries bytes gzipped rendered stored seconds"
        assert lines[2].split() == head.split()
        assert re.fullmatch(
            r"products +3 +1,250 +[\d,]+ +[\d,]+ +3 +3 +\d+\.\d\d", lines[4]
        )
        assert re.fullmatch(r"pages +1 +2 +[\d,]+ +[\d,]+ +1 +1 +\d+\.\d\d", lines[5])
        assert re.fullmatch(r"Index of 4 pages published\. \d+\.\d\d s\.", lines[6])
        assert err == ""
        assert "\x1b" not in out
        assert run(verbosity=0) == ("", "")

    def test_a_terminal_gets_a_bar(self, monkeypatch, capsys):
        """With the extra ``cli``; lines without it; the table in both cases."""
        pytest.importorskip("rich")
        call_command("build_sitemaps", stdout=(terminal := Terminal()))
        assert "3 of 3 pages rendered" not in terminal.getvalue()
        assert "Index of 4 pages published" in terminal.getvalue()
        assert re.search(r"products \S+ 100%", capsys.readouterr().out)
        monkeypatch.setattr(output, "rich_progress", None)
        call_command("build_sitemaps", "--full", stdout=terminal)
        assert "products: 3 of 3 pages rendered" in terminal.getvalue()

    def test_json_is_all_that_is_printed(self):
        """With the rows that cannot be listed, whatever their text is."""
        Product.objects.filter(slug="product-00003").update(slug='"\x01é 🎉')
        out, err = run("--json")
        report = json.loads(out)
        assert err == ""
        assert report["index_pages"] == 4
        assert report["is_dry_run"] is False
        products, pages = report["sections"]
        assert (products["section"], products["pages"]) == ("products", 3)
        assert (products["entries"], products["stored"]) == (1_249, 3)
        assert products["skipped"] == 1
        assert "NoReverseMatch" in products["problems"][0]
        assert pages["entries"] == 2

    def test_bad_rows_are_named(self):
        Product.objects.filter(slug="product-00003").update(slug="no slug")
        _, err = run()
        assert "products: 1,249 of 1,250 entries listed, 0 values or rep" in err
        assert "no slug" in err

    def test_a_row_is_named_once_where_the_guard_has_its_page_rendered_twice(self):
        run()
        few = Product.objects.filter(slug__lt="product-00080")
        few.update(slug=Concat(Value("no "), "slug"))
        found = json.loads(run("--full", "--json")[0])["sections"][0]["problems"]
        assert len(found) == len({*found}) == 20

    def test_strict_fails_while_something_is_left_out(self):
        """Also where this run rendered nothing; all else is published."""
        Product.objects.filter(slug="product-00003").update(slug="no slug")
        assert "Index of 4 pages published" in run()[0]
        for arguments in (["--strict"], ["--strict", "--dry-run"]):
            with pytest.raises(CommandError, match="products: 1,249 of 1,250 entries"):
                run(*arguments)
        run("pages", "--strict")
        Product.objects.filter(slug="no slug").update(slug="product-00003")
        run("--full", "--strict")


class TestDryRun:
    def test_a_first_one_changes_nothing(self):
        """Neither a row nor a file is made; its table says what a build would do."""
        out, _ = run("--dry-run")
        assert "Nothing was stored (--dry-run)" in out
        assert re.search(r"products +3 +1,250 +[\d,]+ +[\d,]+ +3 +3 ", out)
        assert not Section.objects.exists()
        assert not Page.objects.exists()
        assert objects() == {}

    def test_a_later_one_changes_nothing(self, client):
        """Though there is something new to publish, and changes to be read."""
        run()
        age()
        Product.objects.all().delete()
        before = everything(client)
        assert Change.objects.exists()
        report = json.loads(run("--dry-run", "--json")[0])
        assert report["is_dry_run"] is True
        assert report["sections"][0]["entries"] == 0
        assert everything(client) == before


def everything(client: Any) -> tuple[Any, ...]:
    return all_rows(), objects(), seen(client, *PATHS)


class TestArguments:
    def test_sections_are_chosen_by_name(self):
        out, _ = run("pages")
        assert "products" not in out
        assert "some section has never been built" in out
        planned = Section.objects.exclude(name=INDEX)
        assert list(planned.values_list("name", flat=True)) == ["pages"]
        assert "Index of 4 pages" in run("pages", "products")[0]

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["pages", "nothing"], r"'nothing'.*products, pages"),
            (["--fulll"], "unrecognized arguments"),
            *[
                ([f"--workers={number}"], "not a number from 1 to 64")
                for number in ("0", "65", "two", "²", "")
            ],
        ],
    )
    def test_what_cannot_be_is_refused(self, arguments, said):
        with pytest.raises(CommandError, match=said):
            run(*arguments)
        assert objects() == {}

    @pytest.mark.parametrize(
        ("given", "said"),
        [
            ({"SITEMAPS_PLUS": {}}, "Sitemap URLs have no origin"),
            ({"MEDIA_ROOT": ""}, "Set MEDIA_ROOT"),
            (
                {"SITEMAPS_PLUS": {"BASE_URL": "https://a.example", "STORAGE": "s3"}},
                "'s3'",
            ),
        ],
    )
    def test_settings_that_cannot_work_are_named(self, given, said):
        with override_settings(**given), pytest.raises(CommandError, match=said):
            run()

    def test_no_section_at_all(self, registered):
        """A forgotten decorator is not a build that worked."""
        for name in list(registered):
            registered.unregister(name)
        with pytest.raises(CommandError, match="No section is registered"):
            run()
