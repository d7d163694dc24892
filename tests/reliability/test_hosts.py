"""T17: whatever host a request names, nothing that is kept or sent comes from it."""

import gzip
import itertools
import random
from collections import Counter
from collections.abc import Iterator
from typing import Any

import pytest
from django.core.cache import cache
from django.template import Context, Template
from django.test import Client, RequestFactory

from django_sitemaps_plus.core.gzip import Document
from django_sitemaps_plus.models import Delivery, Page
from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.notifications.dispatch import notify_engines
from django_sitemaps_plus.serving import robots_txt
from django_sitemaps_plus.testing import RecordingEngine
from tests.integration.notifications.engines import path_of
from tests.support.builds import build_and_relay
from tests.support.key_files import ENGINES, PATH
from tests.support.published import age, all_rows
from tests.support.published import files as stored_files

from .tools.shop import IS_SOAK, ORIGIN, STEP, DatedSource, rename, some_seed, stock

pytestmark = pytest.mark.django_db(transaction=True)

REQUESTS = 2_000 if IS_SOAK else 50

#: What is looked for afterwards; each value below has it.
MARK = "evil"

HOSTS = (
    *("evil.example", "EVIL.example", "evil.example:8443", "example.com.evil.example"),
    *("example.com@evil.example", "example.com:80@evil.example"),
    *("evil.example#example.com", "evil.example/example.com"),
    *("evil.example\\example.com", "evil.example, example.com"),
    *("example.com, evil.example", "evil.example\x00example.com"),
    *("evil.example%0d%0aX-Evil: 1", "evil.example\tx", "evil.example.", "evil_host"),
    *("[::evil]", "[::1]evil", "xn--evil-9na.example", "\u0435vil.evil.example"),
    "evil" * 300,
    *("evil.example:99999", "evil.example:port", "<script>evil</script>"),
    "evil.example?",
)

SCHEMES = ("https", "http", "evil", "https,evil", "javascript:evil", "https\tevil", "")

HEADERS = ("Host", "X-Forwarded-Host", "X-Host", "Forwarded", "X-Original-URL")

PATHS = (
    *("/sitemap.xml", "/sitemap.xml.gz", "/sitemap-built-1.xml"),
    *("/sitemap-built-2.xml.gz", "/sitemap-live-1.xml", "/sitemap-live-2.xml.gz"),
    *("/sitemap-built-1.txt", "/sitemap-live.rss", "/sitemap-built.atom.gz"),
    *("/robots.txt", PATH),
)


class IndexEngine(RecordingEngine):
    """Is told of the index whenever that has changed."""

    takes = Takes.FEEDS
    follows_content = True


#: Engines that remember what they are told.
TOLD = (RecordingEngine, IndexEngine)

#: What waits to be told while requests come.
DUE = {
    f"{ORIGIN}/{path}"
    for path in (f"products/p-{STEP}/", f"products/told-{STEP}/", "sitemap.xml")
}


def hostile(chance: random.Random) -> Iterator[dict[str, str]]:
    """Yield headers that name another host; each host in each header first."""
    pairs = list(itertools.product(HEADERS, HOSTS))
    chance.shuffle(pairs)
    for name, host in itertools.islice(itertools.cycle(pairs), REQUESTS):
        headers = {name: f"host={host}" if name == "Forwarded" else host}
        if chance.random() < 0.5:
            headers["X-Forwarded-Host"] = chance.choice(HOSTS)
        if chance.random() < 0.5:
            headers["X-Forwarded-Proto"] = chance.choice(SCHEMES)
        if chance.random() < 0.5:
            headers["X-Forwarded-Port"] = chance.choice(("666", "evil", "443"))
        yield headers


@pytest.fixture
def engines() -> Iterator[dict[str, Any]]:
    """Give engines that have not been told anything, as settings have them."""
    for engine in TOLD:
        engine.clear()
    found = {engine.__name__: {"BACKEND": path_of(engine)} for engine in TOLD}
    yield {**ENGINES, **found}
    for engine in TOLD:
        engine.clear()


