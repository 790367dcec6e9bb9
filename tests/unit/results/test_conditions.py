"""Conditions that trials must share to make one rate: merges refuse differences, and rates list them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.reporting.rates import summary_lines
from pytest_webarena.results import JudgeRecord, RunDir, summarise
from pytest_webarena.results.conditions import RESCORED, RESUMED, add_note, differences, mixed, source_of
from pytest_webarena.results.export import export
from pytest_webarena.results.merge import merge_runs
from tests.made_up import make_run, make_trial

PAGE = {"viewport": [1280, 720], "locale": "en-US", "geolocation": None, "dialogs": "accept", "os": "x"}
RECORD: dict[str, Any] = {
    "task_digest": "d1",
    "agent_digest": "a1",
    "model": "m1",
    "browser": "chromium-headless-shell 156.0",
    "environment": PAGE,
    "replicas": {"shop": "r1"},
}
FACTS: dict[str, Any] = {
    "limits": {"steps": 30, "seconds": 600.0, "stop_rule": "paper"},
    "grading": {"name": "repaired", "without": []},
    "answer_format": "auto",
    "apps": {"shop": "s1", "map": "p1"},
    "versions": {"pytest-webarena": "1"},
}
JUDGE = JudgeRecord(model="judge-1", prompt="teacher@1", temperature=0.0)


def run(path: Path, *tasks: str, facts: Any = None, agent: str = "a", **record: Any) -> Path:
    made = make_run(path, **{**FACTS, "agents": [agent], **(facts or {})})
    for task in tasks:
        make_trial(made, task, agent=agent, **{**RECORD, **record})
    return path


WIDE = {**PAGE, "reach": {"sites": ["wiki"], "visited": []}}


@pytest.mark.parametrize(
    ("one", "other", "difference"),
    [
        ((["*"], WIDE), (None, PAGE), "environment in 1 and as each task says: task in 2"),
        ((["wiki"], WIDE), (["*"], WIDE), "wiki in 1 and environment in 2"),
        ((["wiki"], WIDE), (None, WIDE), "wiki in 1 and as each task says: environment in 2"),
        ((["*"], WIDE), (None, WIDE), ""),  # its tasks set the same themselves
        (([], PAGE), (None, PAGE), ""),
        ((None, WIDE), (None, PAGE), ""),  # other tasks, or others by their digests
    ],
)
def test_reachable_sites_of_options_and_tasks_are_compared(
    tmp_path: Path, one: Any, other: Any, difference: str
) -> None:
    sources = [
        run(tmp_path / name, task, facts={"reach": reach}, environment=environment)
        for name, task, (reach, environment) in (("1", "t", one), ("2", "u", other))
    ]
    if difference:
        with pytest.raises(UsageError, match=f"a: --reachable-sites: {difference}"):
            merge_runs(sources, tmp_path / "out")
    else:
        merge_runs(sources, tmp_path / "out")


def test_tasks_of_one_run_may_set_their_own_reachable_sites(tmp_path: Path) -> None:
    made = RunDir(run(tmp_path / "1", "t", facts={"reach": None}, environment=PAGE))
    make_trial(made, "u", agent="a", **{**RECORD, "environment": WIDE})
    assert differences([source_of(made.path, made.facts(), made.records())]) == []


@pytest.mark.parametrize(
    ("facts", "record", "message"),
    [
        ({}, {"agent_digest": "a2"}, "a: digest of the agent: a1 in 1 and a2 in 2"),
        ({}, {"model": "m2"}, "a: model: m1 in 1 and m2 in 2"),
        (
            {},
            {"environment": {**PAGE, "viewport": [800, 600]}},
            "a: page: viewport: [1280, 720] in 1 and [800, 600] in 2",
        ),
        ({"limits": {**FACTS["limits"], "stop_rule": "upstream"}}, {}, "a: --stop-rule: paper in 1 and upstream in 2"),
        ({"limits": {**FACTS["limits"], "steps": 5}}, {}, "a: --max-steps: 30 in 1 and 5 in 2"),
        ({"limits": {**FACTS["limits"], "seconds": 9.0}}, {}, "a: --time-limit: 600.0 in 1 and 9.0 in 2"),
        ({"grading": {"name": "original", "without": []}}, {}, "a: --grading: repaired in 1 and original in 2"),
        (
            {"grading": {"name": "repaired", "without": ["dates"]}},
            {},
            "a: --grading: repaired in 1 and repaired without dates in 2",
        ),
        ({"answer_format": "verified"}, {}, "a: --answer-format: auto in 1 and verified in 2"),
        ({"apps": {"shop": "s2"}}, {}, "a: manifest of the site shop: s1 in 1 and s2 in 2"),
    ],
)
def test_merge_refuses_different_conditions_with_both_values(
    tmp_path: Path, facts: Any, record: Any, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    sources = [run(tmp_path / "1", "t"), run(tmp_path / "2", "u", facts=facts, **record)]
    with pytest.raises(UsageError) as refused:
        merge_runs(sources, tmp_path / "out")
    assert f"  {message}\n" in str(refused.value)
    assert not (tmp_path / "out").exists()
    arguments = ["runs", "merge", *map(str, sources), "-o", str(tmp_path / "out")]
    assert main(arguments) == 2
    assert "--allow-mixed" in capsys.readouterr().err
    assert main([*arguments, "--allow-mixed"]) == 0
    assert f"mixed: {message}\n" in capsys.readouterr().out
    assert message in RunDir(tmp_path / "out").facts()["mixed"]


def test_allow_mixed_marks_every_rate(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sources = [run(tmp_path / "1", "t"), run(tmp_path / "2", "u", agent_digest="a2")]
    out = tmp_path / "out"
    merge_runs(sources, out, allow_mixed=True)
    export(RunDir(out))
    agents = json.loads((out / "summary.json").read_text())["agents"]
    assert agents["a"]["mixed"] == ["a: digest of the agent a1 / a2"]
    assert main(["compare", "tables", str(out)]) == 0
    assert "a is no one rate, its trials are mixed: digest of the agent a1 / a2." in " ".join(
        capsys.readouterr().out.split()
    )
    stored = RunDir(out).read()
    found = mixed(source_of(out, RunDir(out).facts(), stored.records))
    lines = [line.text for line in summary_lines(summarise(stored.records).values(), found)]
    assert "mixed        no one rate: its trials differ, digest of the agent a1 / a2" in lines[1]
    merge_runs([out], tmp_path / "again", allow_mixed=True)
    with pytest.raises(UsageError, match="a1 in out and a2 in out"):  # a forced merge stays marked
        merge_runs([out], tmp_path / "quietly")


@pytest.mark.parametrize(
    ("facts", "record", "difference"),
    [
        ({"versions": {"pytest-webarena": "2"}}, {}, 'a: versions: {"pytest-webarena": "1"} in 1 and'),
        ({"env_retries": 3}, {}, "a: env_retries: 1 in 1 and 3 in 2"),
        ({}, {"browser": "chromium 157"}, "a: version of the browser: "),
        ({}, {"replicas": {"shop": "r2"}}, "a: what served shop: r1 in 1 and r2 in 2"),
        ({"apps": {"shop": "s1", "map": "p2"}}, {}, ""),  # no trial was on the map
        ({"apps": None}, {}, "a: --sites"),
        ({"argv": ["other"], "workers": 4}, {}, ""),
    ],
)
def test_minor_differences_are_listed_but_merged(tmp_path: Path, facts: Any, record: Any, difference: str) -> None:
    base = {"apps": None} if difference == "a: --sites" else {}
    other = {"catalogue": "elsewhere"} if base else {}
    sources = [run(tmp_path / "1", "t", facts=base), run(tmp_path / "2", "u", facts={**facts, **other}, **record)]
    if base:  # without manifests, the names of the catalogues are compared
        with pytest.raises(UsageError, match="a: --sites: embedded in 1 and elsewhere in 2"):
            merge_runs(sources, tmp_path / "out")
        return
    found = list(map(str, merge_runs(sources, tmp_path / "out").differences))
    assert len(found) == bool(difference)
    assert all(each.startswith(difference) for each in found)


def test_conditions_are_compared_per_agent(tmp_path: Path) -> None:
    upstream = {"limits": {**FACTS["limits"], "stop_rule": "upstream"}}
    sources = [run(tmp_path / "1", "t"), run(tmp_path / "2", "t", agent="b", agent_digest="b1", facts=upstream)]
    merged = merge_runs(sources, tmp_path / "out")
    assert merged.trials == 2
    assert not merged.differences
    both = RunDir(tmp_path / "out")
    assert not mixed(source_of(both.path, both.facts(), both.records()))


def test_merge_refuses_one_task_with_two_digests(tmp_path: Path) -> None:
    first = run(tmp_path / "1", "t")
    second = make_run(tmp_path / "2", **FACTS)
    make_trial(second, "t", trial=2, **{**RECORD, "task_digest": "d2"})
    with pytest.raises(UsageError, match="a: digest of the task t: d1 in 1 and d2 in 2"):
        merge_runs([first, second.path], tmp_path / "out")


def test_conditions_of_errors_are_not_compared(tmp_path: Path) -> None:
    sources = [run(tmp_path / "1", "t"), run(tmp_path / "2", "u", outcome="error", cause="harness", agent_digest="a2")]
    assert not merge_runs(sources, tmp_path / "out").differences


def test_judges_are_compared_only_between_judged_trials(tmp_path: Path) -> None:
    other = JudgeRecord(model="judge-2", prompt="teacher@1", temperature=0.0)
    sources = [run(tmp_path / "1", "t", judge=JUDGE), run(tmp_path / "2", "u"), run(tmp_path / "3", "v", judge=other)]
    merge_runs(sources[:2], tmp_path / "out")
    with pytest.raises(UsageError, match=r"a: judge: judge-1 .*in 1 and judge-2 .* in 3"):
        merge_runs(sources, tmp_path / "out2")


def test_judge_prompts_are_compared_per_kind(tmp_path: Path) -> None:
    rubric, both = replace(JUDGE, prompt="rubric@1"), replace(JUDGE, prompt="teacher@1 + rubric@1")
    alike = [run(tmp_path / "1", "t", judge=JUDGE), run(tmp_path / "2", "u", judge=rubric)]
    alike.append(run(tmp_path / "3", "v", judge=both))
    merge_runs(alike, tmp_path / "all")
    other = run(tmp_path / "4", "w", judge=replace(JUDGE, prompt="rubric@2"))
    with pytest.raises(UsageError, match=r"a: judge of rubrics: judge-1 \(prompt rubric@1"):
        merge_runs([*alike, other], tmp_path / "more")


def test_latest_rescore_determines_the_grading(tmp_path: Path) -> None:
    sources = [run(tmp_path / "1", "t"), run(tmp_path / "2", "u")]
    note = {"grading": {"name": "original", "without": []}, "judge": None}
    add_note(sources[0] / RESCORED, note)
    with pytest.raises(UsageError, match="a: --grading: original in 1 and repaired in 2"):
        merge_runs(sources, tmp_path / "out")


def test_resumed_invocations_are_compared_too(tmp_path: Path) -> None:
    source = run(tmp_path / "1", "t")
    for note in ({**FACTS, "agents": ["a"], "limits": {**FACTS["limits"], "steps": 5}}, {"agents": ["b"]}):
        add_note(source / RESUMED, note)
    (found,) = differences([source_of(source, RunDir(source).facts(), RunDir(source).records())])
    assert str(found) == "a: --max-steps: 30 in 1 and 5 in 1"
    assert found.matters


def test_merge_refuses_audits_among_agent_runs(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="found audits of tasks among runs of agents"):
        merge_runs([run(tmp_path / "1", "t"), run(tmp_path / "2", "u", facts={"audit": True})], tmp_path / "out")


def test_merged_run_json_describes_all_sources(tmp_path: Path) -> None:
    sources = [
        run(tmp_path / "1", "t", facts={"started": 5.0, "argv": ["x"], "trials": 1}),
        run(tmp_path / "2", "t", agent="b", facts={"started": 3.0, "argv": ["y"], "trials": 4, "git": "beef"}),
    ]
    merge_runs(sources, tmp_path / "out")
    facts = RunDir(tmp_path / "out").facts()
    assert (facts["started"], facts["agents"], facts["trials"], facts["limits"]) == (
        3.0,
        ["a", "b"],
        4,
        FACTS["limits"],
    )
    assert "git" not in facts  # the sources differ
    assert [(part["run"], part["argv"], part["git"]) for part in facts["merged"]] == [
        ("1", ["x"], "c0ffee"),
        ("2", ["y"], "beef"),
    ]
    merge_runs([tmp_path / "out", run(tmp_path / "3", "v")], tmp_path / "all")  # and once more
    assert RunDir(tmp_path / "all").facts()["agents"] == ["a", "b"]
