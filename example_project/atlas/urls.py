"""URLs of the atlas."""

from __future__ import annotations

from django.urls import path

from .views import AboutView, CityView, CountryView, HomeView

app_name = "atlas"

urlpatterns = [
    path("", HomeView.as_view(), name="home"),
    path("about/", AboutView.as_view(), name="about"),
    path("countries/<slug:slug>/", CountryView.as_view(), name="country"),
    # str, because the slug converter takes ASCII letters alone.
    path("cities/<int:geoname_id>/<str:slug>/", CityView.as_view(), name="city"),
]
