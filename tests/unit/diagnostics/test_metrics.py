"""Metrics: their format, and what the guide says of them."""

from __future__ import annotations

import re
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.utils import timezone
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from django_sitemaps_plus import monitoring_urls
from django_sitemaps_plus.conf import Site
from django_sitemaps_plus.diagnostics.metrics import METRICS, exposition
from django_sitemaps_plus.diagnostics.status import (
    EngineStatus,
    SectionStatus,
    SiteStatus,
)

DOCS = Path(__file__).parents[3] / "docs"
GUIDE = (DOCS / "how-to" / "monitor-your-sitemaps.md").read_text("utf-8")

_YAML = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_ROW = re.compile(r"^\| `(\w+)` \| (\w+) \| ", re.MULTILINE)

#: Names that break a line which does not escape them.
NAMES = ['a"b', "a\\b", 'a\\"b', "a\\nb", "a\nb", 'größe="1"} 5 # \u2713', "\\", '"']


def status_of(name: str, **section: Any) -> SiteStatus:
    """Return the status of a site with one section and one engine of a name."""
    return SiteStatus(
        site=Site(name, "https://shop.example"),
        sections=[SectionStatus(site=name, section=name, **{"live": False, **section})],
        engines=[EngineStatus(site=name, engine=name)],
    )


def read(*statuses: SiteStatus) -> dict[str, Any]:
    """Return the families of metrics, as a strict parser reads them."""
    families = text_string_to_metric_families(exposition(statuses))
    return {family.name: family for family in families}


def test_every_family_has_type_unit_and_meaning():
    """In the order in which the code and the guide have them."""
    families = read(status_of("shop"))
    assert list(families) == [metric.name for metric in METRICS]
    for name, family in families.items():
        assert (family.type, family.documentation[-1]) == ("gauge", ".")
        unit = name.rpartition("_")[2]
        assert family.unit == (unit if unit in ("seconds", "bytes") else "")


@pytest.mark.parametrize("name", NAMES)
def test_names_cannot_break_the_format(name):
    """A parser gets each label as it was, and no sample more."""
    families = read(status_of(name), status_of("other"))
    samples = [it for family in families.values() for it in family.samples]
    found = [it.labels for it in samples if it.labels["site"] == name]
    assert found == [
        dict.fromkeys(it.labels, name) for it in samples if it.labels["site"] != name
    ]


def test_what_is_not_known_is_left_out():
    """A moment is given as its age, and things are counted."""
    families = read(status_of("shop"))
    assert families["sitemaps_plus_oldest_change_age_seconds"].samples == []
    status = status_of("shop", oldest=timezone.now() - timedelta(seconds=90))
    status.engines[0].parked = {"a": "why", "b": "why"}
    families = read(status)
    [age] = families["sitemaps_plus_oldest_change_age_seconds"].samples
    assert 90 <= age.value < 100
    [parked] = families["sitemaps_plus_parked_hosts"].samples
    assert parked.value == 2


@pytest.mark.parametrize(("reason", "expected"), [("", (1, 0)), ("too few", (0, 1))])
def test_questions_are_answered_by_0_and_1(reason, expected):
    families = read(status_of("shop", hold_reason=reason))
    [ok] = families["sitemaps_plus_site_ok"].samples
    [held] = families["sitemaps_plus_section_held"].samples
    assert (ok.value, held.value) == expected


class TestGuide:
    def test_it_lists_the_metrics_that_there_are(self):
        """With what each is of."""
        kinds = {SiteStatus: "site", SectionStatus: "section", EngineStatus: "engine"}
        assert _ROW.findall(GUIDE) == [(it.name, kinds[it.of]) for it in METRICS]

    def test_its_rules_can_be_used(self):
        """Each names metrics that there are, and says what to do."""
        config, rules = [yaml.safe_load(block) for block in _YAML.findall(GUIDE)]
        [job], [group] = config["scrape_configs"], rules["groups"]
        assert job["authorization"]["type"] == "Bearer"
        assert len({rule["alert"] for rule in group["rules"]}) == len(group["rules"])
        known = {metric.name for metric in METRICS}
        for rule in group["rules"]:
            assert rule.keys() <= {"alert", "expr", "for", "labels", "annotations"}
            assert rule["annotations"].keys() == {"summary", "action"}
            named = set(re.findall(r"[a-z_0-9]*_[a-z_0-9]*", rule["expr"]))
            assert named <= known
            assert named or rule["expr"] == 'up{job="sitemaps"} == 0'

    def test_its_urls_are_documented(self):
        app, page = monitoring_urls.app_name, DOCS / "reference" / "urls.md"
        named = [f"`{app}:{it.name}`" for it in monitoring_urls.urlpatterns]
        assert [name for name in named if name not in page.read_text("utf-8")] == []
