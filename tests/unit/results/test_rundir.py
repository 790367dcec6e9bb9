"""Run directories: complete records, kept attempts, visible crashes."""

from __future__ import annotations

import json
import re
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.browser.observation import Observation
from pytest_webarena.errors import UsageError
from pytest_webarena.evidence import Evidence, Probe, RequestRecord, StepRecord, TabState, TargetRecord
from pytest_webarena.results import Attempt, RunDir, TrialKey, TrialRecord
from pytest_webarena.results.attempts import read_evidence
from pytest_webarena.signals import AddressChanged

KEY = TrialKey("shop.coffee", "oracle", 1)
RECORD = TrialRecord(key=KEY, outcome="passed", score=1.0, attempts=(Attempt(number=1, outcome="passed"),), tags=("a",))
EVIDENCE = Evidence(
    answer="84.97 \N{EURO SIGN}",
    stop_reason="answered",
    tabs=(
        TabState(url="http://a.test/", title="A", html="<p>\N{SNOWMAN}</p>", active=False),
        TabState(url="http://b.test/", title="B", html="<p>b</p>", active=True),
    ),
    steps=(
        StepRecord(
            index=0, action={"kind": "click", "target": {"id": "4"}}, raw="click [4]", target=TargetRecord(role="link")
        ),
        StepRecord(index=1, action={"kind": "stop", "answer": "x"}, raw="stop [x]"),
    ),
    requests=(RequestRecord(time=1.0, method="GET", url="http://a.test/", status=200, request_headers=(("a", "b"),)),),
    probes=(
        Probe(check="checks[0]", state="end", value={"texts": ["x"]}),
        Probe(check="checks[1]", state=0, error="no"),
    ),
    sites={"a": "http://a.test"},
)


def write(run: RunDir, record: TrialRecord = RECORD, evidence: Evidence = EVIDENCE) -> Path:
    folder = run.folder(record.key)
    writer = folder.begin(worker="gw0", node_id="t.yaml::shop.coffee", task={"sites": ("shop",)})
    for step in evidence.steps:
        writer.stepped(step)
    writer.finish(evidence)
    folder.finish(replace(record, attempt=writer.number))
    return writer.path


