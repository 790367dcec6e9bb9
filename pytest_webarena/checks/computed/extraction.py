r"""The final answer in what an agent said: behind a marker, in a box, or all of it; without what is wrapped around it.

>>> final_answers("so 3 + 4\nANSWER: $\\boxed{7}$.", marker=True).texts
('7',)
>>> final_answers("It is 7.", marker=True).missing[:15]
'no final answer'
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from pytest_webarena.text import clip

__all__ = ["MARKER", "NO_FINAL_ANSWER", "Said", "boxed", "final_answers", "unwrap"]

MARKER = "ANSWER:"
"""What the line with the final answer begins with, where a prompt asks for one."""
NO_FINAL_ANSWER = "no final answer"
"""How the reason begins when it is missing: an answer in the wrong form, which is not the same as a wrong one."""

_LINE = re.compile(
    r"^[ \t>#*_`-]*(?:final[ \t]+)?answer[ \t]*[*_`]*[ \t]*[:=\uff1a][ \t]*[*_]*[ \t]*(.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_OPENING = {"\\[": "\\]", "$$": "$$"}
"""Displayed formulas: they may stand on lines of their own."""
_WRAPPERS = (
    ("**", "**"), ("__", "__"), ("```", "```"), ("`", "`"), ("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"),
)  # fmt: skip
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{|[{}]")
_QUOTED = re.compile(r"^[ \t]{0,3}>.*$", re.MULTILINE)
_FENCED = re.compile(
    r"^[ \t]*(?:>[ \t]*)*(?P<fence>`{3,}+|~{3,}+)[^`\n]*\n(?P<inside>.*?)(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)",
    re.MULTILINE | re.DOTALL,
)
_INDENTED = re.compile(r"^(?: {4}| {0,3}\t)[ \t>#*_`-]*(?:final[ \t]+)?answer\b.*$", re.IGNORECASE | re.MULTILINE)
"""A marker in what Markdown takes for code."""
_STRUCK = re.compile(
    r"(?<![\w~}$)\\])~~(?=[^ \t~])(?:[^~\n]|\n(?![ \t]*\n)|(?<!~)~(?!~))*?(?<=[^ \t])~~(?!~)"
    r"|<(?P<tag>del|s|strike)(?:\s[^<>]*)?>(?:(?!</?(?P=tag)\b).)*</(?P=tag)\s*>|<!--(?:(?!<!--).)*?-->",
    re.IGNORECASE | re.DOTALL,
)
"""What its writer has taken back, or hides in a comment."""
_TAKES_BACK = re.compile(
    r"(?:(?:\A|[.!?;:]|\n(?!\n))[\s>*_#(\u2014-]{0,12}(?:wait|actually|correction|corrected|sorry|oops|whoops|hmm+|nope|no(?=[,.;:!\u2014-])"
    r"|(?:scratch|strike|ignore|forget|disregard)\s+(?:that|this|it|the\s+above)|on\s+second\s+thoughts?|edit(?=:)|update(?=:)|my\s+mistake"
    r"|let\s+me\s+(?:re|correct|fix|double)\S*|I(?:'d|\s+(?:would|now|mean|meant|retract|withdraw|misread|miscalculated|made\s+an?\b"
    r"|was\s+wrong|should\s+have|take\s+(?:that|it|this)\s+back|change))"
    r"|(?:that|this|it|the\s+above|the\s+answer\s+above|my\s+(?:\w+\s+)?answer)(?:\s+(?:is|was|can(?:no|')t\s+be)|'s)\s+"
    r"(?:(?:not|never)\s+(?:right|correct|true|mine)|wrong|incorrect|false|untrue|mistaken|an?\s+(?:mistake|error|typo|joke|lie|example|guess))"
    r"))|\A[\s>*_`~#(\u2014-]{0,40}(?:but|however|yet|or|rather|instead|unless)",
    re.IGNORECASE,
)
"""How a sentence begins that takes back what was said, and how one does that goes against the line above it."""
_DISOWNS = re.compile(
    r"(?:\A|\n)[\s>*_`~#(\u2014-]{0,40}(?:(?:"
    r"(?:(?:this|that)\s+is\s+)?(?:not|never)\s+(?:this|that|the\s+following|(?:the|my)\s+answer|mine|correct|right|true)"
    r"|(?:(?:this|that)\s+is\s+)?(?:an?\s+|the\s+)?(?:wrong|incorrect|false|untrue|rejected|discarded)"
    r"(?:\s+(?:answer|result|option|one|value|solution))?"
    r")[\s*_]*:[\s*_]*"
    r"|(?:the\s+(?:line\s+below|following)|what\s+follows)(?:\s+is|'s)\s+"
    r"(?:(?:not|never)\s+(?:my|mine|the|right|correct|true)\b|wrong\b|incorrect\b|false\b|untrue\b|a\s+(?:joke|lie)\b)[^.\n]{0,40}[.:]?[\s*_]*"
    r")\n\s*\Z",
    re.IGNORECASE,
)
"""A line that says of the one below that it is none of its writer's."""
_CONTINUES = re.compile(
    r"\A[ \t]*+\n\s*+(?P<more>(?:\$++|\\\[|\\\()?[ \t]*+"
    r"(?:[+=\u00d7\u00b7\u22c5\u00f7/^\u2248\u00b1]|\\(?:times|cdot|div|pm|approx)\b|[*-](?=[\d(\\]))"
    r"(?:(?!(?<![A-Za-z\\])[A-Za-z]{3,})[^\n])*)(?:\n|\Z)"
)
"""A line that begins with a sign and goes on with a formula, not with words."""
_INVISIBLE = dict.fromkeys(map(ord, "\u200b\u200c\u200d\u2060\ufeff\u00ad"))
"""Signs without a width, which say nothing."""
_ROUNDS = 12
"""Layers that are taken off; nobody needs more."""


