"""URLs of a project with a page for each reason not to be indexed."""

from __future__ import annotations

from collections.abc import Callable

from django.http import (
    FileResponse,
    HttpRequest,
    HttpResponse,
    HttpResponseForbidden,
)
from django.urls import include, path
from django.views.generic import RedirectView

ORIGIN = "https://example.com"


def page(head: str = "", body: str = "", **headers: str) -> Callable[..., HttpResponse]:
    """Return a view of a page of HTML."""

    def view(request: HttpRequest) -> HttpResponse:
        text = f"<!doctype html><html><head>{head}</head><body>{body}</body></html>"
        return HttpResponse(text, headers=headers)

    return view


def broken(request: HttpRequest) -> HttpResponse:
    """Fail."""
    raise RuntimeError("odd")


def basket(request: HttpRequest) -> HttpResponse:
    """Answer as the first cookie says; a crawler sends none."""
    response = HttpResponse(status=403 if request.COOKIES else 200)
    response.set_cookie("seen", "yes")
    return response


def own(request: HttpRequest) -> HttpResponse:
    """Answer with its absolute URL."""
    url = request.build_absolute_uri()
    return page(f'<link rel="canonical" href="{url}">')(request)


META = '<meta name="{}" content="{}">'

#: Paths whose pages are fine.
GOOD = {
    "good/": page('<link rel="canonical" href="/good/#top">'),
    "own/": own,
    "basket/": basket,
    "basket/two/": basket,
    "file/": lambda request: FileResponse([b"%PDF"], content_type="application/pdf"),
    "index-follow/": page(META.format("robots", "index, max-image-preview:none")),
    "odd-html/": page("<![odd[ <p a=' <link rel=canonical>"),
    "größe/": page('<link rel="canonical" href="/größe/">'),
}

#: Paths by the rule that their page breaks.
BAD = {
    "page-redirect": ("moved/", RedirectView.as_view(url="/good/")),
    "page-forbidden": ("forbidden/", lambda request: HttpResponseForbidden()),
    "page-error": ("broken/", broken),
    "page-blocked": ("private/a/", page()),
    "page-noindex": (
        "noindex/",
        page(META.format("Robots", "NOINDEX, follow"), **{"X-Robots-Tag": "none"}),
    ),
    "page-canonical": (
        "double/",
        page(
            '<link rel="canonical" href="/good/"><link rel="canonical" href="//[">',
        ),
    ),
}

urlpatterns = [
    *[path(route, view) for route, view in GOOD.items()],
    *[path(route, view) for route, view in BAD.values()],
    path("", include("django_sitemaps_plus.urls")),
]
