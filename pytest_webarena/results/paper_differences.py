"""Differences between the conditions of trials on WebArena's tasks and those of its paper.

With such differences, rates are not comparable with the paper's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.results.records import DEFAULT_BROWSER, TrialRecord
from pytest_webarena.suites.loading import load_suite

__all__ = ["SUITE", "unlike_paper"]

SUITE = "webarena"
"""The suite of the paper's figures."""

_TASKS, _WINDOW = 812, [1280, 720]
_SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "wikipedia", "map", "homepage")
_LIMITS = {
    "time": "a limit of time",
    "tokens": "a limit of tokens",
    "cost": "a limit of cost",
    "context": "the model's context length",
    "filtered": "a content filter",
}
"""Stop reasons by limits that the paper's agents did not have, with their descriptions."""
_PROMPTS = frozenset(
    f"upstream p_{name}"
    for name in (
        "cot_id_actree_2s@203a83b4aaac",
        "cot_id_actree_2s_no_na@0081b9215883",
        "direct_id_actree_2s@3e1d9a3f6887",
        "direct_id_actree_2s_no_na@7e9f8d79021a",
    )
)
"""WebArena's own prompts by their names in records, with a hash of the text.

They have not changed in its repository since they were added.
"""
_JUDGES = frozenset(
    f"upstream:{name}"
    for name in (
        "llm_fuzzy_match@22c11b7f3f7e",
        "llm_ua_match@5830c785ff59",  # until 22 December 2023
        "llm_ua_match@4b8285572448",
    )
)
_OBSERVED = {
    "extractor": "exact",
    "compat": True,
    "current_viewport_only": True,
    "link_urls": False,
    "max_tokens": None,
    "max_chars": None,
}
_CUT = 1920
_SAMPLING = {"temperature": 1.0, "top_p": 0.9, "max_tokens": 384}
_ASKING = {"invalid_retries": 0, "history": "previous_action", "reply": "text", "grammar": "webarena"}
_WORDS = {
    "invalid_retries": "asked again after {} malformed replies",
    "history": "shown earlier steps as {}",
    "reply": "replies as {}",
    "grammar": "actions as {}",
}


def unlike_paper(parts: Sequence[Mapping[str, Any]], records: Sequence[TrialRecord], grading: str) -> tuple[str, ...]:
    """Return the differences, each in a few words.

    Args:
        parts: Facts of the invocations that made these records of one agent, as in ``run.json``.
        grading: The grading whose verdicts are counted.
    """
    # A trial that failed before its browser started has no environment.
    played = [record for record in records if record.environment.get("viewport")]
    found = (
        *_of_tasks(records),
        *_of_agents(played),
        *_of_judging(records, grading),
        *_of_reach(played),
        *_of_limits(records, played),
        *_of_sight(played),
        *(
            each
            for part in parts
            for each in _of_part(part, trials_record_limits=bool(played) and all(map(_limits, played)))
        ),
    )
    return tuple(dict.fromkeys(found))


def _of_tasks(records: Sequence[TrialRecord]) -> Iterator[str]:
    names = {record.key.task for record in records}
    if len(names) != _TASKS:
        yield f"{len(names)} of {_TASKS} tasks"
    if open_ones := len(names - {record.key.task for record in records if record.outcome != "error"}):
        yield f"{open_ones} without a verdict"
    published = _digests()
    if not published:
        yield "its tasks were not held against the published ones (pip install webarena-verified)"
    elif edited := sum(published.get(name) not in digests for name, digests in _by_task(records).items()):
        yield f"{edited} not as published"


def _by_task(records: Sequence[TrialRecord]) -> dict[str, set[str]]:
    """The digests of each task; a task that was run in two versions matches the published one in neither."""
    found: dict[str, set[str]] = {}
    for record in records:
        found.setdefault(record.key.task, set()).add(record.task_digest)
    return {name: digests if len(digests) == 1 else set() for name, digests in found.items()}


@cache
def _digests() -> Mapping[str, str]:
    """Digests of the published tasks by id; empty where the package that contains them is not installed."""
    try:
        return {task.id: task.digest for task in load_suite(SUITE).tasks}
    except UsageError:
        return {}


