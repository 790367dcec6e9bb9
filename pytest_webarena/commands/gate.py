"""``webarena runs gate RUN``: thresholds for a finished run, such as one merged from parts."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.errors import RunChanged, UsageError
from pytest_webarena.plugin.option_values import confidence, increase, share
from pytest_webarena.results import RunDir, Summary, TrialRecord
from pytest_webarena.results.comparing.comparison import Comparison
from pytest_webarena.results.comparing.run_comparisons import with_baseline
from pytest_webarena.results.completeness import why_plan_unknown
from pytest_webarena.results.conditions import check_rates, summaries_of
from pytest_webarena.results.gate import STOPPED_EARLY, TOO_MANY_ERRORS, Gate, Ruling
from pytest_webarena.results.plan import Coverage, cover, read_plan
from pytest_webarena.results.unreadable import name_faults, why_no_rate

__all__ = ["Judged", "add_command", "add_thresholds", "judge_run"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A finished run, judged by thresholds."""

    run: RunDir
    records: tuple[TrialRecord, ...]
    summaries: Mapping[str, Summary]
    coverages: Mapping[str, Coverage]
    comparisons: tuple[Comparison, ...] = ()
    """Comparisons with ``--baseline``, of the agents that can be compared."""
    ruling: Ruling | None
    """None without a threshold."""


def add_command(commands: Any) -> None:
    """Declare ``gate``."""
    parser = commands.add_parser("gate", help="judge a finished run by thresholds")
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    add_thresholds(parser)
    parser.set_defaults(run=_gate)


def add_thresholds(parser: argparse.ArgumentParser) -> None:
    """Declare the thresholds, which `judge_run` reads."""
    parser.add_argument("--min-pass-rate", type=share, metavar="RATE", help="minimum success rate of every agent")
    parser.add_argument(
        "--max-errors", type=_most, metavar="N",
        help="trials without a verdict that are allowed: a share below 1, a number from 1 on (default: none)",
    )  # fmt: skip
    parser.add_argument(
        "--min-pass-rate-end", choices=("mean", "low", "high"), default="mean",
        help="compared value: the rate, or an interval's end",
    )  # fmt: skip
    parser.add_argument(
        "--allow-skipped", action="append", default=[], metavar="NAME",
        help="allow skipped trials of this site or task; repeatable",
    )  # fmt: skip
    parser.add_argument("--baseline", type=Path, metavar="FILE|RUN", help="fail if an agent is worse than in this")
    parser.add_argument(
        "--confidence", type=confidence, default=0.95, metavar="C", help="of the comparison (default: 95)"
    )
    parser.add_argument(
        "--max-cost-increase", type=increase, metavar="SHARE", help="fail if trials cost more by this, e.g. 20%%"
    )
    parser.add_argument("--fail-unsettled", action="store_true", help="fail if that is unsettled")
    parser.add_argument(
        "--allow-undetectable", action="store_true", help="accept a baseline with too few or missing tasks"
    )


def _gate(options: argparse.Namespace) -> int:
    if options.min_pass_rate is None and options.max_errors is None and options.baseline is None:
        raise UsageError("expected a threshold, --min-pass-rate, --max-errors or --baseline, found none")
    ruling = judge_run(options).ruling
    assert ruling is not None, "something was asked"
    print(f"gate: {ruling.message}" + (f" (exit code {ruling.exit_code})" if ruling.exit_code else ""))
    return ruling.exit_code


def judge_run(options: argparse.Namespace) -> Judged:
    """Return a run with its figures and the ruling on it; damaged trials are named on stderr.

    ``options`` are those of `add_thresholds`, and the run's directory. Raises `UsageError` for a directory that is no
    run, and for a run without rates.
    """
    if options.baseline is None:
        for name in ("fail_unsettled", "allow_undetectable", "max_cost_increase"):
            if getattr(options, name) not in (None, False):
                raise UsageError(f"--{name.replace('_', '-')}: expected --baseline, found none")
    run = RunDir(options.run_dir)
    gate = Gate(
        min_pass_rate=options.min_pass_rate,
        max_errors=options.max_errors,
        allow_skipped=tuple(options.allow_skipped),
        rate_end=options.min_pass_rate_end,
        baseline=options.baseline,
        confidence=options.confidence,
        max_cost_increase=options.max_cost_increase,
        fail_unsettled=options.fail_unsettled,
        allow_undetectable=options.allow_undetectable,
    )
    try:
        return _judged(run, gate)
    except RunChanged as error:
        ruling = Ruling(exit_code=TOO_MANY_ERRORS, message=str(error))
        return Judged(run=run, records=(), summaries={}, coverages={}, ruling=ruling)


def _judged(run: RunDir, gate: Gate) -> Judged:
    facts = run.facts()  # raises if the folder is not a run
    check_rates(run.path, facts)
    stored, plan = run.read(), read_plan(run.path)
    faulty = name_faults(run, stored)
    coverages = cover(plan, stored.records, begun=run.begun(), lost=(), allowed=gate.allow_skipped)
    summaries = summaries_of(run, stored.records, named_with=tuple(plan))
    refused: list[str] = []
    against: list[Comparison] | str = []
    if gate.baseline is not None and stored.records:
        against = with_baseline(run, stored.records, gate, refused=refused)
    ruling = gate.rule(summaries, coverages, against=against, refused=refused)
    stopped = sum(each.stopped for each in coverages.values())
    if faulty:
        ruling = Ruling(exit_code=TOO_MANY_ERRORS, message=why_no_rate(faulty))
    elif reason := why_plan_unknown(run.path, facts):
        ruling = Ruling(exit_code=TOO_MANY_ERRORS, message=reason)
    elif stopped:
        message = f"{stopped} trials were not run after errors in a row; pytest --resume={run.path} runs them"
        ruling = Ruling(exit_code=STOPPED_EARLY, message=message)
    return Judged(
        run=run,
        records=stored.records,
        summaries=summaries,
        coverages=coverages,
        comparisons=() if isinstance(against, str) else tuple(against),
        ruling=ruling,
    )


def _most(text: str) -> float:
    return _number(
        text, "a share below 1 or a whole number from 1 on", lambda value: 0 <= value < 1 or value == int(value)
    )


def _number(text: str, expected: str, is_valid: Callable[[float], bool]) -> float:
    try:
        value = float(text)
        if is_valid(value):
            return value
    except (ValueError, OverflowError):
        pass
    raise argparse.ArgumentTypeError(f"expected {expected}, found {text!r}")
