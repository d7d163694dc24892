"""A policy by which a browser reports every inline script and style as an error."""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

View = Callable[[HttpRequest], HttpResponse]


def forbid_inline(get_response: View) -> View:
    """Return a middleware that allows what comes from the site's own files alone."""

    def respond(request: HttpRequest) -> HttpResponse:
        response = get_response(request)
        response["Content-Security-Policy"] = "default-src 'self'"
        return response

    return respond
