"""Which derivative a task asks for: of what, by what and how often. That it speaks of one is not enough."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Derivative", "asked_function", "asks_for", "derivative_named", "question_heads"]

_VERB = re.compile(
    r"\b(?:find|what(?:'s|\s+is|\s+are|\s+will\s+be|\s+would\s+be)?|which|determine|calculate|compute|give|derive|obtain|evaluate"
    r"|express|state|write(?:\s+down)?|work\s+out|take|solve\s+for|how\s+fast|how\s+quickly|at\s+(?:what|which)\s+\w*\s*rate"
    r"|differentiate)\b",
    re.IGNORECASE,
)
"""How a question begins, or an order."""
_END = re.compile(
    r"[;?!\n]|\.(?=\s|$)|\b(?:if|when|where|given|such\s+that|for\s+which|whose|knowing|using|from)\b|\bwith\b(?!\s+respect)",
    re.IGNORECASE,
)
_OF = re.compile(r"\b(?:of|on|in|at|for|as|by|to|after|along|with)\b", re.IGNORECASE)
_MORE_OF = re.compile(
    r"\b(?:an?\s+|the\s+)?(?:expression|formula|equation|value|magnitude|size|[xyz]-?\s*component)s?\s+(?:for|of)\b",
    re.IGNORECASE,
)
"""What comes before the thing that is asked for."""
_DERIVATIVE = re.compile(r"\b(?:derivative|differentiat|slope|gradient|marginal)", re.IGNORECASE)
_RATE = re.compile(r"\brates?\b|\bhow\s+(?:fast|quickly)\b", re.IGNORECASE)
_MOTION = re.compile(r"\b(?:velocit(?:y|ies)|speeds?)\b", re.IGNORECASE)
_ACCELERATION = re.compile(r"\baccelerations?\b", re.IGNORECASE)
_ORDERS = ((3, re.compile(r"\bthird\b", re.IGNORECASE)), (2, re.compile(r"\bsecond\b|\btwice\b", re.IGNORECASE)))
_BY = re.compile(
    r"\b(?:(?:with\s+respect\s+to|by|per(?:\s+unit)?)\s+(?:(?:the|its)\s+)?(?:[a-z]{3,}\s+)?)[$\\({]*([a-z]+)\b(?!-)",
    re.IGNORECASE,
)
_FUNCTION = re.compile(r"(?<![\w\\/])\\?([A-Za-z]|[a-z]{4,7})(?:\s*\(\s*\\?([A-Za-z]+)\s*\))?\s*=")
_SUBJECT = re.compile(r"(?:[a-z]+\s+)*?[$({]*(?!a\s+[a-z]{2})(\\[a-z]+|[A-Za-z])(?![\w'])(?!\s*[\^+\-*/(])")
_NAMED = re.compile(
    r"d(?P<n>[23]?)(?P<f>[^/]+)/d(?P<v>.+?)[23]?|(?P<dots>d{0,2}dot) (?P<g>.+)|nabla (?P<h>.+)"
    r"|(?P<p>[^']+)(?P<primes>'+)"
)
_WRITTEN = re.compile(
    r"(?:\\d?frac\s*\{\s*)?(?<![A-Za-z])(?:d|\\partial)\s*(?:\^?\{?(?P<n>[23])\}?)?\s*\\?(?P<f>[A-Za-z]+)\s*\}?\s*[/{]\s*\{?\s*(?:d|\\partial)\s*\\?(?P<v>[A-Za-z]+)"
    r"|\\(?P<dots>d{1,2})ot\s*\{?\s*\\?(?P<g>[A-Za-z]+)|(?<![A-Za-z])\\?(?P<p>[A-Za-z])(?P<primes>'{1,3}|\u2032{1,3})(?!\w)(?!\(-?\d)"
)
_POSITIONS = frozenset({*"xyzsrdhqluXYZRS", "theta", "phi", "varphi", "alpha"})
"""Names of places, angles and ways, of which the derivative by time is a velocity."""
_VELOCITIES = frozenset({*"vwuV", "omega"})
_USUAL = frozenset("fghyuwzsFGHYpqPQ")
"""Names for a function that has none in the task."""
_TIME = frozenset({"t", "", "tau"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Derivative:
    """``d^order function / d variable^order``; the variable is empty where the notation doesn't say it."""

    function: str
    variable: str
    order: int


@dataclass(frozen=True, slots=True, kw_only=True)
class _Question:
    """One question of a task: what it asks for, and of what."""

    head: str
    """The words before the first preposition, with the verb."""
    rest: str


def derivative_named(name: str) -> Derivative | None:
    """The derivative that the name of a tree stands for.

    >>> derivative_named("d2x/dt2")
    Derivative(function='x', variable='t', order=2)
    """
    found = _NAMED.fullmatch(name)
    if found is None:
        return None
    if found["f"]:
        return Derivative(function=found["f"], variable=found["v"], order=int(found["n"] or 1))
    if found["dots"]:
        return Derivative(function=found["g"], variable="t", order=2 if found["dots"] == "ddot" else 1)
    if found["h"]:
        return Derivative(function=found["h"], variable="", order=1)
    return Derivative(function=found["p"], variable="", order=len(found["primes"]))


