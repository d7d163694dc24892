"""URLs of the benchmark: contrib's sitemaps, ours, and what both list."""

from __future__ import annotations

from django.conf.urls.i18n import i18n_patterns
from django.contrib.sitemaps import views
from django.http import HttpRequest, HttpResponse
from django.urls import include, path

from tests.support.testapp.models import Product

from .forms import FORMS
from .sources import GENERIC_SITEMAP, SMALL_SITEMAPS, ProductSitemap


def product(request: HttpRequest, slug: str) -> HttpResponse:
    """Answer as the page of a product."""
    return HttpResponse(slug)


def trivial(request: HttpRequest) -> HttpResponse:
    """Answer with the least that a view with one query can say."""
    return HttpResponse(Product.objects.get(pk=1).name)


_USUAL = {"sitemaps": {"products": ProductSitemap}}
_GENERIC = {"sitemaps": {"products": GENERIC_SITEMAP}}
_FORMS = {name: form.sitemap for name, form in FORMS.items()}
_IMAGES = {"sitemaps": _FORMS, "template_name": "sitemap_images.xml"}

urlpatterns = [
    path("products/<slug:slug>/", product, name="product-detail"),
    path("names/<str:name>/", product, name="named"),
    *i18n_patterns(path("items/<slug:slug>/", product, name="item")),
    path("trivial/", trivial),
    path("contrib/forms-image.xml", views.sitemap, {**_IMAGES, "section": "image"}),
    path("contrib/forms-<section>.xml", views.sitemap, {"sitemaps": _FORMS}),
    path("contrib/sitemap.xml", views.index, _USUAL),
    path("contrib/small.xml", views.index, {"sitemaps": SMALL_SITEMAPS}),
    path("generic/sitemap.xml", views.index, _GENERIC),
    path(
        "contrib/sitemap-<section>.xml",
        views.sitemap,
        _USUAL,
        name="django.contrib.sitemaps.views.sitemap",
    ),
    path("", include("django_sitemaps_plus.urls")),
]
