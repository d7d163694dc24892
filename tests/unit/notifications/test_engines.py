"""What engines are asked, what their answers mean, and which options they take."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from django_sitemaps_plus import Source
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.exceptions import (
    BatchRejected,
    ConfigurationError,
    EngineRefused,
    RetryLater,
)
from django_sitemaps_plus.notifications import (
    Baidu,
    Batch,
    BingWebmaster,
    Engine,
    IndexNow,
    Ping,
    Secret,
    Takes,
    WebSub,
    YandexWebmaster,
)
from django_sitemaps_plus.notifications.engines import baidu
from tests.support.batches import INDEX, SITE, make_batch
from tests.support.shop import limited

CANARY = "canary-of-an-engine"
KEY = "0123456789abcdef0123456789abcdef"
HUB = "https://hub.example/"
PING = "https://engine.example/ping"
NEWS = "https://shop.example/news.atom"
BLOG = "https://shop.example/blog.rss?full=1&lang=de"
URLS = ("https://shop.example/a", "https://shop.example/b?c=1&d=2")

#: Options with which each engine works.
OPTIONS: dict[type[Engine], dict[str, Any]] = {
    Baidu: {"token": CANARY},
    BingWebmaster: {"api_key": CANARY},
    IndexNow: {"key": KEY},
    Ping: {"endpoint": PING},
    WebSub: {"hub": HUB, "topics": (NEWS, BLOG, NEWS)},
    YandexWebmaster: {
        "user_id": 42,
        "host_id": "https:shop.example:443",
        "token": CANARY,
    },
}

#: What is sent for a batch, and of which targets: by POST to the URL.
REQUESTS: dict[type[Engine], tuple[tuple[str, ...], str, dict[str, Any]]] = {
    Baidu: (
        URLS,
        "https://data.zz.baidu.com/urls",
        {"text": "\n".join(URLS), "query": {"site": "shop.example", "token": CANARY}},
    ),
    BingWebmaster: (
        (INDEX,),
        "https://ssl.bing.com/webmaster/api.svc/json/SubmitFeed",
        {
            "json": {"siteUrl": "https://shop.example", "feedUrl": INDEX},
            "query": {"apikey": CANARY},
        },
    ),
    IndexNow: (
        URLS,
        "https://api.indexnow.org/indexnow",
        {
            "json": {
                "host": "shop.example",
                "key": KEY,
                "keyLocation": f"https://shop.example/{KEY}.txt",
                "urlList": list(URLS),
            }
        },
    ),
    Ping: ((INDEX,), PING, {"method": "GET", "query": {"sitemap": INDEX}}),
    WebSub: (
        (NEWS, BLOG),
        HUB,
        {"form": [("hub.mode", "publish"), ("hub.url", NEWS), ("hub.url", BLOG)]},
    ),
    YandexWebmaster: (
        (INDEX,),
        "https://api.webmaster.yandex.net/v4/user/42/hosts/https:shop.example:443/"
        "user-added-sitemaps",
        {"json": {"url": INDEX}, "headers": {"Authorization": f"OAuth {CANARY}"}},
    ),
}


def make(kind: type[Engine], **options: Any) -> Engine:
    """Return an engine that works, but for these options."""
    return kind(**{**OPTIONS[kind], **options})


@pytest.mark.parametrize("kind", REQUESTS)
def test_a_batch_is_one_request_that_shows_no_secret(wire, kind):
    targets, url, content = REQUESTS[kind]
    if kind is Baidu:
        wire.will_answer(200, {"remain": 8, "success": 2})
    engine = make(kind)
    engine.send(make_batch(*targets))
    assert wire.asked == [{"method": "POST", "url": url, **content}]
    assert engine.endpoint  # sitemap_doctor asks whether it can be reached
    assert url.startswith(engine.endpoint)
    assert CANARY not in wire.shown
    assert KEY not in wire.shown


@pytest.mark.parametrize(
    ("kind", "option", "values"),
    [
        (Baidu, "token", [None, f"{CANARY}\n", 5]),
        (Baidu, "site", ["", " ", 5]),
        (Baidu, "endpoint", [None, "baidu", "https://a.example/?site=x"]),
        (BingWebmaster, "api_key", [None, "two words", f"{CANARY}\n", "\u00e9"]),
        (BingWebmaster, "site_url", ["shop.example"]),
        (BingWebmaster, "endpoint", ["shop.example"]),
        (IndexNow, "key", [None, "", "a" * 7, "a" * 129, f"{CANARY}_", KEY + "\n", 5]),
        (Ping, "endpoint", [None, "", "/ping", 5, f"{PING}?sitemap="]),
        (Ping, "endpoint", ["http://engine.example/ping", "https://0x7f.1/"]),
        (Ping, "endpoint", ["ftp://a.example/", f"https://user:{CANARY}@a.example/"]),
        (WebSub, "hub", [None, "hub.example", f"{HUB}#b", "http://a.example/"]),
        (WebSub, "topics", [[], NEWS, ["/news.atom"], [NEWS, None]]),
        (
            WebSub,
            "topics",
            [["https://shop.example/n\u00e9ws"], ["HTTPS://a.example/"]],
        ),
        (YandexWebmaster, "user_id", [None, "me", -1, "\u0661"]),
        (YandexWebmaster, "host_id", [None, "shop.example"]),
        (YandexWebmaster, "token", [None, f"{CANARY}\n"]),
        (YandexWebmaster, "endpoint", ["api", "https://a.example?b=c"]),
    ],
)
def test_an_option_that_cannot_work_is_named_and_not_shown(kind, option, values):
    """The message has the class and the option; any value may be a secret."""
    for value in values:
        name = f"'{option}' of {kind.__name__}"
        with pytest.raises(ConfigurationError, match=name) as caught:
            make(kind, **{option: value})
        assert CANARY not in str(caught.value)
        assert KEY not in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "status", "body", "error"),
    [
        (Baidu, 400, {"message": "site error"}, EngineRefused),
        (Baidu, 400, {"message": "empty content"}, BatchRejected),
        (Baidu, 401, {"message": "token is not valid"}, EngineRefused),
        (Baidu, 500, {"message": "internal error"}, RetryLater),
        (Baidu, 200, b"<html>", RetryLater),
        (Baidu, 200, {"remain": 1}, RetryLater),
        (BingWebmaster, 400, {"ErrorCode": 3}, EngineRefused),
        (BingWebmaster, 400, {"ErrorCode": 4}, RetryLater),
        (BingWebmaster, 400, {"ErrorCode": 7}, BatchRejected),
        (BingWebmaster, 400, {"ErrorCode": "3"}, BatchRejected),
        (BingWebmaster, 400, b"<html>", BatchRejected),
        (BingWebmaster, 503, {"ErrorCode": 3}, RetryLater),
        (BingWebmaster, 400, {"ErrorCode": 12}, None),  # it has the index already
        (IndexNow, 400, b"words", BatchRejected),
        (IndexNow, 403, b"words", EngineRefused),
        (IndexNow, 422, b"words", EngineRefused),
        (IndexNow, 429, b"words", RetryLater),
        (IndexNow, 500, b"words", RetryLater),
        (Ping, 410, b"words", EngineRefused),
        (WebSub, 400, b"unknown topic", BatchRejected),
        (WebSub, 503, b"words", RetryLater),
        (YandexWebmaster, 409, b"", None),  # it has the index already
        (YandexWebmaster, 400, b"INVALID_URL", BatchRejected),
        (YandexWebmaster, 403, b"words", EngineRefused),
    ],
)
def test_an_answer_says_what_to_do(wire, kind, status, body, error):
    """The error has the engine's own words, and the status where there are none."""
    wire.will_answer(status, body)
    if error is None:
        make(kind).send(make_batch())
        return
    with pytest.raises(error) as caught:
        make(kind).send(make_batch())
    words = body if isinstance(body, bytes) else str(body.get("message", "")).encode()
    assert words.decode() in str(caught.value) or status == 200
    assert str(status) in str(caught.value) or kind is Baidu


