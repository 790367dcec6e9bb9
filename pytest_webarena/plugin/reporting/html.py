"""Adds the last page of a trial to pytest-html's report."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest

__all__ = ["complete_report", "remember"]

_KINDS = {".jpg": "jpeg", ".png": "png", ".webp": "webp"}
_ATTRIBUTE = "_webarena_final_page"


def remember(item: pytest.Item, folder: Path) -> None:
    """Store the path of the last attempt's final screenshot, if pytest-html makes a report."""
    if item.config.getoption("htmlpath", default=None):
        screenshots = [path for path in folder.glob("attempt-*/screenshots/final.*") if path.suffix in _KINDS]
        setattr(item, _ATTRIBUTE, max(screenshots, key=_attempt, default=None))


def complete_report(item: pytest.Item, report: pytest.TestReport) -> None:
    """Embed the final page of a trial that did not pass."""
    path: Path | None = getattr(item, _ATTRIBUTE, None)
    if report.when != "call" or report.passed or path is None:
        return
    try:
        content = base64.b64encode(path.read_bytes()).decode("ascii")
    except OSError:
        return  # dropped by --record or a full disk; the report has no picture then
    kind = _KINDS[path.suffix]
    picture = {
        "name": "Final page",
        "format_type": "image",
        "content": content,
        "mime_type": f"image/{kind}",
        "extension": path.suffix[1:],
    }
    report.extras = [*getattr(report, "extras", []), picture]  # type: ignore[attr-defined]  # where pytest-html looks


def _attempt(path: Path) -> int:
    return int(path.parent.parent.name.rpartition("-")[2])
