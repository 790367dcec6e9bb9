"""APIs of the documented images, as far as upstream's code and tasks call them."""

from __future__ import annotations

import json
import secrets
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote

from .pages import BOOK, Page
from .store import ReadOnlyError, Store
from .web import Reply, Request

if TYPE_CHECKING:
    from .cookie_site import CookieSite


def _json(value: Any, status: int = 200) -> Reply:
    return Reply(status, json.dumps(value).encode(), "application/json; charset=utf-8")


def answer(site: CookieSite, request: Request, store: Store) -> Reply | None:
    """Return the API's reply, or None where the path belongs to no API."""
    kind = site.image.api
    if kind == "magento":
        return _magento(site, request, store)
    if kind == "gitlab":
        return _gitlab(site, request, store)
    if kind == "postmill":
        return _postmill(request, store)
    if kind == "osm":
        return _osm(site, request)
    return _kiwix(request, store) if kind == "kiwix" else None


def _magento(site: CookieSite, request: Request, store: Store) -> Reply | None:
    path = request.path
    if path == "/magento_version":
        return Reply(200, b"Magento/2.4 (Community)", "text/plain")
    head, mark, rest = path.partition("/V1/")
    if not mark or not head.startswith("/rest"):
        return None
    if rest == "integration/admin/token" and request.method == "POST":
        given = json.loads(request.body or b"{}")
        right = given == {"username": "admin", "password": "admin1234"} and not site.options.token_refused
        if not right:
            return _json({"message": "The account sign-in was incorrect."}, 401)
        token = secrets.token_hex(16)
        store.tokens[token] = "admin"
        return _json(token)
    token = request.headers.get("authorization", "").removeprefix("Bearer ")
    if token not in store.tokens or site.options.token_refused:
        return _json({"message": "The consumer isn't authorized to access %resources."}, 401)
    if rest == "orders":
        orders = [page.path.rpartition("/")[2] for page in store.of_kind("order")]
        items = [{"increment_id": f"{int(n):09}", "status": "complete"} for n in reversed(orders)]
        return _json({"items": items, "total_count": len(items)})
    if rest.startswith("products/") and rest.endswith("/reviews"):
        rating = {"rating_name": "Rating", "percent": 80}
        return _json([{"nickname": "Seam Miller", "ratings": [rating]}])
    if rest == "store/storeConfigs":
        locale = "de_DE" if site.options.locale == "de" else "en_US"
        return _json([{"base_url": f"{site.base}/", "locale": locale, "base_currency_code": "USD"}])
    return _json({"message": "Request does not match any route."}, 404)


def _gitlab(site: CookieSite, request: Request, store: Store) -> Reply | None:
    path = request.path
    if path in ("/-/health", "/-/liveness", "/-/readiness"):
        return Reply(200, b"GitLab OK", "text/plain") if path == "/-/health" else _json({"status": "ok"})
    if path == "/oauth/token" and request.method == "POST":
        return _oauth_token(site, request, store)
    head, mark, rest = path.partition("/api/v4/")
    if head or not mark:
        return None
    from .token_site import TokenSite

    user = site.token_user(request, store) if isinstance(site, TokenSite) else ""
    session = store.sessions.get(request.cookie(site.image.cookie))
    user = user or (session.user if session and request.method == "GET" else "")
    offered = "private-token" in request.headers or "authorization" in request.headers
    if (offered or rest in ("version", "user")) and not user:
        return _json({"message": "401 Unauthorized"}, 401)
    if rest == "version":
        return _json({"version": "15.7.5", "revision": "7d4a9c6b2e1"})
    if rest == "user":
        return _json({"id": 2330, "username": user, "name": "Byte Blaze", "state": "active"})
    projects = [_project(number, page) for number, page in enumerate(store.of_kind("project"), 1)]
    if rest == "projects" and request.method == "GET":
        wanted = request.parameters.get("search", "")
        return _json([project for project in projects if wanted in project["path_with_namespace"]])
    if rest == "projects" and request.method == "POST":
        if not user:
            return _json({"message": "401 Unauthorized"}, 401)
        name = str(json.loads(request.body or b"{}").get("name", ""))
        made = Page(f"/{user}/{name}", f"Byte Blaze / {name} · GitLab", "", False, "project")
        try:
            store.add(made)
        except ReadOnlyError:
            return _json({"message": "500 Internal Server Error"}, 500)
        return _json(_project(len(projects) + 1, made), 201)
    if rest.startswith("projects/"):
        wanted = unquote(rest.removeprefix("projects/").rstrip("/"))
        for project in projects:
            if wanted in (project["path_with_namespace"], str(project["id"])):
                return _json(project)
    return _json({"message": "404 Project Not Found"}, 404)


