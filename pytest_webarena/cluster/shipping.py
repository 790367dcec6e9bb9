"""Transport of trial folders between machines: pack, unpack as untrusted data, install atomically."""

from __future__ import annotations

import io
import json
import os
import shutil
import tarfile
import uuid
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path, PurePosixPath

from pytest_webarena.errors import HarnessError
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.lost_trials import FILE, forget_lost

__all__ = ["install", "pack", "pack_outline", "unpack"]

_MOST = 4 << 30
"""Maximum size of one trial's folder, in bytes; the largest seen (traces, videos) have some hundred million."""
_OUTLINE = ("trial.json", "started.json")


def pack(folder: Path, *, wanted: Callable[[Path], bool] = lambda file: True) -> bytes:
    """All files below ``folder``, or the ``wanted`` ones, as a gzipped tar archive; empty when there is no such
    folder."""
    if not folder.is_dir():
        return b""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not (path.is_dir() or (path.is_file() and wanted(path))):
                continue
            with suppress(FileNotFoundError):  # a trial that is being cancelled may still remove files
                archive.add(path, arcname=path.relative_to(folder).as_posix(), recursive=False)
    return packed.getvalue()


def pack_outline(folder: Path) -> bytes:
    """The files that a further attempt needs to know of earlier ones: their number and records."""
    return pack(folder, wanted=lambda file: file.name in _OUTLINE)


def unpack(data: bytes, target: Path) -> None:
    """Extract files and folders below ``target``. `HarnessError` for links, devices, and names that lead out of it.

    Nodes are trusted, but the content of a trial's folder may come from an agent.
    """
    target.mkdir(parents=True, exist_ok=True)
    remaining_bytes = _MOST
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            for member in archive:
                place = _inside(target, member)
                remaining_bytes -= member.size
                if remaining_bytes < 0:
                    raise HarnessError(f"expected at most {_MOST >> 30} GiB in a trial's folder, found more")
                if member.isdir():
                    place.mkdir(parents=True, exist_ok=True)
                    continue
                place.parent.mkdir(parents=True, exist_ok=True)
                source = archive.extractfile(member)
                assert source is not None, "regular files have content"
                with source, place.open("xb") as file:
                    shutil.copyfileobj(source, file)
    except (tarfile.TarError, EOFError, FileExistsError, NotADirectoryError) as error:
        raise HarnessError(
            f"expected a trial's folder from a node, found an archive that can't be read: {error}"
        ) from None


def _inside(target: Path, member: tarfile.TarInfo) -> Path:
    name = PurePosixPath(member.name)
    if not (member.isreg() or member.isdir()):
        raise HarnessError(f"expected only files and folders from a node, found {member.name!r}, which is neither")
    if name.is_absolute() or ".." in name.parts or "\0" in member.name or "\\" in member.name:
        raise HarnessError(f"expected names inside the trial's folder from a node, found {member.name!r}")
    return target.joinpath(*name.parts)


def install(data: bytes, folder: Path, *, since: float = 0.0) -> None:
    """Put a folder that came from a node in its place, all at once or not at all.

    Where the run has the trial already (``--resume``, reruns), new attempts are added to the existing ones, and the
    record is replaced last. ``since`` is the Unix time at which this run began; clocks of nodes may be behind.
    """
    if not data:
        return
    incoming = folder.parent / f".incoming-{uuid.uuid4().hex}"
    try:
        unpack(data, incoming)
        _not_before(incoming / "started.json", since)
        try:
            incoming.rename(folder)
        except OSError:
            if not folder.is_dir():
                raise
            _add(incoming, folder)
    finally:
        shutil.rmtree(incoming, ignore_errors=True)


def _add(incoming: Path, folder: Path) -> None:
    for attempt in sorted(incoming.glob("attempt-*")):
        own = folder / attempt.name
        if own.is_dir() and [each.name for each in own.iterdir()] == [FILE]:  # the note on its start
            shutil.rmtree(own)
        if not own.exists():
            attempt.rename(own)
        elif (record := attempt / "trial.json").exists():  # the earlier record, set aside when the trial was reopened
            os.replace(record, own / "trial.json")
    for file in sorted(incoming.iterdir()):
        if file.is_file() and file.name not in _OUTLINE:
            os.replace(file, folder / file.name)
    if (incoming / "trial.json").exists():
        forget_lost(folder)
    else:  # the trial was cancelled, so it is open again
        (folder / "trial.json").unlink(missing_ok=True)
    for name in reversed(_OUTLINE):  # the record is written last
        if (incoming / name).exists():
            os.replace(incoming / name, folder / name)


def _not_before(started: Path, since: float) -> None:
    """Set the trial's start to at least ``since``, because the end of the run compares it, and the node's clock may be
    behind."""
    with suppress(OSError, ValueError):
        content = json.loads(started.read_text(encoding="utf-8"))
        if content["time"] < since:
            write_atomically(started, json.dumps({**content, "time": since}))
