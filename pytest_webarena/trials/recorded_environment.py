"""A recorded trial in place of sites and browser: shows what was shown, as long as what was done is done."""

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
"""Characters of an action, in messages."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """Where an agent did something else than the recording holds."""

    step: int
    """From 0."""
    of: int
    """How many steps the recording has."""
    url: str
    """Where the recording stood."""
    recorded: str
    done: str
    why: str

    def __str__(self) -> str:
        return (
            f"left the record at step {self.step + 1} of {self.of}, at {self.url or 'no address'}: {self.why}\n"
            f"recorded: {self.recorded}\nthe agent: {self.done}"
        )


class LeftRecord(Exception):
    """Ends an episode whose agent is on its own ways: nobody knows what it would see there."""

    def __init__(self, departure: Departure) -> None:
        super().__init__(str(departure))
        self.departure = departure


class RecordedSession(Pageless):
    """Shows each observation of a recording, once the action before it was the recorded one.

    After another one `observe` raises `LeftRecord`. `HarnessError` where what was shown is not in the recording.
    """

    def __init__(self, attempt: Path, steps: Sequence[StepRecord]) -> None:
        super().__init__()
        self._attempt = attempt
        self._steps = tuple(steps)
        self._next = 0
        """The step that is to be decided on."""
        self._asked = False
        """Whether its observation was shown, and nothing was done since."""
        self._departure: Departure | None = None

    @property
    def environment(self) -> dict[str, Any]:
        """For the trial's record: there was no browser."""
        return {"browser": "none"}

    @property
    def followed(self) -> int:
        """How many steps the agent did as they are recorded."""
        return self._next

    @property
    def address(self) -> str:
        """Where the recording stands."""
        return self._steps[self._next].url_before if self._next < len(self._steps) else ""

    def observe(self) -> Observation:
        """What was shown before the next step."""
        if self._asked:  # and nothing was carried out: its reply was no action
            self.take(Invalid("", ""))
        if self._departure is not None:
            raise LeftRecord(self._departure)
        if self._next >= len(self._steps):
            raise LeftRecord(self._leave("", "goes on", "the record ends here"))
        self._asked = True
        before = self._steps[self._next - 1] if self._next else None
        try:
            return read_look(self._attempt, self._steps[self._next], before)
        except ValueError as error:
            raise HarnessError(
                f"{error}. An agent can be run on records of runs with --record=all, the default"
            ) from None

    def execute(self, action: Action) -> Outcome:
        """What came of the recorded action, if this is the same one."""
        step = self._steps[self._next]
        self.take(action)
        if self._departure is not None:
            return Outcome(error="left the record", url_before=step.url_before, url_after=step.url_before)
        return Outcome(
            error=step.error, url_before=step.url_before, url_after=step.url_after, target=step.target,
            value=step.value, tab=step.tab,
        )  # fmt: skip

    def take(self, action: Action) -> Departure | None:
        """Hold the agent's ``action`` against the next recorded step; where it differs, if it does."""
        self._asked = False
        step = self._steps[self._next]
        seen = self._seen(step)
        why = _invalid(step) if isinstance(action, Invalid) else difference(action, step, seen)
        if why:
            return self._leave(_recorded(step, seen), _told(action, seen), why)
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


def _recorded(step: StepRecord, seen: str) -> str:
    """The recorded action, with the element that it hit."""
    hit, target = step.target, step.action.get("target") or {}
    told = f" ({hit.role} {hit.name!r})" if hit is not None and hit.role and "id" not in target else ""
    return clip(_described(step.action, seen) + told, _LONGEST)


def _told(action: Action, seen: str) -> str:
    return "no action" if isinstance(action, Invalid) else _described(as_record(action), seen)


def _described(record: Mapping[str, Any], seen: str) -> str:
    """An action for people, with the line of the observation that its id stands for."""
    try:
        told = describe_step(action_from_record(record))
    except ValueError:
        told = str(record.get("kind", "nothing"))
    target = record.get("target")
    line = ""
    if isinstance(target, Mapping) and "id" in target:
        line = next((each.strip() for each in seen.splitlines() if each.strip().startswith(f"[{target['id']}]")), "")
    return clip(f"{told} ({line})" if line else told, _LONGEST)


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedScene:
    """What an agent acts on (`agent_run.Scene`) when it is run on a recording."""

    session: RecordedSession
    sites: Mapping[str, str]
    start: tuple[str, ...] = ()
    images: tuple[InputImage, ...] = ()
    reach: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))
    driven: None = None

    def arrive(self) -> float:
        """Nothing is on its way."""
        return 0.0

    def refusal(self, url: str) -> str:
        """Nothing is asked for."""
        return ""
