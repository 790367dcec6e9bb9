"""Rows for published leaderboards of WebArena: its authors' sheet, and BrowserGym's.

A run knows figures and conditions. What only its author knows stays to be filled in: a guess there would be a claim.
WebArena-Verified's leaderboard takes trajectories instead: ``webarena runs export-verified``.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence

from pytest_webarena.csv_text import csv_text
from pytest_webarena.results.conditions import invocations
from pytest_webarena.results.paper_differences import SUITE
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.run_readme import began_at
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.tables import gather

__all__ = ["leaderboard_files"]

_GRADING = "original"
"""Published figures are those of the original evaluators."""
_FILL_IN = "Yes/No"
_SHEET = (
    "Release Date", "Open?", "Model Size (billion)", "Model", "Success Rate (%)", "Result Source", "Work", "Traj",
    "Note",
)  # fmt: skip
"""Columns of the sheet that WebArena's README links."""


def leaderboard_files(run: RunDir, records: Sequence[TrialRecord]) -> dict[str, bytes]:
    """Return the files by name; none for runs of other tasks than WebArena's.

    Rates count errors, and trials that errors in a row stopped, as failures. The standard error is that of as many
    independent outcomes as there are tasks, so further trials of the same tasks never make it smaller.
    """
    if all(record.source.get("suite") != SUITE for record in records):
        return {}
    found: dict[str, bytes] = {}
    sheet: list[Sequence[object]] = [_SHEET]
    facts = run.facts()
    began = began_at(invocations(run.path, facts))
    for row in gather([run.path], grading=_GRADING):
        if row.suite != SUITE:
            continue
        own = [record for record in records if record.key.entrant == (row.agent, row.browser)]
        rate = row.metrics.rate.with_errors_failed
        share, tasks = rate.value or 0.0, len({record.key.task for record in own})
        undecided = (f"{rate.undecided} undecided trials count as not met",) if rate.undecided else ()
        note = "; ".join((*row.unlike, *row.mixed, *undecided))
        score = round(100 * share, 2)
        models = ", ".join(sorted({record.model for record in own} - {""}))
        sheet.append([began.strftime("%m/%Y"), "", "", models or row.agent, score, "Self-reported", "", "", note])
        entry = {
            "agent_name": row.agent,
            "study_id": facts["id"],
            "date_time": began.strftime("%Y-%m-%d %H:%M:%S"),
            "benchmark": "WebArena",
            "score": score,
            "std_err": round(100 * math.sqrt(share * (1 - share) / tasks), 2),
            "benchmark_specific": _FILL_IN,
            "benchmark_tuned": _FILL_IN,
            "followed_evaluation_protocol": _FILL_IN,
            "reproducible": _FILL_IN,
            "comments": note,
            "original_or_reproduced": "Original",
        }
        folder = re.sub(r"[^A-Za-z0-9._-]+", "-", row.name).strip(".-")[:120] or "agent"
        found[f"leaderboards/{folder}/webarena.json"] = json.dumps([entry], indent=2).encode()
    return {**found, "leaderboards/webarena.csv": csv_text(sheet).encode()} if found else {}
