"""Digest of a directory: equal for directories whose contents can't be distinguished.

It is also run by the Python of a container: standard library only, from 3.7 on. Arguments: the directory, and ``exact``
or ``contents`` for 32 hex digits, ``list`` for all entries, one per line, or ``threads`` for the ids of all threads of
the container except those of programs that were started from outside. Without arguments it reads them from stdin, one
JSON list per line, until the end of input, and answers each with a line ``[exit code, output]``.
"""

import hashlib
import json
import os
import stat
import sys
import typing

CHUNK = 1 << 20
PASSING = ("-shm", "-wal", "-journal")


class TooMuch(Exception):
    """There is more to read than the limit allows."""


def digest(directory: str, exact: bool, limit: "int | None" = None) -> str:
    """Returns the hex digest of `entries`."""
    result = hashlib.blake2b(digest_size=16)
    for entry in entries(directory, exact, limit):
        result.update(entry.encode("utf-8", "surrogateescape") + b"\0")
    return result.hexdigest()


def entries(directory: str, exact: bool, limit: "int | None" = None) -> "typing.Iterator[str]":
    """Yields a line for everything below ``directory``, in order: its type and content, a tab, its path.

    With ``exact`` it includes modes, owners and, for files, modification times, because a server's headers
    (``Last-Modified``, entity tags) depend on them. Times of directories are left out, because temporary files change
    them. Raises `TooMuch` when there are more than ``limit`` bytes to read, `OSError` for what can't be read.
    """
    total = 0
    for folder, folders, files in os.walk(directory, onerror=stop):
        folders.sort()
        for name in sorted(folders + files):
            path = os.path.join(folder, name)
            found = os.lstat(path)
            if passing(path, found.st_size):
                continue
            fields = [stat.filemode(found.st_mode)[0]]
            if exact and not stat.S_ISLNK(found.st_mode):
                fields.append(f"{stat.S_IMODE(found.st_mode):o} {found.st_uid}:{found.st_gid}")
            if stat.S_ISLNK(found.st_mode):
                fields.append(os.readlink(path))
            elif stat.S_ISREG(found.st_mode):
                total += found.st_size
                if limit is not None and total > limit:
                    raise TooMuch(directory)
                fields.append(content(path))
                if exact:
                    fields.append(str(found.st_mtime_ns))
            yield " ".join(fields) + "\t" + os.path.relpath(path, directory)


def passing(path: str, size: int) -> bool:
    """Whether a file only exists while the SQLite database next to it is read. Logs with content do not count."""
    for end in PASSING:
        if path.endswith(end) and os.path.isfile(path[: -len(end)]):
            return end == "-shm" or size == 0
    return False


def content(path: str) -> str:
    """Returns the hex digest of a file."""
    result = hashlib.blake2b(digest_size=16)
    with open(path, "rb") as file:
        chunk = file.read(CHUNK)
        while chunk:
            result.update(chunk)
            chunk = file.read(CHUNK)
    return result.hexdigest()


def stop(error: OSError) -> None:
    """Raise the error, so that unreadable entries are not skipped silently."""
    raise error


def threads() -> "list[int]":
    """Returns the ids of threads, except those of programs from outside, which have no parent here."""
    parents = {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open("/proc/" + entry + "/stat", errors="replace") as file:
                    state, parent = file.read().rpartition(")")[2].split()[:2]
            except OSError:
                continue  # it has ended
            if state not in "ZX":
                parents[int(entry)] = int(parent)
    outside = {pid for pid, parent in parents.items() if parent == 0 and pid != 1}
    before = -1
    while len(outside) > before:
        before = len(outside)
        outside.update(pid for pid, parent in parents.items() if parent in outside)
    found = []
    for pid in parents:
        if pid not in outside:
            try:
                found += [int(entry) for entry in os.listdir("/proc/" + str(pid) + "/task")]
            except OSError:
                continue
    return found


def answer(directory: str, what: str) -> str:
    """Returns the text to print."""
    if what == "list":
        return "\n".join(json.dumps(entry) for entry in entries(directory, True))
    return json.dumps(threads()) if what == "threads" else digest(directory, what == "exact")


def serve() -> None:
    """Answer questions until the end of input."""
    for line in sys.stdin:
        try:
            reply = [0, answer(*json.loads(line))]
        except OSError as error:
            reply = [1, str(error)]
        print(json.dumps(reply), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(answer(*sys.argv[1:]))
    else:
        serve()
