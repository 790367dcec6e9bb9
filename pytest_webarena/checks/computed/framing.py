"""What stands around the number that an answer gives: all of it has to be understood, or the answer states no number.

The words of `harmless` are, and those of the question; before the number also what it is said of (``F_net =``), and
apart from the statement the reasons for it, in whatever words (``By symmetry, …``, ``… because …``).
"""

from __future__ import annotations

import re

from pytest_webarena.checks.computed.arithmetic import NoNumber
from pytest_webarena.checks.computed.harmless import (
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

__all__ = ["CURRENCIES", "named_before", "sentences", "understood_before", "understood_behind", "without_reasons"]

CURRENCIES = "$€£¥₹₩₽₺₫₱฿¢"

_SENTENCE = re.compile(r"(?<!\bi\.e)(?<!\be\.g)(?<!\bapprox)(?<!\bca)(?<!\b[A-Z])[.!?;…]+[\"'*_)]*\s+(?=\S)|\n+")
_INTRO = re.compile(
    r"\s*(?:(?:so|thus|hence|therefore|then|now)\b,?\s*)?(?:by|using|from|with|since|because|based\s+on|after|given"
    r"|in|at|for|on|considering|comparing|looking|applying|adding|solving|substituting|dividing|multiplying|taking"
    r"|combining|rounding"
    r"|according\s+to\s+(?:the\s+)?(?:formula|table|law|equation)|via)\b[^,:=≈]*,\s*",
    re.IGNORECASE,
)
_REASON = re.compile(
    r"(?:(?<=[\s,;.(])|^)(?:because|since|due\s+to|by|using|via|from|which\s+follows|given\s+that"
    r"|(?:this|it|that)\s+(?:follows|comes|is\s+because|is\s+due|can\s+be\s+(?:seen|checked|verified)|uses)"
    r"|(?:as\s+)?(?:obtained|found|calculated|computed|derived|given|seen|shown|required|expected)"
    r"\s+(?:by|from|using|via|with|in|above)"
    r"|where\s+[A-Za-zͰ-Ͽ]\w?\s+(?:is|denotes|=))(?![\w'])",
    re.IGNORECASE,
)
_DENYING = word_set(
    """
    not no nor never nobody none wrong false falsely incorrect mistaken mistake invalid untrue absurd impossible
    lie fails failed refuse but instead rather maybe perhaps possibly doubt unless if or else
    """
)
_SUBSCRIPT = re.compile(r"_\s*\(?[\w,]+\)?")
_ABOUT = re.compile(r"(?<!~)~\s*$")
_CALL = re.compile(r"(?<![^\W\d_])([A-Za-zͰ-Ͽ])\((?:[\w\s.,]*)\)")
_SYMBOL = re.compile(r"(?<![^\W_])(?:[dδ∂Δ∆]\s?)?[A-Za-zͰ-Ͽµ](?:'{1,2})?(?![\w'])")
_ASSIGNED = re.compile(
    r"(?<![^\s(\"'*|])([A-Za-zͰ-Ͽ∆][\w'*°^\u207a\u207b\u0304]*+)\s*+(?:\([^()]*\))?+[\"'*]*+\s*+(?=[=≈:])"
)
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
_UNIT_BEHIND = re.compile(r"\s*[\[(#]?\s*(?:measured\s+)?(?:in\s+(?:units\s+of\s+)?)?")
_LABELLED = re.compile(r"\s*[\"',}]*\s*\"?units?\"?\s*[:=]\s*\"?")
_IN_NAMED = re.compile(r"\b(?:in|on|for|of|at|from|by)\s+¤")
"""``in 2023-01-05``: names, once their digits are masked."""
_PLACED = re.compile(r"\b(?:above|over)\s+(?:the\s+)?(?:ground|surface|floor|horizontal)\b", re.IGNORECASE)
_DIRECTED = re.compile(r"\b(?:positive\s+)?[xyzXYZ][\s-](?:direction|axis)\b")
_SIGNS = re.compile(r"[^\w\s.,:;()\[\]{}\"'*`|=≈#…⇒∴→•✓✔✅+/-]|[/+](?=\s*[A-Za-z])|→\s*$")
_NOT_NOUNS = word_set(
    """
    along down downhill uphill parallel perpendicular such together
    in on at to of for is are was approximately about exactly roughly overall altogether total high tall long
    wide deep thick old far away up left right upward upwards downward downwards forward forwards backward
    backwards north south east west toward towards clockwise counterclockwise anticlockwise inward inwards
    outward outwards as which that this it so i.e with from by since because due using via correct answer final
    """
)
"""What may follow a number without being what it counts."""


_OF_SOMETHING = re.compile(r"\s*\bof\s+(?:(?:the|an?)\s+)?([^\W\d_]+)(?:\s+([^\W\d_]+))?\s*$")
_SAID_OF = re.compile(r"\b(?:of|at|in|on|for|from)\s+(?:(?:the|an?|this|its)\s+)?([^\W\d_]{2,})")
"""What a number may be said of, in any words that turn nothing: ``the speed at the bottom is``, ``5 g of salt``."""
_OPPOSITE = re.compile(r"(?:^|[\s(])-[A-Za-zͰ-Ͽ]\w*\s*[=≈:]")
_LONE_SIGN = re.compile(r"\(\s*[-+]\s*\)\s*$")


_APPLIED = word_set("ln log lg exp sqrt root cbrt")
_MADE_OF = word_set("square cube error uncertainty")
"""What another number is made of the one asked for: ``the square is``."""
_COMES_TO = re.compile(
    r"\b(?:increases?|decreases?|rises?|falls?|grows?|shrinks?|expands?|goes|drops?|changes?|slows?|heats?|cools?)\s+"
    rf"(?:(?:up|down)\s+)?to(?={_NEAR.pattern})",
    re.IGNORECASE,
)


def sentences(text: str) -> list[str]:
    """The sentences of a text, and its lines."""
    return [part for part in _SENTENCE.split(text) if part.strip()]


def without_reasons(text: str) -> str:
    """A sentence without the reasons that it begins or ends with. `NoNumber` if they deny or doubt something."""
    while (intro := _INTRO.match(text)) is not None and intro.end() < len(text):
        _no_denial(intro[0])
        text = text[intro.end() :]
    if (reason := _REASON.search(text)) is not None:
        _no_denial(text[reason.start() :])
        text = text[: reason.start()]
    return text


def _no_denial(reason: str) -> None:
    if words := [word for word in words_in(reason) if word in _DENYING or word.endswith("n't")]:
        raise _unread(words)


def _unread(words: list[str]) -> NoNumber:
    return NoNumber(f"it says more than it should, and this is not understood: {', '.join(dict.fromkeys(words[:4]))}")


def understood_before(text: str, asked: frozenset[str]) -> Unit | None:
    """The unit that the text before a number says it has: ``v in km/h =``. `NoNumber` for what is not understood."""
    *earlier, core = _SENTENCE.split(f"{text}\0")
    core = core.removesuffix("\0")
    while (intro := _INTRO.match(core)) is not None:
        _no_denial(intro[0])
        core = core[intro.end() :]
    if any(map(str.strip, earlier)) and not _LINK.search(core):
        core = f"{'. '.join(earlier)}. {core}"  # a bare number: what leads to it has to be understood
    core, unit = _unit_before(re.sub("[¤⟨⟩]", " ", core))
    core = _SUBSCRIPT.sub("", _ABOUT.sub(" ", core))
    core = _ASSIGNED.sub(lambda found: found[0] if found[1].lower() in HAZARDS | _BOUNDS else "= ", core)
    core = _CALL.sub(r"\1", core)
    _leads_to_number(core, asked)
    core = _COMES_TO.sub(" = ", core)
    linked = max((found.end() for found in _LINK.finditer(core)), default=0)
    if _LONE_SIGN.search(core) or _OPPOSITE.search(core):
        raise _unread(["-"])
    core = _SAID_OF.sub(lambda found: " " if found.end() < linked and _turns_nothing(found[1]) else found[0], core)
    subject, linked = max((found.span() for found in _LINK.finditer(core)), default=(0, 0))
    if not _makes_another(core[:subject], asked):
        core = " " * linked + core[linked:]
    left = _SYMBOL.sub(lambda found: " " if found.start() < linked or found[0] in "aAI" else found[0], core)
    _understood(left, asked)
    return unit


def named_before(text: str, asked: frozenset[str]) -> Unit | None:
    """The same for the left side of an equation: symbols and a single name may be any."""
    said = words_in(text)
    applied = [word for word in said if word in _APPLIED and not is_known(word, asked, frozenset())]
    if applied and len(applied) < len(said):
        raise _unread(applied)  # it is the logarithm of something that has this value
    words = [word for word in words_in(_SUBSCRIPT.sub("", text)) if len(word) > 1 and word not in MATHEMATICS]
    if len(words) > 1 or any(word in HAZARDS or word in _BOUNDS for word in words):
        return understood_before(f"{text} =", asked)
    return _unit_before(text)[1]


def _makes_another(subject: str, asked: frozenset[str]) -> bool:
    """Whether a subject, which may be called anything, is another number than the one asked for by a word that turns
    or doubles it: ``Twice the damping ratio``, not ``The damping ratio``."""
    words = words_in(subject.replace("standard deviation", ""))
    own = [word for word in words if not is_known(word, asked, frozenset())]
    return any(not _turns_nothing(word) or word in CHANGES | _APPLIED | _MADE_OF for word in own)


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
    if (last == "of" and not valued) or (last == "to" and previous not in _LEADS_TO and not _COMES_TO.search(core)):
        raise _unread([f"{previous} {last}".strip()])
    if last in ("for", "with", "from", "on", "into", "by", "than", "as") and previous not in ("given", "out", ""):
        raise _unread([last])


def understood_behind(text: str, asked: frozenset[str], *, measured: bool) -> tuple[Unit | None, str]:
    """The unit that the text behind a number says it has apart from it, and the word that stands where a unit would.

    `NoNumber` for what is not understood: but for that word, which is only strange where a unit is asked for.
    """
    unit = None
    if not measured:
        for opening in filter(None, (_LABELLED.match(text), _UNIT_BEHIND.match(text))):
            read = read_unit(text, opening.end())
            if read is not None and re.compile(r"\s*[\])\"'}]*\s*(?:$|[.,;=≈|])").match(text, read[1]):
                unit, text = read[0], text[read[1] :]
                break
    first, *others = _SENTENCE.split(text)
    core = _IN_NAMED.sub(" ", _DIRECTED.sub(" ", _PLACED.sub(" ", without_reasons(first))))
    if (said := _OF_SOMETHING.search(core)) and all(_turns_nothing(word) for word in said.groups() if word):
        core = core[: said.start()]
    strange = ""
    if not measured and unit is None and (beside := re.match(r"[\s-]*([^\W\d_][^\s,;:()\[\]]*)", core)) is not None:
        word = beside[1].rstrip(".")
        strange = "" if word.lower() in _NOT_NOUNS else word
        if strange and not is_known(word.lower(), asked):
            raise NoNumber(f"its unit is unknown: {clip(strange, 30)}")
    if re.match(r"\s*(?:a|an|the)\s", core):
        raise _unread([core.split()[0]])
    for part in (core, *map(without_reasons, others)):
        _understood(part, asked)
    return unit, strange


def _understood(text: str, asked: frozenset[str]) -> None:
    words = not_understood(text, asked)
    signs = [found[0] for found in _SIGNS.finditer(text.strip())]
    if words or signs:
        raise _unread(words + signs)
