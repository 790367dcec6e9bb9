"""Makes threads from topics: authors, texts and times, with random numbers that are the same on every machine."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from urllib.parse import quote

from pytest_webarena.embedded import landscape, world
from pytest_webarena.embedded.chance import Chance
from pytest_webarena.embedded.reddit.members import HANDLES
from pytest_webarena.embedded.reddit.topics import Board, Piece, Remark, Text, Topic, lines_of, text

__all__ = ["Comment", "Post", "common_slots", "threads_of", "town_slots"]

_NOW = world.EPOCH.replace(tzinfo=None)
_DAYS = 830
"""Age of the oldest posts, in days."""


@dataclass(slots=True, kw_only=True)
class Comment:
    """A comment of the seed. ``parent`` is the comment of the same thread that it answers."""

    by: str
    body: str
    at: datetime
    parent: Comment | None
    number: int = 0


@dataclass(slots=True, kw_only=True)
class Post:
    """A thread of the seed."""

    forum: str
    by: str
    title: str
    body: str
    at: datetime
    url: str
    image: tuple[str, str] | None
    """Scene and description."""
    options: Mapping[str, str]
    comments: list[Comment] = field(default_factory=list)
    number: int = 0


class _Filling:
    """Fills in texts of one thread. A slot gets the same value throughout the thread."""

    def __init__(
        self, chance: Chance, slots: Mapping[str, Sequence[str]], turn: int, numbers: Mapping[str, Piece] | None = None
    ) -> None:
        self._chance = chance
        self._slots = slots
        self._numbers = numbers or {}
        self._turn = turn
        self._chosen: dict[str, str] = {}

    def sentences(self, pieces: Text) -> str:
        """Return the filled text with 'an' before vowels, and capitals at the beginnings of sentences."""
        raw = self._raw(pieces)
        raw = re.sub(r"\b([Aa]) (?=[aeioAEIO](?!ne\b|nce\b))", r"\1n ", raw)
        return re.sub(r"(?:^|(?<=[.!?] )|(?<=\n))[a-z]", lambda found: found[0].upper(), raw)

    def bare(self, pieces: Text) -> str:
        """Return the filled text unchanged, for addresses."""
        return self._raw(pieces)

    def _raw(self, pieces: Text) -> str:
        parts = []
        for piece in pieces:
            if piece.words:
                parts.append(piece.words)
            elif piece.choice:
                parts.append(self._raw(self._chance.one_of(piece.choice)))
            elif number := self._numbers.get(piece.slot):
                parts.append(self._chosen.setdefault(piece.slot, str(self._chance.whole(number.low, number.high))))
            elif piece.slot:
                parts.append(self._value(piece.slot))
        return "".join(parts)

    def _value(self, slot: str) -> str:
        if slot not in self._chosen:
            values = self._slots[slot.rstrip("0123456789")]
            taken = {
                value for key, value in self._chosen.items() if key.rstrip("0123456789") == slot.rstrip("23456789")
            }
            # In turn, not at random, so that threads on one topic differ as long as there are values.
            unused = [value for value in values if value not in taken] or list(values)
            chosen = unused[(self._turn * 7 + len(slot) + self._turn // len(unused)) % len(unused)]
            self._chosen[slot] = self._raw(text(chosen))  # a value such as "a bus to {village}" has slots
        return self._chosen[slot]


def common_slots() -> dict[str, tuple[str, ...]]:
    """Return the values of slots that all forums may use."""
    rivers = tuple(f"the {river.name}" for river in landscape.RIVERS if river.name != "Elver Brook")
    woods = tuple(
        f"the {wood.name}" if wood.name.endswith(("Forest", "Plantation")) else wood.name
        for wood in landscape.WOODS[:6]
    )
    return {
        "town": tuple(town.name for town in world.TOWNS),
        "village": tuple(village.name for village in landscape.VILLAGES),
        "hill": tuple(hill.name for hill in landscape.HILLS),
        "lake": tuple(lake.name if lake.name != "Tarn of Lunn" else "the Tarn of Lunn" for lake in landscape.LAKES),
        "river": rivers,
        "wood": woods,
        "building": tuple(building.name for building in landscape.BUILDINGS if building.kind != "bridge"),
        "business": tuple(business.name for business in world.BUSINESSES),
        "event": tuple(event.name for event in world.EVENTS),
        "project": tuple(project.key for project in world.PROJECTS),
        "weekday": world.WEEKDAYS,
        "product": tuple(line.strip() for line in lines_of("_products.txt")),
        "book": tuple(line.strip() for line in lines_of("_books.txt")),
    }


def town_slots(town: world.Town) -> dict[str, tuple[str, ...]]:
    """Return the values of slots that depend on the town."""
    return {
        "here": (town.name,),
        "near": tuple(village.name for village in landscape.VILLAGES if village.town == town.key),
        "hill": tuple(hill.name for hill in landscape.HILLS if hill.town == town.key),
        "building": tuple(each.name for each in landscape.BUILDINGS if each.town == town.key),
        "river": tuple(f"the {river.name}" for river in landscape.RIVERS if town.key in river.towns),
        "market": (town.market_day,),
        "bins": (town.collection_day,),
        "event": tuple(event.name for event in world.EVENTS if event.town == town.key),
    }


def regulars(board: Board, town: str = "") -> tuple[str, ...]:
    """Return the authors of a forum, the most active first."""
    chance = Chance(f"regulars {board.name}")
    known = [name.strip() for name in board.head.get("people", "").split(",") if name.strip()]
    known += [person.username for person in world.PEOPLE if person.town == town and person.username not in known]
    moderators = [name.strip() for name in board.head.get("mods", "").split(",") if name.strip()]
    first = [*moderators, *(name for name in known if name not in moderators)]
    others = [name for name in chance.some_of(HANDLES, 30) if name not in first]
    people = [person.username for person in world.PEOPLE if person.username not in first]
    mixed = [*others[:12], *first, *others[12:], *chance.some_of(people, 5)]
    return tuple(dict.fromkeys(mixed))


def _random_person(chance: Chance, people: Sequence[str], but: Sequence[str] = ()) -> str:
    while True:
        name = people[int(len(people) * chance.between(0, 1) ** 1.6)]
        if name not in but:
            return name


def threads_of(board: Board, number: int, slots: Mapping[str, Sequence[str]], town: str = "") -> list[Post]:
    """Return threads of a forum: all that are marked ``once``, and ``number`` others, which use the topics in turn."""
    chance = Chance(f"threads {board.name}")
    people = regulars(board, town)
    usable = [topic for topic in board.topics if _usable(topic, slots)]
    once = [topic for topic in usable if "once" in topic.options]
    often = [topic for topic in usable if "once" not in topic.options]
    posts = [_thread(board, topic, 0, _date(topic.options["once"]), slots, people, chance) for topic in once]
    times = sorted((_some_time(chance) for _ in range(number)), reverse=True)
    waiting: list[tuple[Topic, int]] = []
    turns = dict.fromkeys(range(len(often)), 0)
    titles = {post.title for post in posts}
    start = chance.whole(0, 50)
    for at in times:
        fitting = next((pair for pair in waiting if _in_season(pair[0], at)), None)
        while fitting is None:
            indexes = chance.some_of(range(len(often)), len(often))
            for index in indexes:
                waiting.append((often[index], turns[index]))
                turns[index] += 1
            fitting = next((pair for pair in waiting if _in_season(pair[0], at)), None)
        waiting.remove(fitting)
        topic, turn = fitting
        # Topics start with different values; else one book would be in half of a week's titles.
        turn += start + 5 * board.topics.index(topic)
        post = _thread(board, topic, turn, at, slots, people, chance)
        for again in range(1, 12):
            if post.title not in titles:
                break
            post = _thread(board, topic, turn + again, at, slots, people, chance)
        if post.title not in titles:
            titles.add(post.title)
            posts.append(post)
    return posts


def _usable(topic: Topic, slots: Mapping[str, Sequence[str]]) -> bool:
    """Return whether there are values for all slots of the topic. For example, not every town has a river."""
    return all(slots.get(piece.slot.rstrip("0123456789"), ("",)) for piece in _slots_of(topic))


def _numbers(topic: Topic) -> dict[str, Piece]:
    """Return the topic's number slots with a range, by name; texts may repeat a slot without its range."""
    return {piece.slot: piece for piece in _slots_of(topic) if piece.high}


