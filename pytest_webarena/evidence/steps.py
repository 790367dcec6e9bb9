"""Records of the steps of a trial."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from pytest_webarena.evidence.usage import Usage
from pytest_webarena.signals import TargetRecord

__all__ = ["LONGEST_TEXT", "ScriptAct", "StepRecord", "cut", "is_inside"]

LONGEST_TEXT = 100_000
"""Maximum length, in characters, of any single text by an agent that is recorded and judged, the answer included.
Nobody who knows an answer needs more, and a trial's records stay bounded whatever an agent writes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptAct:
    """What a script did to an element when no command counted as a step."""

    event: str
    """Type of the event, as in `DomEvent.event`: ``click``, ``change``, ``set``, ``submit``, ``keydown``, …"""
    target: TargetRecord
    selector: str = ""
    """Playwright selector of the element, through frames and open shadow trees; empty when no selector is known."""
    rows: tuple[tuple[str, ...], ...] = ()
    """As `DomEvent.rows`: texts of the elements that the selector counts, which must be unchanged for it to match."""
    value: str | None = None
    """Content of the field afterwards; for a list the labels of the selected options, one per line; for a ``keydown``
    the keys."""
    tab: int = 0
    """Index of the tab, from 0 in order of appearance."""
    commanded: bool = False
    """Whether a command of the agent that may run scripts was running and no event explains the action; otherwise the
    page itself may have caused it."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ScriptAct:
        """Read what `dataclasses.asdict` made. `TypeError` when a field is missing or unknown."""
        rows = tuple(tuple(row) for row in data.get("rows", ()))
        return cls(**{**data, "target": TargetRecord(**data.get("target", 0)), "rows": rows})


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One step: the observation, the agent's reply and the action."""

    index: int
    """Index of the step, from 0."""
    action: Mapping[str, Any]
    """`actions.as_record` of the action."""
    raw: str
    """The agent's reply, verbatim."""
    error: str = ""
    """Why the action had no effect, as reported to the agent; empty when it worked."""
    url_before: str = ""
    url_after: str = ""
    target: TargetRecord | None = None
    value: str | None = None
    """Typed text, chosen option or pressed keys."""
    left: str | None = None
    """Content of the field after typing, from the page's own event, for text written by an agent that drives the
    browser itself. None for other steps, for password fields, and when no event shows it."""
    at_once: tuple[tuple[int, int], ...] = ()
    """Ranges (start, end) of such text that a single command inserted, not key presses."""
    tab: int = 0
    """Index of the tab that the action applies to, from 0."""
    observation: str = ""
    """File of the observation shown to the agent, relative to the attempt folder."""
    screenshot: str = ""
    """File of the screenshot, relative to the attempt folder; empty when none was taken."""
    started: float = 0.0
    """Seconds since the episode began."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """Duration of `observe`, `act` and `execute`, in seconds."""
    thought: str = ""
    """The agent's reasoning, when it is separate from the action."""
    retries: int = 0
    """Number of earlier replies in this step that contained no action and were requested again."""
    usage: Usage | None = None
    """Usage of the step's model calls; None for agents that report none."""
    model_calls: str = ""
    """File of the prompts sent and the replies received, relative to the attempt folder; empty when there is none."""
    by_script: tuple[ScriptAct, ...] = ()
    """What scripts did between the previous step and this one: scripts of an agent that drives the browser itself, or
    of the page. They do not count as steps; a replay repeats them."""

    def bounded(self) -> StepRecord:
        """This record with every text cut to `LONGEST_TEXT`; a cut text states its original length."""
        said = ("action", "raw", "error", "value", "left", "thought")
        parts = (*said, "url_before", "url_after", "observation", "model_calls")
        acts = tuple(replace(each, value=_cut_all(each.value)) for each in self.by_script)
        return replace(self, by_script=acts, **{name: _cut_all(getattr(self, name)) for name in parts})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StepRecord:
        """Read the output of `dataclasses.asdict`. `TypeError` when a field is missing or unknown.

        File names that lead out of the attempt's folder are dropped, because an agent may have supplied them.
        """
        files = {name: data[name] for name in ("observation", "screenshot", "model_calls") if name in data}
        data = {**data, **{name: file if is_inside(file) else "" for name, file in files.items()}}
        target, usage = data.get("target"), data.get("usage")
        parts = {"target": TargetRecord(**target) if target else None, "usage": Usage(**usage) if usage else None}
        acts = tuple(ScriptAct.from_json(each) for each in data.get("by_script") or ())
        at_once = tuple((int(start), int(end)) for start, end in data.get("at_once") or ())
        return cls(**{**data, **parts, "by_script": acts, "at_once": at_once})


def is_inside(name: object) -> bool:
    """Whether ``name``, a file name from a record, stays in the record's folder.

    >>> is_inside("screenshots/000.png"), is_inside("screenshots/../../x"), is_inside("/etc/passwd")
    (True, False, False)
    """
    if not isinstance(name, str) or "\0" in name:
        return False
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """``text``, cut to ``longest`` characters with a note of its full length if it is longer.

    >>> cut("abc", 3), cut("abcd", 3)
    ('abc', 'abc […] (cut here, 4 characters in all)')
    """
    return text if len(text) <= longest else f"{text[:longest]} […] (cut here, {len(text):,} characters in all)"


def _cut_all(value: Any) -> Any:
    match value:
        case str():
            return cut(value)
        case dict():
            return {key: _cut_all(each) for key, each in value.items()}
        case list() | tuple():
            return [_cut_all(each) for each in value[:LONGEST_TEXT]]
    return value
