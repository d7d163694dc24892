"""What engines are sent, what their answers mean, and which options they take."""

import inspect
import json
import re
import sys
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from google.auth import jwt

from django_sitemaps_plus import Source, notifications
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
    SearchConsole,
    Secret,
    Takes,
    WebSub,
    YandexWebmaster,
)
from django_sitemaps_plus.notifications.configuration import (
    broken_engines,
    engines_to_notify,
    get_engine,
    get_engines,
)
from django_sitemaps_plus.notifications.engines import baidu
from tests.support.batches import INDEX, SITE, make_batch
from tests.support.servers.service_account import EMAIL
from tests.support.shop import limited
from tests.unit.test_docs import DOCS, headings, part, text_of

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
        (WebSub, "topics", [["https://a.example/n\u00e9ws"], ["HTTPS://a.example/"]]),
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
        (IndexNow, 422, b"words", EngineRefused),
        (WebSub, 400, b"unknown topic", BatchRejected),
        (YandexWebmaster, 409, b"", None),  # it has the index already
        (YandexWebmaster, 400, b"INVALID_URL", BatchRejected),
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
        with pytest.raises(ConfigurationError, match="engines --new-key"):
            IndexNow(key="")

    def test_the_key_file_lies_where_the_project_does(self, wire):
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
    assert {kind for kind in OPTIONS if kind.follows_content} == {Ping, WebSub}
    assert SearchConsole.again_after == timedelta(days=1)
    feeds = make(WebSub).feeds(SITE, [INDEX])
    assert list(feeds) == [NEWS, BLOG]  # its topics, each once


def test_a_hub_is_notified_of_all_sections_without_topics(sections):
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


class Silent(Engine):
    def send(self, batch: Batch) -> None:
        pass


def test_what_an_engine_is_that_only_sends():

    engine = Silent()
    engine.name = "ours"
    assert (engine.takes, engine.feeds(SITE, [INDEX])) == (Takes.URLS, [INDEX])
    assert engine.files(SITE) == {}
    assert engine.read_back(SITE, INDEX) is None
    assert repr(engine) == "<Silent 'ours'>"  # attributes may be secrets


TOKEN = "canary-of-google"
API = "https://www.googleapis.com/webmasters/v3/sites/"


@pytest.fixture
def key(account) -> Secret:
    return Secret(json.dumps(account))


class TestOptions:
    def test_the_key_is_a_path_or_a_secret(self, account, key, tmp_path):
        path = tmp_path / "key.json"
        path.write_text(json.dumps(account))
        for given in (path, str(path), key):
            SearchConsole(service_account_key=given)

    @pytest.mark.parametrize(
        "given",
        [
            *(None, '{"canary": 1}', {"canary": 1}, b"canary", "canary" * 100),
            *({"private_key": None}, {"private_key": "canary"}, {"token_uri": ""}),
            *[Secret(text) for text in ("", "{canary", "[1]", "{}", "5")],
        ],
    )
    def test_anything_else_is_refused_without_being_shown(self, account, given):
        """Text must be a secret, or tools would show it; the key must be complete."""
        if isinstance(given, dict):
            changed = {k: v for k, v in {**account, **given}.items() if v}
            given = given if "canary" in given else Secret(json.dumps(changed))
        with pytest.raises(ConfigurationError, match="a Secret of its text") as caught:
            SearchConsole(service_account_key=given)
        assert "canary" not in str(caught.value)
        assert caught.value.__context__ is None

    def test_a_file_that_cannot_be_read_is_named_as_the_fault(self, tmp_path):
        with pytest.raises(ConfigurationError, match="No such file"):
            SearchConsole(service_account_key=tmp_path / "none.json")

    @pytest.mark.parametrize(
        "site_url",
        ["https://shop.example", "shop.example", "sc-domain:", "sc-domain:a b", 5],
    )
    def test_what_is_not_a_property_is_refused(self, key, site_url):
        with pytest.raises(ConfigurationError, match="with the slash at its end"):
            SearchConsole(service_account_key=key, site_url=site_url)

    def test_without_google_auth_the_error_names_the_extra(self, key, monkeypatch):
        monkeypatch.setitem(sys.modules, "google.oauth2.service_account", None)
        with pytest.raises(ConfigurationError, match=r"sitemaps-plus\[google\]"):
            SearchConsole(service_account_key=key)

    def test_nothing_secret_shows(self, console, account):
        console.send(make_batch())
        shown = f"{console!r} {vars(console)}"
        assert TOKEN not in shown
        assert account["private_key"][100:140] not in shown


