"""``webarena runs gate RUN``: thresholds for a finished run, such as one merged from parts."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pytest_webarena.errors import RunChanged, UsageError
from pytest_webarena.results import RunDir
from pytest_webarena.results.completeness import why_plan_unknown
from pytest_webarena.results.conditions import check_rates, summaries_of
from pytest_webarena.results.gate import STOPPED_EARLY, TOO_MANY_ERRORS, Gate
from pytest_webarena.results.plan import cover, read_plan
from pytest_webarena.results.unreadable import name_faults, why_no_rate

__all__ = ["add_command"]


def add_command(commands: Any) -> None:
    """Declare ``gate``."""
    parser = commands.add_parser("gate", help="judge a finished run by thresholds")
    parser.add_argument("run_dir", type=Path, metavar="RUN_DIR")
    parser.add_argument("--min-pass-rate", type=_share, metavar="RATE", help="minimum success rate of every agent")
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
    parser.set_defaults(run=_gate)


def _gate(options: argparse.Namespace) -> int:
    if options.min_pass_rate is None and options.max_errors is None:
        raise UsageError("expected a threshold, --min-pass-rate or --max-errors, found none")
    try:
        return _rule(options, RunDir(options.run_dir))
    except RunChanged as error:
        print(f"gate: {error} (exit code {TOO_MANY_ERRORS})")
        return TOO_MANY_ERRORS


def _rule(options: argparse.Namespace, run: RunDir) -> int:
    """Print the ruling on a run; return the exit code. Raises `UsageError`."""
    facts = run.facts()  # raises if the folder is not a run
    check_rates(run.path, facts)
    stored, plan = run.read(), read_plan(run.path)
    faulty = name_faults(run, stored)
    gate = Gate(
        min_pass_rate=options.min_pass_rate,
        max_errors=options.max_errors,
        allow_skipped=tuple(options.allow_skipped),
        rate_end=options.min_pass_rate_end,
    )
    coverages = cover(plan, stored.records, begun=run.begun(), lost=(), allowed=gate.allow_skipped)
    ruling = gate.rule(summaries_of(run, stored.records, named_with=tuple(plan)), coverages)
    assert ruling is not None, "something was asked"
    if faulty:
        print(f"gate: {why_no_rate(faulty)} (exit code {TOO_MANY_ERRORS})")
        return TOO_MANY_ERRORS
    if reason := why_plan_unknown(run.path, facts):
        print(f"gate: {reason} (exit code {TOO_MANY_ERRORS})")
        return TOO_MANY_ERRORS
    stopped = sum(each.stopped for each in coverages.values())
    if stopped:
        print(f"gate: {stopped} trials were not run after errors in a row; pytest --resume={run.path} runs them")
        return STOPPED_EARLY
    print(f"gate: {ruling.message}" + (f" (exit code {ruling.exit_code})" if ruling.exit_code else ""))
    return ruling.exit_code


def _share(text: str) -> float:
    return _number(text, "a share from 0 to 1, as 0.3", lambda value: 0 <= value <= 1)


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
