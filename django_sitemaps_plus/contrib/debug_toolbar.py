"""``SitemapsPanel``: what sitemaps say of the page that django-debug-toolbar is on."""

from __future__ import annotations

import logging
from dataclasses import asdict
from typing import Any

from debug_toolbar.panels import Panel
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.urls import NoReverseMatch, reverse
from django.utils.translation import gettext_lazy as _

from django_sitemaps_plus.conf import Site, get_site
from django_sitemaps_plus.maintenance.explain import explain_url
from django_sitemaps_plus.models.transactions import contained
from django_sitemaps_plus.outages import in_one_line
from django_sitemaps_plus.registry import registry
from django_sitemaps_plus.sites import in_force
from django_sitemaps_plus.tracking.collecting import waiting_changes

logger = logging.getLogger(__name__)


class SitemapsPanel(Panel):
    """Shows where the URL of a page is listed, or why it is not.

    It looks only once the panel is opened: a page is as fast as without it.
    """

    title = _("Sitemap")
    template = "sitemaps_plus/debug_toolbar.html"

    def generate_stats(self, request: HttpRequest, response: HttpResponse) -> None:
        """Note the page, and the site that it is on."""
        noted = {"path": request.path, "site": {}, "fault": ""}
        try:
            noted["site"] = asdict(get_site(request))
        except Exception as error:  # noqa: BLE001 - a page never fails because of us
            noted["fault"] = in_one_line(error)
        self.record_stats(noted)

    @property
    def content(self) -> str:
        """What is shown; whatever fails becomes a sentence."""
        context: dict[str, Any] = {**self.get_stats(), "dashboard": _dashboard()}
        try:
            if not context["fault"]:
                context |= _explained(context["path"], Site(**context["site"]))
        except Exception as error:
            logger.exception("A page cannot be explained")
            context["fault"] = in_one_line(error)
        return render_to_string(self.template, context)


def _explained(path: str, site: Site) -> dict[str, Any]:
    with in_force(site), contained():
        waiting = [number for number, _at in waiting_changes(registry).values()]
        return {"found": explain_url(path, site), "waiting": sum(waiting)}


def _dashboard() -> str:
    try:
        return reverse("admin:sitemaps_plus_dashboard_changelist")
    except NoReverseMatch:
        return ""
