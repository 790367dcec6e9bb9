r"""The formula in sentences: ``The period is $T = 2\pi\sqrt{L/g}$ for small angles.`` says one, and it comes last.

Of several sentences the last that has a formula counts, of several formulas in it the last that something leads up to.
Where words speak against a formula, or leave a choice, nothing is taken out, and whoever reads on meets the words.
"""

from __future__ import annotations

import re

from pytest_webarena.checks.computed.clauses import changes, definitions_in, is_plain, with_definitions

__all__ = ["has_words", "statement"]

LONGEST = 6_000
"""Characters, of which the last count."""
_SPAN = re.compile(
    r"\$\$(.{1,1999}?)\$\$|\$([^$]{1,1999})\$|\\\((.{1,1999}?)\\\)|\\\[(.{1,1999}?)\\\]|`([^`]{1,1999})`", re.DOTALL
)
_COMMON = re.compile(
    r"(?<![A-Za-z\\_])(?:the|are|that|this|these|from|which|per|when|there|where|with|has|have|was|for|thus|hence|"
    r"therefore|using|equals|gives|obtain|because|since|directed|along|toward|towards|where|then|into|its|our|you|will|"
    r"number|value|answer|holds|ways)(?![A-Za-z_(])",
    re.IGNORECASE,
)
"""Words that no product of names is taken for."""
_DOUBT = re.compile(
    r"(?<![A-Za-z\\])(?:not|never|no|neither|nor|cannot|[a-z]{1,9}n['\u2019]t|wrong|incorrect|false|invalid|unless|maybe|perhaps|might|could|"
    r"would|should|guess|unsure|uncertain|either|or|instead|rather|but|however|if|except|assum\w+|suppose|"
    r"plus|minus|times|squared|cubed|over|divided|multiplied|root|reciprocal|inverse|negative|twice|half|double|"
    r"otherwise|fails?|differs?|unlike|than|less|more|at most|at least|naive\w*|tempting"
    r"|mistake\w*|error|doubt\w*|disagree\w*|opposite|contrary|hardly|barely|refut\w*|reject\w*|thrice|tripl\w+|doubl\w+|halv\w+"
    r"|subtract\w*|multipl\w+|proportional|(?:lower|upper)\s+bound|square\s+of\s+(?:this|that|it|which))(?![A-Za-z])|\?",
    re.IGNORECASE,
)
"""Words that change what is said, or leave it open."""
_LEADING = re.compile(
    r"(?:\b(?:is|are|be|as|so|thus|hence|therefore|gives?|giving|yields?|yielding|gets?|obtain(?:s|ed|ing)?|have|has|find|becomes?|equals?|"
    r"to|by|that|finally|conclude|satisfies|obeys|reads)|[:=])[\s,:]*(?:just|simply|exactly|then)?\s*$",
    re.IGNORECASE,
)
"""How words end that a formula concludes."""
_ASIDE = re.compile(
    r"(?:\b(?:where|with|for|when|in\s+which|because|since|using|here)|,\s*and)\s+(?:[A-Za-z'\u2019-]+\s+){0,4}$",
    re.IGNORECASE,
)
"""How words end that begin a remark."""
_REASON = re.compile(r"\b(?:because|since|using)\b", re.IGNORECASE)
_ARGUMENT = re.compile(r"\bof\s*$", re.IGNORECASE)
"""How words end that put something on a formula: ``the opposite of``."""
_CLAUSE = re.compile(r"[\s,;(]*\b(?:where|with|in\s+which|here|for|when)\b", re.IGNORECASE)
_OPENED = re.compile(r"[\s*_(,]*(?:where|with|here|in\s+which)\b", re.IGNORECASE)
_JOINED = re.compile(r"\s*(?:,|;|and|or|,\s*and|,\s*or)\s*", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[^\s.])[.!;](?=\s+\S)(?!\s*\.)|\n\s*")
_WORDS = re.compile(r"[A-Za-z\s,;:.()*_#'\u2019\u2014\u2013-]*")
_VERB = re.compile(
    r"\b(?:(?:holds|true|valid|satisfied)\s+(?:for|when|if)|is|are|equals?|gives?|yields?|get|gets|obtain|obtains|find|becomes?|be|to|by|therefore|so|thus|hence|have|conclude\s+that|that)"
    r"\b[:,]?\s+(?=\S)|:\s+",
    re.IGNORECASE,
)
_TAIL = re.compile(
    r"(?:\s*[,;]\s*|\s+|\s*(?=\())(?:\(\s*)?(?:per|along|towards?|downwards?|upwards?|inwards?|outwards?|radially|directed|pointing|"
    r"in\s+the|into\s+the|to\s+the|down\s+the|up\s+the|out\s+of|away\s+from|as|by|from|where|which|for|using|because|since|on|at|after|"
    r"measured|square|cubic|units?|ways|elements|respectively|exactly|only|with)\b[A-Za-z\s,'\u2019-]*\)?\s*$",
    re.IGNORECASE,
)
_APPOSED = re.compile(r",\s+(?:the|an?)\s+[A-Za-z][A-Za-z\s'\u2019-]{2,60}$")
_BRACKETED = re.compile(r"\s*\(\s*[A-Za-z][A-Za-z'\u2019\u2013-]*[A-Za-z](?:[\s,]+[A-Za-z'\u2019\u2013-]+)*\s*\)\s*$")
_FORMULA = re.compile(r"[0-9=^\\{}+/*\u221a\u03c0]")


