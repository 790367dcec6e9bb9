"""Findings of one check of a task: the task, each step of its solution, each key node. A pure function of records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Literal, get_args

from pytest_webarena.actions import Stop
from pytest_webarena.checks.key_nodes.judging import judge
from pytest_webarena.checks.key_nodes.model import KeyNode, KeyNodes, TextTarget, UrlTarget
from pytest_webarena.checks.kind import View
from pytest_webarena.checks.verdict import CheckResult, Part, Verdict
from pytest_webarena.evidence import Evidence
from pytest_webarena.monitoring.alternatives import KnownElements, alternative_nodes
from pytest_webarena.monitoring.obstacles import Obstacle, obstacle, obstacle_of_status, status_of, text_of
from pytest_webarena.monitoring.replaying import TriedAction, key_node_checks
from pytest_webarena.owners import CAUSED_BY_AGENT, EVENTS, UNATTRIBUTED
from pytest_webarena.results.records import NO_VERDICT, TrialRecord
from pytest_webarena.signals import TargetRecord
from pytest_webarena.tasks.model import Check, Task
from pytest_webarena.tasks.reviews import ReviewState
from pytest_webarena.text import clip

__all__ = ["STATUSES", "Finding", "Status", "TaskFinding", "checks_only_answer", "find", "known_of", "untried"]

Status = Literal["broken", "drifted", "blocked", "site down", "untried", "valid"]
"""``drifted``: found, but in another way than the task says. ``untried``: nothing was established."""
STATUSES: tuple[Status, ...] = get_args(Status)
"""All statuses, the most severe first. A task has the most severe status of its parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """The finding about a step of the solution, a key node, or another check."""

    kind: Literal["step", "node", "check"]
    name: str
    status: Status
    why: str = ""
    """Why it is not valid; for a drifted part, how it was found."""
    step: int | None = None
    """Index of the recorded step that shows it; None if none does."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFinding:
    """The finding about one task."""

    task: str
    digest: str
    status: Status
    why: str = ""
    """The most severe reason, in one sentence; empty when the task is valid."""
    parts: tuple[Finding, ...] = ()
    path: str = ""
    line: int = 0
    at: float = 0.0
    """Unix time in seconds."""
    seconds: float = 0.0
    attempt: str = ""
    """Folder of the attempt whose files show it; empty when there is none."""
    review: ReviewState | Literal[""] = ""
    """State of the task's review; empty for a task without one."""
    disagreements: tuple[str, ...] = ()
    """Disagreements of its reviewers."""

    def with_review(self, task: Task) -> TaskFinding:
        """This finding with the state of the task's review."""
        if task.review is None:
            return self
        return replace(self, review=task.review.state(task.digest), disagreements=task.review.disagreements)

    def to_json(self) -> dict[str, Any]:
        """Plain data."""
        return asdict(self)


def untried(task: Task, reason: str, *, at: float, status: Status = "untried") -> TaskFinding:
    """The finding for a task that was not tried."""
    return TaskFinding(
        task=task.id, digest=task.digest, status=status, why=reason, path=task.location.path, line=task.location.line,
        at=at, parts=tuple(_unreached(task, status, "")),
    )  # fmt: skip


def _unreached(task: Task, status: Status, reason: str) -> Iterator[Finding]:
    for check in key_node_checks(task):
        for node in check.spec.nodes:
            if not node.forbidden:
                yield Finding(kind="node", name=clip(str(node), 200), status=status, why=reason)


