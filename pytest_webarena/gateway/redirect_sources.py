"""Where pages have sent their visitors by redirects: who goes on from there has not chosen to."""

from __future__ import annotations

from urllib.parse import urljoin, urlsplit

__all__ = ["RedirectSources"]

_KEPT = 1000


class RedirectSources:
    """Addresses, and the page that sent its visitor there; whoever is sent on by one of these was sent by the first."""

    def __init__(self) -> None:
        self._senders: dict[str, str] = {}

    def note(self, url: str, location: str) -> None:
        """A page at ``url`` sends its visitor on to ``location``, as it stands in the answer's head."""
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
        """Who sent a visitor to ``url``; empty if nobody has."""
        return self._senders.get(url.partition("#")[0], "")

    def has_sent(self, url: str) -> bool:
        """Whether the page at ``url`` has sent somebody on."""
        return url in self._senders.values()
