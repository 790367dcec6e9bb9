"""The embedded sites as their next releases might look, by rules of somebody who had not read the healer.

`changed_pages` holds the rules that were there before the healer; these were written after it, without a look at it,
from what teams do to sites: they migrate to a framework, reword, reorder, rebuild controls as others, interrupt with
dialogs, and put beside what was there something that looks like it. (`succeeded` is by somebody who had looked.)
Elements keep the mark that says which one they are through all of that (a link that became a button is still that
link); what is new gets a mark of its own.

migrated      ids, classes and names of fields as a framework makes them up, wrappers, landmarks without their tags
reworded      labels, buttons, menus and placeholders in other words, shortened, or as icons
reordered     menus, fields, columns, rows, options and sections in another order
restructured  links as buttons and the other way round, radios for selects, cards for tables, menus behind "More"
interrupted   a cookie banner at once, a newsletter on the third page, news of the release on the fifth
lookalikes    a second search, buttons that save drafts, row actions, fields and menu entries of nearly the same name
decoys        lookalikes keep the old words, and what they look like is reworded
withdrawn     lookalikes, and half of what they look like is gone: whatever is healed to another one is wrong
succeeded     in the place of all fields, buttons and menu entries others of the same looks: whatever is healed is wrong
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
    """The WSGI site in its next release. Fields whose names that changed send their old ones on to it."""

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
    """One page in the next release."""
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
    """The release's own script and style, from the site itself, as its policies want it."""
    if page.head is not None:
        page.head.append(page.new_tag("link", rel="stylesheet", href="/redesigned/app.css"))
        page.head.append(page.new_tag("script", src="/redesigned/app.js", defer=""))


def _with_old_names(environ: dict[str, Any]) -> None:
    body = environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
    body = _NAME.sub(lambda found: bytes.fromhex(found[1].decode()), body)
    environ["wsgi.input"] = io.BytesIO(body)
    environ["CONTENT_LENGTH"] = str(len(body))
