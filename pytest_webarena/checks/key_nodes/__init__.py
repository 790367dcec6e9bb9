"""The kind ``key_nodes``: states and actions that every correct way to the goal passes, each worth a share of the
score."""

from __future__ import annotations

from collections.abc import Collection

from pytest_webarena.checks.grading import WEBCANVAS
from pytest_webarena.checks.key_nodes.form import FORM
from pytest_webarena.checks.key_nodes.judging import judge
from pytest_webarena.checks.key_nodes.model import KeyNodes, TextTarget
from pytest_webarena.checks.kind import EvidenceSource, Judgement, Kind, View

__all__ = ["KEY_NODES"]


def _judge(spec: KeyNodes, view: View) -> Judgement:
    if view.grading.name not in WEBCANVAS:
        return judge(spec, view)
    from pytest_webarena.checks.webcanvas.judging import judge_as  # loads libraries that only it needs

    return judge_as(view.grading.name, spec, view)


def _looks_at(spec: KeyNodes) -> Collection[EvidenceSource]:
    said = [isinstance(node.target, TextTarget) for node in spec.nodes]
    return {*({"answer"} if any(said) else ()), *({"place"} if not all(said) else ())}


def _by_rule(spec: KeyNodes) -> bool:
    matches = (getattr(node.target, "match", None) for node in spec.nodes)
    return any(match is not None and match.how == "semantic" for match in matches)


def _make_ready_for(grading: str) -> None:
    if grading in WEBCANVAS:
        from pytest_webarena.checks.webcanvas.elements import make_ready

        make_ready()


KEY_NODES: Kind[KeyNodes] = Kind(
    name="key_nodes",
    doc=(
        "Scores how many key nodes the session reached: addresses, actions on elements, values and texts "
        "that every correct solution passes. The score is the share of nodes reached, by weight. See [key "
        "nodes](key-nodes.md)."
    ),
    form=FORM,
    judge=_judge,
    graded=True,
    reads_signals=True,
    category=lambda spec: "",
    looks_at=_looks_at,
    make_ready_for=_make_ready_for,
    needs_judge=_by_rule,
    examples=(
        "- key_nodes:\n    - url: {param: q, exact: kettle}\n      name: searched\n"
        "    - element: {locate: '#buy', event: click}\n    - value: {locate: '#qty', exact: 2}\n      weight: 2",
    ),
)