def asks_for(derivative: Derivative, intent: str, others: frozenset[str]) -> bool:
    """Whether a task asks for just this derivative; ``others`` are the names in what it is said to be.

    >>> slope = Derivative(function="y", variable="x", order=1)
    >>> asks_for(slope, "What is the slope of y = x^2?", frozenset("x"))
    True
    >>> asks_for(slope, "A line has the slope m. What is y?", frozenset("x"))
    False
    """
    if derivative.function == derivative.variable:
        return False
    return any(_is_asked(derivative, each, intent, others) for each in _questions(intent))


def asked_function(intent: str) -> frozenset[str]:
    """The functions that a task names and whose derivative it asks for: their names are none of the derivative."""
    found: set[str] = set()
    for question in _questions(intent):
        asks = _DERIVATIVE.search(question.head) or _RATE.search(question.head)
        if (
            asks
            and (_FUNCTION.search(question.rest) or _BY.search(question.rest))
            and (name := _subject(question.rest))
        ):
            found.add(name)
    return frozenset(found)


def question_heads(intent: str) -> list[str]:
    """What each question of a task asks for, before it says of what: ``What is the period`` of a pendulum."""
    return [question.head for question in _questions(intent)]


def _questions(intent: str) -> Iterator[_Question]:
    for verb in _VERB.finditer(intent):
        end = _END.search(intent, verb.end())
        whole = _MORE_OF.sub(" ", intent[verb.start() : end.start() if end else len(intent)])
        start = len(verb[0]) if whole.startswith(verb[0]) else 0
        preposition = _OF.search(whole, start)
        if re.match(r"how|at|differentiate", verb[0], re.IGNORECASE):
            yield _Question(head=whole[:start], rest=whole[start:])
        elif preposition:
            yield _Question(head=whole[: preposition.start()], rest=whole[preposition.start() :])
        else:
            yield _Question(head=whole, rest="")


def _is_asked(given: Derivative, question: _Question, intent: str, others: frozenset[str]) -> bool:
    head = question.head
    if any(_matches(given, written) for written in _WRITTEN.finditer(head)):
        return True
    if _ACCELERATION.search(head):
        places = given.order == 2 and given.function in _POSITIONS
        return given.variable in _TIME and (places or (given.order == 1 and given.function in _VELOCITIES))
    if _MOTION.search(head):
        return given.variable in _TIME and given.order == 1 and given.function in _POSITIONS
    if not (_DERIVATIVE.search(head) or _RATE.search(head)):
        return False
    if given.order != next((order for order, word in _ORDERS if word.search(head)), 1):
        return False
    return _is_by(given, question, intent, others) and _is_of(given, question, intent)


def _matches(given: Derivative, written: re.Match[str]) -> bool:
    """Whether a task writes the derivative itself, in this notation or another one."""
    function = written["f"] or written["g"] or written["p"]
    variable = written["v"] or ("t" if written["g"] else "")
    order = int(written["n"] or 1) if written["f"] else len(written["dots"] or written["primes"])
    same = variable == given.variable or not (variable and given.variable)
    return same and (function, order) == (given.function, given.order)


def _is_by(given: Derivative, question: _Question, intent: str, others: frozenset[str]) -> bool:
    if not given.variable:
        return True
    if named := _BY.search(question.rest):
        asked = "t" if named[1].lower() == "time" else named[1]
        return given.variable == asked
    if _RATE.search(question.head):
        return given.variable == "t"
    arguments = {argument for _, argument in _FUNCTION.findall(intent) if argument}
    if arguments:
        return given.variable in arguments
    return given.variable in others or bool(re.search(rf"(?<![A-Za-z]){re.escape(given.variable)}(?![A-Za-z])", intent))


def _is_of(given: Derivative, question: _Question, intent: str) -> bool:
    if name := _subject(question.rest):
        return given.function == name
    if re.search(r"\bmarginal\b", question.head, re.IGNORECASE):
        return True
    named = {function for function, _ in _FUNCTION.findall(intent)}
    if named and not re.search(r"[a-z0-9)}]", _OF.sub("", question.rest.replace("the function", ""))):
        return given.function in named
    return given.function in (_USUAL | named)


def _subject(rest: str) -> str:
    """The function by its name, in ``of y = x^2``, ``of the volume V`` and ``f by x``."""
    rest = re.sub(r"^\s*(?:of|for|on|in)\b", "", rest, flags=re.IGNORECASE)
    within = re.split(r"\b(?:with\s+respect|by|at|per|as|to)\b", rest, maxsplit=1)[0]
    if function := _FUNCTION.search(within):
        return function[1]
    found = _SUBJECT.match(within.strip())
    return found[1].lstrip("\\") if found else ""
