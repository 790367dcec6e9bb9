"""What a page says to its reader: passages, labels of controls, tables, and what leads to other pages.

Elements that are not displayed count, because a click may show them; scripts, styles and hidden fields do not.
"""

from __future__ import annotations

import contextlib
import csv
import functools
import html as entities
import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urldefrag, urljoin

from pytest_webarena.html_pages.get_forms import FormReader, GetForm
from pytest_webarena.html_pages.page_tree import Structure, visible, walk

__all__ = ["Control", "PageText", "read_html", "read_text"]

_PASSAGES = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "caption", "details", "dialog", "div", "dd", "dl", "dt"),
        *("fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header"),
        *("hr", "html", "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "section", "table", "tbody", "tfoot"),
        *("thead", "title", "tr", "ul"),
    )
)
"""Elements that begin and end a passage."""
_HOLDERS = frozenset(("li", "tr"))
"""Elements that are one passage with everything in them, such as a card in a list of products, but no lists."""
_LISTS = frozenset("dl li ol table tr ul".split())  # noqa: SIM905
_VERBATIM = frozenset(("pre", "textarea"))
_BREAKS = frozenset("br option optgroup td th".split())  # noqa: SIM905
"""Elements that begin a new line within a passage."""
_APART = frozenset("a button img input label select summary textarea".split())  # noqa: SIM905
"""Elements that are displayed apart from the text next to them."""
_SILENT = frozenset("noscript script style".split())  # noqa: SIM905
_HEADINGS = frozenset(("title", "h1"))
_LABELLED = frozenset("a button label legend option summary".split())  # noqa: SIM905
"""Elements whose text is the label of a control, or the choice that it offers."""
_ROLES = frozenset("button checkbox link menuitem menuitemcheckbox menuitemradio option radio switch tab".split())  # noqa: SIM905
_FIELDS = frozenset(("input", "select", "textarea"))
_NAMES = ("placeholder", "aria-label", "title", "alt")
"""Attributes that a reader is shown."""
_MOST_SPANNED = 50
_SPACES = re.compile(r"\s+")
_SCRIPTS = frozenset(("", "module", "text/javascript", "application/javascript"))


_PICTURED = {"canvas": "a drawing", "audio": "a sound", "video": "a film"}
"""Elements whose content is no text."""
_FRAMES = {"iframe": "src", "frame": "src", "embed": "src", "object": "data"}
_REFRESH = re.compile(r"\s*[\d.]*\s*[;,]\s*(?:url\s*=\s*)?[\"']?([^\"']+)", re.IGNORECASE)
_DIGITS = re.compile(r"\d+")
_MOST_LINKS = 2_000
"""Maximum number of links of one page, because a page may be endless."""
_LONGEST_LINK = 2_000