def find(
    task: Task,
    record: TrialRecord,
    evidence: Evidence | None,
    tried: Sequence[TriedAction],
    known: KnownElements | None = None,
    *,
    attempt: Path | None = None,
) -> TaskFinding:
    """The finding for a task from a trial of the monitoring agent. ``known`` has what the task's parts matched when it
    was valid."""
    if evidence is not None:
        (task, tried, known), evidence = evidence.in_names((task, tried, known))
    unjudged = record.outcome == "error" and record.message.startswith(NO_VERDICT)
    if evidence is None or not (unjudged or record.outcome != "error"):
        found = _of_error(task, record)
    else:
        parts = tuple(_parts(task, record, evidence, tried, known))
        status = _worst(parts)
        if status == "valid" and task.solution is not None and record.outcome != "passed":
            parts = (*parts, Finding(kind="check", name="the verdict", status="broken", why=_first_line(record)))
            status = "broken"
        if status == "broken" and (other := obstacle(evidence, task, known)):
            parts, status = tuple(_with_obstacle(parts, other)), other.status
        first = next((each for each in parts if each.status == status), None)
        if status == "untried" and unjudged and record.cause == "site":
            status = "site down"  # the site did not answer a check
        reason = "" if status == "valid" or first is None else f"{first.name}: {first.why}" if first.why else first.name
        if not parts:
            status, reason = (
                "untried",
                "there is nothing to try: no solution, and no key node with an address of this site",
            )
        found = TaskFinding(task=task.id, digest=task.digest, status=status, why=clip(reason, 400), parts=parts)
    return replace(
        found,
        path=task.location.path,
        line=task.location.line,
        at=record.started,
        seconds=round(record.seconds.get("total", 0.0), 3),
        attempt=str(attempt or ""),
    )


def _of_error(task: Task, record: TrialRecord) -> TaskFinding:
    text = _first_line(record)
    causes: Mapping[str, Status] = {"site": "site down", "task": "broken"}
    cause = record.cause or (EVENTS[record.event].cause if record.stop_reason == UNATTRIBUTED else None)
    status: Status = causes.get(cause or "", "untried")
    if record.stop_reason == "broke_site":
        status, text = "site down", f"the site breaks when the task is replayed, and only then: {text}"
    elif record.stop_reason in CAUSED_BY_AGENT:
        status = "untried"
    elif record.outcome != "error" and record.stop_reason != UNATTRIBUTED:
        status, text = "untried", "what was recorded of the trial can't be read"
    elif status == "untried":
        text = f"{cause}: {text}"
    parts = tuple(_unreached(task, "untried" if status == "broken" else status, ""))
    return TaskFinding(task=task.id, digest=task.digest, status=status, why=clip(text, 400), parts=parts)


def _first_line(record: TrialRecord) -> str:
    return next((line.strip() for line in record.message.splitlines() if line.strip()), "no reason was given")


def _worst(parts: Sequence[Finding]) -> Status:
    statuses = {each.status for each in parts}
    if not statuses & {"valid", "drifted", "broken", "blocked", "site down"}:
        return "untried"
    return next(status for status in STATUSES if status in statuses)


def _with_obstacle(parts: Sequence[Finding], found: Obstacle) -> Iterator[Finding]:
    for part in parts:
        if part.status == "broken":
            yield replace(part, status=found.status, why=found.why)
        else:
            yield part


def _parts(
    task: Task, record: TrialRecord, evidence: Evidence, tried: Sequence[TriedAction], known: KnownElements | None
) -> Iterator[Finding]:
    results = {result.path: result for result in _results(record)}
    steps = tuple(_steps(task, tried))
    yield from steps
    ended = next((each for each in steps if each.status == "broken"), None)
    if task.solution is None:
        yield from _visited(task, evidence, tried, results)
        return
    done = ended is None and len(steps) == len(task.solution)
    reason = f"the replay ended at {ended.name}" if ended else "the replay did not come to its end"
    for check in key_node_checks(task):
        result = results.get(check.path)
        for number, node in enumerate(check.spec.nodes):
            part = result.parts[number] if result is not None and number < len(result.parts) else None
            if node.forbidden:
                yield from _forbidden(node, part)
            else:
                before = known.steps if known is not None else ()
                at = known.nodes.get(f"{check.path}#{number}", -1) if known is not None else -1
                hit = before[at] if 0 <= at < len(before) else None
                by = steps[at] if hit is not None and at < len(steps) else None
                yield _node(node, part, evidence, hit, by, done=done, reason=reason)
    yield from _outcomes(task, results, evidence, done=done, why=reason)


def _results(record: TrialRecord) -> Iterator[CheckResult]:
    if record.verdict is None:
        return
    for result in Verdict.from_json(record.verdict).results:
        for _, each in result.walk():
            yield each


def _steps(task: Task, tried: Sequence[TriedAction]) -> Iterator[Finding]:
    total = len(task.solution or ())
    for each in tried:
        if each.kind != "step":
            continue
        name = f"step {each.number + 1} of {total} ({each.what})"
        if not each.found:
            yield Finding(kind="step", name=name, status="broken", why=f"at {each.url}: {each.error}", step=each.step)
        elif each.how:
            reason = f"found by {each.how}; as it is written: {each.error}"
            yield Finding(kind="step", name=name, status="drifted", why=reason, step=each.step)
        else:
            yield Finding(kind="step", name=name, status="valid", step=each.step)


