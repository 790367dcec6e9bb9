"""Markdown as people write it here: with references to issues, merge requests and people."""

from __future__ import annotations

import re
from collections.abc import Sequence
from posixpath import dirname, normpath
from urllib.parse import quote

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markupsafe import Markup, escape

from pytest_webarena.embedded.gitlab.access import find_project
from pytest_webarena.embedded.web import database

__all__ = ["mentioned", "rendered"]

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"])
_REFERENCE = re.compile(
    r"(?<![\w/&@.])(?:(?P<project>[\w.-]+/[\w.-]+)?(?P<mark>[#!])(?P<iid>\d+)|@(?P<user>[\w.-]*\w))\b"
)
_KINDS = {"#": ("issues", "issues"), "!": ("merge_requests", "merge_requests")}


def mentioned(text: str) -> list[str]:
    """User names that a text calls."""
    return sorted({found["user"].lower() for found in _REFERENCE.finditer(text) if found["user"]})


def rendered(text: str, project: str = "", *, top: int = 3, folder: str | None = None) -> Markup:
    """Clean HTML. ``top`` is the level of the first heading; with a ``folder`` (``-/blob/main/docs/``, seen from the
    project) relative links lead there and headings have anchors."""
    tokens = _MARKDOWN.parse(text)
    level, used = top - 1, set[str]()
    for n, token in enumerate(tokens):
        if token.type == "heading_open":
            level = min(int(token.tag[1]) + top - 1, level + 1, 6)
            token.tag = f"h{level}"
            if folder is not None:
                anchor = "-".join(re.findall(r"[\w]+", tokens[n + 1].content.lower())) or "section"
                while f"user-content-{anchor}" in used:
                    anchor += "-"
                used.add(f"user-content-{anchor}")
                token.attrSet("id", f"user-content-{anchor}")
        elif token.type == "heading_close":
            token.tag = f"h{level}"
        elif token.type in ("fence", "code_block"):
            token.attrSet("tabindex", "0")
        elif token.type == "inline" and token.children:
            token.children = _linked(token.children, project, folder)
    html = _MARKDOWN.renderer.render(tokens, _MARKDOWN.options, {})
    html = html.replace("<pre>", '<pre tabindex="0">')
    html = re.sub(r"<table>", '<div class="scroll" role="group" tabindex="0" aria-label="Table"><table>', html)
    return Markup(html.replace("</table>", "</table></div>"))


def _linked(children: Sequence[Token], project: str, folder: str | None) -> list[Token]:
    made: list[Token] = []
    inside = 0
    for token in children:
        if token.type == "link_open":
            inside += 1
            token.attrSet("href", _address(str(token.attrGet("href") or ""), project, folder))
        elif token.type == "link_close":
            inside -= 1
        elif token.type == "image":
            # Nothing is loaded from elsewhere: an image is told by its text.
            token = Token("text", "", 0, content=f"[{token.content}]")
        if token.type == "text" and not inside:
            html, at = Markup(""), 0
            for found in _REFERENCE.finditer(token.content):
                html += token.content[at : found.start()] + _reference(found, project)
                at = found.end()
            token = Token("html_inline", "", 0, content=str(html + token.content[at:]))
        made.append(token)
    return made


def _address(href: str, project: str, folder: str | None) -> str:
    if folder is None or re.match(r"[a-z+]+:|/|#", href):
        return f"#user-content-{href[1:]}" if href.startswith("#") else href
    return f"/{project}/{quote(normpath(folder + href))}" if dirname(folder) else href


def _reference(found: re.Match[str], project: str) -> Markup:
    text = found[0]
    if found["user"]:
        row = database().execute("SELECT username FROM users WHERE username = ?", (found["user"].lower(),)).fetchone()
        return Markup('<a href="/{}">{}</a>').format(row[0], text) if row else escape(text)
    table, page = _KINDS[found["mark"]]
    where = find_project(found["project"] or project)
    if where is None or (page == "merge_requests" and not where.code):
        return escape(text)  # a link would tell that there is such a project
    row = database().execute(f"SELECT * FROM {table} WHERE project_id = ? AND iid = ?", (where.id, int(found["iid"])))
    item = row.fetchone()
    if item is None or (page == "issues" and item["confidential"] and not where.may("reporter")):
        return escape(text)
    return Markup('<a href="/{}/-/{}/{}">{}</a>').format(where.path, page, found["iid"], text)
