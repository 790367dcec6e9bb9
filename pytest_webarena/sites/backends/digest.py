"""Digest of a directory: equal when nobody who looks into it could see a difference.

Arguments: the directory, and ``exact`` or ``contents``. Prints 32 hex digits; with a third argument the entries, one a
line. Also run by the Python of a container: standard library only, from 3.7 on.
"""

import hashlib
import os
import stat
import sys
import typing

CHUNK = 1 << 20
PASSING = ("-shm", "-wal", "-journal")


class TooMuch(Exception):
    """There is more to read than was allowed."""


def digest(directory: str, exact: bool, limit: "int | None" = None) -> str:
    """Hex digest of `entries`."""
    result = hashlib.blake2b(digest_size=16)
    for entry in entries(directory, exact, limit):
        result.update(entry.encode("utf-8", "surrogateescape") + b"\0")
    return result.hexdigest()


def entries(directory: str, exact: bool, limit: "int | None" = None) -> "typing.Iterator[str]":
    """A line for everything below ``directory``, in order: what it holds, and its path.

    With ``exact`` also modes, owners and, of files, times of change: what a server tells of its files
    (``Last-Modified``, entity tags) follows them. Times of directories don't count, as files that come and go leave
    them changed. Raises `TooMuch` when there are more than ``limit`` bytes to read, `OSError` for what can't be read.
    """
    total = 0
    for folder, folders, files in os.walk(directory, onerror=stop):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            found = os.lstat(path)
            if passing(path, found.st_size):
                continue
            seen = [stat.filemode(found.st_mode)[0]]
            if exact and not stat.S_ISLNK(found.st_mode):
                seen.append(f"{stat.S_IMODE(found.st_mode):o} {found.st_uid}:{found.st_gid}")
            if stat.S_ISLNK(found.st_mode):
                seen.append(os.readlink(path))
            elif stat.S_ISREG(found.st_mode):
                total += found.st_size
                if limit is not None and total > limit:
                    raise TooMuch(directory)
                seen.append(content(path))
                if exact:
                    seen.append(str(found.st_mtime_ns))
            yield " ".join(seen) + " " + os.path.relpath(path, directory)


def passing(path: str, size: int) -> bool:
    """Whether a file comes and goes with readers of the SQLite database beside it. Logs with content do not."""
    for end in PASSING:
        if path.endswith(end) and os.path.isfile(path[: -len(end)]):
            return end == "-shm" or size == 0
    return False


def content(path: str) -> str:
    """Hex digest of a file."""
    result = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        chunk = file.read(CHUNK)
        while chunk:
            result.update(chunk)
            chunk = file.read(CHUNK)
    return result.hexdigest()


def stop(error: OSError) -> None:
    """Not to be silent about what can't be read."""
    raise error


if __name__ == "__main__":
    if len(sys.argv) > 3:
        for line in entries(sys.argv[1], sys.argv[2] == "exact"):
            print(ascii(line))
    else:
        print(digest(sys.argv[1], sys.argv[2] == "exact"))
