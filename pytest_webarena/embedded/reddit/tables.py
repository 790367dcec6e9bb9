"""The forum's tables. Triggers keep what is counted from the rows it is counted of, whoever writes them."""

from __future__ import annotations

from pytest_webarena.embedded.world import CANARY

__all__ = ["HEAT_CAP", "HEAT_STEP", "INDEXES", "TABLES", "TRIGGERS"]

HEAT_STEP = 1800
"""Seconds that each point of a post's score is worth in the order “hot” …"""
HEAT_CAP = 60
"""… up to so many points; below nothing, each point counts as well, without an end."""

TABLES = f"""
CREATE TABLE users (  -- {CANARY}
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    role TEXT NOT NULL DEFAULT 'member' CHECK (role IN ('member', 'administrator')),
    joined TEXT NOT NULL,
    biography TEXT NOT NULL DEFAULT ''
);
CREATE TABLE forums (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE COLLATE NOCASE,
    title TEXT NOT NULL,
    description TEXT NOT NULL,
    sidebar TEXT NOT NULL DEFAULT '',
    category TEXT NOT NULL DEFAULT '',
    featured INTEGER NOT NULL DEFAULT 0,
    created TEXT NOT NULL
);
CREATE TABLE moderators (
    forum INTEGER NOT NULL REFERENCES forums, user INTEGER NOT NULL REFERENCES users, since TEXT NOT NULL,
    PRIMARY KEY (forum, user)
) WITHOUT ROWID;
CREATE TABLE subscriptions (
    forum INTEGER NOT NULL REFERENCES forums, user INTEGER NOT NULL REFERENCES users, since TEXT NOT NULL,
    PRIMARY KEY (forum, user)
) WITHOUT ROWID;
CREATE TABLE bans (
    id INTEGER PRIMARY KEY,
    forum INTEGER NOT NULL REFERENCES forums, user INTEGER NOT NULL REFERENCES users,
    reason TEXT NOT NULL, by_user INTEGER NOT NULL REFERENCES users, created TEXT NOT NULL,
    expires TEXT,  -- null: never
    UNIQUE (forum, user)
);
CREATE TABLE images (
    id INTEGER PRIMARY KEY, type TEXT NOT NULL, bytes BLOB NOT NULL, description TEXT NOT NULL
);
CREATE TABLE posts (
    id INTEGER PRIMARY KEY,
    forum INTEGER NOT NULL REFERENCES forums,
    user INTEGER NOT NULL REFERENCES users,
    title TEXT NOT NULL,
    body TEXT NOT NULL DEFAULT '',
    url TEXT NOT NULL DEFAULT '',
    image INTEGER REFERENCES images,
    created TEXT NOT NULL,
    edited TEXT,
    up INTEGER NOT NULL DEFAULT 0,  -- counted from post_votes
    down INTEGER NOT NULL DEFAULT 0,
    comments INTEGER NOT NULL DEFAULT 0,  -- counted: those that are neither deleted nor removed
    active TEXT NOT NULL,  -- when it, or its newest comment, was written
    heat INTEGER NOT NULL DEFAULT 0,
    pinned INTEGER NOT NULL DEFAULT 0,
    locked INTEGER NOT NULL DEFAULT 0,
    removed INTEGER NOT NULL DEFAULT 0,  -- by a moderator
    deleted INTEGER NOT NULL DEFAULT 0  -- by its author
);
CREATE TABLE comments (
    id INTEGER PRIMARY KEY,
    post INTEGER NOT NULL REFERENCES posts,
    parent INTEGER REFERENCES comments,
    user INTEGER NOT NULL REFERENCES users,
    body TEXT NOT NULL,
    created TEXT NOT NULL,
    edited TEXT,
    up INTEGER NOT NULL DEFAULT 0,  -- counted from comment_votes
    down INTEGER NOT NULL DEFAULT 0,
    removed INTEGER NOT NULL DEFAULT 0,
    deleted INTEGER NOT NULL DEFAULT 0
);
CREATE TABLE post_votes (
    post INTEGER NOT NULL REFERENCES posts, user INTEGER NOT NULL REFERENCES users,
    choice INTEGER NOT NULL CHECK (choice IN (1, -1)), PRIMARY KEY (post, user)
) WITHOUT ROWID;
CREATE TABLE comment_votes (
    comment INTEGER NOT NULL REFERENCES comments, user INTEGER NOT NULL REFERENCES users,
    choice INTEGER NOT NULL CHECK (choice IN (1, -1)), PRIMARY KEY (comment, user)
) WITHOUT ROWID;
CREATE TABLE threads (
    id INTEGER PRIMARY KEY,
    sender INTEGER NOT NULL REFERENCES users, receiver INTEGER NOT NULL REFERENCES users, subject TEXT NOT NULL
);
CREATE TABLE messages (
    id INTEGER PRIMARY KEY,
    thread INTEGER NOT NULL REFERENCES threads,
    sender INTEGER NOT NULL REFERENCES users,
    body TEXT NOT NULL,
    created TEXT NOT NULL,
    seen INTEGER NOT NULL DEFAULT 0  -- by whoever it was sent to
);
CREATE TABLE notifications (
    comment INTEGER NOT NULL REFERENCES comments, user INTEGER NOT NULL REFERENCES users,
    seen INTEGER NOT NULL DEFAULT 0, PRIMARY KEY (comment, user)
) WITHOUT ROWID;
CREATE TABLE blocks (
    user INTEGER NOT NULL REFERENCES users, blocked INTEGER NOT NULL REFERENCES users, since TEXT NOT NULL,
    PRIMARY KEY (user, blocked)
) WITHOUT ROWID;
CREATE TABLE moderation (
    id INTEGER PRIMARY KEY,
    forum INTEGER NOT NULL REFERENCES forums,
    by_user INTEGER NOT NULL REFERENCES users,
    action TEXT NOT NULL,  -- remove_post, restore_post, the same of comments, lock, unlock, pin, unpin, ban, unban
    post INTEGER REFERENCES posts, comment INTEGER REFERENCES comments, user INTEGER REFERENCES users,
    reason TEXT NOT NULL DEFAULT '', created TEXT NOT NULL
);
CREATE VIRTUAL TABLE post_words USING fts5(
    title, body, content = 'posts', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
CREATE VIRTUAL TABLE comment_words USING fts5(
    body, content = 'comments', content_rowid = 'id', tokenize = 'porter unicode61 remove_diacritics 2'
);
"""

