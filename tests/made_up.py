"""Small artificial runs for tests of what is computed from records."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.browser.observation import Observation
from pytest_webarena.checks.verdict import CheckResult, Verdict
from pytest_webarena.evidence import Evidence, RequestRecord, StepRecord, TabState, TargetRecord
from pytest_webarena.results import RunDir, TrialKey, TrialRecord

__all__ = ["PICTURE", "check", "make_run", "make_trial"]

PICTURE = bytes.fromhex(
    "89504e470d0a1a0a0000000d494844520000000100000001080600000"
    "01f15c4890000000d49444154789c63606060f80f0001040100b5d5b1a40000000049454e44ae426082"
)
"""A PNG of one pixel."""


def make_run(path: Path, **facts: Any) -> RunDir:
    """Create an empty run."""
    run = RunDir(path)
    run.describe(
        {
            "started": 1_700_000_000.0,
            "argv": ["tasks", "--agent=a"],
            "agents": ["a"],
            "trials": 1,
            "catalogue": "embedded",
            "limits": {"steps": 30, "seconds": 600.0, "stop_rule": "paper"},
            "env_retries": 1,
            "workers": 1,
            "versions": {"pytest": "9"},
            "git": "c0ffee",
            **facts,
        }
    )
    return run


def check(kind: str = "answer", score: float | None = 1.0, **more: Any) -> CheckResult:
    """Returns a judged check."""
    return CheckResult(path="checks[0]", kind=kind, score=score, **{"expected": "'rye'", "actual": "'oats'", **more})


UNDECIDED: dict[str, Any] = {"verdict": {"schema_version": 3, "judgeable": True, "results": []}}
"""Field of a record of outcome ``failed`` that the rules could not decide."""


def make_trial(
    run: RunDir,
    task: str = "t",
    outcome: Any = "passed",
    *,
    agent: str = "a",
    trial: int = 1,
    within: str = "chromium",
    steps: Sequence[dict[str, Any]] = ({}, {"action": {"kind": "stop", "answer": "rye"}}),
    checks: Sequence[CheckResult] | None = None,
    evidence: bool = True,
    **record: Any,
) -> TrialRecord:
    """Create a finished trial with all its files, in the browser ``within``.

    Each of ``steps`` has the fields of a `StepRecord` that differ from a click on "Save".
    """
    folder = run.folder(TrialKey(task, agent, trial, within))
    writer = folder.begin(worker="gw0", node_id=f"tasks/x.yaml::{task}[{within}]")
    written = []
    for index, fields in enumerate(steps):
        text, shot = writer.observed(
            index,
            Observation(text=f"observation {index}", url="http://s.test/", title="t", tabs=(), screenshot=PICTURE),
        )
        values = {
            "index": index,
            "action": {"kind": "click", "target": {"id": "4"}},
            "raw": "click [4]",
            "url_before": "http://s.test/",
            "target": TargetRecord(role="button", name="Save"),
            "observation": text,
            "screenshot": shot,
            "started": float(index),
            "seconds": {"observe": 0.1, "act": 0.5, "execute": 0.2},
            **fields,
        }
        if values["action"]["kind"] == "stop":
            values["target"] = None
        step = StepRecord(**values)
        writer.stepped(step)
        written.append(step)
    if evidence:
        writer.screenshot("final", PICTURE)
        tab = TabState(url="http://s.test/end", title="The end", html="<p>end</p>", active=True)
        request = RequestRecord(time=1.0, method="GET", url="http://s.test/", status=200)
        writer.finish(
            Evidence(answer="rye", stop_reason="answered", tabs=(tab,), steps=tuple(written), requests=(request,))
        )
    verdict = None
    if outcome != "error":
        score = 1.0 if outcome == "passed" else 0.0
        results = (
            tuple(checks) if checks is not None else (check(score=score, why="" if score else "the texts differ"),)
        )
        verdict = Verdict(score=score, passed=outcome == "passed", results=results, task=task, intent=f"Do {task}")
    values = {
        "score": verdict.score if verdict else None,
        "verdict": verdict.to_json() if verdict else None,
        "message": verdict.render() if verdict and not verdict.passed else "",
        "stop_reason": None if outcome == "error" else "answered",
        "cause": "site" if outcome == "error" else None,
        "answer": "rye" if outcome != "error" else None,
        "intent": f"Do {task}",
        "sites": ("s",),
        "category": "content",
        "template": task.partition(".")[0],
        "steps": len(written),
        "attempt": writer.number,
        "seconds": {"lease": 0.5, "episode": 2.0, "total": 3.0},
        "started": 1_700_000_000.0,
        "node_id": f"tasks/x.yaml::{task}[{within}]",
        "worker": "gw0",
        **record,
    }
    made = TrialRecord(key=folder.key, outcome=outcome, **values)
    folder.finish(made)
    return made


def graded(**scores: float | None) -> dict[str, Any]:
    """Returns the fields ``grading`` and ``verdicts`` of a record with several gradings, the first of which counts."""
    verdicts = {
        name: Verdict(
            score=score,
            passed=None if score is None else score >= 1,
            results=(check(score=score, why="" if score == 1 else f"{name} differs"),),
            grading=name,
        ).to_json()
        for name, score in scores.items()
    }
    return {"grading": next(iter(scores)), "verdicts": verdicts}
