"""WebArena's own judge prompts, read from a checkout of its repository or an installed package without running code.

``llm_fuzzy_match`` and ``llm_ua_match`` of ``evaluation_harness/helper_functions.py`` build their question from
literals and their three arguments. Only that is understood here; anything else that a function does with its texts is
an error.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from pytest_webarena.agents.model.upstream import UPSTREAM, find_file
from pytest_webarena.checks.judge_protocol import Decision, Question, QuestionKind
from pytest_webarena.errors import UsageError
from pytest_webarena.llm.messages import Message
from pytest_webarena.llm.templates import read_text
from pytest_webarena.llm_judge.replies import WORDS, Read, understand

__all__ = ["UpstreamPrompt", "is_upstream", "read_upstream", "understand_as"]

_FILE = "evaluation_harness/helper_functions.py"
_FUNCTIONS: Mapping[QuestionKind, str] = {"equivalent": "llm_fuzzy_match", "unachievable": "llm_ua_match"}
_ARGUMENTS = {"pred": "answer", "reference": "reference", "question": "intent"}
"""Field of a question for each argument."""

Part = str | tuple[str]
"""A literal text, or a field of the question."""


def is_upstream(name: str) -> bool:
    """Return whether a prompt's name stands for WebArena's own."""
    return name.partition(":")[0] == UPSTREAM


@dataclass(frozen=True, slots=True, kw_only=True)
class UpstreamPrompt:
    """WebArena's prompt for one kind of question."""

    name: str
    """Name of the upstream function."""
    message_templates: tuple[tuple[str, tuple[Part, ...]], ...]
    """Role and parts of each message."""

    @classmethod
    def find(cls, name: str, kind: QuestionKind) -> UpstreamPrompt:
        """Find the prompt. ``name`` is ``upstream`` or ``upstream:FOLDER``.

        Raises:
            UsageError: the file is missing, or the function has another form.
        """
        where = "--judge-prompt"
        file = find_file(_FILE, name.partition(":")[2], where)
        return cls(name=_FUNCTIONS[kind], message_templates=_read(file, _FUNCTIONS[kind]))

    @property
    def version(self) -> str:
        """``upstream:function@hash`` of the text."""
        words = json.dumps(self.message_templates)
        return f"{UPSTREAM}:{self.name}@{hashlib.sha256(words.encode()).hexdigest()[:12]}"

    def uses(self, name: str) -> bool:
        """Return whether the prompt uses the value of this name."""
        return any(part == (name,) for _, parts in self.message_templates for part in parts)

    def messages(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """Return the messages for a question."""
        return tuple(
            Message(
                role=cast(Any, role),
                text="".join(part if isinstance(part, str) else str(values[part[0]]) for part in parts),
            )
            for role, parts in self.message_templates
        )


def understand_as(version: str, text: str, question: Question, seal: str) -> Read | str:
    """Return what a reply to a prompt of this version says, or the text to send before the judge is asked again."""
    if not version.startswith(f"{UPSTREAM}:"):
        return understand(text, question, seal)
    if (decision := read_upstream(question.kind, text)) is not None:
        return Read(decision=decision)
    return f"No grade could be read from that. Please say one of: {', '.join(WORDS[question.kind])}."


def read_upstream(kind: QuestionKind, reply: str) -> Decision | None:
    """Return the grade in a reply to one of these prompts, which require no line for it; None where it is ambiguous.

    As in the original, a word for failing takes precedence over one for passing. Denials differ: "not correct" passes
    there, and is asked again here.

    >>> read_upstream("equivalent", "So the answer is **incorrect**."), read_upstream("unachievable", "Same")
    ('incorrect', 'correct')
    >>> read_upstream("equivalent", "That is not correct.") is read_upstream("unachievable", "Not the same") is None
    True
    """
    text = " ".join(re.sub(r"[*_`'\"]", "", reply.replace("\u2019", "'").lower()).split())
    if kind == "unachievable":
        return "incorrect" if "different" in text else _asserted(text, "same")
    if "incorrect" in text and "partially correct" not in text:
        return "incorrect"
    return "partially_correct" if "partially correct" in text else _asserted(text, "correct")


_DENIED = r"\b(?:not|isnt|arent|wasnt|cannot|cant|never|no|neither|nor|hardly)\b[^.;!?]*?\W"


def _asserted(text: str, word: str) -> Decision | None:
    if not re.search(rf"\b{word}\b", text) or re.search(rf"{_DENIED}{word}\b", text):
        return None
    return "correct"


def _read(file: Path, name: str) -> tuple[tuple[str, tuple[Part, ...]], ...]:
    where = f"--judge-prompt: {file}"
    try:
        tree = ast.parse(read_text(file, "--judge-prompt"))
    except (SyntaxError, ValueError) as error:
        raise UsageError(f"{where}: expected Python, found: {error}") from None
    function = next((each for each in tree.body if isinstance(each, ast.FunctionDef) and each.name == name), None)
    if function is None:
        raise UsageError(f"{where}: expected the function {name}, found none")
    texts: dict[str, tuple[Part, ...]] = {}
    found: Sequence[ast.expr] = ()
    for statement in function.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=target)], value=ast.List(elts=elements)):
                found = elements if target == "messages" else found
            case ast.Assign(targets=[ast.Name(id="message")], value=value):
                texts["message"] = _parts(value, texts, where)
            case ast.AugAssign(target=ast.Name(id="message"), op=ast.Add(), value=value):
                texts["message"] = (*texts.get("message", ()), *_parts(value, texts, where))
    templates = tuple(_message(element, texts, where) for element in found)
    fields = {part[0] for _, parts in templates for part in parts if not isinstance(part, str)}
    if missing := sorted(set(_ARGUMENTS.values()) - fields):
        raise UsageError(f"{where}: {name}: expected a question with {', '.join(missing)} in it, found none")
    return templates


def _message(element: ast.expr, texts: Mapping[str, tuple[Part, ...]], where: str) -> tuple[str, tuple[Part, ...]]:
    if isinstance(element, ast.Dict):
        pairs = {
            key.value: value
            for key, value in zip(element.keys, element.values, strict=True)
            if isinstance(key, ast.Constant)
        }
        role = pairs.get("role")
        if isinstance(role, ast.Constant) and role.value in ("system", "user") and "content" in pairs:
            return str(role.value), _parts(pairs["content"], texts, where)
    raise UsageError(f"{where}: expected messages with role and content, found: {ast.unparse(element)[:80]}")


def _parts(value: ast.expr, texts: Mapping[str, tuple[Part, ...]], where: str) -> tuple[Part, ...]:
    match value:
        case ast.Constant(value=str(text)):
            return (text,) if text else ()
        case ast.Name(id=name) if name in texts:
            return texts[name]
        case ast.Name(id=name) if name in _ARGUMENTS:
            return ((_ARGUMENTS[name],),)
        case ast.JoinedStr(values=values):
            return tuple(part for each in values for part in _parts(each, texts, where))
        case ast.FormattedValue(value=inner, conversion=-1, format_spec=None):
            return _parts(inner, texts, where)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return (*_parts(left, texts, where), *_parts(right, texts, where))
    raise UsageError(f"{where}: expected texts and the names {', '.join(_ARGUMENTS)}, found: {ast.unparse(value)[:80]}")
