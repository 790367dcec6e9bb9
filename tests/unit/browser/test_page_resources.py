"""What a page lacks, by what the browser tells of its requests, in whatever order that comes."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from pytest_webarena.browser.reading.page_resources import Parts
from tests.cases import each_case


class Frame:
    """The tab's only one."""

    parent_frame = None


class Asked:
    """A fetch of a page."""

    resource_type, redirected_from, post_data_buffer, failure = "fetch", None, None, ""
    method, url = "GET", "http://a.test/part"

    def __init__(self) -> None:
        self.headers: dict[str, str] = {}
        self.frame = Frame()

    def is_navigation_request(self) -> bool:
        return False


class Page:
    """Tells what is on its way and what came of it."""

    def __init__(self) -> None:
        self.listeners: dict[str, Callable[[Any], None]] = {}
        self.on = self.listeners.__setitem__

    def asks(self) -> Asked:
        request = Asked()
        self.listeners["request"](request)
        return request

    def head(self, request: Asked, status: int = 200) -> None:
        self.listeners["response"](SimpleNamespace(request=request, url=request.url, status=status, headers={}))

    def end(self, request: Asked) -> None:
        self.listeners["requestfinished"](request)

    def given_up(self, request: Asked) -> None:
        request.failure = "net::ERR_ABORTED"
        self.listeners["requestfailed"](request)


@each_case("told", ["before the head", "before the end", "after the end", "never again"])
def test_what_was_taken_back_and_had_is_no_matter(told: str) -> None:
    page = Page()
    parts = Parts(SimpleNamespace(page=page))  # type: ignore[arg-type]
    first, second = page.asks(), page.asks()
    if told == "before the head":
        page.given_up(first)
    page.head(second)
    if told in ("before the end", "never again"):
        page.given_up(first)
    if told != "never again":
        page.end(second)
    if told == "after the end":
        page.given_up(first)
    assert [doubt.kind for doubt in parts.doubts] == (["given_up"] if told == "never again" else [])
