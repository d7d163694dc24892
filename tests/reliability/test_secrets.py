"""T19: no key or token of an engine gets anywhere but to that engine."""

import html
import http.client
import json
import logging
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from django.core.cache import cache
from django.core.management import call_command
from django.db.models import F
from django.test import Client, RequestFactory
from django.utils import timezone
from django.views.debug import SafeExceptionReporterFilter, technical_500_response

from django_sitemaps_plus.conf import get_settings
from django_sitemaps_plus.exceptions import ConfigurationError, EngineError
from django_sitemaps_plus.models import Delivery, EngineHost
from django_sitemaps_plus.notifications import Secret
from django_sitemaps_plus.notifications.configuration import _engines_of as made
from django_sitemaps_plus.notifications.configuration import get_engine, get_engines
from django_sitemaps_plus.notifications.http import client
from django_sitemaps_plus.notifications.http import client as our_http
from tests.support.batches import INDEX, SITE, make_batch
from tests.support.builds import build_and_relay
from tests.support.leaks import everything_in_redis
from tests.support.servers import engine_rules
from tests.support.servers.engine import LocalEngine
from tests.support.servers.engine_faults import FAULTS
from tests.support.servers.service_account import make_service_account
from tests.support.servers.workers import Broker, messages_to

from .tools.rights import ADMIN, DASHBOARD
from .tools.secrecy import (
    BAD,
    BAIDU,
    BING,
    KEY,
    MONITORS,
    OURS,
    TRACE,
    YANDEX,
    Leaky,
    LeakyFeeds,
    Watch,
    configured,
    engines_of,
)
from .tools.shop import PlainSource, add, rename

#: Seconds that an engine has for an answer; less where many are sure to come too late.
ANSWER_SECONDS = 0.5
LATE = {"hang": 0.1, "drip": 0.3}


@pytest.fixture
def watch(caplog, capsys, monkeypatch, settings) -> Watch:
    """Give what collects every text."""
    settings.DEBUG = True
    caplog.set_level(logging.DEBUG)
    monkeypatch.setattr(http.client.HTTPConnection, "debuglevel", 1)
    monkeypatch.setattr(our_http, "MAX_SECONDS", ANSWER_SECONDS)
    return Watch(caplog, capsys)


@pytest.fixture
def engines(engine, tmp_path, configure, monkeypatch) -> LocalEngine:
    """Configure every engine, each with a secret that the local one knows."""
    for name, value in (("BING_KEY", BING), ("YANDEX_TOKEN", YANDEX)):
        monkeypatch.setattr(engine_rules, name, value)
    monkeypatch.setattr(engine_rules, "BAIDU_TOKEN", BAIDU)
    account = tmp_path / "account.json"
    account.write_text(json.dumps(make_service_account(engine.state)))
    configure(
        ENGINES=engines_of(engine, account),
        MONITORING_TOKEN=MONITORS,
        NOTIFY=True,
        NOTIFY_DELAY_SECONDS=0,
        NOTIFY_INTERVAL_SECONDS=0,
        NOTIFY_RETRY_SECONDS=0.001,
    )
    return engine


@pytest.fixture
def workers(valkey, settings, configure) -> Iterator[str]:
    """Let messages to workers, and the cache, be on one server; give its address."""
    settings.CACHES = {
        "default": {
            "BACKEND": "django.core.cache.backends.redis.RedisCache",
            "LOCATION": valkey.url,
        }
    }
    configure(
        EXECUTOR="django_sitemaps_plus.tasks.CeleryExecutor", LIVE_CACHE_SECONDS=60
    )
    with messages_to(Broker(valkey.url)):
        yield valkey.url


def edit(number: int) -> None:
    rename([1], f"turn{number}")
    build_and_relay()


def tell_again() -> None:
    """Let every engine be told of everything, whatever it has said before."""
    now = timezone.now()
    Delivery.objects.update(wanted=F("sent") + 1, not_before=now, feedback_at=None)
    call_command("notify_search_engines", "--all", "--retry", "--json")


def sent(server: LocalEngine) -> str:
    return "\n".join([f"{heard.query} {heard.body}" for heard in server.journal])


def google_secrets(server: LocalEngine) -> list[str]:
    """Return the access tokens, the signed claims, and a line of the private key."""
    claims = [heard.body.partition("assertion=")[2] for heard in server.heard("token")]
    account: Any = get_settings().engines["searchconsole"]["OPTIONS"][
        "service_account_key"
    ]
    lines = json.loads(Path(account).read_text())["private_key"].splitlines()
    found = [*server.state.tokens, *claims, lines[3]]
    assert len(found) > 2
    assert all([len(secret) > 30 for secret in found])
    return found


