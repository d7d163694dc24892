"""URLs of a project with an admin of its own name, where objects can be edited."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite, ModelAdmin
from django.urls import include, path

from django_sitemaps_plus.admin import DashboardAdmin, ExclusionAdmin, SitemapMixin
from django_sitemaps_plus.models import Dashboard, Exclusion
from tests.support.testapp.models import Label, Product
from tests.support.urls import urlpatterns as usual


class ObjectAdmin(SitemapMixin, ModelAdmin):
    """A class as projects write it."""

    def has_view_permission(self, request: Any, obj: Any = None) -> bool:
        return super().has_view_permission(request, obj) and (
            obj is None or getattr(obj, "name", "") != "secret"
        )


class OwnTemplateAdmin(ObjectAdmin):
    """The same with a template of its own, which has no block of ours."""

    change_form_template = "admin/auth/user/add_form.html"


desk = AdminSite(name="desk")
desk.register(Dashboard, DashboardAdmin)
desk.register(Exclusion, ExclusionAdmin)
desk.register(Product, ObjectAdmin)
desk.register(Label, OwnTemplateAdmin)

urlpatterns = [path("desk/", desk.urls), path("", include(usual))]
