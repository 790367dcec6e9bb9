"""Writer of attachments in the directory of Allure results."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from uuid import uuid4

from allure_commons.model2 import Attachment

from pytest_webarena.text import printable

__all__ = ["Attachments"]

_KINDS = {
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".txt": "text/plain",
    ".json": "application/json",
    ".csv": "text/csv",
    ".log": "text/plain",
    ".html": "text/html",
    ".zip": "application/vnd.allure.playwright-trace",  # the only archives are traces
}


class Attachments:
    """Gives each use of a file a separate name, because Allure 3 shows each attachment in one place only."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def file(self, name: str, path: Path) -> Attachment | None:
        """Attach a file; None when it does not exist (``--record`` may have dropped it).

        Where both directories are on one file system it is linked, not copied, because pictures are most of a report's
        size.
        """
        attachment, target = self._new(name, path.suffix)
        try:
            os.link(path, target)
        except OSError:
            try:
                shutil.copyfile(path, target)
            except OSError:
                return None
        return attachment

    def text(self, name: str, text: str, suffix: str = ".txt") -> Attachment:
        """Attach a text."""
        attachment, target = self._new(name, suffix)
        shown = text if suffix == ".html" else printable(text)  # in HTML it is escaped, and it is not part of a log
        target.write_text(shown, encoding="utf-8", errors="replace")
        return attachment

    def _new(self, name: str, suffix: str) -> tuple[Attachment, Path]:
        source = f"{uuid4()}-attachment{suffix}"
        self._directory.mkdir(parents=True, exist_ok=True)
        kind = _KINDS.get(suffix, "application/octet-stream")
        return Attachment(name=name, source=source, type=kind), self._directory / source
