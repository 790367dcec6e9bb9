"""The form of a ``verified`` check: the evaluators of one WebArena-Verified task, as in its data set."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_webarena.answers import STATUSES, TASK_TYPES, UNACHIEVABLE
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import near
from pytest_webarena.tasks.record_shapes import Convert, Field, ListOf, Record
from pytest_webarena.tasks.shapes import Choice, Fault, Int, Json

__all__ = ["ANSWER", "FORM", "NETWORK", "SITES", "VerifiedSpec", "eval_fault"]

SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "map", "wikipedia", "homepage")
"""Sites of the package; they have the same names here."""

ANSWER, NETWORK = "AgentResponseEvaluator", "NetworkEventEvaluator"

_KEYS = {
    ANSWER: ("evaluator", "expected", "ordered", "results_schema"),
    NETWORK: (
        "evaluator",
        "expected",
        "last_event_only",
        "ignored_query_params",
        "ignored_query_params_patterns",
        "decode_base64_query",
        "query_params_schema",
        "post_data_schema",
        "ignored_post_data_params_patterns",
        "should_not_exist",
    ),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifiedSpec:
    """Input of the package's evaluators."""

    sites: tuple[str, ...]
    """The task's sites, in its order; their addresses replace the placeholders."""
    eval: tuple[Mapping[str, Any], ...]
    """Evaluators and what they expect, as in the data set."""
    task_id: int = 0
    """The task's number in the data set, for messages only."""

    @property
    def answer(self) -> Mapping[str, Any]:
        """The expected response of the first answer evaluator, which decides the task type."""
        expected: Mapping[str, Any] = next(each for each in self.eval if each["evaluator"] == ANSWER)["expected"]
        return expected

    @property
    def network(self) -> tuple[Mapping[str, Any], ...]:
        """The evaluators of requests."""
        return tuple(each for each in self.eval if each["evaluator"] == NETWORK)

    @property
    def task_type(self) -> str:
        return str(self.answer.get("task_type", self.answer.get("performed_operation", ""))).upper()

    @property
    def status(self) -> str:
        return str(self.answer.get("status", "")).upper()

    @property
    def unachievable(self) -> bool:
        """Whether the expected answer is that the task can't be done."""
        return self.status in UNACHIEVABLE

    def __str__(self) -> str:
        data = self.answer.get("retrieved_data")
        parts = [f"{self.task_type} {self.status}" + (f" {data!r}" if data is not None else "")]
        for each in self.network:
            wanted = each["expected"]
            no = "no " if each.get("should_not_exist") else ""
            parts.append(f"{no}{wanted.get('http_method', 'GET')} {wanted['url']}")
        return "; ".join(parts)


def eval_fault(value: Any) -> Fault | None:
    """Returns what is wrong with the list of evaluators, without calling the package; None when it looks valid."""
    if not isinstance(value, list) or not value:
        return Fault("a list of evaluators, at least one", _shown(value))
    for index, each in enumerate(value):
        if fault := _fault(each):
            where = f"eval[{index}]: "
            return Fault(where + fault.expected, fault.found, fault.hint)
    if all(each["evaluator"] != ANSWER for each in value):
        return Fault(f"an {ANSWER} in 'eval'", "none")
    return None


def _fault(each: Any) -> Fault | None:
    if not isinstance(each, dict):
        return Fault("an evaluator (a mapping)", _shown(each))
    name = each.get("evaluator")
    if name not in _KEYS:
        return Fault("the name of an evaluator", _shown(name), near(str(name), _KEYS))
    keys = _KEYS[name]
    if unknown := next((key for key in each if key not in keys), None):
        return Fault(f"a key of {name}", repr(unknown), near(unknown, keys))
    expected = each.get("expected")
    if not isinstance(expected, dict):
        return Fault(f"a mapping under 'expected' of {name}", _shown(expected))
    if name == NETWORK:
        url = expected.get("url")
        urls = url if isinstance(url, list) else [url]
        if not urls or not all(isinstance(item, str) and item for item in urls):
            return Fault("an address, or a list of them, under 'url'", _shown(url))
        return None
    if not isinstance(each.get("results_schema"), dict):
        return Fault(f"a mapping under 'results_schema' of {name}", _shown(each.get("results_schema")))
    kind = expected.get("task_type", expected.get("performed_operation"))
    for key, found, words in (("task_type", kind, TASK_TYPES), ("status", expected.get("status"), STATUSES)):
        if not isinstance(found, str) or found.upper() not in words:
            return Fault(f"'{key}' to be one of {', '.join(words)}", _shown(found))
    return None


def _shown(value: Any) -> str:
    if value is None:
        return "nothing"
    return f"a {'list' if isinstance(value, list) else 'mapping'}" if isinstance(value, list | dict) else repr(value)


def _evaluators(value: Any, reading: Reading) -> tuple[Mapping[str, Any], ...] | Fault:
    return eval_fault(value) or tuple(value)


_EXAMPLE = """\
- verified:
    {first}
    eval:
      - evaluator: AgentResponseEvaluator
        results_schema: {{type: array, items: {{type: string}}}}
        expected: {{task_type: retrieve, status: SUCCESS, retrieved_data: [Coffee Grinder]}}"""

FORM: Record[VerifiedSpec] = Record(
    "verified check",
    VerifiedSpec,
    [
        Field(
            key="sites",
            shape=ListOf(Choice(*SITES), low=1),
            doc="The sites for whose addresses the placeholders (`__SHOPPING__` …) stand.",
            example=_EXAMPLE.format(first="sites: [shopping, wikipedia]"),
        ),
        Field(
            key="eval",
            shape=Convert(Json("a list of evaluators"), _evaluators),
            doc=(
                "The evaluators and what they expect, as under `eval` in WebArena-Verified's data set: one "
                "`AgentResponseEvaluator`, and any number of `NetworkEventEvaluator`."
            ),
            example=(
                "- verified:\n"
                "    sites: [shopping]\n"
                "    eval:\n"
                "      - evaluator: AgentResponseEvaluator\n"
                '        results_schema: {type: "null"}\n'
                "        expected: {task_type: mutate, status: SUCCESS, retrieved_data: null}\n"
                "      - evaluator: NetworkEventEvaluator\n"
                "        expected: {url: __SHOPPING__/cart/add/, http_method: POST, response_status: 302}"
            ),
        ),
        Field(
            key="task_id",
            shape=Int("a task's number", low=0),
            default=0,
            doc="The task's number in the data set, for messages.",
            example=_EXAMPLE.format(first="task_id: 21\n    sites: [shopping]"),
        ),
    ],
    doc="The evaluators of one task of WebArena-Verified.",
)
