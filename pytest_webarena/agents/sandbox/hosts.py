"""Destinations that a sandboxed agent may connect to: host names and ports, as written in definitions."""

from __future__ import annotations

import urllib.request
from dataclasses import dataclass
from urllib.parse import urlsplit

__all__ = ["LOOPBACK", "Destination", "proxy_for", "read_host"]

LOOPBACK = ("127.0.0.1", "localhost")
_FIRST_FREE = 1024
_PORTS = {"": 443, "https": 443, "http": 80}


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """A host and port."""

    host: str
    port: int

    @property
    def is_loopback(self) -> bool:
        """Whether the host is this machine; inside the sandbox, the same loopback port leads there."""
        return self.host in LOOPBACK

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def read_host(text: str) -> Destination:
    """``api.openai.com`` (port 443), ``gpu-box:8000`` or the beginning of a URL as a destination; `ValueError` for
    others.

    >>> [str(read_host(text)) for text in ("api.openai.com", "gpu-box:8000", "http://127.0.0.1:8000/v1")]
    ['api.openai.com:443', 'gpu-box:8000', '127.0.0.1:8000']
    """
    expected = f"expected a host such as api.openai.com, gpu-box:8000 or http://127.0.0.1:8000/v1, found {text!r}"
    try:
        parts = urlsplit(text if "://" in text else f"//{text}")
        host, port = parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0)
    except ValueError:
        raise ValueError(expected) from None
    if not port or not host or parts.username or any(character in host for character in "*,:% "):
        raise ValueError(expected)
    place = Destination(host=host, port=port)
    if place.is_loopback and port < _FIRST_FREE:
        raise ValueError(
            f"expected a port of loopback from {_FIRST_FREE} on, found {text!r}: inside, none below is free"
        )
    return place


def proxy_for(place: Destination) -> str:
    """The proxy that this machine uses for ``place``, by its environment variables (``HTTPS_PROXY``, ``NO_PROXY``);
    empty for none."""
    if place.is_loopback or urllib.request.proxy_bypass(place.host):
        return ""
    proxies = urllib.request.getproxies()
    proxy = proxies.get("https" if place.port == _PORTS["https"] else "http", "")
    return proxy if proxy.startswith("http://") else ""
