"""Key nodes that a longer number matches, too: an address that includes ``/issues/24`` may be ``/issues/247``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from pytest_webarena.checks.key_nodes.model import KeyNode, KeyNodes, UrlTarget
from pytest_webarena.docs_site import docs

if TYPE_CHECKING:
    from pytest_webarena.tasks.model import Check, Task

__all__ = ["open_ended", "with_open_ends"]

_NAMED = 5
"""Maximum number of tasks that a message names."""


def open_ended(node: KeyNode) -> str:
    """Returns the part of an address that the node requires if a longer number would contain it, too; else empty."""
    target = node.target
    if not isinstance(target, UrlTarget) or target.param or target.match is None or target.match.how != "includes":
        return ""
    return target.match.text if target.match.text[-1:].isdigit() else ""


def with_open_ends(tasks: Sequence[Task]) -> str:
    """Returns a warning about those of ``tasks`` with such nodes, and what to do; empty when there are none. Published
    tasks are left out, because they can't be changed."""
    found = {
        f"{task.template or task.id} ('{text}')": None
        for task in tasks
        if not task.source
        for node in _nodes(task.checks)
        if (text := open_ended(node))
    }
    if not found:
        return ""
    named = ", ".join(list(found)[:_NAMED]) + (f" and {len(found) - _NAMED} more" if len(found) > _NAMED else "")
    return (
        f"an address that goes on with another digit reaches a key node, too, in {named}: ask for the path `exact`, or "
        f"with what follows the number ({docs('key-nodes')})"
    )


def _nodes(checks: Sequence[Check]) -> Iterator[KeyNode]:
    for check in checks:
        yield from _nodes(check.children)
        if isinstance(check.spec, KeyNodes):
            yield from check.spec.nodes
