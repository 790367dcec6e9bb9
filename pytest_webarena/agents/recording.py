"""Reads what a run recorded of one trial, for agents that replay it."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_webarena.errors import AgentError
from pytest_webarena.evidence import StepRecord
from pytest_webarena.file_digests import SEAL, seal_fault

__all__ = ["Recording", "find_recording"]

_COMMAND = re.compile(r"[A-Z]\w+\.\w+\(|navigation without a command")
"""Beginnings of the texts of steps by an agent that drove the browser over CDP."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The steps of one attempt and what the agent saw at each."""

    folder: Path
    steps: tuple[StepRecord, ...]
    outcome: str = ""
    """``passed``, ``failed`` or ``error``."""
    verdict: Mapping[str, Any] = field(default_factory=dict)
    """The verdict as `Verdict.to_json`; empty when there was none."""
    began: float = 0.0
    """Unix time in seconds at which the agent began; 0 when it was not recorded."""
    manifest: str = ""
    """SHA-256 of the attempt's manifest; empty in runs of older versions."""

    def text_before(self, step: StepRecord) -> str:
        """The text shown before ``step``; empty when it was not kept."""
        try:
            return (self.folder / step.observation).read_text("utf-8", errors="replace") if step.observation else ""
        except OSError:
            return ""

    @property
    def self_driven(self) -> bool:
        """Whether the agent drove the browser itself: its steps are CDP commands then."""
        return any(_COMMAND.match(step.raw) or step.by_script for step in self.steps)

    @property
    def viewport(self) -> tuple[int, int] | None:
        """The viewport of most steps, width and height in CSS pixels; None when it was not recorded. Agents that drive
        the browser may change it from the run's."""
        found = Counter(size for step in self.steps if (size := self._viewport(step)) is not None)
        return max(found, key=lambda size: found[size], default=None)

    def _viewport(self, step: StepRecord) -> tuple[int, int] | None:
        try:
            observation = json.loads((self.folder / step.observation).with_suffix(".json").read_text("utf-8"))
            width, height = observation["viewport"]
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return (int(width), int(height)) if width and height else None


def find_recording(run: Path, *, task: str, agent: str, trial: int) -> Recording:
    """The attempt that counts of ``task`` in the run directory ``run``.

    It is by ``agent`` or, if empty, by the only agent; with the same trial number or, if there is none, the first one.
    `AgentError` says what exists.
    """
    if not (run / "trials").is_dir():
        raise AgentError(
            f"replay: expected a run directory, found none at {run}; set another with --agent-option run=DIR"
        )
    found: dict[str, dict[int, tuple[Path, dict[str, Any]]]] = {}
    for file in sorted((run / "trials").glob("*/trial.json")):
        try:
            content = file.read_bytes()
            data = json.loads(content)
            key = data["key"]
            if key["task"] == task:
                if SEAL in data and (fault := seal_fault(content)):
                    raise AgentError(f"replay: expected {file} as its trial wrote it, but {fault}")
                found.setdefault(key["agent"], {})[key["trial"]] = (file.parent, data)
        except (OSError, ValueError, KeyError, TypeError):
            continue  # an unfinished trial cannot be replayed
    if not found:
        raise AgentError(f"replay: expected a finished trial of {task} in {run}, found none")
    if not agent and len(found) > 1:
        raise AgentError(f"replay: {task} was tried by {', '.join(found)} in {run}; choose one with the key 'agent'")
    name = agent or next(iter(found))
    if name not in found:
        raise AgentError(f"replay: expected a trial of {task} by {name} in {run}, found {', '.join(found)}")
    folder, data = found[name].get(trial) or found[name][min(found[name])]
    attempt = folder / f"attempt-{data.get('attempt', 1)}"
    if data.get("steps") == 0 and not (attempt / "steps.jsonl").exists():  # the agent crashed before its first step
        return Recording(folder=attempt, steps=(), outcome=str(data.get("outcome", "")))
    try:
        lines = (attempt / "steps.jsonl").read_text("utf-8", errors="surrogatepass").splitlines()
        steps = tuple(StepRecord.from_json(json.loads(line)) for line in lines)
    except (OSError, ValueError, TypeError) as error:
        raise AgentError(f"replay: expected the steps of {task} in {attempt}, found none: {error}") from None
    return Recording(
        folder=attempt,
        steps=steps,
        outcome=str(data.get("outcome", "")),
        verdict=data.get("verdict") or {},
        began=_began(attempt),
        manifest=(data.get("manifests") or {}).get(attempt.name, ""),
    )


def _began(attempt: Path) -> float:
    try:
        return float(json.loads((attempt / "evidence.json").read_text("utf-8")).get("began", 0.0))
    except (OSError, ValueError, TypeError, AttributeError):
        return 0.0
