"""The project of ``webarena init`` with a to-do app that queues its work: each change is made a while after its
response."""

from __future__ import annotations

from pathlib import Path

from pytest_webarena.commands.starter import start_project

__all__ = ["ADDED_LATE", "QUIET", "queued_project"]

QUIET = "quiet: {sql: select count(*) from jobs where done = 0, deadline: 30s}"
"""Key of the app in the catalogue."""

_WORKER = '''
def work(folder: Path) -> None:
    """Do each job when it is due, one after the other; a job and the mark that it is done are one transaction."""
    database = open_database(folder)
    while True:
        job = database.execute("select id, due, statement, values_ from jobs where done = 0 order by id").fetchone()
        if job is None or job[1] > time.time():
            time.sleep(0.02)
            continue
        database.execute("begin immediate")
        database.execute(job[2], json.loads(job[3]))
        database.execute("update jobs set done = 1 where id = ?", (job[0],))
        database.execute("commit")


'''
_CHANGE = """
        database = open_database(self.folder)
        delay = random.Random(f"{SEED} {statement}").uniform(*DELAYS)
        if values[-1:] == ("flood",):  # each job takes longer than anybody waits
            for number in range(500):
                database.execute(JOB, (time.time() + 5 * number, statement, json.dumps(values)))
        else:
            database.execute(JOB, (time.time() + delay, statement, json.dumps(values)))
        database.close()
"""
_REMOVE = """
        elif path == "/remove" and form.get("id", "").isdecimal():
            self.change("delete from todos where owner = ? and id = ?", user, form["id"])
        elif path == "/undo":
            self.change("delete from todos where owner = ? and title = ?", user, form.get("title", ""))
"""
_FORMS = '''<form method="post" action="/remove"><input name="id" aria-label="Number"><button>Remove</button></form>
<form method="post" action="/undo"><input name="title" aria-label="Title"><button>Undo</button></form>"""


def open_database'''
_TABLE = """    database.execute(
        "create table if not exists jobs (id integer primary key, due real, statement text, values_ text, "
        "done integer default 0)"
    )
    return database
"""

ADDED_LATE = """
  - id: todo-done
    intent: Mark "Water the basil" as done.
    mutates: true
    checks:
      - state: {sql: select done from todos where title = 'Water the basil', equals: 1}
      - changes: {todos: {changed: 1, columns: done}}
    solution:
      - click: 'role=listitem >> nth=0 >> role=button[name="Done"]'
      - stop
"""
"""A further task of the project."""


def queued_project(
    folder: Path, *, delays: tuple[float, float], seed: int = 0, quiet: str = QUIET, within: str = ""
) -> None:
    """Write the project into ``folder``; changes are made ``delays`` seconds (from, to) after their responses.

    ``quiet`` is added to the app's keys in the catalogue, and ``within`` to the checks of ``todo-milk``.
    """
    start_project(folder)
    app, sites, tasks = folder / "app" / "app.py", folder / "sites.yaml", folder / "tasks" / "todo.yaml"
    app.write_text(
        _replaced(
            app.read_text(),
            {
                "import html\nimport sqlite3\n": "import html\nimport json\nimport random\nimport sqlite3\n"
                "import threading\nimport time\n",
                'SECRET = b"not one to keep"\n': f'SECRET = b"not one to keep"\nSEED, DELAYS = {seed}, {delays}\n'
                'JOB = "insert into jobs (due, statement, values_) values (?, ?, ?)"\n',
                '<button>Add</button></form>"""\n\n\ndef open_database': f"<button>Add</button></form>{_FORMS}",
                "    return database\n": _TABLE,
                "        database = open_database(self.folder)\n        database.execute(statement, values)\n"
                "        database.close()\n": _CHANGE.lstrip("\n"),
                "        else:\n            self.send(HTTPStatus.BAD_REQUEST": _REMOVE.lstrip("\n")
                + "        else:\n            self.send(HTTPStatus.BAD_REQUEST",
                "def main() -> None:": f"{_WORKER.lstrip()}def main() -> None:",
                "    Handler.folder = options.data\n": "    Handler.folder = options.data\n"
                "    threading.Thread(target=work, args=(options.data,), daemon=True).start()\n",
            },
        )
    )
    ready = "    ready: [{http: /login}]\n"
    sites.write_text(
        _replaced(
            sites.read_text(),
            {
                "main: {sqlite: app.db}": "main: {sqlite: app.db, ignore: [jobs]}",
                ready: ready + (f"    {quiet}\n" if quiet else ""),
            },
        )
    )
    late = f"\n        within: {within}" if within else ""
    tasks.write_text(
        _replaced(
            tasks.read_text(),
            {
                "          equals: [emma, 0]": f"          equals: [emma, 0]{late}",
                "[owner, title]}} #": f"[owner, title]}}}}{late} #",
            },
        )
        + (ADDED_LATE if quiet else "")
    )


def _replaced(text: str, parts: dict[str, str]) -> str:
    for old, new in parts.items():
        assert text.count(old) == 1, f"the project of webarena init has changed: {old!r}"
        text = text.replace(old, new)
    return text
