"""What a process does not keep itself because its run is on many machines: files that somebody else has, by their path.

A run has one account of its model calls, one cache of what judges said, one memory of each agent. Where its trials are
played on other machines, whoever opens one of these there gets a stand-in, and each call goes to the machine that
has the file (`cluster.books`). Rooms that keep such files ask here first, and know nothing of who answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Call", "forget_all", "keep_elsewhere", "stand_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a method of something that is kept elsewhere. Plain enough to be sent."""

    kind: str
    """``model_calls``, ``responses``, ``verdicts``, ``memory``."""
    path: Path
    """Where it is, there."""
    method: str
    made: Mapping[str, Any] = field(default_factory=dict)
    """What it is opened with."""
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


_roots: dict[Path, tuple[Path, Callable[[Call], Any]]] = {}


def keep_elsewhere(root: Path, theirs: Path, ask: Callable[[Call], Any]) -> None:
    """What is below ``root`` here is below ``theirs`` elsewhere; ``ask`` makes a call there, and gives its answer."""
    _roots[root] = theirs, ask


def forget_all() -> None:
    """Everything is here again."""
    _roots.clear()


def stand_in(kind: str, path: Path, **made: Any) -> Any:
    """What to use in place of the file or folder at ``path``; None when it is here."""
    for root, (theirs, ask) in _roots.items():
        if path.is_relative_to(root):
            return _StandIn(kind, theirs / path.relative_to(root), made, ask)
    return None


class _StandIn:
    """Has every method; the other side says which there are."""

    def __init__(self, kind: str, path: Path, made: Mapping[str, Any], ask: Callable[[Call], Any]) -> None:
        self._kind, self._path, self._made, self._ask = kind, path, made, ask

    def __getattr__(self, method: str) -> Callable[..., Any]:
        if method.startswith("_"):
            raise AttributeError(method)

        def call(*args: Any, **kwargs: Any) -> Any:
            return self._ask(
                Call(kind=self._kind, path=self._path, method=method, made=self._made, args=args, kwargs=kwargs)
            )

        return call
