"""Checks whether a directory can be copied for each replica without sharing data between replicas."""

from __future__ import annotations

import os
import stat
from pathlib import Path

__all__ = ["data_problem"]

_KINDS = {stat.S_IFIFO: "a FIFO", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device", stat.S_IFBLK: "a device"}


def data_problem(directory: Path | str) -> str:
    """Returns what is wrong with ``directory`` as the initial data of replicas; empty when nothing is.

    Links must lead from one place in the directory to another, independently of its path: otherwise all replicas would
    share the target, which may even be the initial data.
    """
    root = os.path.realpath(directory)
    if not os.path.isdir(root):
        return f"{directory}, which is no directory"
    try:
        for folder, folders, files in os.walk(root, onerror=_raise):
            for name in sorted(folders + files):
                path = os.path.join(folder, name)
                shown = f"{directory}{path[len(root) :]}"
                mode = os.lstat(path).st_mode
                if kind := _KINDS.get(stat.S_IFMT(mode)):
                    return f"{shown}, {kind}: only files, directories and links can be copied"
                if stat.S_ISLNK(mode) and _leads_out(root, path):
                    return (
                        f"{shown}, a link to {os.readlink(path)}: all replicas would share what it leads to; "
                        "put that into the data, or link to a place in them by a relative path"
                    )
    except OSError as error:
        return f"{error.filename or directory}, which can't be read: {error.strerror or error}"
    return ""


def _leads_out(root: str, path: str) -> bool:
    target = os.readlink(path)
    named = os.path.normpath(os.path.join(os.path.relpath(os.path.dirname(path), root), target))  # copies move
    out = os.path.isabs(target) or named.partition(os.sep)[0] == os.pardir
    return out or os.path.commonpath([root, os.path.realpath(path)]) != root


def _raise(error: OSError) -> None:
    raise error