def has_words(text: str) -> bool:
    """Whether there are words in it that no formula has.

    >>> has_words("the sum of a and b"), has_words("ax + by = c")
    (True, False)
    """
    return bool(_COMMON.search(text))


def statement(text: str) -> str | None:
    r"""The formula that sentences come to, or None.

    >>> statement("The escape velocity is $v = \\sqrt{2GM/R}$.")
    'v = \\sqrt{2GM/R}'
    >>> statement("From $F = ma$ and $F = kx$ we get $a = kx/m$, where $k$ is the stiffness.")
    'a = kx/m'
    >>> statement("The result x^2 is wrong.")
    """
    text = text[-LONGEST:]
    sentences = _sentences(text)
    behind: tuple[str, ...] = ()
    for number in range(len(sentences) - 1, -1, -1):
        said = sentences[number]
        if _SPAN.search(said):
            if number and _OPENED.match(said):  # it says what a name means
                meant = definitions_in(said)
                if meant is None and _defines(said):
                    return None
                behind = (*(meant or ()), *behind)
                continue
            formula = _displayed(said, sentences[number - 1] if number else "")
            return None if formula is None else _with_more(formula, behind)
        if _DOUBT.search(said):
            return None
        if not _WORDS.fullmatch(said):
            return _plain(said)
    return None


def _sentences(text: str) -> list[str]:
    """Sentences and lines, formulas left whole."""
    spans = [found.span() for found in _SPAN.finditer(text)]
    found, start = [], 0
    for end in _SENTENCE.finditer(text):
        if any(low < end.start() < high - 1 for low, high in spans):
            continue
        found.append(text[start : end.start()])
        start = end.end()
    return [each for each in (*found, text[start:]) if each.strip()]


def _with_more(formula: str, definitions: tuple[str, ...]) -> str:
    if definitions and "\\where" in formula:
        return f"{formula}, {', '.join(definitions)}"
    return with_definitions(formula, definitions)


def _defines(said: str) -> bool:
    """Whether a formula in it may say what a name is."""
    return any("=" in found[0] for found in _SPAN.finditer(said))


def _displayed(said: str, before: str) -> str | None:
    """Of formulas between signs of mathematics the last that words lead up to."""
    said, definitions = _without_clause(said)
    groups: list[tuple[str, str]] = []  # words before, formulas
    at = 0
    for found in _SPAN.finditer(said):
        between = said[at : found.start()]
        at = found.end()
        if groups and _JOINED.fullmatch(between):
            groups[-1] = groups[-1][0], f"{groups[-1][1]} {between} {_inside(found)}"
        else:
            groups.append((between, _inside(found)))
    rest = said[at:]
    while len(groups) > 1 and _ASIDE.search(groups[-1][0]) and not _LEADING.search(groups[-1][0]):
        described = groups.pop()
        rest = described[0] + rest
        if not _REASON.search(described[0]) and not is_plain(described[1]):
            return None  # what it says of a name is not understood
    lead, formula = groups[-1]
    if not lead.strip(" *_#-"):
        lead = before if len(groups) == 1 and not _SPAN.search(before) else lead
    if _DOUBT.search(lead) or _DOUBT.search(rest) or not _WORDS.fullmatch(rest):
        return None
    if len(groups) > 1 and not _LEADING.search(lead):
        return None
    if _ARGUMENT.search(lead) or changes(rest):
        return None
    return with_definitions(formula, definitions) if _WORDS.fullmatch(lead) or _LEADING.search(lead) else None


def _without_clause(said: str) -> tuple[str, tuple[str, ...]]:
    """A sentence without the clause that ends it, and what that defines."""
    spans = [found.span() for found in _SPAN.finditer(said)]
    for opened in _CLAUSE.finditer(said):
        if not spans or opened.start() < spans[0][1] or any(low < opened.start() < high for low, high in spans):
            continue
        clause = re.sub(r"\\\(|\\\)|\\\[|\\\]|\$\$|`", "$", said[opened.start() :])
        if (found := definitions_in(clause)) is not None:
            return said[: opened.start()], found
    return said, ()


def _inside(span: re.Match[str]) -> str:
    return next(each for each in span.groups() if each is not None).strip()


def _plain(said: str) -> str | None:
    """What follows the last verb, without the words behind it."""
    for verb in reversed(list(_VERB.finditer(said))):
        formula = said[verb.end() :]
        formula = without_tail(formula)
        if _FORMULA.search(formula) or re.fullmatch(r"\s*[A-Za-z]\s*", formula):
            return None if has_words(formula) else formula.strip()
    formula = without_tail(said)
    return formula if formula != said and not has_words(formula) else None


def without_tail(text: str) -> str:
    """A formula without the words behind it, if these change nothing.

    >>> without_tail("k T/2 per degree of freedom"), without_tail("m g (down the incline)"), without_tail("x if so")
    ('k T/2', 'm g', 'x if so')
    """
    while True:
        found = _BRACKETED.search(text) or _APPOSED.search(text) or _TAIL.search(text)
        if found is None or not found.start() or not _speaks(found[0]):
            return text
        if _DOUBT.search(found[0]) or changes(found[0]):
            return text
        text = text[: found.start()]
        if text.count("$") % 2:
            text += "$"


def _speaks(tail: str) -> bool:
    """Whether it is words, and no names side by side."""
    words = re.findall(r"[A-Za-z]+(?:['\u2019][a-z]{1,2}\b)?", tail)
    return all(len(word) > 1 or word in ("a", "A", "I") for word in words) and max(map(len, words), default=0) > 2