def _node(
    node: KeyNode, part: Part | None, evidence: Evidence, known: TargetRecord | None, by: Finding | None,
    *, done: bool, reason: str,
) -> Finding:  # fmt: skip
    """The finding about one key node of a replayed solution. ``by`` is the step that reached it before."""
    name = clip(str(node), 200)
    if part is None:
        return Finding(kind="node", name=name, status="untried", why="it was not judged")
    if part.by:
        return Finding(kind="node", name=name, status="valid", step=part.step)
    if part.open:
        return Finding(kind="node", name=name, status="untried", why=part.why)
    moved = f"; {by.name} reached it before, and is now {by.why}" if by is not None and by.status == "drifted" else ""
    for how, other in alternative_nodes(node, known):
        (found,) = judge(KeyNodes(nodes=(other,)), View(evidence=evidence)).parts
        if found.by and _is_alike(found, known, evidence):
            reason = f"found by {how}: {found.by}{moved}"
            return Finding(kind="node", name=name, status="drifted", why=reason, step=found.step)
    if not done:
        return Finding(kind="node", name=name, status="untried", why=reason)
    reason = (part.why or "the whole solution was replayed, and nothing reached it") + moved
    return Finding(kind="node", name=name, status="broken", why=reason)


def _is_alike(found: Part, known: TargetRecord | None, evidence: Evidence) -> bool:
    """Whether the found element has the known element's role, as far as both roles are known."""
    hit = next((step.target for step in evidence.steps if step.index == found.step), None)
    return hit is None or known is None or hit.role == known.role or not (hit.role and known.role)


def _forbidden(node: KeyNode, part: Part | None) -> Iterator[Finding]:
    """A finding about a node that the solution must not reach: only if it does, or if that is unknown."""
    name = f"forbidden: {clip(str(node), 180)}"
    if part is not None and part.by:
        yield Finding(
            kind="node", name=name, status="broken", why=f"the solution reaches it: {part.by}", step=part.step
        )
    elif part is None or part.open:
        yield Finding(kind="node", name=name, status="untried", why=part.why if part else "it was not judged")


def _outcomes(
    task: Task, results: Mapping[str, CheckResult], evidence: Evidence, *, done: bool, why: str
) -> Iterator[Finding]:
    """Findings about the other checks, in the task's order."""
    for check in task.checks:
        if isinstance(check.spec, KeyNodes):
            continue
        name = f"{check.path} {check.kind}"
        result = results.get(check.path)
        if result is None or result.score is None:
            reason = result.why if result is not None else "it was not judged"
            yield Finding(kind="check", name=name, status="untried", why=reason or "unknown")
        elif result.passed:
            yield _passed(task, check, evidence, name)
        elif not done:
            yield Finding(kind="check", name=name, status="untried", why=why)
        else:
            actual = f", found {result.actual}" if result.actual else ""
            reason = result.why if not result.expected else f"expected {result.expected}{actual}"
            yield Finding(kind="check", name=name, status="broken", why=clip(reason, 300))


def _passed(task: Task, check: Check, evidence: Evidence, name: str) -> Finding:
    """The finding about a check that passed. An answer written in the solution passes whatever the site says, so it
    must be on the last page."""
    if not checks_only_answer(check):
        return Finding(kind="check", name=name, status="valid")
    answer = next((step.answer for step in task.solution or () if isinstance(step, Stop)), "")
    if _is_shown(answer, evidence):
        return Finding(kind="check", name=name, status="valid")
    reason = "the answer is the one that the solution has written out, and its last page does not show it"
    alone = all(map(checks_only_answer, task.checks))
    return Finding(kind="check", name=name, status="untried" if alone else "valid", why=reason)


def checks_only_answer(check: Check) -> bool:
    """Whether a check looks only at the agent's final answer."""
    if check.children:
        return all(map(checks_only_answer, check.children))
    return check.kind in ("answer", "json_answer")


