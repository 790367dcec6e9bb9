"""The text format of manuals and articles: the few marks they need, turned into clean HTML.

A text is a head of ``key: value`` lines, a line ``---``, then blocks divided by blank lines: ``## Heading``,
paragraphs, lists (``- `` or ``1. ``), tables (``| a | b |`` rows, the first being the head, under a
line ``Table: caption``) and remarks (``> ``). Inside a line: ``**strong**``, ``*emphasis*``,
``[text](address)``, and code between backticks.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

__all__ = ["Section", "parse", "plain", "slug"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A heading with what stands under it; the first section of a text has neither heading nor anchor."""

    heading: str
    anchor: str
    html: str
    text: str
    """Without any marks, for searching."""


def parse(source: str) -> tuple[dict[str, str], tuple[Section, ...]]:
    """The head and the sections of a text. ValueError when the head is missing."""
    head, mark, body = source.partition("\n---\n")
    if not mark:
        raise ValueError("expected a head that ends with a line '---'")
    fields = {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in head.splitlines())}
    sections = []
    for chunk in re.split(r"^(?=## )", body, flags=re.MULTILINE):
        heading = ""
        if chunk.startswith("## "):
            heading, _, chunk = chunk[3:].partition("\n")
        if heading or chunk.strip():
            sections.append(
                Section(heading=heading.strip(), anchor=slug(heading), html=_blocks(chunk), text=plain(chunk))
            )
    return fields, tuple(sections)


def slug(text: str) -> str:
    """``Lost & found`` as an anchor: ``lost-found``."""
    return "-".join(re.findall(r"[a-z0-9]+", text.lower()))


def plain(chunk: str) -> str:
    """The text as a reader hears it: without marks, on one line, table cells divided by commas."""
    text = re.sub(r"\[([^]]+)\]\([^)]+\)", r"\1", chunk)
    text = re.sub(r"^(Table: |- |> |\d+\. )", "", text, flags=re.MULTILINE)
    text = re.sub(
        r"^\|\s*(.*?)\s*\|\s*$", lambda row: re.sub(r"\s*\|\s*", ", ", row[1]) + ";", text, flags=re.MULTILINE
    )
    pieces = text.split("`")
    text = "".join(piece if index % 2 else piece.replace("*", "") for index, piece in enumerate(pieces))
    return " ".join(text.split())


def _blocks(chunk: str) -> str:
    return "\n".join(_block(block.splitlines()) for block in re.split(r"\n\s*\n", chunk.strip()) if block)


def _block(lines: list[str]) -> str:
    first = lines[0]
    if first.startswith("Table: "):
        return _table(first.removeprefix("Table: "), lines[1:])
    if first.startswith("- "):
        return _list("ul", lines, r"- ")
    if re.match(r"\d+\. ", first):
        return _list("ol", lines, r"\d+\. ")
    if first.startswith("> "):
        text = " ".join(line.removeprefix("> ") for line in lines)
        return f'<p class="remark">{_inline(text)}</p>'
    return f"<p>{_inline(' '.join(lines))}</p>"


def _list(tag: str, lines: list[str], mark: str) -> str:
    items = re.split(rf"^{mark}", "\n".join(lines), flags=re.MULTILINE)[1:]
    return f"<{tag}>" + "".join(f"<li>{_inline(' '.join(item.split()))}</li>" for item in items) + f"</{tag}>"


def _table(caption: str, lines: list[str]) -> str:
    rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in lines if line.strip()]
    head = "".join(f'<th scope="col">{_inline(cell)}</th>' for cell in rows[0])
    body = "".join(
        f'<tr><th scope="row">{_inline(row[0])}</th>'
        + "".join(f"<td>{_inline(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in rows[1:]
    )
    # A wide table scrolls sideways on a narrow screen: keys have to reach it, also where it has no links.
    reached = f' role="group" tabindex="0" aria-label="{escape(plain(caption))}"' if len(rows[0]) > 3 else ""
    return (
        f'<div class="table"{reached}><table><caption>{_inline(caption)}</caption>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _inline(text: str) -> str:
    # Every other piece stands between backticks and is left as it is.
    pieces = escape(text, quote=False).split("`")
    return "".join(f"<code>{piece}</code>" if index % 2 else _words(piece) for index, piece in enumerate(pieces))


def _words(html: str) -> str:
    html = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", html)
    html = re.sub(r"\*(.+?)\*", r"<em>\1</em>", html)
    return re.sub(r"\[([^]]+)\]\(([^)]+)\)", r'<a href="\2">\1</a>', html)
