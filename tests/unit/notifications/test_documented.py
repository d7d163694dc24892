"""What the documentation says of engines is so."""

from __future__ import annotations

import inspect
import re
from typing import Any

import pytest

from django_sitemaps_plus import notifications
from django_sitemaps_plus.exceptions import (
    BatchRejected,
    ConfigurationError,
    RetryLater,
)
from django_sitemaps_plus.notifications import Engine, Takes
from tests.support.batches import INDEX, make_batch
from tests.unit.test_docs import DOCS, headings, part, text_of

ENGINES = {
    name: kind
    for name, kind in vars(notifications).items()
    if inspect.isclass(kind) and issubclass(kind, Engine) and kind is not Engine
}

_ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*?) ?\|", re.MULTILINE)


class TestReference:
    def test_engines_are_all_documented(self):
        """Each is a heading, and a row of the table, and none is made up."""
        assert set(headings(text_of("engines"))) == {*ENGINES, "Engine"}
        table = text_of("engines").partition("\n## ")[0]
        found = {name: (takes, at_once) for name, takes, at_once in _ROW.findall(table)}
        for name, kind in ENGINES.items():
            words = "URLs" if kind.takes is Takes.URLS else "feeds"
            assert found[name][0].startswith(words)
            assert found[name][1] == f"{kind.max_batch:,}"

    @pytest.mark.parametrize("name", ENGINES)
    def test_engine_is_documented_with_its_options(self, name: str):
        """Each with its default where that is a text."""
        table = {row[0]: row[2] for row in _ROW.findall(part("engines", name))}
        options = inspect.signature(ENGINES[name]).parameters
        assert list(table) == list(options)
        for option, parameter in options.items():
            if parameter.default is not None:
                assert table[option] == f"`{parameter.default}`"


class TestExample:
    """The engine that the guide adds."""

    @pytest.fixture
    def example(self, wire) -> type[Any]:
        """Give its class."""
        guide = (DOCS / "how-to" / "add-an-engine.md").read_text("utf-8")
        block = re.search(r"```python\n(# shop/engines.py.*?)```", guide, re.DOTALL)
        assert block is not None
        names: dict[str, Any] = {"__name__": "shop.engines"}
        exec(block[1], names)  # noqa: S102 - it is ours
        names["request"] = wire.request
        found: type[Any] = names["OurSearch"]
        return found

    def test_it_tells_a_batch(self, example, wire):
        example(token="canary").send(make_batch())
        assert wire.asked == [
            {
                "method": "POST",
                "url": "https://search.example/urls",
                "json": {"host": "shop.example", "urls": [INDEX]},
                "headers": {"Authorization": "Bearer canary"},
            }
        ]
        assert "canary" not in wire.shown

    @pytest.mark.parametrize(
        ("status", "error"), [(409, BatchRejected), (503, RetryLater)]
    )
    def test_it_says_what_an_answer_means(self, example, wire, status, error):
        wire.will_answer(status)
        with pytest.raises(error):
            example(token="canary").send(make_batch())

    def test_it_needs_its_token(self, example):
        with pytest.raises(ConfigurationError, match="'token'"):
            example()