@pytest.fixture(params=["BASE_URL", "contrib.sites"])
def site(request: Any, sections: Any, settings: Any, engines: Any) -> Iterator[None]:
    """Have a built section and a live one, behind a proxy that believes in headers.

    Without CommonMiddleware, which refuses what is no host at all.
    """
    settings.ALLOWED_HOSTS = ["*"]
    settings.MIDDLEWARE = []
    settings.USE_X_FORWARDED_HOST = True
    settings.USE_X_FORWARDED_PORT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    base = {"BASE_URL": "https://example.com"} if request.param == "BASE_URL" else {}
    settings.SITEMAPS_PLUS = {
        **base,
        "ROBOTS": {},
        "ENGINES": engines,
        "NOTIFY": True,
        "TRACK": True,
        "NOTIFY_DELAY_SECONDS": 0,
        "LIVE_CACHE_SECONDS": 60,
    }
    if not base:  # contrib.sites knows the site; its table is not there
        settings.INSTALLED_APPS = [*settings.INSTALLED_APPS, "django.contrib.sites"]
        settings.SITE_ID = 1
        from django.contrib.sites.models import SITE_CACHE, Site

        SITE_CACHE[1] = Site(pk=1, domain="example.com", name="A site")
    stock(20, DatedSource, name="built")
    build_and_relay()
    rename([STEP], "told")
    build_and_relay()
    rename([0], "edit")
    age()
    # As while a build is at work, when the index is made on request and kept.
    Page.objects.of("default", "").update(wanted=10**6)
    sections.register("live", DatedSource)
    yield
    if not base:
        SITE_CACHE.clear()


def tag(**headers: str) -> str:
    """Return what the template tag gives for a request."""
    request = RequestFactory().get("/", headers=headers)
    text = "{% load sitemaps_plus %}{% sitemap_lines %}"
    return Template(text).render(Context({"request": request}))


def seen(client: Client, **headers: str) -> dict[str, tuple[Any, ...]]:
    found = {}
    for path in PATHS:
        response = client.get(path, headers=headers)
        content = response.content
        if path.endswith(".gz") and response.status_code == 200:
            content = gzip.decompress(content)
        etag = response.headers.get("ETag")
        sent = sorted(response.items())
        found[path] = (response.status_code, etag, sent, content)
    return found


def kept() -> str:
    """Return all that was stored, cached or remembered."""
    files = {name: data for name, (_, data) in stored_files().items()}
    stored = {
        name: gzip.decompress(data) if name.endswith(".gz") else data
        for name, data in files.items()
    }
    cached = {key: cache.get(key.partition(":1:")[2]) for key in list(cache._cache)}
    assert any(cached.values())
    plain = [
        gzip.decompress(document.gzip)
        for document in cached.values()
        if isinstance(document, Document)
    ]
    assert plain
    return repr([stored, cached, plain, all_rows(), robots_txt._last])


def waiting() -> set[str]:
    return set(Delivery.objects.waiting().values_list("target", flat=True))


def told() -> str:
    """Publish another change and tell engines; return what they got, and all rows."""
    rename([2 * STEP], "later")
    build_and_relay()
    noted = all_rows()
    notify_engines()
    assert waiting() == set()
    for engine in TOLD:
        assert engine.batches
    return repr([noted, [engine.batches for engine in TOLD], all_rows()])


@pytest.mark.usefixtures("site", "quiet")
def test_no_host_of_a_request_is_kept_or_sent(figures):
    """Not in answers or validators, nor in cache, storage, rows, notices, the tag."""
    seed = some_seed(0)
    client = Client(raise_request_exception=False)
    answers: Counter[int] = Counter()
    bad: list[str] = []
    tags = set()
    # The headers of those who are first decide what a careless cache would keep.
    requests = list(hostile(random.Random(seed)))
    all_seen = []
    assert waiting() == DUE
    for headers in requests:
        all_seen.append(seen(client, **headers))
        tags.add(tag(**headers))
        answers.update([status for status, *_ in all_seen[-1].values()])
        if MARK in repr(all_seen[-1]).lower():
            bad.append(f"sent for {headers}")
    if MARK in kept().lower():
        bad.append("kept")
    due, plain = waiting(), seen(client)
    seen(client, **requests[-1])  # whoever remembers the last host tells this one
    if MARK in told().lower():
        bad.append("told")
    figures(
        "hostile hosts",
        seed=seed,
        points=len(requests),
        bad=bad,
        answers=dict(answers),
        due=len(due),
    )
    assert set(answers) == {200}
    assert due == DUE
    assert [found for found in all_seen if found != plain] == []
    assert tags == {"Sitemap: https://example.com/sitemap.xml"}
    cache.clear()