def _slots_of(topic: Topic) -> Iterator[Piece]:
    waiting = [*topic.titles, *topic.bodies, *(remark.text for remark in topic.comments)]
    while waiting:
        for piece in waiting.pop():
            waiting += piece.choice
            if piece.slot:
                yield piece


def _date(value: str) -> datetime:
    return datetime.fromisoformat(value)


def _some_time(chance: Chance) -> datetime:
    day = _NOW.date() - timedelta(days=int(_DAYS * chance.between(0, 1) ** 1.75))
    minute = chance.whole(6 * 60 + 20, 22 * 60 + 50)
    at = datetime(day.year, day.month, day.day) + timedelta(minutes=minute, seconds=chance.whole(0, 59))
    return at if at < _NOW - timedelta(minutes=25) else at - timedelta(days=1)


def _in_season(topic: Topic, at: datetime) -> bool:
    if "months" not in topic.options:
        return True
    first, _, last = topic.options["months"].partition("-")
    low, high = int(first), int(last or first)
    return low <= at.month <= high if low <= high else at.month >= low or at.month <= high


def _thread(
    board: Board, topic: Topic, turn: int, at: datetime, slots: Mapping[str, Sequence[str]], people: Sequence[str],
    chance: Chance,
) -> Post:  # fmt: skip
    words = _Filling(chance, slots, turn, _numbers(topic))
    title = words.sentences(topic.titles[turn % len(topic.titles)])
    body = words.sentences(chance.one_of(topic.bodies)) if topic.bodies else ""
    options = topic.options
    url = _address(words.bare(text(options["link"]))) if "link" in options else ""
    image = None
    if "image" in options:
        image = (words.bare(text(options["image"])), words.sentences(text(options["alt"])))
    post = Post(
        forum=board.name, by=options.get("by") or _random_person(chance, people), title=title, body=body, at=at,
        url=url, image=image, options=options,
    )  # fmt: skip
    _comment(post, topic.comments, words, people, chance)
    return post


