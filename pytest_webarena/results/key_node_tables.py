"""Tables of key nodes: the paper's scores, by website, complexity and function, and the results of each node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from pytest_webarena.results.environments import Setting
from pytest_webarena.results.key_node_scores import KeyNodeScores, NodeScore
from pytest_webarena.results.published import published_key_nodes
from pytest_webarena.text import clip

__all__ = ["Scored", "key_node_tables"]

_MOST_NODES = 40
_LIVE = ("guard", "robots.txt")
"""Columns of tables with trials on live sites."""
_GUARD = "refused writes to live sites that the task does not name; the paper's agents had none"

Cells = tuple[str, ...]
_Table = tuple[str, Cells, tuple[Cells, ...], Cells]
"""Title, columns, rows, notes."""


class Scored(NamedTuple):
    """An agent's name and scores."""

    name: str
    scores: KeyNodeScores


def key_node_tables(found: Sequence[Scored], suite: str = "") -> Iterator[_Table]:
    """Yield the tables of all agents whose tasks have key nodes. ``suite`` is the common suite of all tasks."""
    if not found:
        return
    yield _completion(found)
    yield from _published(suite, is_live=_is_live(found))
    yield _effort(found)
    yield from _settings(found)
    for each in found:
        yield from _groups(each)
        yield from _places(each)
        yield from _nodes(each)


def _completion(found: Sequence[Scored]) -> _Table:
    is_live = _is_live(found)
    cells = tuple(
        (
            name,
            *(_guarding(scores) if is_live else ()),
            *map(_percent, (scores.completion, scores.completion_macro, scores.above_free, scores.free)),
            *map(_percent, (scores.success, scores.near, scores.success_but_one, scores.human_alignment)),
            str(scores.trials),
            str(scores.open),
        )
        for name, scores in found
    )
    notes = (
        "CR: nodes reached of all nodes (weights share out those of one task), macro: mean over trials; above: of the "
        "nodes that are not free; free: those that the first page of a site or the page of the start reaches; SR(0), "
        "near, SR(1): trials that missed none, just one, one at most; HAS: human alignment score; open: trials of "
        "which nothing is known, excluded from all figures.",
        *([f"guard: it {_GUARD}."] if is_live else []),
    )
    columns = (
        "agent",
        *(_LIVE if is_live else ()),
        "CR",
        "macro",
        "above",
        "free",
        "SR(0)",
        "near",
        "SR(1)",
        "HAS",
        "trials",
        "open",
    )
    return "Key nodes", columns, cells, notes


def _is_live(found: Sequence[Scored]) -> bool:
    return any(each.setting.guard for _, scores in found for each in scores.by_setting)


def _guarding(scores: KeyNodeScores) -> Cells:
    """Return the guards of live sites of an agent's trials, and how robots.txt was treated."""
    settings = [each.setting for each in scores.by_setting]
    return tuple(
        " + ".join(sorted({getattr(each, name) or "none" for each in settings})) for name in ("guard", "robots")
    )


def _published(suite: str, *, is_live: bool) -> Iterator[_Table]:
    """Yield the published scores; next to guarded runs they say that the papers had no guard."""
    known = published_key_nodes(suite)
    if known:
        cells = tuple(
            (
                each.name,
                *(("none", "not stated") if is_live else ()),
                str(each.tasks),
                "–" if each.completion is None else f"{each.completion:g}%",
                f"{each.success:g}%",
                f"[{number}]",
            )
            for number, each in enumerate(known, start=1)
        )
        notes = tuple(
            f"[{number}] {each.cited}: {each.note}." if each.note else f"[{number}] {each.cited}."
            for number, each in enumerate(known, start=1)
        )
        columns = ("agent", *(_LIVE if is_live else ()), "tasks", "CR", "SR(0)", "source")
        yield f"Published key nodes of {suite}", columns, cells, notes


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
        "reference's steps, among the trials with a known reference (of).",
    )
    columns = ("agent", "steps/node", "left out", "total", "upstream", "USD/node", "length", "of")
    return "Key nodes: effort", columns, cells, notes


