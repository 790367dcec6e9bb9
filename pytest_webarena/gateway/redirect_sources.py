"""Record of redirects, to know which pages sent a visitor elsewhere without the visitor's choice."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

__all__ = ["RedirectSources"]

_KEPT = 1000


class RedirectSources:
    """Redirect targets, each with the page where its chain of redirects began."""

    def __init__(self) -> None:
        self._senders: dict[str, str] = {}

    def note(self, url: str, location: str) -> None:
        """Record that the page at ``url`` redirects to ``location``, the value of the Location field."""
        url = url.partition("#")[0]
        try:
            target = urljoin(url, location).partition("#")[0]
            parts = urlsplit(target)
        except ValueError:  # browsers don't follow it either
            return
        target = target if parts.path else f"{parts.scheme}://{parts.netloc}/"
        self._senders[target] = self._senders.get(url, url)
        if len(self._senders) > _KEPT:
            del self._senders[next(iter(self._senders))]

    def sender(self, url: str) -> str:
        """Return the page that redirected a visitor to ``url``; empty if none did."""
        return self._senders.get(url.partition("#")[0], "")

    def has_sent(self, url: str) -> bool:
        """Return whether the page at ``url`` has redirected a visitor."""
        return url in self._senders.values()
