"""People's answers to drafts: one file per person, written independently, and the comparison of two answers."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal, cast, get_args

from pytest_webarena.errors import UsageError, closest
from pytest_webarena.recorder.proposing import is_text
from pytest_webarena.tasks import Task
from pytest_webarena.tasks.addresses import parse_address
from pytest_webarena.text import clip

__all__ = ["AnswerKind", "PersonAnswer", "address_of", "answer_text", "are_equivalent", "person_name", "read_answers"]

AnswerKind = Literal["answer", "impossible", "bad"]
"""Kind of answer. ``answer``: the correct answer. ``impossible``: it can't be done, for this reason. ``bad``:
unsuitable as a task."""

_LARGEST = 5_000_000
_LONGEST = 10_000
"""Maximum length of an answer in characters."""
_NUMBER = re.compile(r"-?\d{1,40}(?:\.\d{1,40})?", re.ASCII)
_OWN = re.compile(r"https?://([A-Za-z0-9][A-Za-z0-9_-]*)\.test(?::\d+)?(?=/|\Z)/?")
"""Names of the sites in every browser that this package starts."""
_KEYS = ("task", "digest", "by", "says", "text")


@dataclass(frozen=True, slots=True, kw_only=True)
class PersonAnswer:
    """One person's answer to one draft."""

    task: str
    by: str
    kind: AnswerKind
    text: str
    """The answer, the address, or the reason. Empty for an idea of kind ``content`` that is worth doing."""


def read_answers(file: Path, drafts: Sequence[Task]) -> dict[str, PersonAnswer]:
    """Returns one person's answers by draft; the last one on each counts. Raises `UsageError` with the position of a
    fault."""
    known = {task.id: task for task in drafts}
    answers: dict[str, PersonAnswer] = {}
    for number, line in enumerate(_lines(file), 1):
        if not line.strip():
            continue
        where = f"{file}, line {number}"
        answer, digest = _read(line, where)
        task = known.get(answer.task)
        if task is None:
            raise UsageError(f"{where}: {closest(answer.task, [*known])}")
        if digest != task.digest:
            raise UsageError(
                f"{where}: expected an answer to {answer.task} as it is now, found one to another text of it; "
                "answer it again (webarena view rewrites the form)"
            )
        if wrong := _unfit(answer, task):
            raise UsageError(f"{where}: {answer.task}: {wrong}")
        answers[answer.task] = answer
    if not answers:
        raise UsageError(f"{file}: expected answers as the form of webarena view saves them, found none")
    names = sorted({each.by for each in answers.values()})
    if len({_name(name) for name in names}) > 1:
        raise UsageError(f"{file}: expected the answers of one person, found {', '.join(names)}; a file for each")
    return answers


def person_name(answers: Mapping[str, PersonAnswer]) -> str:
    """Returns the name of the person."""
    return next(iter(answers.values())).by


def are_equivalent(one: PersonAnswer, other: PersonAnswer, task: Task) -> bool:
    """Whether two people's answers to a draft are certainly equivalent.

    Case, spaces, a final full stop and trailing zeros of a number (not of a version) are ignored, and so is the order
    of lines. Reasons why something can't be done are not compared.
    """
    if one.kind != other.kind:
        return False
    if one.kind in ("bad", "impossible") or task.category == "content":
        return True
    if task.category == "navigation":
        return _address(one.text, task) == _address(other.text, task)
    first, second = (sorted(_flat(line, task.intent) for line in answer.text.splitlines()) for answer in (one, other))
    return first == second


def answer_text(answer: PersonAnswer) -> str:
    """Returns an answer in words."""
    text = answer.text.replace("\n", "; ")
    match answer.kind:
        case "impossible":
            return f"it can't be done: {text}"
        case "bad":
            return f"it is no good as a task: {text}"
        case "answer":
            return f"the answer is {text}" if text else "it is worth doing"


def _lines(file: Path) -> list[str]:
    try:
        if file.stat().st_size > _LARGEST:
            raise UsageError(f"{file}: expected at most {_LARGEST} bytes of answers, found {file.stat().st_size}")
        return file.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "no UTF-8 text"
        raise UsageError(f"{file}: expected a file with answers, found: {reason}") from None


def _read(line: str, where: str) -> tuple[PersonAnswer, str]:
    try:
        data: Any = json.loads(line)
    except (ValueError, RecursionError):
        raise UsageError(f"{where}: expected a line of JSON, found {clip(line, 40)!r}") from None
    texts: dict[str, Any] = {key: data.get(key) for key in _KEYS} if isinstance(data, dict) else {}
    if not texts or not all(isinstance(value, str) for value in texts.values()):
        raise UsageError(f"{where}: expected the texts {', '.join(_KEYS)}, found {clip(line, 60)!r}")
    if texts["says"] not in get_args(AnswerKind):
        raise UsageError(
            f"{where}: says: expected {', '.join(get_args(AnswerKind))}, found {clip(texts['says'], 40)!r}"
        )
    by, text = " ".join(texts["by"].split()), texts["text"].strip()
    if not by or not by.isprintable() or len(by) > 80:
        raise UsageError(f"{where}: by: expected a name of at most 80 characters, found {clip(texts['by'], 40)!r}")
    if len(text) > _LONGEST:
        raise UsageError(f"{where}: text: expected at most {_LONGEST} characters, found {len(text)}")
    lines = "\n".join(" ".join(each.split()) for each in text.splitlines() if each.strip())
    if not lines.replace("\n", "").isprintable():
        raise UsageError(f"{where}: text: expected one that can be printed, found {clip(text, 40)!r}")
    return PersonAnswer(task=texts["task"], by=by, kind=cast(AnswerKind, texts["says"]), text=lines), texts["digest"]


def _unfit(answer: PersonAnswer, task: Task) -> str:
    """Returns what is wrong with an answer to this draft; empty if nothing is."""
    if answer.kind == "answer" and task.category == "content":
        return "" if not answer.text else "expected no answer to something that is to be done, found one"
    if not answer.text:
        return "expected the answer, or a reason, found none"
    if answer.kind == "answer" and task.category == "navigation" and _address(answer.text, task) is None:
        sites = ", ".join(task.sites)
        return f"expected an address such as /path or site:/path on {sites}, found {clip(answer.text, 60)!r}"
    return ""


def _address(text: str, task: Task) -> tuple[str, str] | None:
    """Returns site and path of a page; None for an invalid address."""
    found = parse_address(_OWN.sub(r"\1:/", text) if "://" in text else text)
    if found is None or not found.path.startswith("/") or (found.site or task.sites[0]) not in task.sites:
        return None
    return found.site or task.sites[0], found.path.rstrip("/") or "/"


def address_of(answer: PersonAnswer, task: Task) -> str:
    """Returns an address in an answer in the notation of task files."""
    site, path = _address(answer.text, task) or ("", answer.text)
    return path if site in ("", task.sites[0]) else f"{site}:{path}"


def _flat(text: str, intent: str) -> str:
    plain = " ".join(unicodedata.normalize("NFKC", text).split()).casefold().removesuffix(".")
    return f"{Decimal(plain).normalize():f}" if _NUMBER.fullmatch(plain) and not is_text(plain, intent) else plain


def _name(text: str) -> str:
    return " ".join(text.split()).casefold()
