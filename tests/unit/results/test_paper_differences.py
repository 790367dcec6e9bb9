"""Listed differences between a run's conditions and those of the WebArena paper."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import pytest

from pytest_webarena.results import JudgeRecord, TrialKey, TrialRecord
from pytest_webarena.results import paper_differences as unlike_paper_module
from pytest_webarena.results.paper_differences import unlike_paper
from pytest_webarena.results.records import MemoryUse
from pytest_webarena.suites.loading import load_suite
from tests.cases import each_case

PART: dict[str, Any] = {"catalogue": "webarena", "limits": {"stop_rule": "paper", "steps": 30}}
OBSERVED: dict[str, Any] = {
    "kinds": ["accessibility_tree"],
    "compat": True,
    "max_obs_length": 1920,
    "tokenizer": "tiktoken:cl100k_base",
}
SAMPLING: dict[str, Any] = {"temperature": 1.0, "top_p": 0.9, "max_tokens": 384}
ASKING: dict[str, Any] = {
    "sampling": SAMPLING,
    "host_names": "paper",
    "invalid_retries": 0,
    "history": "previous_action",
    "reply": "text",
    "grammar": "webarena",
}
LIMITS: dict[str, Any] = {"steps": 30, "seconds": 600.0, "rule": "paper"}
SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "wikipedia")  # the task has the map itself
MET: dict[str, Any] = {
    "viewport": [1280, 720],
    "observation": OBSERVED,
    "reach": {"sites": [*SITES, "homepage"], "visited": []},
    "prompt": "upstream p_cot_id_actree_2s@203a83b4aaac",
    "asking": ASKING,
    "limits": LIMITS,
}


@functools.cache  # and not when this is imported: every worker does that
def digests() -> Mapping[str, str]:
    """Of WebArena's tasks by id."""
    return {task.id: task.digest for task in load_suite("webarena").tasks}


def judged(prompt: str) -> JudgeRecord:
    return JudgeRecord(model="j", prompt=prompt, temperature=0.0)


def differences(
    count: int = 812,
    *,
    grading: str = "original",
    part: Any = None,
    stop: str = "",
    changed: Any = None,
    others: Any = None,
    **met: Any,
) -> tuple[str, ...]:
    """``changed``: fields of all records; ``others``: of the first two."""
    environment = {name: value for name, value in {**MET, **met}.items() if value is not None}
    facts: dict[str, Any] = {
        "stop_reason": stop or None,
        "category": "content",
        "template": "t",
        "node_id": "n",
        "model": "m",
        "sites": ("map",),
        "outcome": "failed",
        **(changed or {}),
    }
    records = [
        TrialRecord(
            **{
                "key": TrialKey(name, "a", 1),
                "environment": environment,
                "task_digest": digests()[name],
                **facts,
                **((others or {}) if number < 2 else {}),
            }
        )
        for number, name in enumerate(list(digests())[:count])
    ]
    return unlike_paper([{**PART, **(part or {})}], records, grading)


def test_conditions_of_the_paper_have_no_differences() -> None:
    assert differences() == ()


