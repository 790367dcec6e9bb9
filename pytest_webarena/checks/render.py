"""Renders a verdict as text for people: the task, what was expected and what was found, in few lines."""

from __future__ import annotations

import textwrap
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.checks.verdict import CheckResult, Verdict

__all__ = ["first_missed", "render"]

_SHORT = 32  # columns for the expected value if the found one follows on the same line
_NODE = 36  # columns for a key node's name if a count follows
_LINES = 2  # lines of one value; longer values are clipped


def render(verdict: Verdict, width: int = 80, before: Verdict | None = None) -> str:
    """Returns ``verdict`` in at most ``width`` columns; with an earlier verdict, unchanged checks take one line
    each."""
    width = max(width, 40)
    lines = [clip(_headline(verdict), width)]
    if before is None and (decided := _what_decided(verdict)):  # first, because pytest's short summary shows one line
        lines.insert(0, clip(decided, width))
    if verdict.intent and before is None:
        lines += _wrapped(verdict.intent, width, "", 3)
    known = before.results if before else ()
    held = True
    for result in verdict.results:
        block = _block(result, width) if result not in known else [_as_before(result, width)]
        if len(block) > 1 or not held:
            lines.append("")
        held = len(block) == 1
        lines += block
    return "\n".join(lines)


def _headline(verdict: Verdict) -> str:
    checks = list(verdict.results)
    held = sum(1 for result in checks if result.passed)
    count = f"{held} of {len(checks)} checks hold{'s' if held == 1 else ''}"
    if verdict.undecided:
        open_ = sum(1 for result in checks if result.score is None)
        text = f"undecided: {open_} of {len(checks)} checks could not be decided"
    elif verdict.passed:
        text = f"passed: {count}"
    else:
        text = f"failed: {count}"
    if verdict.score is not None and (0 < verdict.score < 1 or verdict.threshold < 1):
        text += f", score {verdict.score:.3g}"
        if not verdict.passed or verdict.score >= verdict.threshold - 1e-9:  # else a check's own threshold decided
            text += f" of {verdict.threshold:.3g}"
    if verdict.score is None and not verdict.undecided:
        text += f", score at least {verdict.lower_bound or 0.0:.3g}"
    if verdict.stop_reason and verdict.stop_reason != "answered":
        text += f" (stopped: {verdict.stop_reason})"
    return text


def _what_decided(verdict: Verdict) -> str:
    """Returns one line on the first check that fails or can't be judged: what was expected and found."""
    result = None if verdict.passed else _first(verdict.results, unknown=verdict.undecided)
    if result is None:
        return ""
    if result.score is None:
        return f"{result.kind}: {result.why}" if result.why else ""
    if result.kind == "not":
        return f"{result.path}: {_reason(result) or 'what must not hold does'}"
    if missed := first_missed(result):
        return missed
    if not result.actual:
        return f"{result.kind}: expected {clip(result.expected, _SHORT)}" + (f": {result.why}" if result.why else "")
    return f"{result.kind}: expected {clip(result.expected, _SHORT)}, found {result.actual}"


def first_missed(result: CheckResult) -> str:
    """Returns the first missed key node, or the forbidden one that was reached; empty for other checks."""
    nodes = [part for part in result.parts if part.function]
    if not nodes or result.score is None:
        return ""
    if hit := next((part for part in nodes if part.forbidden and part.by), None):
        return f"{result.kind}: reached {clip(hit.what, _NODE)}, which is forbidden"
    wanted = [part for part in nodes if not part.forbidden]
    missed = next((number for number, part in enumerate(wanted, start=1) if not part.points and not part.open), None)
    if missed is None:
        return ""
    reached = sum(bool(part.points) for part in wanted)
    name = clip(wanted[missed - 1].what, _NODE)
    return f"{result.kind}: missed {name} (node {missed} of {len(wanted)}, {reached} reached)"


def _reason(result: CheckResult) -> str:
    """Returns why a part of a check holds although no evidence was found for it."""
    return next(filter(None, map(_reason, result.children)), "") if result.children else result.why


def _first(results: Sequence[CheckResult], *, unknown: bool) -> CheckResult | None:
    """Returns the first check that is undecided (``unknown``) or fails, or its part that causes this."""
    for result in results:
        if (result.score is None) if unknown else (result.score is not None and not result.passed):
            return (None if result.kind == "not" else _first(result.children, unknown=unknown)) or result
    return None


def _block(result: CheckResult, width: int, depth: int = 0, above: str = "") -> list[str]:
    """Returns the lines of one check: one line when it holds, with details when it doesn't."""
    pad = "  " * depth
    title = f"{pad}{result.mark} {result.path.removeprefix(above)} {result.kind}"
    if result.state not in ("", "end"):
        title += f" ({result.state})"
    if result.waited is not None:
        title += f" (after {result.waited:.1f} s)"
    if 0 < (result.score or 0) < 1:
        title += f" {result.score:.3g}"
    if result.passed and (holds := _what_holds(result)):
        title += f": {holds}"
    if result.kind == "not" and result.score == 0:
        title += ": what must not hold does"
    lines = [clip_line(title, width)]
    if result.passed:  # a met check has a reason only if it counts as met to prevent its negation
        return lines + (_wrapped(result.why, width, f"{pad}    why      ", _LINES) if result.why else [])
    for child in result.children:
        lines += _block(child, width, depth + 1, above or f"{result.path}.")
    if not result.children:
        for label, text in (("expected", result.expected), ("actual", result.actual), ("why", result.why)):
            if text:
                lines += _wrapped(text, width, f"{pad}    {label:<9}", _LINES)
    return lines


def _what_holds(result: CheckResult) -> str:
    """Returns in a few words why a check holds; of several alternatives, the first that holds."""
    if not result.children:
        return result.expected
    if result.kind == "all":
        return f"{len(result.children)} of {len(result.children)} hold"
    child = next((child for child in result.children if child.passed or result.kind == "not"), None)
    return f"{child.kind} {_what_holds(child)}".rstrip() if child else ""


def _as_before(result: CheckResult, width: int) -> str:
    """Returns one line for an unchanged check, without its reasons, which were printed before."""
    return clip_line(f"{result.mark} {result.path} {result.kind}" + ("" if result.passed else ", as before"), width)


def clip_line(text: str, width: int) -> str:
    """Returns ``text`` on one line, with its indentation."""
    bare = text.lstrip(" ")
    indent = text[: len(text) - len(bare)]
    return indent + clip(bare, width - len(indent))


def _wrapped(text: str, width: int, label: str, most: int) -> list[str]:
    """Returns ``text`` after ``label``, on at most ``most`` lines."""
    room = width - len(label)
    flat = clip(text, room * most)
    lines = textwrap.wrap(flat, room, break_on_hyphens=False) or [""]
    if len(lines) > most:
        lines = [*lines[: most - 1], clip(" ".join(lines[most - 1 :]), room)]
    return [(label if index == 0 else " " * len(label)) + line for index, line in enumerate(lines)]
