"""Pictures of key nodes: a timeline for a trial; for a run a funnel, heat maps, and the paths between nodes.

They are HTML and SVG without scripts, external addresses or inline styles: classes name the elements, and
`key_nodes.css` of the viewer defines their appearance.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import Any

from pytest_webarena.results.key_node_scores import NodeScore, key_node_scores, parts_of
from pytest_webarena.results.page_paths import REFERENCES, page_maps
from pytest_webarena.results.path_drawing import Flow, Map, drawings
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.statistics import grouped

__all__ = ["run_section", "standalone", "timeline"]

_MOST_TASKS = 200
"""Maximum number of rows of an agent's heat map."""


def standalone(title: str, body: str) -> str:
    """Return a self-contained HTML page."""
    folder = files("pytest_webarena.results.viewer")
    style = "".join(folder.joinpath(name).read_text(encoding="utf-8") for name in ("viewer.css", "key_nodes.css"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<title>{escape(title)}</title><style>{style}</style></head><body><main>{body}</main></body></html>\n"
    )


# --- of a trial


def timeline(record: TrialRecord) -> str:
    """Return a trial's key nodes with the step at which each was reached and by what; empty for tasks without any."""
    parts = parts_of(record)
    if not parts:
        return ""
    rows = "".join(_row(number, part, max(record.steps, 1)) for number, part in enumerate(parts, start=1))
    title = f"Key nodes of {escape(record.key.task)}"
    return f'<section class="key-nodes"><h2>{title}</h2><ol class="timeline">{rows}</ol></section>'


def _row(number: int, part: Mapping[str, Any], steps: int) -> str:
    sign, kind = _mark(part)
    labels = [name for name in ("free", "forbidden") if part.get(name)]
    step, by = part.get("step"), str(part.get("by") or "")
    when = "" if step is None else "at the start" if step < 0 else f"step {step + 1}"
    caption = ", ".join(filter(None, (when, by))) or str(
        part.get("why") or ("no telling" if part.get("open") else "not reached")
    )
    dot = ""
    if step is not None:
        x = 4 + 192 * max(0.0, min(1.0, (step + 1) / steps))
        dot = f'<circle class="{kind}" cx="{x:.1f}" cy="6" r="4"/>'
    label = escape(when or "not reached")
    track = f'<svg viewBox="0 0 200 12" role="img" aria-label="{label}"><path d="M4 6H196"/>{dot}</svg>'
    return (
        f'<li><span class="sign {kind}">{sign}</span><span class="node"><b>{number}</b> {escape(str(part["what"]))}'
        + "".join(f' <small class="label">{label}</small>' for label in labels)
        + f"</span>{track}<small>{escape(caption)}</small></li>"
    )


def _mark(part: Mapping[str, Any]) -> tuple[str, str]:
    if part.get("open"):
        return "?", "error"
    reached = bool(part.get("by"))
    if part.get("forbidden"):
        return ("✗", "failed") if reached else ("✓", "passed")
    return ("✓", "passed") if reached else ("✗", "failed")


# --- of a run


def run_section(
    records: Sequence[TrialRecord],
    *,
    links: bool = False,
    pages: Callable[[TrialRecord], Sequence[str]] | None = None,
) -> str:
    """Return all pictures of a run; empty when none of its tasks has key nodes.

    Args:
        links: Whether cells link to trials' folders.
        pages: Returns the addresses that a trial visited, in order; without it the paths between pages are not drawn.
    """
    agents = {name: [each for each in found if parts_of(each)] for name, found in grouped(records).items()}
    agents = {name: found for name, found in agents.items() if found}
    if not agents:
        return ""
    body = [*_funnel(agents)]
    for name, found in agents.items():
        body += _heat(name, found, links=links)
    body += _flows(agents)
    if pages is not None:
        references = {
            name: found
            for name, found in grouped(records).items()
            if name not in agents and all(record.key.agent in REFERENCES for record in found)
        }
        body += drawings("Ways from page to page", page_maps({**agents, **references}, pages), list(agents))
    head = '<section class="key-nodes card" aria-labelledby="key-nodes-title"><h2 id="key-nodes-title">Key nodes</h2>'
    return f"{head}{''.join(body)}</section>"


def _with_results(records: Iterable[TrialRecord]) -> list[tuple[TrialRecord, list[Mapping[str, Any]]]]:
    """Trials with known results, each with the nodes that should be reached."""
    found = []
    for record in records:
        parts = [part for part in parts_of(record) if not part.get("forbidden")]
        if record.outcome != "error" and parts and not any(part.get("open") for part in parts):
            found.append((record, parts))
    return found


_LEVELS = (("one node", 0.0), ("a quarter", 0.25), ("half", 0.5), ("three quarters", 0.75), ("all nodes", 1.0))


def _funnel(agents: Mapping[str, Sequence[TrialRecord]]) -> Iterator[str]:
    """Numbers of trials that reached any node above the free ones, shares of them, all, and a pass."""
    yield '<h3>How far trials came</h3><div class="funnels">'
    for name, records in agents.items():
        decided = _with_results(records)
        shares = []
        for _, parts in decided:
            own = [part for part in parts if not part.get("free")] or parts
            shares.append(sum(bool(part.get("by")) for part in own) / len(own))
        rows = [("trials", len(decided))]
        rows += [(label, sum(share > 0 and share >= least for share in shares)) for label, least in _LEVELS]
        rows.append(("passed", sum(record.outcome == "passed" for record, _ in decided)))
        yield f'<figure class="funnel"><figcaption>{escape(name)}</figcaption>'
        for label, count in rows:
            share = count / len(decided) if decided else 0.0
            yield (
                f'<div><span>{label}</span><svg viewBox="0 0 200 14" preserveAspectRatio="none" aria-hidden="true">'
                f'<rect class="bar" x="{100 - 100 * share:.1f}" width="{200 * share:.1f}" height="14" rx="2"/></svg>'
                f"<b>{count}</b><small>{share:.0%}</small></div>"
            )
        yield "</figure>"
    yield (
        "</div><p class=legend>Shares of a task's nodes without those that are free. Undecided trials are excluded.</p>"
    )


def _heat(name: str, records: Sequence[TrialRecord], *, links: bool) -> Iterator[str]:
    scores = key_node_scores(records)
    if scores is None:
        return
    yield f'<div class="heats"><div><h3>{escape(name)}: tasks × nodes</h3>'
    yield from _tasks_by_nodes(records, scores.nodes, links=links)
    yield f"</div><div><h3>{escape(name)}: functions × annotated steps</h3>"
    yield from _functions_by_steps(scores.functions_by_place)
    yield "</div></div>"


def _tasks_by_nodes(records: Sequence[TrialRecord], nodes: Sequence[NodeScore], *, links: bool) -> Iterator[str]:
    tasks: dict[str, list[NodeScore]] = {}
    for node in nodes:
        tasks.setdefault(node.task, []).append(node)
    shown = dict(sorted(tasks.items(), key=lambda each: (_share_of(each[1]), each[0]))[:_MOST_TASKS])
    widest = max((node.number for each in shown.values() for node in each), default=0)
    yield _SCROLL.format("Tasks and their nodes")
    yield '<table class="heat"><thead><tr><th scope="col">task</th>'
    yield "".join(f'<th scope="col">{number}</th>' for number in range(1, widest + 1)) + "</tr></thead><tbody>"
    for task, found in shown.items():
        cells = {node.number: node for node in found}
        yield f'<tr><th scope="row">{escape(task)}</th>'
        for number in range(1, widest + 1):
            folder = _example(records, task, number) if links else ""
            yield _cell(cells.get(number), folder)
        yield "</tr>"
    yield "</tbody></table></div>"
    more = len(tasks) - len(shown)
    tail = f" {more} more tasks, that did better, are left out." if more else ""
    yield f"<p class=legend>{_SCALE} The worst first; f: free, ⊘: must not be reached.{tail}</p>"


_SCROLL = '<div class="scroll" tabindex="0" role="region" aria-label="{}">'
_SCALE = (
    'Reached: <span class="scale"><i class="h0"></i><i class="h3"></i><i class="h5"></i><i class="h8"></i>'
    '<i class="h10"></i></span> never to always.'
)


def _share_of(nodes: Sequence[NodeScore]) -> float:
    wanted = [node for node in nodes if not node.forbidden]
    trials = sum(node.trials for node in wanted)
    return sum(node.reached for node in wanted) / trials if trials else 1.0


def _example(records: Sequence[TrialRecord], task: str, number: int) -> str:
    """The folder of an example trial: the first that missed the node, else the first."""
    found = [record for record in records if record.key.task == task and len(parts_of(record)) >= number]
    missed = [record for record in found if not parts_of(record)[number - 1].get("by")]
    return (missed or found)[0].key.folder if found else ""


def _cell(node: NodeScore | None, folder: str = "") -> str:
    if node is None:
        return "<td></td>"
    share = node.share
    kind = "none" if share is None else f"h{round(10 * (1 - share if node.forbidden else share))}"
    sign = "⊘" if node.forbidden else "f" if node.free else ""
    text = f"{'–' if share is None else f'{share:.0%}'}{f'<sup>{sign}</sup>' if sign else ''}"
    tooltip = f"{node.name}: reached {node.reached} of {node.trials}"
    if node.by:
        tooltip += f", mostly by {next(iter(node.by))}"
    inner = f'<a href="#{escape(folder)}">{text}</a>' if folder else text
    return f'<td class="{kind}" title="{escape(tooltip)}">{inner}</td>'


def _functions_by_steps(nodes: Sequence[NodeScore]) -> Iterator[str]:
    widest = max((node.number for node in nodes), default=0)
    yield _SCROLL.format("Functions and annotated steps")
    yield '<table class="heat"><thead><tr><th scope="col">function</th>'
    yield "".join(f'<th scope="col">{number}</th>' for number in range(1, widest + 1)) + "</tr></thead><tbody>"
    for name in dict.fromkeys(node.function for node in nodes):
        cells = {node.number: node for node in nodes if node.function == name}
        row = "".join(_cell(cells.get(number)) for number in range(1, widest + 1))
        yield f'<tr><th scope="row">{escape(name)}</th>{row}</tr>'
    yield "</tbody></table></div>"


def _flows(agents: Mapping[str, Sequence[TrialRecord]]) -> Iterator[str]:
    """For each task its list of nodes as a line, with the agents' paths along it, past it and back."""
    tasks: dict[str, list[str]] = {}
    flows: dict[str, list[Flow]] = {}
    for name, records in agents.items():
        by_task: dict[str, list[list[Mapping[str, Any]]]] = {}
        for record, parts in _with_results(records):
            by_task.setdefault(record.key.task, []).append(parts)
        for task, trials in by_task.items():
            tasks.setdefault(task, [str(part["what"]) for part in trials[-1]])
            flows.setdefault(task, []).append(_flow(name, trials))
    maps = {
        task: Map(stops=tuple(tasks[task]), spine=len(tasks[task]), flows=tuple(found), lost="missed a node")
        for task, found in flows.items()
    }
    yield from drawings("Ways from node to node", maps, list(agents))


def _flow(agent: str, trials: Sequence[Sequence[Mapping[str, Any]]]) -> Flow:
    moves: Counter[tuple[int, int]] = Counter()
    ends: Counter[int] = Counter()
    for parts in trials:
        reached = [(part["step"], number) for number, part in enumerate(parts, start=1) if part.get("by")]
        path = [
            0,
            *(number for _, number in sorted(reached, key=lambda each: (each[0] is None, each[0] or 0, each[1]))),
        ]
        moves.update(pairwise(path))
        if len(reached) < len(parts):
            ends[path[-1]] += 1
    return Flow(agent=agent, moves=moves, ends=ends, trials=len(trials))
