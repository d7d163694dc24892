"""Other URLs for the same names, which a request may switch to."""

from django.urls import include, path

from .middleware import surroundings
from .urls import view

urlpatterns = [
    path("other/<slug:slug>/", view, name="product-detail"),
    path("", include("django_sitemaps_plus.urls")),
    path("surroundings/", surroundings),
]
