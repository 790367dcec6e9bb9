"""Ways from one node to another: the quickest one for a car, a bicycle or somebody on foot."""

from __future__ import annotations

import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

__all__ = ["ENGINES", "Network", "Route", "Step", "distance_text", "duration_text"]

ENGINES: Mapping[str, Mapping[str, float]] = MappingProxyType({
    "car": {"road": 72, "street": 30, "lane": 45, "ferry": 0},
    "bike": {"road": 18, "street": 15, "lane": 17, "path": 11, "ferry": 0},
    "foot": {"road": 4.8, "street": 4.8, "lane": 4.8, "path": 4.5, "ferry": 0},
})  # fmt: skip
"""Kilometres an hour on each kind of way; what is not named is closed. The ferry has a time of its own."""
_FERRY_SECONDS = 35 * 60.0
_TURNS = ((22, "Go straight on"), (65, "Bear {side}"), (135, "Turn {side}"), (181, "Turn sharp {side}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One instruction; ``metres`` to go until the next one."""

    text: str
    metres: int
    seconds: float
    node: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """The quickest way."""

    nodes: tuple[int, ...]
    metres: int
    seconds: float
    steps: tuple[Step, ...]


class Network:
    """The ways between nodes. ``positions``: latitude and longitude by node; ``edges``: a, b, metres, kind, name."""

    def __init__(
        self, positions: Mapping[int, tuple[float, float]], edges: Sequence[tuple[int, int, int, str, str]]
    ) -> None:
        self.positions = positions
        self._ways: dict[int, list[tuple[int, int, str, str]]] = {}
        for a, b, metres, kind, name in edges:
            self._ways.setdefault(a, []).append((b, metres, kind, name))
            self._ways.setdefault(b, []).append((a, metres, kind, name))

    def route(self, start: int, end: int, engine: str) -> Route | None:
        """The quickest way, or None where there is none. `KeyError` for an engine that does not exist."""
        speeds = ENGINES[engine]
        best = {start: 0.0}
        came: dict[int, tuple[int, int, str, str, float]] = {}
        waiting = [(0.0, start)]
        while waiting:
            seconds, node = heapq.heappop(waiting)
            if node == end:
                return self._route(start, end, came)
            if seconds > best[node]:
                continue
            for other, metres, kind, name in self._ways.get(node, ()):
                if kind not in speeds:
                    continue
                takes = _FERRY_SECONDS if kind == "ferry" else metres * 3.6 / speeds[kind]
                if seconds + takes < best.get(other, math.inf):
                    best[other] = seconds + takes
                    came[other] = (node, metres, kind, name, takes)
                    heapq.heappush(waiting, (seconds + takes, other))
        return None

    def _route(self, start: int, end: int, came: Mapping[int, tuple[int, int, str, str, float]]) -> Route:
        legs: list[tuple[int, int, int, str, str, float]] = []
        node = end
        while node != start:
            before, metres, kind, name, takes = came[node]
            legs.append((before, node, metres, kind, name, takes))
            node = before
        legs.reverse()
        steps: list[Step] = []
        for index, (a, b, metres, kind, name, takes) in enumerate(legs):
            if index and name == legs[index - 1][4]:
                last = steps[-1]
                steps[-1] = Step(
                    text=last.text, metres=last.metres + metres, seconds=last.seconds + takes, node=last.node
                )
                continue
            text = f"{self._turn(legs[index - 1][0], a, b)} onto {name}" if index else f"Start on {name}"
            if kind == "ferry":
                text = f"Take the {name}"
            steps.append(Step(text=text, metres=metres, seconds=takes, node=a))
        return Route(
            nodes=(start, *(leg[1] for leg in legs)), metres=sum(leg[2] for leg in legs),
            seconds=sum(leg[5] for leg in legs), steps=tuple(steps),
        )  # fmt: skip

    def _turn(self, before: int, at: int, after: int) -> str:
        change = (self._heading(at, after) - self._heading(before, at) + 180) % 360 - 180
        side = "right" if change > 0 else "left"
        return next(text for limit, text in _TURNS if abs(change) <= limit).format(side=side)

    def _heading(self, a: int, b: int) -> float:
        """Degrees from north, clockwise."""
        (lat, lon), (to_lat, to_lon) = self.positions[a], self.positions[b]
        return math.degrees(math.atan2((to_lon - lon) * math.cos(math.radians(lat)), to_lat - lat))


def distance_text(metres: float) -> str:
    """As the map writes it.

    >>> distance_text(640), distance_text(12345), distance_text(99)
    ('640 m', '12.3 km', '100 m')
    """
    return f"{metres / 1000:.1f} km" if metres >= 1000 else f"{round(metres / 10) * 10} m"


def duration_text(seconds: float) -> str:
    """Hours and minutes.

    >>> duration_text(42), duration_text(3600), duration_text(5460)
    ('0:01', '1:00', '1:31')
    """
    minutes = max(round(seconds / 60), 1)
    return f"{minutes // 60}:{minutes % 60:02}"
