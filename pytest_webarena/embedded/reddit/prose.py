"""What members write, as HTML: paragraphs, lists, quotes, emphasis, code, links. Everything else stays text."""

from __future__ import annotations

import re
from html import escape
from itertools import groupby
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
    # A list or a quotation may begin in the line after a paragraph, and a paragraph in the line after them.
    groups = (group for block in blocks if block.strip() for group in groupby(block.splitlines(), _kind))
    return Markup("\n".join(_block(kind, list(lines)) for kind, lines in groups))


_MARKED = (("blockquote", re.compile(r">")), ("ul", re.compile(r"[-*] ")), ("ol", re.compile(r"\d{1,3}\. ")))


def _kind(line: str) -> str:
    return next((kind for kind, mark in _MARKED if mark.match(line)), "p")


def _block(kind: str, lines: list[str]) -> str:
    if kind == "p":
        return f"<p>{_lines(lines)}</p>"
    mark = dict(_MARKED)[kind]
    texts = [mark.sub("", line, count=1) for line in lines]
    if kind == "blockquote":
        return f"<blockquote><p>{_lines([line.strip() for line in texts])}</p></blockquote>"
    return f"<{kind}>{''.join(f'<li>{_inline(line)}</li>' for line in texts)}</{kind}>"


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
