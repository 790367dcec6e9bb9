"""Masks secrets in the files of an attempt that were written before the secrets were known, or by other programs."""

from __future__ import annotations

import os
import zipfile
from pathlib import Path

from pytest_webarena.credentials import in_pages
from pytest_webarena.errors import recording
from pytest_webarena.record_files import is_attempt_file, is_evidence
from pytest_webarena.secrets import any_known, learn, scrub_bytes

__all__ = ["learn_trace", "redact_evidence", "redact_records"]

_PICTURES = (".gif", ".jpeg", ".jpg", ".png", ".webm", ".webp")
"""Files in which no text can be found."""


def learn_trace(attempt: Path) -> None:
    """Learn the credentials in pages and scripts of Playwright's trace, which may be in no other record."""
    if not zipfile.is_zipfile(trace := attempt / "trace.zip"):
        return
    with zipfile.ZipFile(trace) as archive:
        for name in archive.namelist():
            if not name.endswith(_PICTURES):
                learn(in_pages([archive.read(name).decode("utf-8", "replace")]))


def redact_evidence(attempt: Path) -> None:
    """Mask the evidence written so far. Called before its digests are made."""
    _redact(attempt, evidence=True)


def redact_records(attempt: Path) -> None:
    """Mask the other records, and in an attempt without evidence all of them. Called before the manifest is made."""
    _redact(attempt, evidence=False)
    if not (attempt / "evidence.json").exists():
        _redact(attempt, evidence=True)


def _redact(attempt: Path, *, evidence: bool) -> None:
    for file in sorted(attempt.rglob("*")) if any_known() else ():
        name = file.relative_to(attempt).as_posix()
        if not is_attempt_file(name) or is_evidence(name) != evidence or file.is_symlink() or not file.is_file():
            continue
        if not name.endswith(_PICTURES):
            with recording(file):
                _redact_file(file)


def _redact_file(file: Path) -> None:
    new = file.with_name(f".{file.name}.{os.getpid()}.tmp")
    try:
        if zipfile.is_zipfile(file):
            changed = _redact_archive(file, new)
        elif changed := (masked := scrub_bytes(data := file.read_bytes())) != data:
            new.write_bytes(masked)
        if changed:
            new.replace(file)
    finally:
        new.unlink(missing_ok=True)


def _redact_archive(file: Path, new: Path) -> bool:
    """Write the archive to ``new`` with its members masked; return whether any of them changed."""
    changed = False
    with zipfile.ZipFile(file) as old, zipfile.ZipFile(new, "w", zipfile.ZIP_DEFLATED) as made:
        for member in old.infolist():
            data = old.read(member)
            masked = data if member.filename.endswith(_PICTURES) else scrub_bytes(data)
            changed = changed or masked != data
            made.writestr(member, masked)
    return changed
