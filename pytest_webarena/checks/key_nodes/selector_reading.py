"""Parses selectors: CSS, and Playwright's additional forms."""

from __future__ import annotations

import functools
import re

from pytest_webarena.checks.key_nodes.selectors import (
    Attribute,
    Complex,
    Compound,
    Css,
    Nth,
    Opaque,
    ParsedSelector,
    Part,
    Pseudo,
    Role,
    Tag,
    Test,
    TextIs,
)

__all__ = ["LONGEST", "SelectorFault", "parse_selector"]

LONGEST = 2000
"""Maximum length of a selector in characters."""
_DEEPEST = 8
"""Maximum depth of nested selectors."""


class SelectorFault(ValueError):
    """What is wrong with a selector, as the end of a sentence."""


@functools.lru_cache(maxsize=4096)
def parse_selector(text: str) -> ParsedSelector:
    """Parse a selector. Raises `SelectorFault` for invalid ones."""
    if len(text) > LONGEST:
        raise SelectorFault(f"it has {len(text):,} characters, at most {LONGEST:,} are read")
    pieces = [piece.strip() for piece in _split(text, ">>")]
    if not all(pieces):
        raise SelectorFault("there is nothing before or after '>>'" if len(pieces) > 1 else "it is empty")
    parts: list[Part] = []
    frame: ParsedSelector | None = None
    for piece in pieces:
        if piece == _ENTER:
            if not parts:
                raise SelectorFault(f"there is no frame before '{_ENTER}'")
            frame, parts = ParsedSelector(parts=tuple(parts), frame=frame), []
            continue
        part = _part(piece)
        if parts and (part is None or _FILTER.match(piece)):
            parts[-1] = _one(Pseudo("is", parts[-1]), *(part[0].compounds[0] if part else ()))
        else:
            parts.append(part or _one(Pseudo("true")))
    if not parts:
        raise SelectorFault(f"there is nothing after '{_ENTER}'")
    return ParsedSelector(parts=tuple(parts), frame=frame)


_ENTER = "internal:control=enter-frame"
"""Playwright's separator between a frame's element and selectors in its document."""
_ENGINE = re.compile(r"([a-zA-Z][\w:-]*)\s*=(.*)", re.DOTALL)
_FILTER = re.compile(r"(?:nth|visible|has|has-not|has-text|has-not-text)\s*=")
"""Forms that filter the elements found so far instead of searching inside them."""
_TEST_IDS = ("id", "data-testid", "data-test-id", "data-test")
_UNTOLD = {
    "xpath": "XPath looks at more than the elements around a target",
    "nth": "which of several elements it is, is not recorded",
    "has": "what is inside an element is not recorded",
    "has-not": "what is inside an element is not recorded",
    "has-text": "the texts of surrounding elements are not recorded",
    "has-not-text": "the texts of surrounding elements are not recorded",
    "react": "what scripts know of a page is not recorded",
    "_react": "what scripts know of a page is not recorded",
    "_vue": "what scripts know of a page is not recorded",
}


def _one(*tests: Test) -> Css:
    return (Complex((tests,), ()),)


def _part(piece: str) -> Part | None:
    """Parse one part; None if it is always true."""
    if piece.startswith(("//", "..", "(//")):
        return _one(Opaque(_UNTOLD["xpath"]))
    if piece[0] in "\"'" and piece[-1] == piece[0] and len(piece) > 1:
        return _one(TextIs(piece[1:-1], exact=True, smallest=True))
    engine = _ENGINE.match(piece)
    if engine is None:
        return _Css(piece).whole()
    name, body = engine[1], engine[2].strip()
    if name == "css":
        if not body:
            raise SelectorFault("there is nothing after 'css='")
        return _Css(body).whole()
    if name == "text":
        quoted = len(body) > 1 and body[0] in "\"'" and body[-1] == body[0]
        if body.startswith("/") and re.fullmatch(r"/.*/[a-z]*", body, re.DOTALL):
            return _one(Opaque("a regular expression for a browser is not read here"))
        return _one(TextIs(body[1:-1] if quoted else body, exact=quoted, smallest=True))
    if name == "role":
        return _role(body)
    if name in _TEST_IDS:
        return _one(Attribute(name, "=", body))
    if name == "visible":
        return None  # the target of a trusted event is visible
    if name in _UNTOLD or name.startswith("internal:"):
        return _one(Opaque(_UNTOLD.get(name, "its form is not documented")))
    raise SelectorFault(f"there is no form of selector called '{name[:30]}='")


_ROLE = re.compile(r"([a-z]+)\s*((?:\[.*\])?)\s*", re.DOTALL)
_ROLE_ATTRIBUTE = re.compile(
    r"\[\s*([a-z-]+)\s*(?:(=)\s*(?:\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'|(/(?:[^/\\]|\\.)+/[a-z]*)|([\w-]+)))?"
    r"\s*([is])?\s*\]\s*"
)


