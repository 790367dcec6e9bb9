"""Posts, comments, votes, messages and blocks: their forms and the stored rows."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Callable
from html import unescape
from typing import Any

import pytest
from werkzeug.test import Client, TestResponse

Rows = Callable[..., list[tuple[Any, ...]]]
SignedIn = Callable[[str], Client]
_PIXEL = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")


def _submit(client: Client, forum: str = "books", **fields: Any) -> TestResponse:
    return client.post("/submit", data={"forum": forum, "title": "A new post", "body": "", **fields})


def _number(response: TestResponse) -> int:
    assert response.status_code == 303, response.get_data(as_text=True)
    return int(response.location.split("/")[3])


def test_text_post_is_stored_and_shown(mara: Client, rows: Rows) -> None:
    number = _number(_submit(mara, body="First.\r\n\r\nSecond **line**."))

    assert rows(
        "select p.title, p.body, p.url, p.image, f.name, u.name, p.up, p.down, p.created from posts p"
        " join forums f on f.id = p.forum join users u on u.id = p.user where p.id = ?", number
    ) == [
        ("A new post", "First.\n\nSecond **line**.", "", None, "books", "mara.linden", 1, 0, "2025-05-14T09:00:00")
    ]  # fmt: skip
    html = mara.get(f"/f/books/{number}/a-new-post").get_data(as_text=True)
    assert "<p>Second <strong>line</strong>.</p>" in html
    assert f'id="post-{number}"' in mara.get("/f/books/new").get_data(as_text=True)


def test_link_and_image_posts_are_stored_and_shown(mara: Client, rows: Rows) -> None:
    link = _number(_submit(mara, url="http://wikipedia.test/wiki/Wendgate"))
    upload = (io.BytesIO(_PIXEL), "dot.gif")
    picture = _number(_submit(mara, "pictures", image=upload, description="A dot"))

    assert rows("select url, image from posts where id = ?", link) == [("http://wikipedia.test/wiki/Wendgate", None)]
    ((image,),) = rows("select image from posts where id = ?", picture)
    shown = mara.get(f"/pictures/{image}")
    assert (shown.mimetype, shown.data) == ("image/gif", _PIXEL)
    assert 'alt="A dot"' in mara.get(f"/f/pictures/{picture}/-").get_data(as_text=True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"title": " "}, "A post needs a title."),
        ({"title": "x" * 201}, "this one has 201"),
        ({"url": "javascript:alert(1)"}, "This is no web address"),
        ({"url": "http://"}, "This is no web address"),
        ({"forum": ""}, "Choose the forum"),
        ({"image": (b"<svg/>", "a.svg"), "description": "x"}, "Only PNG, JPEG and GIF"),
        ({"image": (_PIXEL, "a.gif")}, "Describe the picture"),
        ({"image": (_PIXEL, "a.gif"), "description": "x", "url": "http://a.test/"}, "either an address or"),
        ({"image": (_PIXEL + b"x" * 200_000, "a.gif"), "description": "x"}, "200 kilobytes"),
    ],
)
def test_invalid_post_shows_the_error_and_keeps_the_text(
    mara: Client, rows: Rows, fields: dict[str, Any], message: str
) -> None:
    before = rows("select count(*) from posts")
    if "image" in fields:
        fields = {**fields, "image": (io.BytesIO(fields["image"][0]), fields["image"][1])}
    response = _submit(mara, **{"body": "Kept <words>.", **fields})
    html = response.get_data(as_text=True)

    assert response.status_code == 422
    assert message in html
    assert "Kept &lt;words&gt;." in html
    assert rows("select count(*) from posts") == before


def test_submit_form_is_filled_from_the_address(mara: Client) -> None:
    html = mara.get("/submit/wool?title=Some+yarn&body=Grey&url=http://shopping.test/").get_data(as_text=True)

    assert 'value="Some yarn"' in html
    assert ">Grey</textarea>" in html
    assert '<option value="wool" selected>' in html


def test_members_can_edit_and_delete_only_their_own_posts(mara: Client, signed_in: SignedIn, rows: Rows) -> None:
    number = _number(_submit(mara))
    thea = signed_in("thea.winslade")

    assert thea.post(f"/f/books/{number}/-/edit", data={"title": "Mine", "body": ""}).status_code == 403
    assert thea.post(f"/f/books/{number}/-/delete").status_code == 403
    assert mara.post(f"/f/books/{number}/-/edit", data={"title": "Better", "body": "b"}).status_code == 303
    assert rows("select title, body, edited is null from posts where id = ?", number) == [("Better", "b", 0)]
    assert "Better" in thea.get("/search?q=better&sort=new").get_data(as_text=True)
    assert mara.get(f"/f/books/{number}/-/delete").status_code == 200
    assert rows("select deleted from posts where id = ?", number) == [(0,)]
    mara.post(f"/f/books/{number}/-/delete")
    assert rows("select deleted from posts where id = ?", number) == [(1,)]
    assert f"post-{number}" not in thea.get("/f/books/new").get_data(as_text=True)
    assert "[deleted by its author]" in thea.get(f"/f/books/{number}/-").get_data(as_text=True)


def test_comments_nest_notify_and_leave_placeholders(mara: Client, signed_in: SignedIn, rows: Rows) -> None:
    number, thea = _number(_submit(mara)), signed_in("thea.winslade")
    path = f"/f/books/{number}/-/comment"
    thea.post(path, data={"body": "A question"})
    ((first,),) = rows("select max(id) from comments")
    mara.post(path, data={"body": "An answer", "parent": first})
    ((second,),) = rows("select max(id) from comments")

    assert rows("select parent, up from comments where id = ?", second) == [(first, 1)]
    assert rows("select comments, active from posts where id = ?", number) == [(2, "2025-05-14T09:00:00")]
    notified = (
        "select u.name, n.seen from notifications n join users u on u.id = n.user where comment in (?, ?) order by 1"
    )
    assert rows(notified, first, second) == [("mara.linden", 0), ("thea.winslade", 0)]
    assert "A question" in mara.get("/notifications").get_data(as_text=True)
    mara.post("/notifications/clear")
    assert rows(notified, first, second) == [("mara.linden", 1), ("thea.winslade", 0)]

    thea.post(f"/comment/{first}/delete")
    html = thea.get(f"/f/books/{number}/-").get_data(
        as_text=True
    )  # moderators also see deleted comments without replies
    assert "A question" not in html
    assert html.index("[deleted by its author]") < html.index("An answer")
    assert rows("select comments from posts where id = ?", number) == [(1,)]
    assert thea.post(f"/comment/{second}/edit", data={"body": "x"}).status_code == 403
    mara.post(f"/comment/{second}/edit", data={"body": "Another answer"})
    assert "1 comment for" in mara.get("/search?q=%22another+answer%22&type=comments").get_data(as_text=True)


@pytest.mark.parametrize("kind", ["post", "comment"])
def test_votes_can_be_given_changed_and_withdrawn(mara: Client, rows: Rows, kind: str) -> None:
    where = "user <> (select id from users where name = 'mara.linden') and not removed"
    ((number,),) = rows(
        f"select max(id) from {kind}s where {where}"
        f" and id not in (select {kind} from {kind}_votes join users on users.id = user where name = 'mara.linden')"
    )
    ((up, down),) = rows(f"select up, down from {kind}s where id = ?", number)
    path = f"/{'sv' if kind == 'post' else 'cv'}/{number}"

    for choice, counts in ((1, (up + 1, down)), (-1, (up, down + 1)), (0, (up, down))):
        assert mara.post(path, data={"choice": choice, "next": "/all"}).location == "/all"
        assert rows(f"select up, down from {kind}s where id = ?", number) == [counts]
    assert mara.post(path, data={"choice": 2}).status_code == 400
    for elsewhere in ("//evil.test/", "/\\evil.test/", "http://evil.test/", "evil"):
        assert mara.post(path, data={"choice": 1, "next": elsewhere}).location.startswith("/f/")


def test_stored_counts_follow_sql_writes(rows: Rows) -> None:
    """Set-up steps of tasks write rows by SQL; stored counts must follow."""
    eight = "2025-05-14T08:00:00"
    rows(
        "insert into posts (id, forum, user, title, created, active) values (9000, 1, 1, 'Xylophone', ?, ?)",
        eight,
        eight,
    )
    rows("insert into comments (post, user, body, created) values (9000, 2, 'Zither', '2025-05-14T08:30:00')")
    rows("insert into post_votes values (9000, 3, 1), (9000, 4, 1), (9000, 5, -1)")
    rows("update posts set title = 'Marimba' where id = 9000")

    assert rows("select up, down, comments, active from posts where id = 9000") == [(2, 1, 1, "2025-05-14T08:30:00")]
    assert rows("select heat - strftime('%s', created) from posts where id = 9000") == [(1800,)]
    assert rows("select rowid from post_words where post_words match 'marimba OR xylophone'") == [(9000,)]
    assert rows("select count(*) from post_words where post_words match 'xylophone'") == [(0,)]


def test_guests_are_redirected_to_log_in_and_back(visitor: Client) -> None:
    response = visitor.get("/submit/books")
    assert response.location == "/login?next=/submit/books"
    for path in ("/sv/1100", "/f/books/subscribe", "/messages/thread/1", "/create_forum", "/comment/3500/delete"):
        assert visitor.post(path).location.startswith("/login"), path
    wrong = visitor.post("/login", data={"username": "mara.linden", "password": "no"})
    assert wrong.status_code == 422
    right = visitor.post("/login", data={"username": " Mara.Linden", "password": "paper-lantern-86", "next": "/submit"})
    assert right.location == "/submit"
    assert visitor.post("/login", data={"username": "third_slip", "password": ""}).status_code == 422
    visitor.post("/logout")
    assert visitor.get("/messages").status_code == 303


def test_subscribe_and_create_a_forum(mara: Client, rows: Rows) -> None:
    own_forums = (
        "select f.name from subscriptions s join forums f on f.id = s.forum join users u on u.id = s.user"
        " where u.name = 'mara.linden' and f.name in ('wool', 'clocks', 'books')"
    )
    mara.post("/f/wool/subscribe")
    mara.post("/f/wool/subscribe")
    mara.post("/f/books/unsubscribe")
    draft = {"name": "clocks", "title": "Clocks", "description": "What ticks.", "sidebar": ""}
    for wrong in ({"name": "a b"}, {"name": "Books"}, {"title": ""}, {"description": "x" * 301}):
        assert mara.post("/create_forum", data={**draft, **wrong}).status_code == 422
    assert mara.post("/create_forum", data=draft).location == "/f/clocks"

    assert sorted(rows(own_forums)) == [("clocks",), ("wool",)]
    assert mara.post("/f/clocks/edit", data={**draft, "sidebar": "Wind on Sundays."}).status_code == 303
    assert rows("select sidebar from forums where name = 'clocks'") == [("Wind on Sundays.",)]
    assert "Wind on Sundays." in mara.get("/f/clocks").get_data(as_text=True)


def test_messages_are_visible_to_two_members_only(mara: Client, signed_in: SignedIn, rows: Rows) -> None:
    sent = mara.post("/user/thea.winslade/compose_message", data={"subject": "Room", "body": "It is yours."})
    thea, felix = signed_in("thea.winslade"), signed_in("felix.adeyinka")

    assert "It is yours." in thea.get(sent.location).get_data(as_text=True)
    assert felix.get(sent.location).status_code == 404
    assert felix.post(sent.location, data={"body": "Me, too"}).status_code == 404
    thea.post(sent.location, data={"body": "Thank you."})
    number = sent.location.rpartition("/")[2]
    assert rows("select body, seen from messages where thread = ? order by id", number) == [
        ("It is yours.", 1), ("Thank you.", 0),
    ]  # fmt: skip
    mara.post(f"{sent.location}/seen")
    assert rows("select seen from messages where thread = ?", number) == [(1,), (1,)]
    assert mara.post("/user/thea.winslade/compose_message", data={"subject": "", "body": ""}).status_code == 422


def test_blocked_members_are_hidden_and_cannot_write(mara: Client, signed_in: SignedIn, rows: Rows) -> None:
    thea = signed_in("thea.winslade")
    number = _number(_submit(thea, title="From Thea"))
    thea.post(f"/f/books/{number}/-/comment", data={"body": "Quite so"})
    assert "From Thea" in mara.get("/f/books/new").get_data(as_text=True)

    assert mara.post("/user/thea.winslade/block").location == "/user/mara.linden/block_list"
    assert "From Thea" not in mara.get("/f/books/new").get_data(as_text=True)
    assert "From Thea" not in mara.get("/search?q=thea&sort=new").get_data(as_text=True)
    assert "Quite so" not in mara.get(f"/f/books/{number}/-").get_data(as_text=True)
    refused = thea.post("/user/mara.linden/compose_message", data={"subject": "a", "body": "b"})
    assert "They do not take messages from you." in refused.get_data(as_text=True)
    mara.post("/user/thea.winslade/unblock")
    assert rows("select count(*) from blocks b join users u on u.id = b.blocked where u.name = 'thea.winslade'") == [
        (0,)
    ]
    assert mara.post("/user/mara.linden/block").status_code == 400


def test_members_can_edit_only_their_own_biography(mara: Client, signed_in: SignedIn, rows: Rows) -> None:
    assert mara.post("/user/mara.linden/edit_biography", data={"biography": "New."}).status_code == 303
    assert mara.post("/user/mara.linden/edit_biography", data={"biography": "x" * 301}).status_code == 422
    assert (
        signed_in("thea.winslade").post("/user/mara.linden/edit_biography", data={"biography": "?"}).status_code == 403
    )
    assert rows("select biography from users where name = 'mara.linden'") == [("New.",)]


def test_form_values_from_the_address_survive_logging_in(visitor: Client) -> None:
    redirect = visitor.get("/submit/books?title=Old+maps&body=Who+has+some%3F&url=http%3A%2F%2Fmap.test%2F%3Fa%3D1%26b")
    form = visitor.get(redirect.location).text
    target = unescape(str(re.findall(r'name="next" value="([^"]*)"', form)[0]))
    sent = {"username": "mara.linden", "password": "paper-lantern-86", "next": target}
    page = visitor.get(visitor.post("/login", data=sent).location).text
    assert 'value="Old maps"' in page
    assert "Who has some?" in page
    assert 'value="http://map.test/?a=1&amp;b"' in page


@pytest.mark.parametrize("target", ["//evil.test", "/\\evil.test", "/\t/evil.test", "//[", "http://evil.test", "x"])
def test_log_in_redirects_only_within_the_site(visitor: Client, target: str) -> None:
    sent = {"username": "mara.linden", "password": "paper-lantern-86", "next": target}
    assert visitor.post("/login", data=sent).location == "/"


def test_replies_to_deleted_comments_are_refused(mara: Client, signed_in: SignedIn, rows: Rows) -> None:
    query = (
        "SELECT p.id, f.name, c.id FROM comments c JOIN posts p ON p.id = c.post JOIN forums f ON f.id = p.forum"
        " WHERE NOT p.locked AND NOT p.removed LIMIT 1"
    )
    post, forum, comment = rows(query)[0]
    rows("UPDATE comments SET deleted = 1 WHERE id = ?", comment)
    sent = {"parent": comment, "body": "But why?"}
    assert mara.post(f"/f/{forum}/{post}/-/comment", data=sent).status_code == 404
    assert not rows("SELECT 1 FROM comments WHERE body = 'But why?'")


def test_notifications_exclude_blocked_and_deleted_replies(mara: Client, signed_in: SignedIn, rows: Rows) -> None:
    def waiting() -> int:
        return int(re.findall(r'Replies <span class="badge">(\d+)', mara.get("/forums").text)[0])

    first, second = rows("SELECT comment, c.user FROM notifications n JOIN comments c ON c.id = comment JOIN users u"
                         " ON u.id = n.user WHERE u.name = 'mara.linden' AND NOT seen LIMIT 2")  # fmt: skip
    before = waiting()
    rows("UPDATE comments SET removed = 1 WHERE id = ?", first[0])
    assert waiting() == before - 1
    name = rows("SELECT name FROM users WHERE id = ?", second[1])[0][0]
    mara.post(f"/user/{name}/block")
    assert waiting() < before - 1
    assert f'comment-{second[0]}"' not in mara.get("/notifications").text


@pytest.mark.parametrize("path", ["/f/books/{}", "/pictures/{}", "/messages/thread/{}", "/comment/{}/edit",
                                  "/f/books/1/-/reply/{}", "/api/posts/{}"])  # fmt: skip
def test_too_large_row_numbers_are_404(mara: Client, path: str) -> None:
    assert mara.get(path.format("9" * 30)).status_code == 404


def test_images_are_served_with_a_sandbox_policy(visitor: Client, rows: Rows) -> None:
    number = rows("SELECT min(id) FROM images")[0][0]
    assert visitor.get(f"/pictures/{number}").headers["Content-Security-Policy"] == "default-src 'none'; sandbox"