def look_around(watch: Watch, client: Client) -> None:
    """See every page of the dashboard, take every action, and ask as monitors do."""
    subjects = {"section": "products", "engine": "baidu", "urls": "/about/"}
    for row in [row for rows in ADMIN.values() for row in rows]:
        if row.path.startswith(DASHBOARD):
            watch.call(client.get, f"/admin/{row.path}")
            watch.call(client.post, f"/admin/{row.path}", subjects)
    for path in ("/monitoring/health/", "/monitoring/metrics/"):
        for kind in ("Bearer", "Basic"):
            headers = {"Authorization": f"{kind} {MONITORS}"}
            watch.call(partial(Client().get, path, headers=headers))


@pytest.mark.django_db(transaction=True)
def test_no_secret_gets_anywhere_but_to_its_engine(
    engines, workers, sections, client, admin_client, watch, monkeypatch
):
    """Neither while all is well, nor in any of the ways in which it may go wrong."""
    add(range(1, 4))
    sections.register("products", PlainSource)
    watch.call(build_and_relay)
    watch.call(call_command, "check", "--database", "default")
    watch.call(client.get, "/sitemap-products-1.xml")
    for number, fault in enumerate([None, *FAULTS]):
        engines.faults.misbehave({fault: 1.0} if fault else {})
        seconds = LATE.get(fault or "", ANSWER_SECONDS)
        monkeypatch.setattr(our_http, "MAX_SECONDS", seconds)
        watch.call(edit, number)
        watch.call(tell_again)
        watch.call(call_command, "sitemap_status")
        watch.call(admin_client.get, "/admin/sitemaps_plus/dashboard/problems/")
    engines.faults.heal()
    for name in ("BING_KEY", "YANDEX_TOKEN", "BAIDU_TOKEN"):
        monkeypatch.setattr(engine_rules, name, "another")
    secrets = google_secrets(engines)
    engines.state.tokens.clear()
    engines.state.site_url = "http://127.0.0.1:1"  # where no key file is
    watch.call(tell_again)
    watch.call(call_command, "sitemap_status", "--json")
    engines.state.public_keys.clear()
    made.cache_clear()
    watch.call(tell_again)
    watch.texts += [repr(get_settings()), repr(get_engines()), str(get_engines())]
    watch.texts += [repr(vars(engine)) for engine in get_engines().values()]
    watch.texts += [repr(row) for row in (*Delivery.objects.all(), *parked())]
    assert len(parked()) >= 5
    look_around(watch, admin_client)
    watch.call(client.get, "/nothing.txt")
    watch.texts += everything_in_redis(workers)
    assert watch.leaks(*secrets, *google_secrets(engines)[:-1]) == []
    # IndexNow's own file is the one other place where its key may be.
    assert client.get(f"/{KEY}.txt").content == KEY.encode()
    assert sent(engines).count(KEY) > len(FAULTS)
    assert sent(engines).count(TRACE) > 3 * len(FAULTS)


def parked() -> list[EngineHost]:
    return list(EngineHost.objects.exclude(parked_reason=""))


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("kind", [Leaky, LeakyFeeds])
def test_an_engine_that_raises_is_not_quoted(kind, configure, sections, client, watch):
    """Of its error the log has the kind and the lines, and nobody else has more."""
    configure(
        NOTIFY=True, NOTIFY_DELAY_SECONDS=0, ENGINES=configured(kind, token=TRACE)
    )
    add(range(1, 4))
    sections.register("products", PlainSource)
    watch.call(build_and_relay)
    watch.call(call_command, "notify_search_engines")
    Delivery.objects.update(sent=1)
    EngineHost.objects.all().delete()
    watch.call(call_command, "notify_search_engines")
    watch.call(call_command, "sitemap_status")
    watch.call(client.get, "/nothing.txt")
    assert watch.leaks() == []
    assert "RuntimeError" in "".join(watch.texts)
    assert "self._fail()" in "".join(watch.texts)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", BAD)
def test_options_that_cannot_work_are_not_quoted(
    name, configure, client, watch, monkeypatch
):
    """By checks, commands, views, or what tools collect of their errors."""
    # A debug page shows settings as well, of which Django hides those with the name
    # of a secret; here others hold one.
    monkeypatch.setattr(SafeExceptionReporterFilter, "get_safe_settings", dict)
    configure(NOTIFY=True, ENGINES=BAD[name])
    watch.call(call_command, "check", "--deploy", "--database", "default")
    watch.call(get_engine, "one")
    watch.call(call_command, "notify_search_engines")
    watch.call(client.get, "/nothing.txt")
    watch.texts.append(repr(get_settings()))
    said = "".join(watch.texts)
    assert "E025" in said or "E002" in said
    assert "Traceback" in said
    assert watch.leaks() == []


