"""Distribution of tasks by site, category, kind of evaluation and template (the WebArena paper's Figure 6)."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from pytest_webarena.suites.selecting import evaluation_types, is_achievable, template_of
from pytest_webarena.tasks.model import Task
from pytest_webarena.text import shorten

__all__ = ["distribution"]

_WIDTH = 80
_BAR = 28


def distribution(title: str, tasks: Sequence[Task]) -> list[str]:
    """Returns lines of at most 80 columns."""
    several = sum(len(task.sites) > 1 for task in tasks)
    tabs = sum(len(task.start) > 1 for task in tasks)
    lines = [f"{title}: {_count(len(tasks), 'task')}"]
    lines += _table("by site", Counter("+".join(sorted(task.sites)) or "no site" for task in tasks))
    lines += _table("by category", Counter(task.category or "none" for task in tasks))
    lines += _table("by evaluation", Counter(" + ".join(evaluation_types(task)) for task in tasks))
    sizes = Counter(template_of(task) for task in tasks)
    groups = Counter(sizes.values())
    lines += ["", f"templates: {len(sizes)}, {len(tasks) / max(1, len(sizes)):.1f} tasks each on average"]
    lines += _wrapped("of size", (f"{size}: {groups[size]}" for size in sorted(groups)))
    achievable = sum(map(is_achievable, tasks))
    facts = [f"{achievable} achievable", f"{len(tasks) - achievable} not", f"{several} on several sites"]
    facts += [f"{tabs} with several tabs"] if tabs else []
    lines += _wrapped("tasks", facts)
    known = sum(bool(task.known_issue) for task in tasks)
    if known:
        lines += _wrapped("known issues", [f"{_count(known, 'task')} (-k known-issue)"])
    return lines


def _table(title: str, counts: Counter[str]) -> Iterator[str]:
    total, most = sum(counts.values()), max(counts.values(), default=1)
    width = min(38, max(map(len, counts), default=0))
    yield ""
    yield title
    for name, count in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        bar = "█" * max(1, round(_BAR * count / most))
        yield f"  {shorten(name, width):<{width}} {count:>4} {count / total:>4.0%} {bar}".rstrip()


def _wrapped(label: str, parts: Iterable[str]) -> list[str]:
    glued = ", ".join(part.replace(" ", "\N{NO-BREAK SPACE}") for part in parts)
    lines = textwrap.wrap(glued, _WIDTH - 16, break_on_hyphens=False, break_long_words=False) or [""]
    return [
        f"  {label if number == 0 else '':<13} {line}".replace("\N{NO-BREAK SPACE}", " ")
        for number, line in enumerate(lines)
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
