"""The API: tokens identify users and grant the same access as the pages."""

from __future__ import annotations

import base64
from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_webarena.sites.catalogues.loading import load_catalogue

Rows = Callable[..., list[tuple[Any, ...]]]

PAGEFOLD = "/api/v4/projects/makers%2Fpagefold"


@pytest.fixture
def token(visitor: Client) -> Callable[[str, str], dict[str, str]]:
    def make(username: str, password: str) -> dict[str, str]:
        sent = {"grant_type": "password", "username": username, "password": password}
        return {"Authorization": f"Bearer {visitor.post('/oauth/token', json=sent).get_json()['access_token']}"}

    return make


@pytest.fixture
def dario_token(token: Callable[[str, str], dict[str, str]]) -> dict[str, str]:
    return token("dario.penhallow", "green-branch-91")


def test_account_of_the_catalogue_gets_a_token(visitor: Client) -> None:
    api = load_catalogue("embedded").site("gitlab").api
    assert api is not None
    assert api.token in visitor.post(api.path, json=api.body).get_json()


def test_tokens_identify_the_user(visitor: Client, dario: Client, dario_token: dict[str, str]) -> None:
    wrong = visitor.post(
        "/oauth/token", data={"grant_type": "password", "username": "dario.penhallow", "password": "x"}
    )
    assert wrong.status_code == 400
    assert visitor.get("/api/v4/user").status_code == 401
    assert visitor.get("/api/v4/user", headers=dario_token).get_json()["username"] == "dario.penhallow"
    made = dario.post("/-/profile/personal_access_tokens", data={"name": "x", "scopes": "read_api"}).text
    own = {"PRIVATE-TOKEN": made.partition('id="created-token" readonly value="')[2].partition('"')[0]}
    assert visitor.get("/api/v4/user", headers=own).get_json()["username"] == "dario.penhallow"
    assert visitor.post(f"{PAGEFOLD}/issues", json={"title": "x"}, headers=own).status_code == 403
    assert visitor.get("/api/v4/user", headers={"PRIVATE-TOKEN": "glpat-none"}).status_code == 401
    dario.post("/-/profile/personal_access_tokens/1/revoke")
    assert visitor.get("/api/v4/user", headers=own).status_code == 401
    # A page of another origin can't use the browser's session for changes.
    assert dario.post(f"{PAGEFOLD}/issues", json={"title": "x"}).status_code == 401


def test_api_shows_private_projects_only_to_members(visitor: Client, dario_token: dict[str, str],
                                          token: Callable[[str, str], dict[str, str]]) -> None:  # fmt: skip
    secret = "/api/v4/projects/lantern-loam%2Fprice-labels"
    guest = token("mara.linden", "paper-lantern-86")
    assert visitor.get(secret).status_code == 404
    assert visitor.get(secret, headers=dario_token).get_json()["visibility"] == "private"
    assert visitor.get(f"{secret}/repository/tree", headers=guest).status_code == 403
    assert visitor.get(f"{secret}/merge_requests", headers=guest).status_code == 403
    assert visitor.get(f"{secret}/merge_requests/1", headers=guest).status_code == 403
    assert visitor.post(f"{secret}/fork", headers=guest).status_code == 403
    everything = visitor.get("/api/v4/projects?per_page=100").get_json()
    assert {each["visibility"] for each in everything} == {"public"}


def test_api_creates_updates_and_lists_issues(visitor: Client, dario_token: dict[str, str], rows: Rows) -> None:
    sent = {"title": "Glue", "labels": "bug", "description": "Bad"}
    made = visitor.post(f"{PAGEFOLD}/issues", json=sent, headers=dario_token)
    assert made.status_code == 201
    assert made.get_json()["labels"] == ["bug"]
    here = f"{PAGEFOLD}/issues/{made.get_json()['iid']}"
    changed = visitor.put(here, json={"state_event": "close", "title": "Old glue"}, headers=dario_token).get_json()
    assert (changed["state"], changed["title"], changed["description"], changed["labels"]) == (
        "closed", "Old glue", "Bad", ["bug"],
    )  # fmt: skip
    note = visitor.post(f"{here}/notes", json={"body": "Gone"}, headers=dario_token).get_json()
    assert note["author"]["username"] == "dario.penhallow"
    assert visitor.post(f"{PAGEFOLD}/issues", json={}, headers=dario_token).status_code == 400
    listed = visitor.get(f"{PAGEFOLD}/issues?state=closed&per_page=100")
    assert int(listed.headers["X-Total"]) == len(listed.get_json())


def test_api_commits_files_and_merges_requests(visitor: Client, dario_token: dict[str, str], rows: Rows) -> None:
    read = visitor.get(f"{PAGEFOLD}/repository/files/pagefold%2Fcreep.py?ref=main").get_json()
    assert b"def shift" in base64.b64decode(read["content"])
    assert "def shift" in visitor.get(f"{PAGEFOLD}/repository/files/pagefold%2Fcreep.py/raw").text
    sent = {"branch": "main", "content": "new\n", "commit_message": "Add x"}
    put = visitor.post(f"{PAGEFOLD}/repository/files/x.txt", json=sent, headers=dario_token)
    assert put.status_code == 201
    assert visitor.post(f"{PAGEFOLD}/repository/files/x.txt", json=sent, headers=dario_token).status_code == 400
    assert visitor.get(f"{PAGEFOLD}/repository/commits").get_json()[0]["title"] == "Add x"
    assert {"name": "x.txt", "type": "blob"}.items() <= visitor.get(f"{PAGEFOLD}/repository/tree").get_json()[
        -1
    ].items()

    iid = rows("SELECT iid FROM merge_requests WHERE source_branch = 'japanese-binding'")[0][0]
    merged = visitor.put(f"{PAGEFOLD}/merge_requests/{iid}/merge", headers=dario_token).get_json()
    assert merged["state"] == "merged"
    assert visitor.put(f"{PAGEFOLD}/merge_requests/{iid}/merge", headers=dario_token).status_code == 405
    heads = {each["name"]: each["commit"]["id"] for each in visitor.get(f"{PAGEFOLD}/repository/branches").get_json()}
    assert heads["main"] == merged["merge_commit_sha"]


def test_api_reads_other_resources_and_forks(visitor: Client, dario_token: dict[str, str]) -> None:
    for path in ("/version", "/users?username=osric.fell", "/groups", "/issues", "/merge_requests",
                 "/projects/makers%2Fpagefold/labels", "/projects/makers%2Fpagefold/milestones",
                 "/projects/makers%2Fpagefold/members", "/projects/makers%2Fpagefold/merge_requests/1"):  # fmt: skip
        answer = visitor.get(f"/api/v4{path}", headers=dario_token)
        assert answer.status_code == 200, path
        assert answer.is_json
    assert visitor.get("/api/v4/projects/99999").status_code == 404
    assert visitor.get(f"{PAGEFOLD}/issues/999").get_json() == {"message": "404 Not Found"}
    forked = visitor.post(f"{PAGEFOLD}/fork", headers=dario_token).get_json()
    assert forked["path_with_namespace"] == "dario.penhallow/pagefold"
    assert visitor.post(f"{PAGEFOLD}/fork", headers=dario_token).status_code == 409
