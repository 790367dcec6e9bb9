"""Records resources that a checked page requested and did not receive: missing content is not proven missing then."""

from __future__ import annotations

import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal
from urllib.parse import urljoin

from playwright.async_api import Error as PlaywrightError
from playwright.async_api import Frame, Request, Response

from pytest_webarena.browser.reading.missing_resources import CLIENTS_FAULT, REFUSALS, is_failure_status
from pytest_webarena.browser.reports import Doubt
from pytest_webarena.browser.tabs.aborted_requests import is_document
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.text import shorten

__all__ = ["PageResources", "doubt"]

# Headers that differ when a request is repeated: credentials, counters, tracing, caching.
_ASIDE = re.compile(
    r"accept-encoding|authorization|baggage|cache-control|cookie|if-.*|origin|pragma|referer|sec-.*|sentry-trace"
    r"|trace(parent|state)|upgrade-insecure-requests|user-agent|x-b3-.*"
    r"|.*(attempt|correlation|csrf|nonce|request-?id|retry|session|timestamp|token|xsrf).*",
)
_BOUNDARY = re.compile(r"boundary=\"?([^\";]+)")

Key = tuple[object, ...]


def doubt(
    request: Request, kind: Literal["waiting", "given_up", "blocked"], *, begun: bool = False, since: float = 0.0
) -> Doubt:
    """Return the doubt about a request as the browser knows it."""
    script = request.resource_type == "script"
    url = request.url.partition("#")[0]
    return Doubt(kind=kind, method=request.method, url=url, begun=begun, script=script, since=since)


@dataclass(frozen=True, slots=True, kw_only=True)
class _MissingResource:
    reason: str | Doubt
    after: int
    """Number of requests before it; the same request resolves it only if it began later."""
    request: Request


