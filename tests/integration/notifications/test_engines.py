"""Engines against servers that check what real ones check, and misbehave."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.exceptions import (
    BatchRejected,
    EngineError,
    EngineRefused,
    RetryLater,
)
from tests.support.batches import make_batch
from tests.support.servers.engine_faults import FAULTS

from .tellers import MAKERS


@pytest.fixture(params=MAKERS)
def kind(request: pytest.FixtureRequest) -> str:
    """Give each kind of engine in turn."""
    name: str = request.param
    return name


class TestEachEngine:
    """What all of them have in common."""

    def test_what_it_sends_is_accepted_each_time(self, engine, kind):
        """The server finds no fault, and has the target as it stands in a sitemap."""
        make, target = MAKERS[kind]
        teller = make(engine)
        teller.send(make_batch(target))
        assert engine.accepted() == {target: 1}
        teller.send(make_batch(target))
        assert len(engine.heard(kind)) == 2

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ("503", RetryLater),
            ("429", RetryLater),
            ("lost_ack", RetryLater),
            ("403", EngineRefused),
            ("302", EngineRefused),
            ("400", BatchRejected),
        ],
    )
    def test_a_fault_is_an_error_that_says_what_to_do(self, engine, kind, fault, error):
        """Whatever the engine's own ways to answer; what follows is taken again."""
        make, target = MAKERS[kind]
        teller = make(engine)
        engine.faults.script(fault)
        with pytest.raises(error) as caught:
            teller.send(make_batch(target))
        assert getattr(caught.value, "after", None) == (1 if fault == "429" else None)
        assert engine.accepted() == ({target: 1} if fault == "lost_ack" else {})
        teller.send(make_batch(target))

    @pytest.mark.parametrize("fault", ["huge", "no_json", "200", "202"])
    def test_a_strange_answer_does_no_harm(self, engine, kind, fault):
        """Of a body, only Baidu's is needed."""
        make, target = MAKERS[kind]
        engine.faults.script(fault)
        try:
            make(engine).send(make_batch(target))
        except EngineError:
            assert kind == "baidu" or fault == "huge"

    def test_a_server_that_is_not_there_is_tried_later(self, engine, kind):
        make, target = MAKERS[kind]
        teller = make(engine)
        engine.close()
        with pytest.raises(RetryLater):
            teller.send(make_batch(target))


def test_every_fault_has_a_test():
    """Those that take ten seconds are met by the tests of HTTP."""
    met = {"503", "429", "lost_ack", "403", "302", "400", "huge", "no_json"}
    assert set(FAULTS) == met | {"200", "202", "422", "hang", "drip"}