class TestToken:
    def test_it_is_requested_with_a_signed_claim(self, console, wire, account):
        console.send(make_batch())
        asked = wire.asked[0]
        assert (asked["method"], asked["url"]) == ("POST", account["token_uri"])
        form = dict(asked["form"])
        assert form["grant_type"] == "urn:ietf:params:oauth:grant-type:jwt-bearer"
        claims = jwt.decode(form["assertion"], verify=False)
        assert claims["iss"] == EMAIL
        assert claims["scope"] == "https://www.googleapis.com/auth/webmasters"
        assert claims["aud"] == "https://oauth2.googleapis.com/token"
        assert claims["exp"] - claims["iat"] == 3_600

    @pytest.mark.parametrize("is_withdrawn", [False, True])
    def test_it_is_reused_while_it_is_valid(self, console, wire, is_withdrawn):
        console.send(make_batch())
        console.send(make_batch())
        assert [asked["method"] for asked in wire.asked] == ["POST", "PUT", "PUT"]
        if is_withdrawn:
            wire.will_answer(401)
            with pytest.raises(RetryLater, match="401"):
                console.send(make_batch())
        else:
            console._credentials.expiry -= timedelta(hours=1)
        wire.will_answer(200, {"access_token": "next"})
        console.send(make_batch())
        assert wire.asked[-1]["headers"] == {"Authorization": "Bearer next"}

    def test_a_fresh_one_that_is_refused_parks_the_engine(self, console, wire):
        wire.will_answer(401)
        with pytest.raises(EngineRefused, match="401"):
            console.send(make_batch())

    @pytest.mark.parametrize("status", [400, 401])
    def test_an_account_that_gets_none_parks_the_engine(self, key, wire, status):
        """The batch is not at fault, so it is not split."""
        wire.will_answer(status, {"error": "invalid_grant"})
        with pytest.raises(EngineRefused, match=rf"{EMAIL}.*{status}.*invalid_grant"):
            SearchConsole(service_account_key=key).send(make_batch())
        assert len(wire.asked) == 1  # google-auth would try again by itself

    @pytest.mark.parametrize(
        ("status", "body"),
        [
            *((503, b""), (200, b"<html>"), (200, []), (200, {}), (200, b"\xff")),
            (200, {"access_token": "x", "expires_in": "soon"}),
        ],
    )
    def test_a_passing_fault_of_google_is_retried_later(self, key, wire, status, body):
        wire.will_answer(status, body)
        with pytest.raises(RetryLater):
            SearchConsole(service_account_key=key).send(make_batch())
        assert len(wire.asked) == 1


class TestSend:
    @pytest.mark.parametrize(
        ("site_url", "segment"),
        [
            (None, "https%3A%2F%2Fshop.example%2F"),
            ("sc-domain:shop.example", "sc-domain%3Ashop.example"),
        ],
    )
    def test_an_index_is_put_below_its_property(self, key, wire, site_url, segment):
        wire.will_answer(200, {"access_token": TOKEN})
        engine = SearchConsole(service_account_key=key, site_url=site_url)
        engine.send(make_batch())
        expected = {
            "method": "PUT",
            "url": f"{API}{segment}/sitemaps/https%3A%2F%2Fshop.example%2Fsitemap.xml",
            "headers": {"Authorization": f"Bearer {TOKEN}"},
        }
        assert wire.asked[1:] == [expected]

    @pytest.mark.parametrize(
        ("status", "body", "error"),
        [
            *((400, b"", BatchRejected), (503, b"", RetryLater)),
            *[
                (403, {"error": {"errors": [{"reason": reason}]}}, error)
                for reason, error in [
                    ("forbidden", EngineRefused),
                    ("quotaExceeded", RetryLater),
                    ("rateLimitExceeded", RetryLater),
                ]
            ],
            (403, {"error": {"errors": [5]}}, EngineRefused),
            (403, b"<html>", EngineRefused),
        ],
    )
    def test_an_error_names_its_status(self, console, wire, status, body, error):
        wire.will_answer(status, body)
        with pytest.raises(error, match=str(status)):
            console.send(make_batch())


