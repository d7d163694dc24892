"""URLs of a project with an admin of its own name, where objects can be edited."""

from __future__ import annotations

from django.contrib.admin import AdminSite
from django.urls import include, path

from django_sitemaps_plus.admin import DashboardAdmin
from django_sitemaps_plus.models import Dashboard
from tests.support.testapp.models import Label, Product
from tests.support.urls import urlpatterns as usual

staff = AdminSite(name="staff")
staff.register(Dashboard, DashboardAdmin)
staff.register([Product, Label])

urlpatterns = [path("staff/", staff.urls), path("", include(usual))]
