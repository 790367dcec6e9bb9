"""Repositories over HTTP with the real git: clone, fsck and push."""

from __future__ import annotations

import base64
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from waitress import wasyncore
from waitress.server import create_server

from pytest_webarena.embedded import gitlab

ILSE = "ilse.varnholt:linen-thread-68"  # a developer
DARIO = "dario.penhallow:green-branch-91"  # a maintainer
BASIC = f"Basic {base64.b64encode(DARIO.encode()).decode()}"


@pytest.fixture
def address(data_dir: Path) -> Iterator[str]:
    """Host and port of the served application."""
    server: Any = create_server(gitlab.create_app(data_dir), host="127.0.0.1", port=0, threads=2)
    thread = Thread(target=server.run, daemon=True)
    thread.start()
    pulled = Event()

    def close() -> None:
        pulled.wait(10)
        server.task_dispatcher.shutdown()
        wasyncore.close_all(server._map)

    yield f"127.0.0.1:{server.effective_port}"
    # In the thread of the server's loop: from another, the loop would wait on files that are closed, and a request that
    # git no longer waits for would be answered on them. Threads that have just answered pull the trigger, too: the loop
    # may run this callback before the trigger is read, and must not close a trigger that is still to be pulled.
    server.trigger.pull_trigger(close)
    pulled.set()
    thread.join(10)
    assert not thread.is_alive()


def git(*arguments: str | Path, cwd: Path | None = None, fails: bool = False) -> str:
    """Return a function that runs git with isolated settings and returns its output."""
    environment = {
        "PATH": os.environ["PATH"], "GIT_TERMINAL_PROMPT": "0", "GIT_CONFIG_GLOBAL": os.devnull, "LC_ALL": "C",
        "GIT_CONFIG_NOSYSTEM": "1", "GIT_AUTHOR_NAME": "Ilse Varnholt", "GIT_COMMITTER_NAME": "Ilse Varnholt",
        "GIT_AUTHOR_EMAIL": "ilse.varnholt@tarnmark.test", "GIT_COMMITTER_EMAIL": "ilse.varnholt@tarnmark.test",
    }  # fmt: skip
    done = subprocess.run(["git", *arguments], cwd=cwd, env=environment, capture_output=True, text=True, timeout=60)
    assert (done.returncode != 0) is fails, done.stderr
    return done.stdout + done.stderr


def test_repository_can_be_cloned_changed_and_pushed(address: str, tmp_path: Path, rows: Any) -> None:
    work = tmp_path / "work"
    git("clone", f"http://{address}/makers/pagefold.git", work)
    assert git("fsck", "--strict", "--full", cwd=work).strip() == ""
    assert "Merge branch" in git("log", "--merges", "--format=%s", cwd=work)
    tip = rows("SELECT sha FROM refs JOIN projects ON projects.id = project_id WHERE full_path = 'makers/pagefold'"
               " AND refs.name = 'refs/heads/main'")[0][0]  # fmt: skip
    assert git("rev-parse", "HEAD", cwd=work).strip() == tip
    assert "v0.8.3" in git("tag", cwd=work)

    (work / "glue.md").write_text("# Glue\n")
    git("add", "glue.md", cwd=work)
    git("commit", "-m", "Tell of glue", cwd=work)
    assert "protected branch main" in git("push", f"http://{ILSE}@{address}/makers/pagefold.git", "HEAD:main", cwd=work,
                                          fails=True)  # fmt: skip
    git(
        "push",
        f"http://{ILSE}@{address}/makers/pagefold.git",
        "HEAD:refs/heads/glue/one",
        "HEAD:refs/tags/v9",
        cwd=work,
    )
    query = "SELECT text FROM texts WHERE project = 'makers/pagefold' AND branch = 'glue/one' AND path = 'glue.md'"
    assert rows(query) == [("# Glue\n",)]
    commit = "SELECT author, message FROM commits ORDER BY number DESC LIMIT 1"
    assert rows(commit) == [("Ilse Varnholt", "Tell of glue\n")]
    pushed = "SELECT action, target FROM events ORDER BY id DESC LIMIT 2"
    assert rows(pushed) == [("pushed to", "refs/tags/v9"), ("pushed to", "glue/one")]

    main = f"http://{DARIO}@{address}/makers/pagefold.git"
    git("push", main, "HEAD:main", cwd=work)
    assert "by force" in git("push", "--force", main, "HEAD~3:main", cwd=work, fails=True)
    assert "can't be deleted" in git("push", main, ":main", cwd=work, fails=True)
    git("push", main, ":glue/one", cwd=work)
    assert rows(query) == []
    other = tmp_path / "other"
    git("clone", "--depth", "1", f"http://{address}/makers/pagefold.git", other)
    assert (other / "glue.md").read_text() == "# Glue\n"


