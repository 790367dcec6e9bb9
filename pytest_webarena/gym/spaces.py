"""The spaces of any text and of any message. Gymnasium's own ``Text`` has a list of all its characters; here they
are all of Unicode."""

from __future__ import annotations

import string
from typing import Any

from gymnasium import Space

__all__ = ["AnyMessage", "AnyText"]

_SAMPLED = 64


class AnyText(Space[str]):
    """Texts of at most ``max_length`` characters.

    Gymnasium has no shared memory for texts, so `AsyncVectorEnv` takes ``shared_memory=False``.
    """

    def __init__(self, max_length: int, *, seed: int | None = None) -> None:
        super().__init__(dtype=str, seed=seed)
        self.max_length = max_length

    @property
    def is_np_flattenable(self) -> bool:
        """No: an array of a million numbers would help nobody."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """Some printable ASCII; masks are ignored."""
        length = int(self.np_random.integers(0, min(self.max_length, _SAMPLED) + 1))
        return "".join(self.np_random.choice(list(string.printable[:95]), size=length))

    def contains(self, x: Any) -> bool:
        """Whether it is a text, and short enough."""
        return isinstance(x, str) and len(x) <= self.max_length

    def __repr__(self) -> str:
        return f"AnyText({self.max_length})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyText) and self.max_length == other.max_length

    __hash__ = None  # type: ignore[assignment]  # as all of Gymnasium's spaces


class AnyMessage(Space[dict[str, Any]]):
    """Mappings from names to texts, numbers or further ones: what was said by whom and when, or a part of that."""

    def __init__(self, *, seed: int | None = None) -> None:
        super().__init__(dtype=dict, seed=seed)

    @property
    def is_np_flattenable(self) -> bool:
        """No: it has no shape."""
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> dict[str, Any]:
        """A message without text; masks are ignored."""
        return {"type": "text", "text": ""}

    def contains(self, x: Any) -> bool:
        """Whether it is such a mapping."""
        return isinstance(x, dict) and all(
            isinstance(name, str) and (isinstance(value, str | float) or self.contains(value))
            for name, value in x.items()
        )

    def __repr__(self) -> str:
        return "AnyMessage()"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, AnyMessage)

    __hash__ = None  # type: ignore[assignment]  # as all of Gymnasium's spaces
