"""Solutions that are longer than a trial."""

from __future__ import annotations

from pytest_webarena.testing import make_task
from pytest_webarena.trials.long_solutions import with_long_solutions


def test_solution_that_is_longer_than_the_default_limit_is_named() -> None:
    def note(steps: int, limits: str = "") -> str:
        solution = ", ".join(["{press: Tab}"] * steps)
        text = f"intent: Do it\nsites: [shop]\nchecks: [{{url: /a}}]\nsolution: [{solution}]\n{limits}"
        return with_long_solutions([make_task(text)])

    assert note(29) == note(30, "limits: {steps: 40}") == ""
    assert "default limit of 30 steps in task (31 steps with the answer): set 'limits" in note(30)
