"""Text for messages: on one line, shortened, and without characters that a terminal or CI host interprets."""

from __future__ import annotations

import re
import unicodedata

from pytest_webarena.secrets import scrub

__all__ = ["clip", "message_of", "plain_id", "printable", "shorten", "within"]

_LONGEST_ID = 40
_LONGEST_SECRET = 4000
"""Characters after a cut in which a secret that begins before it ends."""
_COLOURS = re.compile(r"\x1b\[[0-9;:]*m")
_UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]")
"""Control characters, direction overrides, line separators, and code points that UTF-8 can't encode."""
_COMMANDS = re.compile(r"(?<!\S)::|##(?=\w*\[)|\[\[(?=ATTACHMENT\|)")
"""Text that CI hosts take for commands: ``::`` after any space, because lines are wrapped there; ``##[``, ``##vso[``,
``##teamcity[`` anywhere in a line; ``[[ATTACHMENT|`` anywhere in JUnit reports, which names a file to publish."""
_LEADING_WORDS = (
    "a an and are as at be but by for from has have how if in into is it its my of on or that the their this to was "
    "were what when where which who whose will with your"
)
_LEADING = frozenset(_LEADING_WORDS.split())


def message_of(error: BaseException) -> str:
    """Returns the text of an error from third-party code, whose ``__str__`` may raise."""
    try:
        return str(error)
    except BaseException as other:
        return f"(its text can't be had: {type(other).__name__})"


def shorten(text: str, length: int = 200) -> str:
    """Returns ``text`` on one line, at most ``length`` characters.

    >>> shorten("one\\n  two   three", 9)
    'one two …'
    """
    return within(" ".join(text.split()), length)


def clip(text: str, width: int = 60) -> str:
    """Shorten text of any length like `shorten`, and replace characters that can't be printed.

    >>> clip("one\\x1b[2J two", 9)
    'one�[2J …'
    """
    beginning = scrub(text[: width * 8 + _LONGEST_SECRET])  # splits no megabytes of which little is shown
    flat = " ".join(beginning[: width * 8].split())
    if not flat.isprintable():
        flat = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in flat)
    return shorten(flat, width)


def printable(text: str) -> str:
    """Returns ``text`` for terminals, logs and reports, with its lines but without anything that they would interpret.

    Colours are removed, other control characters become a replacement character, and commands of CI hosts get a
    backslash.

    >>> printable("a\\x00b\\tc\\r\\n::stop-commands::x")
    'a�b\\tc\\n\\\\::stop-commands::x'
    >>> printable("tests/a.yaml::sum \\x1b[31mfailed\\x1b[0m")
    'tests/a.yaml::sum failed'
    """
    plain = _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", _COLOURS.sub("", text.replace("\r\n", "\n")))
    return _COMMANDS.sub(lambda found: "\\::" if found[0] == "::" else f"{found[0][0]}\\{found[0][1]}", plain)


def plain_id(text: str) -> str:
    """Returns the first words of ``text`` as an id: at most six words and, except for a longer first word, 40
    characters.

    A leading word such as "the" or "of" is never the last one of a shortened id. Empty if there is no ASCII letter or
    digit.

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
    """Returns ``text`` with its line breaks, at most ``length`` characters.

    >>> within("one\\ntwo", 7), within("one\\ntwo", 6)
    ('one\\ntwo', 'one\\nt…')
    """
    return text if len(text) <= length else scrub(text)[: length - 1] + "…"
