"""What is recorded of each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath
from typing import Any

from pytest_webarena.evidence.usage import Usage
from pytest_webarena.signals import TargetRecord

__all__ = ["LONGEST_TEXT", "ScriptAct", "StepRecord", "cut", "is_inside"]

LONGEST_TEXT = 100_000
"""Characters of any one text of an agent's that is recorded and judged, its answer included. Nobody who knows an answer
needs more to say it, and what is recorded of a trial stays bounded whatever an agent says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ScriptAct:
    """What a script did to an element, without a command that is a step."""

    event: str
    """As `DomEvent.event` says it: ``click``, ``change``, ``set``, ``submit``, ``keydown``, …"""
    target: TargetRecord
    selector: str = ""
    """Playwright's, into frames and open shadow trees; empty where nobody knows the way."""
    rows: tuple[tuple[str, ...], ...] = ()
    """As of `DomEvent`: what its selector counts must read as it did."""
    value: str | None = None
    """What the field holds since, the labels of what is chosen in a list one a line; of a ``keydown`` the keys."""
    tab: int = 0
    """Which tab, from 0 in the order in which they came up."""
    commanded: bool = False
    """One of the agent's commands that may run scripts was under way, and no event of which it came; else it may be the
    page's own doing."""

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> ScriptAct:
        """Read what `dataclasses.asdict` made. `TypeError` when a field is missing or unknown."""
        rows = tuple(tuple(row) for row in data.get("rows", ()))
        return cls(**{**data, "target": TargetRecord(**data.get("target", 0)), "rows": rows})


@dataclass(frozen=True, slots=True, kw_only=True)
class StepRecord:
    """One round: what was seen, said and done."""

    index: int
    """From 0."""
    action: Mapping[str, Any]
    """`actions.as_record` of the action."""
    raw: str
    """What the agent said, verbatim."""
    error: str = ""
    """Why the action had no effect, as told to the agent; empty when it worked."""
    url_before: str = ""
    url_after: str = ""
    target: TargetRecord | None = None
    value: str | None = None
    """Typed text, chosen option or pressed keys."""
    left: str | None = None
    """Of text that an agent wrote which drives the browser itself: what the field held when it was in, as the page's
    own event tells. None of other steps, of a password's field, and where nothing tells."""
    at_once: tuple[tuple[int, int], ...] = ()
    """Of such text: from where to where it was put in by one command each, not by keys."""
    tab: int = 0
    """The tab acted on, from 0."""
    observation: str = ""
    """File of the observation shown to the agent, relative to the attempt folder."""
    screenshot: str = ""
    """File of the screenshot, relative to the attempt folder; empty when none was taken."""
    started: float = 0.0
    """Seconds since the episode began."""
    seconds: Mapping[str, float] = field(default_factory=dict)
    """How long `observe`, `act` and `execute` took."""
    thought: str = ""
    """What the agent said of its reasons, where that is apart from the action."""
    retries: int = 0
    """Replies before this one that were no action and were asked for again without a step."""
    usage: Usage | None = None
    """What the step's model calls used; None for agents that report none."""
    model_calls: str = ""
    """File of the prompts sent and the replies got, relative to the attempt folder; empty when there is none."""
    by_script: tuple[ScriptAct, ...] = ()
    """What scripts had done when the step began, since the one before: an agent's that drives the browser itself, or
    the page's own. They are no steps and count as none; a replay does them again."""

    def bounded(self) -> StepRecord:
        """The same with no text longer than `LONGEST_TEXT`; what was cut says how long it was."""
        said = ("action", "raw", "error", "value", "left", "thought")
        parts = (*said, "url_before", "url_after", "observation", "model_calls")
        acts = tuple(replace(each, value=_cut_all(each.value)) for each in self.by_script)
        return replace(self, by_script=acts, **{name: _cut_all(getattr(self, name)) for name in parts})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StepRecord:
        """Read what `dataclasses.asdict` made. `TypeError` when a field is missing or unknown.

        A file's name that leads out of the attempt's folder is left out: an agent may have given it.
        """
        files = {name: data[name] for name in ("observation", "screenshot", "model_calls") if name in data}
        data = {**data, **{name: file if is_inside(file) else "" for name, file in files.items()}}
        target, usage = data.get("target"), data.get("usage")
        parts = {"target": TargetRecord(**target) if target else None, "usage": Usage(**usage) if usage else None}
        acts = tuple(ScriptAct.from_json(each) for each in data.get("by_script") or ())
        at_once = tuple((int(start), int(end)) for start, end in data.get("at_once") or ())
        return cls(**{**data, **parts, "by_script": acts, "at_once": at_once})


def is_inside(name: object) -> bool:
    """Whether ``name``, of a file that a record names, stays in the record's folder.

    >>> is_inside("screenshots/000.png"), is_inside("screenshots/../../x"), is_inside("/etc/passwd")
    (True, False, False)
    """
    if not isinstance(name, str) or "\0" in name:
        return False
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts


def cut(text: str, longest: int = LONGEST_TEXT) -> str:
    """``text``, or its beginning and how long it was.

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
