"""The atlas in the admin."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.contrib import admin

from django_sitemaps_plus.admin import SitemapMixin

from .models import City, Country

if TYPE_CHECKING:
    _CountryAdmin = admin.ModelAdmin[Country]
    _CityAdmin = admin.ModelAdmin[City]
else:
    _CountryAdmin = _CityAdmin = admin.ModelAdmin


@admin.register(Country)
class CountryAdmin(SitemapMixin, _CountryAdmin):
    """Countries, by continent."""

    list_display = ("name", "code", "continent", "population", "updated_at")
    list_filter = ("continent",)
    search_fields = ("name", "=code", "capital")
    readonly_fields = ("updated_at",)


@admin.register(City)
class CityAdmin(SitemapMixin, _CityAdmin):
    """Cities, found by any of their names."""

    list_display = ("name", "country", "population", "timezone", "updated_at")
    list_filter = ("country__continent",)
    list_select_related = ("country",)
    search_fields = ("name", "alternate_names", "=geoname_id")
    autocomplete_fields = ("country",)
    readonly_fields = ("updated_at",)
    # Else each search counts the whole table a second time.
    show_full_result_count = False