@pytest.mark.django_db(transaction=True)
def test_the_detectors_find_what_is_there(workers, watch):
    """In a row, and in the cache."""
    Delivery.objects.create(site="s", engine="e", host="h", target=TRACE)
    cache.set("found", TRACE)
    watch.texts += everything_in_redis(workers)
    assert len(watch.leaks()) == 2


#: Texts of a key file that cannot work.
BROKEN: dict[str, Callable[[dict[str, Any]], str]] = {
    "half of the text": lambda account: json.dumps(account)[:-40],
    "a list": lambda account: json.dumps([account]),
    "text with a mark before it": lambda account: "\ufeff" + json.dumps(account),
    "the key alone": lambda account: account["private_key"],
    "text of a key that is cut": lambda account: json.dumps(
        {**account, "private_key": account["private_key"][:-200]}
    ),
}


def in_file(text: str, directory: Path) -> Path:
    path = directory / "key"
    path.write_text(text)
    return path


#: Ways to give a text in the settings; the plain ones are refused.
GIVEN: dict[str, Callable[[str, Path], Any]] = {
    "secret": lambda text, _: Secret(text),
    "text": lambda text, _: text,
    "dict": lambda text, _: {"private_key": text},
    "file": in_file,
}


class Pages:
    """Errors, as Django shows them where DEBUG is on."""

    def __init__(self, server: LocalEngine, settings: Any) -> None:
        self._server = server
        self._settings = settings
        self.account = make_service_account(server.state)
        self.shown: list[str] = []

    def configure(self, key: Any) -> None:
        options = {
            "service_account_key": key,
            "endpoint": f"{self._server.url}/webmasters/v3",
        }
        engine = {"BACKEND": f"{OURS}.SearchConsole", "OPTIONS": options}
        ours = {**self._settings.SITEMAPS_PLUS, "ENGINES": {"google": engine}}
        self._settings.SITEMAPS_PLUS = ours

    def show(self, step: Callable[[], object]) -> None:
        """Do what may fail; keep the page of the error."""
        try:
            step()
        except (EngineError, ConfigurationError):
            response = technical_500_response(
                RequestFactory().get("/"), *sys.exc_info()
            )
            self.shown.append(html.unescape(response.content.decode()))

    def leaks(self) -> set[str]:
        """Return what is shown of the key, of signed claims and of tokens."""
        lines = self.account["private_key"].splitlines()[1:-1]
        heard = self._server.heard("token")
        claims = [request.body.partition("assertion=")[2] for request in heard]
        secrets = [*lines, *filter(None, claims), *self._server.state.tokens]
        return {s for s in secrets for page in self.shown if s in page}


@pytest.fixture
def pages(engine, settings, monkeypatch) -> Pages:
    settings.DEBUG = True
    monkeypatch.setattr(client, "MAX_SECONDS", 0.5)
    return Pages(engine, settings)


def make() -> Any:
    return get_engine("google")


def submit() -> None:
    """Submit an index; the page of an error quotes these lines, and none of a test."""
    make().send(make_batch())


def read_back() -> None:
    make().read_back(SITE, INDEX)


def forget_token() -> None:
    make()._credentials.token = None


def test_a_key_that_works_is_not_shown(pages, engine):
    """Whatever Google answers to it, or to the token that it opens."""
    pages.configure(Secret(json.dumps(pages.account)))
    for fault in FAULTS:
        for kind in ("token", "search_console"):
            engine.faults.script(fault, kind=kind)
            forget_token()
            pages.show(submit)
            pages.show(read_back)
    engine.state.tokens.add("of-somebody-else")
    engine.state.properties = set()
    pages.show(submit)
    engine.state.public_keys.clear()
    forget_token()
    pages.show(submit)
    assert len(pages.shown) > len(FAULTS)
    assert engine.heard("token")
    assert pages.leaks() == set()


@pytest.mark.parametrize("given", GIVEN)
@pytest.mark.parametrize("form", BROKEN)
def test_a_key_that_cannot_work_is_not_shown(form: str, given: str, pages, tmp_path):
    """Where it is refused, nor among the settings of any other page."""
    pages.configure(GIVEN[given](BROKEN[form](pages.account), tmp_path))
    pages.show(make)
    assert len(pages.shown) == 1
    assert "SITEMAPS_PLUS" in pages.shown[0]
    assert pages.leaks() == set()


def test_the_detector_finds_a_key_that_is_shown(pages, settings):
    """As a setting of the project's own."""
    settings.GOOGLE_CREDENTIALS = pages.account["private_key"]
    pages.configure("no such file")
    pages.show(make)
    assert pages.leaks()
