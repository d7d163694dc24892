"""Sitemaps on the pages of objects, and the list of those that editors exclude.

The admin of a project imports these classes when it starts, and what they show when it
is asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from django.contrib import admin
from django.contrib.admin.views.main import ChangeList
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.decorators import method_decorator
from django.utils.html import format_html
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_http_methods

from django_sitemaps_plus.models import Exclusion

if TYPE_CHECKING:
    _Admin = admin.ModelAdmin[Exclusion]
    _MixinBase = admin.ModelAdmin[Any]
else:
    _Admin, _MixinBase = admin.ModelAdmin, object


class SitemapMixin(_MixinBase):
    """Shows on an object's page whether sitemaps list it, and lets editors exclude it.

    A class that is mixed into a ``ModelAdmin``, before it. The page asks for the panel
    once it is shown, so it is as fast as before and never fails because of a sitemap.
    """

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.sitemap_view)
        name = f"{self.opts.app_label}_{self.opts.model_name}_sitemap"
        return [path("<path:object_id>/sitemap/", view, name=name), *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Add a place for the panel, whatever the template of the page is."""
        response = super().render_change_form(request, context, *args, **kwargs)
        row = context.get("original")
        if row is None or context.get("is_popup"):
            return response
        if isinstance(response, TemplateResponse) and response.context_data is not None:
            from .pages import object_url

            url = object_url(self.admin_site, self.model, row.pk, "sitemap")
            if url:  # else get_urls() is another's
                frame = response.resolve_template(response.template_name)
                names = {"sitemaps_plus_frame": frame, "sitemaps_plus_url": url}
                response.context_data |= names
                response.template_name = "sitemaps_plus/admin/change_form.html"
        return response

    @method_decorator(require_http_methods(["GET", "HEAD", "POST"]))
    def sitemap_view(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Answer with the panel, as a piece of a page or as a page of its own."""
        from .panel import panel

        return panel(self, request, object_id)


@admin.register(Exclusion)
class ExclusionAdmin(_Admin):
    """Lists exclusions; to delete one is to list its object again."""

    change_list_template = "sitemaps_plus/admin/exclusions.html"
    list_display = ("object_link", "note", "by", "at")
    list_display_links = None
    list_filter = ("model",)
    search_fields = ("key", "note", "by")
    ordering = ("-at", "-pk")

    def changelist_view(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        """Show the list as a tab of the dashboard."""
        from .pages import tabs

        title = capfirst(self.opts.verbose_name_plural)
        context = {"title": title, **tabs(request, self.admin_site)}
        return super().changelist_view(request, context | (extra_context or {}))

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Exclusion], search_term: str
    ) -> tuple[QuerySet[Exclusion], bool]:
        """Find exclusions also by the URL, the path or the name of their objects.

        The names are those that the user may see, of the newest thousand.
        """
        from .panel import exclusions_of

        rows, has_twice = super().get_search_results(request, queryset, search_term)
        found = exclusions_of(request, self.admin_site, queryset, search_term.strip())
        return rows | queryset.filter(pk__in=found), has_twice

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Name the objects of the rows shown that the user may see: a query a model."""
        from .pages import Viewer

        changelist = super().get_changelist_instance(request)
        shown: Any = {(it.model, it.key): it for it in changelist.result_list}
        for key, found in Viewer(request, self.admin_site).names(shown).items():
            shown[key].found = found
        return changelist

    @admin.display(description=gettext_lazy("object"))
    def object_link(self, exclusion: Exclusion) -> str:
        """Return the name of the object with a link to its page; else its key."""
        from django_sitemaps_plus.diagnostics.site_problems import NOBODY
        from django_sitemaps_plus.templatetags.sitemaps_plus_dashboard import bdi

        name, url, _sees = getattr(exclusion, "found", NOBODY)
        name = bdi(name or str(exclusion))
        return format_html('<a href="{}">{}</a>', url, name) if url else name

    def has_add_permission(
        self, request: HttpRequest, obj: Exclusion | None = None
    ) -> bool:
        """Return False: objects are excluded on their own pages."""
        return False

    has_change_permission = has_add_permission

    def delete_model(self, request: HttpRequest, obj: Exclusion) -> None:
        """List an object again."""
        self.delete_queryset(request, [obj])

    def delete_queryset(
        self, request: HttpRequest, queryset: Iterable[Exclusion]
    ) -> None:
        """List objects again."""
        from .panel import list_again

        list_again(request, queryset)
