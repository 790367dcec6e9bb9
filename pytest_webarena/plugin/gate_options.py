"""Options that turn a run's figures into an exit code, or end a run once its question is settled."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.option_groups import Subject
from pytest_webarena.plugin.option_values import confidence, increase, natural_float, points, share

if TYPE_CHECKING:
    from pytest_webarena.results.gate import Gate

__all__ = ["add_gate_options", "read_gate", "read_until"]


def add_gate_options(group: Subject) -> None:
    """Declare the options, each with its default and unit."""
    group.addoption(
        "--min-pass-rate",
        type=share,
        default=None,
        metavar="RATE",
        help="Exit with 10 unless every agent passes at least this share of its judged trials.",
    )
    group.addoption(
        "--max-errors",
        type=natural_float,
        default=None,
        metavar="E",
        help="Exit with 11 if more trials end in errors: a share below 1, or a number from 1 on; 0 for none.",
    )
    group.addoption(
        "--allow-skipped",
        action="append",
        default=[],
        metavar="NAME",
        help="Do not count skipped trials of this site or task (an id, or a pattern such as 'map.*') as errors; "
        "repeatable. Otherwise every planned trial without a result is an error for thresholds.",
    )
    _add_baseline_options(group)


def _add_baseline_options(group: Subject) -> None:
    group.addoption(
        "--min-pass-rate-end",
        choices=("mean", "low", "high"),
        default="mean",
        help="Compare --min-pass-rate with the rate (mean), the lower end of its 95 %% interval, or the upper end "
        "(default: mean).",
    )
    group.addoption(
        "--baseline",
        default=None,
        metavar="FILE|RUN",
        help="Exit with 14 if an agent is worse than in this run or file of 'webarena compare baseline save': task "
        "by task, at --confidence. Errors count as with --min-pass-rate.",
    )
    group.addoption(
        "--confidence",
        type=confidence,
        default=None,
        metavar="C",
        help="Confidence level of the comparison with --baseline, in per cent (default: 95).",
    )
    group.addoption(
        "--fail-unsettled",
        action="store_true",
        help="Exit with 15 if it is unsettled whether an agent is worse than --baseline (default: no failure).",
    )
    group.addoption(
        "--allow-undetectable",
        action="store_true",
        help="Accept a --baseline whose tasks could not show even a total collapse, or lack some that passed "
        "(default: exit with 15).",
    )
    group.addoption(
        "--stop-when-settled",
        action="store_true",
        help="Run two agents' trials in pairs, and stop when it is settled which agent is better, or that neither "
        "is by --difference. --resume runs the rest.",
    )
    group.addoption(
        "--difference",
        type=points,
        default=None,
        metavar="POINTS",
        help="With --stop-when-settled: smallest difference in success rate that matters, in percentage points "
        "(default: 5).",
    )
    group.addoption(
        "--max-cost-increase",
        type=increase,
        default=None,
        metavar="SHARE",
        help="Exit with 14 if a trial costs more dollars than in --baseline by more than this share, e.g. 20%%, "
        "beyond chance.",
    )


def read_gate(config: pytest.Config) -> Gate:
    """Return the thresholds of the run. Raises `UsageError` for options that require another one."""
    from pytest_webarena.results.gate import Gate

    option = config.getoption
    return Gate(
        min_pass_rate=option("--min-pass-rate"),
        max_errors=option("--max-errors"),
        allow_skipped=tuple(option("--allow-skipped")),
        rate_end=option("--min-pass-rate-end"),
        baseline=_baseline(config),
        confidence=option("--confidence") or 0.95,
        fail_unsettled=option("--fail-unsettled"),
        allow_undetectable=option("--allow-undetectable"),
        max_cost_increase=option("--max-cost-increase"),
    )


def read_until(config: pytest.Config, agents: Sequence[str]) -> float | None:
    """Return the difference for ``--stop-when-settled``. Raises `UsageError` for runs that can't settle one."""
    given: float | None = config.getoption("--difference")
    if not config.getoption("--stop-when-settled"):
        if given is not None:
            raise UsageError("--difference: expected --stop-when-settled, found none")
        return None
    for name in ("--audit", "--rescore", "--shard"):
        if config.getoption(name):
            raise UsageError(f"--stop-when-settled: expected no {name}, which leaves nothing to decide")
    if len(agents) != 2:
        raise UsageError(
            f"--stop-when-settled: expected two agents to decide between, found {', '.join(agents) or 'none named'}"
        )
    if len(config.getoption("--browser", default=None) or ()) > 1:
        raise UsageError("--stop-when-settled: expected one browser, found several; run them separately")
    if config.getoption("maxschedchunk", default=0) is None:
        config.option.maxschedchunk = 1  # keeps the order of trials, so that the rest can be skipped
    return given or 0.05


def _baseline(config: pytest.Config) -> Path | None:
    """The run or file of the baseline. Raises `UsageError` for options that require one, and for other files."""
    given: str | None = config.getoption("--baseline")
    if given is None:
        for name in ("--confidence", "--fail-unsettled", "--allow-undetectable", "--max-cost-increase"):
            if config.getoption(name) and not (name == "--confidence" and config.getoption("--stop-when-settled")):
                raise UsageError(f"{name}: expected --baseline, found none")
        return None
    path = Path(given).absolute()
    if not path.is_file() and not (path / "run.json").is_file():
        raise UsageError(
            f"--baseline: expected a run, or a file of 'webarena compare baseline save', found none at {given}"
        )
    if not config.getoption("--allow-undetectable") and not hasattr(config, "workerinput"):
        _check_detectable(path, config.getoption("--confidence") or 0.95)
    return path


def _check_detectable(path: Path, confidence: float) -> None:
    """Raise `UsageError` where no run could show a regression from the baseline, before trials cost anything."""
    from pytest_webarena.results.comparing.baseline import sides_at
    from pytest_webarena.results.comparing.detecting import blind_baseline
    from pytest_webarena.results.gate import ACCEPT_UNDETECTABLE

    try:
        sides = sides_at(path)
    except UsageError:
        return  # the gate reports it
    if why := blind_baseline(sides, confidence):
        raise UsageError(f"--baseline: {path.name}: {why}; {ACCEPT_UNDETECTABLE}")
