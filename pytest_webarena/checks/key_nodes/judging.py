"""Judges key nodes: when each was first reached, in which order they count, and what the score is.

A node with unknown result is neither met nor missed. So two schedules are computed: in one everything unclear did
happen, in the other it did not. A node is met if both reach it, and missed if neither does.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from pytest_webarena.checks.key_nodes.matching import NO, Hit, Matcher
from pytest_webarena.checks.key_nodes.model import KeyNode, KeyNodes, TextTarget, UrlTarget, ValueTarget
from pytest_webarena.checks.key_nodes.timeline import BEFORE, Moment, moments, resets, takes_over
from pytest_webarena.checks.kind import Judgement, View
from pytest_webarena.checks.verdict import Part
from pytest_webarena.errors import Cause
from pytest_webarena.text import clip

__all__ = ["judge"]


_LESS_THAN_ALL = 0.999


@dataclass(frozen=True, slots=True, kw_only=True)
class _Reached:
    """The result for one node."""

    met: bool | None
    moment: Moment | None = None
    by: str = ""
    why: str = ""
    """Why the node was not reached, or why that is unknown."""
    cause: Cause | None = None


def judge(spec: KeyNodes, view: View, matcher: type[Matcher] = Matcher) -> Judgement:
    """Judge the evidence of a trial; ``matcher`` decides which nodes a moment reaches."""
    schedule = _Schedule(spec, view, matcher)
    found = schedule.reached()
    free = [schedule.matcher.is_free(node) for node in spec.nodes]
    parts = tuple(map(_part, spec.nodes, found, free))
    hit = [part for part in parts if part.forbidden and part.by]
    maybe = any(part.forbidden and part.open for part in parts)
    wanted = [part for part in parts if not part.forbidden]
    low = math.fsum(part.points for part in wanted)
    high = math.fsum(part.of for part in wanted if part.open or part.points)
    if hit or high == 0:
        low = high = 0.0
    elif maybe:
        low = 0.0
    met = sum(1 for part in wanted if part.points)
    why = "; ".join(_told(parts))
    missed = next((part for part in wanted if not part.points and not part.open), None)
    if hit:
        actual = f"forbidden: {hit[0].what}, by {hit[0].by}"
    else:
        actual = f"{met}, missed {missed.what}" if missed else f"{met} of {len(wanted)}"
    if low == high:
        score = min(1.0, low / spec.weight)
        if missed:  # a node of tiny weight is still required
            score = min(score, _LESS_THAN_ALL)
        return Judgement(score=score, expected=str(spec), actual=actual, why=why, parts=parts)
    causes = [each.cause for each in found if each.met is None and each.cause is not None]
    cause = "agent" if "agent" in causes else causes[0] if causes else None
    first = next(part for part in parts if part.open)
    why = f"there is no telling whether '{clip(first.what, 80)}' was reached: {first.why} ({why})"
    return Judgement(score=None, expected=str(spec), actual=actual, why=why, cause=cause, parts=parts)


def _part(node: KeyNode, reached: _Reached, free: bool) -> Part:
    points = node.weight if reached.met and not node.forbidden else 0.0
    return Part(
        what=clip(str(node), 200),
        points=points,
        of=0.0 if node.forbidden else node.weight,
        given=points,
        why=reached.why,
        function=node.target.function,
        step=reached.moment.step if reached.met and reached.moment is not None else None,
        by=reached.by if reached.met else "",
        open=reached.met is None,
        forbidden=node.forbidden,
        free=not node.forbidden and (free or (reached.moment is not None and reached.moment.step == BEFORE)),
    )


def _told(parts: Sequence[Part]) -> Iterator[str]:
    """Yields the report line of each node, missed ones first."""
    told = sorted(enumerate(parts, start=1), key=lambda each: (bool(each[1].points), each[0]))
    for number, part in told:
        if part.forbidden and not part.open and not part.by:
            continue
        mark = "?" if part.open else "✗" if part.forbidden or not part.points else "✓"
        when = "" if part.step is None else " at the start" if part.step < 0 else f" at step {part.step + 1}"
        why = f" ({part.why})" if part.why else ""
        yield f"{mark} {number} {clip(part.what, 60)}{when}{why}"


class _Schedule:
    """Computes when each node was reached first."""

    def __init__(self, spec: KeyNodes, view: View, matcher: type[Matcher]) -> None:
        self.spec = spec
        self.moments = moments(view.evidence)
        self.matcher = matcher(view)
        self._hits: dict[tuple[int, int], Hit] = {}

    def reached(self) -> list[_Reached]:
        """Returns the result for each node, in the order of the list."""
        sure, hoped = self._times(hopeful=False), self._times(hopeful=True)
        found = []
        for number, node in enumerate(self.spec.nodes):
            if (at := sure[number]) is not None:
                hit = self._hit(number, at)
                since = self._since(number) if node.hold else at
                found.append(_Reached(met=True, moment=self.moments[since], by=hit.by))
            elif (at := hoped[number]) is not None:
                found.append(self._doubt(number, at, sure))
            else:
                found.append(_Reached(met=False, why="" if node.forbidden else self._why(number, hoped)))
        return found

    def _times(self, *, hopeful: bool) -> list[int | None]:
        """Returns the first moment of each node; None if it is not reached. ``hopeful`` assumes that everything unclear
        happened."""
        times: dict[int, int | None] = {}
        waiting = list(range(len(self.spec.nodes)))
        while waiting:
            number = next(each for each in waiting if all(one in times for one in self._before(each)))
            waiting.remove(number)
            before = [times[each] for each in self._before(number)]
            known = [each for each in before if each is not None]
            begin = max(known, default=0) if len(known) == len(before) else None
            times[number] = None if begin is None else self._first(number, begin, hopeful=hopeful)
        return [times[number] for number in range(len(self.spec.nodes))]

    def _before(self, number: int) -> list[int]:
        """Returns the nodes that must come before this one."""
        node = self.spec.nodes[number]
        if node.forbidden:
            return []
        if self.spec.order == "strict":  # nodes that must hold at the end have no position in the order
            lined_up = [each for each, other in enumerate(self.spec.nodes) if not other.forbidden and not other.hold]
            return [each for each in lined_up if each < number][-1:] if number in lined_up else []
        return [each for each, other in enumerate(self.spec.nodes) if other.name and other.name in node.after]

    def _first(self, number: int, begin: int, *, hopeful: bool) -> int | None:
        node = self.spec.nodes[number]
        if node.hold == "end":
            last = len(self.moments) - 1
            known = self._at_end(number).known
            return last if known or (known is None and hopeful) else None
        for at in range(begin, len(self.moments)):
            if node.forbidden and self.moments[at].kind == "start":
                continue
            known = self._hit(number, at).known
            if known or (known is None and hopeful):
                return at
        return None

    def _hit(self, number: int, at: int) -> Hit:
        key = (number, at)
        if key not in self._hits:
            node = self.spec.nodes[number]
            held = node.hold == "end" and at == len(self.moments) - 1
            self._hits[key] = self._held(number) if held else self.matcher.hit(node, self.moments[at])
        return self._hits[key]

    def _since(self, number: int) -> int:
        """Returns since when a node that must hold at the end has held."""
        end = len(self.moments) - 1
        node = self.spec.nodes[number]
        for at in range(end - 1, -1, -1):
            moment = self.moments[at]
            if isinstance(node.target, ValueTarget) and self.matcher.changes(node.target, moment):
                return at
            if isinstance(node.target, UrlTarget) and moment.kind in ("start", "address"):
                return at if self.matcher.hit(node, moment).known else end
        return end

    def _at_end(self, number: int) -> Hit:
        return self._hit(number, len(self.moments) - 1)

    def _held(self, number: int) -> Hit:
        """Whether a node that must hold at the end does."""
        node = self.spec.nodes[number]
        if isinstance(node.target, UrlTarget):
            return self.matcher.hit(node, self.moments[-1])
        assert isinstance(node.target, ValueTarget)
        unsure: Hit | None = None  # another value was entered, maybe into this field
        for at in range(len(self.moments) - 2, -1, -1):
            moment = self.moments[at]
            if moment.kind == "gap" and moment.elements:
                return self.matcher.hit(node, moment)
            changed = self.matcher.changes(node.target, moment)
            if changed:
                held = self._kept(number, at)
                return held if held.known is False else unsure or held
            if changed is None:
                hit = self.matcher.hit(node, moment)
                if hit.known is not False:
                    return hit
                unsure = unsure or Hit(
                    known=None, by="whether a later value was given to the same field can't be determined"
                )
        return NO

    def _kept(self, number: int, at: int) -> Hit:
        """Whether a field still has the value that it got at a moment, as far as later events show."""
        given = self.moments[at].event
        assert given is not None
        for moment in self.moments[at + 1 :]:
            if moment.event is not None and takes_over(given, moment.event):
                return NO
            if moment.event is not None and resets(given, moment.event):
                return Hit(known=None, by="a form was reset after it, and what its fields hold then is not recorded")
        return self.matcher.hit(self.spec.nodes[number], self.moments[at])

    def _doubt(self, number: int, at: int, sure: Sequence[int | None]) -> _Reached:
        """Returns the result of a node that may have been reached."""
        hit = self._hit(number, at)
        if hit.known is None:
            return _Reached(met=None, why=hit.by, cause=hit.cause)
        name = next(str(self.spec.nodes[each]) for each in self._before(number) if sure[each] is None)
        return _Reached(met=None, why=f"there is no telling whether '{clip(name, 60)}' was reached before")

    def _why(self, number: int, hoped: Sequence[int | None]) -> str:
        """Returns why a node was certainly not reached."""
        node = self.spec.nodes[number]
        if node.hold == "end":
            ever = any(self.matcher.hit(node, moment).known for moment in self.moments[:-1])
            return "it was so, but not at the end" if ever else "it was not so at the end"
        early = next((at for at in range(len(self.moments)) if self._hit(number, at).known), None)
        missing = next((str(self.spec.nodes[each]) for each in self._before(number) if hoped[each] is None), "")
        if early is not None:
            return f"reached, but '{clip(missing, 60)}' was not" if missing else "reached, but too early"
        if isinstance(node.target, TextTarget):
            return "no such note" if node.target.of == "noted" else "the answer is another one"
        return ""
