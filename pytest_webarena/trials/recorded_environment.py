"""A recorded trial in place of sites and browser: shows the recorded observations while the agent repeats the recorded
actions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pytest_webarena.actions import Action, Invalid, as_record
from pytest_webarena.agents.builtin import describe_step
from pytest_webarena.agents.step_equality import difference
from pytest_webarena.agents.wire import action_from_record
from pytest_webarena.browser.pageless import Pageless
from pytest_webarena.browser.reports import Outcome
from pytest_webarena.errors import HarnessError
from pytest_webarena.results.observation_store import read_look
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import InputImage
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.evidence import StepRecord

__all__ = ["Departure", "LeftRecord", "RecordedScene", "RecordedSession"]

_LONGEST = 200
"""Maximum length of an action in messages, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """The step at which an agent did something else than was recorded."""

    step: int
    """Index of the step, from 0."""
    of: int
    """Number of steps in the recording."""
    url: str
    """Address of the recorded page at that step."""
    recorded: str
    done: str
    why: str

    def __str__(self) -> str:
        return (
            f"left the record at step {self.step + 1} of {self.of}, at {self.url or 'no address'}: {self.why}\n"
            f"recorded: {self.recorded}\nthe agent: {self.done}"
        )


class LeftRecord(Exception):
    """Ends an episode whose agent departed from the recording: what it would see next is unknown."""

    def __init__(self, departure: Departure) -> None:
        super().__init__(str(departure))
        self.departure = departure


class RecordedSession(Pageless):
    """Shows each observation of a recording after the agent has repeated the recorded action before it.

    After a different action `observe` raises `LeftRecord`. `HarnessError` when an observation is not in the recording.
    """

    def __init__(self, attempt: Path, steps: Sequence[StepRecord]) -> None:
        super().__init__()
        self._attempt = attempt
        self._steps = tuple(steps)
        self._next = 0
        """Index of the step to be decided next."""
        self._is_shown = False
        """Whether the step's observation was shown and no action has followed."""
        self._departure: Departure | None = None

    @property
    def environment(self) -> dict[str, Any]:
        """Browser facts for the trial's record: there was none."""
        return {"browser": "none"}

    @property
    def followed(self) -> int:
        """Number of steps that the agent has repeated."""
        return self._next

    @property
    def address(self) -> str:
        """Address of the recorded page before the next step."""
        return self._steps[self._next].url_before if self._next < len(self._steps) else ""

    def observe(self) -> Observation:
        """The recorded observation before the next step."""
        if self._is_shown:  # shown, but nothing was executed: the reply was no action
            self.take(Invalid("", ""))
        if self._departure is not None:
            raise LeftRecord(self._departure)
        if self._next >= len(self._steps):
            raise LeftRecord(self._leave("", "goes on", "the record ends here"))
        self._is_shown = True
        before = self._steps[self._next - 1] if self._next else None
        try:
            return read_look(self._attempt, self._steps[self._next], before)
        except ValueError as error:
            raise HarnessError(
                f"{error}. An agent can be run on records of runs with --record=all, the default"
            ) from None

    def execute(self, action: Action) -> Outcome:
        """The recorded outcome, if ``action`` is the recorded one."""
        step = self._steps[self._next]
        self.take(action)
        if self._departure is not None:
            return Outcome(error="left the record", url_before=step.url_before, url_after=step.url_before)
        return Outcome(
            error=step.error, url_before=step.url_before, url_after=step.url_after, target=step.target,
            value=step.value, tab=step.tab,
        )  # fmt: skip

    def take(self, action: Action) -> Departure | None:
        """Compare the agent's ``action`` with the next recorded step; return the departure if they differ."""
        self._is_shown = False
        step = self._steps[self._next]
        observation = self._seen(step)
        why = _invalid(step) if isinstance(action, Invalid) else difference(action, step, observation)
        if why:
            return self._leave(_recorded(step, observation), _done(action, observation), why)
        self._next += 1
        return None

    def _seen(self, step: StepRecord) -> str:
        try:
            return (self._attempt / step.observation).read_text("utf-8", errors="replace") if step.observation else ""
        except OSError:
            return ""

    def _leave(self, recorded: str, done: str, why: str) -> Departure:
        self._departure = Departure(
            step=self._next,
            of=len(self._steps),
            url=self.address,
            recorded=recorded or "nothing more",
            done=done,
            why=why,
        )
        return self._departure


def _invalid(step: StepRecord) -> str:
    return "" if step.action.get("kind") == "invalid" else "its reply is no action"


def _recorded(step: StepRecord, observation: str) -> str:
    """The recorded action and the element that it acted on."""
    target_record, target = step.target, step.action.get("target") or {}
    text = (
        f" ({target_record.role} {target_record.name!r})"
        if target_record is not None and target_record.role and "id" not in target
        else ""
    )
    return clip(_described(step.action, observation) + text, _LONGEST)


def _done(action: Action, observation: str) -> str:
    return "no action" if isinstance(action, Invalid) else _described(as_record(action), observation)


def _described(record: Mapping[str, Any], observation: str) -> str:
    """An action as text, with the line of the observation that its element id refers to."""
    try:
        text = describe_step(action_from_record(record))
    except ValueError:
        text = str(record.get("kind", "nothing"))
    target = record.get("target")
    line = ""
    if isinstance(target, Mapping) and "id" in target:
        line = next(
            (each.strip() for each in observation.splitlines() if each.strip().startswith(f"[{target['id']}]")), ""
        )
    return clip(f"{text} ({line})" if line else text, _LONGEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedScene:
    """The environment (`agent_run.Scene`) of an agent that runs on a recording."""

    session: RecordedSession
    sites: Mapping[str, str]
    start: tuple[str, ...] = ()
    images: tuple[InputImage, ...] = ()
    reach: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    driven: None = None

    def arrive(self) -> float:
        """Return 0.0: a recording has no sites to wait for."""
        return 0.0

    def refusal(self, url: str) -> str:
        """Return an empty text: nothing is requested."""
        return ""