def test_googles_own_numbers_are_read_back(console, wire):
    """They come as strings; zeros it leaves out."""
    said = {
        "isPending": False,
        "lastSubmitted": "2026-11-20T10:00:00.000Z",
        "lastDownloaded": "2026-11-20T11:00:00.000Z",
    }
    contents = [{"type": "web", "submitted": "120", "indexed": "0"}, {"type": "image"}]
    wire.will_answer(200, {"path": INDEX, "errors": "1", "contents": contents, **said})
    expected = {"errors": 1, "warnings": 0, "submitted": {"web": 120, "image": 0}}
    assert console.read_back(SITE, INDEX) == expected | said
    assert wire.asked[1]["method"] == "GET"
    for status, body in [(404, b""), (200, b"<html>")]:
        wire.will_answer(status, body)
        assert console.read_back(SITE, INDEX) is None


RECORDING = {"BACKEND": "django_sitemaps_plus.testing.RecordingEngine"}
KEYLESS = {"BACKEND": "django_sitemaps_plus.notifications.Ping"}


def test_an_engine_that_cannot_be_made_keeps_back_no_other(configure):
    configure(ENGINES={"one": RECORDING, "ping": KEYLESS})
    assert list(get_engines()) == ["one"]
    [broken] = broken_engines()
    assert broken.name == "ping"
    assert (broken.takes, broken.follows_content) == (Takes.FEEDS, True)
    assert [engine.name for engine in engines_to_notify()] == ["one", "ping"]
    with pytest.raises(ConfigurationError, match="'endpoint' of Ping"):
        get_engine("ping")
    with pytest.raises(ConfigurationError, match=r"'two'\. .* has: one, ping"):
        get_engine("two")


def test_an_unknown_class_keeps_back_all(configure):
    """It may take URLs or feeds, so what has changed waits."""
    configure(ENGINES={"one": RECORDING, "other": {"BACKEND": "no.such.Engine"}})
    with pytest.raises(ConfigurationError, match=r"\['other'\]: No module named 'no'"):
        engines_to_notify()


def test_engines_are_made_once_for_each_setting(configure):
    configure(ENGINES={"one": RECORDING})
    engine = get_engine("one")
    assert get_engine("one") is engine
    configure(ENGINES={"one": RECORDING})
    assert get_engine("one") is not engine


ENGINES = {
    name: kind
    for name, kind in vars(notifications).items()
    if inspect.isclass(kind) and issubclass(kind, Engine) and kind is not Engine
}

_ROW = re.compile(r"^\| `(\w+)` \| (.*?) \| (.*?) ?\|", re.MULTILINE)


def test_engines_are_all_documented():
    assert set(headings(text_of("engines"))) == {*ENGINES, "Engine"}
    table = text_of("engines").partition("\n## ")[0]
    found = {name: (takes, at_once) for name, takes, at_once in _ROW.findall(table)}
    for name, kind in ENGINES.items():
        words = "URLs" if kind.takes is Takes.URLS else "feeds"
        assert found[name][0].startswith(words)
        assert found[name][1] == f"{kind.max_batch:,}"


@pytest.mark.parametrize("name", ENGINES)
def test_engine_is_documented_with_its_options(name: str):
    table = {row[0]: row[2] for row in _ROW.findall(part("engines", name))}
    options = inspect.signature(ENGINES[name]).parameters
    assert list(table) == list(options)
    for option, parameter in options.items():
        if parameter.default is not None:
            assert table[option] == f"`{parameter.default}`"


def test_the_engine_that_the_guide_adds(wire):
    guide = (DOCS / "how-to" / "add-an-engine.md").read_text("utf-8")
    block = re.search(r"```python\n(# shop/engines.py.*?)```", guide, re.DOTALL)
    assert block is not None
    names: dict[str, Any] = {"__name__": "shop.engines"}
    exec(block[1], names)  # noqa: S102 - it is ours
    names["request"] = wire.request
    engine = names["OurSearch"](token="canary")
    engine.send(make_batch())
    expected = {
        "method": "POST",
        "url": "https://search.example/urls",
        "json": {"host": "shop.example", "urls": [INDEX]},
        "headers": {"Authorization": "Bearer canary"},
    }
    assert wire.asked == [expected]
    assert "canary" not in wire.shown
    for status, error in [(409, BatchRejected), (503, RetryLater)]:
        wire.will_answer(status)
        with pytest.raises(error):
            engine.send(make_batch())
    with pytest.raises(ConfigurationError, match="'token'"):
        names["OurSearch"]()
