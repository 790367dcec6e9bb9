"""The agent that repeats a recorded trial: it finds the targets again and says where it diverged."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pytest_webarena.actions import (
    AcceptDialog,
    Action,
    Click,
    DismissDialog,
    FocusTab,
    Goto,
    Noop,
    Point,
    Press,
    PressFocused,
    Stop,
    Target,
    Type,
    TypeFocused,
    Wait,
    as_record,
)
from pytest_webarena.agents.builtin import describe_step
from pytest_webarena.agents.form_fields import field_value, named_elements, pieces_of, rewritten
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.agents.recording import Recording
from pytest_webarena.agents.script_actions import acts_of, ways_to
from pytest_webarena.agents.target_recovery import missing, targets_of
from pytest_webarena.agents.wire import action_from_record
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.evidence import StepRecord

__all__ = ["ANSWERS", "FILE", "LookAgain", "ReplayAgent"]

FILE = "replay.txt"
"""Of the attempt's folder: a line for each step."""
ANSWERS = frozenset({AcceptDialog.kind, DismissDialog.kind})
_LOOK_AGAIN = 2.0
"""Seconds, at most, for what a page shows late."""
_COVERED = " is covered by "
"""In what is said of an action at an element that something lies over."""


@dataclass(frozen=True, slots=True)
class _Try:
    action: Action
    how: str
    """How its target was found again; empty for the recorded one."""


class LookAgain(Wait):
    """One of which nothing is recorded."""


