"""WebCanvas's own prompts of the planner and the reward model, read from a checkout without executing code.

The words of earlier steps are assembled by code there, so they are ours; the name in records says so.
"""

from __future__ import annotations

import ast
import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.llm.messages import Message
from pytest_webarena.llm.templates import read_text

__all__ = ["VARIABLE", "WebCanvasPrompt", "WebCanvasReward", "find_webcanvas_prompt"]

VARIABLE = "WEBCANVAS_UPSTREAM"
"""Environment variable with the folder of a checkout of WebCanvas's repository."""

_PLACE = "agent/Prompt/base_prompts.py"
_SYSTEM, _USER = "planning_prompt_system", "planning_prompt_user"
_REWARD, _GUIDED = "global_reward_prompt_system", "global_reward_with_GroundTruth_prompt_system"
_REWARD_USER = "global_reward_prompt_user"
_INTENT, _HISTORY = "user_request", "stringfy_thought_and_action_output"
_SLOT = re.compile(rf"\{{\{{\s*({_INTENT}|{_HISTORY})\s*\}}\}}")


def find_webcanvas_prompt(folder: str, where: str) -> Path:
    """Return the file with the prompts. ``folder`` is a checkout; empty: the one in `VARIABLE`."""
    folder = folder or os.environ.get(VARIABLE, "")
    if not folder:
        raise UsageError(
            f"{where}: prompt: expected a checkout of WebCanvas's repository, found none named. Name one: "
            f"{VARIABLE}=FOLDER, or prompt: upstream:FOLDER (git clone https://github.com/iMeanAI/WebCanvas)"
        )
    if not (path := Path(folder).expanduser() / _PLACE).is_file():
        raise UsageError(f"{where}: expected a checkout of WebCanvas's repository at {folder}, found no {_PLACE}")
    return path


class WebCanvasPrompt:
    """The planner's system message and question, with the earlier steps and the page below the question."""

    def __init__(self, path: Path, where: str) -> None:
        self.files: tuple[Path, ...] = (path,)
        where = f"{where}: prompt {path.name}"
        self._system, self._user = _required(path, where, _SYSTEM, _USER)
        _require_slots(self._user, {_INTENT}, f"{where}: {_USER}")

    @property
    def identity(self) -> str:
        """Name and hash of the words that are WebCanvas's, for records."""
        return _identity("webcanvas_planning", self._system, self._user)

    def mentions(self, variable: str) -> bool:
        """Whether the messages use ``variable``."""
        return variable in ("planning", "details", "history", "observation", "intent")

    def messages(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages; as upstream, the page is shown from the second step on."""
        intent = "\n\n".join(filter(None, (values["intent"], values.get("answer_instructions"))))
        parts = [_SLOT.sub(lambda _: intent, self._user)]
        if history := values.get("history"):
            parts.append("Your steps so far:\n" + "\n".join(_steps(history)) + "\n\n")
        if error := values.get("error"):
            parts.append(f"The last action had no effect: {error}\n\n")
        if history:
            parts.append(values["observation"])
        return (Message(role="system", text=self._system), Message(role="user", text="".join(parts)))


class WebCanvasReward:
    """The reward model's system message and question, with the page, and the guide if there is one, below it."""

    def __init__(self, path: Path, where: str, *, guided: bool) -> None:
        """``guided``: use the words for a reward model that has a reference guide."""
        self.files: tuple[Path, ...] = (path,)
        where = f"{where}: prompt {path.name}"
        self._name = "webcanvas_guided_reward" if guided else "webcanvas_reward"
        self._system, self._user = _required(path, where, _GUIDED if guided else _REWARD, _REWARD_USER)
        _require_slots(self._user, {_INTENT, _HISTORY}, f"{where}: {_REWARD_USER}")

    @property
    def identity(self) -> str:
        """Name and hash of the words that are WebCanvas's, for records."""
        return _identity(self._name, self._system, self._user)

    def messages(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages. What they quote is inserted at once, so no value is searched for slots."""
        steps = "\n".join(_assessed(values["history"]))
        inserted = {_INTENT: values["intent"], _HISTORY: steps}
        parts = [_SLOT.sub(lambda slot: inserted[slot[1]], self._user)]
        if guide := values.get("guide"):
            parts.append(f"\n\nReference Guide:\n{guide}")
        where = f"{values['quoted'](values['title'])}\nURL: {values['url']}"
        dialog = f"\nA dialog is open:\n{values['quoted'](values['dialog'])}" if values.get("dialog") else ""
        parts.append(f"\n\nThe current web page:\n{where}{dialog}")
        if not (values["sees"] == "screenshot" and values.get("pictured")):
            parts.append(f"\n{values['quoted'](values['observation'])}")
        return (Message(role="system", text=self._system), Message(role="user", text="".join(parts)))


def _assessed(history: Any) -> Iterator[str]:
    for turn in history:
        yield f"{turn.number}. {turn.action}{f' (had no effect: {turn.error})' if turn.error else ''}"
        if turn.thought:
            yield f"   thought: {' '.join(turn.thought.split())}"
        if turn.reflection:
            yield f"   reflection: {turn.reflection}"


def _required(path: Path, where: str, *names: str) -> list[str]:
    """Return texts of a prompt file by their names. Raises `UsageError` for one that is missing or needs code."""
    texts = _texts(read_text(path, where), where)
    if missing := [name for name in names if not texts.get(name, "").strip()]:
        raise UsageError(f"{where}: expected the text {missing[0]!r} in a class, found none that needs no code")
    return [texts[name] for name in names]


def _require_slots(text: str, names: set[str], where: str) -> None:
    found = set(_SLOT.findall(text))
    if names != found:
        raise UsageError(f"{where}: expected the slots {sorted(names)}, found {sorted(found)}")


def _identity(name: str, *texts: str) -> str:
    digest = hashlib.sha256(json.dumps(texts).encode()).hexdigest()[:12]
    return f"upstream {name}@{digest}, earlier steps in our words"


def _steps(history: Any) -> list[str]:
    return ["\n".join((f"{turn.number}. {turn.action}", *(f"   {line}" for line in turn.details))) for turn in history]


def _texts(source: str, where: str) -> dict[str, str]:
    """Return the texts that a Python file assigns to names in classes, as far as they need no code."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise UsageError(f"{where}: expected Python with texts: {error}") from None
    found: dict[str, str] = {}
    for owner in (node for node in tree.body if isinstance(node, ast.ClassDef)):
        for node in owner.body:
            if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
                text = _text(node.value, found)
                if text is None:
                    found.pop(node.targets[0].id, None)
                else:
                    found[node.targets[0].id] = text
    return found


def _text(node: ast.expr, known: Mapping[str, str]) -> str | None:
    """Return the text of a literal, of a name of one, or of both in an f-string; None for anything else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.Name(id=name) | ast.Call(func=ast.Name(id="str"), args=[ast.Name(id=name)], keywords=[]):
            return known.get(name)
        case ast.FormattedValue(value=value, conversion=-1, format_spec=None):
            return _text(value, known)
        case ast.JoinedStr(values=values):
            parts = [_text(value, known) for value in values]
            return None if None in parts else "".join(filter(None, parts))
    return None
