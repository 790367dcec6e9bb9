"""Actions of users (edit files, write issues, merge changes, fork, invite) and their permissions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import clock

Rows = Callable[..., list[tuple[Any, ...]]]
SignIn = Callable[[str], Client]

PAGEFOLD = "/makers/pagefold"


def _page_text(rows: Rows, project: str, path: str, branch: str = "main") -> str:
    found = rows("SELECT text FROM texts WHERE project = ? AND path = ? AND branch = ?", project, path, branch)
    return str(found[0][0]) if found else ""


def _tip(rows: Rows, project: str, branch: str) -> str:
    query = "SELECT sha FROM refs JOIN projects ON projects.id = project_id WHERE full_path = ? AND refs.name = ?"
    found = rows(query, project, f"refs/heads/{branch}")
    return str(found[0][0]) if found else ""


def test_signing_in_and_out(visitor: Client) -> None:
    wrong = visitor.post("/users/sign_in", data={"username": "dario.penhallow", "password": "no"})
    assert wrong.status_code == 422
    assert "Invalid login or password." in wrong.text

    sent = {"username": " Dario.Penhallow ", "password": "green-branch-91", "next": "/dashboard/todos"}
    assert visitor.post("/users/sign_in", data=sent).location == "/dashboard/todos"
    assert "dario.penhallow" in visitor.get("/-/profile").text
    assert visitor.post("/users/sign_out").status_code == 303
    assert visitor.get("/-/profile").location == "/users/sign_in?next=/-/profile"
    assert visitor.post("/users/sign_in", data={**sent, "next": "//evil.test/"}).location == "/"


def test_private_projects_do_not_exist_for_others(visitor: Client, signed_in: SignIn) -> None:
    secret = "/lantern-loam/price-labels"
    assert visitor.get(secret).status_code == visitor.get("/lantern-loam/no-such-thing").status_code == 303
    stranger, guest, developer = map(signed_in, ("osric.fell", "mara.linden", "noor.haddadin"))

    for path in (secret, f"{secret}/-/issues", f"{secret}/-/raw/main/labels.py", "/lantern-loam"):
        assert stranger.get(path).status_code == 404, path
    assert stranger.post(f"{secret}/-/issues", data={"title": "x"}).status_code == 404
    assert "Price labels" not in stranger.get("/search?search=labels").text
    assert "labels.py" not in stranger.get("/search?search=struck&scope=blobs").text
    # Guests see issues, but neither files nor merge requests.
    assert guest.get(f"{secret}/-/issues").status_code == 200
    assert guest.get(f"{secret}/-/blob/main/labels.py").status_code == 404
    assert guest.get(f"{secret}/-/merge_requests").status_code == 404
    assert "labels.py" not in guest.get("/search?search=struck&scope=blobs").text
    assert developer.get(f"{secret}/-/blob/main/labels.py").status_code == 200
    assert visitor.get("/regional-library/catalogue").status_code == 303
    assert stranger.get("/regional-library/catalogue").status_code == 200


def test_edit_creates_a_commit(dario: Client, rows: Rows) -> None:
    before = _tip(rows, "makers/pagefold", "main")
    text = _page_text(rows, "makers/pagefold", "README.md") + "\n## Thanks\n\nTo Ilse.\n"
    sent = {"path": "README.md", "text": text.replace("\n", "\r\n"), "message": "Thank Ilse", "branch": "main",
            "tip": before}  # fmt: skip
    response = dario.post(f"{PAGEFOLD}/-/edit/main/README.md", data=sent)

    assert response.location == f"{PAGEFOLD}/-/blob/main/README.md"
    assert _page_text(rows, "makers/pagefold", "README.md") == text
    commit = rows("SELECT sha, author, author_email, committed, message FROM commits ORDER BY number DESC LIMIT 1")[0]
    assert commit[0] == _tip(rows, "makers/pagefold", "main")
    assert commit[1:] == ("Dario Penhallow", "dario.penhallow@tarnmark.test", clock.now().isoformat()[:19],
                          "Thank Ilse\n")  # fmt: skip
    assert rows("SELECT parent FROM parents WHERE sha = ?", commit[0]) == [(before,)]
    assert rows("SELECT path FROM changes WHERE sha = ?", commit[0]) == [("README.md",)]
    # An edit based on an older commit is refused.
    again = dario.post(f"{PAGEFOLD}/-/edit/main/README.md", data=sent)
    assert again.status_code == 422
    assert "Somebody changed the branch" in again.text


def test_files_can_be_created_renamed_and_deleted(dario: Client, rows: Rows) -> None:
    new = {"path": "docs/paper.md", "text": "# Paper", "message": "", "branch": "main"}
    assert dario.post(f"{PAGEFOLD}/-/new/main", data=new).status_code == 303
    assert _page_text(rows, "makers/pagefold", "docs/paper.md") == "# Paper\n"
    assert "already exists" in dario.post(f"{PAGEFOLD}/-/new/main", data=new).text
    for bad in ("../x", "a//b", ".git/config", "README.md/x", ""):
        assert dario.post(f"{PAGEFOLD}/-/new/main", data={**new, "path": bad}).status_code == 422, bad

    renamed = {**new, "path": "docs/papers.md"}
    assert dario.post(f"{PAGEFOLD}/-/edit/main/docs/paper.md", data=renamed).status_code == 303
    assert _page_text(rows, "makers/pagefold", "docs/paper.md") == ""
    assert dario.post(f"{PAGEFOLD}/-/delete/main/docs/papers.md", data={"branch": "main"}).status_code == 303
    assert not rows("SELECT 1 FROM texts WHERE project = 'makers/pagefold' AND path LIKE 'docs/%'")
    assert dario.get(f"{PAGEFOLD}/-/tree/main/docs").status_code == 404


def test_developer_proposes_and_maintainer_merges(signed_in: SignIn, dario: Client, rows: Rows) -> None:
    ilse = signed_in("ilse.varnholt")  # developer: the default branch is protected
    sent = {"path": "CREDITS.md", "text": "Ilse", "message": "Add credits", "branch": "main", "merge_request": "1"}
    assert "not allowed to push into the branch" in ilse.post(f"{PAGEFOLD}/-/new/main", data=sent).text
    response = ilse.post(f"{PAGEFOLD}/-/new/main", data={**sent, "branch": "credits"})
    assert "merge_request%5Bsource_branch%5D=credits" in response.location
    assert 'value="Add credits"' in ilse.get(response.location).text

    reviewer = rows("SELECT id FROM users WHERE username = 'dario.penhallow'")[0][0]
    target = rows("SELECT id FROM projects WHERE full_path = 'makers/pagefold'")[0][0]
    made = ilse.post(f"{PAGEFOLD}/-/merge_requests", data={
        "merge_request[source_branch]": "credits", "merge_request[target_branch]": "main",
        "merge_request[target_project_id]": target, "title": "Add credits", "description": "For @bertram.hale.",
        "reviewer": reviewer,
    })  # fmt: skip
    iid = int(made.location.rpartition("/")[2])
    todo = "SELECT username, action FROM todos JOIN users ON users.id = user_id WHERE todos.id > 90 ORDER BY username"
    highest = rows("SELECT max(id) FROM todos")[0][0]
    assert rows(todo.replace("90", str(highest - 2))) == [
        ("bertram.hale", "mentioned"), ("dario.penhallow", "review_requested"),
    ]  # fmt: skip
    assert "already exists" in ilse.post(f"{PAGEFOLD}/-/merge_requests", data={
        "merge_request[source_branch]": "credits", "merge_request[target_branch]": "main", "title": "Again",
    }).text  # fmt: skip

    here = f"{PAGEFOLD}/-/merge_requests/{iid}"
    assert "CREDITS.md" in dario.get(f"{here}/diffs").text
    ilse.post(f"{here}/merge")
    assert "not allowed to merge" in ilse.get(here).text
    assert rows("SELECT state FROM merge_requests ORDER BY id DESC LIMIT 1") == [("opened",)]
    dario.post(f"{here}/approve")
    dario.post(f"{here}/merge", data={"remove_source_branch": "1"})

    assert _page_text(rows, "makers/pagefold", "CREDITS.md") == "Ilse\n"
    assert _tip(rows, "makers/pagefold", "credits") == ""
    state, sha = rows("SELECT state, merge_sha FROM merge_requests ORDER BY id DESC LIMIT 1")[0]
    assert state == "merged"
    assert sha == _tip(rows, "makers/pagefold", "main")
    assert len(rows("SELECT 1 FROM parents WHERE sha = ?", sha)) == 2
    assert "Merged by Dario Penhallow" in dario.get(here).text
    assert "CREDITS.md" in dario.get(f"{here}/diffs").text


def test_merge_request_with_conflicts_is_not_merged(signed_in: SignIn, rows: Rows) -> None:
    anneke = signed_in("anneke.voss")
    iid = rows("SELECT iid FROM merge_requests WHERE source_branch = 'round-heights'")[0][0]
    here = f"/harbour/tideclock/-/merge_requests/{iid}"
    before = _tip(rows, "harbour/tideclock", "main")

    assert "conflicts in README.md" in anneke.get(here).text
    anneke.post(f"{here}/merge")
    assert "There are conflicts in README.md." in anneke.get(here).text
    assert _tip(rows, "harbour/tideclock", "main") == before


def test_draft_is_not_merged_until_marked_ready(dario: Client, rows: Rows) -> None:
    iid = rows("SELECT iid FROM merge_requests WHERE source_branch = 'fix-readme-sheets'")[0][0]
    here = f"{PAGEFOLD}/-/merge_requests/{iid}"
    dario.post(f"{here}/draft")
    assert "it is a draft" in dario.get(here).text
    dario.post(f"{here}/merge")
    assert "mark it as ready first" in dario.get(here).text
    dario.post(f"{here}/ready")
    dario.post(f"{here}/merge", data={"squash": "1"})
    assert "three for heavy paper" in _page_text(rows, "makers/pagefold", "README.md")


def test_fork_and_merge_request_from_it(signed_in: SignIn, rows: Rows) -> None:
    thea = signed_in("thea.winslade")
    own = rows("SELECT id FROM namespaces WHERE path = 'thea.winslade'")[0][0]
    form = {"name": "Wendline", "path": "wendline", "namespace": own, "visibility": "public", "description": ""}
    assert thea.post("/wend-transit/wendline/-/forks/new", data=form).location == "/thea.winslade/wendline"
    assert "already been taken" in thea.post("/wend-transit/wendline/-/forks/new", data=form).text
    assert _tip(rows, "thea.winslade/wendline", "main") == _tip(rows, "wend-transit/wendline", "main")
    assert "Forked from" in thea.get("/thea.winslade/wendline").text

    edit = {"path": "README.md", "text": "# Mine\n", "message": "Mine", "branch": "mine"}
    assert thea.post("/thea.winslade/wendline/-/edit/main/README.md", data=edit).status_code == 303
    target = rows("SELECT id FROM projects WHERE full_path = 'wend-transit/wendline'")[0][0]
    made = thea.post("/thea.winslade/wendline/-/merge_requests", data={
        "merge_request[source_branch]": "mine", "merge_request[target_branch]": "main", "title": "Mine",
        "merge_request[target_project_id]": target,
    })  # fmt: skip
    assert made.location.startswith("/wend-transit/wendline/-/merge_requests/")
    tomasz = signed_in("tomasz.wilk")
    tomasz.post(f"{made.location}/merge")
    assert _page_text(rows, "wend-transit/wendline", "README.md") == "# Mine\n"


def test_issue_can_be_created_edited_closed_and_reopened(signed_in: SignIn, rows: Rows) -> None:
    osric = signed_in("osric.fell")  # no member
    given = osric.get(f"{PAGEFOLD}/-/issues/new?issue[title]=Bad+glue&issue[description]=It+smells").text
    assert 'value="Bad glue"' in given
    assert "It smells" in given
    assert "Title can" in osric.post(f"{PAGEFOLD}/-/issues", data={"title": " "}).text
    here = osric.post(
        f"{PAGEFOLD}/-/issues", data={"title": "Bad glue", "description": "See #1, @dario.penhallow"}
    ).location
    page = osric.get(here).text
    assert f'<a href="{PAGEFOLD}/-/issues/1">#1</a>' in page
    assert '<a href="/dario.penhallow">@dario.penhallow</a>' in page

    dario = signed_in("dario.penhallow")
    label = rows("SELECT labels.id FROM labels JOIN projects ON projects.id = project_id"
                 " WHERE full_path = 'makers/pagefold' AND title = 'bug'")[0][0]  # fmt: skip
    who = rows("SELECT id FROM users WHERE username = 'ilse.varnholt'")[0][0]
    dario.post(f"{here}/edit", data={"title": "Glue smells", "description": "It does", "label": label, "assignee": who,
                                     "due_date": "2025-06-01"})  # fmt: skip
    assert rows("SELECT title, due_date, state FROM issues ORDER BY id DESC LIMIT 1") == [
        ("Glue smells", "2025-06-01", "opened")
    ]
    assert "Ilse Varnholt" in dario.get(here).text
    assert dario.post(f"{here}/edit", data={"title": "x", "due_date": "soon"}).status_code == 422

    osric.post(f"{here}/notes", data={"text": "I **opened** the <b>window</b>."})
    assert "I <strong>opened</strong> the &lt;b&gt;window&lt;/b&gt;." in osric.get(here).text
    other = signed_in("rufus.godbold")
    assert other.post(f"{here}/close").status_code == 403
    osric.post(f"{here}/close", data={"text": "Gone."})
    assert rows("SELECT state FROM issues ORDER BY id DESC LIMIT 1") == [("closed",)]
    osric.post(f"{here}/reopen")
    assert rows("SELECT state FROM issues ORDER BY id DESC LIMIT 1") == [("opened",)]


def test_confidential_issue_is_visible_to_author_and_members(signed_in: SignIn) -> None:
    thea, ilse, osric = map(signed_in, ("thea.winslade", "ilse.varnholt", "osric.fell"))
    here = thea.post(f"{PAGEFOLD}/-/issues", data={"title": "My password", "confidential": "on"}).location

    assert thea.get(here).status_code == ilse.get(here).status_code == 200
    assert osric.get(here).status_code == 404
    assert "My password" not in osric.get(f"{PAGEFOLD}/-/issues").text
    assert "My password" not in osric.get("/search?search=password&scope=issues").text


def test_issue_list_filters(visitor: Client, rows: Rows) -> None:
    def titles(query: str) -> set[str]:
        html = visitor.get(f"{PAGEFOLD}/-/issues?{query}").text
        return set(re.findall(rf'<h2><a href="{PAGEFOLD}/-/issues/\d+">([^<]+)</a>', html))

    everything = titles("state=all")
    assert titles("state=opened") | titles("state=closed") == everything
    assert titles("label_name[]=bug&state=all") < everything
    assert titles("assignee_username=dario.penhallow&state=all&search=upside") == {
        "Last page is upside down with 5 sheets"
    }
    assert titles("author_username=mara.linden") == {"Explain signatures with a drawing"}
    assert titles("assignee_username=None") & titles("assignee_username=dario.penhallow") == set()


def test_members_can_be_added_changed_and_removed(signed_in: SignIn, rows: Rows) -> None:
    dario, osric = signed_in("dario.penhallow"), signed_in("osric.fell")
    members = f"{PAGEFOLD}/-/project_members"
    assert osric.post(members, data={"username": "osric.fell", "role": "owner"}).status_code == 403
    assert "no user" in dario.post(members, data={"username": "nobody", "role": "guest"}).text
    assert "higher than your own" in dario.post(members, data={"username": "osric.fell", "role": "owner"}).text
    sent = {"username": "@osric.fell", "role": "developer", "expires": "2025-05-14"}
    assert "must be after today" in dario.post(members, data=sent).text
    dario.post(members, data={**sent, "expires": "20250515"})
    held = (
        "SELECT members.id, role FROM members JOIN users ON users.id = user_id"
        " JOIN projects ON projects.id = project_id WHERE username = 'osric.fell' AND full_path = 'makers/pagefold'"
    )
    number, role = rows(held)[0]
    assert role == "developer"
    assert osric.get(f"{PAGEFOLD}/-/edit/main/README.md").status_code == 200
    # A membership ends when its expiry date begins.
    assert rows(
        "UPDATE members SET expires = '2025-05-14' WHERE id = ? AND expires = '2025-05-15' RETURNING id", number
    )
    assert osric.get(f"{PAGEFOLD}/-/edit/main/README.md").status_code == 403
    dario.post(f"{members}/{number}", data={"role": "reporter"})
    assert rows(held) == [(number, "reporter")]
    assert "member already" in dario.post(members, data={"username": "osric.fell", "role": "guest"}).text
    dario.post(f"{members}/{number}", data={"role": "reporter", "remove": "1"})
    assert rows(held) == []


@pytest.mark.parametrize(
    "path",
    ["edit", "archive", "delete", "-/labels/new", "-/milestones/new", "-/branches", "-/tags", "-/project_members",
     "-/new/main", "-/edit/main/README.md", "-/merge_requests/1/approve", "-/branches/delete"],
)  # fmt: skip
def test_non_members_cannot_change_a_project(
    path: str, signed_in: SignIn, visitor: Client, data_dir: Path, pristine: Path
) -> None:
    sent = {"title": "x", "branch_name": "x", "tag_name": "x", "username": "osric.fell", "role": "guest", "text": "x"}
    response = signed_in("osric.fell").post(f"{PAGEFOLD}/{path}", data=sent)

    assert response.status_code == 403
    assert "403" in response.text
    assert visitor.post(f"{PAGEFOLD}/{path}", data=sent).status_code == 303
    assert (data_dir / "main.sqlite3").read_bytes() == (pristine / "main.sqlite3").read_bytes()


def test_an_archived_project_is_read_only(signed_in: SignIn) -> None:
    yuki = signed_in("yuki.morishige")
    assert yuki.post(f"{PAGEFOLD}/archive").status_code == 303
    assert yuki.post(f"{PAGEFOLD}/-/issues", data={"title": "x"}).status_code == 403
    assert yuki.get(PAGEFOLD).status_code == 200
    assert yuki.post(f"{PAGEFOLD}/unarchive").status_code == 303
    assert yuki.post(f"{PAGEFOLD}/-/issues", data={"title": "x"}).status_code == 303


def test_projects_and_groups_can_be_created_and_deleted(dario: Client, rows: Rows) -> None:
    group = dario.post("/groups/new", data={"name": "Night Bakers", "visibility": "private"})
    assert group.location == "/night-bakers"
    number = rows("SELECT id FROM namespaces WHERE path = 'night-bakers'")[0][0]
    form = {"name": "Rye & salt", "path": "rye", "namespace": number, "visibility": "private", "readme": "1"}
    assert dario.post("/projects/new", data=form).location == "/night-bakers/rye"
    assert _page_text(rows, "night-bakers/rye", "README.md") == "# Rye & salt\n"
    assert dario.post("/projects/new", data={**form, "path": "a/b"}).status_code == 422
    assert dario.post("/projects/new", data={**form, "namespace": "1"}).status_code == 422
    assert dario.post("/groups/new", data={"name": "explore", "visibility": "public"}).status_code == 422
    dario.post("/night-bakers/rye/-/issues", data={"title": "Salt"})

    dario.post("/night-bakers/rye/delete", data={"confirm": "rye"})
    assert dario.get("/night-bakers/rye").status_code == 200
    dario.post("/night-bakers/rye/delete", data={"confirm": "night-bakers/rye"})
    assert dario.get("/night-bakers/rye").status_code == 404


def test_first_file_can_be_created_in_an_empty_project(dario: Client, rows: Rows) -> None:
    own = rows("SELECT id FROM namespaces WHERE path = 'dario.penhallow'")[0][0]
    dario.post("/projects/new", data={"name": "empty", "namespace": own, "visibility": "public"})
    for part in ("", "/-/commits", "/-/branches", "/-/tags", "/-/compare", "/-/merge_requests/new", "/edit"):
        assert dario.get(f"/dario.penhallow/empty{part}").status_code == 200, part
    dario.post("/dario.penhallow/empty/-/new/main", data={"path": "a.txt", "text": "a", "branch": "main"})
    assert _page_text(rows, "dario.penhallow/empty", "a.txt") == "a\n"


def test_stars_follows_status_and_to_dos(dario: Client, rows: Rows) -> None:
    before = rows("SELECT count(*) FROM stars")[0][0]
    dario.post("/atlas/fellmap/star")
    dario.post("/atlas/fellmap/star")
    assert rows("SELECT count(*) FROM stars")[0][0] - before <= 1
    assert "Fellmap" in dario.get("/dashboard/projects/starred").text
    dario.post("/atlas/fellmap/unstar")
    assert "Fellmap" not in dario.get("/dashboard/projects/starred").text
    dario.post("/users/osric.fell/follow")
    assert "Dario Penhallow" in dario.get("/users/osric.fell/followers").text

    dario.post("/-/profile/status", data={"status_emoji": "🌙", "status_message": "Late shift", "status_busy": "on"})
    assert rows("SELECT status_emoji, status_message, status_busy FROM users WHERE username = 'dario.penhallow'") == [
        ("🌙", "Late shift", 1)
    ]
    assert "Late shift" in dario.get("/dario.penhallow").text
    count_pending = (
        "SELECT count(*) FROM todos JOIN users ON users.id = user_id WHERE username = ? AND state = 'pending'"
    )
    assert rows(count_pending, "dario.penhallow")[0][0] > 2
    dario.post("/dashboard/todos/done_all")
    assert rows(count_pending, "dario.penhallow")[0][0] == 0
    assert rows(count_pending, "anneke.voss")[0][0] > 0


def test_branches_tags_labels_and_milestones_can_be_managed(dario: Client, rows: Rows) -> None:
    assert dario.post(f"{PAGEFOLD}/-/branches", data={"branch_name": "try/one", "ref": "main"}).status_code == 303
    assert dario.get(f"{PAGEFOLD}/-/blob/try/one/pagefold/impose.py").status_code == 200
    assert "already exists" in dario.post(f"{PAGEFOLD}/-/branches", data={"branch_name": "try/one"}).text
    assert "can&#39;t be the name" in dario.post(f"{PAGEFOLD}/-/branches", data={"branch_name": "a..b"}).text
    dario.post(f"{PAGEFOLD}/-/branches/delete", data={"branch_name": "try/one"})
    assert _tip(rows, "makers/pagefold", "try/one") == ""
    assert dario.post(f"{PAGEFOLD}/-/branches/delete", data={"branch_name": "main"}).status_code == 403
    dario.post(f"{PAGEFOLD}/-/tags", data={"tag_name": "v9", "ref": "main"})
    assert dario.get(f"{PAGEFOLD}/-/tree/v9").status_code == 200

    assert dario.post(f"{PAGEFOLD}/-/labels/new", data={"title": "paper", "color": "red"}).status_code == 422
    dario.post(f"{PAGEFOLD}/-/labels/new", data={"title": "paper", "color": "#aabbcc"})
    assert "already been taken" in dario.post(f"{PAGEFOLD}/-/labels/new", data={"title": "paper"}).text
    late = {"title": "Autumn", "start_date": "2025-09-30", "due_date": "2025-09-01"}
    assert "must be after" in dario.post(f"{PAGEFOLD}/-/milestones/new", data=late).text
    here = dario.post(f"{PAGEFOLD}/-/milestones/new", data={**late, "due_date": "2025-11-30"}).location
    dario.post(f"{here}/close")
    assert rows("SELECT title, state FROM milestones ORDER BY id DESC LIMIT 1") == [("Autumn", "closed")]