class ReplayAgent:
    """Repeats the steps of one recording. What it finds differently is told in each step's thought and at the end;
    ``replay.txt`` has a line for each step: as recorded, healed by what, not found, or in what the page differs.
    """

    def __init__(self, recording: Recording, folder: Path | None) -> None:
        self._recording = recording
        self._folder = folder
        self._number = -1
        self._tries: Iterator[_Try] = iter(())
        self._current: StepRecord | None = None
        self._how = ""
        """By what the current step's target was found; empty: as recorded."""
        self._first = ""
        self._unlike = ""
        """What the field that is written next held otherwise than in the recording."""
        self._self_driven = recording.self_driven
        self._looked_for_tab: StepRecord | None = None
        """The step before which another tab was made current."""
        self._looked_again: tuple[int, bool] | None = None
        """The step before which what its page shows late was waited for, and whether it was a script's."""
        self._before = ""
        """What was shown before the step that was done last."""
        self._why = ""
        """Why the current step's first try had no effect."""
        self._healed = 0
        done = [step for step in recording.steps if step.action.get("kind") != "invalid"]
        self._total = len(done)
        self._rest: list[StepRecord] = []
        before: StepRecord | None = None
        for step in done:
            self._rest += (*acts_of(step, before), replace(step, by_script=()))
            if before is None or step.action.get("kind") not in ANSWERS:  # below a dialog no page is shown
                before = step

    def act(self, observation: Observation) -> Reply:
        """The next step, or the same one at another target when its last try had no effect."""
        thoughts: list[str] = []
        step = self._current
        if step is not None and observation.error and not step.error and step.action.get("kind") != "scroll":
            covered = _COVERED in observation.error  # what lies over it has its point
            left = (each for each in self._tries if not covered or not isinstance(_target(each.action), Point))
            attempt = next(left, None)
            why, self._why = self._why or observation.error, ""
            if attempt is not None:
                self._why = why
                return self._reply(attempt, thoughts)
            if not step.by_script:
                return self._lost(step, observation)
            thoughts.append(self._not_done(step, why))
        elif step is not None:
            differs = self._compare(step, observation)
            thoughts += differs
            self._tell(step, differs)
        while self._rest:
            if self._is_elsewhere(self._rest[0], observation):
                self._looked_for_tab = self._rest[0]
                self._current = None
                return Reply(FocusTab(self._rest[0].tab), thought="; ".join(thoughts))
            if self._comes_late(self._rest[0], observation):
                self._looked_again = (self._rest[0].index, bool(self._rest[0].by_script))
                self._current = None
                return Reply(LookAgain(_LOOK_AGAIN), thought="; ".join(thoughts))
            self._number += not self._rest[0].by_script
            self._current, self._why = self._rest.pop(0), ""
            step = self._current
            self._tries = iter(self._ways(step, observation))
            attempt = next(self._tries, None)
            if attempt is not None:
                self._before = observation.text
                return self._reply(attempt, thoughts)
            if step.by_script:
                thoughts.append(self._not_done(step, "its target is not there"))
            elif step.action.get("target") is not None or step.target is not None:
                return self._lost(step, observation)
            elif step.action.get("kind") == "goto":
                self._note(f"{self._named(step)}: as recorded, the page went there without an action")
        return self._reply(_Try(Stop(""), ""), thoughts)

    def _is_elsewhere(self, step: StepRecord, observation: Observation) -> bool:
        """Whether the step was done in another tab than the current one, and no step led there: agents that drive the
        browser themselves act where they like."""
        if self._looked_for_tab is step or not self._self_driven:
            return False
        return step.tab < len(observation.tabs) and not observation.tabs[step.tab].active

    def _comes_late(self, step: StepRecord, observation: Observation) -> bool:
        """Whether its target was shown and is not yet: agents are slower than this one."""
        if self._looked_again == (step.index, bool(step.by_script)):
            return False
        return bool(missing(step, self._recording.seen(step), observation.text))

    def _reply(self, attempt: _Try, thoughts: list[str]) -> Reply:
        self._how = attempt.how
        if attempt.how and self._current is not None:
            thoughts.append(f"target of {self._where(self._current)} found by {attempt.how}")
        if self._unlike:
            thoughts.append(self._unlike)
        if isinstance(attempt.action, Stop):
            thoughts.append(self._summary())
            self._note(self._summary())
        return Reply(attempt.action, thought="; ".join(thoughts))

    def _compare(self, step: StepRecord, observation: Observation) -> list[str]:
        """Whether the step led where it had led, and its field holds what it had held."""
        if step.by_script:
            return self._compare_act(step, observation)
        if step.url_after and _place(step.url_after) != _place(observation.url):
            return [self._diverged(f"after {self._where(step)} expected {step.url_after}, found {observation.url}")]
        if self._goes_on(step):
            return []
        _, then = self._held(step)
        now = field_value(observation.text, step.target.role, step.target.name) if step.target else None
        if then is None or now is None or then == now:
            return []
        return [self._diverged(f"after {self._where(step)} {_held_otherwise(step, then, now)}")]

    def _compare_act(self, act: StepRecord, observation: Observation) -> list[str]:
        """After the last one before a step: whether its field holds what it held when that step began."""
        if act.target is None or (self._rest and self._rest[0].by_script):
            return []
        begun = next(each for each in self._recording.steps if each.index == act.index)
        texts = (self._recording.seen(begun), observation.text)
        then, now = (field_value(text, act.target.role, act.target.name) for text in texts)
        if then is None or now is None or then == now:
            return []
        return [self._diverged(f"after {self._where(act)} {_held_otherwise(act, then, now)}")]

    def _goes_on(self, step: StepRecord) -> bool:
        """Whether the next step is a key that closes the list which this one typed in: an open one does not show yet
        what it will hold, and a replay has none open. What it holds then is compared."""
        then, hit = (self._rest[0] if self._rest else None), step.target
        if hit is None or hit.role != "combobox" or step.action.get("kind") != "type" or then is None:
            return False
        where = then.target and (then.target.role, then.target.name)
        return then.action.get("keys") == "Enter" and where == (hit.role, hit.name)

    def _held(self, step: StepRecord) -> tuple[str | None, str | None]:
        """What the step's field held before it and after it, as far as the recording shows."""
        if step.target is None:
            return None, None
        later = next((each for each in self._recording.steps if each.index > step.index), None)
        shown = [self._recording.seen(each) if each is not None else "" for each in (step, later)]
        before, after = (field_value(text, step.target.role, step.target.name) for text in shown)
        return before, after

    def _diverged(self, text: str) -> str:
        self._first = self._first or text
        return f"diverged: {text}"

    def _lost(self, step: StepRecord, observation: Observation) -> Reply:
        text = f"{self._named(step)} can't be repeated at {observation.url}"
        text += f": {observation.error}" if observation.error else ": its target is not there"
        why = observation.error or "its target is not there"
        self._diverged(text)
        self._note(f"{self._named(step)}: not found: at {observation.url}: {why}")
        self._note(self._summary())
        return Reply(Stop(""), thought=text, ended=("invalid", f"the replay diverged: {self._first}"))

    def _not_done(self, step: StepRecord, why: str) -> str:
        """Maybe its page's own script had done it: what comes of it is seen."""
        self._current = None
        self._note(f"{self._named(step)}: not done again: {why}")
        return self._diverged(f"{self._where(step)} {_described(step)} can't be repeated: {why}")

    def _summary(self) -> str:
        healed = f"{self._healed} targets found again" if self._healed else "all targets as recorded"
        return f"{self._total} steps, {healed}, " + (
            f"diverged first {self._first}" if self._first else "no divergence"
        )

    def _named(self, step: StepRecord) -> str:
        return f"{self._where(step)} of {self._total} ({_described(step)})"

    def _where(self, step: StepRecord) -> str:
        return f"what a script did before step {self._number + 1}" if step.by_script else f"step {self._number}"

    def _tell(self, step: StepRecord, differs: Sequence[str]) -> None:
        """The line of a step that was done."""
        how = f"healed: found by {self._how}" if self._how else "as recorded"
        self._healed += bool(self._how)
        unlike = [self._unlike] if self._unlike else []
        self._unlike = self._how = ""
        pages = [f"the page differs: {each.removeprefix('diverged: ')}" for each in (*unlike, *differs)]
        self._note(f"{self._named(step)}: {'; '.join([how, *pages])}")

    def _note(self, line: str) -> None:
        if self._folder is not None:
            with (self._folder / FILE).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def _ways(self, step: StepRecord, observation: Observation) -> Iterator[_Try]:
        """The recorded action, at one target after the other."""
        if step.by_script:
            ways = ways_to(step, self._recording.seen(step), observation.text, self._before)
            yield from (_Try(action, how) for action, how in ways)
            return
        record = dict(step.action)
        kind = record.get("kind")
        if isinstance(to := record.get("to"), Mapping) and "id" in to:
            record["to"] = {"id": self._id_now(str(to["id"]), step, observation)}
        if kind == "goto" and step.raw.startswith("navigation without") and _went_by_itself(step, observation.url):
            return
        if kind == "search":  # who answered it then is not here: where it led, if it led anywhere
            led = not step.error and step.url_after != step.url_before
            yield _Try(Goto(step.url_after) if led else Noop(), "")
            return
        if kind == "new_tab" and step.value:
            self._rest.insert(0, replace(step, action={"kind": "goto", "url": step.value}, value=None))
        if "target" not in record or (record["target"] is None and step.target is None):
            if kind == "type" and (pieces := pieces_of(step, text := str(record.get("text", "")))):
                yield _Try(TypeFocused(None, text, pieces=pieces), "")
                return
            if kind == "type":  # nothing tells where: into whatever has the focus, key by key
                keys = [replace(step, action={"kind": "press", "keys": key}) for key in str(record.get("text", ""))]
                self._rest[:0] = keys
                return
            yield _Try(_action(record, None), "")
            return
        if kind == "type" and self._self_driven and step.target is not None and step.target.tag == "select":
            _, chosen = self._held(step)  # by the first letters of what it is called
            record = {"kind": "select", "target": None, "options": [chosen]} if chosen else record
        elif kind in ("type", "press") and step.target is not None:
            before, after = self._held(step)
            now = field_value(observation.text, step.target.role, step.target.name)
            if (anew := rewritten(record, before, after, now, step.left)) is not None:
                record = anew
                if None not in (before, now) and before != now:  # a script had emptied it, or the page is another
                    self._unlike = f"before {self._where(step)} {_held_otherwise(step, before, now)}; rewritten"
        then = self._recording.seen(step)
        if not self._unlike and (gone := missing(step, then, observation.text)):
            self._unlike = f"before {self._where(step)} expected {gone}, found nothing shown that is called so"
        for target, how in targets_of(step, then, observation.text):
            yield _Try(_action(record, target, step), how)

    def _id_now(self, id: str, step: StepRecord, observation: Observation) -> str:
        """The id of the only element with the role and name that ``id`` had then; the same id where that is unknown.

        For the end of a drag, of which nothing but its id is recorded.
        """
        then = next(((role, name) for old, role, name in named_elements(self._recording.seen(step)) if old == id), None)
        now = [new for new, role, name in named_elements(observation.text) if (role, name) == then]
        return now[0] if len(now) == 1 else id


