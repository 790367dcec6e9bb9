"""Token and cost limits of a trial."""

from __future__ import annotations

from pytest_webarena.agents.protocol import AgentLimits
from pytest_webarena.evidence import StopReason, Usage

__all__ = ["reached_limit"]


def reached_limit(limits: AgentLimits, used: Usage) -> tuple[StopReason, str] | None:
    """The stop reason and its detail if ``used`` reaches one of ``limits``; otherwise None."""
    if limits.input_tokens is not None and used.input_tokens >= limits.input_tokens:
        return "tokens", f"{used.input_tokens} input tokens, the limit is {limits.input_tokens}"
    if limits.output_tokens is not None and used.output_tokens >= limits.output_tokens:
        return "tokens", f"{used.output_tokens} output tokens, the limit is {limits.output_tokens}"
    if limits.cost is not None and (worth := used.worth) is not None and worth >= limits.cost:
        return "cost", f"${worth:.4f}, the limit is ${limits.cost:g}"
    return None
