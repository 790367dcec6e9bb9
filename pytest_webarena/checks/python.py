"""The kind ``python``: a function of the user decides, based on all evidence."""

from __future__ import annotations

import importlib
import inspect
import math
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_webarena.checks.kind import Judgement, Kind, View
from pytest_webarena.errors import JudgeError
from pytest_webarena.evidence import Evidence
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.model import Check
from pytest_webarena.tasks.record_shapes import Convert, Either, Field, MapOf, Record
from pytest_webarena.tasks.shapes import Fault, Json, Text
from pytest_webarena.text import clip, message_of

__all__ = ["PYTHON", "PythonSpec", "code_of"]

_NAME = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")


@dataclass(frozen=True, slots=True, kw_only=True)
class PythonSpec:
    """A function and its additional arguments."""

    function: str
    args: Mapping[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.function + (f"({', '.join(f'{k}={v!r}' for k, v in self.args.items())})" if self.args else "")


def _fault(name: str, _: Reading) -> Fault | None:
    if _NAME.fullmatch(name):
        return None
    return Fault("a function as module:name, e.g. my_checks:ordered_twice", f"'{clip(name)}'")


_FUNCTION = Text("a function as module:name", strip=True, check=_fault, form="word")

FORM: Any = Either(
    "a function as module:name, or a mapping with 'function' and 'args'",
    scalar=Convert(_FUNCTION, lambda name, _: PythonSpec(function=name)),
    mapping=Record(
        "python check",
        PythonSpec,
        [
            Field(
                key="function",
                shape=_FUNCTION,
                doc=(
                    "A function that takes the trial's `Evidence` (answer, tabs, steps, requests, …). It "
                    "returns `True` or `False`, a score from 0 to 1, or a pair of score and reason. If it "
                    "raises an exception, the check fails and `not` is undecided; `--agent=oracle` or "
                    "`--audit` shows faults of the function. A function that can't be imported, or returns "
                    "anything else, is an error of the task. What `tabs` show counts only while the task's "
                    "accounts are signed in. `unrecorded` counts requests that were not kept. Use only the "
                    "arguments, so that stored runs can be judged again. pytest must be able to import the "
                    "module (`pythonpath` setting)."
                ),
                example="- python: {function: my_checks:few_steps}",
            ),
            Field(
                key="args",
                shape=MapOf(Json("a value"), "a mapping from argument names to values"),
                default={},
                default_text="none",
                doc="Keyword arguments for the function.",
                example="- python: {function: my_checks:few_steps, args: {most: 8}}",
            ),
        ],
        doc="A function and its arguments.",
    ),
)


def judge(spec: PythonSpec, view: View) -> Judgement:
    """Call the function. If it raises, the check is not met, because an agent can leave evidence that makes it raise.

    The task is at fault if the function can't be imported, does not accept its arguments, exits, skips the test, raises
    an error of this package or returns no score.
    """
    expected = f"{spec} says yes"
    called = False
    try:
        function = _load(spec.function)
        _require_parameters(function, view.evidence, spec)
        called = True
        result = function(view.evidence, **spec.args)
    except (JudgeError, KeyboardInterrupt):  # from a judge of the user's own; Ctrl-C
        raise
    except BaseException as error:
        why = _where(error, spec)
        if called:
            return Judgement.raised(error, expected=expected, why=why)
        return Judgement.unknown(expected=expected, why=why)
    score, why = result if isinstance(result, tuple) and len(result) == 2 else (result, "")
    if isinstance(score, bool):
        score = float(score)
    valid = isinstance(score, int | float) and math.isfinite(score) and 0 <= score <= 1 and isinstance(why, str)
    if not valid:
        wanted = "True, False, a score from 0 to 1, or a pair of a score and a reason"
        return Judgement.unknown(expected=expected, why=f"expected {wanted}, {spec.function} returned {result!r}"[:300])
    return Judgement(score=float(score), expected=expected, actual=f"{score:g}", why=why)


def code_of(checks: Iterable[Check]) -> Iterator[str]:
    """Yields the functions that judging ``checks`` imports and calls, as ``module:name``."""
    for check in checks:
        if check.kind == PYTHON.name and isinstance(check.spec, PythonSpec):
            yield check.spec.function
        yield from code_of(check.children)


def _load(name: str) -> Callable[..., Any]:
    module, _, path = name.partition(":")
    found: Any = importlib.import_module(module)
    for part in path.split("."):
        found = getattr(found, part)
    if not callable(found):
        raise TypeError(f"{name} is no function")
    return found  # type: ignore[no-any-return]


def _require_parameters(function: Callable[..., Any], evidence: Evidence, spec: PythonSpec) -> None:
    """Raise `TypeError` unless the function accepts the evidence and the arguments of the check."""
    try:
        signature = inspect.signature(function)
    except ValueError:  # some functions in C have no signature
        return
    signature.bind(evidence, **spec.args)


def _where(error: BaseException, spec: PythonSpec) -> str:
    frames = traceback.extract_tb(error.__traceback__)
    module = spec.function.partition(":")[0].rpartition(".")[2]
    own = next((frame for frame in reversed(frames) if frame.filename.endswith(f"{module}.py")), None)
    line = f" in line {own.lineno}" if own else ""
    return clip(f"{spec.function} raised {type(error).__name__}{line}: {message_of(error)}", 200)


PYTHON: Kind[PythonSpec] = Kind(
    name="python",
    doc="Calls your own Python function with everything that was recorded.",
    form=FORM,
    judge=judge,
    phase=lambda spec: 1,
    reads_tabs=True,
    reads_requests=True,
    make_ready=lambda spec: _load(spec.function),
    examples=("- python: my_checks:few_steps",),
)