def test_private_repository_requires_name_and_token(address: str, tmp_path: Path, dario: Any) -> None:
    path = f"{address}/lantern-loam/price-labels.git"
    assert "could not read Username" in git("clone", f"http://{path}", tmp_path / "a", fails=True)
    assert "Authentication failed" in git("clone", f"http://dario.penhallow:no@{path}", tmp_path / "b", fails=True)
    assert "not found" in git("clone", f"http://{ILSE}@{path}", tmp_path / "c", fails=True)
    assert "not found" in git("clone", "http://mara.linden:paper-lantern-86@" + path, tmp_path / "d", fails=True)

    made = dario.post("/-/profile/personal_access_tokens", data={"name": "laptop", "scopes": "read_repository"}).text
    token = made.partition('id="created-token" readonly value="')[2].partition('"')[0]
    git("clone", f"http://oauth2:{token}@{path}", tmp_path / "e")
    assert (tmp_path / "e" / "labels.py").exists()
    git("commit", "--allow-empty", "-m", "x", cwd=tmp_path / "e")
    git("push", cwd=tmp_path / "e", fails=True)  # the token permits reading only


def test_first_push_sets_the_default_branch(address: str, tmp_path: Path, rows: Any) -> None:
    rows("INSERT INTO projects (namespace_id, path, full_path, name, visibility, creator_id, created, updated)"
         " SELECT id, 'new', 'dario.penhallow/new', 'New', 'private', user_id, created, created FROM namespaces"
         " WHERE path = 'dario.penhallow'")  # fmt: skip
    git("init", "--initial-branch=trunk", tmp_path / "new")
    (tmp_path / "new/a.txt").write_text("a\n")
    git("add", ".", cwd=tmp_path / "new")
    git("commit", "-m", "Begin", cwd=tmp_path / "new")
    git("push", f"http://{DARIO}@{address}/dario.penhallow/new.git", "trunk", cwd=tmp_path / "new")

    assert rows("SELECT default_branch FROM projects WHERE path = 'new'") == [("trunk",)]
    git("clone", f"http://{DARIO}@{address}/dario.penhallow/new.git", tmp_path / "again")
    assert (tmp_path / "again/a.txt").read_text() == "a\n"
    # A private repository does not exist for others.
    for who in ("", f"{ILSE}@"):
        git("clone", f"http://{who}{address}/dario.penhallow/new.git", tmp_path / "stolen", fails=True)


def test_wrong_content_encoding_is_refused(address: str) -> None:
    for service in ("git-upload-pack", "git-receive-pack"):
        sent = urllib.request.Request(f"http://{address}/makers/pagefold.git/{service}", data=b"no gzip",
                                      headers={"Content-Encoding": "gzip", "Authorization": BASIC})  # fmt: skip
        with pytest.raises(urllib.error.HTTPError, match="400"):
            urllib.request.urlopen(sent, timeout=30)


def test_submodule_is_shown_and_kept(address: str, tmp_path: Path) -> None:
    work, sha = tmp_path / "work", "12345678" * 5
    git("clone", f"http://{DARIO}@{address}/makers/pagefold.git", work)
    git("update-index", "--add", "--cacheinfo", f"160000,{sha},paper", cwd=work)
    git("commit", "-m", "Link the paper", cwd=work)
    git("push", "origin", "HEAD:main", cwd=work)

    tip = git("rev-parse", "HEAD", cwd=work).strip()
    for page in ("blob/main/paper", "raw/main/paper", f"commit/{tip}"):
        with urllib.request.urlopen(f"http://{address}/makers/pagefold/-/{page}", timeout=60) as answer:
            assert f"Subproject commit {sha}" in answer.read().decode()
    for page in ("", "/-/tree/main", "/-/blame/main/paper"):
        with urllib.request.urlopen(f"http://{address}/makers/pagefold{page}", timeout=60) as answer:
            assert answer.status == 200
    git("clone", f"http://{address}/makers/pagefold.git", tmp_path / "again")
    assert f"160000 commit {sha}" in git("ls-tree", "HEAD", "paper", cwd=tmp_path / "again")
