"""The agent that repeats a recorded trial: it recovers the targets and reports where it diverged."""

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
from pytest_webarena.agents.form_fields import field_value, named_elements, pieces_of, rewrite_typing
from pytest_webarena.agents.protocol import Reply
from pytest_webarena.agents.recording import Recording
from pytest_webarena.agents.script_actions import repetitions_of, script_action_steps
from pytest_webarena.agents.target_recovery import missing_target, targets_of
from pytest_webarena.agents.wire import action_from_record
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.evidence import StepRecord

__all__ = ["ANSWERS", "FILE", "ReplayAgent", "WaitForContent"]

FILE = "replay.txt"
"""Log file in the attempt's folder, with a line for each step."""
ANSWERS = frozenset({AcceptDialog.kind, DismissDialog.kind})
_CONTENT_WAIT = 2.0
"""Maximum time to wait for content that a page shows late, in seconds."""
_COVERED = " is covered by "
"""Part of the error of an action at an element that another one covers."""


@dataclass(frozen=True, slots=True)
class _Try:
    action: Action
    recovery: str
    """How the target was recovered; empty for the recorded one."""


class WaitForContent(Wait):
    """A wait that is not in the recording."""


class ReplayAgent:
    """Repeats the steps of one recording. Differences are stated in each step's thought and at the end; ``replay.txt``
    has a line for each step: as recorded, healed and how, not found, or how the page differs."""

    def __init__(self, recording: Recording, folder: Path | None) -> None:
        self._recording = recording
        self._folder = folder
        self._number = -1
        self._tries: Iterator[_Try] = iter(())
        self._current: StepRecord | None = None
        self._recovery = ""
        """How the current step's target was found; empty: as recorded."""
        self._first = ""
        self._field_difference = ""
        """How the field of the next typing differs from the recording."""
        self._self_driven = recording.self_driven
        self._tab_switched_at_step: StepRecord | None = None
        """The step before which the replay switched to another tab."""
        self._waited_at_step: tuple[int, bool] | None = None
        """Index of the step before which the replay waited for late content, and whether it is a script's action."""
        self._previous_text = ""
        """The text shown before the last step."""
        self._first_error = ""
        """Why the first try of the current step had no effect."""
        self._healed_count = 0
        valid_steps = [step for step in recording.steps if step.action.get("kind") != "invalid"]
        self._total = len(valid_steps)
        self._rest: list[StepRecord] = []
        before: StepRecord | None = None
        for step in valid_steps:
            self._rest += (*script_action_steps(step, before), replace(step, by_script=()))
            if before is None or step.action.get("kind") not in ANSWERS:  # a dialog hides the page
                before = step

    def act(self, observation: Observation) -> Reply:
        """The next step, or the same step with another target when the last try had no effect."""
        thoughts: list[str] = []
        step = self._current
        if step is not None and observation.error and not step.error and step.action.get("kind") != "scroll":
            covered = _COVERED in observation.error  # the covering element has the target's point
            remaining = (each for each in self._tries if not covered or not isinstance(_target(each.action), Point))
            attempt = next(remaining, None)
            reason, self._first_error = self._first_error or observation.error, ""
            if attempt is not None:
                self._first_error = reason
                return self._reply(attempt, thoughts)
            if not step.by_script:
                return self._end_without_target(step, observation)
            thoughts.append(self._note_not_repeated(step, reason))
        elif step is not None:
            differs = self._compare(step, observation)
            thoughts += differs
            self._log_step(step, differs)
        while self._rest:
            if self._is_in_another_tab(self._rest[0], observation):
                self._tab_switched_at_step = self._rest[0]
                self._current = None
                return Reply(FocusTab(self._rest[0].tab), thought="; ".join(thoughts))
            if self._is_not_yet_shown(self._rest[0], observation):
                self._waited_at_step = (self._rest[0].index, bool(self._rest[0].by_script))
                self._current = None
                return Reply(WaitForContent(_CONTENT_WAIT), thought="; ".join(thoughts))
            self._number += not self._rest[0].by_script
            self._current, self._first_error = self._rest.pop(0), ""
            step = self._current
            self._tries = iter(self._attempts(step, observation))
            attempt = next(self._tries, None)
            if attempt is not None:
                self._previous_text = observation.text
                return self._reply(attempt, thoughts)
            if step.by_script:
                thoughts.append(self._note_not_repeated(step, "its target is not there"))
            elif step.action.get("target") is not None or step.target is not None:
                return self._end_without_target(step, observation)
            elif step.action.get("kind") == "goto":
                self._note(f"{self._named(step)}: as recorded, the page went there without an action")
        return self._reply(_Try(Stop(""), ""), thoughts)

    def _is_in_another_tab(self, step: StepRecord, observation: Observation) -> bool:
        """Whether the step belongs to another tab than the current one and no step switches there: agents that drive
        the browser act in any tab."""
        if self._tab_switched_at_step is step or not self._self_driven:
            return False
        return step.tab < len(observation.tabs) and not observation.tabs[step.tab].active

    def _is_not_yet_shown(self, step: StepRecord, observation: Observation) -> bool:
        """Whether the step's target was shown in the recording and is not shown yet: the replay is faster than agents
        are."""
        if self._waited_at_step == (step.index, bool(step.by_script)):
            return False
        return bool(missing_target(step, self._recording.text_before(step), observation.text))

    def _reply(self, attempt: _Try, thoughts: list[str]) -> Reply:
        self._recovery = attempt.recovery
        if attempt.recovery and self._current is not None:
            thoughts.append(f"target of {self._where(self._current)} found by {attempt.recovery}")
        if self._field_difference:
            thoughts.append(self._field_difference)
        if isinstance(attempt.action, Stop):
            thoughts.append(self._summary())
            self._note(self._summary())
        return Reply(attempt.action, thought="; ".join(thoughts))

    def _compare(self, step: StepRecord, observation: Observation) -> list[str]:
        """Differences after the step: in the address, or in the value of its field."""
        if step.by_script:
            return self._compare_act(step, observation)
        if step.url_after and _place(step.url_after) != _place(observation.url):
            return [
                self._note_divergence(f"after {self._where(step)} expected {step.url_after}, found {observation.url}")
            ]
        if self._is_closed_by_next(step):
            return []
        _, recorded = self._recorded_values(step)
        now = field_value(observation.text, step.target.role, step.target.name) if step.target else None
        if recorded is None or now is None or recorded == now:
            return []
        return [self._note_divergence(f"after {self._where(step)} {_value_difference(step, recorded, now)}")]

    def _compare_act(self, act: StepRecord, observation: Observation) -> list[str]:
        """Differences after the last script action before a step: in the field's value when that step began."""
        if act.target is None or (self._rest and self._rest[0].by_script):
            return []
        first_step = next(each for each in self._recording.steps if each.index == act.index)
        texts = (self._recording.text_before(first_step), observation.text)
        recorded, current = (field_value(text, act.target.role, act.target.name) for text in texts)
        if recorded is None or current is None or recorded == current:
            return []
        return [self._note_divergence(f"after {self._where(act)} {_value_difference(act, recorded, current)}")]

    def _is_closed_by_next(self, step: StepRecord) -> bool:
        """Whether the next step is a key that closes the list in which this one typed. An open list does not show its
        final value yet, and the replay has none open, so the value is compared after that key."""
        next_step, hit = (self._rest[0] if self._rest else None), step.target
        if hit is None or hit.role != "combobox" or step.action.get("kind") != "type" or next_step is None:
            return False
        where = next_step.target and (next_step.target.role, next_step.target.name)
        return next_step.action.get("keys") == "Enter" and where == (hit.role, hit.name)

    def _recorded_values(self, step: StepRecord) -> tuple[str | None, str | None]:
        """The values of the step's field before and after it, as far as the recording shows them."""
        if step.target is None:
            return None, None
        later = next((each for each in self._recording.steps if each.index > step.index), None)
        texts = [self._recording.text_before(each) if each is not None else "" for each in (step, later)]
        before, after = (field_value(text, step.target.role, step.target.name) for text in texts)
        return before, after

    def _note_divergence(self, text: str) -> str:
        self._first = self._first or text
        return f"diverged: {text}"

    def _end_without_target(self, step: StepRecord, observation: Observation) -> Reply:
        text = f"{self._named(step)} can't be repeated at {observation.url}"
        text += f": {observation.error}" if observation.error else ": its target is not there"
        reason = observation.error or "its target is not there"
        self._note_divergence(text)
        self._note(f"{self._named(step)}: not found: at {observation.url}: {reason}")
        self._note(self._summary())
        return Reply(Stop(""), thought=text, ended=("invalid", f"the replay diverged: {self._first}"))

    def _note_not_repeated(self, step: StepRecord, reason: str) -> str:
        """Report a script action that could not be repeated. The page's own script may have done it; later comparisons
        show the effect."""
        self._current = None
        self._note(f"{self._named(step)}: not done again: {reason}")
        return self._note_divergence(f"{self._where(step)} {_step_text(step)} can't be repeated: {reason}")

    def _summary(self) -> str:
        healed = f"{self._healed_count} targets found again" if self._healed_count else "all targets as recorded"
        return f"{self._total} steps, {healed}, " + (
            f"diverged first {self._first}" if self._first else "no divergence"
        )

    def _named(self, step: StepRecord) -> str:
        return f"{self._where(step)} of {self._total} ({_step_text(step)})"

    def _where(self, step: StepRecord) -> str:
        return f"what a script did before step {self._number + 1}" if step.by_script else f"step {self._number}"

    def _log_step(self, step: StepRecord, differs: Sequence[str]) -> None:
        """Write the line of a finished step."""
        result = f"healed: found by {self._recovery}" if self._recovery else "as recorded"
        self._healed_count += bool(self._recovery)
        field_difference = [self._field_difference] if self._field_difference else []
        self._field_difference = self._recovery = ""
        pages = [f"the page differs: {each.removeprefix('diverged: ')}" for each in (*field_difference, *differs)]
        self._note(f"{self._named(step)}: {'; '.join([result, *pages])}")

    def _note(self, line: str) -> None:
        if self._folder is not None:
            with (self._folder / FILE).open("a", encoding="utf-8") as file:
                file.write(f"{line}\n")

    def _attempts(self, step: StepRecord, observation: Observation) -> Iterator[_Try]:
        """The recorded action with one target after the other."""
        if step.by_script:
            attempts = repetitions_of(step, self._recording.text_before(step), observation.text, self._previous_text)
            yield from (_Try(action, recovery) for action, recovery in attempts)
            return
        record = dict(step.action)
        kind = record.get("kind")
        if isinstance(to := record.get("to"), Mapping) and "id" in to:
            record["to"] = {"id": self._current_id(str(to["id"]), step, observation)}
        if (
            kind == "goto"
            and step.raw.startswith("navigation without")
            and _navigated_without_command(step, observation.url)
        ):
            return
        if kind == "search":  # the search service is not available in a replay: go to the result if there was one
            changed_address = not step.error and step.url_after != step.url_before
            yield _Try(Goto(step.url_after) if changed_address else Noop(), "")
            return
        if kind == "new_tab" and step.value:
            self._rest.insert(0, replace(step, action={"kind": "goto", "url": step.value}, value=None))
        if "target" not in record or (record["target"] is None and step.target is None):
            if kind == "type" and (pieces := pieces_of(step, text := str(record.get("text", "")))):
                yield _Try(TypeFocused(None, text, pieces=pieces), "")
                return
            if kind == "type":  # no target is known: type key by key into the focused element
                keys = [replace(step, action={"kind": "press", "keys": key}) for key in str(record.get("text", ""))]
                self._rest[:0] = keys
                return
            yield _Try(_action(record, None), "")
            return
        if kind == "type" and self._self_driven and step.target is not None and step.target.tag == "select":
            _, chosen = self._recorded_values(step)  # typing in a list selects by first letters
            record = {"kind": "select", "target": None, "options": [chosen]} if chosen else record
        elif kind in ("type", "press") and step.target is not None:
            before, after = self._recorded_values(step)
            now = field_value(observation.text, step.target.role, step.target.name)
            if (changed := rewrite_typing(record, before, after, now, step.left)) is not None:
                record = changed
                if None not in (before, now) and before != now:  # a script emptied it, or the page differs
                    self._field_difference = (
                        f"before {self._where(step)} {_value_difference(step, before, now)}; rewritten"
                    )
        recorded_text = self._recording.text_before(step)
        if not self._field_difference and (missing_name := missing_target(step, recorded_text, observation.text)):
            self._field_difference = (
                f"before {self._where(step)} expected {missing_name}, found none in the observation"
            )
        for target, recovery in targets_of(step, recorded_text, observation.text):
            yield _Try(_action(record, target, step), recovery)

    def _current_id(self, id: str, step: StepRecord, observation: Observation) -> str:
        """The id of the only element with the recorded role and name of ``id``; ``id`` itself if that is unknown.

        For the end of a drag, of which only the id is recorded.
        """
        recorded = named_elements(self._recording.text_before(step))
        identity = next(((role, name) for old, role, name in recorded if old == id), None)
        matching_ids = [new for new, role, name in named_elements(observation.text) if (role, name) == identity]
        return matching_ids[0] if len(matching_ids) == 1 else id


