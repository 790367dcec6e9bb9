"""Workflow commands of GitHub Actions: output lines that it shows at a line of a file."""

from __future__ import annotations

from typing import Literal

from pytest_webarena.text import printable

__all__ = ["Level", "annotation"]

Level = Literal["error", "warning"]


def annotation(
    level: Level,
    message: str,
    *,
    title: str = "",
    file: str = "",
    line: int | None = None,
    column: int | None = None,
) -> str:
    """Returns a line that shows ``message`` at a position of the repository; ``line`` and ``column`` count from 1.

    >>> annotation("error", "expected a list, found 5", title="task file", file="tasks/a,b.yaml", line=3)
    '::error file=tasks/a%2Cb.yaml,line=3,title=task file::expected a list, found 5'
    """
    given = {"file": file or None, "line": line, "col": column, "title": title or None}
    properties = ",".join(
        f"{name}={_escaped(str(value)).replace(':', '%3A').replace(',', '%2C')}"
        for name, value in given.items()
        if value is not None
    )
    return f"::{level}{' ' * bool(properties)}{properties}::{_escaped(message)}"


def _escaped(text: str) -> str:
    return printable(text).replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
