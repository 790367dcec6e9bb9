"""RPC proxies for files that another machine owns when a run spans machines.

A run has one record of its model calls, one cache of judges' replies, and one memory per agent. A process on another
machine that opens one of these receives a proxy, which sends each call to the machine that has the file
(`cluster.coordinator_state`). Packages that keep such files ask here first, and don't know who answers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

__all__ = ["Call", "forget_all", "keep_elsewhere", "stand_in"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """One call of a method of a remote object, plain enough to be sent."""

    kind: str
    """Kind of the remote object: ``model_calls``, ``responses``, ``verdicts``, ``memory`` or
    ``lost_trials``."""
    path: Path
    """Path of the file or folder on the owning machine."""
    method: str
    made: Mapping[str, Any] = field(default_factory=dict)
    """Keyword arguments that the object is opened with."""
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)


_roots: dict[Path, tuple[Path, Callable[[Call], Any]]] = {}


def keep_elsewhere(root: Path, theirs: Path, ask: Callable[[Call], Any]) -> None:
    """Map paths below ``root`` on this machine to paths below ``theirs`` on the owning one. ``ask`` makes a call there
    and returns its result."""
    _roots[root] = theirs, ask


def forget_all() -> None:
    """Remove all mappings, so that every path is local."""
    _roots.clear()


def stand_in(kind: str, path: Path, **made: Any) -> Any:
    """Returns a proxy for the file or folder at ``path``; None when it is local."""
    for root, (theirs, ask) in _roots.items():
        if path.is_relative_to(root):
            return _StandIn(kind, theirs / path.relative_to(root), made, ask)
    return None


class _StandIn:
    """Accepts any method name; the owning side rejects unknown ones."""

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
