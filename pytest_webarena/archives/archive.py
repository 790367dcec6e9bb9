"""An index over archives that maps a request to a capture."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from pytest_webarena.archives.files import WarcSource, warc_sources
from pytest_webarena.archives.matching import body_digest, canonical, host_and_path, keys, same_page
from pytest_webarena.archives.reading import Capture, Stored, read_captures, read_stored
from pytest_webarena.errors import UsageError

__all__ = ["Archive", "Found"]

_HELD = 16 << 20
"""Bytes of responses that are cached for further requests."""
_HELD_ONE = 1 << 20
_TURNS = 20
"""Redirects of one page after which browsers give up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """The capture that answers a request, and how it was matched."""

    capture: Capture
    how: str
    """``exact``, ``scheme`` or ``query``: the kind of `matching.keys` entry that matched."""


class Archive:
    """The exchanges of one or more archive files. Only their index is in memory. Thread-safe after construction."""

    def __init__(self, paths: Iterable[Path], *, at: float | None = None) -> None:
        """Index the files.

        ``at`` is the Unix time to which captures should be nearest; with None the newest ones are used. `UsageError`
        for a file that is missing or damaged.
        """
        self.paths = tuple(paths)
        self._at = at
        self._places: list[WarcSource] = [place for path in self.paths for place in warc_sources(path)]
        self._captures: dict[tuple[str, str, str], list[Capture]] = {}
        self._alike: dict[tuple[str, str, str], dict[str, None]] = {}
        self._whole: dict[str, Capture] = {}
        """Map of digest to a capture that stores the payload."""
        self.count = 0
        self._kept_back: set[tuple[str, str]] = set()
        sent: set[tuple[str, str]] = set()
        for capture in read_captures(self._places, self._kept_back):
            self.count += 1
            if not capture.is_duplicate:
                self._whole.setdefault(capture.digest, capture)
            self._captures.setdefault((capture.method, capture.url, capture.body), []).append(capture)
            if capture.method != "GET":
                sent.add((capture.method, host_and_path(capture.url)))
            for key in keys(capture.url)[1:]:
                self._alike.setdefault((capture.method, key, capture.body), {})[capture.url] = None
        self._kept_back -= sent
        self.origins: tuple[str, ...] = tuple(sorted({_origin(url) for _, url, _ in self._captures}))
        """Origins (scheme, host, port) with at least one capture."""
        self._lock = threading.Lock()
        self._held: OrderedDict[Capture, Stored] = OrderedDict()
        self._size = 0

    def captures(self) -> list[Capture]:
        """All captures, by address and time."""
        return sorted(
            (each for found in self._captures.values() for each in found), key=lambda each: (each.url, each.time)
        )

    def ambiguous(self) -> Mapping[str, int]:
        """Map of address to the number of its different responses, for addresses with several. Time alone decides which
        of them is served."""
        found = {}
        for (method, url, _), captures in self._captures.items():
            responses = {(each.status, each.digest) for each in captures}
            if len(responses) > 1:
                found[url if method == "GET" else f"{method} {url}"] = len(responses)
        return found

    def find(
        self, method: str, url: str, body: bytes = b"", content_type: str = "", *, page: bool = False
    ) -> Found | None:
        """The capture that answers a request; None when there is none. A HEAD request uses the capture of a GET.

        ``page`` says that the request is for a page to be displayed and not for a subresource. Captures of methods
        other than GET match only if the archive recorded the request body.
        """
        method = "GET" if method == "HEAD" else method
        digest = body_digest(body, content_type)
        url = canonical(url)
        exact, *others = keys(url)
        if captures := self._good(method, exact, digest):
            return Found(capture=self._nearest(captures), how="exact")
        for key, how in zip(others, ("scheme", "query"), strict=False):
            candidates = self._alike.get((method, key, digest), {})
            urls = [one for one in candidates if how != "query" or not page or same_page(url, one)]
            if captures := [each for one in urls for each in self._good(method, one, digest)]:
                return Found(capture=self._nearest(captures), how=how)
        return None

    def _good(self, method: str, url: str, digest: str) -> list[Capture]:
        found = self._captures.get((method, url, digest), [])
        return [each for each in found if not each.is_duplicate or each.digest in self._whole]

    def _nearest(self, captures: list[Capture]) -> Capture:
        # Failed or truncated responses are used only when there is no better one.
        complete = [each for each in captures if not each.is_truncated] or captures
        good = [each for each in complete if each.status < 500 and each.status not in (206, 304, 429)] or complete
        if self._at is None:
            return max(good, key=lambda each: each.time)
        return min(good, key=lambda each: abs(each.time - self._at))  # type: ignore[operator]

    def kept_back(self, method: str, url: str) -> bool:
        """Whether the guard of live sites withheld such a request when the archive was made, and never let one through.
        The request body is not compared."""
        return (method, host_and_path(canonical(url))) in self._kept_back

    @property
    def withheld(self) -> tuple[str, ...]:
        """The requests of `kept_back`: method, host and path."""
        return tuple(sorted(f"{method} {place.removeprefix('//')}" for method, place in self._kept_back))

    def is_redirect_loop(self, url: str) -> bool:
        """Whether ``url`` is a redirect that leads, possibly over others, back to an address already visited. The final
        response, which depended on a cookie or the scheme, is then not in the archive."""
        url = canonical(url)
        visited = {url}
        while len(visited) <= _TURNS:
            found = self.find("GET", url)
            if found is None or not 300 <= found.capture.status < 400:
                return False
            try:
                stored = self.read(found.capture)
                to = next((value for name, value in stored.headers if name.lower() == "location"), None)
                if to is None:
                    return False
                url = canonical(urljoin(url, to))
            except (UsageError, ValueError):
                return False
            if url in visited:
                return True
            visited.add(url)
        return True

    def read(self, capture: Capture) -> Stored:
        """The stored response of a capture; recently read ones are cached."""
        with self._lock:
            if (cached := self._held.get(capture)) is not None:
                self._held.move_to_end(capture)
                return cached
        answer = read_stored(self._places[capture.place], capture)
        if capture.is_duplicate:
            original = self._whole[capture.digest]
            answer = replace(answer, data=read_stored(self._places[original.place], original).data)
        if len(answer.data) <= _HELD_ONE:
            with self._lock:
                if capture not in self._held:
                    self._held[capture] = answer
                    self._size += len(answer.data)
                while self._size > _HELD:
                    self._size -= len(self._held.popitem(last=False)[1].data)
        return answer

    def close(self) -> None:
        """Close temporary files of unpacked members; the archive cannot be read afterwards."""
        for place in self._places:
            place.close()

    def has_host(self, host: str) -> bool:
        """Whether the archive has any capture of ``host``."""
        return any(urlsplit(origin).hostname == host for origin in self.origins)


def _origin(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}://{rest.partition('/')[0]}"
