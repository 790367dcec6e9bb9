"""Files of a run that were edited or damaged after it: every command that uses them names them."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import UsageError
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.results.conditions import RESUMED, add_note, notes
from pytest_webarena.results.export import export
from pytest_webarena.results.lost_trials import note_agent
from pytest_webarena.results.merge import merge_runs
from pytest_webarena.results.plan import PlannedTrial, extend_plan
from tests.made_up import make_run, make_trial
from tests.rewritten import as_older

BAD = TrialKey("bad", "a", 1)

Edit = Callable[[dict[str, Any]], dict[str, Any]]


@pytest.fixture
def run(tmp_path: Path) -> RunDir:
    """A run in which one trial passed and one failed."""
    made = make_run(tmp_path / "webarena-runs" / "run")
    keys = [make_trial(made, "good").key, make_trial(made, "bad", "failed").key]
    extend_plan(made.path, [PlannedTrial(key=key, node_id="", sites=("s",)) for key in keys])
    export(made)
    return made


def record_of(run: RunDir) -> Path:
    return run.folder(BAD).path / "trial.json"


def pass_by_hand(run: RunDir) -> None:
    """What somebody does who wants the trial to have passed."""
    data = json.loads(record_of(run).read_text())
    data["verdict"] |= {"score": 1.0, "passed": True}
    record_of(run).write_text(json.dumps({**data, "outcome": "passed", "score": 1.0}, indent=1))


def damage_evidence(run: RunDir) -> None:
    file = record_of(run).parent / "attempt-1" / "network.jsonl"
    file.write_text(file.read_text().replace("200", "404"))


def remove_trial(run: RunDir) -> None:
    """What somebody does who wants the trial not to have been run."""
    shutil.rmtree(record_of(run).parent)
    (run.path / "summary.json").unlink(missing_ok=True)


def remove_record(run: RunDir) -> None:
    record_of(run).unlink()
    (run.path / "summary.json").unlink(missing_ok=True)


def edit_conditions(run: RunDir) -> None:
    file = run.path / "run.json"
    file.write_text(file.read_text().replace('"agents"', '"limits": {}, "agents"'))


HARMS: dict[str, tuple[Callable[[RunDir], None], str]] = {
    "passed by hand": (pass_by_hand, f"trials/{BAD.folder}"),
    "damaged evidence": (damage_evidence, f"trials/{BAD.folder}/attempt-1/network.jsonl"),
    "removed trial": (remove_trial, f"trials/{BAD.folder}"),
    "removed record": (remove_record, f"trials/{BAD.folder}"),
    "edited conditions": (edit_conditions, "run.json"),
}
"""What somebody does to a run, and what messages name then."""

COMMANDS = {
    "runs gate RUN --min-pass-rate=0.9": 11,
    "runs merge RUN -o OUT": 1,
    "runs explain RUN": 1,
    "runs profile RUN": 1,
    "runs har RUN -o OUT": 1,
    "runs verify RUN": 1,
    "runs list RUNS": 0,
    "runs list RUNS --format=json": 0,
    "runs export TRIAL -o OUT": 2,
    "compare agents RUN OTHER": 2,
    "compare tables RUN": 1,
    "compare gradings RUN": 1,
    "compare sample-size --baseline RUN": 2,
    "compare baseline save RUN -o OUT": 2,
    "judge annotate sheet RUN -o OUT": 2,
    "judge annotate compare RUN CSV": 2,
    "judge annotate add RUN LABELS": 2,  # the trial of the label has passed
    "judge rubric sheet RUN": 2,
    "tasks side-effects TASKS --run RUN": 2,
    "view RUN -o OUT": 1,
}
"""Every command that reads records, and its exit code for a run with a trial that is not as it was."""


def call(command: str, run: RunDir, tmp_path: Path) -> int:
    names = {
        "RUNS": run.path.parent,
        "RUN": run.path,
        "OUT": tmp_path / "out",
        "OUT2": tmp_path / "out2",
        "OUT3": tmp_path / "out3",
        "TRIAL": run.folder(BAD).path,
        "CSV": tmp_path / "labels.csv",
        "LABELS": tmp_path / "labels.jsonl",
        "TASKS": tmp_path / "tasks.yaml",
    }
    other = tmp_path / "other"
    if "OTHER" in command and not other.exists():
        make_trial(make_run(other), "good")
    names["TASKS"].write_text("tasks:\n- {id: good, sites: [homepage], intent: Look., checks: [{url: /}]}\n")
    names["CSV"].write_text("task,agent,trial,browser,label\ngood,a,1,chromium,yes\n")
    label = {"trial": TrialKey("good", "a", 1).folder, "classes": ["no-valid-action"], "by": "Ann", "at": 1.0}
    names["LABELS"].write_text(json.dumps({**label, "started": 1_700_000_000.0}) + "\n")
    words = [str({**names, "OTHER": other}.get(word, word)) for word in command.split()]
    return main(words)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_names_what_is_not_as_it_was(
    run: RunDir, tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(run.path, tmp_path / "whole")
    call(command, run, tmp_path)
    assert "after the run" not in "".join(capsys.readouterr())
    for harm, (do, name) in HARMS.items():
        shutil.rmtree(run.path)
        shutil.copytree(tmp_path / "whole", run.path)
        out = tmp_path / "out"
        shutil.rmtree(out) if out.is_dir() else out.unlink(missing_ok=True)
        do(run)
        refused = harm == "edited conditions" and not command.startswith(("runs gate", "runs list"))
        code = call(command, run, tmp_path)
        text = "".join(capsys.readouterr())
        if "runs list" in command and harm == "damaged evidence":  # it reads records only
            continue
        assert (harm, code) == (harm, 2 if refused else COMMANDS[command])
        assert name in text, harm


def edit_score(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "score": 0.9}


def without_digest(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name != "sha256"}


def as_version_11(data: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in data.items() if name not in ("sha256", "manifests")} | {"schema_version": 11}


@pytest.mark.parametrize("edit", [edit_score, without_digest, as_version_11])
def test_edited_record_is_in_no_figure(run: RunDir, edit: Edit) -> None:
    record_of(run).write_text(json.dumps(edit(json.loads(record_of(run).read_text())), indent=1))
    stored = run.read()
    assert [record.key.task for record in stored.records] == ["good"]
    assert "expected the record as its trial wrote it" in str(stored.unreadable[0])


@pytest.mark.parametrize(
    "name", ["steps.jsonl", "evidence.json", "network.jsonl", "tabs/0.html", "screenshots/000.png"]
)
@pytest.mark.parametrize("harm", ["flipped", "missing", "cut"])
def test_damaged_file_of_an_attempt_is_named(
    run: RunDir, tmp_path: Path, name: str, harm: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["runs", "verify", str(run.path)]) == 0
    assert capsys.readouterr().out == "2 trials: all files are as they were written\n"
    file = run.folder(BAD).path / "attempt-1" / name
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.unlink()
    if harm != "missing":
        file.write_bytes(content if harm == "flipped" else content[:-1])
    for command in ("runs verify RUN", "view RUN -o OUT", "runs merge RUN -o OUT3"):
        assert call(command, run, tmp_path) == 1
        assert f"attempt-1/{name}: expected" in "".join(capsys.readouterr())
    assert call("runs export TRIAL -o OUT2", run, tmp_path) == 2
    assert f"{file}: expected" in capsys.readouterr().err
    if not name.startswith("screenshots"):
        call("runs har RUN -o OUT2", run, tmp_path)
        with pytest.raises(ValueError, match="expected"):
            read_evidence(file.parents[name.count("/")], manifest=run.folder(BAD).read().manifest)


def test_added_evidence_and_edited_manifest_are_named(run: RunDir) -> None:
    record, attempt = run.folder(BAD).read(), run.folder(BAD).path / "attempt-1"
    (attempt / "pages").mkdir()
    (attempt / "pages" / "7.html").write_text("<p>")
    assert ["7.html: expected no such file" in each for each in run.changes(record)] == [True]
    (attempt / "manifest.json").write_text((attempt / "manifest.json").read_text() + " ")
    assert run.changes(record) == [
        f"{attempt}/manifest.json: expected the manifest as it was written, found it changed"
    ]
    (attempt / "manifest.json").unlink()
    assert run.changes(record) == [f"{attempt}/manifest.json: expected the manifest of a finished attempt, found none"]


def test_files_that_the_run_does_not_keep_are_not_missing(run: RunDir) -> None:
    folder = run.folder(BAD)
    folder.drop_pictures()
    assert run.changes(folder.read()) == []
    (folder.path / "attempt-1" / "steps.jsonl").unlink()  # nobody removes evidence on purpose
    (folder.path / "attempt-1" / "pruned.json").write_text('["screenshots", "observations", "steps.jsonl"]')
    assert len(run.changes(folder.read())) == 1


def test_bills_and_merges_keep_digests(run: RunDir, tmp_path: Path) -> None:
    folder = run.folder(BAD)
    folder.update(folder.read())
    merge_runs([run.path], tmp_path / "merged")
    merged = RunDir(tmp_path / "merged")
    assert len(merged.read().records) == 2
    assert not [problem for record in merged.records() for problem in merged.changes(record)]


def test_accepted_change_counts_and_is_marked(run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    accept = ["runs", "verify", str(run.path), "--accept", BAD.folder]
    assert main([*accept, "--because", "x"]) == 2
    assert "expected a trial that was changed" in capsys.readouterr().err
    pass_by_hand(run)
    assert main(accept) == 2
    assert "add --because TEXT" in capsys.readouterr().err
    assert main([*accept, "--because", "the answer key was wrong"]) == 0
    capsys.readouterr()
    for command in (
        "runs gate RUN --min-pass-rate=0.9",
        "compare tables RUN",
        "view RUN -o OUT",
        "runs merge RUN -o OUT2",
    ):
        assert call(command, run, tmp_path) == 0
        marked = f"changed after the run: {BAD.folder}, accepted as passed: the answer key was wrong"
        assert marked in capsys.readouterr().err
    assert call("compare agents OTHER RUN", run, tmp_path) in (0, 2)
    assert "files changed after the run: not reported → the answer" in capsys.readouterr().out


def test_older_run_is_noted_once(run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for folder in run.trials.iterdir():
        as_older(folder)
    assert call("compare tables RUN", run, tmp_path) == 0
    assert capsys.readouterr().err.count("2 trials were written without digests") == 1
    assert len(run.read().records) == 2


def test_edited_summary_is_named(run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = run.path / "summary.json"
    file.write_text(file.read_text().replace('"passed": 1', '"passed": 2'))
    assert call("runs list RUNS", run, tmp_path) == 0
    assert "changed after the run: summary.json" in capsys.readouterr().out


# --- other ways to a better result


def with_run_json(path: Path, task: str = "bad") -> RunDir:
    """A run of this version with one failed trial."""
    made = RunDir(path)
    made.describe({"agents": ["a"], "started": 1.0})
    make_trial(made, task, "failed")
    return made


def test_trial_of_another_run_is_no_trial_of_this_one(tmp_path: Path) -> None:
    run, other = with_run_json(tmp_path / "run"), RunDir(tmp_path / "other")
    other.describe({"agents": ["a"], "started": 2.0})
    make_trial(other, "bad")
    shutil.rmtree(run.folder(BAD).path)
    shutil.copytree(other.folder(BAD).path, run.folder(BAD).path)
    stored = run.read()
    assert stored.records == ()
    assert f"expected a trial of this run, found one of the run {other.facts()['id']}" in str(stored.unreadable[0])
    merge_runs([other.path, with_run_json(tmp_path / "third", "more").path], tmp_path / "merged")
    merged = RunDir(tmp_path / "merged")
    assert len(merged.read().records) == 2
    merge_runs([merged.path], tmp_path / "again")
    assert len(RunDir(tmp_path / "again").read().records) == 2


def test_record_of_an_older_version_is_none_of_a_run_of_this_version(tmp_path: Path) -> None:
    run = with_run_json(tmp_path / "run")
    as_older(run.folder(BAD).path, whole_run=False)
    assert "it has no digest" in str(run.read().unreadable[0])


def test_edited_conditions_are_refused_until_they_are_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = with_run_json(tmp_path / "run")
    extend_plan(run.path, [PlannedTrial(key=BAD, recorded=True)])
    file = run.path / "run.json"
    assert main(["compare", "tables", str(run.path)]) == 0
    file.write_text(file.read_text().replace('"started": 1.0', '"limits": {"steps": 9}, "started": 1.0'))
    capsys.readouterr()
    for command, code in {"compare tables": 2, "runs gate --min-pass-rate=0": 11, "view": 2, "runs verify": 2}.items():
        assert main([*command.split(), str(run.path)]) == code
        assert f"{file}: expected the run's conditions as it wrote them" in "".join(capsys.readouterr())
    assert main(["runs", "verify", str(run.path), "--accept", "run.json", "--because", "wrong limits"]) == 0
    assert run.facts()["accepted"][0]["because"] == "wrong limits"
    assert main(["compare", "tables", str(run.path)]) == 0


def test_edited_plan_counts_as_none(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    plan = run.path / "plan.json"
    assert main(["runs", "gate", str(run.path), "--min-pass-rate=0"]) == 0
    data = json.loads(plan.read_text())
    data["trials"] = [each for each in data["trials"] if each["key"]["task"] != "bad"]
    plan.write_text(json.dumps(data))
    assert main(["runs", "gate", str(run.path), "--min-pass-rate=0.9"]) == 11
    assert "plan.json is missing, unreadable or changed" in capsys.readouterr().out


UNSEALED = {"started.json", "results.csv", ".gitignore"}
"""Files without a verdict, and a table that no command reads."""


@pytest.mark.parametrize("places", [1, pytest.param(4, marks=pytest.mark.exhaustive)])
def test_a_changed_byte_in_any_file_is_found(run: RunDir, capsys: pytest.CaptureFixture[str], places: int) -> None:
    """``places``: how many bytes of each file are changed, one after the other; another one in each file."""
    make_trial(run, "again", "failed")
    make_trial(run, "again")  # its first record is set aside
    extend_plan(run.path, [PlannedTrial(key=each.key) for each in run.records()])
    export(run)
    assert main(["runs", "verify", str(run.path)]) == 0
    unnoticed, tried = [], 0
    for number, file in enumerate(sorted(path for path in run.path.rglob("*") if path.is_file())):
        before = file.read_bytes()
        every = (0, len(before) // 3, 2 * len(before) // 3, len(before) - 1)
        for place in (every * 2)[number % 4 :][:places]:
            tried += 1
            file.write_bytes(before[:place] + bytes([before[place] ^ 1]) + before[place + 1 :])
            if main(["runs", "verify", str(run.path)]) == 0:
                unnoticed.append(file.relative_to(run.path).as_posix())
        file.write_bytes(before)
    assert tried > 25 * places
    assert [name for name in unnoticed if name.rpartition("/")[2] not in UNSEALED] == []


def test_earlier_state_of_a_trial_and_a_removed_one_are_found(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    """The files are as some process wrote them, but not as the run ended."""
    before = record_of(run).read_bytes()
    folder = run.folder(BAD)
    folder.update(replace(folder.read(), outcome="passed", score=1.0))  # judged again
    export(run)
    assert main(["runs", "verify", str(run.path)]) == 0
    record_of(run).write_bytes(before)
    assert main(["runs", "verify", str(run.path)]) == 1
    assert "expected the outcomes that the run ended with" in capsys.readouterr().out
    shutil.rmtree(folder.path)
    assert main(["runs", "verify", str(run.path)]) == 1


def test_removed_trial_is_named_until_its_reason_is_noted(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    remove_trial(run)
    merged = tmp_path / "out"
    assert main(["runs", "merge", str(run.path), "-o", str(merged)]) == 1
    assert main(["runs", "gate", str(merged), "--min-pass-rate=0"]) == 11
    out, err = capsys.readouterr()
    assert f"removed after the run: {BAD.folder}: removed from run before it was merged" in err
    assert "1 of 2 planned trials have no result" in out
    assert main(["runs", "verify", str(run.path), "--accept", BAD.folder, "--because", "a wrong task"]) == 0
    out, err = capsys.readouterr()
    assert f"without a result, not run: {BAD.folder}" in out
    assert f"removed after the run: {BAD.folder}: a wrong task" in err
    make_trial(run, "bad")  # run again
    export(run)
    assert main(["runs", "verify", str(run.path)]) == 0
    assert f"removed after the run: {BAD.folder}: a wrong task" in capsys.readouterr().err


def test_merge_with_a_later_run_of_a_removed_trial_names_the_removal(
    run: RunDir, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = make_run(tmp_path / "other")
    make_trial(other, "bad", started=1_700_000_100.0)
    extend_plan(other.path, [PlannedTrial(key=BAD)])
    export(other)
    remove_trial(run)
    assert main(["runs", "merge", str(run.path), str(other.path), "-o", str(tmp_path / "out")]) == 1
    assert f"trials/{BAD.folder}/trial.json: expected the record that the trial had" in capsys.readouterr().err
    assert main(["runs", "verify", str(tmp_path / "out")]) == 0
    assert f"removed after the run: {BAD.folder}: removed from run before" in capsys.readouterr().err


def test_trial_that_runs_again_is_not_removed(run: RunDir) -> None:
    writer = run.folder(BAD).begin(worker="gw0", node_id="x")  # its record moves to its first attempt
    assert not run.read().unreadable
    (record_of(run).parent / "attempt-1" / "trial.json").unlink()
    assert [each.folder.name for each in run.read().unreadable] == [BAD.folder]
    assert writer.number == 2


@pytest.mark.parametrize(("missing", "text"), [
    ({"skipped": "no map"}, "without a result, no map: more.a.1-"),
    ({"stopped": "five errors"}, "without a result, five errors: more.a.1-"),
    ({}, "without a result, not run: more.a.1-"),
])  # fmt: skip
def test_trials_that_the_run_left_out_are_no_fault(
    run: RunDir, missing: dict[str, Any], text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    extend_plan(run.path, [PlannedTrial(key=TrialKey("more", "a", 1), **missing)])
    assert main(["runs", "verify", str(run.path)]) == 0
    assert text in capsys.readouterr().out


@pytest.mark.parametrize("started", [False, True])
def test_trial_removed_from_a_killed_run_is_missed_before_the_run_is_resumed(
    tmp_path: Path, started: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    """``started``: the trial had no record yet, only a started agent that may have killed the process."""
    run = RunDir(tmp_path / "run")
    run.describe({"started": 1.0})
    extend_plan(run.path, [PlannedTrial(key=BAD), PlannedTrial(key=TrialKey("more", "a", 1))])
    if started:
        note_agent(run.folder(BAD).begin(worker="", node_id="").path, TrialRecord(key=BAD, outcome="failed"))
    else:
        make_trial(run, "bad", "failed")
    assert not run.read().unreadable
    shutil.rmtree(run.folder(BAD).path)
    (found,) = run.read().unreadable
    assert f"{BAD.folder}/trial.json: expected the record that the trial had, found it removed" in found.problem
    accepted = ["--accept", BAD.folder, "--because", "power failure"]
    assert main(["runs", "verify", str(run.path), *accepted]) == 0
    stored = run.read()
    assert ([*stored.unreadable], [each.removed for each in stored.removed]) == ([], [("power failure",)])


def test_missing_plan_and_a_run_that_was_not_closed_are_faults(run: RunDir, capsys: pytest.CaptureFixture[str]) -> None:
    make_trial(run, "more", "failed")
    extend_plan(run.path, [PlannedTrial(key=TrialKey("more", "a", 1))])
    (run.path / "summary.json").unlink()
    assert main(["runs", "verify", str(run.path)]) == 1
    assert "expected a run that was closed, found that its process was killed" in capsys.readouterr().out
    (run.path / "plan.json").unlink()
    assert main(["runs", "verify", str(run.path)]) == 1
    assert "plan.json: expected the planned trials, found none" in capsys.readouterr().out


@pytest.mark.parametrize("edit", ["first", "last", "removed"])
def test_edited_entries_of_later_invocations_are_refused(run: RunDir, edit: str) -> None:
    for steps in (9, 10, 11):
        add_note(run.path / RESUMED, {"agents": ("a",), "limits": {"steps": steps}})
    assert [note["limits"]["steps"] for note in notes(run.path / RESUMED)] == [9, 10, 11]
    found = json.loads((run.path / RESUMED).read_text())
    if edit == "removed":
        del found[1]
    else:
        found[0 if edit == "first" else -1]["limits"]["steps"] = 50
    (run.path / RESUMED).write_text(json.dumps(found))
    with pytest.raises(UsageError, match="expected its entries as they were written"):
        notes(run.path / RESUMED)
    assert main(["compare", "tables", str(run.path)]) == 2


def test_entries_of_older_versions_are_read(run: RunDir) -> None:
    (run.path / "run.json").write_text('{"schema_version": 1}')
    (run.path / RESUMED).write_text('[{"agents": ["a"]}]')
    add_note(run.path / RESUMED, {"agents": ["b"]})
    assert [note["agents"] for note in notes(run.path / RESUMED)] == [["a"], ["b"]]
