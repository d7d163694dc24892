"""The example project with engines, more sections, and a strict policy for content."""

from tests.acceptance.settings import *  # noqa: F403

INSTALLED_APPS += ["tests.acceptance.dashboard"]  # noqa: F405
MIDDLEWARE += [f"{__package__}.policy.forbid_inline"]  # noqa: F405
SITEMAPS_PLUS |= {  # noqa: F405
    "ENGINES": {
        name: {"BACKEND": f"{__package__}.engines.{engine}"}
        for name, engine in {
            "bing": "UrlEngine",
            "console": "FeedEngine",
            "indexnow": "UrlEngine",
        }.items()
    },
    "LEASE_SECONDS": 3_600,  # of the page that is being built while pages are shown
    "NOTIFY": True,
}
