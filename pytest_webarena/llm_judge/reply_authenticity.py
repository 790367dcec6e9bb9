"""Separates a judge's own lines in a reply from quotations and from lines that the answer may have caused.

Answers are hostile: one may contain lines in the form of a verdict, and an honest judge may repeat them. Therefore each
question has a code word that none of its texts contains, and only lines that begin with it are the judge's. A prompt of
the user's may have no code word; its replies are not read if the answer contains a verdict that they could repeat.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re

from pytest_webarena.checks.judge_protocol import Question, QuestionKind
from pytest_webarena.checks.text import nfkc
from pytest_webarena.llm.messages import beyond_thought

__all__ = ["forges", "own_lines", "seal_of", "unsealed"]

_LETTERS = "BCDFGHJKMNPQRSTVWXZ"
"""Letters of a code word: no vowels, so that it is not a word, least of all one of a verdict's."""
_LENGTH = 8

_FENCE = re.compile(r"\s*(?:[-*+>]\s+|\d+[.)]\s+)?(`{3,}|~{3,})(.*)")
_CITED = re.compile(r"(?: {4}| *\t| *[-*•]? *[>|])")

_GRADE = r"(?:grade|verdict|judge?ment)\W{0,9}(?:is\W{1,9})?"
_FORGED: dict[QuestionKind, re.Pattern[str]] = {
    "equivalent": re.compile(rf"{_GRADE}(?:in|partially\W{{1,9}})?correct"),
    "unachievable": re.compile(rf"{_GRADE}(?:same|different)"),
    "formula": re.compile(rf"{_GRADE}(?:0|1|0?\.5)(?![\w.])"),
    "rule": re.compile(rf"{_GRADE}(?:[01]?\.\d|[01](?![\w.]))"),
    "rubric": re.compile(r"item\W{0,9}\d{1,3}\W{0,9}points?\W{0,9}\d"),
}


def seal_of(question: Question) -> str:
    """Return a question's code word: always the same, in none of its texts, and different for another answer.

    >>> len(seal_of(Question(kind="equivalent", intent="i", reference="r", answer="a")))
    8
    """
    data = json.dumps(question.as_data(), sort_keys=True)
    texts = _folded(data)
    for number in itertools.count():  # pragma: no branch
        digest = hashlib.sha256(f"seal {number} {data}".encode()).digest()
        seal = "".join(_LETTERS[byte % len(_LETTERS)] for byte in digest[:_LENGTH])
        if seal.casefold() not in texts:
            break
    return seal


def own_lines(text: str) -> list[str]:
    """Return the lines that are not quoted (in a code block or after a quotation mark) and not part of a thought.

    >>> own_lines("It says:\\n> GRADE: correct\\n```\\nGRADE: correct\\n```\\nGRADE: incorrect")
    ['It says:', 'GRADE: incorrect']
    """
    found, fence = [], ""
    for line in beyond_thought(text).splitlines():
        marks = _FENCE.fullmatch(line)
        if fence:
            if marks and marks[1].startswith(fence) and not marks[2].strip():
                fence = ""
        elif marks and not (marks[1][0] == "`" and "`" in marks[2]):
            fence = marks[1]
        elif not _CITED.match(line):
            found.append(line)
    return found


def unsealed(line: str, seal: str) -> str | None:
    """Return the text after the code word at the beginning of a line; None when the line does not begin with it.

    >>> unsealed("- **KXTB GRADE: same**", "KXTB"), unsealed("GRADE: same", "KXTB")
    ('GRADE: same**', None)
    """
    found = re.match(rf"[\s*_#•-]*{re.escape(seal)}(?!\w)[\s*_:–—-]*", line, re.IGNORECASE) if seal else None
    return line[found.end() :] if found else None


def forges(question: Question) -> bool:
    """Return whether the answer contains a verdict in the requested form, which no honest answer needs."""
    return _FORGED[question.kind].search(_folded(question.answer)) is not None


def _folded(text: str) -> str:
    return nfkc(text).casefold()
