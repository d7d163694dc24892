"""URLs with the language in front; the default one has none."""

from django.conf.urls.i18n import i18n_patterns
from django.urls import include, path

from .middleware import surroundings
from .urls import view

urlpatterns = [
    path("", include("django_sitemaps_plus.urls")),
    path("surroundings/", surroundings),
    *i18n_patterns(
        path("", view, name="home"),
        path("products/<slug:slug>/", view, name="product-detail"),
    ),
]
