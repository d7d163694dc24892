"""Secrets that can be found again, engines that have them, and who looks for them."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management import CommandError

from django_sitemaps_plus.exceptions import BuildError, ConfigurationError
from django_sitemaps_plus.notifications import Batch, Engine, Takes
from django_sitemaps_plus.notifications.secrets import Secret
from tests.support.leaks import everything, everything_in_database, everything_logged
from tests.support.servers.engine import LocalEngine

# In parts, since pages of errors quote the lines of programs.
TRACE = "".join(["c4n", "ary"])
KEY = f"{TRACE}-indexnow-0123456789"
MONITORS = f"{TRACE}-monitoring-0123456789"
BING, YANDEX, BAIDU = [f"{TRACE}/+&={name}" for name in ("bing", "yandex", "baidu")]

OURS = "django_sitemaps_plus.notifications"


def engines_of(server: LocalEngine, account: Path) -> dict[str, dict[str, Any]]:
    """Return ENGINES with all that there are, each with its secret."""
    url = server.url
    topics = ["https://example.com/news.atom"]
    options: dict[str, dict[str, Any]] = {
        "IndexNow": {"key": KEY, "endpoint": f"{url}/indexnow"},
        "SearchConsole": {
            "service_account_key": str(account),
            "endpoint": f"{url}/webmasters/v3",
        },
        "BingWebmaster": {"api_key": BING, "endpoint": f"{url}/bing/SubmitFeed"},
        "YandexWebmaster": {
            "user_id": 42,
            "host_id": "https:example.com:443",
            "token": YANDEX,
            "endpoint": f"{url}/yandex/v4",
        },
        "Baidu": {"token": BAIDU, "endpoint": f"{url}/baidu/urls"},
        "WebSub": {"hub": f"{url}/hub", "topics": topics},
        "Ping": {"endpoint": f"{url}/ping"},
    }
    return {
        name.lower(): {"BACKEND": f"{OURS}.{name}", "OPTIONS": given}
        for name, given in options.items()
    }


class Leaky(Engine):
    """One that says its secret in every error that it raises."""

    takes = Takes.FEEDS

    def __init__(self, token: str, *, made: bool = True) -> None:
        self._token = Secret(token)
        if not made:
            raise ValueError(token)

    def send(self, batch: Batch) -> None:
        """Fail where all is to be done."""
        self._fail()

    def read_back(self, site: Any, target: str) -> None:
        """Fail to ask."""
        self._fail()

    def files(self, site: Any) -> dict[str, str]:
        """Fail to name files."""
        self._fail()
        return {}

    def _fail(self) -> None:
        token = self._token.reveal()
        raise RuntimeError(f"{token} is not good")


class LeakyFeeds(Leaky):
    """One that does so before it can be told anything."""

    def feeds(self, site: Any, indexes: Any) -> list[str]:
        """Fail to name feeds."""
        self._fail()
        return []


def configured(kind: Any, **options: Any) -> dict[str, Any]:
    """Return ENGINES with one engine of this module, or of ours by its name."""
    ours = f"{OURS}.{kind}"
    path = ours if isinstance(kind, str) else f"{kind.__module__}.{kind.__qualname__}"
    return {"one": {"BACKEND": path, "OPTIONS": options}}


WITH_PASSWORD = f"https://me:{TRACE}@hub.example/"

#: What cannot work, with a secret in it.
BAD: dict[str, Any] = {
    "no dict": TRACE,
    "no dict of an engine": {"one": TRACE},
    "no dict of options": {"one": {"BACKEND": f"{OURS}.Baidu", "OPTIONS": TRACE}},
    "another key": {"one": {"BACKEND": f"{OURS}.Baidu", "TOKEN": TRACE}},
    "key": configured("IndexNow", key=f"{TRACE} and more"),
    "unknown option": configured("IndexNow", kee=TRACE),
    "api_key": configured("BingWebmaster", api_key=f"{TRACE}\n"),
    "user_id": configured("YandexWebmaster", user_id=TRACE, token=TRACE),
    "token": configured("Baidu", token=[TRACE]),
    "site": configured("Baidu", token=TRACE, site=5),
    "hub": configured("WebSub", hub=WITH_PASSWORD, topics=["https://a.example/f"]),
    "endpoint": configured("Ping", endpoint=WITH_PASSWORD),
    "text": configured(
        "SearchConsole", service_account_key=f'{{"private_key": "{TRACE}'
    ),
    "dict": configured("SearchConsole", service_account_key={"private_key": TRACE}),
    "module": {
        "one": {
            "BACKEND": "tests.reliability.tools.broken_engine.Engine",
            "OPTIONS": {"token": TRACE},
        }
    },
    "raises": configured(Leaky, token=TRACE, made=False),
}


class Watch:
    """Collects every text there is, while all is as loud as can be."""

    def __init__(self, caplog: Any, capsys: Any) -> None:
        self.texts: list[str] = []
        self._caplog, self._capsys = caplog, capsys

    def call(self, step: Callable[..., object], *arguments: Any) -> None:
        """Do something, and keep what it returns or raises, with what is in a page."""
        try:
            found = step(*arguments)
            self.texts += [repr(found), repr(getattr(found, "content", ""))]
        except (BuildError, ConfigurationError, CommandError) as error:
            self.texts += everything(error)

    def leaks(self, *more: str) -> list[str]:
        """Return what is around each secret that was found."""
        self.texts += everything_logged(self._caplog.records)
        self.texts += self._capsys.readouterr()
        self.texts += everything_in_database()
        pattern = re.compile("|".join(map(re.escape, [TRACE, *more])))
        found = [(text, pattern.search(text)) for text in self.texts]
        return [
            text[max(match.start() - 150, 0) : match.end() + 150]
            for text, match in found
            if match
        ]
