"""Texts with a syntax of their own (selectors, patterns, SQL), checked as far as possible without a browser or
database."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable

from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import near
from pytest_webarena.tasks.shapes import Fault, Text
from pytest_webarena.text import clip

__all__ = ["CONTROLS", "DOES_MORE", "LOCATE", "QUERY", "REGEX", "ROLES", "SELECTOR", "STATEMENT"]

_ENGINES = (
    "css", "css:light", "data-test", "data-test-id", "data-test-id:light", "data-test:light", "data-testid",
    "data-testid:light", "id", "id:light", "nth", "role", "text", "text:light", "visible", "xpath", "xpath:light",
)  # fmt: skip
_ENGINE = re.compile(r"([a-zA-Z_][\w-]*(?::light)?)=")
_ROLE_ATTRIBUTES = (
    "checked", "description", "disabled", "expanded", "include-hidden", "level", "name", "pressed", "selected",
)  # fmt: skip
ROLES = frozenset({
    "alert", "alertdialog", "application", "article", "banner", "blockquote", "button", "caption", "cell", "checkbox",
    "code", "columnheader", "combobox", "complementary", "contentinfo", "definition", "deletion", "dialog",
    "directory", "document", "emphasis", "feed", "figure", "form", "generic", "grid", "gridcell", "group", "heading",
    "img", "image", "insertion", "link", "list", "listbox", "listitem", "log", "main", "marquee", "math", "menu",
    "menubar", "menuitem", "menuitemcheckbox", "menuitemradio", "meter", "navigation", "none", "note", "option",
    "paragraph", "presentation", "progressbar", "radio", "radiogroup", "region", "row", "rowgroup", "rowheader",
    "scrollbar", "search", "searchbox", "separator", "slider", "spinbutton", "status", "strong", "subscript",
    "superscript", "switch", "tab", "table", "tablist", "tabpanel", "term", "textbox", "time", "timer", "toolbar",
    "tooltip", "tree", "treegrid", "treeitem",
})  # fmt: skip
CONTROLS = frozenset({
    "button", "checkbox", "combobox", "link", "listbox", "menuitem", "menuitemcheckbox", "menuitemradio", "option",
    "radio", "searchbox", "slider", "spinbutton", "switch", "tab", "textbox", "treeitem",
})  # fmt: skip
"""Roles of elements that users operate and refer to by name."""
DOES_MORE = (
    "data-method", "data-remote", "data-confirm", "data-turbo-method", "data-turbo-confirm", "data-toggle",
    "data-bs-toggle", "hx-post", "hx-put", "hx-patch", "hx-delete", "onclick", "download",
)  # fmt: skip
"""Attributes of links that do something other than navigate to their address: by Rails, Bootstrap, htmx or a script."""
_ROLE = re.compile(r"""([\w-]*)((?:\[(?:[^\]"'/]|"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|/(?:[^/\\]|\\.)*/)*\])*)""")
_ATTRIBUTE = re.compile(r"""\[\s*([\w-]+)\s*(?:=\s*(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|/(?:[^/\\]|\\.)*/))?""")
_CALL = re.compile(r"(?:[A-Za-z_]\w*\.)*[A-Za-z_]\w*\(")
"""A call in Python or JavaScript; in CSS a bracket follows only a colon and a name."""
_OPENING = {"(": ")", "[": "]", "{": "}"}
_CLOSING = frozenset(_OPENING.values())


def _unbalanced(text: str) -> str:
    """Returns in words which bracket or quote is unbalanced outside of quotes; empty when none is."""
    expected: list[str] = []
    quote = ""
    escaped = False
    for character in text:
        if escaped:
            escaped = False
        elif character == "\\":
            escaped = True
        elif quote:
            if character == quote:
                quote = ""
        elif character in "\"'":
            quote = character
        elif character in _OPENING:
            expected.append(_OPENING[character])
        elif character in _CLOSING and (not expected or expected.pop() != character):
            return f"a {character} too many"
    if quote:
        return f"a {quote} that is never closed"
    return f"no {expected[-1]}" if expected else ""


def _parts(selector: str) -> list[str]:
    """Returns the selectors of a chain, split at ``>>`` outside of quotes."""
    parts, start, quote, index = [], 0, "", 0
    while index < len(selector):
        character = selector[index]
        if character == "\\":
            index += 1
        elif quote:
            quote = "" if character == quote else quote
        elif character in "\"'`":
            quote = character
        elif selector.startswith(">>", index):
            parts.append(selector[start:index])
            start = index + 2
            index += 1
        index += 1
    return [*parts, selector[start:]]


def selector_fault(selector: str, reading: Reading | None = None) -> Fault | None:
    """Returns why a Playwright selector is certainly invalid. None does not imply that it matches anything."""
    whole = "a Playwright selector"
    for part in _parts(selector):
        text = re.sub(r"^\*(?=[\w-]+=)", "", part.strip())  # ``*css=…`` selects this part's element
        if not text:
            return Fault(whole, f"an empty part in '{clip(selector)}'", "parts are joined by '>>'")
        engine, body = "css", text
        if match := _ENGINE.match(text):
            engine, body = match.group(1), text[match.end() :].strip()
            if engine == "js":
                return Fault(whole, f"'{clip(text)}'", "'js=' works only as a whole, in 'locate'")
            if engine not in _ENGINES and not engine.startswith("_"):
                return Fault(whole, f"'{clip(text)}'", f"no engine '{clip(engine)}': {near(engine, _ENGINES)}")
        elif text.startswith(("//", "(//", "..")):
            engine = "xpath"
        elif text.startswith(('"', "'")):
            engine = "text"
        if not body:
            return Fault(whole, f"'{clip(text)}'", f"nothing after '{engine}='")
        if engine == "role" and (fault := _role_fault(body)):
            return fault
        if engine in ("css", "xpath", "css:light", "xpath:light") and (what := _unbalanced(body)):
            return Fault(whole, f"{what} in '{clip(text)}'")
        if engine == "css" and _CALL.match(body):
            return Fault(
                whole, f"'{clip(text)}'", 'a call is no selector: write role=button[name="Save"], text=… or CSS'
            )
        if engine == "css" and body[0].isdigit():
            return Fault(whole, f"'{clip(text)}'", "CSS names don't begin with a digit; for text write text=…")
    return None


def _role_fault(body: str) -> Fault | None:
    match = _ROLE.match(body)
    assert match is not None  # it matches the empty text
    role = match.group(1)
    if match.end() != len(body):
        what = _unbalanced(body) or f"'{clip(body[match.end() :], 30)}' after the role"
        return Fault('a selector like role=button[name="Save"]', f"{what} in 'role={clip(body)}'")
    if role not in ROLES:
        hint = near(role, ROLES)
        return Fault("an ARIA role", f"'{clip(role)}'", hint if hint.startswith("did") else "")
    for attribute in _ATTRIBUTE.finditer(match.group(2)):
        if attribute.group(1) not in _ROLE_ATTRIBUTES:
            name = attribute.group(1)
            return Fault("an attribute of a role selector", f"'{clip(name)}'", near(name, _ROLE_ATTRIBUTES))
    return None


def _locate_fault(text: str, reading: Reading) -> Fault | None:
    if text.startswith("js="):
        if text[3:].strip():
            return None
        return Fault("a JavaScript expression after 'js='", "nothing")
    return selector_fault(text)


def regex_fault(pattern: str, reading: Reading | None = None) -> Fault | None:
    """Returns why ``pattern`` is not a regular expression of Python's `re`; None when it is one."""
    try:
        with warnings.catch_warnings():  # warnings such as "possible nested set" may be configured to raise
            warnings.simplefilter("ignore")
            re.compile(pattern)
    except re.error as error:
        where = f" at character {error.pos + 1}" if error.pos is not None else ""
        return Fault("a regular expression", f"'{clip(pattern)}'", f"{error.msg}{where}")
    except (RecursionError, OverflowError, ValueError) as error:  # nested too deeply, or huge numbers
        return Fault("a regular expression", f"'{clip(pattern)}'", clip(str(error), 80))
    return None


_SQL_SKIP = re.compile(r"--[^\n]*|/\*.*?\*/", re.DOTALL)
_SQL_STRING = re.compile(r"""'(?:[^']|'')*'|"(?:[^"]|"")*"|`[^`]*`|\[[^\]]*\]|\$(\w*)\$.*?\$\1\$""", re.DOTALL)
_READING = ("select", "with", "values", "table", "show", "explain", "describe", "pragma")
_WRITING = (
    "alter", "begin", "call", "create", "delete", "drop", "insert", "merge", "replace", "set", "truncate", "update",
)  # fmt: skip


def sql_fault(sql: str, *, write: bool) -> Fault | None:
    """Returns why one SQL statement is certainly invalid; ``write`` allows statements that change data."""
    bare = _SQL_STRING.sub("''", _SQL_SKIP.sub(" ", sql))
    if any(quote in bare.replace("''", "") for quote in "'\"`"):
        return Fault("an SQL statement", "a quote that is never closed", clip(sql))
    statements = [part for part in bare.split(";") if part.strip()]
    if not statements:
        return Fault("an SQL statement", "nothing but space and comments")
    if len(statements) > 1:
        return Fault("one SQL statement", f"{len(statements)} of them", "one step or check has one statement")
    if what := _unbalanced(statements[0]):
        return Fault("an SQL statement", f"{what} in '{clip(sql)}'")
    match = re.match(r"[\s(]*(\w+)", statements[0])
    word = match.group(1).lower() if match else ""
    if word in _READING or (write and word in _WRITING):
        return None
    if word in _WRITING:
        return Fault("a query", f"'{clip(word)} …', which changes data", "checks only read; 'setup' may write")
    known = _READING + _WRITING if write else _READING
    hint = near(word, known)
    return Fault("an SQL statement", f"'{clip(sql)}'", hint if hint.startswith("did") else f"begin with {known[0]}, …")


_LONGEST = 20_000


def _checked(check: Callable[[str, Reading], Fault | None]) -> Callable[[str, Reading], Fault | None]:
    """Wrap ``check`` so that it runs on texts of limited length only, because no check may take long."""

    def checked(text: str, reading: Reading) -> Fault | None:
        if len(text) > _LONGEST:
            return Fault(f"at most {_LONGEST:,} characters", f"{len(text):,}")
        return check(text, reading)

    return checked


SELECTOR = Text('a Playwright selector, e.g. role=button[name="Save"]', strip=True, check=_checked(selector_fault))
"""An element, by Playwright selector."""

LOCATE = Text("a Playwright selector, or js=… with an expression", strip=True, check=_checked(_locate_fault))
"""A part of a page: a Playwright selector, or JavaScript that returns text."""

REGEX = Text("a regular expression", check=_checked(regex_fault))
"""A pattern of Python's `re`, matched anywhere in the text."""

QUERY = Text("an SQL query", strip=True, check=_checked(lambda sql, _: sql_fault(sql, write=False)))
"""One SQL statement that only reads."""

STATEMENT = Text("an SQL statement", strip=True, check=_checked(lambda sql, _: sql_fault(sql, write=True)))
"""One SQL statement that may write."""
