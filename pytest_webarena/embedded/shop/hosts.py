"""One app, two host names: the storefront and the back office."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

__all__ = ["BACK_OFFICE", "STOREFRONT", "HostMiddleware", "sibling"]

STOREFRONT = "shopping"
BACK_OFFICE = "shopping-admin"
"""First label of the host name (an underscore is not allowed in host names)."""

_SHARED = ("/static/", "/media/", "/favicon.ico", "/password-reset/")


def sibling(request: HttpRequest, label: str) -> str:
    """Base URL of the other half of the store, seen from where the visitor is; "" on a plain address."""
    host = request.get_host()
    first, _, rest = host.partition(".")
    if first not in (STOREFRONT, BACK_OFFICE):
        return ""
    return f"http://{label}.{rest}"


class HostMiddleware:
    """Sends ``/`` of the back office to the dashboard and keeps each half on its own host.

    On any other host name or address (a developer's ``127.0.0.1``) both halves are there.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        label = request.get_host().partition(".")[0]
        path = request.path_info
        if label == BACK_OFFICE:
            if path == "/":
                return HttpResponseRedirect("/dashboard/")
            if not path.startswith(("/dashboard/", *_SHARED)):
                # "View on site" links and the like.
                return HttpResponseRedirect(sibling(request, STOREFRONT) + request.get_full_path())
        elif label == STOREFRONT and path.startswith("/dashboard/"):
            return HttpResponseRedirect(sibling(request, BACK_OFFICE) + request.get_full_path())
        return self._get_response(request)