@dataclass(frozen=True, slots=True)
class Said:
    """What an agent gave as its final answer."""

    texts: tuple[str, ...]
    """The different ones, unwrapped; none when it is missing."""
    missing: str = ""
    """Why there is none."""


def final_answers(answer: str, *, marker: bool) -> Said:
    """The final answer, or those that there are.

    With ``marker``, because the prompt asked for it, the last line that begins with it decides, and without such a line
    there is no answer. Else everything that is marked or boxed counts, and if nothing is, the whole text. What is
    struck out is not said, and what is quoted, fenced or indented as code is cited: it only counts if nothing outside
    is marked, and then has to be one.

    >>> final_answers("ANSWER: 7\\n> The form is\\n> ANSWER: 5", marker=True).texts
    ('7',)
    """
    answer = _STRUCK.sub(" ", answer.translate(_INVISIBLE))
    if (fence := _FENCED.match(answer.strip())) is not None and fence.end() == len(answer.strip()):
        answer = fence["inside"]  # all of it is in one: put there, not cited
    outside = _without_cited(answer)
    lines = list(_LINE.finditer(outside)) or list(_LINE.finditer(answer))
    if lines and (back := _TAKES_BACK.search(_without_fences(answer[lines[-1].end() :]))) is not None:
        return Said((), f"{NO_FINAL_ANSWER}: what follows its last line takes it back: {clip(_said_at(back), 40)}")
    if lines and (before := _DISOWNS.search(answer, max(0, lines[-1].start() - 120), lines[-1].start())) is not None:
        return Said((), f"{NO_FINAL_ANSWER}: the line above it says that it is none: {clip(before[0].strip(), 40)}")
    marked = [_block(answer, line) for line in _LINE.finditer(outside)]
    if marker:
        if not marked:
            marked = list(dict.fromkeys(_block(answer, line) for line in lines))
            if len(marked) > 1:
                return Said((), f"{NO_FINAL_ANSWER}: '{MARKER}' is only in quoted parts, with different answers")
        if not marked:
            return Said((), f"{NO_FINAL_ANSWER}: no line begins with '{MARKER}'")
        found = _parts(marked[-1])
        return Said(found) if found else Said((), f"{NO_FINAL_ANSWER}: nothing follows '{MARKER}' in its last line")
    texts = [part for block in marked for part in _parts(block)] + [unwrap(part) for part in boxed(outside)]
    if not any(texts):
        texts = [part for line in _LINE.finditer(answer) for part in _parts(_block(answer, line))]
        texts += [unwrap(part) for part in boxed(answer)]
    found = tuple(dict.fromkeys(filter(None, texts)))
    if not found and (bare := unwrap(answer)):
        found = (bare,)
    return Said(found) if found else Said((), f"{NO_FINAL_ANSWER}: the answer is empty")


