"""Notes of audits on key nodes, and on replays that ended early."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from pytest_webarena.agents.audit_trials import MUTANTS, AuditTrial
from pytest_webarena.checks.key_nodes.model import KeyNodes
from pytest_webarena.checks.key_nodes.mutants import doubts
from pytest_webarena.checks.verdict import Part
from pytest_webarena.evidence import Evidence
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.verdict_atoms import atoms
from pytest_webarena.tasks.model import Task

__all__ = ["broke_off", "key_node_notes"]

_Evidence = Callable[[TrialRecord], Evidence | None]
_Found = Sequence[tuple[AuditTrial, "TrialRecord | None"]]


def broke_off(trial: AuditTrial, record: TrialRecord) -> bool:
    """Return whether a replayed solution reached a step without effect, so that its failure proves less."""
    return trial.agent in MUTANTS and record.outcome == "failed" and 2 <= record.steps < len(trial.task.solution or ())


def key_node_notes(task: Task, found: _Found, evidence: _Evidence) -> Iterator[str]:
    """Yield notes on key nodes that are free, or that the solution reaches without the step they belong to."""
    passed = (record for trial, record in found if trial.must_pass and record is not None)
    record = next((record for record in passed if record.outcome == "passed"), None)
    specs = [check.spec for check in task.checks if isinstance(check.spec, KeyNodes)]
    if record is None or not specs:
        return
    for atom in atoms(record):
        yield from (f"key node '{part.what}' is free: a first page reaches it" for part in atom.parts if part.free)
    yield from _left_out(record, found)
    recorded = evidence(record)
    if recorded is not None:
        for spec in specs:
            yield from doubts(spec, recorded)


def _left_out(whole: TrialRecord, found: _Found) -> Iterator[str]:
    """Notes on the solution without a step: it should miss the key nodes of that step, and no others."""
    reached = _nodes(whole)
    for trial, record in found:
        if record is None or trial.without is None or not (kept := _nodes(record)):
            continue
        step = f"step {trial.without} of the solution"
        for place, part in reached.items():
            if place not in kept or not part.by or part.free or part.function.startswith("url"):
                continue
            if part.step == trial.without and kept[place].by:
                yield f"key node '{part.what}' was reached without {step}, too"
            elif part.step != trial.without and not (kept[place].by or kept[place].open or broke_off(trial, record)):
                yield f"without {step} key node '{part.what}' was lost, too"


def _nodes(record: TrialRecord) -> dict[tuple[str, int], Part]:
    """The key nodes to reach, by check and position in its list."""
    nodes = [atom for atom in atoms(record) if atom.kind == "key_nodes"]
    return {(atom.path, number): part for atom in nodes for number, part in enumerate(atom.parts) if not part.forbidden}
