"""At which step of a recorded trial a replay's verdict went another way, out of what both recorded."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

from pytest_webarena.agents.fields import field_value
from pytest_webarena.agents.recording import Recording
from pytest_webarena.evidence import StepRecord
from pytest_webarena.text import clip

__all__ = ["sent_apart", "where_apart"]

_READS = frozenset({"GET", "HEAD", "OPTIONS", "CONNECT"})
_TOKEN = 16
"""Letters and digits without a space: a value that differs and is as long is one that each page makes anew."""
_SECRET = re.compile(
    r"(?i:pass(?!enger)|pwd|secret|token|key|pincode|auth(?!or(?!i[sz])))|(?:(?<![A-Za-z])[Pp]in|Pin|PIN)(?![a-z])"
)
"""In names of fields of which nobody should read the value in a file."""
Sent = tuple[str, str, str]
"""Method, host and path."""


def where_apart(recording: Recording, verdict: Mapping[str, Any], folder: Path) -> str:
    """The first step whose effect was another one, and which, in a sentence without an end; empty where nothing tells.

    ``verdict``: the replay's, as `Verdict.to_json`; ``folder``: its attempt's.
    """
    for said in (*_key_nodes(recording, verdict), *_requests(recording, folder), *_checks(recording, verdict)):
        return said
    return ""


def sent_apart(recording: Recording, folder: Path) -> str:
    """What was sent this time otherwise than in the recorded trial, the first of it; empty where nothing was. A verdict
    may be the same all the same: checks need not ask how often."""
    return next(iter(_requests(recording, folder)), "")


def _key_nodes(recording: Recording, verdict: Mapping[str, Any]) -> Iterator[str]:
    pairs = [
        (one, other)
        for then, now in _pairs(recording.verdict, verdict)
        for one, other in zip(then.get("parts") or (), now.get("parts") or (), strict=False)
        if one["what"] == other["what"] and one["given"] != other["given"]
    ]
    for then, now in sorted(pairs, key=lambda pair: min(_at(pair[0]), _at(pair[1]))):
        gained = now["given"] > then["given"]
        step, by = (now if gained else then).get("step"), (now if gained else then).get("by") or ""
        how = f" by {by}" if by else ""
        if gained:
            yield f"{then['what']}: not so in the recorded trial, and now reached{how}"
        elif step is not None:
            yield f"{_named(recording, step)}: it had reached what nothing reached this time, {then['what']}{how}"
        else:
            yield f"{then['what']}: reached in the recorded trial{how}, and not now"


def _requests(recording: Recording, folder: Path) -> Iterator[str]:
    then, now = (list(_sent(each)) for each in (recording.folder, folder))
    left = Counter(sent for _, sent, _ in now)
    for time, sent, body in then:
        step = _named(recording, _step_at(recording, time))
        if not left[sent]:
            yield f"{step}: it had sent {_words(sent)}, and nothing did this time"
        left[sent] -= 1
        other = next((each for _, which, each in now if which == sent), None)
        if other is not None and then.count((time, sent, body)) == 1 == sum(which == sent for _, which, _ in now):
            for name, one, two in _unlike(body, other):
                said = f"{name!r} {clip(repr(one), 60)}, and now {clip(repr(two), 60)}"
                if _SECRET.search(name) or {one, two} & _hidden(recording):
                    said = f"another value of {name!r}"
                yield f"{step}: {_words(sent)} had sent {said}"
    before = Counter(sent for _, sent, _ in then)
    for _, sent, _ in now:
        if not before[sent]:
            many, once = Counter(which for _, which, _ in now)[sent], Counter(which for _, which, _ in then)[sent]
            yield f"{_words(sent)} was sent {_times(many)} this time, and {_times(once)} in the recorded trial"
        before[sent] -= 1


def _checks(recording: Recording, verdict: Mapping[str, Any]) -> Iterator[str]:
    for then, now in _pairs(recording.verdict, verdict):
        if then.get("score") != now.get("score"):
            found = f"expected {clip(str(now.get('expected')), 100)}, found {clip(str(now.get('actual')), 100)}"
            said = "can't be decided" if now.get("score") is None else "holds" if now["score"] else "fails"
            yield f"the same was sent, and {now['path']} ({now['kind']}) {said} now: {found}"


def _pairs(one: Mapping[str, Any], other: Mapping[str, Any]) -> list[tuple[Mapping[str, Any], Mapping[str, Any]]]:
    """The results of both, by their paths."""
    then, now = ({each["path"]: each for each in verdict.get("results") or ()} for verdict in (one, other))
    return [(then[path], now[path]) for path in then if path in now]


def _at(part: Mapping[str, Any]) -> float:
    return float("inf") if part.get("step") is None else float(part["step"])


def _named(recording: Recording, number: int) -> str:
    step = next((each for each in recording.steps if each.index == number), None)
    if step is None:
        return "at some step"
    target = step.target
    where = f" {target.role or target.tag} {clip(target.name or target.selector, 60)!r}" if target is not None else ""
    return f"step {number} of {len(recording.steps)} ({step.action.get('kind')}{where})"


def _step_at(recording: Recording, time: float) -> int:
    """The last step that had begun by then; -1 before the first, or where the time of the beginning was not kept."""
    begun = [step.index for step in recording.steps if recording.began + _acted(step) <= time]
    return begun[-1] if recording.began and begun else -1


def _acted(step: StepRecord) -> float:
    """Seconds until it was carried out; of what a page did by itself, until it was seen to begin."""
    return step.started + sum(step.seconds.get(name, 0.0) for name in ("observe", "act"))


def _sent(folder: Path) -> Iterator[tuple[float, Sent, str]]:
    """What may have changed something, in order: its time, what it was, its body."""
    try:
        lines = (folder / "network.jsonl").read_text("utf-8", errors="replace").splitlines()
        requests: Sequence[dict[str, Any]] = [json.loads(line) for line in lines]
    except (OSError, ValueError):
        return
    for each in requests:
        if each.get("method") not in _READS and not each.get("refused"):
            parts = urlsplit(str(each.get("url", "")))
            yield float(each["time"]), (str(each["method"]), parts.netloc, parts.path), each.get("request_body") or ""


def _unlike(one: str, other: str) -> Iterator[tuple[str, str, str]]:
    """The fields of two forms that hold something else: name, then, now."""
    then, now = (dict(parse_qsl(body, keep_blank_values=True)) for body in (one, other))
    for name in then:
        two = now.get(name, "")
        tokens = all(len(value) >= _TOKEN and " " not in value for value in (then[name], two))
        if then[name] != two and not tokens:
            yield name, then[name], two


def _times(count: int) -> str:
    return {0: "not", 1: "once", 2: "twice"}.get(count, f"{count} times")


def _hidden(recording: Recording) -> set[str]:
    """Texts that were written where the page shows none: passwords, whatever their fields are called."""
    typed = [step for step in recording.steps if step.action.get("kind") == "type" and step.target is not None]
    return {str(step.action.get("text", "")) for step in typed if _hides(recording, step)} - {""}


def _hides(recording: Recording, step: StepRecord) -> bool:
    """Whether the step's field shows signs in place of its text in what was seen after it."""
    later = next((each for each in recording.steps if each.index > step.index), None)
    if later is None or step.target is None:
        return False
    held = field_value(recording.seen(later), step.target.role, step.target.name)
    return bool(held) and set(held or "") <= {"•"}


def _words(sent: Sent) -> str:
    method, host, path = sent
    return f"{method} {host}{path}"
