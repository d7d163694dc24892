"""The exclusions in the admin: a list of what editors keep out of the sitemaps."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from django.apps import apps
from django.contrib import admin
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from django_sitemaps_plus.diagnostics.requests import lift
from django_sitemaps_plus.models import Exclusion, Section

from .actions import say_done
from .pages import object_url

if TYPE_CHECKING:
    _Admin = admin.ModelAdmin[Exclusion]
else:
    _Admin = admin.ModelAdmin


def build_command() -> str:
    """Return what builds the pages that were marked; "" where all is served live."""
    return "manage.py build_sitemaps" if Section.objects.planned().exists() else ""


@admin.register(Exclusion)
class ExclusionAdmin(_Admin):
    """Lists exclusions; to delete one is to list its object again."""

    list_display = ("model", "key", "object_link", "note", "by", "at")
    list_display_links = None
    list_filter = ("model",)
    search_fields = ("key", "note", "by")
    ordering = ("-at", "-pk")

    @admin.display(description=gettext_lazy("object"))
    def object_link(self, exclusion: Exclusion) -> str | None:
        """Return a link to the object's own page, where the admin has one."""
        try:
            model = apps.get_model(exclusion.model)
        except (LookupError, ValueError):  # it has gone
            return None
        if not (url := object_url(self.admin_site, model, exclusion.key)):
            return None
        name = model._meta.verbose_name
        return format_html('<a href="{}">{} {}</a>', url, name, exclusion.key)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Return False: objects are excluded on their own pages."""
        return False

    def has_change_permission(
        self, request: HttpRequest, obj: Exclusion | None = None
    ) -> bool:
        """Return False, as for adding."""
        return False

    def delete_model(self, request: HttpRequest, obj: Exclusion) -> None:
        """List an object again."""
        self.delete_queryset(request, [obj])

    def delete_queryset(
        self, request: HttpRequest, queryset: Iterable[Exclusion]
    ) -> None:
        """List objects again."""
        lift(queryset)
        say_done(request, _("Listed again"), build_command())