def _groups(found: Scored) -> Iterator[_Table]:
    groups = [
        *((f"site: {name}", scores) for name, scores in found.scores.by_site.items()),
        *((f"domain: {name}", scores) for name, scores in found.scores.by_domain.items()),
        *((f"reference: {name}", scores) for name, scores in found.scores.by_complexity.items()),
        *((f"model: {name}", scores) for name, scores in found.scores.by_models.items()),
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
    also = [("domain", found.scores.by_domain), ("model", found.scores.by_models)]
    names = ", ".join(["website", *(name for name, groups in also if groups)])
    yield f"{found.name}: key nodes by {names} and length of the reference", columns, cells, ()
    yield (
        f"{found.name}: key nodes by function",
        ("function", "reached", "times", "of", "median step"),
        tuple(
            (each.name, _percent(each.share), str(each.reached), str(each.trials), _when(each.step))
            for each in found.scores.functions
        ),
        (),
    )


def _settings(found: Sequence[Scored]) -> Iterator[_Table]:
    """Scores by environment for all agents: differing properties are columns, common ones a note."""
    rows = [(name, each.setting, each.scores) for name, scores in found for each in scores.by_setting]
    fields = Setting._fields
    differing = [field for field in fields if len({getattr(setting, field) for _, setting, _ in rows}) > 1]
    if not differing and not any(setting.system for _, setting, _ in rows):
        return  # trials without a browser, or from versions that did not record the environment
    same = [(field, getattr(rows[0][1], field)) for field in fields if field not in differing]
    cells = tuple(
        (
            name,
            *(getattr(setting, field) or "–" for field in differing),
            *map(_percent, (each.completion, each.above_free, each.success)),
            str(each.trials),
            str(each.open),
        )
        for name, setting, each in rows
    )
    common = ", ".join(f"{field} {value}" for field, value in same if value)
    notes = (f"Equal in all: {common}.",) if common else ()
    yield "Key nodes by environment", ("agent", *differing, "CR", "above", "SR(0)", "trials", "open"), cells, notes


_MOST_PLACES = 8


def _places(found: Scored) -> Iterator[_Table]:
    """Functions by annotated steps: a function's nodes that are first in their task's list, second, and so on."""
    nodes = found.scores.functions_by_place
    if not nodes:
        return
    highest = max(each.number for each in nodes)
    columns = [str(number) for number in range(1, min(highest, _MOST_PLACES) + 1)]
    if highest > _MOST_PLACES:
        columns[-1] = f"{_MOST_PLACES}+"
    cells = []
    for name in dict.fromkeys(each.function for each in nodes):
        of = [[0, 0] for _ in columns]
        for each in nodes:
            if each.function == name:
                place = of[min(each.number, len(columns)) - 1]
                place[0] += each.reached
                place[1] += each.trials
        cells.append((name, *(f"{reached}/{trials}" if trials else "–" for reached, trials in of)))
    note = "Reached of tried, by the node's place in the list of its task, which is the order of the annotated steps."
    yield f"{found.name}: key nodes by function and annotated step", ("function", *columns), tuple(cells), (note,)


def _nodes(found: Scored) -> Iterator[_Table]:
    nodes = found.scores.nodes
    rows = tuple(
        (
            f"{each.task} {each.number}. {clip(each.name, 60)}{_kind(each)}",
            f"{each.reached}/{each.trials}",
            _when(each.step),
            clip(next(iter(each.by), ""), 30),
        )
        for each in nodes[:_MOST_NODES]
    )
    more = len(nodes) - len(rows)
    notes = (f"{more} more are in --format=json.",) if more > 0 else ()
    yield f"{found.name}: each key node", ("node", "reached", "median step", "mostly by"), rows, notes


def _kind(node: NodeScore) -> str:
    return " (forbidden)" if node.forbidden else " (free)" if node.free else ""


def _when(step: float | None) -> str:
    """The number of a step, counted from 1."""
    return "start" if step == -1 else _number(None if step is None else step + 1)


def _percent(value: float | None) -> str:
    return "–" if value is None else f"{100 * value:.1f}%"


def _number(value: float | None, digits: int = 1) -> str:
    return "–" if value is None else f"{value:.{digits}f}"