def _of_agents(played: Sequence[TrialRecord]) -> Iterator[str]:
    if any(record.privileged for record in played):
        yield "knows the solutions"
    prompts = {str(record.environment.get("prompt", "")) for record in played if record.model}
    if changed := sorted(each for each in prompts - _PROMPTS if each.startswith("upstream")):
        yield f"prompt: {', '.join(changed)}, which is not known as the paper's"
    elif prompts - _PROMPTS:
        yield "prompt: not the paper's"
    if any(not (record.model or record.environment.get("participant")) for record in played):
        yield "no model's agent: how it decides is not known"
    asking = [record.environment.get("asking") for record in played if record.model]
    if not all(asking):
        yield "sampling and host names: not recorded"
    for each in filter(None, asking):
        for name, value in _SAMPLING.items():
            if (given := each.get("sampling", {}).get(name)) != value:
                yield f"{name}: {'not set' if given is None else given}"
        if each.get("host_names") != "paper":
            yield f"host names: {'other ones' if each.get('host_names') else 'those of the sites here'}"
        for name, expected in _ASKING.items():
            if (found := each.get(name)) != expected:
                yield _WORDS[name].format(found)
    if any(record.memory is not None for record in played):
        yield "with memory from trial to trial"
    if rewards := sorted({record.reward_model for record in played} - {""}):
        yield f"with a reward model: {', '.join(rewards)}"


def _of_judging(records: Sequence[TrialRecord], grading: str) -> Iterator[str]:
    if grading != "original":
        yield f"graded as {grading or 'the tasks say'}"
    judges: dict[str, bool] = {}
    for record in records:
        if record.judge is not None:
            is_published = all(each in _JUDGES for each in record.judge.prompt.split(" + "))
            judges[record.judge.model] = judges.get(record.judge.model, True) and is_published
    without = sum(record.judge is None and record.cause == "judge" for record in records)
    if judges:
        missing = f", none for {without} {'trial' if without == 1 else 'trials'}" if without else ""
        yield f"judge: {', '.join(sorted(judges))}{'' if all(judges.values()) else ', in other words'}{missing}"
    elif without:
        yield "judge: none"


def _of_reach(played: Sequence[TrialRecord]) -> Iterator[str]:
    if any("reach" not in record.environment for record in played):
        yield "reach: the task's own sites alone"
    else:
        sites_by_trial = [{*record.environment["reach"].get("sites", ()), *record.sites} for record in played]
        if unreachable := [site for site in _SITES if any(site not in sites for sites in sites_by_trial)]:
            yield f"reach: without {', '.join(unreachable)}"
    if external := sorted({site for record in played for site in record.environment.get("external_sites") or ()}):
        yield f"sites that run elsewhere: {', '.join(external)}"


def _limits(record: TrialRecord) -> Mapping[str, Any]:
    found = record.environment.get("limits")
    return found if isinstance(found, dict) else {}


def _of_limits(records: Sequence[TrialRecord], played: Sequence[TrialRecord]) -> Iterator[str]:
    for reason, words in _LIMITS.items():
        if ended := sum(record.stop_reason == reason for record in records):
            yield f"{ended} {'trial' if ended == 1 else 'trials'} ended by {words}"
    yield from _of_rules(limits for record in played if (limits := _limits(record)))


def _of_rules(each: Iterator[Mapping[str, Any]]) -> Iterator[str]:
    for limits in each:
        if (rule := limits.get("rule") or limits.get("stop_rule")) not in (None, "paper"):
            yield f"stop rule: {rule}"
        if (steps := limits.get("steps")) not in (None, 30):
            yield f"{steps} steps"


def _of_sight(played: Sequence[TrialRecord]) -> Iterator[str]:
    if others := sorted({record.key.browser for record in played} - {DEFAULT_BROWSER}):
        yield f"browser: {', '.join(others)}"
    if any(list(record.environment["viewport"]) != _WINDOW for record in played):
        yield "another window"
    observations = [record.environment.get("observation") or {} for record in played]
    if any(
        tuple(each.get("kinds", ())) != ("accessibility_tree",)
        or any(each.get(name, value) != value for name, value in _OBSERVED.items())
        for each in observations
    ):
        yield "another observation"
    elif any(each.get("max_obs_length") != _CUT for each in observations):
        yield f"observation not cut after {_CUT} tokens"
    elif any(each.get("tokenizer", "estimate") == "estimate" for each in observations):
        yield f"observation cut after an estimate of {_CUT} tokens"


def _of_part(part: Mapping[str, Any], *, trials_record_limits: bool) -> Iterator[str]:
    """Differences of one invocation.

    ``trials_record_limits`` is whether each trial records its own limits, which an agent's definition may have set.
    """
    if not trials_record_limits:
        yield from _of_rules(iter((part.get("limits") or {},)))
    graded = (part.get("grading") or {}).get("name")
    if part.get("answer_format") == "verified" or (part.get("answer_format") == "auto" and graded == "verified"):
        yield "asked for typed answers"
    if (catalogue := part.get("catalogue")) not in (None, "webarena"):
        yield f"sites: {catalogue}"
    if part.get("allow_unreset"):
        yield "sites that are not reset"
