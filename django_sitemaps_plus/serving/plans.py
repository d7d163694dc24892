"""Live plans: the key ranges of sections that are not built, in Django's cache."""

from __future__ import annotations

import hashlib
import json
import logging
from dataclasses import replace
from functools import partial

from django_sitemaps_plus.conf import Site, get_settings
from django_sitemaps_plus.core.key_ranges import key_ranges
from django_sitemaps_plus.core.limits import LimitExceededError
from django_sitemaps_plus.exceptions import SourceError, StalePlanError
from django_sitemaps_plus.planning import Plan, bounded_plan, first_plan
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.rendering import RenderedPage, render_page

from .single_flight import Kept, once

logger = logging.getLogger(__name__)


def smaller_plan(section: str, site: Site, plan: Plan) -> Plan:
    """Return a plan to try after a page of this one grew too large.

    A plan that was made earlier is made anew, since rows have come in. One that was
    made just now gets pages of half as many rows: theirs are large.

    Raises:
        SourceError: a page of one row is too large.
    """
    step = plan.step // 2 if plan.is_fresh else plan.step
    if step < 1:
        raise SourceError(f"section {section!r}: one row alone fills more than a page")
    return first_plan(section, site, step)


def render_live(section: str, number: int, site: Site) -> RenderedPage | None:
    """Render a page of a section that is not built; None where it has no such page.

    Args:
        section: its name.
        number: of the page.
        site: the site.

    Raises:
        SourceError: the source could not be read.
    """
    plan = live_plan(section, site)
    while plan is not None and not plan.is_empty and number <= len(plan.ranges):
        try:
            return render_page(section, plan.ranges[number - 1], site)
        except (LimitExceededError, StalePlanError):
            plan = smaller_plan(section, site, plan)
            _kept(section, site).remember(plan)
    return None


def live_plan(section: str, site: Site) -> Plan | None:
    """Return the plan by which a section is served while it is not built.

    None for a section of more than LIVE_MAX_ROWS rows: it is absent until it is built.
    Of many requests that need it at once, one makes it.

    Args:
        section: its name.
        site: the site.

    Raises:
        SourceError: the source could not be read.
    """
    make = partial(_live_plan, section, site)
    plan = once(_kept(section, site), make)
    return plan if plan.ranges else None


def _live_plan(section: str, site: Site) -> Plan:
    """Make a plan; one without ranges for a section that is too large."""
    limit = get_settings().live_max_rows
    plan = bounded_plan(section, site, limit)
    if plan is not None:
        is_empty = _lists_nothing(section, site, plan)
        return replace(plan, is_empty=is_empty)
    logger.error(
        "Section %r has more than %s rows (LIVE_MAX_ROWS) and is not built, so it is "
        "left out. Run: manage.py build_sitemaps %s",
        section,
        limit,
        section,
        extra={"action": "section_too_large", "section": section},
    )
    return Plan([], 0, is_empty=True)


def _lists_nothing(section: str, site: Site, plan: Plan) -> bool:
    """Return whether there are no rows, or one page of rows none of which is listed."""
    if plan.is_empty or len(plan.ranges) > 1:
        return plan.is_empty
    try:
        return render_page(section, plan.ranges[0], site).document is None
    except LimitExceededError:
        return False


def _kept(section: str, site: Site) -> Kept[Plan]:
    source = registry.get(section)
    parts = (site, repr(source), source.limit, get_settings().live_max_rows)
    digest = hashlib.sha256(repr(parts).encode()).hexdigest()[:24]
    key = f"plan:{section}:{digest}"
    return Kept(key, get_settings().plan_seconds, _format, _parse)


def _format(plan: Plan) -> bytes | None:
    if plan.is_empty and plan.ranges:
        return None  # not kept: the first entry is to be seen at once
    cuts = [key_range.low for key_range in plan.ranges]
    return json.dumps([plan.step, plan.is_empty, cuts]).encode()


def _parse(data: bytes) -> Plan:
    step, is_empty, lows = json.loads(data)
    ranges = key_ranges(lows[1:]) if lows else []
    return Plan(ranges, step, is_empty, is_fresh=False)
