"""The project whose sitemaps are shown by contrib's views and by ours."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.contrib import sitemaps

from . import urls

ENGINE = "django.template.backends.django.DjangoTemplates"
OWN = """
{% for it in urlset %}{{ it.location }} {{ it.lastmod }}{% endfor %}
{% for it in sitemaps %}{{ it.location }} {{ it.last_mod }}{% endfor %}
"""


@pytest.fixture(autouse=True)
def urlconf(settings: Any, tmp_path: Path) -> Iterator[None]:
    """Have contrib's templates and an own one, and an empty dict of sitemaps."""
    (tmp_path / "own.xml").write_text(OWN)
    theirs = Path(sitemaps.__file__).parent / "templates"
    settings.TEMPLATES = [{"BACKEND": ENGINE, "DIRS": [str(tmp_path), str(theirs)]}]
    settings.ROOT_URLCONF = "tests.integration.contrib.urls"
    settings.LANGUAGES = [("en-us", "English"), ("de", "German"), ("fr", "French")]
    yield
    urls.sitemaps.clear()


@pytest.fixture
def kept(settings: Any) -> None:
    """Keep what was rendered, as in production."""
    settings.SITEMAPS_PLUS = {"LIVE_CACHE_SECONDS": 60}