class TestBaidu:
    def test_it_names_the_urls_that_it_did_not_take(self, wire):
        bad = [f"https://shop.example/{name}" for name in "xyz"]
        said = {"success": 2, "not_valid": bad[:2], "not_same_site": bad[2:]}
        wire.will_answer(200, {"remain": 7, **said})
        with pytest.raises(BatchRejected, match="example/z") as caught:
            make(Baidu).send(make_batch(*URLS, *bad))
        assert caught.value.targets == set(bad)

    @pytest.mark.parametrize(
        "said",
        [
            {"success": 1, "not_valid": ["https://shop.example/x"]},
            {"success": 1, "not_valid": [URLS[0], "/b"]},
            {"success": 1, "not_valid": [[URLS[0]]]},
            {"success": 2, "not_same_site": [URLS[0]]},
            {"success": 2, "not_valid": 5},
            {"not_valid": [URLS[0]]},
        ],
    )
    def test_it_is_not_believed_where_that_does_not_add_up(self, wire, said):
        """Names that it was not sent, or another number of those that it has taken."""
        wire.will_answer(200, said)
        with pytest.raises(BatchRejected) as caught:
            make(Baidu).send(make_batch(*URLS))
        assert not caught.value.targets

    @pytest.mark.parametrize(("hour", "hours"), [(15, 1), (16, 24)])
    def test_over_quota_waits_for_tomorrow_in_china(
        self, wire, monkeypatch, hour, hours
    ):
        """Where 16:00 UTC is midnight."""
        now = datetime(2026, 11, 20, hour, tzinfo=UTC)
        monkeypatch.setattr(baidu, "now", lambda: now)
        wire.will_answer(400, {"error": 400, "message": "over quota"})
        with pytest.raises(RetryLater, match="over quota") as caught:
            make(Baidu).send(make_batch(*URLS))
        assert caught.value.after == hours * 3_600


