"""A verdict as text for people: what was asked, what was expected and seen, in few lines."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING

from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.checks.verdict import CheckResult, Verdict

__all__ = ["render"]

_LINES = 2  # of one value; what is longer is clipped


def render(verdict: Verdict, width: int = 80, before: Verdict | None = None) -> str:
    """``verdict`` in at most ``width`` columns; given an earlier one, without what that said already."""
    width = max(width, 40)
    lines = [clip(_headline(verdict), width)]  # first, because pytest's short summary shows one line of it
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
    if verdict.score is None:
        open_ = sum(1 for result in checks if result.score is None)
        text = f"inconclusive: {open_} of {len(checks)} checks could not be judged"
    elif verdict.passed:
        text = f"passed: {count}"
    else:
        text = f"failed: {count}"
    if verdict.score is not None and (0 < verdict.score < 1 or verdict.threshold < 1):
        text += f", score {verdict.score:.3g} of {verdict.threshold:.3g}"
    if verdict.stop_reason and verdict.stop_reason != "answered":
        text += f" (stopped: {verdict.stop_reason})"
    return text


def _block(result: CheckResult, width: int, depth: int = 0, above: str = "") -> list[str]:
    """One check: a line when it holds, with its details when it doesn't."""
    pad = "  " * depth
    title = f"{pad}{result.mark} {result.path.removeprefix(above)} {result.kind}"
    if result.state not in ("", "end"):
        title += f" ({result.state})"
    if 0 < (result.score or 0) < 1:
        title += f" {result.score:.3g}"
    if result.passed and (holds := _what_holds(result)):
        title += f": {holds}"
    if result.kind == "not" and result.score == 0:
        title += ": what must not hold does"
    lines = [clip_line(title, width)]
    if result.passed:
        return lines
    for child in result.children:
        lines += _block(child, width, depth + 1, above or f"{result.path}.")
    if not result.children:
        for label, text in (("expected", result.expected), ("actual", result.actual), ("why", result.why)):
            if text:
                lines += _wrapped(text, width, f"{pad}    {label:<9}", _LINES)
    return lines


def _what_holds(result: CheckResult) -> str:
    """Why a check holds, in a few words; of several alternatives, the first that does."""
    if not result.children:
        return result.expected
    if result.kind == "all":
        return f"{len(result.children)} of {len(result.children)} hold"
    child = next((child for child in result.children if child.passed or result.kind == "not"), None)
    return f"{child.kind} {_what_holds(child)}".rstrip() if child else ""


def _as_before(result: CheckResult, width: int) -> str:
    """A check of which nothing changed: one line. Its reasons were told already."""
    return clip_line(f"{result.mark} {result.path} {result.kind}" + ("" if result.passed else ", as before"), width)


def clip_line(text: str, width: int) -> str:
    """``text`` on one line, its indentation kept."""
    bare = text.lstrip(" ")
    indent = text[: len(text) - len(bare)]
    return indent + clip(bare, width - len(indent))


def _wrapped(text: str, width: int, label: str, most: int) -> list[str]:
    """``text`` behind ``label``, on at most ``most`` lines."""
    room = width - len(label)
    flat = clip(text, room * most)
    lines = textwrap.wrap(flat, room, break_on_hyphens=False) or [""]
    if len(lines) > most:
        lines = [*lines[: most - 1], clip(" ".join(lines[most - 1 :]), room)]
    return [(label if index == 0 else " " * len(label)) + line for index, line in enumerate(lines)]
