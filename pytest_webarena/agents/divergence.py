"""Finds the step of a recorded trial at which a replay's verdict diverged, from the records of both."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.agents.form_fields import field_value
from pytest_webarena.agents.recording import Recording
from pytest_webarena.agents.replay_agent import FILE
from pytest_webarena.agents.request_diff import Place, SentRequests, differing_fields, pair_requests, read_sent
from pytest_webarena.evidence import StepRecord
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.checks.verdict import Verdict

__all__ = ["divergence_text", "request_differences", "verdict_text"]

_NO_STEP = "no step diverged; the checks, or what the site answered, were others"
_ENDED = {"max_steps": "the limit of steps (--max-steps)", "time": "the limit of time (--time-limit)"}
_SECRET = re.compile(
    r"(?i:pass(?!enger)|pwd|secret|token|key|pincode|auth(?!or(?!i[sz])))|(?:(?<![A-Za-z])[Pp]in|Pin|PIN)(?![a-z])"
)
"""Names of fields whose value must not be written to a file."""


def verdict_text(recording: Recording, folder: Path, outcome: str, verdict: Verdict) -> tuple[str, bool]:
    """The last line of a replay's log: whether it reached the recorded verdict and, if not, where it first diverged;
    and whether that is worth reporting elsewhere. ``folder`` is the replay's attempt."""
    if outcome == recording.outcome:
        text = f"the replay's verdict is the recorded one: {outcome}"
        differences = request_differences(recording, folder)
        return (f"{text}; but {differences}", True) if differences else (text, False)
    if verdict.stop_reason in _ENDED:
        reason = f"{_ENDED[verdict.stop_reason]} ended it before it had repeated all"
    elif recording.verdict.get("stop_reason") == "agent_crash" and outcome == "passed":
        reason = "its agent had crashed at the end, and a replay of what it had done does not"
    else:
        reason = (
            _first_line(folder, ": not found: ", "the page differs: ", ": not done again: ")
            or divergence_text(recording, verdict.to_json(), folder)
            or _first_line(folder, ": healed: ")
            or _NO_STEP
        )
    return f"the replay {outcome}, and the recorded trial had {recording.outcome}: {reason}", True


def divergence_text(recording: Recording, verdict: Mapping[str, Any], folder: Path) -> str:
    """The first step with a different effect, and the effect, as a sentence without a full stop; empty if the records
    do not show it.

    ``verdict`` is the replay's, as `Verdict.to_json`; ``folder`` its attempt's.
    """
    findings = chain(_key_nodes(recording, verdict), _requests(recording, folder), _checks(recording, verdict))
    return next(findings, "")


def request_differences(recording: Recording, folder: Path) -> str:
    """The first difference between the requests of the replay and of the recorded trial; empty if there is none. The
    verdict may be the same nevertheless, because checks may not count requests."""
    return next(_requests(recording, folder), "")


def _first_line(folder: Path, *patterns: str) -> str:
    """The first line that contains the first matching one of ``patterns``; empty if there is none."""
    try:
        lines = (folder / FILE).read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    for pattern in patterns:
        if found := next((line for line in lines if pattern in line), ""):
            return found
    return ""


def _key_nodes(recording: Recording, verdict: Mapping[str, Any]) -> Iterator[str]:
    pairs = [
        (one, other)
        for recorded, replayed in _pairs(recording.verdict, verdict)
        for one, other in zip(recorded.get("parts") or (), replayed.get("parts") or (), strict=False)
        if one["what"] == other["what"] and one["given"] != other["given"]
    ]
    for recorded, replayed in sorted(pairs, key=lambda pair: min(_at(pair[0]), _at(pair[1]))):
        is_gained = replayed["given"] > recorded["given"]
        step, by = (
            (replayed if is_gained else recorded).get("step"),
            (replayed if is_gained else recorded).get("by") or "",
        )
        reached_by = f" by {by}" if by else ""
        if is_gained:
            yield f"{recorded['what']}: not so in the recorded trial, and now reached{reached_by}"
        elif step is not None:
            name = _step_label(recording, step)
            yield f"{name}: it had reached what nothing reached this time, {recorded['what']}{reached_by}"
        else:
            yield f"{recorded['what']}: reached in the recorded trial{reached_by}, and not now"


