"""A project as dulwich wants a repository: objects and references straight from the database."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from typing import Any

from dulwich.object_store import MemoryObjectStore
from dulwich.objects import ShaFile
from dulwich.refs import DictRefsContainer
from dulwich.repo import MemoryRepo

from pytest_webarena.embedded.gitlab.store import Store

__all__ = ["Repository"]

_NUMBERS = {"commit": 1, "tree": 2, "blob": 3, "tag": 4}


class _Objects(MemoryObjectStore):
    """The objects, which it reads and adds one by one."""

    def __init__(self, store: Store, connection: sqlite3.Connection) -> None:
        super().__init__()
        self._store = store
        self._connection = connection

    def contains_loose(self, sha: Any) -> bool:
        query = "SELECT 1 FROM objects WHERE sha = ?"
        return self._connection.execute(query, (self._to_hexsha(sha).decode(),)).fetchone() is not None

    def __iter__(self) -> Iterator[Any]:
        return (row[0].encode() for row in self._connection.execute("SELECT sha FROM objects"))

    def __getitem__(self, name: Any) -> ShaFile:
        kind, data = self._store.get(self._to_hexsha(name).decode())
        return ShaFile.from_raw_string(_NUMBERS[kind], data)

    def get_raw(self, name: Any) -> tuple[int, bytes]:
        kind, data = self._store.get(self._to_hexsha(name).decode())
        return _NUMBERS[kind], data

    def add_object(self, obj: ShaFile) -> None:
        self._store.put(obj.type_name.decode(), obj.as_raw_string())


class _References(DictRefsContainer):
    """The branches and tags of a project; what is changed is changed in the database."""

    def __init__(self, store: Store, project: int, branch: str) -> None:
        found: dict[Any, Any] = {
            f"refs/{name}".encode(): sha.encode() for name, sha in store.refs(project, "refs/").items()
        }
        if f"refs/heads/{branch}".encode() in found:
            found[b"HEAD"] = f"ref: refs/heads/{branch}".encode()
        super().__init__(found)
        self._store = store
        self._project = project

    def set_if_equals(self, name: Any, old_ref: Any, new_ref: Any, *args: Any, **kwargs: Any) -> bool:
        if not super().set_if_equals(name, old_ref, new_ref, *args, **kwargs):
            raise OSError("somebody else was faster")
        self._store.set_ref(self._project, name.decode(), new_ref.decode())
        return True

    def remove_if_equals(self, name: Any, old_ref: Any, *args: Any, **kwargs: Any) -> bool:
        if not super().remove_if_equals(name, old_ref, *args, **kwargs):
            raise OSError("somebody else was faster")
        self._store.set_ref(self._project, name.decode(), None)
        return True


class Repository(MemoryRepo):
    """One project."""

    def __init__(self, store: Store, connection: sqlite3.Connection, project: int, branch: str) -> None:
        super().__init__()
        self.object_store = _Objects(store, connection)
        self.refs = _References(store, project, branch)
