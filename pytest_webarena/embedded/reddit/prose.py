"""What members write, as HTML: paragraphs, lists, quotes, emphasis, code, links. Everything else stays text."""

from __future__ import annotations

import re
from html import escape
from urllib.parse import urlsplit

from markupsafe import Markup

__all__ = ["is_web_address", "prose", "slug"]

_LINK = re.compile(
    r"\[(?P<text>[^\]\n]+)\]\((?P<target>[^)\s]+)\)"
    r"|(?P<address>https?://[^\s<>\"]*[^\s<>\".,;:!?)'])"
    r"|(?<![\w/])(?P<place>/(?:f|user)/[\w.-]*\w)"
)
_MARKS = ((re.compile(r"\*\*(?=\S)(.+?)(?<=\S)\*\*"), r"<strong>\1</strong>"),
          (re.compile(r"(?<![\w*])\*(?=\S)([^<]+?)(?<=\S)\*(?!\w)"), r"<em>\1</em>"))  # fmt: skip


def is_web_address(text: str) -> bool:
    """Whether ``text`` is a whole http or https address."""
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and not re.search(r"[\s<>\"]", text)
    except ValueError:
        return False


def slug(title: str) -> str:
    """The readable end of a post's address: ``which-oil-for-a-loom``."""
    words = re.findall(r"[a-z0-9]+", title.lower().replace("'", "").replace("\N{RIGHT SINGLE QUOTATION MARK}", ""))
    return "-".join(words)[:60].strip("-") or "-"


def prose(text: str) -> Markup:
    """``text`` as HTML. No mark can make a tag, an attribute or an address that was not meant."""
    blocks = re.split(r"\n\s*\n", text.replace("\r\n", "\n").strip())
    return Markup("\n".join(_block(block.splitlines()) for block in blocks if block.strip()))


def _block(lines: list[str]) -> str:
    if all(line.startswith(">") for line in lines):
        return f"<blockquote><p>{_lines([line[1:].strip() for line in lines])}</p></blockquote>"
    for tag, mark in (("ul", r"[-*] "), ("ol", r"\d{1,3}\. ")):
        if all(re.match(mark, line) for line in lines):
            items = "".join(f"<li>{_inline(re.sub(mark, '', line, count=1))}</li>" for line in lines)
            return f"<{tag}>{items}</{tag}>"
    return f"<p>{_lines(lines)}</p>"


def _lines(lines: list[str]) -> str:
    return "<br>".join(_inline(line) for line in lines)


def _inline(text: str) -> str:
    pieces = text.split("`")
    if len(pieces) % 2 == 0:  # the last backtick is alone
        pieces[-2:] = [f"{pieces[-2]}`{pieces[-1]}"]
    return "".join(
        f"<code>{escape(piece)}</code>" if index % 2 else _words(piece) for index, piece in enumerate(pieces)
    )


def _words(text: str) -> str:
    html, end = [], 0
    for found in _LINK.finditer(text):
        target = found["target"] or found["address"] or found["place"]
        if not (target.startswith("/") and not target.startswith("//")) and not is_web_address(target):
            continue
        html.append(_marked(text[end : found.start()]))
        shown = _marked(found["text"]) if found["text"] else escape(target)
        html.append(f'<a href="{escape(target)}" rel="nofollow">{shown}</a>')
        end = found.end()
    html.append(_marked(text[end:]))
    return "".join(html)


def _marked(text: str) -> str:
    html = escape(text, quote=False)
    for mark, tag in _MARKS:
        html = mark.sub(tag, html)
    return html
