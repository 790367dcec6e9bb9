"""How a project's files came to be: commit by commit, with slips put right later, branches, merges and releases."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pytest_webarena.embedded.chance import Chance
from pytest_webarena.embedded.gitlab.objects import Signature
from pytest_webarena.embedded.gitlab.seeding.drafts import Draft
from pytest_webarena.embedded.gitlab.store import Store
from pytest_webarena.embedded.world import PEOPLE

__all__ = ["History", "Merged"]

_PEOPLE = {person.username: person for person in PEOPLE}

Piece = tuple[str, int]
"""File and number of the block in it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A commit to be: blocks of files as they are from then on."""

    blocks: Mapping[Piece, str]
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Merged:
    """A branch that was merged."""

    branch: str
    title: str
    author: str
    by: str
    base: str
    head: str
    merge: str
    opened: str
    merged: str


@dataclass(slots=True, kw_only=True)
class History:
    """Writes one project's commits and its branch ``main``."""

    store: Store
    connection: sqlite3.Connection
    project: int
    draft: Draft
    team: Sequence[str]
    started: datetime
    ended: datetime
    tip: str = ""
    merged: list[Merged] = field(default_factory=list)
    now: datetime = field(init=False)
    chance: Chance = field(init=False)

    def __post_init__(self) -> None:
        self.now = self.started
        self.chance = Chance(f"history of {self.draft.path}")

    def write(self) -> None:
        """All of it."""
        steps = self._steps()
        pause = (self.ended - self.started) / (len(steps) + 4)
        state: dict[Piece, str] = {}
        at, releases = 0, 0
        while at < len(steps):
            width = self.chance.whole(2, 3)
            if at > 1 and len(self.team) > 1 and self.chance.happens(0.35) and _apart(steps, at, width):
                self._branched(steps[at : at + width], steps[at + width], state, pause)
                at += width + 1
            else:
                self._wait(pause)
                self._commit(state, steps[at], self._random_author())
                at += 1
            if self.draft.version and at * 4 // len(steps) > releases:
                releases = at * 4 // len(steps)
                self._release(releases, last=at == len(steps))
        self.store.set_ref(self.project, "refs/heads/main", self.tip)

    def commit_texts(self, parent: str, texts: Mapping[str, str], author: str, message: str, time: datetime) -> str:
        """A commit on top of another that gives files other texts."""
        files = self.store.files(parent) | {path: self.store.blob(text) for path, text in texts.items()}
        return self.store.commit(files, [parent], _signature(author, time), message)

    def _steps(self) -> list[Step]:
        blocks = {path: _blocks(path, text) for path, text in self.draft.files.items()}
        remaining = {path: list(range(len(found))) for path, found in blocks.items()}
        steps: list[Step] = []
        mends: list[tuple[int, Step]] = []
        while remaining:
            path = list(remaining)[min(self.chance.whole(0, 5) // 2, len(remaining) - 1)]
            number = remaining[path].pop(0)
            if not remaining[path]:
                del remaining[path]
            text = blocks[path][number]
            message = _commit_title(path, number, text)
            if (slip := self._slip(path, text)) and self.chance.happens(0.4):
                rough, mend = slip
                mends.append((len(steps) + self.chance.whole(2, 5), Step(blocks={(path, number): text}, message=mend)))
                text = rough
            steps.append(Step(blocks={(path, number): text}, message=message if steps else "Begin"))
            for when, step in [each for each in mends if each[0] <= len(steps)]:
                mends.remove((when, step))
                steps.append(step)
        return [*steps, *(step for _, step in mends)]

    def _slip(self, path: str, text: str) -> tuple[str, str] | None:
        """The text as it first was, and how its mend is called."""
        name = path.rpartition("/")[2]
        numbers = list(re.finditer(r"(?<![\w.#:-])[1-9]\d{1,3}(?![\w.:%-])", text))
        if numbers and path.endswith((".csv", ".md")):
            found = self.chance.one_of(numbers)
            wrong = str(int(found[0]) + self.chance.one_of((-1, 1, 2, 10)))
            rough = text[: found.start()] + wrong + text[found.end() :]
            return rough, f"Correct a number in {name}: {found[0]}, not {wrong}"
        comment = re.search(r'^ +(""".*"""|/// .*|// .*)\n', text, flags=re.MULTILINE)
        if comment:
            return text.replace(comment[0], "", 1), f"Explain {_defined(text) or name}"
        return None

    def _branched(self, steps: Sequence[Step], main_step: Step, state: dict[Piece, str], pause: timedelta) -> None:
        """Some steps on a branch, one on the main branch meanwhile, then the merge."""
        author = self._random_author()
        by = self.draft.maintainer if author != self.draft.maintainer else self.team[1]
        base, on_branch = self.tip, dict(state)
        opened = self.now + pause
        for step in steps:
            self._wait(pause)
            self._commit(on_branch, step, author)
        head, self.tip = self.tip, base
        self._wait(pause)
        self._commit(state, main_step, by)
        for step in steps:
            state.update(step.blocks)
        title = steps[0].message
        branch = "-".join(re.findall(r"[a-z0-9]+", title.lower())[:4])
        number = len(self.merged) + 1
        message = f"Merge branch '{branch}' into 'main'\n\n{title}\n\nSee merge request {self.draft.path}!{number}\n"
        self._wait(pause / 2)
        self.tip = self.store.commit(self._files(state), [self.tip, head], self._signature(by), message)
        self.merged.append(
            Merged(branch=branch, title=title, author=author, by=by, base=base, head=head, merge=self.tip,
                   opened=f"{opened:%Y-%m-%dT%H:%M:%S}", merged=f"{self.now:%Y-%m-%dT%H:%M:%S}")
        )  # fmt: skip

    def _commit(self, state: dict[Piece, str], step: Step, author: str) -> None:
        state.update(step.blocks)
        parents = [self.tip] if self.tip else []
        self.tip = self.store.commit(self._files(state), parents, self._signature(author), step.message)

    def _files(self, state: Mapping[Piece, str]) -> dict[str, str]:
        files: dict[str, list[str]] = {}
        for path, number in sorted(state):
            files.setdefault(path, []).append(state[path, number])
        return {
            path: self.store.blob(("\n" if path.endswith((".csv", ".conf")) else "\n\n").join(blocks) + "\n")
            for path, blocks in files.items()
        }

    def _release(self, number: int, *, last: bool) -> None:
        version = self.draft.version
        parts = version.split(".")
        if not last:
            version = (
                f"{parts[0]}.{number - 1}" if len(parts) < 3 else f"{parts[0]}.{max(int(parts[1]) - 4 + number, 0)}.0"
            )
        name = f"refs/tags/v{version}"
        tag = (
            f"object {self.tip}\ntype commit\ntag v{version}\ntagger {self._signature(self.draft.maintainer)}\n\n"
            f"{self.draft.name} {version}\n"
        )
        if self.connection.execute(
            "SELECT 1 FROM refs WHERE project_id = ? AND name = ?", (self.project, name)
        ).fetchone() is None:  # fmt: skip
            self.store.set_ref(self.project, name, self.store.put("tag", tag.encode()))

    def _random_author(self) -> str:
        return self.draft.maintainer if self.chance.happens(0.5) else self.chance.one_of(self.team)

    def _wait(self, pause: timedelta) -> None:
        self.now += pause * (0.6 + self.chance.whole(0, 7) / 10)
        self.now = min(self.now, self.ended)
        # People work from eight to ten at night.
        self.now = self.now.replace(hour=8 + self.now.hour * 14 // 24, microsecond=0)

    def _signature(self, username: str) -> Signature:
        return _signature(username, self.now)


def _apart(steps: Sequence[Step], at: int, width: int) -> bool:
    """Whether some steps can be taken on a branch while the next one is taken beside it."""
    branched = {piece for step in steps[at : at + width] for piece in step.blocks}
    return at + width + 1 < len(steps) and branched.isdisjoint(steps[at + width].blocks)


def _signature(username: str, time: datetime) -> Signature:
    person = _PEOPLE[username]
    return Signature(name=person.name, email=person.email, time=f"{time:%Y-%m-%dT%H:%M:%S}")


def _blocks(path: str, text: str) -> list[str]:
    """What of a file is committed at once: a heading stays with what follows, a function with its body."""
    blocks: list[str] = []
    for block in text.split("\n\n"):
        stays = blocks and (
            block.startswith((" ", "\t", "}", ")"))
            or (blocks[-1].startswith("#") and path.endswith(".md") and "\n" not in blocks[-1])
            or (len(blocks[-1]) < 60 and not path.endswith((".csv", ".conf", ".md")))
        )
        if stays:
            blocks[-1] += f"\n\n{block}"
        else:
            blocks.append(block)
    return blocks


_DEFINED = re.compile(
    r"^(?:export |pub |static )*(?:def|func|function|fn|class|type|struct|double|int)\s+(?:\(\w+ \w+\)\s*)?(\w+)",
    flags=re.MULTILINE,
)


def _defined(text: str) -> str:
    found = _DEFINED.search(text)
    return f"`{found[1]}`" if found else ""


def _commit_title(path: str, number: int, text: str) -> str:
    """What a commit is called that adds this block."""
    name = path.rpartition("/")[2]
    heading = re.match(r"#+ (.*)", text)
    if heading and path.endswith(".md"):
        return f"{name}: {heading[1][0].lower()}{heading[1][1:]}" if number else f"Start {name}"
    if path.startswith("tests/") and (tested := re.search(r"def (test_\w+)", text)):
        return f"Test that {tested[1].removeprefix('test_').replace('_', ' ')}"
    if defined := _defined(text):
        return f"Add {defined}"
    if path.endswith(".csv") and number:
        rows = text.count("\n") + 1
        return f"{name}: {rows} more rows" if rows > 1 else f"{name}: another row"
    return f"Go on with {name}" if number else f"Add {name}"
