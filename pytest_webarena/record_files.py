"""Names of the record files in a trial's folder, the only ones in manifests and exports, and a check for links.

The folder may come from somebody else. Pytest runs files by their names (``conftest.py``, ``test*.txt``), and a link
may lead to any file that the reader can access.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

__all__ = ["is_attempt_file", "is_evidence", "is_record", "require_plain"]

_EVIDENCE = r"evidence\.json|steps\.jsonl|network\.jsonl|browser_events\.jsonl"
_TRIAL = r"trial\.json|started\.json|labels\.jsonl|unreadable-[0-9]+\.json"
_ATTEMPT = (
    rf"trial\.json|manifest\.json|pruned\.json|{_EVIDENCE}|monitor\.jsonl|replay\.txt|trace\.zip"
    r"|traceback\.txt|agent-traceback\.txt|agent-stderr\.txt|memory-before\.txt|memory-after\.txt"
)
_FOLDERS = {
    "tabs": r"[0-9]+\.html",
    "pages": r"[0-9]+\.html",
    "observations": r"[0-9]+\.(?:txt|json)",
    "screenshots": r"(?:[0-9]+|final)\.(?:png|jpg|webp)",
    "intent_images": r"[0-9]+\.(?:png|jpg|webp|gif)",
    "model_calls": r"(?:[0-9]+|memory)\.json",
    "videos": r"[0-9A-Za-z_@-]+\.webm",
}
_BELOW = "|".join(f"{name}/(?:{names})" for name, names in _FOLDERS.items())
_IN_ATTEMPT = re.compile(rf"{_ATTEMPT}|{_BELOW}")
_RECORD = re.compile(rf"(?:{_TRIAL}|attempt-[1-9][0-9]*/(?:{_IN_ATTEMPT.pattern}))")
_JUDGED = re.compile(rf"{_EVIDENCE}|(?:tabs|pages)/[0-9]+\.html")
_FOLDER = re.compile(rf"attempt-[1-9][0-9]*(?:/(?:{'|'.join(_FOLDERS)}))?")


def is_record(name: str) -> bool:
    """Return whether ``name``, relative to a trial's folder, is that of a record; agents' own files are not records.

    >>> [is_record(name) for name in ("trial.json", "attempt-1/screenshots/000.png", "attempt-1/conftest.py", "../x")]
    [True, True, False, False]
    """
    return _RECORD.fullmatch(name) is not None


def is_attempt_file(name: str) -> bool:
    """Return whether ``name``, relative to an attempt's folder, is that of a record."""
    return _IN_ATTEMPT.fullmatch(name) is not None


def is_evidence(name: str) -> bool:
    """Return whether ``name``, relative to an attempt's folder, is that of a file from which checks are judged.

    >>> [is_evidence(name) for name in ("steps.jsonl", "tabs/0.html", "screenshots/000.png")]
    [True, True, False]
    """
    return _JUDGED.fullmatch(name) is not None


def require_plain(folder: Path) -> None:
    """Raise `ValueError` when a trial's folder, or a record or folder of records in it, is a link or a special file."""
    if folder.is_symlink():
        raise ValueError(f"{folder}: expected a trial's folder, found a link; replace it with its target")
    pending = [("", folder)]
    while pending:
        above, directory = pending.pop()
        try:
            entries = list(os.scandir(directory))
        except OSError:
            continue  # the code that reads it reports the reason
        for entry in entries:
            name = f"{above}{entry.name}"
            if (is_folder := _FOLDER.fullmatch(name) is not None) or is_record(name):
                if entry.is_symlink() or not (entry.is_dir() or entry.is_file()):
                    found = "a link" if entry.is_symlink() else "a special file"
                    raise ValueError(f"{entry.path}: expected a file or folder of the trial, found {found}")
                if is_folder and entry.is_dir():
                    pending.append((f"{name}/", Path(entry.path)))
