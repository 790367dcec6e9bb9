"""The forum's pristine database: members, forums, threads, votes, messages, what moderators did."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path

from pytest_webarena.embedded import world
from pytest_webarena.embedded.chance import Chance
from pytest_webarena.embedded.reddit.members import HANDLES, PASSWORDS
from pytest_webarena.embedded.reddit.pictures import draw
from pytest_webarena.embedded.reddit.tables import HEAT_CAP, HEAT_STEP, INDEXES, TABLES, TRIGGERS
from pytest_webarena.embedded.reddit.threads import Comment, Post, common_slots, regulars, threads_of, town_slots
from pytest_webarena.embedded.reddit.topics import Board, boards, lines_of
from pytest_webarena.embedded.web import write_seed

__all__ = ["all_boards", "all_posts", "seed"]

_NOW = world.EPOCH.replace(tzinfo=None)
_PER_BOARD = 72
_PER_TOWN = 56
_FIRST_POST = 1021
_FIRST_COMMENT = 3401


def seed(data_dir: Path) -> None:
    """Write the database into ``data_dir``, replacing what is there at once."""
    write_seed(data_dir, _fill)


def all_boards() -> list[tuple[Board, world.Town | None]]:
    """Every forum; one for each town, which share their topics."""
    found: list[tuple[Board, world.Town | None]] = []
    for board in boards():
        if board.name != "towns":
            found.append((board, None))
            continue
        for town in world.TOWNS:
            head = {
                "title": town.name, "category": "Towns",
                "featured": "yes" if town.population > 15_000 else "",
                "about": f"For those who live in {town.name}, and those who would like to.",
                "side": board.head["side"].replace("MARKET", town.market_day).replace("BINS", town.collection_day),
                "mods": board.head[f"mods {town.key}"],
            }  # fmt: skip
            found.append(
                (Board(name=town.key.replace("-", "_"), head=head, slots=board.slots, topics=board.topics), town)
            )
    return sorted(found, key=lambda pair: pair[0].name)


def all_posts() -> list[Post]:
    """Every thread, oldest first, numbered as their comments are."""
    posts = []
    for board, town in all_boards():
        slots = {**common_slots(), **board.slots, **(town_slots(town) if town else {})}
        number = _PER_TOWN if town else int(board.head.get("posts", _PER_BOARD))
        posts += threads_of(board, number, slots, town.key if town else "")
    posts.sort(key=lambda post: (post.at, post.forum))
    for number, post in enumerate(posts, _FIRST_POST):
        post.number = number
    comments = [comment for post in posts for comment in post.comments]
    for number, comment in enumerate(sorted(comments, key=lambda comment: comment.at), _FIRST_COMMENT):
        comment.number = number
    return posts


def _stamp(at: datetime) -> str:
    return at.strftime("%Y-%m-%dT%H:%M:%S")


def _fill(connection: sqlite3.Connection) -> None:
    connection.executescript(TABLES)
    users = {name: number for number, name in enumerate([*PASSWORDS, *HANDLES], 1)}
    found, posts = all_boards(), all_posts()
    forums = {board.name: number for number, (board, _) in enumerate(found, 1)}
    _members(connection, users, posts)
    _forums(connection, users, found)
    _posts(connection, users, forums, posts)
    _votes(connection, users, posts)
    _notifications(connection, users, posts)
    _messages(connection, users)
    connection.executescript(INDEXES)
    for words in ("post_words", "comment_words"):
        connection.execute(f"INSERT INTO {words} ({words}) VALUES ('rebuild')")
        connection.execute(f"INSERT INTO {words} ({words}) VALUES ('optimize')")
    connection.executescript(TRIGGERS)
    _moderation(connection, users, forums, posts)


def _members(connection: sqlite3.Connection, users: dict[str, int], posts: Sequence[Post]) -> None:
    first: dict[str, datetime] = {}
    for post in posts:
        for by, at in [(post.by, post.at), *((comment.by, comment.at) for comment in post.comments)]:
            first[by] = min(first.get(by, at), at)
    biographies = dict(
        re.split(r":\s*", line, maxsplit=1) for line in lines_of("_biographies.txt") if not line.startswith("- ")
    )
    others = [line[2:] for line in lines_of("_biographies.txt") if line.startswith("- ")]
    chance = Chance("members")
    for name, number in users.items():
        joined = min(first.get(name, _NOW), datetime(2024, 9, 1)) - timedelta(minutes=chance.whole(900, 700_000))
        biography = biographies.get(name, "")
        if name in HANDLES and others and chance.between(0, 1) < 0.45:
            biography = others.pop(int(len(others) * chance.between(0, 1)))
        role = "administrator" if name == "desmond.pell" else "member"
        connection.execute("INSERT INTO users VALUES (?, ?, ?, ?, ?)", (number, name, role, _stamp(joined), biography))


def _forums(
    connection: sqlite3.Connection, users: dict[str, int], found: list[tuple[Board, world.Town | None]]
) -> None:
    begun = datetime(2022, 3, 1, 9)
    for number, (board, town) in enumerate(found, 1):
        chance = Chance(f"forum {board.name}")
        created = begun + timedelta(minutes=chance.whole(0, 300_000))
        connection.execute(
            "INSERT INTO forums VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            (number, board.name, board.head["title"], board.head["about"], board.head.get("side", ""),
             board.head["category"], int(bool(board.head.get("featured"))), _stamp(created)),
        )  # fmt: skip
        moderators = [name.strip() for name in board.head["mods"].split(",")]
        for index, name in enumerate(moderators):
            since = created + timedelta(days=40 * index)
            connection.execute("INSERT INTO moderators VALUES (?, ?, ?)", (number, users[name], _stamp(since)))
        keen = list(regulars(board, town.key if town else ""))
        others = [name for name in users if name not in keen]
        many = chance.whole(4, 30) + (34 if board.head.get("featured") else 0)
        for name in [*keen[:30], *chance.some_of(others, many)]:
            if name not in moderators and name in _PICKY and board.name not in _PICKY[name]:
                continue
            since = created + timedelta(minutes=chance.whole(0, 1_200_000))
            connection.execute("INSERT INTO subscriptions VALUES (?, ?, ?)", (number, users[name], _stamp(since)))
        for name, liked in _PICKY.items():
            if board.name in liked:
                connection.execute(
                    "INSERT OR IGNORE INTO subscriptions VALUES (?, ?, ?)", (number, users[name], "2024-02-03T18:20:00")
                )


_PICKY = {
    "mara.linden": ("books", "aldersey", "history", "walking", "baking", "ask_tarnmark", "birds", "goods"),
    "thea.winslade": ("dunmere", "swimming", "tabletop", "ask_tarnmark"),
    "noor.haddadin": (),
}
"""Who subscribes to just these."""


def _posts(
    connection: sqlite3.Connection, users: dict[str, int], forums: dict[str, int], posts: Sequence[Post]
) -> None:
    pictures = 0
    for post in posts:
        image = None
        if post.image:
            pictures += 1
            image = pictures
            drawn = draw(post.image[0], f"{post.title} {post.number}").encode()
            connection.execute("INSERT INTO images VALUES (?, 'image/svg+xml', ?, ?)", (image, drawn, post.image[1]))
        active = max([post.at, *(comment.at for comment in post.comments)])
        connection.execute(
            "INSERT INTO posts (id, forum, user, title, body, url, image, created, active, comments, pinned, locked)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (post.number, forums[post.forum], users[post.by], post.title, post.body, post.url, image, _stamp(post.at),
             _stamp(active), len(post.comments), int("pinned" in post.options), int("locked" in post.options)),
        )  # fmt: skip
    everything = ((post, comment) for post in posts for comment in post.comments)
    for post, comment in sorted(everything, key=lambda pair: pair[1].number):
        connection.execute(
            "INSERT INTO comments (id, post, parent, user, body, created) VALUES (?, ?, ?, ?, ?, ?)",
            (comment.number, post.number, comment.parent.number if comment.parent else None, users[comment.by],
             comment.body, _stamp(comment.at)),
        )  # fmt: skip


def _voters(chance: Chance, number: int, members: int, author: int, against: float) -> Iterator[tuple[int, int]]:
    """The author, for, and ``number`` others, each for or against."""
    yield author, 1
    at, step = chance.whole(0, members - 1), chance.whole(1, members - 1)
    for _ in range(number):
        at = (at + step) % members
        if at + 1 != author:
            yield at + 1, -1 if chance.between(0, 1) < against else 1


def _votes(connection: sqlite3.Connection, users: dict[str, int], posts: Iterable[Post]) -> None:
    # A prime number of voters: whatever the step, nobody comes twice.
    members = max(number for number in range(2, len(users) + 1) if all(number % other for other in range(2, 15)))
    for post in posts:
        chance = Chance(f"votes {post.forum} {post.title}")  # so that a change in one forum leaves the others' alone
        liked = chance.between(0, 1)
        fresh = min(1.0, ((_NOW - post.at).total_seconds() / 3600 + 1) / 26)
        number = int((1 + 9 * liked + 46 * liked**7) * fresh) + (int(26 * fresh) if "pinned" in post.options else 0)
        against = chance.between(0.3, 0.58) if "split" in post.options else chance.between(0, 0.16)
        _cast(connection, "post", post.number, list(_voters(chance, number, members, users[post.by], against)))
        for comment in post.comments:
            number = int((3.5 * chance.between(0, 1) ** 2 + number * 0.22 * chance.between(0, 1)) * fresh)
            _cast(connection, "comment", comment.number,
                  list(_voters(chance, number, members, users[comment.by], against / 1.6)))  # fmt: skip
    connection.execute(
        f"UPDATE posts SET heat = CAST(strftime('%s', created) AS INTEGER) + {HEAT_STEP} * min(up - down, {HEAT_CAP})"
    )


def _cast(connection: sqlite3.Connection, kind: str, number: int, votes: list[tuple[int, int]]) -> None:
    connection.executemany(f"INSERT INTO {kind}_votes VALUES (?, ?, ?)", [(number, *vote) for vote in votes])
    up = sum(choice == 1 for _, choice in votes)
    connection.execute(f"UPDATE {kind}s SET up = ?, down = ? WHERE id = ?", (up, len(votes) - up, number))


def _notifications(connection: sqlite3.Connection, users: dict[str, int], posts: Iterable[Post]) -> None:
    """Who can sign in is told of replies; those of the last days have not been seen."""
    for post in posts:
        for comment in post.comments:
            answered = _answered(post, comment)
            if answered in PASSWORDS and answered != comment.by:
                is_read = comment.at < _NOW - timedelta(days=4)
                connection.execute(
                    "INSERT INTO notifications VALUES (?, ?, ?)", (comment.number, users[answered], int(is_read))
                )


def _answered(post: Post, comment: Comment) -> str:
    return comment.parent.by if comment.parent else post.by


def _messages(connection: sqlite3.Connection, users: dict[str, int]) -> None:
    """``_messages.txt``: a line ``sender > receiver | subject``, then ``time [new] who: text``."""
    thread = message = 0
    pair = ("", "")
    for line in lines_of("_messages.txt"):
        if " > " in line and " | " in line:
            people, _, subject = line.partition(" | ")
            sender, _, receiver = people.partition(" > ")
            pair, thread = (sender, receiver), thread + 1
            connection.execute(
                "INSERT INTO threads VALUES (?, ?, ?, ?)", (thread, users[sender], users[receiver], subject)
            )
            continue
        at, new, who, body = re.split(r" (new )?([<>]) ", line, maxsplit=1)
        message += 1
        connection.execute(
            "INSERT INTO messages VALUES (?, ?, ?, ?, ?, ?)",
            (
                message,
                thread,
                users[pair[0] if who == ">" else pair[1]],
                body.replace(" // ", "\n\n"),
                at,
                int(not new),
            ),
        )


def _moderation(
    connection: sqlite3.Connection, users: dict[str, int], forums: dict[str, int], posts: Sequence[Post]
) -> None:
    """What moderators did, from options of topics and from ``_moderation.txt``; the triggers count what is left."""
    acts: list[tuple[int | str | None, ...]] = []
    moderators = {board.name: board.head["mods"].split(",")[0].strip() for board, _ in all_boards()}
    for post in posts:
        by = users[moderators[post.forum]]
        at = _stamp(min(post.at + timedelta(minutes=47), _NOW - timedelta(minutes=5)))
        for option, action, field in (
            ("removed", "remove_post", "removed"), ("locked", "lock", "locked"), ("pinned", "pin", "pinned"),
        ):  # fmt: skip
            if option in post.options:
                connection.execute(f"UPDATE posts SET {field} = 1 WHERE id = ?", (post.number,))
                acts.append(
                    (forums[post.forum], by, action, post.number, None, users[post.by], post.options[option], at)
                )
    for line in lines_of("_moderation.txt"):
        what, forum, *rest = (part.strip() for part in line.split("|"))
        if what == "block":
            connection.execute("INSERT INTO blocks VALUES (?, ?, ?)", (users[forum], users[rest[0]], rest[1]))
            continue
        name, at, expires, reason = rest
        by = users[moderators[forum]]
        connection.execute(
            "INSERT INTO bans (forum, user, reason, by_user, created, expires) VALUES (?, ?, ?, ?, ?, ?)",
            (forums[forum], users[name], reason, by, at, expires or None),
        )
        acts.append((forums[forum], by, "ban", None, None, users[name], reason, at))
    acts.sort(key=lambda act: str(act[-1]))
    connection.executemany(
        "INSERT INTO moderation (forum, by_user, action, post, comment, user, reason, created)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
        acts,
    )