def _oauth_token(site: CookieSite, request: Request, store: Store) -> Reply:
    """Answer GitLab's password grant."""
    form = site.image.sign_in
    given = request.form or {}
    if request.headers.get("content-type", "").startswith("application/json"):
        given = json.loads(request.body or b"{}")
    account = (given.get("username"), given.get("password"))
    if form is None or account != (form.username, site.options.password or form.password):
        return _json({"error": "invalid_grant"}, 400)
    token = secrets.token_hex(32)
    store.tokens[token] = form.username
    return _json({"access_token": token, "token_type": "Bearer", "expires_in": 7200})


def _project(number: int, page: Page) -> dict[str, Any]:
    path = page.path.strip("/")
    return {"id": number, "path_with_namespace": path, "name": path.rpartition("/")[2]}


def _postmill(request: Request, store: Store) -> Reply | None:
    if request.path == "/api/submissions":
        return _json({"entries": [{"title": page.title} for page in store.of_kind("submission")]})
    if request.path.startswith("/f/") and request.path.endswith(".json"):
        number = request.path.removesuffix(".json").rpartition("/")[2]
        for page in store.of_kind("submission"):
            if page.path.split("/")[3] == number:
                return _json({"id": int(number), "title": page.title})
        return _json({"error": "not found"}, 404)
    return None


_PLACE = {
    "place_id": 1,
    "lat": "40.4443",
    "lon": "-79.9436",
    "display_name": "Carnegie Mellon University, 5000, Forbes Avenue, Squirrel Hill North, Pittsburgh, "
    "Allegheny County, Pennsylvania, 15213, United States",
    "name": "Carnegie Mellon University",
}


def _osm(site: CookieSite, request: Request) -> Reply | None:
    path = request.path
    if path.startswith("/tile/") and path.endswith(".png"):
        return site.tile()
    if path.startswith(("/osrm/routed-car/", "/osrm/routed-bike/", "/osrm/routed-foot/")):
        route = {"distance": 5210.4, "duration": 612.3, "legs": [{"steps": []}], "geometry": "_p~iF~ps|U"}
        return _json({"code": "Ok", "routes": [route], "waypoints": []})
    if path.startswith("/nominatim/"):
        return _json([_PLACE] if path.endswith("search") else {"status": 0, "message": "OK"})
    if path == "/geocoder/search_osm_nominatim":
        found = f'<ul class="results-list"><li><a class="set_position">{_PLACE["display_name"]}</a></li></ul>'
        return Reply(200, found.encode())
    if path == "/api/0.6/capabilities":
        body = b'<?xml version="1.0"?><osm version="0.6"><api><status api="online"/></api></osm>'
        return Reply(200, body, "application/xml; charset=utf-8")
    return None


def _kiwix(request: Request, store: Store) -> Reply | None:
    if request.path in ("/catalog/v2/entries", "/catalog/root.xml"):
        body = f"<feed><entry><title>Wikipedia</title><name>{BOOK}</name></entry></feed>"
        return Reply(200, body.encode(), "application/atom+xml")
    if request.path == "/search":
        wanted = request.parameters.get("pattern", "").lower()
        hits = [page for page in store.of_kind("article") if wanted in page.title.lower()]
        items = "".join(f'<li><a href="{page.path}">{page.title}</a></li>' for page in hits)
        body = f"<html><head><title>Search: {wanted}</title></head><body><ul>{items}</ul></body></html>"
        return Reply(200, body.encode())
    return None
