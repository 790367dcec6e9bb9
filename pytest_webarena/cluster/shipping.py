"""Folders of trials on their way between machines: packed, unpacked without trust, and put in their place at once."""

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

__all__ = ["install", "pack", "pack_outline", "unpack"]

_MOST = 4 << 30
"""Bytes that one trial's folder may have; the largest seen (traces, videos) have some hundred million."""
_OUTLINE = ("trial.json", "started.json")


def pack(folder: Path, *, wanted: Callable[[Path], bool] = lambda file: True) -> bytes:
    """All files below ``folder``, or those that are ``wanted``; empty when there is no such folder."""
    if not folder.is_dir():
        return b""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz", compresslevel=1) as archive:
        for path in sorted(folder.rglob("*")):
            if path.is_symlink() or not (path.is_dir() or (path.is_file() and wanted(path))):
                continue
            with suppress(FileNotFoundError):  # a trial that is being broken off still tidies up
                archive.add(path, arcname=path.relative_to(folder).as_posix(), recursive=False)
    return packed.getvalue()


def pack_outline(folder: Path) -> bytes:
    """What a further attempt must know of those before it: how many there were, and their records."""
    return pack(folder, wanted=lambda file: file.name in _OUTLINE)


def unpack(data: bytes, target: Path) -> None:
    """Files and folders below ``target``, and nothing else: `HarnessError` for links, devices, and names that lead out.

    Nodes are ours, but what agents leave in a trial's folder is theirs.
    """
    target.mkdir(parents=True, exist_ok=True)
    left = _MOST
    try:
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:gz") as archive:
            for member in archive:
                place = _inside(target, member)
                left -= member.size
                if left < 0:
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
        raise HarnessError(f"expected files and folders alone from a node, found {member.name!r}, which is neither")
    if name.is_absolute() or ".." in name.parts or "\0" in member.name or "\\" in member.name:
        raise HarnessError(f"expected names inside the trial's folder from a node, found {member.name!r}")
    return target.joinpath(*name.parts)


def install(data: bytes, folder: Path, *, since: float = 0.0) -> None:
    """Put a folder that came from a node in its place: all at once, or not at all.

    Where the run has the trial already (``--resume``, reruns), attempts that are new come beside those there are, and
    the record last. ``since``: when this run began, in Unix time; clocks of nodes may be behind.
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
        if not (folder / attempt.name).exists():
            attempt.rename(folder / attempt.name)
        elif (record := attempt / "trial.json").exists():  # a record that was put aside when the trial was opened again
            os.replace(record, folder / attempt.name / "trial.json")
    for file in sorted(incoming.iterdir()):
        if file.is_file() and file.name not in _OUTLINE:
            os.replace(file, folder / file.name)
    if not (incoming / "trial.json").exists():  # open again: it was broken off
        (folder / "trial.json").unlink(missing_ok=True)
    for name in reversed(_OUTLINE):  # the record last
        if (incoming / name).exists():
            os.replace(incoming / name, folder / name)


def _not_before(started: Path, since: float) -> None:
    """Have the trial begun in this run, as it has, whatever the node's clock says: the run's end looks for that."""
    with suppress(OSError, ValueError):
        told = json.loads(started.read_text(encoding="utf-8"))
        if told["time"] < since:
            write_atomically(started, json.dumps({**told, "time": since}))
