"""Trials of one agent in several browsers: distinct keys, separate rates."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.reporting.rates import summary_lines
from pytest_webarena.plugin.reporting.terminal import grading_lines
from pytest_webarena.results import RunDir, TrialKey, TrialRecord, summarise
from pytest_webarena.results.conditions import browsers_of, mixed, source_of
from pytest_webarena.results.export import export
from pytest_webarena.results.gate import BELOW_THRESHOLD, TOO_MANY_ERRORS, Gate
from pytest_webarena.results.gradings import compare, render
from pytest_webarena.results.har import export_verified
from pytest_webarena.results.memory import memory_folder
from pytest_webarena.results.merge import merge_runs
from pytest_webarena.results.plan import PlannedTrial, cover, extend_plan, read_plan
from pytest_webarena.results.records import names_of
from pytest_webarena.results.table_data import as_csv, as_json
from pytest_webarena.results.tables import gather
from pytest_webarena.results.viewer import write_view
from tests.cases import each_case
from tests.rewritten import as_older as without_digests

from ...made_up import graded, make_run, make_trial

CHROMIUM, FIREFOX = TrialKey("t", "a", 1), TrialKey("t", "a", 1, "firefox")
BOTH = ["a (chromium)", "a (firefox)"]


@pytest.fixture
def both(tmp_path: Path) -> RunDir:
    """Three tasks in two browsers: all pass in Chromium, one in Firefox."""
    run = make_run(tmp_path / "both", browsers=["chromium", "firefox"])
    for task in ("t", "u", "v"):
        make_trial(run, task, browser="chromium 156", **graded(repaired=1, original=1))
        outcome = "passed" if task == "t" else "failed"
        verdicts = graded(repaired=float(outcome == "passed"), original=1)
        make_trial(run, task, outcome, within="firefox", browser="firefox 140", **verdicts)
    return run


def as_older(run: RunDir) -> None:
    """Rewrite the run as records of schema version 5."""
    for folder in list(run.trials.iterdir()):
        data = json.loads((folder / "trial.json").read_text())
        key = TrialKey(**data["key"])
        del data["key"]["browser"]
        (folder / "trial.json").write_text(json.dumps(data))
        without_digests(folder, version=5)
        folder.rename(folder.with_name(key.older_folder))


# --- keys and records


def test_folder_name_has_the_browser_unless_it_is_chromium() -> None:
    assert CHROMIUM.folder == "t.a.1-d51ed685" == CHROMIUM.older_folder == FIREFOX.older_folder
    assert FIREFOX.folder.startswith("t.a.1.firefox-")
    assert FIREFOX.folder != TrialKey("t", "a.1", 1, "firefox").folder
    assert sorted([FIREFOX, replace(CHROMIUM, trial=2), CHROMIUM])[:2] == [CHROMIUM, FIREFOX]


def test_browser_is_kept_in_stored_keys(both: RunDir) -> None:
    assert {record.key.browser for record in both.records()} == {"chromium", "firefox"}
    assert both.folder(FIREFOX).read().to_json()["key"] == {
        "task": "t", "agent": "a", "trial": 1, "browser": "firefox",
    }  # fmt: skip


@each_case(
    ("fields", "browser"),
    [
        ({"browser": "firefox 140.1"}, "firefox"),
        ({"browser": "Mozilla Firefox 153.7esr"}, "firefox"),
        ({"browser": "chromium-headless-shell 156.0"}, "chromium"),
        ({"browser": "chromium 156", "node_id": "x.yaml::t[firefox]"}, "chromium"),
        ({"node_id": "x.yaml::t[mine-trial2-firefox]"}, "firefox"),  # it failed before the browser started
        ({"node_id": "firefox.yaml::firefox[mine-chromium]"}, "chromium"),
        ({}, "chromium"),
    ],
)
def test_browser_of_older_records_comes_from_other_fields(fields: dict[str, Any], browser: str) -> None:
    data: dict[str, Any] = {**TrialRecord(key=CHROMIUM, outcome="passed", **fields).to_json(), "schema_version": 5}
    data["key"] = {"task": "t", "agent": "a", "trial": 1}
    assert TrialRecord.from_json(data).key == replace(CHROMIUM, browser=browser)


@pytest.mark.parametrize("within", ["chromium", "firefox"])
def test_older_run_of_one_browser_keeps_its_folders(tmp_path: Path, within: str) -> None:
    run = make_run(tmp_path / "run")
    made = make_trial(run, within=within, browser=f"{within} 140")
    as_older(run)
    stored = run.read()
    assert [record.key for record in stored.records] == [made.key]
    assert not stored.unreadable
    assert run.folder(made.key).path.name == CHROMIUM.folder
    run.folder(made.key).update(stored.records[0])  # judged again, in place
    assert run.read().records == stored.records
    assert list(summarise(stored.records)) == ["a"]
    other = "firefox" if within == "chromium" else "chromium"
    if other == "firefox":
        assert run.folder(replace(made.key, browser=other)).record() is None


def test_older_plan_takes_browsers_from_its_records(tmp_path: Path) -> None:
    extend_plan(tmp_path, [PlannedTrial(key=FIREFOX, node_id="x.yaml::t[firefox]")])
    data = json.loads((tmp_path / "plan.json").read_text())
    del data["trials"][0]["key"]["browser"]
    (tmp_path / "plan.json").write_text(json.dumps({**data, "schema_version": 1}))
    assert list(read_plan(tmp_path)) == [FIREFOX]


@each_case(
    ("facts", "browsers"),
    [
        ({"browsers": ["firefox", "chromium"]}, ["firefox", "chromium"]),
        (
            {"asked": {"options": {"--browser": ["firefox"]}, "tests": []}},
            ["firefox"],
        ),  # a version that did not record browsers
        ({"asked": {"options": {}, "tests": []}}, ["chromium"]),
        ({"asked": None}, ["chromium"]),
    ],
)
def test_browsers_of_run_facts(facts: dict[str, Any], browsers: list[str]) -> None:
    assert browsers_of(facts) == browsers


def test_each_browser_has_its_own_memory_folder(tmp_path: Path) -> None:
    about: dict[str, Any] = {"agent": "a", "digest": "d", "of": "all"}
    plain = memory_folder(tmp_path, **about)
    assert memory_folder(tmp_path, **about, browser="chromium") == plain
    assert memory_folder(tmp_path, **about, browser="firefox") != plain


# --- figures


def test_each_browser_has_its_own_rate(both: RunDir) -> None:
    summaries = summarise(both.records())
    assert {name: (each.rate.passed, each.rate.failed) for name, each in summaries.items()} == {
        "a (chromium)": (3, 0), "a (firefox)": (1, 2),
    }  # fmt: skip
    assert [(each.agent, each.browser) for each in summaries.values()] == [("a", "chromium"), ("a", "firefox")]
    assert {each.tries for each in summaries.values()} == {1}
    heads = [line.text for line in summary_lines(summaries.values()) if line.mark == "bold"]
    assert [head.partition(":")[0] for head in heads if head[0] != " "] == BOTH


def test_browser_is_named_only_when_there_are_several(both: RunDir) -> None:
    for browser in ("chromium", "firefox"):
        records = [record for record in both.records() if record.key.browser == browser]
        assert list(summarise(records)) == ["a"]
        assert list(summarise(records, named_with=[CHROMIUM, FIREFOX])) == [f"a ({browser})"]
    assert list(names_of([TrialKey("t", "b", 1), FIREFOX]).values()) == ["b (chromium)", "a (firefox)"]


def test_gate_applies_thresholds_to_each_browser(both: RunDir) -> None:
    records = both.records()
    plan = {record.key: PlannedTrial(key=record.key) for record in records}
    coverages = cover(plan, records)
    assert list(coverages) == BOTH
    ruling = Gate(min_pass_rate=0.5).rule(summarise(records), coverages)  # together they would be 4 of 6
    assert ruling is not None
    assert (ruling.exit_code, ruling.message.partition(":")[0]) == (BELOW_THRESHOLD, "a (firefox)")


def test_browser_without_results_fails_the_gate(both: RunDir) -> None:
    records = [record for record in both.records() if record.key == CHROMIUM]
    plan = {key: PlannedTrial(key=key) for key in (CHROMIUM, FIREFOX)}
    ruling = Gate(min_pass_rate=0.5).rule(summarise(records, named_with=plan), cover(plan, records))
    assert ruling is not None
    assert ruling.exit_code == TOO_MANY_ERRORS
    assert ruling.message.startswith("a (firefox): 1 of 1 planned trials have no result")


def test_two_browsers_in_a_run_are_not_mixed_conditions(both: RunDir) -> None:
    assert not mixed(source_of(both.path, both.facts(), both.records()))


def test_merged_runs_of_two_browsers_have_two_rates(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    chromium, firefox = (make_run(tmp_path / name, browsers=[name]) for name in ("chromium", "firefox"))
    make_trial(chromium, browser="chromium 156")
    make_trial(firefox, outcome="failed", within="firefox", browser="firefox 140")
    assert main(["runs", "merge", str(chromium.path), str(firefox.path), "-o", str(tmp_path / "out")]) == 0
    assert "mixed" not in capsys.readouterr().out
    out = RunDir(tmp_path / "out")
    assert list(summarise(out.records())) == BOTH
    assert out.facts()["browsers"] == ["chromium", "firefox"]


def test_older_firefox_run_merges_with_chromium_run(tmp_path: Path) -> None:
    chromium, firefox = make_run(tmp_path / "chromium"), make_run(tmp_path / "firefox")
    make_trial(chromium)
    make_trial(firefox, within="firefox", browser="firefox 140")
    as_older(firefox)
    assert merge_runs([chromium.path, firefox.path], tmp_path / "out").trials == 2
    assert [path.name for path in sorted((tmp_path / "out" / "trials").iterdir())] == sorted(
        [CHROMIUM.folder, FIREFOX.folder]
    )
    assert not RunDir(tmp_path / "out").read().unreadable


def test_merge_refuses_mixed_conditions_within_a_browser(tmp_path: Path) -> None:
    runs = [make_run(tmp_path / name, browsers=["chromium", "firefox"]) for name in "12"]
    for run, digest in zip(runs, ("a1", "a2"), strict=True):
        make_trial(run, "t", agent_digest="a1")
        make_trial(run, "t", within="firefox", agent_digest=digest)
    with pytest.raises(UsageError, match=r"a \(firefox\): digest of the agent: a1 in 1 and a2 in 2"):
        merge_runs([run.path for run in runs], tmp_path / "out")


# --- tables, files, pages


def test_exported_files_have_both_browsers(both: RunDir) -> None:
    export(both)
    summary = json.loads((both.path / "summary.json").read_text())
    assert list(summary["agents"]) == list(summary["gradings"]) == BOTH
    assert [(each["agent"], each["browser"]) for each in summary["agents"].values()] == [
        ("a", "chromium"), ("a", "firefox"),
    ]  # fmt: skip
    rows = list(csv.DictReader((both.path / "results.csv").read_text().splitlines()))
    assert [(row["task"], row["browser"]) for row in rows[:2]] == [("t", "chromium"), ("t", "firefox")]


def test_gradings_are_compared_per_browser(both: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    found = compare(both.records())
    assert list(found) == BOTH
    assert [len(each.disagreements) for each in found.values()] == [0, 2]
    assert next(render(found["a (firefox)"])) == "a (firefox):"
    assert [line.text.strip() for line in grading_lines(both.records(), both.path)][1].startswith("a (firefox): ")
    assert main(["compare", "gradings", str(both.path), "--agent", "a"]) == 0
    assert [line for line in capsys.readouterr().out.splitlines() if line.startswith("a ")] == [f"{n}:" for n in BOTH]
    assert main(["compare", "gradings", str(both.path), "--agent", "a (firefox)"]) == 0
    assert "a (chromium)" not in capsys.readouterr().out
    assert main(["compare", "gradings", str(both.path), "--agent", "b"]) == 2
    assert "expected one of a, found 'b'" in capsys.readouterr().err


def test_tables_have_a_row_per_browser(both: RunDir, tmp_path: Path) -> None:
    rows = gather([both.path])
    assert [(row.name, row.metrics.rate.passed) for row in rows] == [("a (chromium)", 3), ("a (firefox)", 1)]
    assert {line["browser"] for line in csv.DictReader(io.StringIO(as_csv(rows)))} == {"chromium", "firefox"}
    assert [row["browser"] for row in json.loads(as_json(rows))["agents"]] == ["chromium", "firefox"]
    single = make_run(tmp_path / "single")
    make_trial(single, within="firefox")
    assert [row.name for row in gather([both.path, single.path])] == [
        "a (chromium)", "a (firefox) (both)", "a (firefox) (single)",
    ]  # fmt: skip
    assert [row.name for row in gather([single.path])] == ["a"]


def test_viewer_shows_browsers_as_separate_agents(both: RunDir, tmp_path: Path) -> None:
    write_view(both, tmp_path / "view.html")
    page = (tmp_path / "view.html").read_text()
    index = json.loads(page.partition('id="index">')[2].partition("</script>")[0])
    assert sorted({trial["agent"] for trial in index["trials"]}) == sorted(index["summary"]["agents"]) == BOTH
    assert page.count('id="trial-') == 6


def test_verified_export_has_a_folder_per_browser(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run")
    for within in ("chromium", "firefox"):
        make_trial(run, within=within, source={"suite": "webarena", "task_id": 7}, **graded(verified=1))
    assert export_verified(run, tmp_path / "out").trials == 2
    assert sorted(folder.name for folder in (tmp_path / "out").iterdir()) == ["a-chromium-1", "a-firefox-1"]
