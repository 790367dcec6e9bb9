"""The table of repairs, with the tasks that each one can affect, as text for the terminal and as Markdown for the
docs."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable, Mapping, Sequence

from pytest_webarena.checks.upstream.rules import RULES, Rule
from pytest_webarena.checks.upstream.touched import touched
from pytest_webarena.tasks.model import Task

__all__ = ["markdown", "numbers", "ranges", "render"]


def numbers(tasks: Iterable[Task]) -> Mapping[str, tuple[int, ...]]:
    """Returns the numbers of the tasks (`Task.source`) that each repair can affect."""
    return {
        rule: tuple(sorted(int(str(task.source["task_id"])) for task in found))
        for rule, found in touched(tasks).items()
    }


def ranges(numbers: Sequence[int]) -> str:
    """Returns ascending whole numbers as text, with ranges merged.

    >>> ranges([1, 2, 3, 7])
    '1-3, 7'
    """
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    return ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in runs)


def render(found: Mapping[str, Sequence[int]] | None, rules: Iterable[Rule] = RULES.values(), width: int = 80) -> str:
    """Returns the text of each rule: the defect, the repair, its source, and the tasks, where they are known."""
    blocks = []
    for rule in rules:
        lines = [f"{rule.name}  ({rule.part}, {rule.effect})"]
        entries = [("original", rule.defect), ("repaired", rule.repair), ("source", rule.source)]
        if found is not None:
            tasks = found[rule.name]
            entries.append(("tasks", f"{len(tasks)}: {ranges(tasks)}" if tasks else "none of these"))
        for label, text in entries:
            lines += textwrap.wrap(
                text, width, initial_indent=f"  {label:<10}", subsequent_indent=" " * 12, break_on_hyphens=False
            )
        blocks.append("\n".join(lines))
    return "\n\n".join(blocks)


def markdown(found: Mapping[str, Sequence[int]]) -> str:
    """Returns the table of `docs/grading.md`."""
    lines = [
        "| rule | effect | the original | repaired | source | tasks of the 812 |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for rule in RULES.values():
        tasks = found[rule.name]
        listed = ranges(tasks)
        shown = f"{len(tasks)}: {listed}" if 0 < len(listed) <= 60 else str(len(tasks))
        cells = (f"`{rule.name}`", rule.effect, rule.defect, rule.repair, rule.source, shown)
        lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |")
    return "\n".join(lines)
