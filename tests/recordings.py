"""Recorded trials without sites or a browser: the folder of a run as a real run would leave it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.actions import Action, as_record
from pytest_webarena.browser.observation.model import Observation, TabInfo
from pytest_webarena.evidence import Evidence, StepRecord, TargetRecord
from pytest_webarena.results import RunDir, TrialRecord
from pytest_webarena.results.records import TrialKey

__all__ = ["Recorded", "record_trial"]

HOME = "http://homepage.test"

Recorded = tuple[str, Action, TargetRecord | None]
"""An observation's text, the action, and the element that it hit."""


def record_trial(
    run: Path, task: str, steps: Sequence[Recorded], *, answer: str | None = None, agent: str = "clerk", **facts: Any
) -> Path:
    """Write a finished trial of ``agent`` at ``task`` into ``run``, and return the folder of its attempt."""
    stored = RunDir(run)
    stored.describe({"agents": [agent], "trials": 1, **facts})
    folder = stored.folder(TrialKey(task, agent, 1))
    writer = folder.begin(worker="main", node_id="")
    recorded_steps = []
    for index, (text, action, target) in enumerate(steps):
        url = f"{HOME}/{index}"
        observation = Observation(
            text=text, url=url, title=f"Page {index}", tabs=(TabInfo(title="Home", url=url, active=True),),
            notes=("a note",) if index else (),
        )  # fmt: skip
        file, shot = writer.observed(index, observation)
        step = StepRecord(
            index=index, action=as_record(action), raw=repr(action), observation=file, screenshot=shot, target=target,
            url_before=url, url_after=f"{HOME}/{index + 1}",
        )  # fmt: skip
        writer.stepped(step)
        recorded_steps.append(step)
    writer.finish(
        Evidence(answer=answer, stop_reason="answered", steps=tuple(recorded_steps), sites={"homepage": HOME})
    )
    folder.finish(TrialRecord(key=folder.key, outcome="passed", answer=answer, steps=len(recorded_steps)))
    return writer.path
