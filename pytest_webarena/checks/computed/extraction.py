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

__all__ = ["MARKER", "NO_FINAL_ANSWER", "Said", "boxed", "final_answers", "unwrap"]

MARKER = "ANSWER:"
"""What the line with the final answer begins with, where a prompt asks for one."""
NO_FINAL_ANSWER = "no final answer"
"""How the reason begins when it is missing: an answer in the wrong form, which is not the same as a wrong one."""

_LINE = re.compile(
    r"^[ \t>#*_`-]*(?:final[ \t]+)?answer[ \t]*[*_`]*[ \t]*[:=][ \t]*[*_]*[ \t]*(.*)$", re.IGNORECASE | re.MULTILINE
)
_OPENING = {"\\[": "\\]", "$$": "$$"}
"""Displayed formulas: they may stand on lines of their own."""
_WRAPPERS = (
    ("**", "**"), ("__", "__"), ("```", "```"), ("`", "`"), ("$$", "$$"), ("$", "$"), ("\\(", "\\)"), ("\\[", "\\]"),
)  # fmt: skip
_BOX = re.compile(r"\\f?box(?:ed)?\s*\{|[{}]")
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
    there is no answer. Else everything that is marked or boxed counts, and if nothing is, the whole text.
    """
    marked = [_block(answer, line) for line in _LINE.finditer(answer)]
    if marker:
        if not marked:
            return Said((), f"{NO_FINAL_ANSWER}: no line begins with '{MARKER}'")
        found = _parts(marked[-1])
        return Said(found) if found else Said((), f"{NO_FINAL_ANSWER}: nothing follows '{MARKER}' in its last line")
    texts = [part for block in marked for part in _parts(block)]
    texts += [unwrap(part) for part in boxed(answer)]
    found = tuple(dict.fromkeys(filter(None, texts)))
    if not found and (whole := unwrap(answer)):
        found = (whole,)
    return Said(found) if found else Said((), f"{NO_FINAL_ANSWER}: the answer is empty")


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