def _is_shown(answer: str, evidence: Evidence) -> bool:
    """Whether the last page of the replay contains the words of ``answer``."""
    words = " ".join(answer.split()).casefold()
    page_texts = (text_of(tab.html).casefold() for tab in evidence.tabs if tab.active)
    return bool(words) and any(re.search(rf"(?<![\w.,]){re.escape(words)}(?!\w|[.,]\d)", text) for text in page_texts)


def _visited(
    task: Task, evidence: Evidence, tried: Sequence[TriedAction], results: Mapping[str, CheckResult]
) -> Iterator[Finding]:
    """Findings about the key nodes of a task without a solution: whether their pages and elements still exist."""
    for check in key_node_checks(task):
        result = results.get(check.path)
        for number, node in enumerate(check.spec.nodes):
            if node.forbidden:
                continue
            opened = next((each for each in tried if (each.kind, each.number) == ("open", number)), None)
            part = result.parts[number] if result is not None and number < len(result.parts) else None
            found = next((each for each in tried if (each.kind, each.number) == ("find", number)), None)
            yield _place(node, opened, found, part, evidence)


def _place(
    node: KeyNode, opened: TriedAction | None, found: TriedAction | None, part: Part | None, evidence: Evidence
) -> Finding:
    name = clip(str(node), 200)
    if opened is None:
        reason = (
            "what the agent says can't be tried"
            if isinstance(node.target, TextTarget)
            else ("without a solution only its address can be tried, and none of this site was recorded")
        )
        return Finding(kind="node", name=name, status="untried", why=reason)
    if not opened.found:
        return Finding(kind="node", name=name, status="broken", why=opened.error, step=opened.step)
    status = status_of(opened.url, evidence)
    if status is not None and (obstacle := obstacle_of_status(status, opened.url)):
        return Finding(kind="node", name=name, status=obstacle.status, why=obstacle.why, step=opened.step)
    if status is not None and status >= 400:
        return Finding(kind="node", name=name, status="broken", why=f"{opened.url} answered {status}", step=opened.step)
    if not isinstance(node.target, UrlTarget):
        return _element(name, opened, found)
    if part is not None and part.by:
        return Finding(kind="node", name=name, status="valid", step=part.step)
    if part is None or part.open:
        return Finding(kind="node", name=name, status="untried", why=part.why if part else "it was not judged")
    for how, other in alternative_nodes(node, None):
        (hit,) = judge(KeyNodes(nodes=(other,)), View(evidence=evidence)).parts
        if hit.by:
            reason = f"found by {how}: {hit.by}"
            return Finding(kind="node", name=name, status="drifted", why=reason, step=hit.step)
    reason = f"its recorded address leads to {opened.url}, which is not it"
    return Finding(kind="node", name=name, status="broken", why=reason, step=opened.step)


def _element(name: str, opened: TriedAction, found: TriedAction | None) -> Finding:
    if found is None:
        reason = "any field will do, which opening its page does not try"
        return Finding(kind="node", name=name, status="untried", why=reason, step=opened.step)
    if not found.found:
        return Finding(kind="node", name=name, status="broken", why=f"at {found.url}: {found.error}", step=found.step)
    if found.how:
        reason = f"found by {found.how}; as it is written: {found.error}"
        return Finding(kind="node", name=name, status="drifted", why=reason, step=found.step)
    return Finding(kind="node", name=name, status="valid", step=found.step)


def known_of(task: Task, record: TrialRecord, evidence: Evidence, tried: Sequence[TriedAction]) -> KnownElements:
    """What the parts of a valid task matched, by which they can be found again when they have moved."""
    task, evidence = evidence.in_names(task)
    by_step = {each.step: each.number for each in tried if each.kind == "step" and each.found}
    targets = {step.index: step.target for step in evidence.steps}
    steps: list[TargetRecord | None] = [None] * len(task.solution or ())
    for index, number in by_step.items():
        if index is not None and number < len(steps):
            steps[number] = targets.get(index)
    results = {result.path: result for result in _results(record)}
    nodes = {}
    for check in key_node_checks(task):
        result = results.get(check.path)
        for number, part in enumerate(result.parts if result is not None else ()):
            if part.by and part.step is not None:
                nodes[f"{check.path}#{number}"] = by_step.get(part.step, -1)
    return KnownElements(task=task.id, digest=task.digest, at=record.started, steps=tuple(steps), nodes=nodes)