def _requests(recording: Recording, folder: Path) -> Iterator[str]:
    """Requests sent less often, with other values, or more often; in the recorded order, then the additional ones."""
    recorded, replayed = read_sent(recording.folder), read_sent(folder)
    before, after = _by_place(recorded), _by_place(replayed)
    instead = {
        id(one): two for place in before for one, two in pair_requests(before[place], after.get(place, ()))
    }  # requests sent with other values
    unmatched = {place: len(requests) for place, requests in after.items()}
    for each in recorded:
        step = _step_label(recording, _step_at(recording, each.time))
        often = len(after.get(each.place, ()))
        if not unmatched.get(each.place):
            found = f"it was sent {_count_text(often)} this time" if often else "nothing did this time"
            yield f"{step}: it had sent {_words(each.place)}, and {found}"
        unmatched[each.place] = unmatched.get(each.place, 0) - 1
        if id(each) in instead and len(before[each.place]) == often:
            for text in _differing_values(recording, each, instead[id(each)]):
                yield f"{step}: {_words(each.place)} had sent {text}"
    for place, requests in after.items():
        if len(requests) > (often := len(before.get(place, ()))):
            count_text = _count_text(len(requests))
            yield f"{_words(place)} was sent {count_text} this time, and {_count_text(often)} in the recorded trial"


def _by_place(requests: Sequence[SentRequests]) -> dict[Place, list[SentRequests]]:
    found: dict[Place, list[SentRequests]] = {}
    for each in requests:
        found.setdefault(each.place, []).append(each)
    return found


def _differing_values(recording: Recording, recorded: SentRequests, replayed: SentRequests) -> Iterator[str]:
    differences = list(differing_fields(recorded, replayed))
    hidden = _masked_texts(recording) if differences else set()
    for name, one, two in differences:
        if _SECRET.search(name) or {one, two} & hidden:
            yield f"another value of {name!r}"
        else:
            yield f"{name!r} {_value(one)}, and now {_value(two)}" if name else f"{_value(one)}, and now {_value(two)}"


def _value(value: str | None) -> str:
    return "not at all" if value is None else clip(repr(value), 60)


def _checks(recording: Recording, verdict: Mapping[str, Any]) -> Iterator[str]:
    for recorded, replayed in _pairs(recording.verdict, verdict):
        if recorded.get("score") != replayed.get("score"):
            found = (
                f"expected {clip(str(replayed.get('expected')), 100)}, found {clip(str(replayed.get('actual')), 100)}"
            )
            text = "can't be decided" if replayed.get("score") is None else "holds" if replayed["score"] else "fails"
            yield f"the same was sent, and {replayed['path']} ({replayed['kind']}) {text} now: {found}"


def _pairs(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The results of both verdicts for the same check, by path."""
    recorded, replayed = ({each["path"]: each for each in verdict.get("results") or ()} for verdict in (one, other))
    return [(recorded[path], replayed[path]) for path in recorded if path in replayed]


def _at(part: Mapping[str, Any]) -> float:
    return float("inf") if part.get("step") is None else float(part["step"])


def _step_label(recording: Recording, number: int) -> str:
    step = next((each for each in recording.steps if each.index == number), None)
    if step is None:
        return "at some step"
    target = step.target
    where = f" {target.role or target.tag} {clip(target.name or target.selector, 60)!r}" if target is not None else ""
    return f"step {number} of {len(recording.steps)} ({step.action.get('kind')}{where})"


def _step_at(recording: Recording, time: float) -> int:
    """Index of the last step that had begun at ``time``; -1 before the first one, or if the start time was not
    recorded."""
    started = [step.index for step in recording.steps if recording.began + _action_end(step) <= time]
    return started[-1] if recording.began and started else -1


def _action_end(step: StepRecord) -> float:
    """Seconds until a step was carried out; for a navigation by the page itself, until it was noticed."""
    return step.started + sum(step.seconds.get(name, 0.0) for name in ("observe", "act"))


def _count_text(count: int) -> str:
    return {0: "not", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _masked_texts(recording: Recording) -> set[str]:
    """Texts typed in fields that mask their content: passwords, whatever their fields are called."""
    typed = [step for step in recording.steps if step.action.get("kind") == "type" and step.target is not None]
    return {str(step.action.get("text", "")) for step in typed if _is_masked(recording, step)} - {""}


def _is_masked(recording: Recording, step: StepRecord) -> bool:
    """Whether the observation after the step shows mask characters in place of the field's text."""
    later = next((each for each in recording.steps if each.index > step.index), None)
    if later is None or step.target is None:
        return False
    value = field_value(recording.text_before(later), step.target.role, step.target.name)
    return bool(value) and set(value or "") <= {"•"}


def _words(place: Place) -> str:
    method, host, path = place
    return f"{method} {host}{path}"
