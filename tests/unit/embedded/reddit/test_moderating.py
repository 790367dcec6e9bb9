"""Moderation: removal, locks, pins, bans, permissions and the log."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from werkzeug.test import Client

from pytest_webarena.embedded import clock

Rows = Callable[..., list[tuple[Any, ...]]]
SignedIn = Callable[[str], Client]
_LOG = "select action, reason, u.name from moderation m join users u on u.id = m.by_user where m.id > ? order by m.id"


@pytest.fixture
def post(rows: Rows) -> int:
    """A post in `books` whose author is not a moderator."""
    ((number,),) = rows(
        "select max(p.id) from posts p join forums f on f.id = p.forum join users u on u.id = p.user"
        " where f.name = 'books' and u.name not in ('mara.linden', 'ilse.varnholt', 'thea.winslade')"
    )
    return int(number)


def test_post_can_be_removed_and_restored(mara: Client, visitor: Client, rows: Rows, post: int) -> None:
    ((before,),) = rows("select max(id) from moderation")
    ((title,),) = rows("select title from posts where id = ?", post)
    mara.post(f"/f/books/{post}/-/remove", data={"reason": "Off topic."})

    assert rows("select removed from posts where id = ?", post) == [(1,)]
    assert f"post-{post}" not in visitor.get("/f/books/new").get_data(as_text=True)
    guest = visitor.get(f"/f/books/{post}/-").get_data(as_text=True)
    assert "[removed by a moderator]" in guest
    assert "Restore post" in mara.get(f"/f/books/{post}/-").get_data(as_text=True)
    assert visitor.get(f"/api/posts/{post}").status_code == 404
    assert title not in guest.partition("</title>")[0]
    mara.post(f"/f/books/{post}/-/restore")
    mara.post(f"/f/books/{post}/-/restore")
    assert rows(_LOG, before) == [
        ("remove_post", "Off topic.", "mara.linden"), ("restore_post", "", "mara.linden"),
    ]  # fmt: skip
    assert "Off topic." in visitor.get("/f/books/moderation_log").get_data(as_text=True)


def test_comment_can_be_removed_and_restored(mara: Client, visitor: Client, rows: Rows) -> None:
    ((number, thread, count),) = rows(
        "select c.id, p.id, p.comments from comments c join posts p on p.id = c.post join forums f on f.id = p.forum"
        " where f.name = 'books' and c.id not in (select parent from comments where parent is not null) limit 1"
    )
    mara.post(f"/comment/{number}/remove", data={"reason": "Rude."})

    assert f"comment-{number}" not in visitor.get(f"/f/books/{thread}/-").get_data(as_text=True)
    assert f"comment-{number}" in mara.get(f"/f/books/{thread}/-").get_data(as_text=True)
    assert rows("select comments from posts where id = ?", thread) == [(count - 1,)]
    mara.post(f"/comment/{number}/restore")
    assert rows("select comments from posts where id = ?", thread) == [(count,)]


def test_locked_thread_accepts_comments_only_from_moderators(
    mara: Client, signed_in: SignedIn, rows: Rows, post: int
) -> None:
    thea = signed_in("thea.winslade")
    mara.post(f"/f/books/{post}/-/lock")

    assert thea.post(f"/f/books/{post}/-/comment", data={"body": "But"}).status_code == 422
    assert "takes no more comments" in thea.get(f"/f/books/{post}/-").get_data(as_text=True)
    assert mara.post(f"/f/books/{post}/-/comment", data={"body": "Closed."}).status_code == 303
    mara.post(f"/f/books/{post}/-/unlock")
    assert thea.post(f"/f/books/{post}/-/comment", data={"body": "But"}).status_code == 303


def test_pinned_post_is_first_in_hot_order(mara: Client, visitor: Client, rows: Rows) -> None:
    ((oldest,),) = rows("select min(p.id) from posts p join forums f on f.id = p.forum where f.name = 'books'")
    rows("update posts set pinned = 0")
    mara.post(f"/f/books/{oldest}/-/pin")

    hot, new = (visitor.get(f"/f/books{sort}").get_data(as_text=True) for sort in ("", "/new"))
    assert hot.index('id="post-') == hot.index(f'id="post-{oldest}"')
    assert f'id="post-{oldest}"' not in new


def test_ban_expires_and_applies_to_its_forum_only(
    mara: Client, signed_in: SignedIn, rows: Rows, post: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    thea = signed_in("thea.winslade")
    for wrong in ({"reason": ""}, {"username": "nobody"}, {"username": "desmond.pell"}, {"days": "soon"}):
        draft = {"username": "thea.winslade", "reason": "Spoilers.", "days": "7", **wrong}
        assert mara.post("/f/books/bans", data=draft).status_code == 422
    mara.post("/f/books/bans", data={"username": "thea.winslade", "reason": "Spoilers.", "days": "7"})

    refused = thea.post("/submit", data={"forum": "books", "title": "x"})
    assert "You are banned from books: Spoilers." in refused.get_data(as_text=True)
    assert thea.post(f"/f/books/{post}/-/comment", data={"body": "x"}).status_code == 422
    votes = rows("select up, down from posts where id = ?", post)
    thea.post(f"/sv/{post}", data={"choice": 1})
    assert rows("select up, down from posts where id = ?", post) == votes
    assert thea.post("/submit", data={"forum": "swimming", "title": "x"}).status_code == 303
    week = clock.now().replace(day=22)
    monkeypatch.setattr(clock, "now", lambda: week)
    assert thea.post("/submit", data={"forum": "books", "title": "x"}).status_code == 303
    mara.post("/f/books/unban/thea.winslade")
    assert rows("select count(*) from bans b join users u on u.id = b.user where u.name = 'thea.winslade'") == [(0,)]


def test_only_moderators_and_administrators_can_moderate(
    signed_in: SignedIn, visitor: Client, rows: Rows, post: int
) -> None:
    thea = signed_in("thea.winslade")
    before = rows("select count(*) from moderation")
    for path in (
        f"/f/books/{post}/-/remove", f"/f/books/{post}/-/lock", f"/f/books/{post}/-/pin", "/f/books/bans",
        "/f/books/edit", "/f/books/moderators/add", "/f/books/unban/gander_gus",
    ):  # fmt: skip
        assert thea.post(path, data={"reason": "x", "username": "thea.winslade"}).status_code == 403, path
        assert visitor.post(path).status_code == 303, path
    assert rows("select count(*) from moderation") == before
    # Rights in the forum of the address must not apply to a post of another forum.
    assert thea.post(f"/f/swimming/{post}/-/lock").status_code == 403
    assert signed_in("desmond.pell").post(f"/f/books/{post}/-/lock").status_code == 303
    assert rows("select locked from posts where id = ?", post) == [(1,)]


def test_last_moderator_cannot_be_removed(mara: Client, signed_in: SignedIn, rows: Rows) -> None:
    names = (
        "select u.name from moderators m join users u on u.id = m.user join forums f on f.id = m.forum"
        " where f.name = 'books' order by u.name"
    )
    mara.post("/f/books/moderators/add", data={"username": "Thea.Winslade"})
    assert rows(names) == [("ilse.varnholt",), ("mara.linden",), ("thea.winslade",)]
    for name in ("ilse.varnholt", "thea.winslade"):
        mara.post("/f/books/moderators/remove", data={"username": name})
    assert mara.post("/f/books/moderators/remove", data={"username": "mara.linden"}).status_code == 400
    assert rows(names) == [("mara.linden",)]
