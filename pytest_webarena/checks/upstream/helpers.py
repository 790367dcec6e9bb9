"""The helper functions that ask a site's API or rewrite an address, through the trial's own access."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Protocol, runtime_checkable
from urllib.parse import quote, urlparse

from pytest_webarena.checks.kind import Live
from pytest_webarena.checks.upstream.calls import LAST_URL, Call
from pytest_webarena.errors import SiteError, TaskError
from pytest_webarena.text import shorten

__all__ = ["KnowsAccounts", "address_of", "post_url", "text_of"]

_SITE = "shopping"
_ADMIN = ("admin", "admin1234")
"""The public account of the published images, where the catalogue names none."""
_NEWEST = (
    "searchCriteria[sortOrders][0][field]=created_at&searchCriteria[sortOrders][0][direction]=DESC"
    "&searchCriteria[pageSize]=1"
)
_REVIEW = {
    "shopping_get_sku_latest_review_author": "nickname",
    "shopping_get_sku_latest_review_rating": "rating",
    "shopping_get_sku_latest_review_text": "detail",
}


@runtime_checkable
class KnowsAccounts(Protocol):
    """A live trial that knows who may administer a site."""

    def account(self, site: str) -> tuple[str, str] | None:
        """Name and password of the site's administrator; None when the catalogue names none."""


def address_of(call: Call, live: Live, last_url: str) -> str:
    """The address that a call gives. `SiteError` when the site does not answer as it should."""
    if call.name == "reddit_get_post_url":
        return post_url(call.arguments[0].replace(LAST_URL, last_url))
    return _latest_order(live)


def text_of(call: Call, live: Live) -> str:
    """The text that a call of a site's API gives. `SiteError` when the site does not answer as it should."""
    return _latest_review(live, call.arguments[0], _REVIEW[call.name])


def post_url(url: str) -> str:
    """The address of the post that ``url`` belongs to, comments and edits included; ``url`` itself when there is none.

    >>> post_url("http://r.test/f/books/12/a-title/-/comment/3")
    'http://r.test/f/books/12/'
    """
    parts = urlparse(url)
    path = parts.path.split("/")
    if len(path) < 4 or path[1] != "f":
        return url
    return f"{parts.scheme}://{parts.netloc}/f/{path[2]}/{path[3]}/"


def _latest_order(live: Live) -> str:
    answer = _get(live, f"/rest/V1/orders?{quote(_NEWEST, safe='=&')}")
    try:
        number = int(answer["items"][0]["increment_id"])
    except (LookupError, TypeError, ValueError) as error:
        raise SiteError(f"{_SITE}: expected the latest order, found {_short(answer)}") from error
    return f"{live.sites[_SITE]}/sales/order/view/order_id/{number}/"


def _latest_review(live: Live, sku: str, what: str) -> str:
    answer = _get(live, f"/rest/V1/products/{quote(sku, safe='')}/reviews")
    try:
        if not answer:
            return ""
        if what != "rating":
            found = answer[-1][what]
        else:
            if answer[0]["ratings"][0]["rating_name"] != "Rating":
                raise ValueError("another kind of rating")
            found = str(answer[-1]["ratings"][0]["percent"])
        if not isinstance(found, str):
            raise TypeError("no text")
    except (LookupError, TypeError, ValueError) as error:
        raise SiteError(f"{_SITE}: expected the latest review of {sku}, found {_short(answer)}") from error
    return found


def _get(live: Live, path: str) -> Any:
    """What the store's API answers to its administrator."""
    if _SITE not in live.sites:
        raise TaskError(f"expected the site {_SITE} among the task's, found {', '.join(live.sites) or 'none'}")
    live = getattr(live, "unwatched", live)  # the visitor's account plays no part
    name, password = (live.account(_SITE) if isinstance(live, KnowsAccounts) else None) or _ADMIN
    token = _fetch(
        live,
        "/rest/default/V1/integration/admin/token",
        {"Content-Type": "application/json"},
        json.dumps({"username": name, "password": password}),
    )
    if not isinstance(token, str):
        raise SiteError(f"{_SITE}: expected a token for the account {name}, found {_short(token)}")
    return _fetch(live, path, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"})


def _fetch(live: Live, path: str, headers: Mapping[str, str], body: str | None = None) -> Any:
    method = "GET" if body is None else "POST"
    status, text = live.fetch(_SITE, path, method=method, headers=headers, body=body)
    where = f"{_SITE}: {method} {path.partition('?')[0]}"
    if status != 200:
        raise SiteError(f"{where}: expected status 200, found {status}")
    try:
        return json.loads(text)
    except ValueError as error:
        raise SiteError(f"{where}: expected JSON, found {_short(text)}") from error


def _short(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value)
    return shorten(text, 120)
