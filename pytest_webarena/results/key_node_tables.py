"""Tables of key nodes: the paper's scores, by website, complexity and function, and how it went with each node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pytest_webarena.results.key_node_scores import KeyNodeScores, NodeScore
from pytest_webarena.results.published import published_key_nodes
from pytest_webarena.text import clip

__all__ = ["Scored", "key_node_tables"]

_MOST_NODES = 40

Cells = tuple[str, ...]
_Table = tuple[str, Cells, tuple[Cells, ...], Cells]
"""Title, columns, rows, notes."""


class Scored(NamedTuple):
    """Whose scores they are."""

    name: str
    scores: KeyNodeScores


def key_node_tables(found: Sequence[Scored], suite: str = "") -> Iterator[_Table]:
    """The tables of all agents whose tasks have key nodes; none without any. ``suite``: what all tasks are of."""
    if not found:
        return
    yield _completion(found)
    yield from _published(suite)
    yield _effort(found)
    for each in found:
        yield from _groups(each)
        yield from _nodes(each)


def _completion(found: Sequence[Scored]) -> _Table:
    cells = tuple(
        (
            name,
            *map(_percent, (scores.completion, scores.completion_macro, scores.above_free, scores.free)),
            *map(_percent, (scores.success, scores.near, scores.success_but_one, scores.human_alignment)),
            str(scores.trials),
            str(scores.open),
        )
        for name, scores in found
    )
    notes = (
        "CR: nodes reached of all nodes (by weight), macro: mean over trials; above: of the nodes that are not free; "
        "free: those that the first page of a site or the page of the start reaches; SR(0), near, SR(1): trials that "
        "missed none, just one, one at most; HAS: human alignment score; open: trials of which there is no telling, "
        "beside all figures.",
    )
    columns = ("agent", "CR", "macro", "above", "free", "SR(0)", "near", "SR(1)", "HAS", "trials", "open")
    return "Key nodes", columns, cells, notes


def _published(suite: str) -> Iterator[_Table]:
    known = published_key_nodes(suite)
    if known:
        cells = tuple((each.name, f"{each.completion:g}%", f"{each.success:g}%") for each in known)
        notes = dict.fromkeys(f"{each.source}: {each.note}." if each.note else f"{each.source}." for each in known)
        yield f"Published key nodes of {suite}", ("agent", "CR", "SR(0)"), cells, tuple(notes)


def _effort(found: Sequence[Scored]) -> _Table:
    cells = tuple(
        (
            name,
            _number(scores.efficiency),
            str(scores.efficiency_left_out),
            _number(scores.efficiency_total),
            _number(scores.efficiency_upstream),
            "–" if scores.usd is None else f"${scores.usd:.4f}",
            _number(scores.length, 3),
            str(scores.length_trials),
        )
        for name, scores in found
    )
    notes = (
        "steps/node: the paper's efficiency score, the mean of steps over nodes reached, lower is better; left out: "
        "trials that reached none and so have none; total: all steps over all nodes reached; upstream: as its program "
        "has it, where those that reached none count as 0; length: 1 for trials of less than 1.2 times the "
        "reference's steps, of so many trials whose reference is known.",
    )
    columns = ("agent", "steps/node", "left out", "total", "upstream", "USD/node", "length", "of")
    return "Key nodes: effort", columns, cells, notes


def _groups(found: Scored) -> Iterator[_Table]:
    groups = [
        *((f"site: {name}", scores) for name, scores in found.scores.by_site.items()),
        *((f"reference: {name}", scores) for name, scores in found.scores.by_complexity.items()),
    ]
    cells = tuple(
        (
            name,
            *map(_percent, (each.completion, each.above_free, each.success, each.success_but_one)),
            str(each.trials),
            str(each.open),
        )
        for name, each in groups
    )
    columns = ("tasks", "CR", "above", "SR(0)", "SR(1)", "trials", "open")
    yield f"{found.name}: key nodes by website and length of the reference", columns, cells, ()
    yield (
        f"{found.name}: key nodes by function",
        ("function", "reached", "times", "of", "median step"),
        tuple(
            (each.name, _percent(each.share), str(each.reached), str(each.trials), _number(each.step))
            for each in found.scores.functions
        ),
        (),
    )


def _nodes(found: Scored) -> Iterator[_Table]:
    nodes = found.scores.nodes
    rows = tuple(
        (
            f"{each.task} {each.number}. {clip(each.name, 60)}{_kind(each)}",
            f"{each.reached}/{each.trials}",
            "start" if each.step == -1 else _number(each.step),
            clip(next(iter(each.by), ""), 30),
        )
        for each in nodes[:_MOST_NODES]
    )
    more = len(nodes) - len(rows)
    notes = (f"{more} more are in --format=json.",) if more > 0 else ()
    yield f"{found.name}: each key node", ("node", "reached", "median step", "mostly by"), rows, notes


def _kind(node: NodeScore) -> str:
    return " (forbidden)" if node.forbidden else " (free)" if node.free else ""


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def _number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
