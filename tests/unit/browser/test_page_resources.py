"""Missing resources of a page, found from browser events in any order."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from pytest_webarena.browser.reading.page_resources import PageResources
from tests.cases import each_case


class Frame:
    """The tab's only frame."""

    parent_frame = None


class FakeRequest:
    """A fetch request of a page."""

    resource_type, redirected_from, post_data_buffer, failure = "fetch", None, None, ""
    method, url = "GET", "http://a.test/part"

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.frame = Frame()

    def is_navigation_request(self) -> bool:
        return False


class Page:
    """Emits the events of requests."""

    def __init__(self) -> None:
        self.listeners: dict[str, Callable[[Any], None]] = {}
        self.on = self.listeners.__setitem__

    def asks(self) -> FakeRequest:
        request = FakeRequest()
        self.listeners["request"](request)
        return request

    def head(self, request: FakeRequest, status: int = 200) -> None:
        self.listeners["response"](SimpleNamespace(request=request, url=request.url, status=status, headers={}))

    def end(self, request: FakeRequest) -> None:
        self.listeners["requestfinished"](request)

    def given_up(self, request: FakeRequest) -> None:
        request.failure = "net::ERR_ABORTED"
        self.listeners["requestfailed"](request)


@each_case("order", ["before the head", "before the end", "after the end", "never again"])
def test_aborted_request_that_was_repeated_is_not_missing(order: str) -> None:
    page = Page()
    parts = PageResources(SimpleNamespace(page=page))  # type: ignore[arg-type]
    first, second = page.asks(), page.asks()
    if order == "before the head":
        page.given_up(first)
    page.head(second)
    if order in ("before the end", "never again"):
        page.given_up(first)
    if order != "never again":
        page.end(second)
    if order == "after the end":
        page.given_up(first)
    assert [doubt.kind for doubt in parts.doubts] == (["given_up"] if order == "never again" else [])
