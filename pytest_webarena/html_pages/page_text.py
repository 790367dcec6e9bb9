"""What a page of HTML says to its reader: passages, labels of controls, tables, and forms that only read.

Elements that are not displayed count, because a click may show them; scripts, styles and hidden fields do not.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pytest_webarena.html_pages.links import LinkParser

__all__ = ["Control", "GetField", "GetForm", "PageText", "read_html"]

_PASSAGES = frozenset(
    (
        *("address", "article", "aside", "blockquote", "body", "caption", "details", "dialog", "div", "dl", "dt"),
        *("fieldset", "figcaption", "figure", "footer", "form", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header"),
        *("hr", "html", "legend", "li", "main", "menu", "nav", "ol", "p", "pre", "section", "table", "tbody", "tfoot"),
        *("thead", "title", "tr", "ul"),
    )
)
"""Elements that begin and end a passage."""
_LISTS = frozenset("dl dt li ol table tr ul".split())  # noqa: SIM905
_HOLDERS = frozenset("dt li tr".split())  # noqa: SIM905
"""Elements that are one passage with everything in them, such as a card in a list of products. A term holds its
description."""
_VERBATIM = frozenset(("pre", "textarea"))
_BREAKS = frozenset("br dd option optgroup td th".split())  # noqa: SIM905
"""Elements that begin a new line within a passage."""
_APART = frozenset("a button img input label select summary textarea".split())  # noqa: SIM905
"""Elements that are displayed apart from the text next to them."""
_SILENT = frozenset("noscript script style template".split())  # noqa: SIM905
_HEADINGS = frozenset(("title", "h1"))
_LABELLED = frozenset("a button label legend option summary".split())  # noqa: SIM905
"""Elements whose text is the label of a control, or the choice that it offers."""
_ROLES = frozenset("button checkbox link menuitem menuitemcheckbox menuitemradio option radio switch tab".split())  # noqa: SIM905
_EMPTY = frozenset("area base br col embed hr img input link meta source track wbr".split())  # noqa: SIM905
_BUTTONS = frozenset(("submit", "button", "reset", "image"))
_TYPED = frozenset(("", "text", "search", "number", "url", "email", "tel"))
"""Types of inputs that a person types into."""
_NAMES = ("placeholder", "aria-label", "title", "alt")
"""Attributes that a reader is shown."""
_MOST_SPANNED = 50
_SPACES = re.compile(r"\s+")
_SCRIPTS = frozenset(("", "module", "text/javascript", "application/javascript"))


@dataclass(frozen=True, slots=True)
class Control:
    """A link, a button, a field or an option."""

    label: str
    passage: int
    """Index of the passage that it is in."""


@dataclass(slots=True)
class GetField:
    """A field of a form."""

    name: str
    value: str = ""
    typed: bool = False
    """Whether a person types its value."""
    searches: bool = False
    """Whether it is marked as a field for a search."""


@dataclass(slots=True)
class GetForm:
    """A form that is sent as a GET request."""

    action: str
    """Address without query and fragment."""
    fields: list[GetField] = field(default_factory=list)
    """Fields that are sent, with their initial values."""


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
    links: tuple[str, ...]
    """Addresses of its links, without fragments."""
    has_scripts: bool


def read_html(html: str, url: str) -> PageText:
    """Read the page at ``url``.

    >>> page = read_html("<title>Kettles</title><p>A <b>red</b> kettle<script>x</script> <button>Buy", "http://a.test/")
    >>> page.passages, page.controls[0].label
    (('Kettles', 'A red kettle Buy'), 'Buy')
    """
    reader = _Reader(url)
    reader.feed(html)
    reader.close()
    return reader.result()


class _Reader(LinkParser):
    """Collects a page's content. End tags may be missing, as in HTML they may."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self._passages: list[str] = []
        self._parts: list[str] = []
        self._silent = 0
        self._verbatim = 0
        self._holders: list[str] = []
        """Open lists, tables, items and rows."""
        self._heading: list[str] | None = None
        self._headings: list[str] = []
        self._open: list[tuple[str, list[str], int]] = []
        """Open labels: tag, parts and passage."""
        self._controls: list[Control] = []
        self._tables: list[list[list[list[str]]]] = []
        """Open tables: rows of cells of parts."""
        self._columns: list[tuple[str, ...]] = []
        self._form: GetForm | None = None
        self._choice: GetField | None = None
        """The list whose options are being read."""
        self._has_choices = False
        self._forms: list[GetForm] = []
        self._has_scripts = False

    def result(self) -> PageText:
        """Returns everything that was read."""
        while self._open:
            self._end_label()
        while self._tables:
            self._end_table()
        self._end_form()
        self._end_passage()
        return PageText(
            headings=tuple(filter(None, self._headings)),
            passages=tuple(self._passages),
            controls=tuple(self._controls),
            columns=tuple(self._columns),
            forms=tuple(self._forms),
            links=tuple(self.found),
            has_scripts=self._has_scripts,
        )

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        super().handle_starttag(tag, attrs)
        given = {name: value or "" for name, value in reversed(attrs)}
        if tag in _SILENT:
            self._has_scripts |= tag == "script" and given.get("type", "").strip().lower() in _SCRIPTS
            self._silent += 1
            return
        if self._silent:
            return
        self._lay_out(tag, given)
        self._read_field(tag, given)
        labelled = given.get("role") in _ROLES or (tag in _LABELLED and (tag != "a" or "href" in given))
        if labelled and tag not in _EMPTY:
            self._open.append((tag, [], len(self._passages)))
        hidden = tag == "input" and given.get("type", "").lower() == "hidden"
        shown = [given[name].strip() for name in _NAMES if name in given] if not hidden else []
        if tag == "input" and not hidden and given.get("type", "").lower() not in ("checkbox", "radio"):
            shown.append(given.get("value", "").strip())
        for text in filter(None, shown):
            self._add(f"\n{text}\n")
            if tag in ("input", "select", "textarea"):
                self._controls.append(Control(text, len(self._passages)))

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)  # in HTML the slash means nothing

    def handle_endtag(self, tag: str) -> None:
        if tag in _SILENT:
            self._silent = max(0, self._silent - 1)
        if self._silent:
            return
        if any(tag == name for name, _, _ in self._open):
            while self._end_label() != tag:
                pass
        match tag:
            case "table":
                self._end_table()
            case "form":
                self._end_form()
            case "select":
                self._choice = None
        if tag in _HEADINGS and self._heading is not None:
            self._headings.append(_plain(self._heading))
            self._heading = None
        self._separate(tag)
        if tag in _LISTS:
            self._let_go(tag)
        self._verbatim = max(0, self._verbatim - (tag in _VERBATIM))

    def handle_data(self, data: str) -> None:
        if not self._silent:
            self._add(data if self._verbatim else _SPACES.sub(" ", data))

    def _add(self, text: str) -> None:
        self._parts.append(text)
        if self._heading is not None:
            self._heading.append(text)
        for _, parts, _ in self._open:
            parts.append(text)
        if self._tables and self._tables[-1] and self._tables[-1][-1]:
            self._tables[-1][-1][-1].append(text)

    def _separate(self, tag: str) -> None:
        if tag in _PASSAGES and (tag in _LISTS or not self._holders or self._holders[-1] not in _HOLDERS):
            self._end_passage()
        elif tag in _PASSAGES or tag in _BREAKS:
            self._add("\n")
        elif tag in _APART:
            self._add(" ")

    def _hold(self, tag: str) -> None:
        """Note the start of a list, a table, an item or a row; that of an item ends the one before."""
        if tag in _HOLDERS and self._holders and self._holders[-1] == tag:
            self._holders.pop()
        self._holders.append(tag)

    def _let_go(self, tag: str) -> None:
        if tag in self._holders:
            while self._holders.pop() != tag:
                pass

    def _lay_out(self, tag: str, given: Mapping[str, str]) -> None:
        self._separate(tag)
        if tag in _LISTS:
            self._hold(tag)
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
            case "option":
                while self._open and self._open[-1][0] == "option":
                    self._end_label()

    def _read_field(self, tag: str, given: Mapping[str, str]) -> None:
        kind, form = given.get("type", "").strip().lower(), self._form
        match tag:
            case "form":
                self._end_form()
                if given.get("method", "get").strip().lower() in ("", "get"):
                    self._form = GetForm(given.get("action", "").strip())
            case "input" if form is not None and given.get("name"):
                if kind in _BUTTONS or (kind in ("checkbox", "radio") and "checked" not in given):
                    return
                default = "on" if kind in ("checkbox", "radio") else ""
                form.fields.append(
                    GetField(
                        given["name"], given.get("value", default), typed=kind in _TYPED, searches=kind == "search"
                    )
                )
            case "textarea" if form is not None and given.get("name"):
                form.fields.append(GetField(given["name"], typed=True))
            case "select" if form is not None and given.get("name"):
                self._choice, self._has_choices = GetField(given["name"]), False
                form.fields.append(self._choice)
            case "option" if self._choice is not None:
                if "selected" in given or not self._has_choices:
                    self._choice.value, self._has_choices = given.get("value", ""), True

    def _end_label(self) -> str:
        tag, parts, passage = self._open.pop()
        if text := _plain(parts):
            self._controls.append(Control(text, passage))
        return tag

    def _end_passage(self) -> None:
        if text := _lines(self._parts):
            self._passages.append(text)
        self._parts = []

    def _end_form(self) -> None:
        if self._form is not None and any(each.typed for each in self._form.fields):
            self._forms.append(self._form)
        self._form = None

    def _end_table(self) -> None:
        if not self._tables:
            return
        rows = [[_plain(cell) for cell in row] for row in self._tables.pop()]
        width = max(map(len, rows), default=0)
        self._columns += [tuple(row[column] for row in rows if column < len(row)) for column in range(width)]


def _plain(parts: Sequence[str]) -> str:
    return " ".join("".join(parts).split())


def _lines(parts: Sequence[str]) -> str:
    lines = (" ".join(line.split()) for line in "".join(parts).split("\n"))
    return "\n".join(filter(None, lines))
