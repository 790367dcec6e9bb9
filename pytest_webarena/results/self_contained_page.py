"""HTML pages in one file: they run only their own script, whatever data they contain, and load nothing.

All parts of a page come in one answer, also from a server. Chromium aborts all running requests when a container starts
or stops on the same machine (``net::ERR_NETWORK_CHANGED``), and a page without one of its scripts would look complete.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping, Sequence
from html import escape
from importlib.resources.abc import Traversable
from typing import Any

__all__ = ["as_json", "head", "served"]


def head(title: str, *, script: str, style: str, images: str = "", server: bool = False) -> str:
    """Return everything before ``<body>``.

    Args:
        images: Sources of pictures as in a content security policy; empty: none are allowed.
        server: Whether the page sends requests to its own server.
    """
    more = (f"img-src {images}; " if images else "") + ("connect-src 'self'; " if server else "")
    icon = '<link rel="icon" href="data:,">\n' if server else ""
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; script-src '{_digest(script)}'; "
        f"style-src '{_digest(style)}'; {more}base-uri 'none'; form-action 'none'\">\n"
        f'<meta name="referrer" content="no-referrer">\n<title>{escape(title)}</title>\n'
        f"{icon}"
        f"<style>{style}</style>\n</head>\n"
    )


def served(title: str, package: Traversable, *, scripts: Sequence[str], styles: Sequence[str], images: str) -> str:
    """Return the whole page of a server: ``page.html`` of the folder ``package``, with its scripts and styles."""
    script, style, body = (
        "".join(package.joinpath(name).read_text(encoding="utf-8") for name in names)
        for names in (scripts, styles, ["page.html"])
    )
    before = head(title, script=script, style=style, images=images, server=True)
    return f"{before}{body}<script>{script}</script>\n</body>\n</html>\n"


def _digest(source: str) -> str:
    """The digest of a script or style in the page's policy; no other one runs."""
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


def as_json(data: Mapping[str, Any]) -> str:
    """Return data as JSON that is safe inside a script element, whatever texts it contains.

    >>> as_json({"said": "</script><!--"})
    '{"said": "\\\\u003c/script>\\\\u003c!--"}'
    """
    return json.dumps(data, default=str).replace("<", "\\u003c")