@dataclass(frozen=True, slots=True)
class Control:
    """A link, a button, a field or an option."""

    label: str
    passage: int
    """Index of the passage that it is in."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PageText:
    """The content of one page."""

    headings: tuple[str, ...]
    """Its title and main headings."""
    passages: tuple[str, ...]
    """Texts of paragraphs, list items, rows and the like, in order, with the alternatives of images, placeholders and
    values of fields. Cells and lines are separated by line breaks."""
    controls: tuple[Control, ...]
    columns: tuple[tuple[str, ...], ...]
    """The cells of each column of each table."""
    forms: tuple[GetForm, ...]
    """Forms that are sent as GET requests."""
    links: tuple[str, ...]
    """Addresses of its links, frames and files, and of the page that it forwards to; without fragments."""
    scripts: str = ""
    """What the scripts of pages of one kind have in common; empty: it has none."""
    unread: tuple[str, ...] = ()
    """What it has in addition to text."""
    structure: Structure
    places: tuple[int, ...]
    """The element of each passage, in `structure`."""


def read_html(html: str, url: str) -> PageText:
    """Read the page at ``url``.

    >>> page = read_html("<title>Kettles</title><p>A <b>red</b> kettle<script>x</script> <button>Buy", "http://a.test/")
    >>> page.passages, page.controls[0].label
    (('Kettles', 'A red kettle Buy'), 'Buy')
    """
    reader = _Reader(url)
    for step in walk(html):
        match step.kind:
            case "start":
                reader.start(step.tag, step.attributes)
            case "end":
                reader.end(step.tag)
            case "text":
                reader.text(step.text)
    return reader.result()


def read_text(text: str, kind: str, url: str) -> PageText:
    """Read a file of the content type ``kind`` as a page: tables with commas as such, data and other text as lines.

    >>> read_text('item,price\\n"Cup, red",9', "text/csv", "http://a.test/x").columns
    (('item', 'Cup, red'), ('price', '9'))
    """
    if kind in ("text/csv", "text/tab-separated-values"):
        rows = csv.reader(text.splitlines(), delimiter="," if kind == "text/csv" else "\t")
        cells = ("".join(f"<td>{entities.escape(cell)}</td>" for cell in row) for row in rows)
        return read_html("<table>" + "".join(f"<tr>{row}</tr>" for row in cells) + "</table>", url)
    lines: Sequence[str] = text.splitlines()
    if kind.endswith("json"):
        with contextlib.suppress(ValueError, RecursionError):
            lines = list(_lines(json.loads(text, parse_float=str, parse_int=str)))
    return read_html("".join(f"<p>{entities.escape(line)}</p>" for line in lines), url)


class _Reader:
    """Collects a page's content from its elements and texts, in order."""

    def __init__(self, url: str) -> None:
        self._url = self._base = url
        self._links: dict[str, None] = {}
        self._passages: list[str] = []
        self._parts: list[str] = []
        self._place: list[int] | None = None
        """The path of the element with all of the passage's text."""
        self._places: list[int] = []
        self._structure = Structure()
        self._path: list[tuple[str, frozenset[str], int | None]] = []
        """Open elements: tag, classes, and number in the structure."""
        self._silent = 0
        self._verbatim = 0
        self._holders: list[str] = []
        """Open lists, tables, items and rows."""
        self._heading: list[str] | None = None
        self._headings: list[str] = []
        self._open: list[tuple[int, list[str], int]] = []
        """Open labels: depth, parts and passage."""
        self._controls: list[Control] = []
        self._tables: list[list[list[list[str]]]] = []
        """Open tables: rows of cells of parts."""
        self._columns: list[tuple[str, ...]] = []
        self._forms = FormReader()
        self._scripts: list[str] = []
        self._unread: dict[str, None] = {}

    def result(self) -> PageText:
        """Returns everything that was read."""
        self._end_passage()
        return PageText(
            headings=tuple(filter(None, self._headings)),
            passages=tuple(self._passages),
            controls=tuple(self._controls),
            columns=tuple(self._columns),
            forms=tuple(self._forms.forms),
            links=tuple(self._links),
            scripts=" ".join(self._scripts),
            unread=tuple(self._unread),
            structure=self._structure,
            places=tuple(self._places),
        )

    def start(self, tag: str, given: Mapping[str, str]) -> None:
        """Read the start of an element."""
        if not self._silent:
            self._separate(tag)
        self._path.append((tag, _classes(given.get("class", "")), None))
        self._lead(tag, given)
        if tag in _SILENT or (tag == "template" and "shadowrootmode" not in given):
            if tag == "script" and given.get("type", "").strip().lower() in _SCRIPTS:
                self._scripts.append(_DIGITS.sub("0", given.get("src", "")) or "inline")
            self._silent += 1
        if self._silent:
            return
        self._lay_out(tag, given)
        self._forms.start(tag, given)
        if tag in _PICTURED:
            self._unread[_PICTURED[tag]] = None
        if tag not in _FIELDS and (
            given.get("role") in _ROLES or (tag in _LABELLED and (tag != "a" or "href" in given))
        ):
            self._open.append((len(self._path), [], len(self._passages)))
        hidden = tag == "input" and given.get("type", "").lower() == "hidden"
        shown = [given[name].strip() for name in _NAMES if name in given] if not hidden else []
        if tag == "input" and not hidden and given.get("type", "").lower() not in ("checkbox", "radio"):
            shown.append(given.get("value", "").strip())
        for text in filter(None, map(visible, shown)):
            self._add(f"\n{text}\n")
            if tag in _FIELDS:
                self._controls.append(Control(text, len(self._passages)))

    def end(self, tag: str) -> None:
        """Read the end of an element."""
        while self._open and self._open[-1][0] == len(self._path):
            self._end_label()
        self._path.pop()
        if tag in _SILENT or (tag == "template" and self._silent):
            self._silent -= 1
            return
        if self._silent:
            return
        self._forms.end(tag)
        if tag == "table":
            self._end_table()
        if tag in _HEADINGS and self._heading is not None:
            self._headings.append(_plain(self._heading))
            self._heading = None
        self._separate(tag)
        if tag in _LISTS:
            self._holders.pop()
        self._verbatim -= tag in _VERBATIM

    def text(self, text: str) -> None:
        """Read a text."""
        if not self._silent:
            text = visible(text)
            self._forms.text(text)
            self._add(text if self._verbatim else _SPACES.sub(" ", text))

    def _add(self, text: str) -> None:
        self._parts.append(text)
        if not text.isspace():
            here = self._numbered_path()
            shared = here if self._place is None else self._place
            self._place = [one for one, other in zip(shared, here, strict=False) if one == other]
        if self._heading is not None:
            self._heading.append(text)
        for _, parts, _ in self._open:
            parts.append(text)
        if self._tables and self._tables[-1] and self._tables[-1][-1]:
            self._tables[-1][-1][-1].append(text)

    def _numbered_path(self) -> list[int]:
        """Returns the numbers of the open elements; those that have none yet get one."""
        found: list[int] = []
        for at, (tag, classes, number) in enumerate(self._path):
            if number is None:
                number = self._structure.add(found[-1] if found else -1, tag, classes)
                self._path[at] = tag, classes, number
            found.append(number)
        return found

    def _separate(self, tag: str) -> None:
        if tag in _PASSAGES and (tag in _LISTS or not self._holders or self._holders[-1] not in _HOLDERS):
            self._end_passage()
        elif tag in _PASSAGES or tag in _BREAKS:
            self._add("\n")
        elif tag in _APART:
            self._add(" ")

    def _lead(self, tag: str, given: Mapping[str, str]) -> None:
        """Note where an element leads to."""
        href = given.get("href", "")
        if tag in ("a", "area") and given.get("data-method", "get").lower() == "get":
            self._link(href)
        elif tag in _FRAMES:
            self._link(given.get(_FRAMES[tag], ""))
            if "srcdoc" in given:
                inner = read_html(given["srcdoc"], self._base)
                self._add("\n" + "\n".join(inner.passages) + "\n")
                for link in inner.links:
                    self._link(link)
        elif tag == "base" and href:
            self._base = urljoin(self._url, href)
        elif tag == "meta" and given.get("http-equiv", "").strip().lower() == "refresh":
            found = _REFRESH.match(given.get("content", ""))
            self._link(found[1] if found else "")

    def _link(self, target: str) -> None:
        target = target.strip()
        if not target or len(target) > _LONGEST_LINK:
            return
        if len(self._links) >= _MOST_LINKS:
            self._unread[f"more than {_MOST_LINKS:,} links"] = None
            return
        try:
            self._links[urldefrag(urljoin(self._base, target)).url] = None
        except ValueError:  # e.g. [ in a host's name
            return

    def _lay_out(self, tag: str, given: Mapping[str, str]) -> None:
        if tag in _LISTS:
            self._holders.append(tag)
        self._verbatim += tag in _VERBATIM
        if tag in _HEADINGS:
            self._heading = []
        match tag:
            case "table":
                self._tables.append([])
            case "tr" if self._tables:
                self._tables[-1].append([])
            case "td" | "th" if self._tables:
                rows = self._tables[-1]
                if not rows:
                    rows.append([])
                rows[-1].append([])
                span = given.get("colspan", "")
                rows[-1] += [[] for _ in range(min(int(span), _MOST_SPANNED) - 1 if span.isdecimal() else 0)]

    def _end_label(self) -> None:
        _, parts, passage = self._open.pop()
        if text := _plain(parts):
            self._controls.append(Control(sys.intern(text), passage))

    def _end_passage(self) -> None:
        if (text := _joined(self._parts)) and self._place:
            self._passages.append(sys.intern(text))
            self._places.append(self._place[-1])
        self._parts, self._place = [], None

    def _end_table(self) -> None:
        if not self._tables:
            return
        rows = [[_plain(cell) for cell in row] for row in self._tables.pop()]
        width = max(map(len, rows), default=0)
        self._columns += [tuple(row[column] for row in rows if column < len(row)) for column in range(width)]


@functools.lru_cache(maxsize=1024)
def _classes(names: str) -> frozenset[str]:
    return frozenset(names.split())


def _lines(data: Any, key: str = "") -> Iterator[str]:
    """Yields the values of JSON data with their keys."""
    match data:
        case dict():
            for name, value in data.items():
                yield from _lines(value, f"{key}{name}: ")
        case list():
            for value in data:
                yield from _lines(value, key)
        case _:
            yield f"{key}{data}"


def _plain(parts: Sequence[str]) -> str:
    return " ".join("".join(parts).split())


def _joined(parts: Sequence[str]) -> str:
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(filter(None, lines))