def _address(link: str) -> str:
    kind, _, rest = link.partition(" ")
    if kind == "wiki":
        return "http://wikipedia.test/wiki/" + quote(rest[:1].upper() + rest[1:].replace(" ", "_"), safe="'&:,!()")
    if kind == "map":
        return f"http://map.test/search?query={quote(rest)}"
    if kind == "shop":
        return f"http://shopping.test/search/?q={quote(rest)}"
    return f"http://homepage.test{rest}"


def _comment(post: Post, remarks: Sequence[Remark], words: _Filling, people: Sequence[str], chance: Chance) -> None:
    """Add comments to a post: some of the topic's trees in random order, and short replies to some of them."""
    trees: list[list[Remark]] = []
    for each in remarks:
        if each.depth == 1:
            trees.append([each])
        else:
            trees[-1].append(each)
    all_of_it = "once" in post.options or chance.between(0, 1) < 0.16
    share = len(trees) if all_of_it else min(len(trees), chance.whole(2, max(2, len(trees) - 1)))
    at = post.at
    for tree in trees if "once" in post.options else chance.some_of(trees, share):
        at += timedelta(seconds=int(240 + 40_000 * chance.between(0, 1) ** 3))
        above: list[Comment] = []
        when = at
        for each in tree:
            if each.depth > 1 and not all_of_it and chance.between(0, 1) < 0.18:
                break
            above = above[: each.depth - 1]
            by = post.by if each.by == "*" else each.by
            by = by or _random_person(chance, people, (post.by, *(comment.by for comment in above[-1:])))
            comment = Comment(by=by, body=words.sentences(each.text), at=when, parent=above[-1] if above else None)
            if not _add(post, comment):
                break
            above.append(comment)
            when += timedelta(seconds=int(180 + 20_000 * chance.between(0, 1) ** 3))
        if above and "once" not in post.options and chance.between(0, 1) < 0.2:
            _short(post, above[-1], when, people, chance)


_THANKS = tuple(text(line[1:].strip()) for line in lines_of("_short.txt") if line[0] == "*")
_NODS = tuple(text(line[1:].strip()) for line in lines_of("_short.txt") if line[0] == "-")


def _short(post: Post, above: Comment, at: datetime, people: Sequence[str], chance: Chance) -> None:
    """Add a short reply: thanks by the author of a question, or agreement by somebody else."""
    own = above.by != post.by and "?" in post.title and chance.between(0, 1) < 0.5
    bodies = {comment.body for comment in post.comments}
    body = _Filling(chance, {}, 0).sentences(chance.one_of(_THANKS if own else _NODS))
    if body not in bodies:
        by = post.by if own else _random_person(chance, people, (post.by, above.by))
        _add(post, Comment(by=by, body=body, at=at, parent=above))


def _add(post: Post, comment: Comment) -> bool:
    """Add a comment; return False if its time is after the seed's present."""
    if comment.at >= _NOW - timedelta(minutes=3):
        return False
    post.comments.append(comment)
    return True
