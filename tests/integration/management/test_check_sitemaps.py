"""``check_sitemaps``: what it prints, and when it fails."""

from __future__ import annotations

import io
import json
import re
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from django_sitemaps_plus import ModelSource
from django_sitemaps_plus.diagnostics import advice
from tests.support.shop import ProductSource, make_products
from tests.support.testapp.models import Label, Product

LINE = 'location = Route("product-detail", slug="slug")'


class Methods(ModelSource):
    """A route can replace one of two methods."""

    model = Product

    def priority(self, product: Product) -> float:
        return 0.5


class Broken(ModelSource):
    """A queryset that fails."""

    model = Product

    def get_queryset(self) -> Any:
        raise ValueError("odd")


class Empty(ModelSource):
    """A model without rows."""

    model = Label
    location = "code"


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch, sections: Any) -> None:
    """Have three sections; suggest what is slower too, since few rows take no time."""
    monkeypatch.setattr(advice, "MIN_FACTOR", 0)
    make_products(5)
    sections.register("products", Methods)
    sections.register("declared", ProductSource)
    sections.register("labels", Empty)


def shown(*arguments: str) -> str:
    """Return what the command writes, with 0 for each number of the clock's."""
    out = io.StringIO()
    call_command("check_sitemaps", "--sources", *arguments, stdout=out)
    return re.sub(r"[\d,.]+(?= entries/s|/s$| times)", "0", out.getvalue(), flags=re.M)


def test_each_section_has_its_speed_its_form_and_a_faster_line():
    """In the order of registration."""
    assert shown().splitlines() == [
        f"products: 0 entries/s. {LINE} gives the same URLs at 0/s",
        "  instances: get_absolute_url, priority",
        "  0 times as fast",
        "declared: 0 entries/s",
        "  columns",
        "labels: no entries",
        "  columns",
    ]


def test_figures_have_two_digits(monkeypatch):
    """They are those of the fastest run."""
    times = iter([0, 0.3, 0, 0.1, 0, 0.2] + [0, 0.00093] * 3)
    monkeypatch.setattr(advice, "perf_counter", lambda: next(times))
    out = io.StringIO()
    call_command("check_sitemaps", "--sources", "--section", "products", stdout=out)
    assert "products: 50 entries/s. " in out.getvalue()
    assert " at 5,400/s\n" in out.getvalue()
    assert "  110 times as fast\n" in out.getvalue()


def test_sections_can_be_chosen_and_verified():
    """All rows are counted, a section at a time."""
    lines = shown("--verify", "--section", "products", "--section", "labels")
    assert "products: the same on 5 rows\nlabels: no entries\n" in lines
    assert "declared: 0" not in lines


def test_json_has_all_of_it(capsys):
    """It is all that is printed."""
    call_command("check_sitemaps", "--sources", "--verify", "--json")
    products, declared, labels = json.loads(capsys.readouterr().out)
    suggestion = products["suggestion"]
    assert products["entries_per_second"] > 0
    assert suggestion.pop("entries_per_second") > 0
    assert suggestion.pop("factor") > 0
    assert suggestion == {"line": LINE}
    assert (products["verified_rows"], declared["verified_rows"]) == (5, None)
    assert labels == {
        "section": "labels",
        "form": "columns",
        "entries_per_second": None,
        "suggestion": None,
        "verified_rows": None,
        "problem": "",
    }


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_a_section_that_fails_does_not_stop_the_others(sections, capsys, options):
    """The command ends with what failed."""
    sections.unregister("labels")
    sections.register("broken", Broken)
    sections.register("labels", Empty)
    with pytest.raises(CommandError, match=r"^broken: .* not be read: ValueError: odd"):
        call_command("check_sitemaps", "--sources", *options)
    out = capsys.readouterr().out
    assert "labels" in out
    assert ("broken" in out) == bool(options)


def test_a_difference_fails(capsys, monkeypatch):
    """The line is not printed as one to write."""
    monkeypatch.setattr(advice, "SAMPLE_ENTRIES", 4)
    monkeypatch.setattr(Methods, "location", staticmethod(special), raising=False)
    call_command("check_sitemaps", "--sources")
    assert LINE in capsys.readouterr().out
    with pytest.raises(CommandError, match=r"^products: location = .*, not https"):
        call_command("check_sitemaps", "--sources", "--verify")
    assert LINE not in capsys.readouterr().out


def special(product: Product) -> str:
    """Return the path of a product, of which one has another."""
    is_last = product.slug == "product-00004"
    return "/special/" if is_last else product.get_absolute_url()


def test_a_section_must_exist():
    """Its name may have changed."""
    with pytest.raises(CommandError, match=r"^No section 'nothing'\."):
        call_command("check_sitemaps", "--sources", "--section", "nothing")
