"""Files that an agent may upload, by name, and the fields, file dialogs and drop zones that receive them."""

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
from pytest_webarena.evidence import TargetRecord

__all__ = ["allowed_files", "choose_in_field", "drop_files", "file_dialog", "grant_lease", "list_uploads"]

_LARGEST = 50_000_000
"""Maximum size in bytes of files without a file dialog, together: the browser's protocol sends their content."""
_ONLY_ONE = "Only one file can be chosen here."
_FIELD_STATES = {"disabled": "The file field is disabled.", "folder": "The field takes a folder, and no files."}


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


async def choose_in_field(tab: Tab, target: TargetOnPage, paths: Sequence[Path]) -> TargetRecord | None:
    """Choose ``paths`` in the file field that ``target`` is, labels or contains, visible or not; return its record.

    None if there is no such field, or if the files are too large, so that only a file dialog can take them.
    """
    field = await target.call(scripts.FILE_FIELD)
    if field is None or _size(paths) > _LARGEST:
        return None
    record = TargetRecord(**field["record"])
    if field["state"] != "ready":
        raise ActionFailed(_FIELD_STATES[field["state"]])
    if len(paths) > 1 and not field["several"]:
        raise ActionFailed(_ONLY_ONE)
    await target.call(scripts.CHOOSE_FILES, _contents(paths), tab.dom_events.new_token())
    return record


async def drop_files(target: TargetOnPage, paths: Sequence[Path]) -> None:
    """Drop ``paths`` onto ``target``, which opened no file dialog."""
    if (size := _size(paths)) > _LARGEST:
        raise ActionFailed(
            f"The files have {size / 1e6:.0f} MB; at most {_LARGEST / 1e6:.0f} MB can be dropped. "
            "Upload them to a visible file field."
        )
    if not await target.call(scripts.DROP, _contents(paths)):
        raise ActionFailed(
            "Clicking the element opened no file dialog, and no files can be dropped on it; upload to a file field, a "
            "button that opens a dialog, or a drop zone."
        )


async def grant_lease(tab: Tab, chooser: FileChooser, paths: Sequence[Path], seconds: float) -> None:
    """Choose ``paths`` in the dialog."""
    if len(paths) > 1 and not chooser.is_multiple():
        raise ActionFailed(_ONLY_ONE)
    await tab.run(chooser.set_files(list(paths)), seconds, "choosing files")


def _size(paths: Sequence[Path]) -> int:
    return sum(path.stat().st_size for path in paths)


def _contents(paths: Sequence[Path]) -> list[dict[str, str]]:
    return [
        {
            "name": path.name,
            "type": mimetypes.guess_type(path.name)[0] or "",
            "content": base64.b64encode(path.read_bytes()).decode(),
        }
        for path in paths
    ]