def _role(body: str) -> Css:
    if (found := _ROLE.fullmatch(body)) is None:
        raise SelectorFault('a role is written like role=button[name="Save"]')
    tests: list[Test] = []
    name, ignore_case, rest = None, False, found[2]
    while rest:
        if (attribute := _ROLE_ATTRIBUTE.match(rest)) is None:
            raise SelectorFault('a role is written like role=button[name="Save"]')
        rest = rest[attribute.end() :]
        key, _, double, single, regex, bare, flag = attribute.groups()
        if key == "name" and regex:
            tests.append(Opaque("a regular expression for a browser is not read here"))
        elif key == "name":
            said = next((each for each in (double, single, bare) if each is not None), None)
            if said is None:
                raise SelectorFault('a name is written like [name="Save"]')
            name, ignore_case = re.sub(r"\\(.)", r"\1", said), flag == "i"
        elif key != "include-hidden":
            tests.append(Opaque(f"whether an element is '{key}' is not recorded"))
    return _one(Role(found[1], name, ignore_case), *tests)


def _split(text: str, by: str) -> list[str]:
    """Split ``text`` at each ``by`` that is neither quoted nor in brackets."""
    pieces, start, depth, quote, at = [], 0, 0, "", 0
    while at < len(text):
        character = text[at]
        if character == "\\":
            at += 2
            continue
        if quote:
            quote = "" if character == quote else quote
        elif character in "\"'" and (depth or text[start:at].strip() in ("", "text=") or text[at - 1] in "=("):
            quote = character
        elif character in "([":
            depth += 1
        elif character in ")]":
            depth = max(0, depth - 1)
        elif not depth and text.startswith(by, at):
            pieces.append(text[start:at])
            at += len(by)
            start = at
            continue
        at += 1
    return [*pieces, text[start:]]


_NAME = re.compile(r"(?:--|-?(?:[A-Za-z_\u0080-\U0010ffff]|\\[0-9a-fA-F]{1,6}\s?|\\[^\n]))"
                   r"(?:[\w\u0080-\U0010ffff-]|\\[0-9a-fA-F]{1,6}\s?|\\[^\n])*")  # fmt: skip
_HASH = re.compile(r"(?:[\w\u0080-\U0010ffff-]|\\[0-9a-fA-F]{1,6}\s?|\\[^\n])+")
_STRING = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'", re.DOTALL)
_SPACE = re.compile(r"\s*")
_COMBINATOR = re.compile(r"\s*([>+~])\s*|\s+")
_OPERATOR = re.compile(r"[~|^$*]?=")
_NTH = re.compile(r"(?:(?P<word>even|odd)|(?P<step>[+-]?\d*)n\s*(?P<plus>[+-]\s*\d+)?|(?P<only>[+-]?\d+))", re.I)
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)

_WORDS = (
    "hover focus focus-within focus-visible active visited target checked disabled enabled indeterminate default "
    "required optional valid invalid in-range out-of-range read-only read-write placeholder-shown autofill open "
    "fullscreen modal user-valid user-invalid empty scope lang dir defined any-link link"
)
_STATES = frozenset(_WORDS.split())
_PLACES: dict[str, Test] = {
    "first-child": Nth(0, 1),
    "last-child": Nth(0, 1, from_end=True),
    "first-of-type": Nth(0, 1, of_type=True),
    "last-of-type": Nth(0, 1, of_type=True, from_end=True),
    "only-child": Pseudo("only-child"),
    "only-of-type": Pseudo("only-of-type"),
    "root": Pseudo("root"),
    "visible": Pseudo("true"),
}
_NTHS = {
    "nth-child": (False, False),
    "nth-last-child": (False, True),
    "nth-of-type": (True, False),
    "nth-last-of-type": (True, True),
}
_TEXTS = {"has-text": (False, False), "text": (False, True), "text-is": (True, True)}


def _plain(name: str) -> str:
    """Returns a name or a string without its escapes."""

    def one(match: re.Match[str]) -> str:
        if match[1]:
            code = int(match[1], 16)
            return chr(code) if 0 < code < 0x110000 and not 0xD800 <= code < 0xE000 else "\ufffd"
        return "" if match[2] == "\n" else match[2]

    return _ESCAPE.sub(one, name)


