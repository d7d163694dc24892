"""One dict of sitemaps, by contrib's views and by ours."""

from functools import wraps
from typing import Any, cast

from django.contrib.sitemaps import views as contrib
from django.http import HttpRequest, HttpResponse
from django.urls import path
from django.views.decorators.cache import cache_page

from django_sitemaps_plus.contrib import views as ours
from tests.support import urls_i18n
from tests.support.urls import view

#: Each test fills it.
sitemaps: dict[str, Any] = {}


def for_this_request(request: HttpRequest) -> HttpResponse:
    """Answer as a view of a project, which makes the dict for each request."""
    return ours.sitemap(request, dict(sitemaps))


def kept_by_project(request: HttpRequest) -> HttpResponse:
    """Answer as a view of a project that keeps the document, whoever asks first."""
    response: Any = ours.sitemap(request, dict(sitemaps))
    return HttpResponse(response.render().content, "application/xml")


def secured(view: Any) -> Any:
    """Return a view of a project that changes what another answers."""

    @wraps(view)
    def call(*args: Any, **kwargs: Any) -> HttpResponse:
        response: Any = view(*args, **kwargs).render()
        response.content = response.content.replace(b"http://test", b"https://test")
        return cast(HttpResponse, response)

    return call


def patterns(views: Any, name: str) -> list[Any]:
    """Return the URLs of Django's documentation, below a name."""
    of_url = {"sitemaps": sitemaps}
    index = of_url | {"sitemap_url_name": name}
    text, own = {"content_type": "text/plain"}, {"template_name": "own.xml"}
    cached = cache_page(60)(views.sitemap)
    return [
        path(f"{name}/index.xml", views.index, index),
        path(f"{name}/all.xml", views.sitemap, of_url),
        path(f"{name}/text.xml", views.sitemap, of_url | text),
        path(f"{name}/own.xml", views.sitemap, of_url | own),
        path(f"{name}/own-index.xml", views.index, index | own),
        path(f"{name}/cached/all.xml", cached, of_url),
        path(f"{name}/cached/own.xml", cached, of_url | own),
        path(f"{name}/sitemap-<section>.xml", views.sitemap, of_url, name=name),
    ]


urlpatterns = [
    *patterns(contrib, "theirs"),
    *patterns(ours, "ours"),
    path("wrapped.xml", for_this_request),
    path("kept.xml", kept_by_project),
    path("secured.xml", secured(ours.sitemap), {"sitemaps": sitemaps}),
    path("about/", view, name="about"),
    path("contact/", view, name="contact"),
    *urls_i18n.urlpatterns,
]
