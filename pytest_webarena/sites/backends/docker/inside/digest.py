"""Digest of names and contents of all files in a directory, equal whatever their times and owners are.

Argument: the directory. Prints 32 hex digits.
"""

import hashlib
import os
import sys


def digest(directory: str) -> str:
    """Hex digest. SQLite's ``-shm`` and its empty ``-wal`` and ``-journal`` come and go with readers."""
    result = hashlib.blake2b(digest_size=16)
    for folder, folders, files in os.walk(directory, onerror=stop):
        folders.sort()
        for name in sorted(files):
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                content = file.read()
            if name.endswith("-shm") or (not content and name.endswith(("-wal", "-journal"))):
                continue
            head = os.path.relpath(path, directory) + "\0" + str(len(content)) + "\0"
            result.update(head.encode("utf-8", "surrogateescape") + content)
    return result.hexdigest()


def stop(error: OSError) -> None:
    """Not to be silent about what can't be read."""
    raise error


if __name__ == "__main__":
    print(digest(sys.argv[1]))
