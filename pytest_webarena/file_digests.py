"""Digests by which later readers notice that files of a run were edited or damaged. They are no signature: whoever has
this package can compute them again.

A sealed file is a JSON object whose last key is the SHA-256 of the rest. The manifest of an attempt lists its other
files. The trial's sealed record has the digest of each manifest, so it covers everything below it.

Standard library only, because the watchdog runs this file without the package.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

__all__ = [
    "MANIFEST",
    "PRUNED",
    "SEAL",
    "changed_files",
    "is_prunable",
    "note_pruned",
    "pruned_parts",
    "seal",
    "seal_fault",
    "write_manifest",
]

MANIFEST = "manifest.json"
"""File of an attempt with the size in bytes and the SHA-256 of each of its other files, by name."""
PRUNED = "pruned.json"
"""File of an attempt with the names of files and folders that ``--record`` and its like removed."""
SEAL = "sha256"
"""Last key of a sealed file: SHA-256 of the file's bytes with an empty value here."""

_EMPTY = f'"{SEAL}": ""'
_SEALED = re.compile(rf'"{SEAL}": "([0-9a-f]{{64}})"(\s*\}}\s*)\Z'.encode())
_PRUNABLE = frozenset({"screenshots", "observations", "model_calls", "intent_images", "videos", "trace.zip"})
"""Parts of an attempt that no verdict depends on."""
_UNLISTED = frozenset({MANIFEST, PRUNED, "trial.json"})
"""Files that are written after the manifest. A record that was set aside is sealed itself."""


def seal(data: Mapping[str, Any], *, mask: Callable[[str], str] = str, indent: int = 1) -> str:
    """Return the text of a sealed file with ``data``. ``mask`` changes the text before its digest is computed.

    >>> seal_fault(seal({"outcome": "failed"}).encode()), seal_fault(b'{"outcome": "failed"}')
    ('', 'it has no digest')
    >>> seal_fault(seal({"outcome": "failed"}).replace("failed", "passed").encode())
    'it was changed after it was written'
    """
    body = {name: value for name, value in data.items() if name != SEAL}
    text = mask(json.dumps({**body, SEAL: ""}, indent=indent, default=str))
    digest = _digest(text.encode("utf-8", "surrogatepass"))
    head, _, tail = text.rpartition(_EMPTY)
    return f'{head}"{SEAL}": "{digest}"{tail}'


def seal_fault(content: bytes) -> str:
    """Return why the content of a file is not that of an unchanged sealed file; empty if it is."""
    if (found := _SEALED.search(content, max(0, len(content) - 200))) is None:
        return "it has no digest"
    whole = content[: found.start()] + _EMPTY.encode() + found[2]
    return "" if _digest(whole) == found[1].decode() else "it was changed after it was written"


def write_manifest(attempt: Path, *, wanted: Callable[[str], bool]) -> str:
    """Write the manifest of a finished attempt atomically; return its SHA-256. Raises `OSError`.

    ``wanted`` chooses files by their names relative to the attempt's folder.
    """
    listed = {}
    for name in _names(attempt):
        if wanted(name):
            content = (attempt / name).read_bytes()
            listed[name] = {"size": len(content), "sha256": _digest(content)}
    text = json.dumps({"schema_version": 1, "files": listed}, indent=1)
    temporary = attempt / f".{MANIFEST}.{os.getpid()}.tmp"
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(attempt / MANIFEST)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink()
    return _digest(text.encode())


def note_pruned(attempt: Path, names: Iterable[str]) -> None:
    """Write down that files or folders of the attempt are removed on purpose, before they are. Raises `OSError`."""
    known = pruned_parts(attempt)
    if (attempt / MANIFEST).exists() and not known.issuperset(names):
        (attempt / PRUNED).write_text(json.dumps(sorted({*known, *names})), encoding="utf-8")


def changed_files(
    attempt: Path, manifest: str, *, wanted: Callable[[str], bool], added: Callable[[str], bool]
) -> Iterator[str]:
    """Yield a message for each file of an attempt that is not as it was when the attempt ended; first the manifest.

    ``manifest`` is the SHA-256 of the manifest. ``wanted`` chooses the files to examine by name, ``added`` those that
    nobody may add later.
    """
    file = attempt / MANIFEST
    try:
        content = file.read_bytes()
        if _digest(content) != manifest:
            yield f"{file}: expected the manifest as it was written, found it changed"
            return
        listed = json.loads(content)["files"]
    except (OSError, ValueError, KeyError, TypeError):
        yield f"{file}: expected the manifest of a finished attempt, found none"
        return
    pruned = pruned_parts(attempt)
    for name, known in listed.items():
        if not wanted(name):
            continue
        try:
            found = (attempt / name).read_bytes()
        except OSError as error:
            if not pruned.intersection({name, name.partition("/")[0]}):
                yield f"{attempt / name}: expected a file of the attempt, found none: {error.strerror}"
            continue
        if len(found) != known["size"] or _digest(found) != known["sha256"]:
            yield f"{attempt / name}: expected the file as written, found it cut or changed"
    for name in _names(attempt):
        if name not in listed and added(name) and wanted(name):
            yield f"{attempt / name}: expected no such file, found one that was added after the attempt"


def is_prunable(name: str) -> bool:
    """Return whether ``name``, relative to an attempt's folder, is in a part that no verdict depends on.

    >>> [is_prunable(name) for name in ("screenshots/000.png", "trace.zip", "steps.jsonl")]
    [True, True, False]
    """
    return name.partition("/")[0] in _PRUNABLE


def pruned_parts(attempt: Path) -> set[str]:
    """Return the names of the attempt's files and folders that were removed on purpose."""
    try:
        found = json.loads((attempt / PRUNED).read_text(encoding="utf-8"))
        return {name for name in found if name in _PRUNABLE}
    except (OSError, ValueError, TypeError):
        return set()


def _names(attempt: Path) -> list[str]:
    """Names of the attempt's own files, relative to its folder, without links."""
    found = []
    for above, _, names in os.walk(attempt):
        for name in names:
            path = Path(above) / name
            if not path.is_symlink() and path.is_file():
                found.append(path.relative_to(attempt).as_posix())
    return sorted(name for name in found if name not in _UNLISTED)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
