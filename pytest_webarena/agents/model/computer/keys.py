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
    """The provider's tool; None: its latest one, or for OpenAI's preview model the preview."""
    acknowledge: Literal["never", "always"] = "never"
    """What to do when the endpoint asks for a confirmation by a person: ``never`` ends the trial, ``always``
    confirms."""
    exclude: tuple[str, ...] = ()
    """Names of actions that are not offered."""


def tool_name(keys: ComputerKeys, model: str, known: Sequence[ComputerToolName]) -> ComputerToolName:
    """Return the tool that a definition asks for; ``known`` are those of its API, the default one first."""
    if keys.tool is not None:
        return keys.tool
    return "computer_use_preview" if "computer-use-preview" in model else known[0]
