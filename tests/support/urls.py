"""URLs of the test project."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path


def view(request: HttpRequest, **kwargs: object) -> HttpResponse:
    return HttpResponse("ok")


urlpatterns = [
    path("admin/", admin.site.urls),
    path("", view, name="home"),
    path("about/", view, name="about"),
    path("contact/", view, name="contact"),
    path("products/<slug:slug>/", view, name="product-detail"),
    path("shops/<uuid:pk>/", view, name="shop-detail"),
    path("labels/<str:code>/", view, name="label-detail"),
    path("books/<slug:slug>/", view, name="book-detail"),
    path("sitemap/", include("django_sitemaps_plus.html_urls")),
    path("monitoring/", include("django_sitemaps_plus.monitoring_urls")),
    path("", include("django_sitemaps_plus.urls")),
]
