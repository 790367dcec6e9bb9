"""Judges key nodes by WebCanvas' rules: as in its paper, or as in its code."""

from __future__ import annotations

from dataclasses import replace

from pytest_webarena.checks.key_nodes.judging import judge
from pytest_webarena.checks.key_nodes.model import KeyNodes
from pytest_webarena.checks.kind import Judgement, View
from pytest_webarena.checks.webcanvas.code import judge_by_code
from pytest_webarena.checks.webcanvas.counterparts import NoCounterpart, counterpart
from pytest_webarena.checks.webcanvas.paper import PaperMatcher

__all__ = ["judge_as"]


def judge_as(grading: str, spec: KeyNodes, view: View) -> Judgement:
    """Returns the judgement by ``webcanvas-paper`` or ``webcanvas-code``; undecided for nodes that WebCanvas does
    not have."""
    for number, node in enumerate(spec.nodes, 1):
        try:
            counterpart(node)
        except NoCounterpart as fault:
            why = f"key node {number} has no counterpart there: {fault}"
            return Judgement.unknown(expected=str(spec), why=why, cause="task")
    if spec.order != "any":
        why = f"WebCanvas knows no order of key nodes, and this one is {spec.order}"
        return Judgement.unknown(expected=str(spec), why=why, cause="task")
    if grading == "webcanvas-code":
        return judge_by_code(spec, view)
    even = KeyNodes(nodes=tuple(replace(node, weight=1.0) for node in spec.nodes))
    return judge(even, view, PaperMatcher)