@each_case(
    ("given", "difference"),
    [
        ({"count": 5}, "5 of 812 tasks"),
        ({"others": {"outcome": "error", "cause": "site"}}, "2 without a verdict"),
        ({"others": {"task_digest": "edited"}}, "2 not as published"),
        ({"prompt": "ours webarena.j2 sha256:0"}, "prompt: not the paper's"),
        (
            {"prompt": "upstream p_cot_id_actree_2s@000000000000"},
            "prompt: upstream p_cot_id_actree_2s@000000000000, which is not known as the paper's",
        ),
        ({"changed": {"privileged": True}}, "knows the solutions"),
        ({"changed": {"model": ""}, "prompt": None}, "no model's agent: how it decides is not known"),
        ({"changed": {"reward_model": "r"}}, "with a reward model: r"),
        ({"changed": {"memory": MemoryUse(scope="task", of="t")}}, "with memory from trial to trial"),
        ({"asking": None}, "sampling and host names: not recorded"),
        ({"asking": {**ASKING, "sampling": {**SAMPLING, "temperature": 0.0}}}, "temperature: 0.0"),
        ({"asking": {**ASKING, "sampling": {"temperature": 1, "max_tokens": 384}}}, "top_p: not set"),
        ({"asking": {**ASKING, "sampling": {**SAMPLING, "max_tokens": 500}}}, "max_tokens: 500"),
        ({"asking": {**ASKING, "host_names": None}}, "host names: those of the sites here"),
        ({"asking": {**ASKING, "host_names": {"map": "http://x"}}}, "host names: other ones"),
        ({"asking": {**ASKING, "invalid_retries": 2}}, "asked again after 2 malformed replies"),
        ({"asking": {**ASKING, "history": "actions"}}, "shown earlier steps as actions"),
        ({"asking": {**ASKING, "reply": "tools"}}, "replies as tools"),
        ({"asking": {**ASKING, "grammar": "playwright"}}, "actions as playwright"),
        ({"changed": {"judge": judged("upstream:llm_fuzzy_match@000000000000")}}, "judge: j, in other words"),
        ({"changed": {"judge": judged("teacher@0")}}, "judge: j, in other words"),
        (
            {
                "changed": {
                    "judge": judged("upstream:llm_fuzzy_match@22c11b7f3f7e + upstream:llm_ua_match@4b8285572448")
                }
            },
            "judge: j",
        ),
        ({"external_sites": ["reddit"]}, "sites that run elsewhere: reddit"),
        ({"part": {"allow_unreset": True}}, "sites that are not reset"),
        ({"limits": {**LIMITS, "steps": 50}}, "50 steps"),
        ({"limits": {**LIMITS, "rule": "upstream"}}, "stop rule: upstream"),
        ({"observation": {**OBSERVED, "tokenizer": "estimate"}}, "observation cut after an estimate of 1920 tokens"),
        ({"observation": {**OBSERVED, "current_viewport_only": False}}, "another observation"),
        ({"observation": {**OBSERVED, "max_tokens": 500}}, "another observation"),
        ({"prompt": None}, "prompt: not the paper's"),
        ({"grading": "repaired"}, "graded as repaired"),
        ({"reach": None}, "reach: the task's own sites alone"),
        ({"reach": {"sites": ["homepage"]}}, f"reach: without {', '.join(SITES)}"),
        ({"reach": {"sites": [*SITES]}}, "reach: without homepage"),
        ({"stop": "time"}, "812 trials ended by a limit of time"),
        ({"stop": "context"}, "812 trials ended by the model's context length"),
        ({"stop": "filtered"}, "812 trials ended by a content filter"),
        ({"part": {"answer_format": "verified"}}, "asked for typed answers"),
        ({"part": {"answer_format": "auto", "grading": {"name": "verified"}}}, "asked for typed answers"),
        ({"observation": {**OBSERVED, "max_obs_length": None}}, "observation not cut after 1920 tokens"),
        ({"viewport": [800, 600]}, "another window"),
        ({"observation": {"kinds": ["html"]}}, "another observation"),
        ({"observation": {**OBSERVED, "compat": False}}, "another observation"),
        ({"part": {"limits": {"stop_rule": "upstream", "steps": 30}}, "limits": None}, "stop rule: upstream"),
        ({"part": {"limits": {"stop_rule": "paper", "steps": 10}}, "limits": None}, "10 steps"),
        ({"part": {"catalogue": "embedded"}}, "sites: embedded"),
    ],
)
def test_each_difference_from_the_paper_is_listed(given: dict[str, Any], difference: str) -> None:
    assert differences(given.pop("count", 812), **given) == (difference,)


def test_trials_without_a_judge_are_counted() -> None:
    found = differences(
        changed={"judge": judged("upstream:llm_fuzzy_match@22c11b7f3f7e")},
        others={"judge": None, "outcome": "error", "cause": "judge"},
    )
    assert found == ("2 without a verdict", "judge: j, none for 2 trials")


def test_task_run_in_two_versions_is_not_as_published() -> None:
    name = "webarena.0"
    facts: dict[str, Any] = {"outcome": "passed", "stop_reason": None, "category": "content", "template": "t"}
    records = [
        TrialRecord(key=TrialKey(name, "a", trial), task_digest=digest, node_id="n", sites=("map",), **facts)
        for trial, digest in enumerate((digests()[name], "edited"), start=1)
    ]
    assert unlike_paper([PART], records, "original") == ("1 of 812 tasks", "1 not as published")


def test_missing_published_tasks_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unlike_paper_module, "_digests", dict)
    assert differences() == ("its tasks were not held against the published ones (pip install webarena-verified)",)
