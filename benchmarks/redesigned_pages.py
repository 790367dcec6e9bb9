"""Redesigns the embedded sites as a next release might.

The rules of `changed_pages` were written before the healer. These were written later, by an author who had not read it
(except ``succeeded``). They follow what teams do to sites: migrate to a framework, reword, reorder, replace controls,
interrupt with dialogs, and add lookalikes. Each element keeps the mark that identifies it through all changes (a link
that became a button is still that link); new elements get their own marks.

migrated      ids, classes and field names as a framework generates them, wrappers, landmarks without their tags
reworded      labels, buttons, menus and placeholders in other words, shortened, or as icons
reordered     menus, fields, columns, rows, options and sections in another order
restructured  links as buttons and vice versa, radios for selects, cards for tables, menus behind "More"
interrupted   a cookie banner at once, a newsletter on the third page, release news on the fifth
lookalikes    a second search, buttons that save drafts, row actions, fields and menu entries with similar names
decoys        lookalikes keep the old words, and the originals are reworded
withdrawn     lookalikes are added, and half of the originals removed: healing those to another element is wrong
succeeded     all fields, buttons and menu entries are replaced by others of the same appearance: any healing is wrong
release       migrated, reworded, reordered and interrupted at once
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterable
from typing import Any

from bs4 import BeautifulSoup
from changed_pages import MARK, SIGN_IN, answer_of, with_length
from redesigned_assets import FILES
from redesigned_rules import CHANGES, Page, new_classes

RULES = (
    "migrated", "reworded", "reordered", "restructured", "interrupted", "lookalikes", "decoys", "withdrawn",
    "succeeded", "release",
)  # fmt: skip
_TOGETHER = {
    "decoys": ("lookalikes", "reworded"),
    "withdrawn": ("lookalikes", "withdrawn"),
    "release": ("reworded", "reordered", "migrated", "interrupted"),
}
_NAME = re.compile(rb"\bf_((?:[0-9a-f]{2})+)(?=[=\"])")


def redesigned(site: Callable[..., Iterable[bytes]], rule: str) -> Callable[..., Iterable[bytes]]:
    """Wraps a WSGI site as its next release; form fields with new names are sent to it under their old names."""

    def answer(environ: dict[str, Any], start_response: Callable[..., Any]) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path in FILES:
            kind, content = FILES[path]
            start_response("200 OK", [("Content-Type", kind), ("Content-Length", str(len(content)))])
            return [content]
        if environ["REQUEST_METHOD"] == "POST":
            _with_old_names(environ)
        status, headers, body = answer_of(site, environ)
        kind = next((value for key, value in headers if key.lower() == "content-type"), "")
        if body and environ["REQUEST_METHOD"] != "HEAD":
            if kind.startswith("text/html") and not SIGN_IN.search(path):
                body = rewritten(body.decode("utf-8"), rule).encode("utf-8")
            elif path == "/static/style.css" and "migrated" in _TOGETHER.get(rule, (rule,)):
                body = new_classes(body.decode("utf-8")).encode("utf-8")
            headers = with_length(headers, len(body))
        start_response(status, headers)
        return [body]

    return answer


def rewritten(html: str, rule: str) -> str:
    """Returns a page's HTML in the next release."""
    page = BeautifulSoup(html, "html.parser")
    for number, tag in enumerate(page.find_all(True)):
        tag[MARK] = str(number)
    if page.body is None:
        return str(page)
    for each in _TOGETHER.get(rule, (rule,)):
        CHANGES[each](Page(page))
    _load(page)
    return str(page)


def _load(page: BeautifulSoup) -> None:
    """Adds the release's own script and style, served by the site itself, as its content policy requires."""
    if page.head is not None:
        page.head.append(page.new_tag("link", rel="stylesheet", href="/redesigned/app.css"))
        page.head.append(page.new_tag("script", src="/redesigned/app.js", defer=""))


def _with_old_names(environ: dict[str, Any]) -> None:
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    body = _NAME.sub(lambda found: bytes.fromhex(found[1].decode()), body)
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))
