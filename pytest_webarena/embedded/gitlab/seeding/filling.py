"""Fills the tables from the drafts, in the order in which things happened."""

from __future__ import annotations

import hashlib
import sqlite3
from datetime import date, datetime, timedelta
from importlib.resources import files

from pytest_webarena.embedded.chance import Chance
from pytest_webarena.embedded.gitlab.objects import Signature
from pytest_webarena.embedded.gitlab.seeding.drafts import Draft, Group, IssueDraft, RequestDraft
from pytest_webarena.embedded.gitlab.seeding.histories import History
from pytest_webarena.embedded.gitlab.seeding.talk import BIOS, COLORS, DESCRIBED, FOLLOW_UPS, REMARKS, STATUSES
from pytest_webarena.embedded.gitlab.store import Store
from pytest_webarena.embedded.world import EPOCH, PEOPLE, PROJECTS, TOWNS

__all__ = ["Filling"]

_TODAY = EPOCH.replace(tzinfo=None)
_OPENED = {project.key: project for project in PROJECTS}
_FORKS = (
    ("thea.winslade", "companion/article-bot"),
    ("thea.winslade", "makers/pagefold"),
    ("callum.reedy", "atlas/places"),
    ("kofi.asantewa", "wend-transit/wendline"),
    ("ilse.varnholt", "makers/inkwash"),
    ("hanne.kirkeby", "council/bylaws"),
    ("dario.penhallow", "harbour/tideclock"),
    ("ottilie.crane", "makers/hivebook"),
)
_WORKING = ("developer", "maintainer", "owner")
_POOL = tuple(
    line.split(" | ")
    for line in files("pytest_webarena.embedded.gitlab")
    .joinpath("data", "common_issues.txt")
    .read_text(encoding="utf-8")
    .splitlines()
)


def _text(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}"