def test_records_and_evidence_round_trip(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    attempt = write(run)
    (found,) = run.records()
    assert replace(found, manifests={}) == RECORD
    assert read_evidence(attempt, manifest=found.manifest) == EVIDENCE
    assert read_evidence(attempt).url == "http://b.test/"


@pytest.mark.parametrize("digests", [True, False], ids=["told", "older"])
@pytest.mark.parametrize("harm", ["cut", "cut-at-a-line", "missing", "changed"])
@pytest.mark.parametrize(
    "name", ["evidence.json", "steps.jsonl", "network.jsonl", "browser_events.jsonl", "tabs/0.html"]
)
def test_damaged_evidence_is_named(tmp_path: Path, name: str, harm: str, digests: bool) -> None:
    if name == "evidence.json" and harm != "missing":
        harm = "cut"
    old_ones_cannot_tell = (name == "network.jsonl" and harm == "cut-at-a-line") or harm == "changed"
    if not digests and (old_ones_cannot_tell or (name.endswith("html") and harm != "missing")):
        return
    signals = tuple(AddressChanged(time=float(n), tab=0, url=f"http://a.test/{n}") for n in range(2))
    evidence = replace(EVIDENCE, requests=2 * EVIDENCE.requests, signals=signals, signals_after=(1, 2))
    attempt = write(RunDir(tmp_path), evidence=evidence)
    stored = json.loads((attempt / "evidence.json").read_text())
    if not digests:
        del stored["files"]
        (attempt / "evidence.json").write_text(json.dumps(stored))
    assert read_evidence(attempt) == evidence
    data = (attempt / name).read_bytes()
    if harm == "missing":
        (attempt / name).unlink()
    else:
        last = data.rstrip().rfind(b"\n") + 1
        harmed = {"cut": data[: len(data) - 5], "cut-at-a-line": data[:last], "changed": data.swapcase()}[harm]
        (attempt / name).write_bytes(harmed)
    with pytest.raises(ValueError, match=re.escape(f"{attempt / name}: expected")):
        read_evidence(attempt)


def test_similar_keys_get_different_folders() -> None:
    keys = [TrialKey("a.b", "c", 1), TrialKey("a", "b.c", 1), TrialKey("a.b", "c", 11), TrialKey("a/b", "c", 1)]
    assert len({key.folder for key in keys}) == len(keys)
    assert all("/" not in key.folder for key in keys)
    assert len(TrialKey("x" * 500, "y", 1).folder) < 120


def test_trial_without_a_record_is_unfinished(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    writer = run.folder(KEY).begin(worker="gw1", node_id="n", task={"category": "content"})
    writer.stepped(EVIDENCE.steps[0])  # what a crashed worker leaves behind stays readable
    assert run.records() == []
    (started,) = run.unfinished()
    assert (started["worker"], started["attempt"], started["task"]) == ("gw1", 1, {"category": "content"})
    assert json.loads((writer.path / "steps.jsonl").read_text())["raw"] == "click [4]"


def test_new_attempt_keeps_the_earlier_record(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    write(run)
    writer = run.folder(KEY).begin(worker="main", node_id="n")
    assert writer.number == 2
    assert run.records() == []  # open again
    earlier = json.loads((writer.path.parent / "attempt-1" / "trial.json").read_text())
    assert earlier["outcome"] == "passed"


def test_attempts_whose_process_died_are_counted(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    folder = run.folder(KEY)
    for _ in range(2):
        folder.begin(worker="gw0", node_id="n")  # and died
    failed = folder.begin(worker="gw1", node_id="n")
    folder.finish(replace(RECORD, outcome="failed", attempt=failed.number, attempts=()))
    again = folder.begin(worker="gw1", node_id="n")
    last = replace(RECORD, attempt=again.number, attempts=(Attempt(number=again.number, outcome="passed"),))
    assert run.cut_off(last) == 2
    assert run.cut_off(RECORD) == 0


def test_half_written_records_are_not_read(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    write(run)
    file = run.folder(KEY).path / "trial.json"
    file.write_text(file.read_text()[:40])
    assert run.records() == []


def test_newer_schema_version_is_refused() -> None:
    with pytest.raises(ValueError, match="schema version 14 or older, found 99"):
        TrialRecord.from_json({**RECORD.to_json(), "schema_version": 99})
    with pytest.raises(ValueError, match="schema version 16 or older, found 99"):
        Evidence.from_json({**EVIDENCE.to_json(), "schema_version": 99})


def test_first_description_of_a_run_is_kept(tmp_path: Path) -> None:
    run = RunDir(tmp_path / "run")
    run.describe({"argv": ["first"]})
    run.describe({"argv": ["second"]})
    assert run.facts()["argv"] == ["first"]
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == [".gitignore", "run.json"]


def test_run_directory_is_ignored_by_git(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", str(tmp_path)], check=True)
    write(RunDir(tmp_path / "run"))
    RunDir(tmp_path / "run").describe({})
    result = subprocess.run(["git", "status", "--short"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert result.stdout == ""


def test_folder_without_run_json_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="expected a run directory"):
        RunDir(tmp_path).facts()


def test_observations_and_screenshots_are_kept_by_step(tmp_path: Path) -> None:
    writer = RunDir(tmp_path).folder(KEY).begin(worker="main", node_id="n")
    names = writer.observed(
        3, Observation(text="lone surrogate \ud800", screenshot=b"\x89PNG...", url="", title="", tabs=())
    )
    assert names == ("observations/003.txt", "screenshots/003.png")
    assert all((writer.path / name).exists() for name in names)


def test_agent_traceback_has_no_terminal_control_characters(tmp_path: Path) -> None:
    writer = RunDir(tmp_path).folder(TrialKey("t", "a", 1)).begin(worker="", node_id="")
    writer.note_traceback(ValueError("\x1b]0;pwned\x07\x1b[2Jno price\ud800"), name="agent-traceback.txt")
    kept = (writer.path / "agent-traceback.txt").read_bytes()
    assert b"no price" in kept
    assert not {0x1B, 0x07} & set(kept)


def test_of_task_returns_trials_of_that_task_only(tmp_path: Path) -> None:
    run = RunDir(tmp_path)
    for task in ("a.b", "a", "a.b.c", "x[1]"):
        folder = run.folder(TrialKey(task, "agent", 1))
        folder.begin(worker="main", node_id="")
        folder.finish(TrialRecord(key=folder.key, outcome="passed"))
    for task in ("a", "a.b", "x[1]"):
        assert [record.key.task for record in run.of_task(task)] == [task]
    assert run.of_task("other") == []
