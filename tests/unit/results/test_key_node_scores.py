"""Scores of key nodes, checked against manual calculations with the paper's formulas."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_webarena.evidence import Usage
from pytest_webarena.plugin.reporting.rates import summary_lines
from pytest_webarena.results import summarise
from pytest_webarena.results.environments import guarding
from pytest_webarena.results.key_node_scores import key_node_scores
from pytest_webarena.results.metrics import measure
from pytest_webarena.results.records import TrialKey, TrialRecord
from pytest_webarena.results.table_data import as_json
from pytest_webarena.results.table_forms import as_markdown, as_text
from pytest_webarena.results.tables import Row, tables

HOME = "the first page"


def record(
    task: str,
    points: Sequence[float | None],
    *,
    steps: int = 5,
    reference: int | None = None,
    stop: Any = "answered",
    cost: float | None = None,
    forbidden: bool = False,
    trial: int = 1,
    free: bool = True,
    outcome: Any = "",
    score: Any = "",
    site: str = "shopping",
) -> TrialRecord:
    """Return a trial whose nodes got these points of 1, or None if undecided. The first node is free."""
    parts: list[dict[str, Any]] = [
        {
            "what": HOME if number == 0 else f"node {number}",
            "points": got or 0.0,
            "of": 1.0,
            "given": got or 0.0,
            "function": "url includes" if number == 0 else "element path",
            **({"step": number, "by": "a click"} if got else {}),
            **({"open": True} if got is None else {}),
            **({"free": True} if free and number == 0 else {}),
        }
        for number, got in enumerate(points)
    ]
    if forbidden:
        parts.append(
            {"what": "no", "points": 0.0, "of": 0.0, "given": 0.0, "forbidden": True, "by": "a click", "step": 2}
        )
    share: float | None = None if None in points else sum(each or 0.0 for each in points) / len(points)
    got = (0.0 if forbidden else share) if score == "" else score
    result = {"kind": "key_nodes", "path": "checks[0]", "score": got, "expected": "", "parts": parts, "children": []}
    return TrialRecord(
        key=TrialKey(task, "agent", trial),
        outcome=outcome or ("error" if got is None else "passed" if got == 1 else "failed"),
        stop_reason=stop,
        steps=steps,
        reference_steps=reference,
        usage=None if cost is None else Usage(calls=1, cost=cost),
        verdict={"results": [result], "passed": got == 1, "score": got},
        sites=(site,),
    )


TRIALS = [
    record("a", [1, 1, 1, 1], steps=8, reference=7, cost=0.3),  # all
    record("b", [1, 1, 0, 1], steps=6, reference=4, cost=0.1),  # all but one
    record("c", [0, 0], steps=3, reference=6, stop="max_steps", cost=0.1),  # none
    record("d", [1, 0, 0], steps=4, reference=20, stop="max_steps", cost=0.1),
]


def test_scores_equal_the_papers_formulas() -> None:
    found = key_node_scores(TRIALS)
    assert found is not None
    assert found.trials == 4
    assert found.completion == 8 / 13
    assert found.completion_macro == pytest.approx((1 + 3 / 4 + 0 + 1 / 3) / 4)
    assert found.free == 4 / 13
    assert found.above_free == 5 / 9
    assert (found.success, found.near, found.success_but_one) == (0.25, 0.25, 0.5)
    assert found.efficiency == pytest.approx((8 / 4 + 6 / 3 + 4 / 1) / 3)
    assert found.efficiency_left_out == 1
    assert found.efficiency_total == 21 / 8
    assert found.efficiency_upstream == pytest.approx((8 / 4 + 6 / 3 + 0 + 4 / 1) / 4)
    assert found.usd == pytest.approx(0.6 / 8)
    assert found.length == pytest.approx((1 + 1.2 * 4 / 6 + 1 + 1) / 4)
    assert found.human_alignment == pytest.approx((1 + 3 / 4 + 0 + 0.8 / 3) / 4)


def test_node_weights_do_not_change_weights_of_tasks() -> None:
    heavy = record("b", [1, 0])
    for part in heavy.verdict["results"][0]["parts"][1:]:  # type: ignore[index]
        part["of"] = 1e9
    light = record("a", [1, 1, 1, 1], steps=8)
    found = key_node_scores([light, heavy])
    assert found is not None
    assert found.completion == pytest.approx(4 / 6)
    assert found.completion_macro == pytest.approx(1 / 2)
    assert found.efficiency_total == pytest.approx(13 / 4)
    assert found.free == pytest.approx(1 / 6), "the free node of the heavy task is next to none of it"


def test_human_alignment_is_lower_without_a_stop_action() -> None:
    cut = key_node_scores([record("a", [1, 1], stop="max_steps")])
    assert cut is not None
    assert (cut.human_alignment, cut.success) == (0.95, 1)


def test_length_score_at_its_tolerance() -> None:
    for steps, score in ((11, 1), (12, 1), (13, 12 / 13)):
        found = key_node_scores([record("a", [1], steps=steps, reference=10)])
        assert found is not None
        assert found.length == pytest.approx(score)


def test_reached_forbidden_node_sets_scores_to_zero() -> None:
    found = key_node_scores([record("a", [1, 1], forbidden=True)])
    assert found is not None
    assert (found.completion, found.success, found.success_but_one, found.efficiency) == (0, 0, 0, None)
    assert [(each.name, each.reached, each.forbidden) for each in found.nodes][-1] == ("no", 1, True)


def test_trials_with_undecided_nodes_are_excluded() -> None:
    found = key_node_scores([*TRIALS, record("e", [1, None]), record("f", [1, 1], outcome="error")])
    assert found is not None
    assert (found.trials, found.open, found.completion) == (4, 2, 8 / 13)
    hidden = key_node_scores([record("e", [1, None], score=0.0)])  # hidden by the agent, and decided by its check
    assert hidden is not None
    assert (hidden.trials, hidden.open, hidden.completion) == (1, 0, 0)


def test_cost_per_node_is_unknown_if_any_cost_is_unknown() -> None:
    found = key_node_scores([record("a", [1], cost=0.2), record("b", [1])])
    assert found is not None
    assert found.usd is None
    none = key_node_scores([record("a", [0], cost=0.2)])
    assert none is not None
    assert none.usd is None  # not infinite


def test_scores_per_node_and_match_function() -> None:
    found = key_node_scores(
        [record("a", [1, 1], trial=1), record("a", [1, 0], trial=2), record("a", [1, None], trial=3)]
    )
    assert found is not None
    home, second = found.nodes
    assert (home.task, home.number, home.reached, home.trials, home.step, home.free) == ("a", 1, 2, 2, 0, True)
    assert (second.reached, second.trials, second.step, second.by) == (1, 2, 1, {"a click": 1})
    assert {each.name: each.share for each in found.functions} == {"element path": 0.5, "url includes": 1}


def test_scores_by_site_and_complexity() -> None:
    found = key_node_scores([*TRIALS, record("z", [1], site="reddit")])
    assert found is not None
    assert {name: each.completion for name, each in found.by_site.items()} == {"reddit": 1, "shopping": 8 / 13}
    assert {name: each.trials for name, each in found.by_complexity.items()} == {
        "1-5 steps": 1, "6-10 steps": 2, "16 steps and more": 1,
    }  # fmt: skip


def test_function_scores_by_annotated_step() -> None:
    found = key_node_scores([record("a", [1, 1, 0]), record("b", [1, 0, None]), record("c", [0])])
    assert found is not None
    assert [(each.function, each.number, each.reached, each.trials) for each in found.functions_by_place] == [
        ("element path", 2, 1, 1), ("element path", 3, 0, 1), ("url includes", 1, 1, 2),
    ]  # fmt: skip
    text = as_text(tables([row([record("a", [1] * 10)])]))
    assert "agent: key nodes by function and annotated step" in text
    [line] = [line for line in text.splitlines() if line.startswith("element path") and "3/3" in line]
    assert line.split()[2:] == ["–", "1/1", "1/1", "1/1", "1/1", "1/1", "1/1", "3/3"]
    assert " 8+" in text


def test_tables_count_steps_from_one() -> None:
    trial = record("a", [1, 1])
    trial.verdict["results"][0]["parts"][0]["step"] = -1  # type: ignore[index]
    text = as_text(tables([row([trial])]))
    nodes = [line.split() for line in text.splitlines() if line.startswith(("a 1. ", "a 2. "))]
    assert ["start" in nodes[0], nodes[1][-3:]] == [True, ["2.0", "a", "click"]]


def test_scores_by_domain_and_model_where_recorded() -> None:
    plain = key_node_scores(TRIALS)
    assert plain is not None
    assert (plain.by_domain, plain.by_models) == ({}, {})
    trials = [
        replace(TRIALS[0], source={"domain": "travel"}, model="gpt-x", reward_model="gpt-y"),
        replace(TRIALS[2], tags=("domain:travel",), model="gpt-x"),
        replace(TRIALS[1], tags=("domain:shopping",), model="gpt-x"),
    ]
    found = key_node_scores(trials)
    assert found is not None
    assert {name: each.completion for name, each in found.by_domain.items()} == {"shopping": 3 / 4, "travel": 4 / 6}
    assert {name: each.trials for name, each in found.by_models.items()} == {
        "gpt-x, reward gpt-y": 1, "gpt-x, reward none": 2,
    }  # fmt: skip
    text = as_text(tables([row(trials)]))
    assert "agent: key nodes by website, domain, model and length of the reference" in text
    assert "domain: travel" in text


PHONE = {
    "os": "Linux-6.1.0-amd64",
    "timezone": "Europe/Berlin",
    "geolocation": {"latitude": 52.5, "longitude": 13.4, "accuracy": 0},
    "locale": "de-DE",
    "viewport": [390, 844],
    "device_scale": 3.0,
    "context_args": {"is_mobile": "True"},
}
DESK = {"os": "Linux-6.1.0-amd64", "timezone": "UTC", "locale": "en-US", "viewport": [1280, 720], "device_scale": 1.0}


def test_environment_columns_appear_only_where_values_differ() -> None:
    trials = [
        replace(TRIALS[0], environment=PHONE, browser="Chromium 140.0.1"),
        replace(TRIALS[1], environment=DESK, browser="Chromium 140.0.1"),
        replace(TRIALS[2], environment=DESK, browser="Firefox 128.0"),
    ]
    found = key_node_scores(trials)
    assert found is not None
    assert [tuple(each.setting) for each in found.by_setting] == [
        ("Europe/Berlin 52.5,13.4", "Linux", "chromium 140", "390x844 @3.0 mobile", "de-DE", "", ""),
        ("UTC", "Linux", "chromium 140", "1280x720", "en-US", "", ""),
        ("UTC", "Linux", "firefox 128", "1280x720", "en-US", "", ""),
    ]
    markdown = as_markdown(tables([row(trials)]))
    assert "| agent | region | browser | device | language | CR |" in markdown
    assert "Equal in all: system Linux." in markdown
    json.loads(as_json([row(trials)]))
    assert max(map(len, as_text(tables([row(trials)])).splitlines())) <= 80
    same = as_markdown(tables([row([trials[1]])]))
    assert "Equal in all: region UTC, system Linux, browser chromium 140, device 1280x720, language en-US." in same


def test_guard_of_live_sites_is_named_next_to_the_scores() -> None:
    obeying, ignoring = ({**DESK, "live": {"robots": policy}} for policy in ("obey", "ignore"))
    trials = [replace(TRIALS[0], environment=obeying), replace(TRIALS[1], environment=ignoring)]
    guarded = row(trials, "mind2web-live")
    text = as_markdown(tables([replace(guarded, guard="writes refused", robots="ignored + obeyed")]))
    assert "| agent | robots | CR |" in text  # by environment: each policy has its scores
    assert "| agent | guard | robots.txt | CR |" in text
    assert text.count("| agent | writes refused | ignored + obeyed |") == 2  # scores of key nodes, success rates
    assert "| GPT-4o | none | not stated | 104 |" in text
    assert "the paper's agents had none" in text
    unguarded = as_markdown(tables([row(TRIALS, "mind2web-live")]))
    assert "| GPT-4o | 104 |" in unguarded
    assert "guard" not in unguarded


def test_rows_have_the_guard_of_their_trials() -> None:
    obeying, ignoring = ({**DESK, "live": {"robots": policy}} for policy in ("obey", "ignore"))
    trials = [replace(TRIALS[0], environment=obeying), replace(TRIALS[1], environment=ignoring)]
    assert guarding(trials) == ("writes refused", "ignored + obeyed")
    assert guarding(trials[:1]) == ("writes refused", "obeyed")
    assert guarding(TRIALS) == ("", "")


def test_tasks_without_key_nodes_have_no_scores() -> None:
    plain = TrialRecord(key=TrialKey("t", "agent", 1), outcome="passed", verdict={"results": []})
    assert key_node_scores([plain]) is None
    assert summarise([plain])["agent"].key_nodes is None
    lines = [line.text for line in summary_lines(summarise([plain]).values())]
    assert not any("key nodes" in line for line in lines)


def row(records: Sequence[TrialRecord], suite: str = "") -> Row:
    return Row(
        name="agent", run="r", agent="agent", browser="chromium", grading="", suite=suite,
        metrics=measure(records), key_nodes=key_node_scores(records),
    )  # fmt: skip


def test_tables_and_summary_show_key_node_scores() -> None:
    text = as_text(tables([row(TRIALS)]))
    assert max(map(len, text.splitlines())) <= 80
    lines = {line.split("  ")[0]: line.split() for line in text.splitlines()}
    assert "Key nodes" in text
    [main] = [line for line in text.splitlines() if line.startswith("agent") and "61.5%" in line]
    assert main.split()[1:] == ["61.5%", "52.1%", "55.6%", "30.8%", "25.0%", "25.0%", "50.0%", "50.4%", "4", "0"]
    assert lines["site: shopping"][2:] == ["61.5%", "55.6%", "25.0%", "50.0%", "4", "0"]
    assert "a 1. the first page (free)" in as_markdown(tables([row(TRIALS)]))
    data = json.loads(as_json([row(TRIALS)]))
    assert data["agents"][0]["key_nodes"]["nodes"][0]["reached"] == 1
    reached_lines = [line.text for line in summary_lines(summarise(TRIALS).values()) if "key nodes" in line.text]

    assert "61.5% reached, 55.6% above the free ones" in reached_lines[0]


def test_published_key_nodes_appear_only_for_their_suite() -> None:
    assert "Published key nodes of mind2web-live" in as_text(tables([row(TRIALS, "mind2web-live")]))
    assert "Published key nodes" not in as_text(tables([row(TRIALS)]))


def test_records_of_older_versions_have_no_reference_steps() -> None:
    data = TRIALS[0].to_json()
    del data["reference_steps"]
    assert TrialRecord.from_json({**data, "schema_version": 6}).reference_steps is None
    assert TrialRecord.from_json(TRIALS[0].to_json()) == TRIALS[0]