def _target(action: Action) -> Target | None:
    target: Target | None = getattr(action, "target", None)
    return target


def _action(record: Mapping[str, Any], target: Target | None, step: StepRecord | None = None) -> Action:
    """The recorded action with another target. Keys went to the focused element; clicking it could have another
    effect."""
    if target is None:
        return action_from_record(record)
    if step is not None and step.action.get("target") is None and record.get("kind") in (Press.kind, Type.kind):
        keys = action_from_record({**record, "target": None})
        if isinstance(keys, Press):
            return PressFocused(keys.keys, target)
        if isinstance(keys, Type):
            return TypeFocused(target, keys.text, keys.clear, keys.enter, pieces_of(step, keys.text))
    return action_from_record({**record, "target": as_record(Click(target))["target"]})


def _value_difference(step: StepRecord, recorded: str | None, current: str | None) -> str:
    where = f"{step.target.role} {step.target.name!r}" if step.target else ""
    return f"expected {clip(repr(recorded), 80)} in {where}, found {clip(repr(current), 80)}"


def _step_text(step: StepRecord) -> str:
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


def _navigated_without_command(step: StepRecord, url: str) -> bool:
    """Whether the page navigated without a command, as recorded. It may add its own query; with the query from before
    it has not moved, as when a client chose an order by script and the page navigated with it."""
    return _place(url) == _place(step.url_after) and (url != step.url_before or url == step.url_after)
