"""Uploads of files into a repository, and refused uploads."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded.gitlab import uploading

Rows = Callable[..., list[tuple[Any, ...]]]
SignIn = Callable[[str], Client]

PAGEFOLD = "/makers/pagefold"
PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 2


def _content(rows: Rows, path: str, branch: str = "main") -> bytes | None:
    found = rows(
        "SELECT data FROM files JOIN objects ON sha = blob JOIN projects ON projects.id = project_id"
        " WHERE full_path = 'makers/pagefold' AND branch = ? AND files.path = ?", branch, path,
    )  # fmt: skip
    return found[0][0] if found else None


def _send(client: Client, address: str, name: str, content: bytes, **fields: str) -> Any:
    return client.post(f"{PAGEFOLD}/-/{address}", data={**fields, "file": (BytesIO(content), name)})


def test_upload_commits_the_exact_bytes(dario: Client, rows: Rows) -> None:
    page = dario.get(f"{PAGEFOLD}/-/upload/main/tests").text
    assert '<input id="path" name="path" value="tests"' in page
    assert "Upload file</a>" in dario.get(PAGEFOLD).text

    response = _send(dario, "upload/main/tests", "scans/cover page.png", PNG, path="tests/scans", branch="main")
    assert response.location == f"{PAGEFOLD}/-/blob/main/tests/scans/cover%20page.png"
    assert _content(rows, "tests/scans/cover page.png") == PNG
    assert rows("SELECT message, author FROM commits ORDER BY number DESC LIMIT 1") == [
        ("Upload cover page.png\n", "Dario Penhallow")
    ]
    shown = dario.get(response.location).text
    assert '<img class="picture" src="/makers/pagefold/-/raw/main/tests/scans/cover%20page.png"' in shown
    raw = dario.get(f"{PAGEFOLD}/-/raw/main/tests/scans/cover%20page.png")
    assert (raw.data, raw.mimetype) == (PNG, "image/png")
    # Binary files have no line view, no blame and no edit form.
    assert dario.get(f"{PAGEFOLD}/-/blame/main/tests/scans/cover%20page.png").location.endswith("cover%20page.png")
    for method in (dario.get, dario.post):
        edited = method(f"{PAGEFOLD}/-/edit/main/tests/scans/cover%20page.png")
        assert "/-/replace/main/tests/scans/cover%20page.png" in edited.location
    assert _content(rows, "tests/scans/cover page.png") == PNG


def test_svg_is_served_as_text(dario: Client) -> None:
    _send(dario, "upload/main", "x.svg", b"<svg xmlns='http://www.w3.org/2000/svg'><script>1</script></svg>")
    assert dario.get(f"{PAGEFOLD}/-/raw/main/x.svg").mimetype == "text/plain"


def test_upload_replaces_a_file_only_on_its_replace_page(dario: Client, rows: Rows) -> None:
    before = _content(rows, "README.md")
    again = _send(dario, "upload/main", "README.md", b"new")
    assert again.status_code == 422
    assert "is there already" in again.text
    assert _content(rows, "README.md") == before

    assert _send(dario, "replace/main/README.md", "any.md", b"\xff\xfe", message="Scan it").status_code == 303
    assert _content(rows, "README.md") == b"\xff\xfe"
    assert dario.get(f"{PAGEFOLD}/-/replace/main/no-such").status_code == 404
    assert _send(dario, "replace/main/tests", "x", b"x").status_code == 404


def test_invalid_upload_names_and_paths_are_refused(dario: Client, rows: Rows, monkeypatch: pytest.MonkeyPatch) -> None:
    refs = rows("SELECT * FROM refs")
    for name, path in (
        ("..", ""),
        (".git", ""),
        ("x", "../.."),
        ("x", "README.md"),
        ("x", "a//b"),
        ("", ""),
        ("a/", ""),
    ):
        assert _send(dario, "upload/main", name, b"x", path=path).status_code == 422, (name, path)
    assert dario.post(f"{PAGEFOLD}/-/upload/main", data={"file": "no file"}).status_code == 422
    assert "up to 2000 kilobytes" in dario.get(f"{PAGEFOLD}/-/upload/main").text
    monkeypatch.setattr(uploading, "LARGEST", 300_000)  # above the limit of other forms
    assert "A file can have 300 kilobytes." in _send(dario, "upload/main", "large", b"x" * 300_001).text
    assert _send(dario, "upload/main", "larger", b"x" * 420_000).status_code == 413
    assert _send(dario, "upload/no-such-branch", "x", b"x").status_code == 404
    assert _send(dario, "upload/main/no-such-folder", "x", b"x").status_code == 404
    assert rows("SELECT * FROM refs") == refs
    assert _send(dario, "upload/main", "largest", b"x" * 300_000).status_code == 303


def test_upload_requires_a_role(visitor: Client, signed_in: SignIn, rows: Rows) -> None:
    assert visitor.get(f"{PAGEFOLD}/-/upload/main").location.startswith("/users/sign_in?next=")
    assert _send(visitor, "upload/main", "x", b"x").status_code == 303
    osric, ilse = signed_in("osric.fell"), signed_in("ilse.varnholt")
    assert _send(osric, "upload/main", "x", b"x").status_code == 403
    assert _send(osric, "replace/main/README.md", "x", b"x").status_code == 403
    assert "not allowed to push" in _send(ilse, "upload/main", "x", b"x", branch="main").text
    assert "Replace" not in signed_in("osric.fell").get(f"{PAGEFOLD}/-/blob/main/README.md").text

    response = _send(ilse, "upload/main", "x", b"x", branch="scans", merge_request="1")
    assert "merge_request%5Bsource_branch%5D=scans" in response.location
    assert (_content(rows, "x"), _content(rows, "x", "scans")) == (None, b"x")


def test_upload_can_be_the_first_commit(dario: Client, rows: Rows) -> None:
    sent = {"name": "Scans", "visibility": "private", "namespace": rows(
        "SELECT id FROM namespaces WHERE path = 'dario.penhallow'")[0][0]}  # fmt: skip
    assert dario.post("/projects/new", data=sent).status_code == 303
    made = dario.post("/dario.penhallow/scans/-/upload/main", data={"file": (BytesIO(PNG), "a.png"), "branch": "paper"})
    assert made.location == "/dario.penhallow/scans/-/blob/paper/a.png"
    # The first branch becomes the default one.
    assert rows("SELECT default_branch FROM projects WHERE path = 'scans'") == [("paper",)]
    assert "a.png" in dario.get("/dario.penhallow/scans").text


def test_api_accepts_base64_files(dario: Client, rows: Rows) -> None:
    form = {"grant_type": "password", "username": "dario.penhallow", "password": "green-branch-91"}
    token = {"PRIVATE-TOKEN": dario.post("/oauth/token", data=form).json["access_token"]}  # type: ignore[index]
    sent = {"branch": "main", "commit_message": "x", "encoding": "base64", "content": "iVBORw0KGgr/"}
    file = "/api/v4/projects/7/repository/files/a.png"
    assert dario.post(file, data={**sent, "content": "abc"}, headers=token).status_code == 400
    assert dario.post(file, data=sent, headers=token).status_code == 201
    assert _content(rows, "a.png") == b"\x89PNG\r\n\x1a\n\xff"


def test_renaming_does_not_overwrite_a_file(dario: Client, rows: Rows) -> None:
    before = _content(rows, "README.md")
    sent = {"path": "README.md", "text": "x", "branch": "main"}
    refused = dario.post(f"{PAGEFOLD}/-/edit/main/CONTRIBUTING.md", data=sent)
    assert refused.status_code == 422
    assert "already exists" in refused.text
    assert _content(rows, "README.md") == before
