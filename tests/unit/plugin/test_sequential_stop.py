"""Decisions of ``--stop-when-settled`` from the records of two agents."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from pytest_webarena.plugin.sequential_stop import SequentialStop
from pytest_webarena.results import TrialKey
from pytest_webarena.results.comparing.sequential import Watch
from tests.made_up import make_run, make_trial


@pytest.mark.parametrize(
    ("first", "decides"),
    [
        ("f" * 20, "b is better than a"),
        ("e" * 20 + "f" * 20, ""),  # these errors could have been as many successes
        ("e" * 4 + "f" * 20, "b is better than a"),
        ("p" * 100, "neither b nor a is better"),
        ("e" * 100 + "p" * 100, ""),
        ("u" * 20 + "f" * 20, ""),  # a judge may accept these
        ("u" * 4 + "f" * 20, "b is better than a"),
        ("u" * 100 + "p" * 100, ""),
    ],
    ids=[
        "no errors", "errors could reverse it", "too few errors", "alike", "alike unless for errors",
        "undecided could reverse it", "too few undecided", "alike unless for undecided",
    ],
)  # fmt: skip
def test_comparison_stays_open_if_unknown_outcomes_could_reverse_it(tmp_path: Path, first: str, decides: str) -> None:
    """The other agent passes, but fails where the first one is undecided or ended in an error."""
    run = make_run(tmp_path / "run", agents=["a", "b"])
    outcomes = {"p": "passed", "f": "failed", "e": "error", "u": "failed"}
    undecided = {"schema_version": 3, "judgeable": True}
    order = []
    for number, letter in enumerate(first):
        for agent, outcome in (("a", outcomes[letter]), ("b", "failed" if letter in "eu" else "passed")):
            more: Any = {"verdict": undecided} if letter == "u" and agent == "a" else {}
            make_trial(run, f"t{number}", outcome, agent=agent, steps=(), evidence=False, **more)
        order.append([TrialKey(f"t{number}", agent, 1) for agent in ("a", "b")])
    deciding = SequentialStop(agents=("a", "b"), order=order, watch=Watch(difference=0.3))
    reason = deciding.stop_reason_of(run)
    assert (decides in reason) if decides else not reason
