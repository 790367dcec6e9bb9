"""Spaces of any text and of any message. Gymnasium's own ``Text`` lists all of its characters; here all of Unicode is
allowed."""

from __future__ import annotations

import string
from typing import Any

from gymnasium import Space

__all__ = ["AnyMessage", "AnyText"]

_SAMPLED = 64


class AnyText(Space[str]):
    """Space of texts of at most ``max_length`` characters.

    Gymnasium has no shared memory for texts, so `AsyncVectorEnv` needs ``shared_memory=False``.
    """

    def __init__(self, max_length: int, *, seed: int | None = None) -> None:
        super().__init__(dtype=str, seed=seed)
        self.max_length = max_length

    @property
    def is_np_flattenable(self) -> bool:
        """False: a flattened text would be an array of up to a million numbers."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A text of random printable ASCII characters; masks are ignored."""
        length = int(self.np_random.integers(0, min(self.max_length, _SAMPLED) + 1))
        return "".join(self.np_random.choice(list(string.printable[:95]), size=length))

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is a text of at most ``max_length`` characters."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"AnyText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText) and self.max_length == other.max_length

    __hash__ = None  # type: ignore[assignment]  # as in all spaces of Gymnasium


class AnyMessage(Space[dict[str, Any]]):
    """Space of mappings from names to texts, numbers or further mappings: a chat message, or a part of one."""

    def __init__(self, *, seed: int | None = None) -> None:
        super().__init__(dtype=dict, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """False: messages have no shape."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """A message without text; masks are ignored."""
        return {"type": "text", "text": ""}

    def contains(self, x: Any) -> bool:
        """Whether ``x`` is such a mapping."""
        return isinstance(x, dict) and all(
            isinstance(name, str) and (isinstance(value, str | float) or self.contains(value))
            for name, value in x.items()
        )

    def __repr__(self) -> str:
        return "AnyMessage()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyMessage)

    __hash__ = None  # type: ignore[assignment]  # as in all spaces of Gymnasium