INDEXES = """
CREATE INDEX posts_by_heat ON posts (heat);
CREATE INDEX posts_by_forum ON posts (forum, heat);
CREATE INDEX posts_by_user ON posts (user);
CREATE INDEX comments_by_post ON comments (post);
CREATE INDEX comments_by_user ON comments (user);
CREATE INDEX comments_by_parent ON comments (parent);
CREATE INDEX subscriptions_by_user ON subscriptions (user);
CREATE INDEX moderation_by_forum ON moderation (forum);
CREATE INDEX messages_by_thread ON messages (thread);
CREATE INDEX notifications_by_user ON notifications (user);
"""


def _counting(votes: str, of: str, key: str) -> str:
    added = "up = up + (new.choice = 1), down = down + (new.choice = -1)"
    taken = "up = up - (old.choice = 1), down = down - (old.choice = -1)"
    return f"""
CREATE TRIGGER {votes}_come AFTER INSERT ON {votes} BEGIN UPDATE {of} SET {added} WHERE id = new.{key}; END;
CREATE TRIGGER {votes}_go AFTER DELETE ON {votes} BEGIN UPDATE {of} SET {taken} WHERE id = old.{key}; END;
CREATE TRIGGER {votes}_turn AFTER UPDATE ON {votes} BEGIN
    UPDATE {of} SET {taken} WHERE id = old.{key};
    UPDATE {of} SET {added} WHERE id = new.{key};
END;
"""


def _found(of: str, words: str, fields: tuple[str, ...]) -> str:
    names, new, old = (", ".join(f"{at}{field}" for field in fields) for at in ("", "new.", "old."))
    forget = f"INSERT INTO {words} ({words}, rowid, {names}) VALUES ('delete', old.id, {old});"
    learn = f"INSERT INTO {words} (rowid, {names}) VALUES (new.id, {new});"
    return f"""
CREATE TRIGGER {words}_come AFTER INSERT ON {of} BEGIN {learn} END;
CREATE TRIGGER {words}_go AFTER DELETE ON {of} BEGIN {forget} END;
CREATE TRIGGER {words}_turn AFTER UPDATE OF {names} ON {of} BEGIN {forget} {learn} END;
"""


_HEAT = f"CAST(strftime('%s', created) AS INTEGER) + {HEAT_STEP} * min(up - down, {HEAT_CAP})"
_COMMENTS = (
    "UPDATE posts SET comments = (SELECT count(*) FROM comments WHERE post = new.post AND NOT removed AND NOT deleted)"
)

TRIGGERS = f"""
CREATE TRIGGER posts_come AFTER INSERT ON posts BEGIN UPDATE posts SET heat = {_HEAT} WHERE id = new.id; END;
CREATE TRIGGER posts_turn AFTER UPDATE OF up, down, created ON posts BEGIN
    UPDATE posts SET heat = {_HEAT} WHERE id = new.id;
END;
CREATE TRIGGER comments_come AFTER INSERT ON comments BEGIN
    {_COMMENTS}, active = max(active, new.created) WHERE id = new.post;
END;
CREATE TRIGGER comments_turn AFTER UPDATE OF removed, deleted ON comments BEGIN {_COMMENTS} WHERE id = new.post; END;
{_counting("post_votes", "posts", "post")}
{_counting("comment_votes", "comments", "comment")}
{_found("posts", "post_words", ("title", "body"))}
{_found("comments", "comment_words", ("body",))}
"""
