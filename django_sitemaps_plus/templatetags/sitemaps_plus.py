"""``{% load sitemaps_plus %}``: lines of a robots.txt, and where objects are listed."""

from __future__ import annotations

import logging
from typing import Any

from django import template
from django.template.context import Context
from django.utils.safestring import SafeString, mark_safe

from django_sitemaps_plus.conf import get_site
from django_sitemaps_plus.maintenance.explain import explain_object
from django_sitemaps_plus.maintenance.explanations import Explanation
from django_sitemaps_plus.models.transactions import contained
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.serving.robots_txt import sitemap_urls
from django_sitemaps_plus.sites import in_force

logger = logging.getLogger(__name__)

register = template.Library()


@register.simple_tag(takes_context=True)
def sitemap_lines(context: Context) -> SafeString:
    """Return a ``Sitemap:`` line for every index of the site; it never raises.

    Where no origin is known, and so no URL, that is the empty string.
    """
    urls = sitemap_urls(context.get("request"))
    # For a text file: "&" must stay as it is. Each URL is encoded.
    return mark_safe("\n".join([f"Sitemap: {url}" for url in urls]))  # noqa: S308


@register.simple_tag(takes_context=True)
def sitemap_entry(context: Context, row: Any) -> Explanation:
    """Return where sitemaps list an object, or why they do not; it never raises.

    Printed it is a sentence; ``as entry`` gives its parts.
    """
    try:
        site = get_site(context.get("request"))
        with in_force(site), contained():
            return explain_object(row, site)
    except Exception as error:
        logger.exception("An object cannot be explained")
        return Explanation(url="", notes=[in_one_line(error)])