def _without_cited(answer: str) -> str:
    """The same without quoted and fenced lines and indented markers, each place in it where it was."""
    return _INDENTED.sub(_blank, _QUOTED.sub(_blank, _FENCED.sub(_blank, answer)))


def _without_fences(text: str) -> str:
    return re.sub(r"(?:`{3,}|~{3,})\w*", " ", text)


def _said_at(found: re.Match[str]) -> str:
    """The sentence that begins there."""
    return found.string[found.start() :].lstrip(" .!?;:>*_#(\n\t").partition("\n")[0]


def _blank(found: re.Match[str]) -> str:
    return "".join("\n" if character == "\n" else " " for character in found[0])


def _parts(text: str) -> tuple[str, ...]:
    """What is boxed in it, else all of it."""
    return tuple(dict.fromkeys(filter(None, map(unwrap, boxed(text))))) or tuple(filter(None, [unwrap(text)]))


def _block(answer: str, line: re.Match[str]) -> str:
    """What a marker's line says; if that is nothing, or only opens a formula, what comes below."""
    said = line[1].strip()
    if said.endswith("**") and said.count("**") % 2:
        said = said[:-2]  # opened before the marker
    if said.count("`") == 1:
        said = said.strip("`")
    rest = answer[line.end() :]
    if not said.strip("*_` \t"):
        return rest.lstrip().partition("\n\n")[0]
    for opening, closing in _OPENING.items():
        if said.startswith(opening) and closing not in said[len(opening) :]:
            return said + rest[: rest.find(closing) + len(closing)] if closing in rest else said
    if (more := _CONTINUES.match(rest)) is not None:
        return f"{said} {more['more']}"
    return said


def boxed(text: str) -> Iterator[str]:
    r"""The contents of each ``\boxed{…}`` that is closed, braces inside it included; of nested ones the outer."""
    opened: list[int | None] = []
    boxes = 0
    for match in _BOX.finditer(text):
        if match.start() and text[match.start() - 1] == "\\" and len(match[0]) == 1:
            continue  # \{ and \} are no braces
        if match[0] == "}":
            start = opened.pop() if opened else None
            if start is not None:
                boxes -= 1
                if not boxes:
                    yield text[start : match.start()]
        else:
            opened.append(match.end() if len(match[0]) > 1 else None)
            boxes += len(match[0]) > 1


def unwrap(text: str) -> str:
    r"""``text`` without spaces, emphasis, signs of formulas, a box and a full stop around it.

    >>> unwrap("**$\\boxed{x^{2}}$**.")
    'x^{2}'
    """
    for _ in range(_ROUNDS):
        before = text
        text = text.strip()
        if text.endswith(".") and not text.endswith(".."):
            text = text[:-1].rstrip()
        for opening, closing in _WRAPPERS:
            inner = text[len(opening) : -len(closing)]
            if (
                len(text) > len(opening) + len(closing)
                and text.startswith(opening)
                and text.endswith(closing)
                and closing not in inner
            ):
                text = inner
        contents = list(boxed(text)) if text.startswith(("\\boxed", "\\fbox")) and text.endswith("}") else []
        if len(contents) == 1 and len(contents[0]) >= len(text) - 12:
            text = contents[0]
        if text == before:
            break
    return text
