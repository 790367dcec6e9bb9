"""What stands around the number that an answer gives: all of it has to be understood, or the answer states no number.

The words of `harmless` are, and those of the question; before the number also what it is said of (``F_net =``).
"""

from __future__ import annotations

import re

from pytest_webarena.checks.computed.arithmetic import NoNumber
from pytest_webarena.checks.computed.harmless import (
    ASKING,
    CHANGES,
    HAZARDS,
    MATHEMATICS,
    QUANTITIES,
    is_known,
    not_understood,
    word_set,
    words_in,
)
from pytest_webarena.checks.computed.spelled import spelled_numbers
from pytest_webarena.checks.computed.units import Unit, read_unit
from pytest_webarena.text import clip

__all__ = ["CURRENCIES", "named_before", "sentences", "understood_before", "understood_behind"]

CURRENCIES = "$€£¥₹₩₽₺₫₱฿¢"

_SENTENCE = re.compile(r"(?<!\bi\.e)(?<!\be\.g)(?<!\bapprox)(?<!\bca)(?<!\b[A-Z])[.!?;…]+[\"'*_)]*\s+(?=\S)|\n+")
_LINK = re.compile(
    r"\b(?:is|are|was|be|equals?|gives?|get|gets|got|obtain(?:s|ed)?|find|found|yields?|has|have|that's|it's"
    r"|(?:sums?|evaluates?|amounts?|converges?)\s+to|(?:comes?|works?)(?:\s+out)?(?:\s+(?:as|to|at))?"
    r"|(?:a|an|the)\s+(?:area|length|volume|mass|speed|value|energy|total)\s+of)\b"
    r"|[=≈:|]",
    re.IGNORECASE,
)
_NEAR = re.compile(
    r"\s*(?:(?:an?|the|about|approximately|approx\.?|roughly|around|circa|ca\.?|exactly|precisely|just|only|simply)\s+)*"
    rf"[\s(\[\"'*_~≈{CURRENCIES}-]*$",
    re.IGNORECASE,
)
"""Between the word that leads to the number, and the number."""
_LEADS_TO = word_set(
    """
    equal equals amounts amount comes come rounds round rounded up sum sums leads lead evaluates simplifies
    reduces out
    """
)
_BOUNDS = word_set("minimum maximum least most lowest highest best worst min max")
_UNIT_BEFORE = re.compile(r"(?:\bin(?:\s+units\s+of)?\s+|\s?[\[(]\s*(?:in\s+)?|\s*/\s*)(?=[A-Za-z°µΩÅ(1])")
_SIGNS = re.compile(r"[^\w\s~.,:;()\[\]{}\"'*`|=≈#…⇒∴→•✓✔✅+/-]|[/+](?=\s*[A-Za-z])|→\s*$")
_APPLIED = word_set("ln log lg exp sqrt root cbrt")
_MADE_OF = word_set("square cube error uncertainty")
"""What another number is made of the one asked for: ``the square is``."""


def sentences(text: str) -> list[str]:
    """The sentences of a text, and its lines."""
    return [part for part in _SENTENCE.split(text) if part.strip()]


def _unread(words: list[str]) -> NoNumber:
    return NoNumber(f"it says more than it should, and this is not understood: {', '.join(dict.fromkeys(words[:4]))}")


def understood_before(text: str, asked: frozenset[str]) -> Unit | None:
    """The unit that the text before a number says it has: ``v in km/h =``. `NoNumber` for what is not understood."""
    *earlier, core = _SENTENCE.split(f"{text}\0")
    core = core.removesuffix("\0")
    if any(map(str.strip, earlier)) and not _LINK.search(core):
        core = f"{'. '.join(earlier)}. {core}"  # a bare number: what leads to it has to be understood
    core, unit = _unit_before(re.sub("[¤⟨⟩]", " ", core))
    _leads_to_number(core, asked)
    subject, linked = max((found.span() for found in _LINK.finditer(core)), default=(0, 0))
    if not _makes_another(core[:subject], asked):
        core = " " * linked + core[linked:]
    _understood(core, asked)
    return unit


