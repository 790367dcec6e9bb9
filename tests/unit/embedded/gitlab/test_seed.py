"""Seed data of the code hosting: reproducible, complete and consistent with the embedded world."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

from pytest_webarena.embedded import gitlab, world
from pytest_webarena.embedded.gitlab.objects import name_of
from pytest_webarena.embedded.gitlab.seeding.drafts import all_drafts

Rows = Callable[..., list[tuple[Any, ...]]]

PAGEFOLD = "c54148189f5bd634351a7264a2bb94057d28bcda"
"""The tip of one of the projects: it stays the same whatever the machine, as long as its draft does."""


def test_two_seeds_are_equal_and_small(tmp_path: Path, pristine: Path) -> None:
    gitlab.seed(tmp_path)
    with closing(sqlite3.connect(tmp_path / "main.sqlite3")) as connection:
        schema = "".join(row[0] for row in connection.execute("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL"))

    assert (tmp_path / "main.sqlite3").read_bytes() == (pristine / "main.sqlite3").read_bytes()
    assert (pristine / "main.sqlite3").stat().st_size < 15_000_000
    assert world.CANARY in schema


def test_commit_hashes_are_reproducible(rows: Rows) -> None:
    tips = rows("SELECT full_path, sha FROM refs JOIN projects ON projects.id = project_id"
                " WHERE refs.name = 'refs/heads/main' AND full_path = 'makers/pagefold'")  # fmt: skip
    assert tips == [("makers/pagefold", PAGEFOLD)]
    for sha, kind, data in rows("SELECT sha, kind, data FROM objects"):
        assert name_of(kind, data) == sha


def test_seed_has_minimum_counts(rows: Rows) -> None:
    for table, least in (("users", 40), ("projects", 50), ("commits", 400), ("issues", 200), ("merge_requests", 45),
                         ("stars", 200), ("todos", 50)):  # fmt: skip
        assert rows(f"SELECT count(*) FROM {table}")[0][0] >= least, table
    visibilities: dict[str, int] = dict(rows("SELECT visibility, count(*) FROM projects GROUP BY 1"))
    assert min(visibilities.values()) >= 5
    assert rows("SELECT count(*) FROM parents WHERE position = 1")[0][0] >= 20
    assert {row[0] for row in rows("SELECT state FROM merge_requests")} == {"opened", "merged"}
    writers = rows("SELECT count(DISTINCT author) FROM commits")[0][0]
    assert writers > 20


def test_projects_are_consistent_with_the_world(rows: Rows) -> None:
    for project in world.PROJECTS:
        path, description = rows("SELECT full_path, description FROM projects WHERE path = ? AND forked_from IS NULL",
                                 project.key)[0]  # fmt: skip
        assert description == project.summary
        draft = next(each for each in all_drafts() if each.path == path)
        assert draft.maintainer == project.maintainer
        assert draft.version == project.version
        released = rows("SELECT committed FROM refs JOIN projects ON projects.id = project_id JOIN objects ON"
                        " objects.sha = refs.sha JOIN commits ON instr(CAST(data AS TEXT), commits.sha)"
                        " WHERE full_path = ? AND refs.name = ?", path, f"refs/tags/v{project.version}")  # fmt: skip
        assert len(released) == 1, path
        assert released[0][0][:10] <= project.released.isoformat()


def test_dates_are_in_order_and_before_now(rows: Rows) -> None:
    now = world.EPOCH.strftime("%Y-%m-%dT%H:%M:%S")
    for table in ("commits", "issues", "merge_requests", "notes", "events", "todos"):
        column = "committed" if table == "commits" else "created"
        assert rows(f"SELECT max({column}) FROM {table}")[0][0] < now, table
    assert not rows("SELECT 1 FROM issues WHERE closed <> '' AND closed < created")
    assert not rows("SELECT 1 FROM parents JOIN commits AS a ON a.sha = parents.sha JOIN commits AS b"
                    " ON b.sha = parents.parent WHERE a.committed < b.committed")  # fmt: skip


def test_private_projects_refer_only_to_their_members(rows: Rows) -> None:
    doings = {
        "star": "SELECT project_id, user_id FROM stars",
        "issue": "SELECT project_id, author_id FROM issues",
        "merge request": "SELECT project_id, author_id FROM merge_requests",
        "remark": "SELECT project_id, notes.author_id FROM notes JOIN issues ON item = 'issue' AND item_id = issues.id",
        "to-do": "SELECT project_id, user_id FROM todos",
        "event": "SELECT project_id, user_id FROM events",
    }
    for what, query in doings.items():
        outsiders = rows(
            f"WITH done (project, user) AS ({query}) SELECT DISTINCT full_path, username FROM done"
            " JOIN projects ON projects.id = done.project JOIN users ON users.id = done.user"
            " JOIN namespaces ON namespaces.id = projects.namespace_id"
            " WHERE projects.visibility = 'private' AND namespaces.user_id IS NOT users.id AND NOT EXISTS"
            " (SELECT 1 FROM members WHERE members.user_id = users.id AND (project_id = projects.id"
            " OR namespace_id = namespaces.id))"
        )
        assert not outsiders, what


def test_final_files_equal_their_drafts(rows: Rows) -> None:
    for draft in all_drafts():
        found: dict[str, str] = dict(
            rows("SELECT path, text FROM texts WHERE project = ? AND branch = 'main'", draft.path)
        )
        assert found.keys() == draft.files.keys()
        for path, text in draft.files.items():
            if not any(edit.path == path for request in draft.requests for edit in request.later):
                assert "".join(found[path].split()) == "".join(text.split()), (draft.path, path)
