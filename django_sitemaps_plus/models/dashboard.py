"""The dashboard as the admin knows it: a name and permissions, without a table."""

from __future__ import annotations

from django.utils.translation import gettext_lazy as _

from .sections import Section


class Dashboard(Section):
    """What the admin's dashboard shows, and what its users may do there."""

    class Meta(Section.Meta):
        proxy = True
        verbose_name = _("dashboard")
        verbose_name_plural = _("Dashboard")
        default_permissions = ("view",)
        permissions = [
            ("refresh_sections", "Can have sections built"),
            ("rebuild_sections", "Can have every page of sections built"),
            ("release_sections", "Can let the guard pass held sections"),
            ("pause_engines", "Can pause and resume engines"),
            ("retry_deliveries", "Can have rejected targets submitted again"),
            ("submit_urls", "Can submit URLs to engines"),
        ]
