"""Conditions beside figures on WebArena's tasks: what is not the paper's is not called so."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_webarena.results import TrialKey, TrialRecord
from pytest_webarena.results.unlike_paper import unlike_paper

PART: dict[str, Any] = {"catalogue": "webarena", "limits": {"stop_rule": "paper", "steps": 30}}
OBSERVED: dict[str, Any] = {"kinds": ["accessibility_tree"], "compat": True, "max_obs_length": 1920}
SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "wikipedia")  # the task has the map itself
MET: dict[str, Any] = {
    "viewport": [1280, 720],
    "observation": OBSERVED,
    "reach": {"sites": [*SITES, "homepage"], "visited": []},
    "prompt": "upstream p_cot_id_actree_2s.json sha256:0",
}


def told(
    count: int = 812, *, grading: str = "original", part: Any = None, stop: str = "", **met: Any
) -> tuple[str, ...]:
    environment = {name: value for name, value in {**MET, **met}.items() if value is not None}
    facts: dict[str, Any] = {
        "stop_reason": stop or None,
        "category": "content",
        "template": "t",
        "node_id": "n",
        "model": "m",
        "sites": ("map",),
    }
    records = [
        TrialRecord(key=TrialKey(f"webarena.{n}", "a", 1), outcome="failed", environment=environment, **facts)
        for n in range(count)
    ]
    return unlike_paper([{**PART, **(part or {})}], records, grading)


def test_nothing_differs_where_nothing_does() -> None:
    assert told() == ()


@pytest.mark.parametrize(
    ("given", "difference"),
    [
        ({"count": 5}, "5 of 812 tasks"),
        ({"prompt": "ours webarena.j2 sha256:0"}, "prompt: not the paper's"),
        ({"prompt": None}, "prompt: not the paper's"),
        ({"grading": "repaired"}, "graded as repaired"),
        ({"reach": None}, "reach: the task's own sites alone"),
        ({"reach": {"sites": ["homepage"]}}, f"reach: without {', '.join(SITES)}"),
        ({"reach": {"sites": [*SITES]}}, "reach: without homepage"),
        ({"stop": "time"}, "812 trials ended by a limit of time"),
        ({"part": {"answer_format": "verified"}}, "asked for typed answers"),
        ({"part": {"answer_format": "auto", "grading": {"name": "verified"}}}, "asked for typed answers"),
        ({"observation": {**OBSERVED, "max_obs_length": None}}, "observation not cut after 1920 tokens"),
        ({"viewport": [800, 600]}, "another window"),
        ({"observation": {"kinds": ["html"]}}, "another observation"),
        ({"observation": {**OBSERVED, "compat": False}}, "another observation"),
        ({"part": {"limits": {"stop_rule": "upstream", "steps": 30}}}, "stop rule: upstream"),
        ({"part": {"limits": {"stop_rule": "paper", "steps": 10}}}, "10 steps"),
        ({"part": {"catalogue": "embedded"}}, "sites: embedded"),
    ],
)
def test_each_difference_is_told(given: dict[str, Any], difference: str) -> None:
    assert told(given.pop("count", 812), **given) == (difference,)
