"""What is recorded of each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pytest_webarena.evidence.usage import Usage
from pytest_webarena.signals import TargetRecord

__all__ = ["LONGEST_TEXT", "FilledField", "StepRecord", "cut"]

LONGEST_TEXT = 100_000
"""Characters of any one text of an agent's that is recorded and judged, its answer included. Nobody who knows an answer
needs more to say it, and what is recorded of a trial stays bounded whatever an agent says."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FilledField:
    """A field that holds something else than its document came with."""

    target: TargetRecord
    values: tuple[str, ...]
    """The labels of what is chosen in a list, or the one text."""
    is_list: bool = False

    def action(self) -> dict[str, Any]:
        """What puts it there again, as `actions.as_record` writes it.

        >>> FilledField(target=TargetRecord(selector="#corn"), values=("Rye",), is_list=True).action()
        {'kind': 'select', 'target': {'selector': 'css=#corn'}, 'options': ['Rye']}
        """
        target = {"selector": f"css={self.target.selector}"}
        if self.is_list:
            return {"kind": "select", "target": target, "options": list(self.values)}
        return {"kind": "type", "target": target, "text": "".join(self.values), "clear": True, "enter": False}

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> FilledField:
        """Read what `dataclasses.asdict` made. `TypeError` when a field is missing or unknown."""
        target, values = TargetRecord(**data.get("target", 0)), tuple(data.get("values", 0))
        return cls(**{**data, "target": target, "values": values})


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
    exchange: str = ""
    """File of the prompts sent and the replies got, relative to the attempt folder; empty when there is none."""
    filled: tuple[FilledField, ...] = ()
    """Found filled when the step began, by no command that was seen: a script of the agent's has done it, or the
    page's own. They are no steps, count as none, and a replay fills what it does not find filled."""

    def bounded(self) -> StepRecord:
        """The same with no text longer than `LONGEST_TEXT`; what was cut says how long it was."""
        parts = ("action", "raw", "error", "url_before", "url_after", "value", "observation", "thought", "exchange")
        filled = tuple(replace(each, values=tuple(map(cut, each.values))) for each in self.filled)
        return replace(self, filled=filled, **{name: _cut_all(getattr(self, name)) for name in parts})

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> StepRecord:
        """Read what `dataclasses.asdict` made. `TypeError` when a field is missing or unknown."""
        target, usage = data.get("target"), data.get("usage")
        parts = {"target": TargetRecord(**target) if target else None, "usage": Usage(**usage) if usage else None}
        filled = tuple(FilledField.from_json(each) for each in data.get("filled") or ())
        return cls(**{**data, **parts, "filled": filled})


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
