"""A page of one HTML file: it runs its own script, whatever its data hold, and loads nothing from anywhere.

What a page of ours is made of comes in one answer, served ones included: the author's browser breaks off every request
under way when a container comes or goes beside it (``net::ERR_NETWORK_CHANGED``), and a page without one of its scripts
would look whole.
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
    """All before ``<body>``. ``images``: where pictures may come from, as a policy says it; empty: none may come.

    ``server``: the page asks the server that it comes from.
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


def served(title: str, here: Traversable, *, scripts: Sequence[str], styles: Sequence[str], images: str) -> str:
    """The page of a server, whole: what is in ``page.html`` of the folder ``here``, with its scripts and styles."""
    script, style, body = (
        "".join(here.joinpath(name).read_text(encoding="utf-8") for name in names)
        for names in (scripts, styles, ["page.html"])
    )
    before = head(title, script=script, style=style, images=images, server=True)
    return f"{before}{body}<script>{script}</script>\n</body>\n</html>\n"


def _digest(source: str) -> str:
    """What the page's policy calls this script or style; no other will run."""
    return f"sha256-{base64.b64encode(hashlib.sha256(source.encode()).digest()).decode()}"


def as_json(data: Mapping[str, Any]) -> str:
    """Data that can stand inside a script element whatever texts they hold.

    >>> as_json({"said": "</script><!--"})
    '{"said": "\\\\u003c/script>\\\\u003c!--"}'
    """
    return json.dumps(data, default=str).replace("<", "\\u003c")
