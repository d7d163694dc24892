"""The command that tells engines, and who is told."""

from __future__ import annotations

import io
import json
from typing import Any

from django.core.management import call_command

from django_sitemaps_plus.notifications import Takes
from django_sitemaps_plus.testing import RecordingEngine

URL = "https://example.com/anything/"


class FeedEngine(RecordingEngine):
    """One that is told where indexes are."""

    takes = Takes.FEEDS


def run(*arguments: Any, **options: Any) -> str:
    """Run the command; return what it wrote."""
    out = io.StringIO()
    call_command("notify_search_engines", *arguments, stdout=out, **options)
    return out.getvalue()


def report_of(*arguments: Any) -> dict[str, Any]:
    """Run it for a machine; return what it says."""
    found: dict[str, Any] = json.loads(run("--json", *arguments))
    return found


def told() -> list[str]:
    """Return the URLs that the first engine was told, sorted."""
    return sorted(RecordingEngine.told())
