"""Turns drafts into tasks: from the independent answers of two people, and a third one's decisions where they
differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.recorder.proposing import answer_spec
from pytest_webarena.task_generation.answers import PersonAnswer, address_of, answer_text, are_equivalent, person_name
from pytest_webarena.task_generation.drafts import TAG, UNANSWERED, task_text_of
from pytest_webarena.tasks import Task, parse_tasks

__all__ = ["Settled", "differing", "require_three", "settle", "settled_text"]

_DIGITS = 12
"""Number of digits of a digest that a review stores."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """The tasks made of a file of drafts, and what became of each draft."""

    tasks: tuple[Mapping[str, Any], ...]
    """Tasks as plain data in the drafts' order, without rejected ones."""
    counts: Mapping[str, int]
    """Number of drafts by outcome."""
    left_out: tuple[str, ...]
    """Ids of rejected drafts."""
    to_record: tuple[Task, ...]
    """Drafts that are worth doing, and need a recorded solution."""


def require_three(drafts: Sequence[Task], first: Mapping[str, PersonAnswer], second: Mapping[str, PersonAnswer],
                  third: Mapping[str, PersonAnswer] | None = None) -> None:  # fmt: skip
    """Raise `UsageError` if two of the people are the same person."""
    names = [person_name(each) for each in (first, second, third) if each]
    authors = {task.review.annotator for task in drafts if task.review is not None}
    for number, name in enumerate(names):
        others = [*authors, *names[:number]]
        if name.casefold() in {other.casefold() for other in others}:
            raise UsageError(
                f"expected a different person for each part of a review, found {name} twice: answers must be "
                "independent"
            )


def differing(
    drafts: Sequence[Task], first: Mapping[str, PersonAnswer], second: Mapping[str, PersonAnswer]
) -> tuple[Task, ...]:
    """Returns the drafts to which two people gave different answers."""
    return tuple(
        task
        for task in drafts
        if task.id in first and task.id in second and not are_equivalent(first[task.id], second[task.id], task)
    )


def settle(
    drafts: Sequence[Task],
    first: Mapping[str, PersonAnswer],
    second: Mapping[str, PersonAnswer],
    third: Mapping[str, PersonAnswer],
) -> Settled:
    """Returns the outcome of each draft. Raises `UsageError` for a decision on a draft on which the two people
    agree."""
    require_three(drafts, first, second, third)
    disputed = {task.id for task in differing(drafts, first, second)}
    if needless := [id for id in third if id not in disputed]:
        raise UsageError(
            f"expected decisions where the two differ, found one on {needless[0]}, where they don't (or have not both "
            "answered); leave it out"
        )
    tasks: list[Mapping[str, Any]] = []
    counts: Counter[str] = Counter()
    left_out: list[str] = []
    to_record: list[Task] = []
    for task in drafts:
        one, other, decided = first.get(task.id), second.get(task.id), third.get(task.id)
        if one is None or other is None:
            counts["not answered by both"] += 1
            only_answer = one or other
            tasks.append(
                _waiting(task, f"an idea that only {only_answer.by} has answered yet" if only_answer else task.skip)
            )
            continue
        right = decided or (one if task.id not in disputed else None)
        counts["decided" if decided else "agreed" if right else "disputed"] += 1
        review = _review(task, one, other, decided)
        if right is None:
            reason = f"{one.by} and {other.by} disagree; another person decides"
            tasks.append({**_waiting(task, reason), "review": review})
        elif right.kind == "bad" and decided is None:
            left_out.append(task.id)
        else:
            tasks.append({**_answered(task, right), "review": review})
            if right.kind == "answer" and task.category == "content":
                to_record.append(task)
    return Settled(tasks=tuple(tasks), counts=dict(counts), left_out=tuple(left_out), to_record=tuple(to_record))


def settled_text(settled: Settled, head: Sequence[str]) -> str:
    """Returns the text of a task file. Reviews store the task's digest, so that a later change gives the state `changed
    since`."""
    digests = {task.id: task.digest for task in parse_tasks(task_text_of(settled.tasks, head))}
    tasks = [
        {**task, "review": {**task["review"], "of": digests[task["id"]][:_DIGITS]}}
        if "reviewers" in task.get("review", {})
        else task
        for task in settled.tasks
    ]
    return task_text_of(tasks, head)


def _keys(task: Task) -> dict[str, Any]:
    """Returns the keys of a draft except for its checks."""
    return {
        "id": task.id,
        "intent": task.intent,
        "sites": list(task.sites),
        **({"user": dict(task.user)} if task.user else {}),
        **({"template": task.template} if task.template not in ("", task.id) else {}),
        "category": task.category,
        "tags": [TAG, *(tag for tag in task.tags if tag != TAG)],
        "source": dict(task.source),
    }


def _waiting(task: Task, reason: str) -> dict[str, Any]:
    review = {"annotator": task.review.annotator} if task.review is not None else {}
    return {**_keys(task), "skip": reason, **({"review": review} if review else {}), "checks": [UNANSWERED]}


def _answered(task: Task, right: PersonAnswer) -> dict[str, Any]:
    """Returns a task with this reference."""
    keys = _keys(task)
    lines = right.text.splitlines()
    if right.kind == "bad":
        return _waiting(task, f"no good as a task: {right.text}")
    if right.kind == "impossible":
        asked = {"type": "text"} if task.category == "information" else {}
        checks = [{"answer": {"unachievable": " ".join(lines), **asked}}]
        return {**keys, "category": "unachievable", "mutates": False, "checks": checks}
    if task.category == "content":
        return _waiting(task, "worth doing; it has to be shown how: webarena tasks record")
    if task.category == "navigation":
        return {**keys, "mutates": False, "checks": [{"url": address_of(right, task)}]}
    if len(lines) > 1:
        return {**keys, "mutates": False, "checks": [{"answer": {"names": lines}}]}
    return {**keys, "mutates": False, "checks": [{"answer": answer_spec(right.text, task.intent)}]}


def _review(task: Task, one: PersonAnswer, other: PersonAnswer, decided: PersonAnswer | None) -> dict[str, Any]:
    """Returns the review of a draft. A person whose answer counts in the end agrees with it."""
    right = decided or (one if are_equivalent(one, other, task) else None)
    reviewers = []
    for each in (one, other):
        if right is not None and right.kind != "bad" and are_equivalent(each, right, task):
            reviewers.append({"who": each.by, "verdict": "agrees"})
        else:
            reviewers.append({"who": each.by, "verdict": "disagrees", "about": answer_text(each)})
    found: dict[str, Any] = {"reviewers": reviewers}
    if task.review is not None:
        found = {"annotator": task.review.annotator, **found}
    if decided is not None:
        decision = "rejected" if decided.kind == "bad" else "accepted"
        found["adjudicated"] = {"by": decided.by, "decision": decision, "about": answer_text(decided)}
    return found
