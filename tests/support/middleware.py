"""Middleware that tries to influence what is rendered, and a view that it does."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.urls import reverse, set_script_prefix
from django.utils import timezone, translation

Handler = Callable[[HttpRequest], HttpResponse]


def other_urlconf(get_response: Handler) -> Handler:
    def middleware(request: HttpRequest) -> HttpResponse:
        request.urlconf = "tests.support.urls_other"  # type: ignore[attr-defined]
        return get_response(request)

    return middleware


def other_surroundings(get_response: Handler) -> Handler:
    """Activate another language, time zone and script prefix, and leave them so."""

    def middleware(request: HttpRequest) -> HttpResponse:
        translation.activate("fr")
        timezone.activate("Asia/Tokyo")
        set_script_prefix("/elsewhere/")
        return get_response(request)

    return middleware


def surroundings(request: HttpRequest) -> HttpResponse:
    url = reverse("product-detail", kwargs={"slug": "x"})
    zone = timezone.get_current_timezone_name()
    return HttpResponse(f"{translation.get_language()} {zone} {url}")
