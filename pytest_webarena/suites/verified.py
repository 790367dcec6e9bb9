"""Reads rows of WebArena-Verified's JSON format."""

from __future__ import annotations

from typing import Any

from pytest_webarena.suites.fields import Fields, plain_template
from pytest_webarena.suites.forms import Form
from pytest_webarena.suites.rows import said

__all__ = ["EVALUATORS", "read_row"]

EVALUATORS = {"AgentResponseEvaluator": "agent_response", "NetworkEventEvaluator": "network_event"}
"""Evaluator names in ``eval[].evaluator``, with the word for selecting tasks by them."""

_CATEGORIES = {"retrieve": "information", "navigate": "navigation", "mutate": "content"}


def read_row(fields: Fields) -> Form | None:
    """Returns the task of a row, without id, suite and template; None, with problems noted, when it is faulty."""
    number = fields.number("task_id")
    intent = fields.text("intent")
    sites = fields.sites()
    addresses = fields.texts("start_urls", low=1)
    starts = fields.starts(("start_urls",), addresses, sites) if addresses and sites else None
    evaluators = _evaluators(fields)
    template = fields.text("intent_template", optional=True)
    template_id = fields.number("intent_template_id", optional=True)
    revision = fields.number("revision", optional=True)
    fields.object("instantiation_dict", optional=True)
    if not fields.sound or starts is None or evaluators is None:
        return None
    facts = {"template_id": template_id, "template": plain_template(template), "revision": revision}
    source: dict[str, Any] = {name: value for name, value in facts.items() if value is not None}
    source["evaluation"] = list(dict.fromkeys(EVALUATORS[each["evaluator"]] for each in evaluators))
    return {
        "task_id": number,
        "intent": intent,
        "sites": sites,
        "start": starts if len(starts) > 1 else starts[0],
        "checks": [{"verified": {"sites": sites, "task_id": number, "eval": evaluators}}],
        "category": _category(evaluators[0]["expected"]),
        "source": source,
    }


def _evaluators(fields: Fields) -> list[Form] | None:
    evaluators = fields.objects("eval")
    if evaluators is None:
        return None
    for index, evaluator in enumerate(evaluators):
        name = fields.text("eval", index, "evaluator")
        if name is not None and name not in EVALUATORS:
            fields.fault(("eval", index, "evaluator"), f"one of {', '.join(EVALUATORS)}", said(name))
        if "expected" in evaluator or name == "AgentResponseEvaluator":
            fields.object("eval", index, "expected")
    first = evaluators[0]
    if fields.sound and first["evaluator"] != "AgentResponseEvaluator":
        fields.fault(("eval", 0, "evaluator"), "AgentResponseEvaluator first", said(first["evaluator"]))
    if fields.sound:
        kind = fields.text("eval", 0, "expected", "task_type")
        if kind is not None and kind.lower() not in _CATEGORIES:
            fields.fault(("eval", 0, "expected", "task_type"), f"one of {', '.join(_CATEGORIES)}", said(kind))
        fields.text("eval", 0, "expected", "status")
    return evaluators if fields.sound else None


def _category(expected: dict[str, Any]) -> str:
    if str(expected["status"]).upper() != "SUCCESS":
        return "unachievable"
    return _CATEGORIES[expected["task_type"].lower()]
