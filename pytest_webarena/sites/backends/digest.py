"""Digest of a directory: equal when nobody who looks into it could see a difference.

Also run by the Python of a container: standard library only, from 3.7 on. Arguments: the directory, and ``exact`` or
``contents`` for 32 hex digits, ``list`` for all entries, one a line, or ``threads`` for the ids of all threads of the
container but those of programs that were sent into it. Without arguments it reads them from stdin, one JSON list per
line, until that ends, and answers each by a line ``[exit code, output]``.
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
    """There is more to read than was allowed."""


def digest(directory: str, exact: bool, limit: "int | None" = None) -> str:
    """Hex digest of `entries`."""
    result = hashlib.blake2b(digest_size=16)
    for entry in entries(directory, exact, limit):
        result.update(entry.encode("utf-8", "surrogateescape") + b"\0")
    return result.hexdigest()


def entries(directory: str, exact: bool, limit: "int | None" = None) -> "typing.Iterator[str]":
    """A line for everything below ``directory``, in order: what it is and holds, a tab, its path.

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
            yield " ".join(seen) + "\t" + os.path.relpath(path, directory)


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


def threads() -> "list[int]":
    """Ids of threads, but for those of programs from outside: they have no parent here."""
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
    """What is printed."""
    if what == "list":
        return "\n".join(json.dumps(entry) for entry in entries(directory, True))
    return json.dumps(threads()) if what == "threads" else digest(directory, what == "exact")


def serve() -> None:
    """Answer questions until nobody asks any more."""
    for line in sys.stdin:
        try:
            said = [0, answer(*json.loads(line))]
        except OSError as error:
            said = [1, str(error)]
        print(json.dumps(said), flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        print(answer(*sys.argv[1:]))
    else:
        serve()
