"""A comparison as plain data, for programs."""

from __future__ import annotations

import math
from typing import Any

from pytest_webarena.results.comparing.comparison import Comparison
from pytest_webarena.results.comparing.difference import Difference
from pytest_webarena.results.comparing.effort import Effort
from pytest_webarena.results.comparing.repeats import about
from pytest_webarena.results.comparing.wording import headline, parted_at
from pytest_webarena.results.statistics import Rate

__all__ = ["plain"]


def plain(each: Comparison) -> dict[str, Any]:
    """Return a comparison as plain data; the names are those of the classes' fields."""
    found = each.difference

    def side(of: Any) -> dict[str, Any]:
        repeats = about(of)
        return {
            "agent": of.agent,
            "browser": of.browser,
            "run": of.run,
            "path": str(of.path) if of.path is not None else None,
            "errors": of.errors,
            "rate": rate(of.rate),
            "rate_errors_failed": rate(of.rate.with_errors_failed),
            "undecided": of.undecided,
            "missing": sum(of.missing.values()),
            "mixed": list(of.mixed),
            "stopped_by_until": of.looked,
            **{name: repeats[name] for name in ("tasks", "pass_any", "pass_all", "chance_share")},
            "flaky": list(repeats["flaky"]),  # type: ignore[call-overload]
        }

    def rate(of: Rate) -> dict[str, Any]:
        return {"passed": of.passed, "trials": of.judged, "value": of.value, "interval95": list(of.interval)}

    def difference(of: Difference) -> dict[str, Any]:
        return {
            "value": of.value, "rates": of.rates, "sample": of.sample, "whole": of.whole, "confidence": of.confidence,
            "tasks": of.tasks, "clusters": of.clusters, "trials": of.trials, "repeated": of.repeated,
        }  # fmt: skip

    def effort(of: Effort) -> dict[str, Any]:
        return {name: getattr(of, name) for name in Effort.__slots__ if name != "measure"}

    return {
        "verdict": each.verdict,
        "verdict_here": each.verdict_here,
        "verdict_of_judged": each.verdict_of_judged,
        "headline": headline(each),
        "first": side(each.first),
        "second": side(each.second),
        "difference": difference(found),
        "p": each.p,
        "adjusted": each.adjusted,
        "test": each.test,
        "bounds": each.bounds,
        "error_bounds": each.error_bounds,
        "undecided_bounds": each.undecided_bounds,
        "verdicts_if_decided": each.verdicts_if_decided,
        "errors_failed": {**difference(failed.difference), "p": failed.p}
        if (failed := each.errors_failed) is not None
        else None,
        "judge": {
            "asked": each.by_judge,
            "corrected": {"value": corrected.value, "interval": corrected.interval}
            if (corrected := each.corrected) is not None
            else None,
        },
        "groups": [
            {"kind": group.kind, "name": group.name, "verdict": group.verdict, "p": group.p,
             "adjusted": group.adjusted, "bounds": group.bounds, **difference(group.difference)}
            for group in each.groups
        ],
        "transitions": {
            f"{'passed' if one else 'failed'} → {'passed' if other else 'failed'}": count
            for (one, other), count in each.transitions.items()
        },
        "tasks": [
            {
                "task": task.task,
                "fate": task.fate,
                "first": [task.first.passed, task.first.judged],
                "second": [task.second.passed, task.second.judged],
                "trials": [one.folder for one in task.pair],
                **({"parts_at": parted.step} if task.fate != "same" and (parted := parted_at(each, task)) else {}),
            }
            for task in each.fates
        ],
        "efforts": [{measure: effort(found) for measure, found in side.items()} for side in each.efforts],
        "growth": {
            measure: {"ratio": found.ratio, "interval": [_finite(bound) for bound in found.interval]}
            for measure, found in each.growth.items()
        },
        "left_out": {reason: list(names) for reason, names in each.left_out.items()},
        "changed": list(each.changed),
        "differing": list(each.differing),
        "no_comparison": list(each.forced),
    }  # fmt: skip


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