def named_before(text: str, asked: frozenset[str]) -> Unit | None:
    """The same for the left side of an equation: symbols and a single name may be any."""
    said = words_in(text)
    applied = [word for word in said if word in _APPLIED and not is_known(word, asked, frozenset())]
    if applied and len(applied) < len(said):
        raise _unread(applied)  # it is the logarithm of something that has this value
    words = [word for word in words_in(text) if len(word) > 1 and word not in MATHEMATICS]
    if len(words) > 1 or any(word in HAZARDS or word in _BOUNDS for word in words):
        return understood_before(f"{text} =", asked)
    return _unit_before(text)[1]


def _makes_another(subject: str, asked: frozenset[str]) -> bool:
    """Whether a subject, which may be called anything, is another number than the one asked for by a word that turns
    or doubles it: ``Twice the damping ratio``, not ``The damping ratio``."""
    words = words_in(subject.replace("standard deviation", ""))
    own = [word for word in words if not is_known(word, asked, frozenset())]
    clause = {word for word in words_in(subject.rpartition(",")[2]) if len(word) > 1} if asked - ASKING else set()
    return any(
        not _turns_nothing(word)
        or word in CHANGES | _APPLIED | _MADE_OF
        or (word in clause and not is_known(word, asked))
        for word in own
    )


def _turns_nothing(word: str) -> bool:
    return (
        HAZARDS.isdisjoint(word.lower().split("-"))
        and word.lower() not in _BOUNDS
        and next(spelled_numbers(word), None) is None
    )


def _unit_before(core: str) -> tuple[str, Unit | None]:
    for found in _UNIT_BEFORE.finditer(core):
        called = core[found.start()] == "(" and found.start() > 0
        read = read_unit(core, found.end())
        if read is None or (called and read[1] == found.end() + 1):
            continue  # x(t)
        closing = re.compile(r"\s*[\])]*[\"'*]*\s*(?:$|(?=[=≈:,|])|(?=(?:is|was|equals|are)\b))").match(core, read[1])
        if closing is not None:
            return f"{core[: found.start()]} {core[closing.end() :]}", read[0]
    return core, None


def _leads_to_number(core: str, asked: frozenset[str]) -> None:
    near = _NEAR.search(core)
    words = words_in(core[: near.start()] if near is not None else core)
    if not words or (near is not None and _LINK.search(core[near.start() :])):
        return
    if re.search(r"[=≈:|,.]\s*$", core[: near.start()] if near is not None else core):
        return
    last, previous = words[-1], words[-2] if len(words) > 1 else ""
    if last in _BOUNDS:
        raise _unread([last])
    valued = previous in QUANTITIES or (previous in CHANGES and is_known(previous, asked, frozenset()))
    if (last == "of" and not valued) or (last == "to" and previous not in _LEADS_TO):
        raise _unread([f"{previous} {last}".strip()])
    if last in ("for", "with", "from", "on", "into", "by", "than", "as") and previous not in ("given", "out", ""):
        raise _unread([last])


def understood_behind(text: str, asked: frozenset[str], *, measured: bool) -> str:
    """The word that stands behind a number where a unit would. `NoNumber` for what is not understood."""
    strange = ""
    if not measured and (next_word := re.match(r"[\s-]*([^\W\d_][^\s,;:()\[\]]*)", text)) is not None:
        strange = next_word[1].rstrip(".")
        if not is_known(strange.lower(), asked):
            raise NoNumber(f"its unit is unknown: {clip(strange, 30)}")
    if re.match(r"\s*(?:a|an|the)\s", text):
        raise _unread([text.split()[0]])
    _understood(text, asked)
    return strange


def _understood(text: str, asked: frozenset[str]) -> None:
    words = not_understood(text, asked)
    signs = [found[0] for found in _SIGNS.finditer(text.strip())]
    if words or signs:
        raise _unread(words + signs)
