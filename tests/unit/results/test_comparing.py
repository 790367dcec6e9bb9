"""Comparisons of runs: verdicts, refusals and their output."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.results.comparing.comparison import choose, compare_all
from pytest_webarena.results.comparing.page import write_page
from pytest_webarena.results.comparing.sides import sides_of
from pytest_webarena.results.comparing.wording import in_markdown, in_words
from tests.made_up import make_run, make_trial
from tests.planted import plant
from tests.rewritten import rewrite
from tests.unit.results.compared import of, of_planted, runs, small, words

__all__ = ["runs"]


def test_injected_regression_of_ten_points_is_worse(runs: Path, tmp_path: Path) -> None:
    found = of_planted(runs / "main", runs / "worse")
    assert found.verdict == found.verdict_here == "worse"
    headline = "cot in worse is worse than cot in main"
    assert headline in words(found).replace("\n", " ")
    assert f"🔴 {headline}" in "\n".join(in_markdown([found]))
    write_page([found], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert f'<h2 class="worse">{headline}' in page
    assert page.count('<a class="dot ') == 228


def test_second_run_of_same_agent_is_unsettled(runs: Path, tmp_path: Path) -> None:
    found = of_planted(runs / "main", runs / "again")
    assert found.verdict == found.verdict_here == "unsettled"
    headline = "Unsettled whether cot in again is better than cot in main"
    assert headline in words(found).replace("\n", " ")
    assert f"⚪ {headline}" in "\n".join(in_markdown([found]))
    write_page([found], tmp_path / "page.html")
    assert '<h2 class="unsettled">Unsettled' in (tmp_path / "page.html").read_text()


def test_comparison_lines_fit_80_columns_except_paths(runs: Path) -> None:
    lines = list(in_words(of_planted(runs / "main", runs / "worse")))
    assert len(lines) > 5
    for line in lines:
        assert len(line.text) <= 80 or str(runs) in line.text


def test_compare_json_has_verdict_transitions_and_efforts(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["compare", "agents", str(runs / "main"), str(runs / "worse"), "--json"]) == 0
    [found] = json.loads(capsys.readouterr().out)
    assert found["verdict"] == "worse"
    assert found["difference"]["tasks"] == 228
    assert sum(found["transitions"].values()) == 684
    assert {task["fate"] for task in found["tasks"]} == {"won", "lost", "unsettled", "same"}
    assert found["efforts"][0]["cost"]["per_success"] > found["efforts"][0]["cost"]["per_trial"]


MORE = {"a": [n % 3 == 0 for n in range(12)], "b": [n % 4 != 3 for n in range(12)]}


def test_agents_of_one_run_are_compared_with_the_first(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    small(tmp_path / "run", MORE)
    assert main(["compare", "agents", str(tmp_path / "run"), "--html", str(tmp_path / "out" / "page.html")]) == 0
    out = capsys.readouterr().out
    assert "whether b is better than a" in out
    assert "exact McNemar test" in out
    assert "step 2: Go to http://s.test/a | Go to http://s.test/b" in out
    assert str(next((tmp_path / "run" / "trials").glob("t1.b.*"))) in out
    page = (tmp_path / "out" / "page.html").read_text()
    assert "<tr class=parted><td class=n>2<td>Go to http://s.test/a<td>Go to http://s.test/b" in page
    assert '<a href="../run/trials/t1.b.1-' in page


def test_agent_option_selects_compared_agents(tmp_path: Path) -> None:
    small(tmp_path / "run", {**MORE, "c": MORE["a"]})
    sides = [sides_of(tmp_path / "run")]
    assert [(one.name, other.name) for one, other in choose(sides)] == [("a", "b"), ("a", "c")]
    assert [(one.name, other.name) for one, other in choose(sides, ["c", "a"])] == [("c", "a")]
    with pytest.raises(UsageError, match="--agent: expected one of a, b, c, found 'd'"):
        choose(sides, ["d"])


def test_several_comparisons_are_corrected_by_holm(tmp_path: Path) -> None:
    small(tmp_path / "run", {**MORE, "c": [not each for each in MORE["a"]]})
    found = compare_all(choose([sides_of(tmp_path / "run")]))
    assert [each.difference.confidence for each in found] == [0.975, 0.975]
    least = min(found, key=lambda each: each.p)
    assert least.adjusted == pytest.approx(2 * least.p)
    assert "(Holm)" in words(least)


def test_comparison_page_escapes_markup_of_tasks_and_actions(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", agents=["a", "b"])
    for agent, outcome in (("a", "passed"), ("b", "failed")):
        make_trial(
            run, "<script>x", outcome, agent=agent, steps=({"action": {"kind": "stop", "answer": "<img " + agent}},)
        )
    write_page([of(tmp_path / "run")], tmp_path / "page.html")
    page = (tmp_path / "page.html").read_text()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;img" in page


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"grading": {"name": "original"}}, "--grading: repaired → original"),
        ({"apps": {"shop": "other"}}, "manifest of the site shop: same → other"),
    ],
)
def test_runs_with_different_conditions_are_refused(tmp_path: Path, facts: dict[str, Any], named: str) -> None:
    same: dict[str, Any] = {"grading": {"name": "repaired"}, "apps": {"shop": "same"}}
    for name, more in (("one", {}), ("two", facts)):
        plant(tmp_path / name, seed=1, tasks=6, trials=1, facts={**same, **more}, replicas={"shop": "x"})
    with pytest.raises(UsageError, match=named):
        of(tmp_path / "one", tmp_path / "two")
    text = words(of(tmp_path / "one", tmp_path / "two", allow_mixed=True))
    assert "NO COMPARISON" in text
    assert named in text


def test_changed_conditions_of_runs_are_listed(tmp_path: Path) -> None:
    limits = {"limits": {"steps": 50, "seconds": 600.0, "stop_rule": "paper"}}
    plant(tmp_path / "one", seed=1, tasks=6, trials=1)
    plant(tmp_path / "two", seed=1, tasks=6, trials=1, facts=limits, model="m2", agent_digest="a2")
    found = of(tmp_path / "one", tmp_path / "two")
    assert found.differing == ("--max-steps: 30 → 50",)
    assert any(line.startswith("digest of the agent: a1 → a2") for line in found.changed)


def test_edited_and_missing_tasks_are_excluded(tmp_path: Path) -> None:
    plant(tmp_path / "one", seed=1, tasks=6, trials=1)
    two = plant(tmp_path / "two", seed=1, tasks=7, trials=1)
    rewrite(next(two.trials.glob("t002.*")) / "trial.json", task_digest="edited")
    found = of(tmp_path / "one", tmp_path / "two")
    assert found.difference.tasks == 5
    assert found.left_out == {"edited between the runs": ("t002",), "only in two": ("t006",)}
    plant(tmp_path / "three", seed=1, tasks=2, trials=1, task_digest="other")
    with pytest.raises(
        UsageError, match=r"expected tasks that both .* found none \(2 edited between the runs; 4 only in"
    ):
        of(tmp_path / "one", tmp_path / "three")


def test_compare_latex_and_csv_have_the_figures_of_the_json(runs: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["compare", "agents", str(runs / "main"), str(runs / "worse")]
    assert main([*arguments, "--format=json"]) == 0
    [plain] = json.loads(capsys.readouterr().out)
    assert main([*arguments, "--format=csv"]) == 0
    first, *groups = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (first["first"], first["second_run"], first["group"], first["tasks"]) == ("cot", "worse", "all", "228")
    assert float(first["difference"]) == pytest.approx(plain["difference"]["value"], abs=1e-6)
    assert [float(first[name]) for name in ("low", "high")] == pytest.approx(plain["difference"]["sample"], abs=1e-6)
    assert (first["verdict"], len(groups)) == ("worse", len(plain["groups"]))
    assert main([*arguments, "--format=latex"]) == 0
    latex = capsys.readouterr().out
    rates = r" & ".join(f"{100 * rate:.1f}\\%" for rate in plain["difference"]["rates"])
    assert rf"cot in main $\rightarrow$ cot in worse & 228 & {rates} & $-$" in latex
    assert r"\end{table}" in latex
    assert "is worse than cot in main" in latex


def test_errors_are_excluded_and_give_bounds(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", agents=["a", "b"])
    for number in range(8):
        make_trial(run, f"t{number}", "passed", agent="a")
        for trial in (1, 2):
            make_trial(run, f"t{number}", "error" if trial == 2 else "passed", agent="b", trial=trial)
    found = of(tmp_path / "run")
    assert found.difference.value == 0
    assert found.bounds == (-0.5, 0.0)
    assert "bounds if errors had failed / passed: −50.0 to 0.0 points" in words(found).replace("\n" + " " * 17, " ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere", "run"], "expected a run directory with a run.json"),
        (["run"], "expected two runs, or one of several agents, found a alone"),
        (["run", "two", "--json", "--markdown"], "expected one format, found markdown and json"),
    ],
)
def test_wrong_arguments_are_usage_errors(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    small(tmp_path / "run", {"a": [True, False]})
    small(tmp_path / "two", {"a": [True, False]})
    assert main(["compare", "agents", *arguments]) == 2
    assert message in capsys.readouterr().err


def test_ambiguous_agent_is_refused(tmp_path: Path) -> None:
    small(tmp_path / "one", MORE)
    small(tmp_path / "two", {"c": MORE["a"]})
    with pytest.raises(UsageError, match="expected an agent of one to compare with c of two, found a and b; choose"):
        of(tmp_path / "one", tmp_path / "two")
    chosen = choose([sides_of(tmp_path / "two"), sides_of(tmp_path / "one")])
    assert [(one.name, other.name) for one, other in chosen] == [("c", "a"), ("c", "b")]
