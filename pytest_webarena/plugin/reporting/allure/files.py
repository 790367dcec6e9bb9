"""Writer of attachments in the directory of Allure results."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

from allure_commons.model2 import Attachment

from pytest_webarena.plugin.reporting.allure.pictures import WIDTH, report_picture
from pytest_webarena.text import printable

if TYPE_CHECKING:
    from pytest_webarena.evidence import TargetRecord

__all__ = ["Attachments"]

_KINDS = {
    ".jpg": "image/jpeg",
    ".png": "image/png",
    ".webp": "image/webp",
    ".gif": "image/gif",
    ".txt": "text/plain",
    ".json": "application/json",
    ".csv": "text/csv",
    ".diff": "text/plain",
    ".log": "text/plain",
    ".html": "text/html",
    ".zip": "application/vnd.allure.playwright-trace",  # the only archives are traces
}


class Attachments:
    """Gives each use of a file a name of its own: Allure 3 shows a file in one place, and reports it as missing in
    every other one."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def file(self, name: str, path: Path) -> Attachment | None:
        """Attach a file; None when it does not exist (``--record`` may have dropped it).

        Where both directories are on one file system it is linked, not copied.
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

    def picture(
        self, name: str, path: Path, *, width: int = WIDTH, target: TargetRecord | None = None
    ) -> Attachment | None:
        """Attach a screenshot in the report's size, with ``target`` marked; one that can't be read as it is."""
        if (content := report_picture(path, width=width, target=target)) is None:
            return self.file(name, path)
        attachment, place = self._new(name, ".webp")
        place.write_bytes(content)
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