class TestIndexNow:
    @pytest.mark.parametrize("key", ["a" * 8, "A-z-0-9-", "f" * 128, Secret(KEY)])
    def test_a_key_of_the_protocol_is_taken(self, key):
        IndexNow(key=key)

    def test_the_error_of_a_key_says_how_to_get_one(self):
        with pytest.raises(ConfigurationError, match="engines --new-key"):
            IndexNow(key="")

    def test_the_key_file_lies_where_the_project_does(self, wire):
        """Below its path, and on its port; it holds the key alone."""
        site = Site("default", "https://shop.example:8443", "/caf\u00e9/")
        engine = IndexNow(key=KEY)
        engine.send(make_batch(site=site))
        assert wire.asked[0]["json"]["host"] == "shop.example:8443"
        location = wire.asked[0]["json"]["keyLocation"]
        assert location == f"https://shop.example:8443/caf%C3%A9/{KEY}.txt"
        assert engine.files(SITE) == {f"{KEY}.txt": KEY}

    @pytest.mark.parametrize(("given", "after"), [(None, 600), (7.0, 7.0)])
    def test_a_429_asks_for_ten_minutes_unless_it_says_more(self, wire, given, after):
        """It is documented to mean spam, not a moment's load."""
        wire.will_answer(429, retry_after=given)
        with pytest.raises(RetryLater) as caught:
            make(IndexNow).send(make_batch())
        assert caught.value.after == after


def test_only_some_engines_follow_what_changes_in_a_feed():
    """The reference says what each takes, and how many at once."""
    assert {kind for kind in OPTIONS if kind.follows_content} == {Ping, WebSub}
    feeds = make(WebSub).feeds(SITE, [INDEX])
    assert list(feeds) == [NEWS, BLOG]  # its topics, each once


def test_a_hub_is_notified_of_all_sections_without_topics(sections):
    """Of those whose entries may have a date, which a feed needs."""
    sections.register("a", Source)
    sections.register("b", limited(1))
    sections.register("c", limited(1, lastmod=None))
    origin = SITE.origin
    assert make(WebSub, topics=None).feeds(SITE, [INDEX]) == [
        *(f"{origin}/sitemap-a.rss", f"{origin}/sitemap-a.atom"),
        *(f"{origin}/sitemap-b.rss", f"{origin}/sitemap-b.atom"),
    ]


def test_a_host_of_yandex_cannot_leave_its_place_in_the_path(wire):
    make(YandexWebmaster, host_id="https:../a:443").send(make_batch())
    assert "/hosts/https:..%2Fa:443/user-added" in wire.asked[0]["url"]


def test_what_an_engine_is_that_only_sends():
    class Silent(Engine):
        def send(self, batch: Batch) -> None:
            """Tell nobody."""

    engine = Silent()
    engine.name = "ours"
    assert (engine.takes, engine.feeds(SITE, [INDEX])) == (Takes.URLS, [INDEX])
    assert engine.files(SITE) == {}
    assert engine.read_back(SITE, INDEX) is None
    assert repr(engine) == "<Silent 'ours'>"  # attributes may be secrets
