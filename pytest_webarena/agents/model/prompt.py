"""Prompt files: Jinja2 templates split into messages, and the JSON files of the original harness."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol

from pytest_webarena.agents.model.upstream import UPSTREAM, find_prompt, prompt_name, read_data
from pytest_webarena.agents.model.webcanvas_prompt import WebCanvasPrompt, find_webcanvas_prompt
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.llm.messages import Message
from pytest_webarena.llm.templates import Template
from pytest_webarena.plain_data import kind_of

__all__ = ["BUILTIN_PROMPTS", "Prompt", "prompt_identity", "read_prompt"]

_DIRECTORY = Path(__file__).parent / "prompts"
BUILTIN_PROMPTS = ("webarena", "standard", "webcanvas")
"""Built-in prompts. ``webarena``: the paper's prompt, reworded. ``standard``: for tools, images and dialogues.
``webcanvas``: a planner for the grammar of that name."""

_FORM = "answer_instructions"
_UPSTREAM_SLOTS = ("objective", "url", "observation", "previous_action")
_WITHOUT_SLOT = {"objective": "the model would not know its task", "observation": "the model would see no page"}


class Prompt(Protocol):
    """Makes the messages of one step."""

    files: tuple[Path, ...]
    """Files that the prompt was read from."""

    def messages(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages for the variables ``values``. `UsageError` when the file cannot be used."""
        ...

    def mentions(self, variable: str) -> bool:
        """Whether the messages may use ``variable``."""
        ...


def read_prompt(
    name: str,
    base: Path,
    where: str,
    *,
    reasoning: bool = True,
    unachievable_hint: bool = True,
    grammar: str = "webarena",
) -> Prompt:
    """The prompt called ``name``: a built-in one, or a file (``.json``: the original harness's form; otherwise Jinja2).

    ``upstream`` is WebArena's own prompt for the definition's other settings; with the grammar ``webcanvas``, that of
    WebCanvas's planner.
    """
    if name.partition(":")[0] == UPSTREAM and grammar == "webcanvas":
        return WebCanvasPrompt(find_webcanvas_prompt(name.partition(":")[2], where), where)
    if name.partition(":")[0] == UPSTREAM:
        own = prompt_name(reasoning=reasoning, unachievable_hint=unachievable_hint)
        return UpstreamPrompt(find_prompt(own, name.partition(":")[2], where), where)
    if name in BUILTIN_PROMPTS:
        return AgentTemplate(_DIRECTORY / f"{name}.j2", where)
    path = base / name
    if not path.is_file() and Path(name).is_file():
        path = Path(name)  # a path from the command line
    if path.suffix == ".json":
        return UpstreamPrompt(path, where)
    if path.suffix in (".j2", ".jinja", ".jinja2", ".txt"):
        return AgentTemplate(path, where)
    raise UsageError(f"{where}: prompt: expected a .j2 or .json file or a built-in; {closest(name, BUILTIN_PROMPTS)}")


def prompt_identity(name: str, prompt: Prompt) -> str:
    """Identifies the prompt in records: the file with a hash of its contents, and ``ours`` if it is shipped with this
    package. WebArena's own prompt has a hash of its words instead, ``upstream NAME@…``, independent of the file's form,
    which shows changes.

    A user's file is identified by its name, without folders.
    """
    if isinstance(prompt, WebCanvasPrompt):
        return prompt.identity
    file = prompt.files[0]
    if isinstance(prompt, UpstreamPrompt) and name.partition(":")[0] == UPSTREAM:
        return f"{UPSTREAM} {file.stem}@{prompt.words}"
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    return f"{'ours ' if name in BUILTIN_PROMPTS else ''}{file.name} sha256:{digest}"


class AgentTemplate(Template):
    """A Jinja2 prompt. If the file does not mention answer instructions, they are appended to the intent."""

    def mentions(self, variable: str) -> bool:
        """Whether one of its files has ``variable``."""
        return any(variable in file.read_text("utf-8") for file in self.files)

    def messages(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages, rendered with ``values`` and split."""
        if _FORM not in self._source:
            values = {**values, "intent": _objective(values)}
        return super().messages(values)


def _objective(values: Mapping[str, Any]) -> str:
    return "\n\n".join(filter(None, (values["intent"], values.get(_FORM))))


class UpstreamPrompt:
    """A prompt file of the original harness: ``intro``, ``examples``, ``template``, ``meta_data``."""

    def __init__(self, path: Path, where: str) -> None:
        self.files: tuple[Path, ...] = (path,)
        where = f"{where}: prompt {path.name}"
        data = read_data(path, where)
        if not isinstance(data, dict) or not all(isinstance(data.get(key), str) for key in ("intro", "template")):
            raise UsageError(f"{where}: expected an object with the texts 'intro' and 'template'")
        examples = data.get("examples", [])
        if not isinstance(examples, list) or not all(
            isinstance(each, list) and len(each) == 2 and all(isinstance(text, str) for text in each)
            for each in examples
        ):
            raise UsageError(f"{where}: examples: expected a list of pairs of texts")
        slots = re.findall(r"\{(\w*)\}", data["template"])
        for slot in slots:
            if slot not in _UPSTREAM_SLOTS:
                raise UsageError(f"{where}: template: unknown slot {slot!r}; {closest(slot, _UPSTREAM_SLOTS)}")
        for slot in ("objective", "observation"):
            if slot not in slots:
                raise UsageError(
                    f"{where}: template: expected the slot '{{{slot}}}', found none: {_WITHOUT_SLOT[slot]}"
                )
        meta = data.get("meta_data") or {}
        if not isinstance(meta, dict):
            raise UsageError(f"{where}: meta_data: expected an object, found {kind_of(meta)}")
        splitter = meta.get("action_splitter", "```")
        if splitter != "```":
            raise UsageError(f"{where}: meta_data.action_splitter: expected ```, found {splitter!r}")
        self._intro, self._template = data["intro"], data["template"]
        self._examples = [(user, assistant) for user, assistant in examples]

    def mentions(self, variable: str) -> bool:
        """Whether its file has ``variable``."""
        return any(variable in file.read_text("utf-8") for file in self.files)

    @property
    def words(self) -> str:
        """Hash of the prompt's words, 12 hexadecimal digits; the same whether they were read as JSON or as Python."""
        texts = json.dumps([self._intro, self._examples, self._template])
        return hashlib.sha256(texts.encode()).hexdigest()[:12]

    def messages(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """The messages as upstream sends them in chat mode: examples are system messages of named speakers."""
        messages = [Message(role="system", text=self._intro)]
        for user, assistant in self._examples:
            messages.append(Message(role="system", name="example_user", text=user))
            messages.append(Message(role="system", name="example_assistant", text=assistant))
        slots = {
            "objective": _objective(values),
            "url": values["url"],
            "observation": values["observation"],
            "previous_action": values["previous_action"],
        }
        # Not str.format, because other braces in the template are literal text.
        current = re.sub(r"\{(\w+)\}", lambda slot: str(slots.get(slot[1], slot[0])), self._template)
        return (*messages, Message(role="user", text=current))
