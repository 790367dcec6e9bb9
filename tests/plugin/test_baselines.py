"""Comparisons of runs: between the agents of one run, and with a baseline."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from pytest_webarena.commands.cli import main

MakeTasks = Callable[..., None]


def joined_lines(result: pytest.RunResult, begin: str) -> str:
    """Return three lines from the first one that starts with ``begin``, joined."""
    lines = result.outlines
    start = next(number for number, line in enumerate(lines) if line.startswith(begin))
    rest = [line.strip() for line in lines[start : start + 3]]
    return " ".join(rest)


@pytest.fixture
def baseline(canned: pytest.Pytester, make_tasks: MakeTasks) -> pytest.Pytester:
    """A baseline of twenty tasks that pass in Chromium; they fail in Firefox."""
    make_tasks(*(f"t{number}-not-in-firefox" for number in range(20)))
    assert canned.runpytest("--run-dir=first", "--agent=oracle").ret == 0
    assert main(["compare", "baseline", "save", str(canned.path / "first"), "-o", str(canned.path / "b.json")]) == 0
    return canned


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["one process", "workers"])
def test_run_worse_than_baseline_exits_with_14(baseline: pytest.Pytester, workers: tuple[str, ...]) -> None:
    result = baseline.runpytest(
        *workers, "--agent=oracle", "--baseline=b.json", "--browser=firefox", "--run-dir=second"
    )
    assert any(line.startswith("webarena: baseline b.json · its 20 tasks × 1 can show") for line in result.outlines)
    assert result.ret == 14
    assert joined_lines(result, "gate: ").startswith(
        "gate: oracle (second) is worse than oracle (b.json): −100.0 points (95%"
    )
    assert joined_lines(result, "compared ").startswith("compared       oracle (second) is worse than oracle (b.json)")


def test_header_states_detectable_difference_between_agents(canned: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks(*(f"t{number}" for number in range(20)))
    result = canned.runpytest("--run-dir=run", "--agent=oracle", "--agent=null", "--trials=2", "--collect-only", "-v")
    lines = [line for line in result.outlines if "can show" in line]
    assert lines == ["webarena: 20 tasks × 2 can show 46.3 points between two agents that pass about half"]
    alone = canned.runpytest("--run-dir=run", "--agent=oracle", "--collect-only", "-v")
    assert not any("can show" in line for line in alone.outlines)


def test_resumed_run_is_compared_with_baseline_as_a_whole(baseline: pytest.Pytester) -> None:
    begun = baseline.runpytest("-x", "--agent=oracle", "--baseline=b.json", "--browser=firefox", "--run-dir=second")
    assert begun.ret == 11  # the other nineteen did not run
    assert baseline.runpytest("--resume=second", "--baseline=b.json").ret == 14


def test_run_directory_serves_as_baseline(baseline: pytest.Pytester) -> None:
    assert baseline.runpytest("--baseline=first", "--browser=firefox", "--run-dir=second").ret == 14


def test_equal_run_passes_baseline_unless_unsettled_fails(baseline: pytest.Pytester) -> None:
    assert baseline.runpytest("--baseline=b.json", "--run-dir=second").ret == 0
    result = baseline.runpytest("--baseline=b.json", "--fail-unsettled", "--run-dir=third")
    assert result.ret == 15
    assert "Unsettled whether oracle in third is better" in joined_lines(result, "gate: ")


def test_baseline_with_too_few_tasks_is_rejected_before_first_trial(
    canned: pytest.Pytester, make_tasks: MakeTasks
) -> None:
    make_tasks(*(f"t{number}" for number in range(5)))
    assert canned.runpytest("--run-dir=first", "--agent=oracle").ret == 0
    refused = canned.runpytest("--baseline=first", "--run-dir=second", "--browser=firefox")
    assert refused.ret == 4
    output = " ".join((*refused.outlines, *refused.errlines))
    assert "--baseline: first: 5 tasks cannot show even a total collapse: oracle passed 5, so p = 0.062 at" in output
    assert "At least 6 tasks of different templates have to pass in the baseline" in output
    assert not (canned.path / "second").exists()
    assert canned.runpytest("--baseline=first", "--allow-undetectable", "--run-dir=second").ret == 0


def test_gate_is_unsettled_when_too_few_baseline_tasks_are_selected(baseline: pytest.Pytester) -> None:
    result = baseline.runpytest("--baseline=b.json", "--run-dir=second", "-k", "t0-not or t1-not or t2-not")
    assert result.ret == 15
    assert "3 tasks cannot show even a total collapse of oracle in second" in joined_lines(result, "gate: ")


@pytest.mark.matrix(1)
@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["one process", "workers"])
def test_baseline_comparison_reports_tasks_not_selected(
    baseline: pytest.Pytester, make_tasks: MakeTasks, workers: tuple[str, ...]
) -> None:
    part = baseline.runpytest(*workers, "--baseline=b.json", "--run-dir=second", "-k", "not t0-not")
    assert part.ret == 0
    assert "1 of 20 tasks that passed in b.json were not compared: not selected" in joined_lines(part, "gate: ")
    nodes = [f"tasks/demo.yaml::t{number}-not-in-firefox" for number in range(2, 20)]
    part = baseline.runpytest("--baseline=b.json", "--run-dir=nodes", *nodes)
    assert part.ret == 0
    assert "2 of 20 tasks that passed in b.json were not compared: not selected" in joined_lines(part, "gate: ")
    make_tasks(*(f"t{number}-not-in-firefox" for number in range(1, 20)))  # without the first one
    not_selected = baseline.runpytest("--baseline=b.json", "--run-dir=third")
    assert not_selected.ret == 15
    assert "were not compared: 1 not in this run (t0-not-in-firefox)" in joined_lines(not_selected, "gate: ")


def test_baseline_gate_fails_when_planned_trials_are_missing(baseline: pytest.Pytester) -> None:
    result = baseline.runpytest("--baseline=b.json", "-x", "--browser=firefox", "--run-dir=second")
    assert result.ret == 11
    assert "planned trials have no result" in joined_lines(result, "gate: ")


def test_baseline_without_common_tasks_fails_the_gate(baseline: pytest.Pytester, make_tasks: MakeTasks) -> None:
    make_tasks("another")
    result = baseline.runpytest("--baseline=b.json", "--run-dir=second")
    assert result.ret == 11
    assert "expected tasks that both oracle of b.json and" in joined_lines(result, "gate: ")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--baseline=none.json",),
            "--baseline: expected a run, or a file of 'webarena compare baseline save'",
        ),
        (("--confidence=99",), "--confidence: expected --baseline"),
        (("--fail-unsettled",), "--fail-unsettled: expected --baseline"),
        (("--allow-undetectable",), "--allow-undetectable: expected --baseline"),
        (("--max-cost-increase=20%",), "--max-cost-increase: expected --baseline"),
        (("--baseline=b.json", "--confidence=101"), "expected a confidence from 50 to 99.9, as 95, found '101'"),
        (("--baseline=b.json", "--max-cost-increase=much"), "expected a share such as 20% or 0.2, found 'much'"),
    ],
)
def test_invalid_baseline_options_end_the_run_at_start(
    canned: pytest.Pytester, make_tasks: MakeTasks, options: tuple[str, ...], message: str
) -> None:
    make_tasks("a")
    result = canned.runpytest(*options)
    assert result.ret == 4
    assert message in " ".join((*result.outlines, *result.errlines))


def test_agents_of_one_run_are_compared_by_default(
    canned: pytest.Pytester, make_tasks: MakeTasks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(canned.path / "step.md"))
    make_tasks("a", "b-wrong", "c", "d")
    result = canned.runpytest("--agent=null", "--agent=echo", "--run-dir=run")
    assert joined_lines(result, "compared ").startswith(
        "compared       Unsettled whether echo is better than null: 0.0 points"
    )
    assert "### ⚪ Unsettled whether echo is better than null" in (canned.path / "step.md").read_text()
