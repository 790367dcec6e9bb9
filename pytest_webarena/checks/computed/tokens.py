"""Formulas as tokens: LaTeX, plain text and Unicode alike, and nothing that is not on the list.

A text is cut, never run. What no rule knows is refused with a sentence that names it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass

from pytest_webarena.checks.computed.names import (
    CALLS,
    COMMANDS,
    CONSTANTS,
    FUNCTIONS,
    GREEK,
    IGNORED,
    LETTERS,
    RELATIONS,
    SHORT,
)
from pytest_webarena.checks.computed.notations import in_our_notation, without_label
from pytest_webarena.checks.computed.phrasing import bare_formula
from pytest_webarena.checks.computed.signs import GREEK_LETTERS, in_plain_signs
from pytest_webarena.text import clip

__all__ = ["LONGEST", "Token", "Unreadable", "tokenise", "unwrap"]

LONGEST = 2000
"""Characters of a formula."""
MOST_TOKENS = 600


class Unreadable(ValueError):
    """A text that is no formula, as far as we can read; ``str()`` says why."""


@dataclass(frozen=True, slots=True)
class Token:
    """One piece. Its ``kind`` is ``num``, ``name``, ``const``, ``func``, ``rel``, or the mark that it is."""

    kind: str
    text: str = ""

    def __str__(self) -> str:
        return self.text or self.kind


_PREFIXES = (Token("name", "Delta"), Token("name", "nabla"))
"""Names that with the next one are a name of their own."""
_TIMES = re.compile(r"(?<=\d) ?[xX] ?(?=10 ?(?:\^|\*\*))")
_TRAILING = re.compile(r"(?:\\[,;:!]|[.,;\s]){1,20}$")
_WRAPPERS = (("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"), ("`", "`"), ("**", "**"), ("__", "__"))
_TEXT = re.compile(r"\\(?:text|textrm|textit|textbf|mathrm|mathit|mathsf|mbox|operatorname|rm)\*?\s*\{([^{}]*)\}")
_ACCENT = re.compile(
    r"\\(hat|widehat|bar|overline|tilde|widetilde|dot|ddot)(?![A-Za-z])\s*(?:\{\s*(\\?[A-Za-z]+)\s*\}|(\\[A-Za-z]+|[A-Za-z]))"
)
_NUMBER = re.compile(r"(?:\d{1,3}(?:(?:\{,\}|\\,)\d{3})+|\d+)(?:\.\d+)?|\.\d+")
_THOUSANDS = re.compile(r"(?:,\d{3})+(?![\d,])(?:\.\d+)?")
_POWER_OF_TEN = re.compile(r"[eE]([+-]?\d{1,4})(?![\d.]*[A-Za-z_])")
_COMMAND = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
_RUN = re.compile(r"[A-Za-z]+")
_SUBSCRIPT = re.compile(r"\s*_\s*(?:\{((?:[^{}]|\{[^{}]*\})*)\}|(\\[A-Za-z]+)|([A-Za-z0-9]+))")
_DERIVED = (
    rf"(?:[A-Za-z]|[{''.join(GREEK_LETTERS)}]|\\(?:{'|'.join(GREEK)})(?![A-Za-z])"
    r"|\\d?dot\s*(?:\{\s*\\?[A-Za-z]+\s*\}|\\?[A-Za-z]))"
)
_DIFFERENTIAL = re.compile(rf"(d|∂|\\partial\s*)({_DERIVED})\s*/\s*\1({_DERIVED})(?![A-Za-z])")
_OPERATORS = re.compile(r"\*\*|:=|<=|>=|!=|==|=>|\.\.\.|[-+*/^!=<>,;:|()\[\]{}&'_%]")
_SKIP = re.compile(r"(?:\s|~|\\[ ,;:!>])+")
_CHOOSES = re.compile(r"[a-z]C[a-z]")
"""``nCk``, as on calculators."""
_JOINED = frozenset(name for name in (*FUNCTIONS, *GREEK) if len(name) > 2)
"""Names that are found inside of a run of letters."""


_CALLED = re.compile(r"\s*[(\[]")
_CHOSEN = re.compile(r"\s*\(\s*\w+\s*,\s*\w+\s*\)(?!\s*=)")
_ARGUMENTS = {"C": _CHOSEN, "S": re.compile(r"\s*\(\s*-?\s*\d")}
"""What follows letters that are calls in programs, and names elsewhere."""
_SECOND_ORDER = re.compile(r"D2\{(\S{1,9})\}\{(\S{1,9})\}")
_TRUTHS = frozenset({"otherwise", "elsewhere", "else", "True"})
_IF = frozenset({"if", "for", "when", "where"})
_APPLIED_LETTERS = {
    "Gamma": re.compile(r"\s*\("),
    "zeta": re.compile(r"\s*\(\s*(?:\d+|s)\s*\)"),
}
"""Letters that are functions where this follows."""


def unwrap(text: str) -> str:
    r"""Without the marks of mathematics around the whole.

    >>> unwrap(r"$ x^2 $."), unwrap(r"\(x\)")
    ('x^2', 'x')
    """
    text = text.strip()
    while True:
        bare = _TRAILING.sub("", text) if not text.endswith("...") else text
        for before, after in _WRAPPERS:
            inside = bare[len(before) : -len(after)]
            if len(bare) > len(before) and bare.startswith(before) and bare.endswith(after) and before not in inside:
                bare = inside.strip()
                break
        if bare == text:
            return text
        text = bare


def tokenise(text: str, known: Collection[str] = ()) -> list[Token]:
    r"""The tokens of a formula; ``known`` are names of more than one letter that plain text may hold.

    >>> [str(token) for token in tokenise(r"\frac{1}{2} m v_0^2")]
    ['frac', '{', '1', '}', '{', '2', '}', 'm', 'v_0', '^', '2']
    >>> [str(token) for token in tokenise("2pi*rate", {"rate"})]
    ['2', 'pi', '*', 'rate']

    Raises `Unreadable`.
    """
    if len(text) > LONGEST:
        raise Unreadable(f"it has {len(text):,} characters; a formula has at most {LONGEST:,}")
    if "x" not in known:
        text = _TIMES.sub(" * ", text)
    plain = in_plain_signs(in_our_notation(unwrap(without_label(unwrap(bare_formula(unwrap(text), known)[0])))))
    if len(plain) > 3 * LONGEST:
        raise Unreadable("it is too long")
    tokens: list[Token] = []
    for token in _Cutter(plain, known, latex="\\" in text).tokens():
        if tokens and token.kind == "name" and tokens[-1] in _PREFIXES:
            tokens[-1] = Token("name", f"{tokens[-1].text} {token.text}")
            continue
        tokens.append(token)
        if len(tokens) > MOST_TOKENS:
            raise Unreadable(f"it has more than {MOST_TOKENS} parts")
    return tokens


class _Cutter:
    def __init__(self, text: str, known: Collection[str], *, latex: bool) -> None:
        self.text = text
        self.known = set(known)
        self.short = {
            name.replace("_", ""): name
            for name in known
            if name.count("_") == 1 and (len(name) > 3 or not {name[0], name[-1]} & self.known)
        }
        """Names with subscripts as plain text has them: ``pKa``."""
        self.latex = latex
        self.at = 0
        self.depth = 0
        self.cases = "{cases}" in text or "cases}" in text

    def tokens(self) -> Iterator[Token]:
        while self.at < len(self.text):
            if found := _SKIP.match(self.text, self.at):
                self.at = found.end()
                continue
            yield from self.one()

    def one(self) -> Iterator[Token]:
        text, at = self.text, self.at
        letter = text[at]
        if found := _NUMBER.match(text, at):
            yield self.number(found)
        elif found := _DIFFERENTIAL.match(text, at):
            self.at = found.end()
            yield Token("name", f"d{_derived(found[2])}/d{_derived(found[3])}")
        elif letter == "\\":
            yield from self.command()
        elif letter in GREEK_LETTERS:
            self.at += 1
            yield self.letter(GREEK_LETTERS[letter])
        elif found := _RUN.match(text, at):
            yield from self.run(found[0])
        elif found := _OPERATORS.match(text, at):
            self.at = found.end()
            self.depth += (found[0] in "([{") - (found[0] in ")]}")
            mark = {"**": "^"}.get(found[0], found[0])
            yield Token("rel", RELATIONS[mark]) if mark in RELATIONS else Token(mark)
        elif letter in RELATIONS:
            self.at += 1
            yield Token("rel", RELATIONS[letter])
        else:
            raise Unreadable(f"it has the character {letter!r}, which no formula has")

    def number(self, found: re.Match[str]) -> Token:
        self.at = found.end()
        digits = found[0].replace("{,}", "").replace("\\,", "")
        whole = not self.depth and len(digits) <= 3 and digits.isdigit() and not digits.startswith("0")
        if whole and (more := _THOUSANDS.match(self.text, self.at)):
            self.at = more.end()
            digits += more[0].replace(",", "")
        if power := _POWER_OF_TEN.match(self.text, self.at):
            self.at = power.end()
            digits += f"e{power[1]}"
        return Token("num", digits)

    def command(self) -> Iterator[Token]:
        """What a command of LaTeX stands for."""
        text, at = self.text, self.at
        if found := _TEXT.match(text, at):
            self.at = found.end()
            yield from self.words(found[1])
            return
        if found := _ACCENT.match(text, at):
            self.at = found.end()
            base = (found[2] or found[3]).lstrip("\\")
            yield self.letter(f"{found[1].removeprefix('wide').replace('overline', 'bar')} {base}")
            return
        found = _COMMAND.match(text, at)
        if found is None:
            raise Unreadable("it ends with a backslash")
        self.at = found.end()
        name = found[1]
        if name == "\\":
            yield Token("\\\\")
        elif name in "{}":
            self.depth += 1 if name == "{" else -1
            yield Token("\\" + name)
        elif name == "%":
            yield Token("%")
        elif name in ("#", "&", "_"):
            raise Unreadable(f"it has {found[0]!r}, which no formula has")
        elif name == "|":
            yield Token("|")
        elif name in ("begin", "end"):
            kind = re.compile(r"\s*\{([a-zA-Z]+\*?)\}(?:\{[lcr| ]*\})?").match(text, self.at)
            if kind is None:
                raise Unreadable(f"\\{name} says nothing of what")
            self.at = kind.end()
            yield Token(name, kind[1])
        elif name in GREEK or name in LETTERS:
            yield self.letter(LETTERS.get(name, name))
        elif name == "times":
            yield Token("*", "\u00d7")
        elif name in COMMANDS:
            yield Token(COMMANDS[name])
        elif name in RELATIONS:
            yield Token("rel", RELATIONS[name])
        elif name in FUNCTIONS:
            yield Token("func", FUNCTIONS[name])
        elif name in CONSTANTS:
            yield Token("const", CONSTANTS[name])
        elif name not in IGNORED:
            raise Unreadable(f"the command \\{clip(name, 30)} is not understood")

    def words(self, content: str) -> Iterator[Token]:
        """What upright text stands for: a word between formulas, a function, or one name."""
        word = " ".join(content.split())
        if word in ("or", "and"):
            yield Token(word)
        elif self.cases and word.lower().rstrip(",") in _IF:
            return
        elif self.cases and word.lower().rstrip(".") in _TRUTHS:
            yield Token("else")
        elif word in self.known or re.fullmatch(r"[A-Za-z]", word):
            yield self.letter(word)
        elif word in FUNCTIONS:
            yield Token("func", FUNCTIONS[word])
        elif word in CONSTANTS:
            yield Token("const", CONSTANTS[word])
        elif re.fullmatch(r"[A-Za-z]+", word):
            yield self.letter(word)
        elif word:
            raise Unreadable(f'it has words: "{clip(word, 40)}"')

    def run(self, letters: str) -> Iterator[Token]:
        """A run of letters: a word that is known, or several names side by side."""
        whole = self.text[self.at : self.at + len(letters)]
        named = _SUBSCRIPT.match(self.text, self.at + len(whole))
        if whole in self.short:
            self.at += len(whole)
            yield self.finish(self.short[whole])
            return
        if whole in self.known or whole in GREEK or (named and self.full_name(whole, named)[0] in self.known):
            self.at += len(whole)
            yield self.letter(whole)
            return
        after = self.text[self.at + len(whole) : self.at + len(whole) + 40]
        if whole in CALLS and _CALLED.match(after) and _ARGUMENTS.get(whole, _CALLED).match(after):
            self.at += len(whole)
            yield Token("call", CALLS[whole])
            return
        if whole in _TRUTHS:
            self.at += len(whole)
            yield Token("else")
            return
        if self.cases and whole in _IF:
            self.at += len(whole)
            return
        if whole == "D" and (found := _SECOND_ORDER.match(self.text, self.at)):
            self.at = found.end()
            yield Token("name", f"d2{_derived(found[1])}/d{_derived(found[2])}2")
            return
        if whole.lower() in FUNCTIONS and whole[0].isupper() and _CALLED.match(after) and len(whole) > 2:
            self.at += len(whole)
            yield Token("func", FUNCTIONS[whole.lower()])
            return
        if whole in FUNCTIONS and (whole not in SHORT or re.match(r"\s*\(", self.text[self.at + len(whole) :])):
            self.at += len(whole)
            yield Token("func", FUNCTIONS[whole])
            return
        if whole in ("or", "and"):
            self.at += len(whole)
            yield Token(whole)
            return
        if whole in CONSTANTS and len(whole) > 1:
            self.at += len(whole)
            yield Token("const", CONSTANTS[whole])
            return
        if _CHOOSES.fullmatch(whole) and "C" not in self.known:
            self.at += len(whole)
            yield from (Token("binom"), Token("name", whole[0]), Token("name", whole[2]))
            return
        end = self.at + len(whole)
        while self.at < end:
            rest = self.text[self.at : end]
            inside = [name for name in (*self.known, *self.short, *_JOINED, "pi", "ln") if rest.startswith(name)]
            name = max(inside, key=len, default=rest[0])
            self.at += len(name)
            if name in self.short and name not in self.known:
                yield self.finish(self.short[name])
                continue
            yield Token("func", FUNCTIONS[name]) if name in FUNCTIONS and name not in self.known else self.letter(name)

    def letter(self, name: str) -> Token:
        """A name with what belongs to it: digits, a subscript, primes."""
        if self.text[self.at - 1 : self.at].isalpha() and len(name) == 1:
            digits = re.compile(r"\d+(?![\d.])").match(self.text, self.at)
            if digits:  # x1 is x_1
                self.at = digits.end()
                return self.finish(f"{name}_{digits[0]}")
        found = _SUBSCRIPT.match(self.text, self.at)
        if found:
            name, self.at = self.full_name(name, found)
        return self.finish(name)

    def finish(self, name: str) -> Token:
        primes = re.compile(r"'+").match(self.text, self.at)
        if primes:
            self.at = primes.end()
            name += primes[0]
        base, _, accent = name.partition("_")
        if accent in ("bar", "hat", "tilde") and name not in self.known:  # as programs name what has a sign above it
            return Token("name", f"{accent} {base}")
        if name in CONSTANTS and name not in self.known:
            return Token("const", CONSTANTS[name])
        applied = _APPLIED_LETTERS.get(name)
        if applied and name not in self.known and applied.match(self.text, self.at) and self.always_applied(name):
            return Token("func", name.lower())
        return Token("name", name)

    def always_applied(self, name: str) -> bool:
        """Whether a letter never stands without an argument, so that it is no name."""
        letters = [letter for letter, greek in GREEK_LETTERS.items() if greek == name]
        pattern = re.compile(rf"(?:{name}|{'|'.join(letters)})(?![A-Za-z])(?!\s*\()")
        return not pattern.search(self.text)

    def full_name(self, name: str, found: re.Match[str]) -> tuple[str, int]:
        """A name with its subscript, and where it ends: in ``v_0t`` and LaTeX's ``v_it`` before the ``t``."""
        braced, command, plain = found.groups()
        if plain is None:
            return f"{name}_{_flat(braced if braced is not None else command)}", found.end()
        start = found.start(3)
        for length in range(len(plain), 0, -1):
            if f"{name}_{plain[:length]}" in self.known:
                return f"{name}_{plain[:length]}", start + length
        digits = re.match(r"\d+", plain)
        length = digits.end() if digits else 1 if self.latex else len(plain)
        return f"{name}_{plain[:length]}", start + length


def _derived(written: str) -> str:
    """What is derived, or what by, as it is called here."""
    name = " ".join(re.findall(r"[A-Za-z]+|[\u0370-\u03ff]", written))
    return LETTERS.get(name, GREEK_LETTERS.get(name, name))


def _flat(subscript: str) -> str:
    r"""A subscript without what only sets type: ``\text{max}``, ``\mathrm{max}``, ``\max`` and ``max`` are one."""
    bare = re.sub(r"\\(?:text|mathrm|textrm|mathit|rm|mathbf|operatorname)\b", "", subscript)
    for letter, name in GREEK_LETTERS.items():
        bare = bare.replace(letter, name)
    bare = re.sub(r"[\\{}\s]", "", bare)
    if not re.fullmatch(r"[A-Za-z0-9,+\-*'/.=()]{1,40}", bare):
        raise Unreadable(f'the subscript "{clip(subscript, 40)}" is not understood')
    return LETTERS.get(bare, bare)
