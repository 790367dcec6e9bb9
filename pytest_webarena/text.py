"""Text as messages show it: on one line, and short enough to be read."""

from __future__ import annotations

import re
import unicodedata

__all__ = ["UNSURE", "clip", "message_of", "plain_id", "printable", "shorten", "within"]

UNSURE = "unsure: "
"""How the reason of a check begins that is not met because nobody can vouch for what was read in the answer."""
_LONGEST_ID = 40
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Control characters, overrides of the direction of text, separators of lines, and what no UTF-8 has."""
_COMMANDS = re.compile(r"(?<!\S)::|##(?=\w*\[)")
"""How lines begin that hosts of CI jobs take for commands: ``::`` after any space, since lines are wrapped there;
``##[``, ``##vso[``, ``##teamcity[`` anywhere in a line."""
_LEADING_WORDS = (
    "a an and are as at be but by for from has have how if in into is it its my of on or that the their this to was "
    "were what when where which who whose will with your"
)
_LEADING = frozenset(_LEADING_WORDS.split())


def message_of(error: BaseException) -> str:
    """The text of an error of foreign code, whose ``__str__`` may raise as well."""
    try:
        return str(error)
    except BaseException as other:
        return f"(its text can't be had: {type(other).__name__})"


def shorten(text: str, length: int = 200) -> str:
    """``text`` on one line, at most ``length`` characters.

    >>> shorten("one\\n  two   three", 9)
    'one two …'
    """
    return within(" ".join(text.split()), length)


def clip(text: str, width: int = 60) -> str:
    """The same for text that may be anything: however long, and with what can't be printed.

    >>> clip("one\\x1b[2J two", 9)
    'one�[2J …'
    """
    flat = " ".join(text[: width * 8].split())  # of megabytes, no more than could ever be shown
    if not flat.isprintable():
        flat = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in flat)
    return shorten(flat, width)


def printable(text: str) -> str:
    """``text`` that anybody may have written, for terminals, logs and reports: its lines, and nothing that acts there.

    Colours are left out, other control characters become a sign, and commands of CI hosts get a backslash.

    >>> printable("a\\x00b\\tc\\r\\n::stop-commands::x")
    'a�b\\tc\\n\\\\::stop-commands::x'
    >>> printable("tests/a.yaml::sum \\x1b[31mfailed\\x1b[0m")
    'tests/a.yaml::sum failed'
    """
    plain = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", _COLOURS.sub("", text.replace("\r\n", "\n")))
    return _COMMANDS.sub(lambda found: "\\::" if found[0] == "::" else "#\\#", plain)


def plain_id(text: str) -> str:
    """The first words of ``text`` as an id: at most six of them and, but for a longer first one, 40 characters; none
    that only leads to the next one is its last. Empty where there is no letter or digit of ASCII.

    >>> plain_id('Who wrote "Ann\u2019s caf\u00e9" in the list of books?'), plain_id("Where to?")
    ('who-wrote-anns-cafe', 'where-to')
    """
    letters = unicodedata.normalize("NFKD", re.sub("['\u2019]", "", text)).encode("ascii", "ignore").decode()
    words = re.findall(r"[a-z0-9]+", letters.lower())
    kept = words[:6]
    while len(kept) > 1 and len("-".join(kept)) > _LONGEST_ID:
        kept.pop()
    while 1 < len(kept) < len(words) and kept[-1] in _LEADING:
        kept.pop()
    return "-".join(kept)[:_LONGEST_ID]


def within(text: str, length: int) -> str:
    """``text`` as it is, line breaks included, at most ``length`` characters.

    >>> within("one\\ntwo", 7), within("one\\ntwo", 6)
    ('one\\ntwo', 'one\\nt…')
    """
    return text if len(text) <= length else text[: length - 1] + "…"