def _target(action: Action) -> Target | None:
    target: Target | None = getattr(action, "target", None)
    return target


def _action(record: Mapping[str, Any], target: Target | None, step: StepRecord | None = None) -> Action:
    """The recorded action at another target. Keys went to what had the focus: to click that may do something else."""
    if target is None:
        return action_from_record(record)
    if step is not None and step.action.get("target") is None and record.get("kind") in (Press.kind, Type.kind):
        keys = action_from_record({**record, "target": None})
        if isinstance(keys, Press):
            return PressFocused(keys.keys, target)
        if isinstance(keys, Type):
            return TypeFocused(target, keys.text, keys.clear, keys.enter, pieces_of(step, keys.text))
    return action_from_record({**record, "target": as_record(Click(target))["target"]})


def _held_otherwise(step: StepRecord, then: str | None, now: str | None) -> str:
    where = f"{step.target.role} {step.target.name!r}" if step.target else ""
    return f"expected {clip(repr(then), 80)} in {where}, found {clip(repr(now), 80)}"


def _described(step: StepRecord) -> str:
    if step.by_script:
        [act] = step.by_script
        return f"{act.event} {act.target.role or act.target.tag} {act.target.name or act.selector!r}"
    if step.target is not None and step.target.name:
        return f"{step.action.get('kind')} {step.target.role} {step.target.name!r}"
    try:
        return describe_step(action_from_record(step.action))
    except ValueError:
        return str(step.action.get("kind"))


def _place(url: str) -> tuple[str, str]:
    parts = urlsplit(url)
    return parts.netloc, parts.path.rstrip("/")


def _went_by_itself(step: StepRecord, url: str) -> bool:
    """Whether the page led where it had led without a command. With a query of its own it may do so; with the one of
    before it has not moved, as where a client had chosen an order by script and the page went there with it."""
    return _place(url) == _place(step.url_after) and (url != step.url_before or url == step.url_after)