class PageResources:
    """Requests of a page for content that the site failed to answer.

    Failures are: too many requests, a server error, a broken connection, and a wait that the page gave up. A later
    answer to the same request resolves them; another answer from the same address does not. Requests that the gateway
    refuses are no failures of the site, because pages request much from elsewhere.
    """

    _TYPES = frozenset({"document", "script", "xhr", "fetch", "eventsource", "other"})
    """Resource types by which pages load content; ``other`` includes objects and workers."""
    _MANY = 100
    """Maximum number of recorded refusals, which is enough to find a relevant one."""
    _BROKEN = re.compile(
        r"ERR_(CONNECTION_|EMPTY_RESPONSE|TIMED_OUT|CONTENT_|INCOMPLETE_|INVALID_(HTTP|CHUNKED)|RESPONSE_|HTTP2_)"
        r"|NS_ERROR_NET_(RESET|INTERRUPT|TIMEOUT|PARTIAL|EMPTY)"
    )
    _GIVEN_UP = re.compile(r"ERR_ABORTED|NS_BINDING_ABORTED")
    _BLOCKED = re.compile(r"ERR_FAILED|NS_ERROR_DOM_BAD_URI")
    """Errors for an answer that the browser kept from the page, such as one to a cross-origin request."""

    def __init__(self, tab: Tab) -> None:
        self._missing: dict[Key, _MissingResource] = {}
        self._refused_requests: dict[Key, tuple[_MissingResource, tuple[str, int, str]]] = {}
        self._begun: dict[Request, int] = {}
        self._ever_answered: set[Key] = set()
        """Requests that were completely answered at any time."""
        self._good: set[Request] = set()
        self._answered: set[Request] = set()
        self._left: dict[Frame | None, tuple[int, Request]] = {}
        """Number of requests when a frame (None: the tab) got its document, and the request of the document."""
        self._since = time.time()
        tab.page.on("request", self._on_request)
        tab.page.on("response", self._on_response)
        tab.page.on("requestfinished", self._on_finished)
        tab.page.on("requestfailed", self._on_failed)

    @property
    def first(self) -> str:
        """The first certain failure, in the form of `PageReading.waiting`; empty if there is none."""
        return next((missing.reason for missing in self._missing.values() if isinstance(missing.reason, str)), "")

    @property
    def doubts(self) -> tuple[Doubt, ...]:
        """Possible failures, which only the gateway can decide."""
        return tuple(missing.reason for missing in self._missing.values() if isinstance(missing.reason, Doubt))

    @property
    def refused_requests(self) -> tuple[tuple[str, int, str], ...]:
        """See `PageReading.refused_requests`."""
        return tuple(refusal for _, refusal in self._refused_requests.values())

    def exclude(self, response: Response | None) -> None:
        """Exclude the page's own response, whose status is judged separately."""
        if response is not None:
            self._resolve(_key(response.request), None)

    def _on_request(self, request: Request) -> None:
        first = _first(request)
        self._begun[request] = self._begun.get(first, len(self._begun))

    def _on_response(self, response: Response) -> None:
        request = response.request
        self._answered.add(request)
        if not self._matters(request) or self._is_past(request):
            return
        self._note_document(response)
        key = _key(request)
        if is_failure_status(response.status):
            self._note_missing(request, f"got status {response.status} for {_named(request)}")
            return
        first, final_url = _first(request), response.url
        is_redirect = 300 <= response.status < 400
        if is_redirect:
            final_url = urljoin(final_url, response.headers.get("location", ""))
        refused = response.status in REFUSALS or response.status in CLIENTS_FAULT
        if not is_redirect:
            self._resolve(key, request, is_answered=not refused)
            if not refused:
                self._good.add(request)
        if (refused or final_url != first.url) and len(self._refused_requests) < self._MANY:
            missing = _MissingResource(reason="", after=len(self._begun) - 1, request=first)
            self._refused_requests[key] = missing, (first.url, response.status, final_url)

    def _note_document(self, response: Response) -> None:
        """Discard failures of a frame's last document when it gets another one."""
        request = response.request
        if not request.is_navigation_request() or response.status in (204, 205):
            return
        if "attachment" in response.headers.get("content-disposition", ""):
            return
        if is_document(request):
            self._missing.clear()
            self._refused_requests.clear()
            self._left[None] = len(self._begun), request
            return
        frame = _frame(request)
        self._left[frame] = len(self._begun), request
        for key, missing in list(self._missing.items()):
            if isinstance(missing.reason, Doubt) and frame in _frames(missing.request):
                del self._missing[key]

    def _on_finished(self, request: Request) -> None:
        if request in self._good:
            key = _key(request)
            self._ever_answered.add(key)
            # Failures of the same request may be reported between the head and the end of this answer.
            self._resolve(key, request, is_answered=False)

    def _on_failed(self, request: Request) -> None:
        failure, key = request.failure or "", _key(request)
        if not self._matters(request) or self._is_past(request):
            return
        has_response = request in self._answered
        if request.resource_type == "eventsource" and has_response:  # these end normally and are opened again
            return
        if self._BROKEN.search(failure):
            self._note_missing(request, f"got no whole answer for {_named(request)} ({failure})")
        elif self._GIVEN_UP.search(failure):
            if key in self._ever_answered or (
                has_response and request.is_navigation_request()
            ):  # downloads and empty answers, too
                return
            self._note_missing(request, doubt(request, "given_up", begun=has_response, since=self._since), after=-1)
        elif self._BLOCKED.search(failure) and not has_response:
            self._note_missing(request, doubt(request, "blocked", since=self._since))

    def _note_missing(self, request: Request, reason: str | Doubt, after: int | None = None) -> None:
        known = self._missing.get(_key(request))
        if isinstance(reason, Doubt) and known is not None and isinstance(known.reason, str):
            return  # browsers may also abort an answer with such a status
        after = len(self._begun) - 1 if after is None else after
        self._missing[_key(request)] = _MissingResource(reason=reason, after=after, request=request)

    def _resolve(self, key: Key, request: Request | None, *, is_answered: bool = True) -> None:
        """Resolve a failure by a successful request, unless that was already in flight when the other one failed."""
        number = self._begun.get(request, 0) if request is not None else len(self._begun)
        if (missing := self._missing.get(key)) is not None and number > missing.after:
            del self._missing[key]
        if is_answered:
            refusal = self._refused_requests.get(key)
            if refusal is not None and (
                number > refusal[0].after or (request and _first(request) is refusal[0].request)
            ):
                del self._refused_requests[key]

    def _is_past(self, request: Request) -> bool:
        """Return whether the document that sent the request is no longer shown."""
        number = self._begun.get(request)
        if number is None or is_document(request):
            return False
        for frame in (None, *_frames(request)):
            before, document = self._left.get(frame, (0, None))
            if number < before and document is not request:
                return True
        return False

    def _matters(self, request: Request) -> bool:
        ahead = {"purpose", "sec-purpose"} & request.headers.keys()  # prefetched for a later page
        return request.resource_type in self._TYPES and not ahead


def _named(request: Request) -> str:
    return f"{request.method} {shorten(request.url, 100)}"


def _key(request: Request) -> Key:
    """Return a key of the page's request before redirects, which is equal only for equal requests."""
    first = _first(request)
    headers, body = dict(first.headers), first.post_data_buffer
    if found := _BOUNDARY.search(headers.get("content-type", "")):  # random in each request
        headers["content-type"] = headers["content-type"].replace(found[1], "")
        body = body.replace(found[1].encode(), b"") if body is not None else None
    if body is None and first.method not in ("GET", "HEAD"):
        return (first,)  # the browser does not report all bodies, e.g. long ones and files
    return first.method, first.url, body, tuple(_stable_headers(headers))


def _stable_headers(headers: Mapping[str, str]) -> Sequence[tuple[str, str]]:
    return sorted((name, value) for name, value in headers.items() if not _ASIDE.fullmatch(name))


def _first(request: Request) -> Request:
    while request.redirected_from is not None:
        request = request.redirected_from
    return request


def _frame(request: Request) -> Frame | None:
    try:
        return request.frame
    except PlaywrightError:  # requests of workers and of new frames have none
        return None


def _frames(request: Request) -> Sequence[Frame]:
    """Return the frame that sent the request, and its ancestors."""
    frames, frame = [], _frame(request)
    while frame is not None:
        frames.append(frame)
        frame = frame.parent_frame
    return frames
