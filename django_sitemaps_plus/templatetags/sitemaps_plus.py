"""``{% load sitemaps_plus %}``: lines of a robots.txt."""

from __future__ import annotations

from django import template
from django.template.context import Context
from django.utils.safestring import SafeString, mark_safe

from django_sitemaps_plus.serving.robots_txt import sitemap_urls

register = template.Library()


@register.simple_tag(takes_context=True)
def sitemap_lines(context: Context) -> SafeString:
    """Return a ``Sitemap:`` line for every index of the site; it never raises.

    Where no origin is known, and so no URL, that is the empty string.
    """
    urls = sitemap_urls(context.get("request"))
    # A text file keeps "&" as it is. Each URL is encoded.
    return mark_safe("\n".join([f"Sitemap: {url}" for url in urls]))  # noqa: S308