class Filling:
    """One filling of an empty database."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._store = Store(connection)
        self._users: dict[str, int] = {}
        self._groups: dict[str, Group] = {}

    def _insert(self, table: str, **values: object) -> int:
        marks = ", ".join("?" * len(values))
        cursor = self._connection.execute(
            f"INSERT INTO {table} ({', '.join(values)}) VALUES ({marks})", tuple(values.values())
        )
        assert cursor.lastrowid is not None
        return cursor.lastrowid

    def people(self) -> None:
        """Everybody in the world, each with a namespace of their own."""
        towns = {town.key: town.name for town in TOWNS}
        for person in PEOPLE:
            chance = Chance(f"account of {person.username}")
            created = _text(datetime(2016, 1, 1, 8) + timedelta(hours=chance.whole(0, 60000)))
            emoji, message, busy = STATUSES.get(person.username, ("", "", 0))
            token = hashlib.sha256(f"feed of {person.username}".encode()).hexdigest()[:20]
            user = self._insert(
                "users", username=person.username, name=person.name, email=person.email, password=person.password,
                bio=BIOS.get(person.username, ""), location=towns[person.town],
                job_title=person.occupation.capitalize(),
                status_emoji=emoji, status_message=message, status_busy=busy, feed_token=token, created=created,
            )  # fmt: skip
            self._users[person.username] = user
            self._insert(
                "namespaces", path=person.username, name=person.name, kind="user", user_id=user, created=created
            )

    def group(self, group: Group) -> None:
        """A group and its members."""
        self._groups[group.path] = group
        number = self._insert(
            "namespaces", path=group.path, name=group.name, kind="group", description=group.description,
            visibility=group.visibility, created="2016-02-01T09:00:00",
        )  # fmt: skip
        for username, role in ((group.owner, "owner"), *group.members):
            since = datetime(2017, 1, 9, 10) + timedelta(days=Chance(f"{group.path} {username}").whole(0, 2400))
            self._insert("members", namespace_id=number, user_id=self._users[username], role=role, created=_text(since))

    def project(self, draft: Draft) -> None:
        """A project with everything in it."""
        chance = Chance(draft.path)
        namespace, _, path = draft.path.partition("/")
        started, ended = _span(path, chance)
        if any("2025" in file or "2025-" in text for file, text in draft.files.items()):
            # What tells of this spring can't be older than that.
            started, ended = datetime(2025, 4, 28, 9), datetime(2025, 5, 13, 17, 30)
        team = self._team(draft, chance)
        number = self._insert(
            "projects", namespace_id=self._namespace(namespace), path=path, full_path=draft.path, name=draft.name,
            description=draft.description, visibility=draft.visibility, topics=draft.topics.replace(", ", ","),
            creator_id=self._users[draft.maintainer], created=_text(started), updated=_text(ended),
        )  # fmt: skip
        if namespace in self._users:
            for username in team[1:]:
                self._insert(
                    "members", project_id=number, user_id=self._users[username],
                    role=chance.one_of(("developer", "developer", "reporter")), created=_text(started),
                )  # fmt: skip
        history = History(store=self._store, connection=self._connection, project=number, draft=draft, team=team,
                          started=started, ended=ended)  # fmt: skip
        history.write()
        labels = self._labels(number, draft)
        milestones = self._milestones(number, draft, chance)
        self._merged(number, history, chance)
        for request in draft.requests:
            self._request(number, request, history, labels, chance)
        self._issues(number, draft, team, labels, milestones, started, chance)
        seen_by = self._insiders(draft, team) if draft.visibility == "private" else list(self._users.values())
        most = {"public": 14, "internal": 5, "private": 1}[draft.visibility]
        for user in sorted(chance.some_of(seen_by, chance.whole(0, most))):
            self._insert("stars", project_id=number, user_id=user)
        self._pushes(number)

    def _namespace(self, path: str) -> int:
        row = self._connection.execute("SELECT id FROM namespaces WHERE path = ?", (path,)).fetchone()
        return int(row[0])

    def _insiders(self, draft: Draft, team: list[str]) -> list[int]:
        """Who sees a private project: the members of its group, or those who work on it."""
        group = self._groups.get(draft.path.partition("/")[0])
        names = [group.owner, *(name for name, _ in group.members)] if group else team
        return [self._users[name] for name in names]

    def _team(self, draft: Draft, chance: Chance) -> list[str]:
        """Who commits, the maintainer first."""
        namespace = draft.path.partition("/")[0]
        if group := self._groups.get(namespace):
            writers = [group.owner, *(name for name, role in group.members if role in _WORKING)]
            return [draft.maintainer, *(name for name in writers if name != draft.maintainer)]
        if draft.visibility == "private":
            return [draft.maintainer]
        others = [request.author for request in draft.requests] or [
            name for name in chance.some_of(list(self._users), 3) if name != draft.maintainer
        ]
        return [draft.maintainer, *others[: chance.whole(0, 2)]]

    def _labels(self, project: int, draft: Draft) -> dict[str, int]:
        used = [label for labels in (*(i.labels for i in draft.issues), *(r.labels for r in draft.requests))
                for label in labels]  # fmt: skip
        common = ["bug", "feature", "documentation"] if draft.issues else []
        titles = sorted({*common, *used, *(label for _, labels, _ in _POOL for label in labels.split(", "))})
        return {
            title: self._insert("labels", project_id=project, title=title, color=COLORS.get(title, "#4c5a66"))
            for title in titles
        }

    def _milestones(self, project: int, draft: Draft, chance: Chance) -> list[tuple[int, str]]:
        if len(draft.issues) < 2:
            return []
        rows = [("Spring tidying", "2025-03-01", "2025-04-30", "closed"),
                ("Before the regatta", "2025-05-01", "2025-06-13", "active"),
                ("Lantern Fair", "2025-09-01", "2025-10-24", "active")]  # fmt: skip
        return [
            (self._insert("milestones", project_id=project, iid=iid, title=title, start_date=start, due_date=due,
                          state=state), state)
            for iid, (title, start, due, state) in enumerate(rows[: chance.whole(2, 3)], 1)
        ]  # fmt: skip

    def _merged(self, project: int, history: History, chance: Chance) -> None:
        for iid, merged in enumerate(history.merged, 1):
            author, by = self._users[merged.author], self._users[merged.by]
            number = self._insert(
                "merge_requests", project_id=project, iid=iid, title=merged.title,
                description=chance.one_of(DESCRIBED), author_id=author, state="merged", source_project_id=project,
                source_branch=merged.branch, target_branch="main", base_sha=merged.base, head_sha=merged.head,
                merge_sha=merged.merge, created=merged.opened, updated=merged.merged, merged=merged.merged,
                merged_by_id=by,
            )  # fmt: skip
            self._insert("reviewers", merge_request_id=number, user_id=by)
            self._insert("approvals", merge_request_id=number, user_id=by, created=merged.merged)
            if chance.happens(0.6):
                self._note("merge_request", number, by, chance.one_of(REMARKS), merged.merged)
            self._event(project, author, "opened", f"!{iid}", merged.title, merged.opened)
            self._event(project, by, "merged", f"!{iid}", merged.title, merged.merged)

    def _request(
        self, project: int, request: RequestDraft, history: History, labels: dict[str, int], chance: Chance
    ) -> None:
        tip = self._store.resolve(project, "main")
        assert tip is not None
        moment = _TODAY - timedelta(days=chance.whole(2, 30), minutes=chance.whole(0, 600))
        head = tip
        changed = {edit.path: edit for edit in request.edits}
        for path in changed:
            text = self._text_of(head, path)
            for edit in request.edits:
                if edit.path == path:
                    text = edit.applied(text)
            head = history.commit_texts(head, {path: text}, request.author, request.title, moment)
        self._store.set_ref(project, f"refs/heads/{request.branch}", head)
        for edit in request.later:
            text = edit.applied(self._text_of(tip, edit.path))
            name = edit.path.rpartition("/")[2]
            later = moment + timedelta(hours=20)
            tip = history.commit_texts(tip, {edit.path: text}, history.draft.maintainer, f"Update {name}", later)
            self._store.set_ref(project, "refs/heads/main", tip)
        author, reviewer = self._users[request.author], self._users[request.reviewer]
        opened = _text(moment + timedelta(minutes=20))
        number = self._insert(
            "merge_requests", project_id=project, iid=self._next("merge_requests", project), title=request.title,
            description=request.description, author_id=author, source_project_id=project,
            source_branch=request.branch, target_branch="main", created=opened, updated=opened,
        )  # fmt: skip
        self._insert("reviewers", merge_request_id=number, user_id=reviewer)
        if chance.happens(0.5):
            self._insert("assigned", item="merge_request", item_id=number, user_id=author)
        for label in request.labels:
            self._insert("labelled", item="merge_request", item_id=number, label_id=labels[label])
        if chance.happens(0.5):
            self._note("merge_request", number, reviewer, chance.one_of(REMARKS[1:2] + REMARKS[3:]), _text(
                moment + timedelta(hours=3)))  # fmt: skip
        self._event(project, author, "opened", f"!{self._next('merge_requests', project) - 1}", request.title, opened)

    def _text_of(self, commit: str, path: str) -> str:
        entry = self._store.find(self._store.tree_of(commit), path)
        if entry is None:
            raise ValueError(f"there is no {path}")
        return self._store.get(entry.sha)[1].decode()

    def _next(self, table: str, project: int) -> int:
        row = self._connection.execute(f"SELECT count(*) FROM {table} WHERE project_id = ?", (project,)).fetchone()
        return int(row[0]) + 1

    def _issues(
        self, project: int, draft: Draft, team: list[str], labels: dict[str, int], milestones: list[tuple[int, str]],
        started: datetime, chance: Chance,
    ) -> None:  # fmt: skip
        drafts = list(draft.issues)
        for title, kinds, text in chance.some_of(_POOL, self._more(draft, chance)):
            filled = {"name": draft.name, "file": chance.one_of(list(draft.files)),
                      "maintainer": draft.maintainer.split(".")[0].capitalize()}  # fmt: skip
            state = "closed" if chance.happens(0.55) else "opened"
            drafts.append(
                IssueDraft(
                    title=title.format(**filled), author=self._reader(draft, chance), labels=kinds.split(", "),
                    state=state, assignee=chance.one_of(team) if chance.happens(0.4) else "",
                    description=text.format(**filled),
                    comments=[(self._reader(draft, chance), remark)
                              for remark in chance.some_of(FOLLOW_UPS, chance.whole(0, 3))],
                )
            )  # fmt: skip
        ordered = chance.some_of(drafts, len(drafts))
        span = (_TODAY - timedelta(days=2)) - max(started, _TODAY - timedelta(days=1400))
        for iid, issue in enumerate(ordered, 1):
            created = (_TODAY - timedelta(days=2)) - span * ((len(ordered) - iid) / max(len(ordered), 1))
            created = created.replace(hour=7 + chance.whole(0, 14), minute=chance.whole(0, 59), second=0, microsecond=0)
            self._issue(project, iid, issue, created, labels, milestones, team, chance)

    def _more(self, draft: Draft, chance: Chance) -> int:
        most = {"public": (3, 11), "internal": (1, 4), "private": (0, 1)}[draft.visibility]
        return chance.whole(*most) if draft.path.split("/")[0] in self._groups else chance.whole(0, 3)

    def _reader(self, draft: Draft, chance: Chance) -> str:
        """Somebody who can see the project."""
        if draft.visibility != "private":
            return chance.one_of(list(self._users))
        group = self._groups.get(draft.path.partition("/")[0])
        return chance.one_of([group.owner, *(name for name, _ in group.members)]) if group else draft.maintainer

    def _issue(
        self, project: int, iid: int, issue: IssueDraft, created: datetime, labels: dict[str, int],
        milestones: list[tuple[int, str]], team: list[str], chance: Chance,
    ) -> None:  # fmt: skip
        author = self._users[issue.author]
        rest = _TODAY - timedelta(hours=6) - created
        last, comments = created, []
        for n, (username, text) in enumerate(issue.comments, 1):
            last = created + min(rest, timedelta(days=40)) * (n / (len(issue.comments) + 2))
            comments.append((self._users[username], text, _text(last)))
        closed = last + min(rest, timedelta(days=40)) / 9 if issue.state == "closed" else None
        closer = self._users[issue.assignee or team[0]]
        open_milestones = [number for number, state in milestones if (state == "closed") == (closed is not None)]
        milestone = chance.one_of(open_milestones) if open_milestones and chance.happens(0.35) else None
        if closed and _text(closed) < "2025-03-01":
            milestone = None  # it was over before there were these milestones
        due = _date(_TODAY.date() + timedelta(days=chance.whole(-5, 60))) if chance.happens(0.2) and not closed else ""
        number = self._insert(
            "issues", project_id=project, iid=iid, title=issue.title, description=issue.description, author_id=author,
            state=issue.state, milestone_id=milestone, due_date=due, created=_text(created),
            updated=_text(closed or last), closed=_text(closed) if closed else "",
            closed_by_id=closer if closed else None,
        )  # fmt: skip
        for label in issue.labels:
            self._insert("labelled", item="issue", item_id=number, label_id=labels[label])
        if issue.assignee:
            self._insert("assigned", item="issue", item_id=number, user_id=self._users[issue.assignee])
        self._event(project, author, "opened", f"#{iid}", issue.title, _text(created))
        for user, text, moment in comments:
            self._note("issue", number, user, text, moment)
            self._event(project, user, "commented on", f"#{iid}", issue.title, moment)
        if closed:
            self._note("issue", number, closer, "closed this issue", _text(closed), system=1)
            self._event(project, closer, "closed", f"#{iid}", issue.title, _text(closed))

    def _note(self, item: str, number: int, user: int, text: str, moment: str, *, system: int = 0) -> None:
        self._insert("notes", item=item, item_id=number, author_id=user, text=text, system=system, created=moment,
                     updated=moment)  # fmt: skip

    def _event(self, project: int, user: int, action: str, target: str, title: str, moment: str) -> None:
        self._insert("events", project_id=project, user_id=user, action=action, target=target, title=title,
                     created=moment)  # fmt: skip

    def _pushes(self, project: int) -> None:
        tip = self._store.resolve(project, "main")
        assert tip is not None
        for row in self._store.history(tip, limit=12):
            user = next(self._users[person.username] for person in PEOPLE if person.email == row[5 - 1])
            self._event(project, user, "pushed to", "main", row[9].partition("\n")[0], row[8])

    def forks(self) -> None:
        """Copies of projects in people's own namespaces."""
        for username, path in _FORKS:
            chance = Chance(f"{username} forks {path}")
            row = self._connection.execute(
                "SELECT id, path, name, description, topics, default_branch FROM projects WHERE full_path = ?", (path,)
            ).fetchone()
            user = self._users[username]
            moment = _text(_TODAY - timedelta(days=chance.whole(10, 200)))
            fork = self._insert(
                "projects", namespace_id=self._namespace(username), path=row[1], full_path=f"{username}/{row[1]}",
                name=row[2], description=row[3], visibility="public", topics=row[4], default_branch=row[5],
                forked_from=row[0], creator_id=user, created=moment, updated=moment,
            )  # fmt: skip
            for name, sha in self._store.refs(row[0], "refs/").items():
                if not name.startswith("heads/") or name == f"heads/{row[5]}":
                    self._store.set_ref(fork, f"refs/{name}", sha)
        self._from_fork()

    def _from_fork(self) -> None:
        """A merge request that comes from a fork."""
        source, target = (
            self._connection.execute("SELECT id FROM projects WHERE full_path = ?", (path,)).fetchone()[0]
            for path in ("callum.reedy/places", "atlas/places")
        )
        tip = self._store.resolve(source, "main")
        assert tip is not None
        text = self._text_of(tip, "README.md").rstrip() + "\n\n## Sheepfolds\n\nStand in `folds.csv`.\n"
        blobs = {"README.md": text, "folds.csv": "name,town,stones\nHare Fold,Mossfold,1840\nNab Fold,Mossfold,920\n"}
        moment = _TODAY - timedelta(days=6, hours=2)
        author = self._users["callum.reedy"]
        person = next(person for person in PEOPLE if person.username == "callum.reedy")
        written = self._store.files(tip) | {path: self._store.blob(text) for path, text in blobs.items()}
        head = self._store.commit(
            written, [tip], Signature(name=person.name, email=person.email, time=_text(moment)), "Add the sheepfolds"
        )
        self._store.set_ref(source, "refs/heads/sheepfolds", head)
        opened = _text(moment + timedelta(minutes=30))
        number = self._insert(
            "merge_requests", project_id=target, iid=self._next("merge_requests", target), title="Add the sheepfolds",
            description="Two of them, counted stone by stone.", author_id=author, source_project_id=source,
            source_branch="sheepfolds", target_branch="main", created=opened, updated=opened,
        )  # fmt: skip
        self._insert("reviewers", merge_request_id=number, user_id=self._users["noor.haddadin"])

    def follows(self) -> None:
        """Who follows whom."""
        for username, user in self._users.items():
            chance = Chance(f"{username} follows")
            for other in sorted(chance.some_of(list(self._users.values()), chance.whole(0, 5))):
                if other != user:
                    self._insert("follows", follower_id=user, followed_id=other)

    def todos(self) -> None:
        """What waits for people: issues given to them, merge requests to review."""
        self._connection.execute(
            "INSERT INTO todos (user_id, author_id, project_id, action, item, item_id, created)"
            " SELECT assigned.user_id, issues.author_id, issues.project_id, 'assigned', 'issue', issues.id,"
            " issues.created FROM issues JOIN assigned ON item = 'issue' AND item_id = issues.id"
            " WHERE state = 'opened' AND assigned.user_id <> issues.author_id ORDER BY issues.created, issues.id"
        )
        self._connection.execute(
            "INSERT INTO todos (user_id, author_id, project_id, action, item, item_id, created)"
            " SELECT reviewers.user_id, m.author_id, m.project_id, 'review_requested', 'merge_request', m.id, m.created"
            " FROM merge_requests m JOIN reviewers ON merge_request_id = m.id WHERE state = 'opened' ORDER BY m.created"
        )


def _span(path: str, chance: Chance) -> tuple[datetime, datetime]:
    """When the history of a project begins and ends."""
    if known := _OPENED.get(path):
        started, ended = known.started, known.released
    else:
        started = date(2021, 1, 4) + timedelta(days=chance.whole(0, 1200))
        ended = _TODAY.date() - timedelta(days=chance.whole(3, 120))
    return datetime(started.year, started.month, started.day, 9), datetime(ended.year, ended.month, ended.day, 17, 30)


def _date(day: date) -> str:
    return day.isoformat()
