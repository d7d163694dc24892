"""Engines of Bing, Yandex, Baidu and hubs against servers that know their accounts."""

from __future__ import annotations

import pytest

from django_sitemaps_plus.exceptions import BatchRejected, EngineRefused, RetryLater
from tests.support.batches import INDEX, make_batch
from tests.support.servers.engine_rules import MARKER

from .tellers import URL, make_baidu, make_bing, make_websub, make_yandex


class TestOthers:
    """What is special to one of them."""

    @pytest.mark.parametrize(
        "make",
        [
            lambda engine: make_bing(engine, "another-key"),
            lambda engine: make_yandex(engine, "another-token"),
            lambda engine: make_yandex(engine, user_id=43),
            lambda engine: make_baidu(engine, "another-token"),
            lambda engine: make_baidu(engine, site="https://shop.example"),
        ],
    )
    def test_one_who_is_not_known_is_parked(self, engine, make):
        """A person must act; the message has no key and no token."""
        with pytest.raises(EngineRefused) as caught:
            make(engine).send(make_batch())
        assert "another-" not in str(caught.value)

    def test_yandex_takes_what_it_has_already(self, engine):
        """It answers 409, which is as good."""
        for _ in range(2):
            make_yandex(engine).send(make_batch())
        assert [heard.status for heard in engine.heard("yandex")] == [201, 409]

    def test_baidu_rejects_a_batch_with_a_bad_or_foreign_url(self, engine):
        """It has taken the others."""
        with pytest.raises(BatchRejected, match=r"bad-url.*other\.example"):
            make_baidu(engine).send(
                make_batch(URL, f"{URL}{MARKER}", "https://other.example/")
            )
        assert engine.accepted() == {URL: 1}

    def test_baidu_over_its_quota_waits_until_tomorrow(self, engine):
        """At most a day."""
        engine.state.quota = 1
        with pytest.raises(RetryLater, match="over quota") as caught:
            make_baidu(engine).send(make_batch(URL, INDEX))
        assert 0 < caught.value.after <= 86_400

    def test_a_hub_takes_several_topics_at_once(self, engine):
        """In one form."""
        topics = [f"https://shop.example/{number}.atom" for number in range(100)]
        make_websub(engine).send(make_batch(*topics))
        assert len(engine.journal) == 1
        assert list(engine.accepted()) == topics
