"""The key ``computer`` of definitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pytest_webarena.llm.messages import ComputerToolName

__all__ = ["ComputerKeys", "tool_name"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComputerKeys:
    """The key ``computer`` of a definition, for ``reply: computer``."""

    tool: ComputerToolName | None = None
    """The provider's tool; None: the one that the model's name contains, else the latest."""
    acknowledge: Literal["never", "always"] = "never"
    """What to do when the endpoint asks for a confirmation by a person: ``never`` ends the trial, ``always``
    confirms."""
    exclude: tuple[str, ...] = ()
    """Names of actions that are not offered."""


def tool_name(keys: ComputerKeys, model: str, known: Sequence[ComputerToolName]) -> ComputerToolName:
    """Return the tool that a definition asks for, else the one of its API that the model's name contains, else the
    default one, which is the first of ``known``.

    >>> tool_name(ComputerKeys(), "computer-use-preview", ("computer", "computer_use_preview"))
    'computer_use_preview'
    >>> tool_name(ComputerKeys(), "gemini-2.5-computer-use-preview-10-2025", ("computer_use",))
    'computer_use'
    """
    if keys.tool is not None:
        return keys.tool
    named = [tool for tool in known if tool.replace("_", "-") in model]
    return max(named, key=len, default=known[0])