class _Css:
    """A parser of CSS selectors."""

    def __init__(self, text: str, depth: int = 0) -> None:
        self.text = text
        self.at = 0
        self.depth = depth
        if depth > _DEEPEST:
            raise SelectorFault(f"there are more than {_DEEPEST} selectors within each other")

    def whole(self) -> Css:
        """Parse the whole text."""
        found = []
        while True:
            found.append(self._complex())
            self._skip(_SPACE)
            if self.at >= len(self.text):
                return tuple(found)
            if self.text[self.at] != ",":
                raise self._fault()
            self.at += 1

    def _complex(self) -> Complex:
        self._skip(_SPACE)
        compounds = [self._compound()]
        combinators = []
        while found := _COMBINATOR.match(self.text, self.at):
            if found.end() >= len(self.text) or self.text[found.end()] == ",":
                if found[1]:
                    raise SelectorFault(f"there is nothing after '{found[1]}'")
                break
            self.at = found.end()
            combinators.append(found[1] or " ")
            compounds.append(self._compound())
        return Complex(tuple(compounds), tuple(combinators))

    def _compound(self) -> Compound:
        tests: list[Test] = []
        start = self.at
        if self._is("*"):
            tests.append(Tag(""))
        elif name := _NAME.match(self.text, self.at):
            self.at = name.end()
            tests.append(Tag(_plain(name[0]).lower()))
        while self.at < len(self.text):
            if self._is("#"):
                tests.append(Attribute("id", "=", _plain(self._take(_HASH))))
            elif self._is("."):
                tests.append(Attribute("class", "~=", _plain(self._take(_NAME))))
            elif self._is("["):
                tests.append(self._attribute())
            elif self._is(":"):
                tests.append(self._pseudo())
            else:
                break
        if self.at == start:
            raise self._fault()
        return tuple(tests)

    def _attribute(self) -> Attribute:
        self._skip(_SPACE)
        name = _plain(self._take(_NAME)).lower()
        self._skip(_SPACE)
        if self._is("]"):
            return Attribute(name)
        operator = self._take(_OPERATOR)
        self._skip(_SPACE)
        if string := _STRING.match(self.text, self.at):
            self.at = string.end()
            value = string[1] if string[1] is not None else string[2]
        else:
            value = self._take(_HASH)
        self._skip(_SPACE)
        flag = self.text[self.at : self.at + 1].lower()
        if flag in ("i", "s"):
            self.at += 1
            self._skip(_SPACE)
        if not self._is("]"):
            raise self._fault()
        return Attribute(name, operator, _plain(value), ignore_case=flag == "i" or (name == "type" and flag != "s"))  # type: ignore[arg-type]

    def _pseudo(self) -> Test:
        if self._is(":"):
            raise SelectorFault("'::' is no element of a page")
        name = self._take(_NAME).lower()
        body = self._body() if self._is("(") else None
        if body is None:
            if name in _PLACES:
                return _PLACES[name]
            if name in _STATES:
                return Opaque(f"whether an element is ':{name}' is not recorded")
            raise SelectorFault(f"there is no ':{name[:30]}'")
        if name in ("not", "is", "where", "matches", "light"):
            of = _Css(body, self.depth + 1).whole()
            return Pseudo("not" if name == "not" else "is", of)
        if name in _NTHS:
            return _nth(body, *_NTHS[name])
        if name in _TEXTS:
            bare = body.strip()
            string = _STRING.fullmatch(bare)
            said = _plain(next(each for each in string.groups() if each is not None)) if string else bare
            exact, smallest = _TEXTS[name]
            return TextIs(said, exact=exact, smallest=smallest)
        if name == "has":
            return Opaque(_UNTOLD["has"])
        if name in (
            "nth-match",
            "text-matches",
            "near",
            "left-of",
            "right-of",
            "above",
            "below",
            "lang",
            "dir",
            "host",
        ):
            return Opaque(f"what ':{name}' asks is not recorded")
        raise SelectorFault(f"there is no ':{name[:30]}()'")

    def _body(self) -> str:
        """Returns the content of the parentheses that have just been opened."""
        start, depth, quote = self.at, 1, ""
        while self.at < len(self.text):
            character = self.text[self.at]
            self.at += 1
            if character == "\\":
                self.at += 1
            elif quote:
                quote = "" if character == quote else quote
            elif character in "\"'":
                quote = character
            elif character == "(":
                depth += 1
            elif character == ")":
                depth -= 1
                if not depth:
                    return self.text[start : self.at - 1]
        raise SelectorFault("a parenthesis is not closed")

    def _is(self, character: str) -> bool:
        if self.text.startswith(character, self.at):
            self.at += 1
            return True
        return False

    def _skip(self, pattern: re.Pattern[str]) -> None:
        found = pattern.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self.text, self.at)
        if found is None:
            raise self._fault()
        self.at = found.end()
        return found[0]

    def _fault(self) -> SelectorFault:
        rest = self.text[self.at : self.at + 20]
        return SelectorFault(f"CSS has no '{rest}' there" if rest else "it ends too early")


def _nth(body: str, of_type: bool, from_end: bool) -> Test:
    if re.search(r"\bof\b", body):
        return Opaque("which place an element has among some of its siblings is not recorded")
    found = _NTH.fullmatch(body.strip())
    if found is None:
        raise SelectorFault(f"'{body[:20]}' says no places of children, like 2 or 2n+1")
    if found["word"]:
        step, offset = 2, int(found["word"].lower() == "odd")
    elif found["only"]:
        step, offset = 0, int(found["only"])
    else:
        sign = found["step"]
        step = int(f"{sign}1" if sign in ("", "+", "-") else sign)
        offset = int(found["plus"].replace(" ", "")) if found["plus"] else 0
    return Nth(step, offset, of_type=of_type, from_end=from_end)
