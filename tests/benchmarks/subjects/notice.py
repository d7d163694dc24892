"""How soon an engine hears of a change, from the commit to its receipt over HTTP."""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from statistics import median
from typing import Any

from django.conf import settings
from django.test import override_settings

from django_sitemaps_plus import receivers
from django_sitemaps_plus.conf import AppSettings
from django_sitemaps_plus.models import Delivery, EngineHost
from tests.benchmarks.building import built
from tests.benchmarks.crew import start_crew, wait_for
from tests.benchmarks.harness import Contender, Subject, Target
from tests.benchmarks.sources import sized_source
from tests.support.servers.engine import LocalEngine, start_engine
from tests.support.servers.valkey import start_valkey
from tests.support.testapp.models import Product

_CHANGES = 50
_SPACING_SECONDS = 2.0
_MAX_ROWS = 100_000
_LIMIT = 1_000
_CELERY = "django_sitemaps_plus.tasks.CeleryExecutor"


def setting(rows: int) -> Iterator[Subject]:
    """Have one worker, with the default times, and one engine that is well."""
    rows = min(rows, _MAX_ROWS)
    with (
        start_valkey() as server,
        start_engine() as engine,
        override_settings(**_settings(server.url, engine)),
        built(rows, sized_source(rows, _LIMIT)),
        start_crew(server.url, 1, rows, _LIMIT),
    ):
        receivers.connect()
        yield _subject(engine, rows)
        Delivery.objects.all().delete()
        EngineHost.objects.all().delete()


def _settings(cache_url: str, engine: LocalEngine) -> dict[str, Any]:
    indexnow = "django_sitemaps_plus.notifications.IndexNow"
    options = {"key": "only-for-tests", "endpoint": f"{engine.url}/indexnow"}
    return {
        "CACHES": {
            "default": {
                "BACKEND": "django.core.cache.backends.redis.RedisCache",
                "LOCATION": cache_url,
            }
        },
        "SITEMAPS_PLUS": {
            **settings.SITEMAPS_PLUS,
            "EXECUTOR": _CELERY,
            "ENGINES": {"indexnow": {"BACKEND": indexnow, "OPTIONS": options}},
            "NOTIFY": True,
        },
    }


def _subject(engine: LocalEngine, rows: int) -> Subject:
    notices = _Notices(engine, rows)
    times = AppSettings()
    return Subject(
        title=f"From a commit to the engine, {_CHANGES} changes",
        note=f"By one Celery worker over Valkey, with the default times: "
        f"{times.wake_seconds} s until a build is woken and "
        f"{times.notify_delay_seconds} s "
        f"from the commit to the first notice. A change of its URL every "
        f"{_SPACING_SECONDS:g} s or so, by chance; the engine is IndexNow over HTTP.",
        rounds=1,
        warm_ups=0,
        contenders=[
            Contender("median", notices.measure),
            Contender("95th of a hundred", lambda: notices.share(0.95)),
            Contender("the longest", lambda: notices.share(1.0)),
        ],
        targets=[Target("95th of a hundred", plus=8.0)],
    )


@dataclass(slots=True)
class _Notices:
    """Changes of URLs, and what each took to be heard of."""

    engine: LocalEngine
    rows: int
    seconds: tuple[float, ...] = ()

    def measure(self) -> float:
        """Change URLs one after the other; return the median of the seconds."""
        self.engine.journal.clear()
        chance = random.Random(5)
        keys = chance.sample(range(1, self.rows + 1), _CHANGES)
        committed = {}
        for key in keys:
            committed[_rename(key)] = time.time()
            time.sleep(chance.uniform(0, 2 * _SPACING_SECONDS))
        wait_for(lambda: committed.keys() <= self.engine.accepted().keys(), 120)
        heard = {url: h.at for h in reversed(self.engine.journal) for url in h.targets}
        found = [heard[url] - at for url, at in committed.items()]
        self.seconds = tuple(sorted(found))
        return median(self.seconds)

    def share(self, share: float) -> float:
        """Return the seconds within which this share of the changes was heard of."""
        return self.seconds[max(int(share * len(self.seconds) + 0.999) - 1, 0)]


def _rename(key: int) -> str:
    """Give a product another URL, as a save by a user does; return the URL."""
    product = Product.objects.get(pk=key)
    product.slug = f"noticed-{key}-{time.time_ns()}"
    product.save()
    return f"{settings.SITEMAPS_PLUS['BASE_URL']}/products/{product.slug}/"
