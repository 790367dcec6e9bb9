"""Drawings of paths: stops on a line, the reference's first, and the numbers of trials that moved between them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from pytest_webarena.text import clip

__all__ = ["Flow", "Map", "drawings"]

_MOST = 30
"""Maximum number of tasks whose paths are drawn."""
_GAP = 92
_STUB = 18
"""Maximum distance in pixels between two ends at the same stop."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """The paths of one agent in one task."""

    agent: str
    moves: Mapping[tuple[int, int], int]
    """Number of moves between two stops, by their numbers; 0 is the start."""
    ends: Mapping[int, int]
    """Last stops of unsuccessful trials, with their numbers."""
    trials: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Map:
    """A task's stops, and the paths along them."""

    stops: tuple[str, ...]
    """Names of the stops, numbered from 1."""
    spine: int
    """Number of the reference's stops, which come first and in its order."""
    flows: tuple[Flow, ...]
    lost: str
    """Description of unsuccessful trials."""

    @property
    def strayed(self) -> float:
        """Share of moves that are not the reference's, and of unsuccessful trials."""
        moves = sum(sum(flow.moves.values()) for flow in self.flows)
        other = sum(
            count
            for flow in self.flows
            for (one, two), count in flow.moves.items()
            if two != one + 1 or two > self.spine
        )
        lost = sum(sum(flow.ends.values()) for flow in self.flows)
        return (other + lost) / max(1, moves + lost)


def drawings(title: str, maps: Mapping[str, Map], agents: Sequence[str]) -> Iterator[str]:
    """Yield a drawing for each task, the largest deviations first. ``agents`` are in the order of their colours."""
    if not maps:
        return
    yield f"<h3>{escape(title)}</h3>"
    kinds = {name: f"way-{number % 4} turn-{min(2, number // 4)}" for number, name in enumerate(agents)}
    keys = "".join(f'<span><i class="{kind}"></i>{escape(name)}</span>' for name, kind in kinds.items())
    yield f'<p class="legend ways"><span><i class="reference"></i>the reference</span>{keys}</p>'
    strayed = sorted(maps, key=lambda task: (-maps[task].strayed, task))
    for number, task in enumerate(strayed[:_MOST]):
        opened = " open" if number == 0 else ""
        yield f"<details{opened}><summary>{escape(task)}</summary>{_drawing(maps[task], kinds)}</details>"
    if len(strayed) > _MOST:
        yield f"<p class=legend>{len(strayed) - _MOST} more tasks are left out; these strayed most.</p>"


def _drawing(drawn: Map, kinds: Mapping[str, str]) -> str:
    """A drawing: arcs above the line go forwards, arcs below it backwards; stubs mark where trials ended."""
    most = max((flow.trials for flow in drawn.flows), default=1)
    count_of_stops = len(drawn.stops)
    width, middle = _GAP * (count_of_stops + 1) + 16, 84

    def x(number: int) -> float:
        return 40 + _GAP * number

    shapes = [f'<path class="reference" d="M{x(0)} {middle}H{x(drawn.spine)}"/>'] if drawn.spine else []
    for row, flow in enumerate(drawn.flows):
        kind, shift = kinds[flow.agent], 3 * row
        for (one, two), count in sorted(flow.moves.items()):
            thick = 1.5 + 6 * count / most
            height = (10 if two == one + 1 else 16 + 10 * min(4, abs(two - one))) + shift
            side = middle - height * 1.6 if two > one else middle + height * 1.6
            caption = f"{flow.agent}: {count} of {flow.trials} from {one or 'the start'} to {two}"
            shapes.append(
                f'<path class="{kind}" stroke-width="{thick:.1f}" d="M{x(one)} {middle}Q{(x(one) + x(two)) / 2} '
                f'{side:.0f} {x(two)} {middle}"><title>{escape(caption)}</title></path>'
            )
        for at, count in sorted(flow.ends.items()):
            thick = 1.5 + 6 * count / most
            agents_here = [other.agent for other in drawn.flows if at in other.ends]
            distance = min(_STUB, (_GAP - _STUB) / len(agents_here))
            place = x(at) + distance * (agents_here.index(flow.agent) - (len(agents_here) - 1) / 2)
            caption = f"{flow.agent}: {count} of {flow.trials} reached nothing after {at or 'the start'}"
            shapes.append(
                f'<path class="{kind} end" stroke-width="{thick:.1f}" d="M{place:.0f} {middle + 12}v26">'
                f"<title>{escape(caption)}</title></path>"
                f'<text class="count" x="{place:.0f}" y="{middle + 52}">{count}</text>'
            )
    for number in range(count_of_stops + 1):
        kind = "stop" if number <= drawn.spine else "stop aside"
        shapes.append(
            f'<circle class="{kind}" cx="{x(number)}" cy="{middle}" r="11"/>'
            f'<text x="{x(number)}" y="{middle + 4}">{number or "▸"}</text>'
        )
    height = middle + 62
    listed = "".join(
        f"<li{'' if number < drawn.spine else ' class=aside'}>{escape(clip(name, 120))}</li>"
        for number, name in enumerate(drawn.stops)
    )
    caption = "; ".join(
        f"{flow.agent}: {sum(flow.ends.values())} of {flow.trials} trials {drawn.lost}" for flow in drawn.flows
    )
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="Ways"><svg class="flow" '
        f'viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" role="img" aria-label="{escape(caption)}">{"".join(shapes)}</svg></div>'
        f"<ol>{listed}</ol><p class=legend>{escape(caption)}.</p>"
    )
