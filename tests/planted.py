"""Runs with a known difference between them, which consist of records only."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_webarena.evidence import Usage
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from tests.made_up import make_run

__all__ = ["plant"]


def plant(
    path: Path,
    *,
    seed: int,
    shift: float = 0.0,
    tasks: int = 228,
    trials: int = 3,
    agent: str = "cot",
    cost: float = 0.05,
    facts: Mapping[str, Any] | None = None,
    **record: Any,
) -> RunDir:
    """Create a run of an agent that passes about half of the trials; ``shift`` is added to each task's pass
    probability.

    Tasks differ in difficulty, three or four to a template, and are the same in every run; ``seed`` is for the
    outcomes.
    """
    run = make_run(path, agents=[agent], trials=trials, **(facts or {}))
    nature, luck = random.Random(7), random.Random(seed)
    for number in range(tasks):
        if number % 3 == 0:
            template = nature.gauss(0, 1.0)
        chance = 1 / (1 + math.exp(-(template + nature.gauss(0, 1.2))))
        chance = 0.1 + 0.8 * chance + shift
        for trial in range(1, trials + 1):
            key = TrialKey(f"t{number:03d}", agent, trial)
            passed = luck.random() < chance
            spent = cost * luck.lognormvariate(0, 0.3)
            folder = run.folder(key)
            folder.path.mkdir(parents=True)
            folder.finish(
                TrialRecord(
                    key=key,
                    outcome="passed" if passed else "failed",
                    **{
                        "score": float(passed),
                        "stop_reason": "answered",
                        "sites": ("shop",) if number % 2 else ("forum",),
                        "category": ("content", "navigation", "information")[number % 3],
                        "template": f"template {number // 3}",
                        "task_digest": f"d{number}",
                        "agent_digest": "a1",
                        "steps": luck.randint(2, 12),
                        "seconds": {"total": luck.uniform(5, 60)},
                        "usage": Usage(calls=4, input_tokens=9000, output_tokens=500, cost=spent),
                        "started": 1_700_000_000.0 + number * 10 + trial,
                        "node_id": f"tasks/x.yaml::t{number:03d}",
                        **record,
                    },
                )
            )
    return run
