"""The check kind ``python``: functions of users."""

from __future__ import annotations

import re
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_webarena import errors
from pytest_webarena.checks import judge
from pytest_webarena.checks.bounded import judge_bounded
from pytest_webarena.errors import JudgeError
from pytest_webarena.evidence import Evidence
from tests.cases import each_case

from .helpers import evidence, result, task


def few_steps(recorded: Evidence, *, most: int = 2) -> Any:
    if len(recorded.steps) <= most:
        return True
    return most / len(recorded.steps), f"{len(recorded.steps)} steps"


def unparsable(recorded: Evidence) -> Any:
    raise JudgeError("no verdict")


@pytest.fixture(autouse=True)
def module() -> Iterator[None]:
    made = types.ModuleType("my_checks")
    made.few_steps = few_steps  # type: ignore[attr-defined]
    made.unparsable = unparsable  # type: ignore[attr-defined]
    made.broken = lambda recorded: recorded.nothing  # type: ignore[attr-defined]
    made.give = lambda recorded, value: eval(value)  # type: ignore[attr-defined]
    made.Group = type("Group", (), {"yes": staticmethod(lambda recorded: True)})  # type: ignore[attr-defined]
    made.number = 5  # type: ignore[attr-defined]
    sys.modules["my_checks"] = made
    yield
    del sys.modules["my_checks"]


def test_function_gets_evidence_and_arguments() -> None:
    assert result("python: my_checks:few_steps", evidence(urls=["a", "b"])).passed
    got = result("python: {function: my_checks:few_steps, args: {most: 1}}", evidence(urls=["a", "b"]))
    assert (got.score, got.why, got.mark) == (0.5, "2 steps", "◐")
    assert got.expected == "my_checks:few_steps(most=1) says yes"


def test_function_may_be_a_nested_attribute() -> None:
    assert result("python: my_checks:Group.yes", evidence()).passed


@each_case(("value", "score"), [("True", 1), ("False", 0), ("0.25", 0.25), ("(1, 'why')", 1), ("0", 0)])
def test_valid_return_values_become_scores(value: str, score: float) -> None:
    assert result(f'python: {{function: my_checks:give, args: {{value: "{value}"}}}}', evidence()).score == score


@each_case("value", ["None", "2", "-0.1", "'yes'", "float('nan')", "(1, 2)", "(1, 'a', 'b')", "[]"])
def test_invalid_return_values_are_undecided(value: str) -> None:
    got = result(f'python: {{function: my_checks:give, args: {{value: "{value}"}}}}', evidence())
    assert got.score is None
    assert "expected True, False, a score from 0 to 1, or a pair" in got.why


@each_case(
    ("function", "why"),
    [
        ("my_checks:absent", "my_checks:absent raised AttributeError: module 'my_checks' has no attribute 'absent'"),
        ("my_checks:number", "my_checks:number raised TypeError: my_checks:number is no function"),
        ("no_such_module:f", "no_such_module:f raised ModuleNotFoundError: No module named 'no_such_module'"),
        ("my_checks:give", "my_checks:give raised TypeError: "),
    ],
)
def test_unusable_function_is_undecided(function: str, why: str) -> None:
    got = result(f"python: {function}", evidence())
    assert got.score is None
    assert got.why.startswith(why)


@pytest.mark.parametrize(
    "expression",
    [
        "recorded.steps[3]",
        "{}['total']",
        "int('none')",
        "recorded.answer.missing",
        "1 / len(recorded.steps)",
        "next(())",
    ],
)
def test_raising_function_fails_and_its_negation_is_undecided(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, expression: str
) -> None:
    """An exception that an agent can cause must not exclude its trial from the success rate."""
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "raising_checks.py").write_text(f"def f(recorded):\n    return {expression}\n")
    try:
        got = result("python: raising_checks:f", evidence())
        contrary = result("not: {python: raising_checks:f}", evidence())
    finally:
        sys.modules.pop("raising_checks", None)
    assert got.passed is False
    assert re.match(r"raising_checks:f raised \w+Error in line 2: ", got.why), got.why
    assert (contrary.passed, contrary.children[0].cause) == (None, "task")


@each_case(
    "error",
    [
        errors.SiteError("down"),
        errors.SiteMissing("not here"),
        errors.ModelError("down"),
        errors.UsageError("no"),
        pytest.skip.Exception("no"),
        pytest.xfail.Exception("no"),
        SystemExit(0),
        GeneratorExit(),
        ModuleNotFoundError("No module named 'x'"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_exceptions_that_no_agent_can_cause_are_task_errors(error: BaseException) -> None:
    def raising(recorded: Evidence) -> Any:
        raise error

    sys.modules["my_checks"].raising = raising  # type: ignore[attr-defined]
    got = judge(task("- python: my_checks:raising"), evidence())
    assert (got.passed, got.cause) == (None, "task")
    assert f"my_checks:raising raised {type(error).__name__}" in got.results[0].why


@pytest.mark.parametrize(
    "leaving", ["sys.exit(0)", "pytest.importorskip('no_such_module')", "pytest.exit('no')", "pytest.xfail('no')"]
)
@pytest.mark.parametrize("in_function", [True, False])
def test_function_cannot_end_or_skip_its_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, leaving: str, in_function: bool
) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    function = f"def no(recorded):\n    {leaving if in_function else 'return True'}\n"
    (tmp_path / "leaving_checks.py").write_text(
        f"import sys\nimport pytest\n{function}{'' if in_function else leaving}\n"
    )
    try:
        got = judge_bounded(task("- python: leaving_checks:no"), evidence(), seconds=60)
    finally:
        sys.modules.pop("leaving_checks", None)
    raised = in_function and leaving == "pytest.exit('no')"  # derived from `Exception`, unlike the others
    assert (got.passed, got.cause) == (False if raised else None, "task")
    assert "leaving_checks:no raised " in got.results[0].why


def test_judge_error_of_a_function_is_raised() -> None:
    with pytest.raises(JudgeError, match="no verdict"):
        result("python: my_checks:unparsable", evidence())
