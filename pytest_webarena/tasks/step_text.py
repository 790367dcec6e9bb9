"""Parses one step of a solution from a line of text, in the form of task files."""

from __future__ import annotations

import re

from pytest_webarena.actions import Action
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.nodes import compose
from pytest_webarena.tasks.steps import ANSWERED_STEPS, STEPS

__all__ = ["parse_step"]

_STEP = re.compile(rf"(?:- *)?((?:{'|'.join(STEPS)})(?::\s.*)?)", re.DOTALL)
_PATH = re.compile(r"(goto:\s+)(['\"]?)/")


def parse_step(text: str, site: str) -> tuple[Action, ...] | None:
    """Returns the actions of a step such as ``click: css=#save``; a bare path is on ``site``.

    Returns None for text that is not a step of a solution. Raises `ValueError` for a faulty step.

    >>> parse_step("- goto: /cart", "shopping")
    (Goto(url='shopping:/cart'),)
    >>> parse_step("click [42]", "shopping") is None
    True
    """
    found = _STEP.fullmatch(text.strip())
    if found is None or found[1] == "stop":  # agents answer with this word, too
        return None
    step = _PATH.sub(rf"\g<1>\g<2>{site}:/", found[1])
    node, problems = compose(f"- {step}".encode(), "step")
    if node is not None and not problems:
        reading = Reading("step")
        actions = ANSWERED_STEPS.read(node, reading)
        problems = reading.problems
        if isinstance(actions, tuple) and not problems:
            return actions if step.startswith("stop") else actions[:-1]  # removes the stop that the reader added
    first = problems[0]
    hint = f" ({first.hint})" if first.hint else ""
    raise ValueError(f"expected {first.expected}, found {first.found}{hint}")
