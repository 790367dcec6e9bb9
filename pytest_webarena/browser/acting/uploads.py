"""Files that an agent may upload, by name, and the file dialogs and drop zones that receive them."""

from __future__ import annotations

import base64
import mimetypes
from collections.abc import Mapping, Sequence
from pathlib import Path

from playwright.async_api import FileChooser

from pytest_webarena.browser.acting import scripts
from pytest_webarena.browser.acting.targets import TargetOnPage
from pytest_webarena.browser.faults import ActionFailed
from pytest_webarena.browser.loop import Deadline
from pytest_webarena.browser.tabs.tab import Tab
from pytest_webarena.errors import TaskError, closest

__all__ = ["allowed_files", "drop_files", "file_dialog", "grant_lease", "list_uploads"]

_LARGEST_DROP = 50_000_000
"""Maximum size in bytes of the files that are dropped together: their content is sent by the browser's protocol."""


def allowed_files(uploads: Mapping[str, Path], names: Sequence[str]) -> list[Path]:
    """Return the files of ``names``; `ActionFailed` for a name that is not in ``uploads``.

    `TaskError` if a configured file does not exist.
    """
    if not names:
        raise ActionFailed(f"Say which file to upload. {list_uploads(uploads)}")
    for name in names:
        if name not in uploads:
            hint = f" ({closest(name, uploads)})" if uploads else ""
            raise ActionFailed(f"There is no file {name[:100]!r} to upload{hint}. {list_uploads(uploads)}")
        if not uploads[name].is_file():
            raise TaskError(f"uploads: expected a file for {name!r}, found none at {uploads[name]}")
    return [uploads[name].absolute() for name in names]


def list_uploads(uploads: Mapping[str, Path]) -> str:
    """Return a sentence that lists the files."""
    if not uploads:
        return "There are no files to upload."
    return f"Available files: {', '.join(uploads)}."


async def file_dialog(tab: Tab, seconds: float) -> FileChooser | None:
    """Wait for the file dialog of ``tab`` and return it; it counts as answered. None if there is none in time."""
    limit = Deadline(seconds)
    while tab.file_dialog is None:
        if limit.over:
            return None
        await tab.wait_for_activity(limit.left())
    chooser, tab.file_dialog = tab.file_dialog, None
    return chooser


async def drop_files(target: TargetOnPage, paths: Sequence[Path]) -> None:
    """Drop ``paths`` onto ``target``, which opened no file dialog."""
    size = sum(path.stat().st_size for path in paths)
    if size > _LARGEST_DROP:
        raise ActionFailed(
            f"The files have {size / 1e6:.0f} MB; at most {_LARGEST_DROP / 1e6:.0f} MB can be dropped. "
            "Upload them to a file field."
        )
    files = [
        {
            "name": path.name,
            "type": mimetypes.guess_type(path.name)[0] or "",
            "content": base64.b64encode(path.read_bytes()).decode(),
        }
        for path in paths
    ]
    if not await target.call(scripts.DROP, files):
        raise ActionFailed(
            "Clicking the element opened no file dialog, and no files can be dropped on it; upload to a file field, a "
            "button that opens a dialog, or a drop zone."
        )


async def grant_lease(tab: Tab, chooser: FileChooser, paths: Sequence[Path], seconds: float) -> None:
    """Choose ``paths`` in the dialog."""
    if len(paths) > 1 and not chooser.is_multiple():
        raise ActionFailed("Only one file can be chosen here.")
    await tab.run(chooser.set_files(list(paths)), seconds, "choosing files")
