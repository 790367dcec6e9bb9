"""How the conditions of trials on WebArena's tasks differ from its paper's: a figure is not the paper's by itself."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_webarena.results.records import TrialRecord

__all__ = ["SUITE", "unlike_paper"]

SUITE = "webarena"
"""The suite that the paper's figures are on."""

_TASKS, _STEPS, _WINDOW, _OBSERVED = 812, 30, [1280, 720], 1920
_SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "wikipedia", "map", "homepage")
_LIMITS = ("time", "tokens", "cost")
"""Stop reasons of limits that the paper's agents had not."""
_OWN_PROMPT = "upstream"
"""How the record of a prompt begins that is WebArena's own."""


def unlike_paper(parts: Sequence[Mapping[str, Any]], records: Sequence[TrialRecord], grading: str) -> tuple[str, ...]:
    """What was otherwise, each in a few words. ``parts`` are the invocations that made these records of one agent, as
    ``run.json`` tells of each; ``grading`` is whose verdicts are counted."""
    return tuple(dict.fromkeys((*_of_records(records, grading), *(each for part in parts for each in _of_part(part)))))


def _of_records(records: Sequence[TrialRecord], grading: str) -> Iterator[str]:
    count = len({record.key.task for record in records})
    if count != _TASKS:
        yield f"{count} of {_TASKS} tasks"
    prompts = {str(record.environment.get("prompt", "")) for record in records if record.model}
    if any(not prompt.startswith(_OWN_PROMPT) for prompt in prompts):
        yield "prompt: not the paper's"
    if grading != "original":
        yield f"graded as {grading or 'the tasks say'}"
    judges: dict[str, bool] = {}
    for record in records:
        if record.judge is not None:
            theirs = all(each.startswith(f"{_OWN_PROMPT}:") for each in record.judge.prompt.split(" + "))
            judges[record.judge.model] = judges.get(record.judge.model, True) and theirs
    if judges:
        yield f"judge: {', '.join(sorted(judges))}{'' if all(judges.values()) else ', in words of ours'}"
    elif any(record.cause == "judge" for record in records):
        yield "judge: none"
    # What met nothing (an error before its browser was there) tells of no environment.
    seen = [record.environment for record in records if record.environment.get("viewport")]
    yield from _of_reach(records)
    for limit in _LIMITS:
        if ended := sum(record.stop_reason == limit for record in records):
            yield f"{ended} {'trial' if ended == 1 else 'trials'} ended by a limit of {limit}"
    if any(list(each["viewport"]) != _WINDOW for each in seen):
        yield "another window"
    kinds = {tuple((each.get("observation") or {}).get("kinds", ())) for each in seen}
    compat = all((each.get("observation") or {}).get("compat") for each in seen)
    if seen and (kinds != {("accessibility_tree",)} or not compat):
        yield "another observation"
    elif any(each["observation"].get("max_obs_length") != _OBSERVED for each in seen):
        yield f"observation not cut after {_OBSERVED} tokens"


def _of_reach(records: Sequence[TrialRecord]) -> Iterator[str]:
    met = [record for record in records if record.environment.get("viewport")]
    if any("reach" not in record.environment for record in met):
        yield "reach: the task's own sites alone"
        return
    there = [{*record.environment["reach"].get("sites", ()), *record.sites} for record in met]
    if lacking := [site for site in _SITES if any(site not in sites for sites in there)]:
        yield f"reach: without {', '.join(lacking)}"


def _of_part(part: Mapping[str, Any]) -> Iterator[str]:
    limits = part.get("limits") or {}
    if (rule := limits.get("stop_rule")) not in (None, "paper"):
        yield f"stop rule: {rule}"
    if (steps := limits.get("steps")) not in (None, _STEPS):
        yield f"{steps} steps"
    graded = (part.get("grading") or {}).get("name")
    if part.get("answer_format") == "verified" or (part.get("answer_format") == "auto" and graded == "verified"):
        yield "asked for typed answers"
    if (catalogue := part.get("catalogue")) not in (None, "webarena"):
        yield f"sites: {catalogue}"
