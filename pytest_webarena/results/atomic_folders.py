"""Atomic creation of folders: they are filled in a temporary place and moved when they are complete."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pytest_webarena.errors import UsageError

__all__ = ["copy_missing", "copy_plain", "made_whole", "require_new"]


def require_new(target: Path) -> None:
    """Raise `UsageError` unless ``target`` can be a new folder: it does not exist, or is an empty folder."""
    if target.is_symlink() or (target.exists() and not target.is_dir()):
        found = "a link" if target.is_symlink() else "a file"
        raise UsageError(f"{target}: expected a new or empty directory, found {found}; name another with -o")
    try:
        used = target.exists() and any(target.iterdir())
    except OSError as error:
        raise UsageError(
            f"{target}: expected a new or empty directory, found one that can't be read: {error.strerror}"
        ) from None
    if used:
        raise UsageError(f"{target}: expected a new or empty directory, found one with files; name another with -o")


@contextmanager
def made_whole(target: Path) -> Iterator[Path]:
    """Yield an empty folder to fill, and move it to ``target`` when the block ends.

    After an error ``target`` does not exist; a killed process leaves a hidden folder next to it. Raises `UsageError`
    when ``target`` exists, also if it was created while the folder was filled.
    """
    require_new(target)
    target = target.resolve()  # it is not a link, but its name may be "."
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        workplace = Path(tempfile.mkdtemp(prefix=f".{target.name}-", dir=target.parent))
    except OSError as error:
        raise UsageError(f"{target}: expected a place for a directory, found: {error.strerror or error}") from None
    try:
        made = workplace / target.name  # not the temporary folder itself, which only its owner may read
        made.mkdir()
        yield made
        os.rename(made, target)  # replaces an empty folder, and nothing else
    except OSError as error:
        raise UsageError(
            f"{target}: expected a writable place for a new directory, found: {error}; name another with -o"
        ) from None
    finally:
        shutil.rmtree(workplace, ignore_errors=True)


def copy_plain(source: Path, target: Path, *, replace: bool = True) -> None:
    """Copy the folder ``source``, which may come from somebody else, to ``target``.

    ``replace`` says whether files that are there already are replaced.

    Raises `UsageError` for a link or a special file at any depth, because it may lead outside of ``source``.
    """
    if source.is_symlink():
        raise UsageError(_refused(source, "a link"))
    target.mkdir(parents=True, exist_ok=True)
    for entry in sorted(os.scandir(source), key=lambda each: each.name):
        if entry.is_symlink():
            raise UsageError(_refused(Path(entry.path), "a link"))
        if entry.is_dir(follow_symlinks=False):
            copy_plain(Path(entry.path), target / entry.name, replace=replace)
        elif entry.is_file(follow_symlinks=False):
            if replace or not (target / entry.name).exists():
                _copy_file(Path(entry.path), target / entry.name)
        else:
            raise UsageError(_refused(Path(entry.path), "a special file"))


def copy_missing(source: Path, target: Path) -> None:
    """Copy the files of the folder ``source`` that ``target`` lacks. Raises `UsageError` as `copy_plain` does."""
    copy_plain(source, target, replace=False)


def _copy_file(source: Path, target: Path) -> None:
    try:
        opened = os.open(source, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)  # a link may have replaced the file since
    except OSError as error:
        raise UsageError(f"{source}: expected a file that can be read, found: {error.strerror}") from None
    with open(opened, "rb") as read, target.open("wb") as written:
        shutil.copyfileobj(read, written, 1 << 20)
    shutil.copystat(source, target, follow_symlinks=False)


def _refused(path: Path, found: str) -> str:
    return f"{path}: expected only files and folders, found {found}; remove it, or put what it leads to in its place"
