"""Git repositories in the database: one set of objects for all projects, and each project's branches and tags.

So a fork copies names only, a reset copies one file, and what is at the tip of a branch can be asked for by SQL.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence

from pytest_webarena.embedded.gitlab.objects import (
    FILE,
    FOLDER,
    Commit,
    Entry,
    Signature,
    name_of,
    read_commit,
    read_tree,
    write_tree,
)

__all__ = ["Store", "is_text", "valid_branch"]

Files = Mapping[str, str]
"""Path to blob."""

_ANCESTRY = """
WITH RECURSIVE ancestry(sha) AS (
    VALUES {values} UNION SELECT parents.parent FROM ancestry JOIN parents ON parents.sha = ancestry.sha)
"""


def is_text(data: bytes) -> bool:
    """Whether a file can be shown and edited as text without harm to it."""
    try:
        return b"\0" not in data and data.decode() is not None
    except UnicodeDecodeError:
        return False


def valid_branch(name: str) -> bool:
    """Whether git takes it as the name of a branch."""
    return bool(
        re.fullmatch(r"[^\s~^:?*\[\\\x00-\x1f\x7f]{1,200}", name)
        and not re.search(r"\.\.|//|@\{|/\.|\.lock(/|$)|^[-/.]|[/.]$", name)
        and name != "@"
    )


class Store:
    """The repositories over a connection."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._trees: dict[str, list[Entry]] = {}

    def get(self, sha: str) -> tuple[str, bytes]:
        """Kind and data of an object. `KeyError` when there is none."""
        row = self._connection.execute("SELECT kind, data FROM objects WHERE sha = ?", (sha,)).fetchone()
        if row is None:
            raise KeyError(sha)
        return row[0], row[1]

    def content(self, blob: str) -> bytes:
        """What is in a file; of a submodule, which is a commit kept elsewhere, what git says of it."""
        try:
            return self.get(blob)[1]
        except KeyError:
            return f"Subproject commit {blob}\n".encode()

    def put(self, kind: str, data: bytes) -> str:
        """Keep an object; its name."""
        sha = name_of(kind, data)
        self._connection.execute("INSERT OR IGNORE INTO objects VALUES (?, ?, ?)", (sha, kind, data))
        return sha

    def blob(self, content: str | bytes) -> str:
        """Keep what is in a file; its name."""
        return self.put("blob", content.encode() if isinstance(content, str) else content)

    def tree(self, sha: str) -> list[Entry]:
        """The entries of a tree."""
        if sha not in self._trees:
            self._trees[sha] = read_tree(self.get(sha)[1])
        return self._trees[sha]

    def walk(self, tree: str, prefix: str = "") -> Iterator[tuple[str, Entry]]:
        """Path and entry of every file below a tree."""
        for entry in self.tree(tree):
            if entry.mode == FOLDER:
                yield from self.walk(entry.sha, f"{prefix}{entry.name}/")
            else:
                yield prefix + entry.name, entry

    def files(self, commit: str) -> dict[str, str]:
        """Path to blob of a commit's files."""
        return {path: entry.sha for path, entry in self.walk(self.tree_of(commit))}

    def tree_of(self, commit: str) -> str:
        """The tree of a commit."""
        row = self._connection.execute("SELECT tree FROM commits WHERE sha = ?", (commit,)).fetchone()
        return row[0] if row else read_commit(self.get(commit)[1]).tree

    def find(self, tree: str, path: str) -> Entry | None:
        """What stands at ``path``; the tree itself for an empty one."""
        entry = Entry(mode=FOLDER, name="", sha=tree)
        for part in path.split("/") if path else ():
            inside = self.tree(entry.sha) if entry.mode == FOLDER else []
            found = next((each for each in inside if each.name == part), None)
            if found is None:
                return None
            entry = found
        return entry

    def write_files(self, files: Files, modes: Mapping[str, str] | None = None) -> str:
        """Keep the trees for these files; the name of the topmost."""
        folders: dict[str, dict[str, str]] = {}
        entries = []
        for path, blob in files.items():
            first, slash, rest = path.partition("/")
            if slash:
                folders.setdefault(first, {})[rest] = blob
            else:
                entries.append(Entry(mode=(modes or {}).get(path, FILE), name=path, sha=blob))
        for name, inside in folders.items():
            below = {path.removeprefix(f"{name}/"): mode for path, mode in (modes or {}).items()
                     if path.startswith(f"{name}/")}  # fmt: skip
            entries.append(Entry(mode=FOLDER, name=name, sha=self.write_files(inside, below)))
        return self.put("tree", write_tree(entries))

    def commit(
        self,
        files: Files,
        parents: Sequence[str],
        author: Signature,
        message: str,
        committer: Signature | None = None,
    ) -> str:
        """Keep a commit of these files; its name. Modes of files are those of the first parent."""
        kept = {path: entry.mode for parent in parents[:1] for path, entry in self.walk(self.tree_of(parent))}
        commit = Commit(
            tree=self.write_files(files, kept), parents=parents, author=author, committer=committer or author,
            message=message if message.endswith("\n") else f"{message}\n",
        )  # fmt: skip
        sha = self.put("commit", commit.written())
        self._record(sha, commit)
        return sha

    def record(self, sha: str) -> None:
        """Read a commit and all before it that are not known yet."""
        waiting = [sha]
        while waiting:
            if self.knows(waiting[-1]):
                waiting.pop()
                continue
            commit = read_commit(self.get(waiting[-1])[1])
            missing = [parent for parent in commit.parents if not self.knows(parent)]
            if missing:
                waiting += missing
            else:
                self._record(waiting.pop(), commit)

    def knows(self, sha: str) -> bool:
        """Whether it is a commit."""
        return self._connection.execute("SELECT 1 FROM commits WHERE sha = ?", (sha,)).fetchone() is not None

    def _record(self, sha: str, commit: Commit) -> None:
        if self.knows(sha):
            return
        self._connection.execute(
            "INSERT INTO commits (sha, tree, author, author_email, authored, committer, committer_email, committed,"
            " message) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (sha, commit.tree, commit.author.name, commit.author.email, commit.author.time, commit.committer.name,
             commit.committer.email, commit.committer.time, commit.message),
        )  # fmt: skip
        self._connection.executemany(
            "INSERT INTO parents VALUES (?, ?, ?)", [(sha, n, parent) for n, parent in enumerate(commit.parents)]
        )
        after = {path: entry.sha for path, entry in self.walk(commit.tree)}
        befores = [self.files(parent) for parent in commit.parents] or [{}]
        paths = sorted(
            path
            for path in after.keys() | befores[0].keys()
            if all(after.get(path) != before.get(path) for before in befores)
        )
        self._connection.executemany(
            "INSERT INTO changes VALUES (?, ?, ?, ?)",
            [(sha, path, befores[0].get(path), after.get(path)) for path in paths],
        )

    def refs(self, project: int, prefix: str = "refs/heads/") -> dict[str, str]:
        """Branches (or tags) of a project, by name without the prefix."""
        rows = self._connection.execute(
            "SELECT name, sha FROM refs WHERE project_id = ? AND name LIKE ? || '%' ORDER BY name", (project, prefix)
        )
        return {name.removeprefix(prefix): sha for name, sha in rows}

    def set_ref(self, project: int, name: str, sha: str | None) -> None:
        """Let a branch or tag (``refs/…``) stand at a commit, or delete it."""
        branch = name.removeprefix("refs/heads/") if name.startswith("refs/heads/") else None
        if branch is not None:
            self._connection.execute("DELETE FROM files WHERE project_id = ? AND branch = ?", (project, branch))
        if sha is None:
            self._connection.execute("DELETE FROM refs WHERE project_id = ? AND name = ?", (project, name))
            return
        self._connection.execute("INSERT OR REPLACE INTO refs VALUES (?, ?, ?)", (project, name, sha))
        self.record(self.peeled(sha))
        if branch is not None:
            self._connection.executemany(
                "INSERT INTO files VALUES (?, ?, ?, ?)",
                [(project, branch, path, blob) for path, blob in self.files(sha).items()],
            )

    def peeled(self, sha: str) -> str:
        """The commit that a tag, or a commit, means."""
        kind, data = self.get(sha)
        while kind == "tag":
            sha = data.split(b"\n", 1)[0].split(b" ")[1].decode()
            kind, data = self.get(sha)
        return sha

    def resolve(self, project: int, name: str) -> str | None:
        """The commit that a branch, a tag or (the beginning of) a hash means in a project."""
        for prefix in ("refs/heads/", "refs/tags/"):
            row = self._connection.execute(
                "SELECT sha FROM refs WHERE project_id = ? AND name = ?", (project, prefix + name)
            ).fetchone()
            if row:
                return self.peeled(row[0])
        if not re.fullmatch("[0-9a-f]{7,40}", name):
            return None
        tips = {self.peeled(sha) for sha in self.refs(project, "refs/").values()}
        rows = self._connection.execute("SELECT sha FROM commits WHERE sha GLOB ?", (f"{name}*",)).fetchall()
        reached = [row[0] for row in rows if any(self.is_ancestor(row[0], tip) for tip in tips)]
        return reached[0] if len(reached) == 1 else None

    def is_ancestor(self, sha: str, of: str) -> bool:
        """Whether ``of`` contains ``sha``."""
        query = f"{_ANCESTRY.format(values='(?)')} SELECT 1 FROM ancestry WHERE sha = ?"
        return self._connection.execute(query, (of, sha)).fetchone() is not None

    def history(
        self, tip: str, *, path: str = "", without: str = "", limit: int = -1, skip: int = 0, author: str = "",
        search: str = "",
    ) -> list[sqlite3.Row]:  # fmt: skip
        """Commits from ``tip`` back, newest first: of a path, without those of another tip, by an author."""
        where, values = ["1"], [tip]
        if without:
            where.append(f"commits.sha NOT IN ({_ANCESTRY.format(values='(?)')} SELECT sha FROM ancestry)")
            values.append(without)
        if path:
            where.append(
                "commits.sha IN (SELECT sha FROM changes WHERE path = ? OR (path >= ? || '/' AND path < ? || '0'))"
            )
            values += [path] * 3
        if author:
            where.append("author = ?")
            values.append(author)
        if search:
            where.append("instr(lower(message), lower(?))")
            values.append(search)
        query = (
            f"{_ANCESTRY.format(values='(?)')} SELECT commits.* FROM commits JOIN ancestry"
            f" ON ancestry.sha = commits.sha WHERE {' AND '.join(where)}"
            " ORDER BY committed DESC, number DESC LIMIT ? OFFSET ?"
        )
        return self._connection.execute(query, (*values, limit, skip)).fetchall()

    def count(self, tip: str) -> int:
        """How many commits there are from ``tip`` back."""
        query = f"{_ANCESTRY.format(values='(?)')} SELECT count(*) FROM ancestry"
        count: int = self._connection.execute(query, (tip,)).fetchone()[0]
        return count

    def last_changes(self, tip: str, folder: str) -> dict[str, sqlite3.Row]:
        """For each name in a folder the last commit that changed it or what is below it."""
        prefix = f"{folder}/" if folder else ""
        rows = self._connection.execute(
            f"{_ANCESTRY.format(values='(?)')} SELECT path, commits.* FROM changes JOIN ancestry USING (sha)"
            " JOIN commits USING (sha) WHERE path >= ? AND path < ? ORDER BY committed, number",
            (tip, prefix, f"{folder}0" if folder else "\U0010ffff"),
        )
        return {row["path"].removeprefix(prefix).split("/")[0]: row for row in rows}

    def parents(self, sha: str) -> list[str]:
        """The commits before one."""
        rows = self._connection.execute("SELECT parent FROM parents WHERE sha = ? ORDER BY position", (sha,))
        return [row[0] for row in rows]

    def merge_base(self, ours: str, theirs: str) -> str | None:
        """The newest commit that both contain."""
        row = self._connection.execute(
            "WITH RECURSIVE ours(sha) AS (VALUES (?) UNION SELECT parent FROM ours JOIN parents USING (sha)),"
            " theirs(sha) AS (VALUES (?) UNION SELECT parent FROM theirs JOIN parents USING (sha))"
            " SELECT sha FROM commits JOIN ours USING (sha) JOIN theirs USING (sha) ORDER BY number DESC LIMIT 1",
            (ours, theirs),
        ).fetchone()
        return row[0] if row else None
