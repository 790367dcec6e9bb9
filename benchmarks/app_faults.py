"""Checks that faults of real applications are blamed on the site, not on the agent.

    python benchmarks/app_faults.py [--apps wiki tracker courier] [--faults hangs memory …]

Build the images first: ``webarena sites images build debian``. An agent replays a task's solution and meets each fault
once, on the replica of its first attempt (``full`` and ``disk`` need root):

dies       the application's server is killed; its container keeps running where it can
database   the database's server is killed (none for SQLite)
hangs      the server, or its database's server, is stopped
memory     a process in the container exceeds its memory limit
full       the database's disk is full
disk       the disk for uploads is full
slow       the application takes 20 seconds longer to start (no fault: the harness waits)
half       the server answers long before its database does (no fault either)
never      the server answers, but its database never starts, on any attempt

Each fault must be recorded as an error of the site, and the retried trial must pass. Prints a table of faults and
recorded causes. Exit code 1: the agent was blamed, or a fault was not noticed.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import yaml

TASKS: Mapping[str, str] = {
    "wiki": """
    user: mara.linden
    checks: [{state: {sql: "select count(*) from page where page_title = 'Bench_by_the_mill'", equals: 1}}]
    solution:
      - goto: http://wiki.test/index.php?title=Bench_by_the_mill&action=edit
      - fill: {css=#wpTextbox1: A bench for two.}
      - click: css=#wpSave
      - stop
    """,
    "tracker": """
    user: hamish.dorrow
    checks: [{state: {sql: "select count(*) from issues where subject = 'North buoy is dark'", equals: 1}}]
    solution:
      - goto: /projects/harbour-renewal/issues/new
      - fill: {css=#issue_subject: North buoy is dark}
      - click: "css=#issue-form input[name=commit]"
      - stop
    """,
    "courier": """
    user: jonas.brightwater
    checks: [{state: {sql: "select count(*) from wp_comments where comment_content = 'Ours is right.'", equals: 1}}]
    solution:
      - goto: /a-morning-at-hale-clocks/
      - fill: {css=#comment: Ours is right.}
      - click: css=#submit
      - stop
    """,
}
UPLOADS: Mapping[str, str] = {
    "wiki": """
    user: desmond.pell
    checks: [{state: {sql: "select count(*) from image where img_name = 'Bench.png'", equals: 1}}]
    solution:
      - goto: http://wiki.test/wiki/Special:Upload
      - upload: {css=#wpUploadFile: bench.png}
      - fill: {css=#wpDestFile: Bench.png}
      - click: css=input[name=wpUpload]
      - stop
    """,
    "tracker": """
    user: hamish.dorrow
    checks: [{state: {sql: "select count(*) from attachments where filename = 'bench.png'", equals: 1}}]
    solution:
      - goto: /projects/harbour-renewal/files/new
      - upload: {"css=.attachments_form input[type=file] >> nth=0": bench.png}
      - wait: 3
      - click: "css=#content input[name=commit]"
      - stop
    """,
    "courier": """
    user: saoirse.quill
    checks: [{state: {sql: "select count(*) from wp_posts where post_title = 'bench'", equals: 1}}]
    solution:
      - goto: /wp-admin/media-new.php?browser-uploader=1
      - upload: {css=#async-upload: bench.png}
      - click: css=#html-upload
      - stop
    """,
}
UPLOADABLE = """
import pathlib, pytest

@pytest.fixture(scope="session")
def webarena_context_args():
    return {"uploads": {"bench.png": pathlib.Path(__file__).with_name("bench.png")}}
"""
FILES: Mapping[str, str] = {
    "wiki": "/var/lib/mediawiki/images/ /tmp",
    "tracker": "/var/lib/redmine/default/files /tmp",
    "courier": "/var/lib/wordpress/wp-content/uploads /tmp",
}
"""The directories that uploads go through and end in, per application."""
SERVERS: Mapping[str, str] = {"wiki": "apache2", "tracker": "ruby puma", "courier": "apache2"}
DATABASES: Mapping[str, str] = {"tracker": "postgres", "courier": "mariadbd"}
_EACH = (
    "for p in /proc/[0-9]*; do read -r n < $p/comm || continue; "
    "for w in WORDS; do case $n in $w*) kill -SIGNAL ${p#/proc/};; esac; done; done 2>/dev/null; true"
)
_SMALL = """
set -e
dir=$1 room=$2
size=$(du -sk $dir | cut -f1)
small=/small$(echo $dir | tr / -)
mkdir -p $small
mount -t tmpfs -o size=$((size + size / 8 + room))k tmpfs $small
cp -a $dir/. $small/
chown --reference=$dir $small
chmod --reference=$dir $small
mount --bind $small $dir
"""
"""Mounts a small disk on a directory (arguments: the directory, and the extra room in KiB)."""
_FILL = "dd if=/dev/zero of=$1/filler bs=4k 2>/dev/null; true"
_AWAY: Mapping[str, tuple[str, str, str]] = {
    "wiki": ("/var/lib/mediawiki-data", "true", "true"),
    "tracker": (
        "/var/lib/postgresql/15/main", "pg_ctlcluster 15 main stop -m fast", "pg_ctlcluster 15 main start",
    ),
    "courier": (
        "/var/lib/mysql", "mariadb-admin shutdown", "(setsid mariadbd --user=mysql >/dev/null 2>&1 &); "
        "until mariadb-admin ping >/dev/null 2>&1; do sleep 0.2; done",
    ),
}  # fmt: skip
"""Where the database keeps its files, and the commands that stop and start its server."""


def inside(container: Any, script: str) -> None:
    """Runs a shell script in the container."""
    container.exec_run(["sh", "-c", script])


def mounted(container: Any, script: str, *arguments: str) -> None:
    """Runs a shell script as the machine's root in the container's mount and PID namespaces."""
    container.reload()
    enter = ["nsenter", "--target", str(container.attrs["State"]["Pid"]), "--mount", "--pid"]
    subprocess.run([*enter, "sh", "-c", script, "sh", *arguments], check=True, capture_output=True)


def dies(container: Any, app: str) -> None:
    """Kills the processes of the application's server."""
    if app == "wiki":  # its server is the container's main process
        container.kill()
    else:
        inside(container, _EACH.replace("WORDS", SERVERS[app]).replace("SIGNAL", "9"))


def database(container: Any, app: str) -> None:
    """Kills the processes of the database's server."""
    inside(container, _EACH.replace("WORDS", DATABASES[app]).replace("SIGNAL", "9"))


def hangs(container: Any, app: str) -> None:
    """Stops a process that pages need (SIGSTOP): the database's server, or the application's where it has SQLite."""
    words = DATABASES.get(app, SERVERS[app])
    inside(container, _EACH.replace("WORDS", words).replace("SIGNAL", "STOP"))


def memory(container: Any, app: str) -> None:
    """Uses more memory than the container's limit."""
    inside(container, "head -c 3000000000 /dev/zero | tail >/dev/null")


def full(container: Any, app: str) -> None:
    """Restarts the database on a disk without free space."""
    directory, end, begin = _AWAY[app]
    inside(container, end)
    mounted(container, _SMALL, directory, "14000" if app == "courier" else "600")
    inside(container, begin)
    mounted(container, _FILL, directory)


def disk(container: Any, app: str) -> None:
    """Leaves no free space where uploads are stored."""
    for directory in FILES[app].split():
        mounted(container, _SMALL, directory.rstrip("/"), "64")
        mounted(container, _FILL, directory)


FAULTS: Mapping[str, Callable[[Any, str], None]] = {
    "dies": dies,
    "database": database,
    "hangs": hangs,
    "memory": memory,
    "full": full,
    "disk": disk,
}


def _edited(line: str, instead: str) -> str:
    """Returns a command that edits a line of the start script and runs it; it exits with 9 without such a line."""
    start = "/opt/webarena/start"
    return f"grep -q '{line}' {start} || exit 9; sed -i 's/{line}/{instead}/' {start}; exec {start}"


BOOTS: Mapping[str, Mapping[str, str]] = {
    "slow": dict.fromkeys(TASKS, "sleep 20; exec /opt/webarena/start"),
    "half": {
        "wiki": "cd /etc/mediawiki; mv LocalSettings.php away; (sleep 12; mv away LocalSettings.php) & "
        "exec /opt/webarena/start",
        "tracker": _edited("^start_database$", "(sleep 25; start_database) \\&"),
        "courier": _edited("^.usr.sbin.mariadbd", "sleep 12 \\&\\& \\/usr\\/sbin\\/mariadbd"),
    },
    "never": {
        "wiki": "mv /etc/mediawiki/LocalSettings.php /etc/away; exec /opt/webarena/start",
        "tracker": _edited("^start_database$", "true"),
        "courier": _edited("^.usr.sbin.mariadbd", "sleep 1000 \\&\\& \\/usr\\/sbin\\/mariadbd"),
    },
}
"""The commands that containers run instead of their own start script."""


class Unlucky:
    """An agent that follows the task's solution; before its first write, on the first attempt, it causes the fault."""

    def __init__(self, task: Any) -> None:
        from pytest_webarena.tasks import load_tasks

        self._app, self._fault = os.environ["APP"], os.environ["FAULT"]
        (known,) = load_tasks(Path(os.environ["FAULT_TASK"]))
        self._steps = list(known.solution)
        self._sites = dict(task.sites)

    def act(self, observation: Any) -> Any:
        """Returns the next step."""
        from pytest_webarena.agents.builtin import with_full_address

        step = with_full_address(self._steps.pop(0), self._sites)
        met = Path(os.environ["FAULT_MET"])
        if step.kind == "click" and self._fault in FAULTS and not met.exists():
            met.touch()
            FAULTS[self._fault](running(self._app), self._app)
        return step


def running(app: str) -> Any:
    """Returns the trial's container, which is the only one of its run."""
    from pytest_webarena.sites.backends.docker import connect
    from pytest_webarena.sites.backends.docker.labels import APP, OWNER

    client = connect()
    owner = re.search(r"broker (\d+/\d+/[0-9a-f-]+) serves", Path(os.environ["FAULT_RUN"], "broker.log").read_text())
    assert owner is not None
    mine = client.containers.list(filters={"label": [f"{APP}={app}", f"{OWNER}={owner[1]}"]})
    (found,) = [one for one in mine if "-pod-" not in one.name and "-snapshot" not in one.name]
    return found


def meet(app: str, fault: str, keep: Path | None) -> tuple[list[tuple[str, str | None]], str]:
    """Runs one task with one fault; returns the outcome and cause of each attempt, and the message of the last."""
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = keep or Path(name)
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "bench.png").write_bytes(picture())
        (folder / "conftest.py").write_text(UPLOADABLE)
        text = (UPLOADS if fault == "disk" else TASKS)[app]
        (folder / "fault.tasks.yaml").write_text(
            f"tasks:\n  - id: fault\n    intent: Do it.\n    sites: [{app}]\n    mutates: true{text}\n"
        )
        sites = "debian"
        if fault in BOOTS:
            from pytest_webarena.sites.catalogues.loading import load_catalogue

            shipped = yaml.safe_load(load_catalogue("debian").path.read_text())["apps"][app]["docker"]
            docker = {**shipped, "command": ["sh", "-c", BOOTS[fault][app]], "snapshot": False}
            timeout = 60 if fault == "never" else 240
            manifest = {"apps": {app: {"docker": docker, "start_timeout": timeout}}, "extends": "debian"}
            (folder / "sites.yaml").write_text(yaml.safe_dump({"schema_version": 1, **manifest}))
            sites = "sites.yaml"
        run = folder / "run"
        command = [
            sys.executable, "-m", "pytest", "fault.tasks.yaml", f"--sites={sites}", "--replicas=1", "-q",
            f"--agent={Path(__file__).stem}:Unlucky", f"--run-dir={run}", "-p", "no:cacheprovider",
        ]  # fmt: skip
        environment = {
            **os.environ, "APP": app, "FAULT": fault, "FAULT_MET": str(folder / "met"), "FAULT_RUN": str(run),
            "FAULT_TASK": str(folder / "fault.tasks.yaml"), "PYTHONPATH": str(Path(__file__).parent),
        }  # fmt: skip
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
        (folder / "said").write_text(done.stdout + done.stderr)
        records = list(run.glob("trials/*/trial.json"))
        if not records:
            return [], (done.stdout + done.stderr)[-300:]
        record = json.loads(records[0].read_text())
        attempts = [(one["outcome"], one["cause"]) for one in record["attempts"]]
        first = next((one["message"] for one in record["attempts"] if one["outcome"] != "passed"), "")
        return attempts, first


def picture() -> bytes:
    """Returns an image that is larger than the space left on a full disk."""
    from pytest_webarena.embedded.handbook import files

    return next(iter(files().values())) + b"\0" * 200_000


def expected(fault: str) -> list[tuple[str, str | None]]:
    """Returns the outcome and cause that each attempt should have."""
    if fault in ("slow", "half"):
        return [("passed", None)]
    if fault == "never":
        return [("error", "site")] * 2
    return [("error", "site"), ("passed", None)]


def main() -> int:
    """Runs the faults; returns exit code 1 if any was attributed to the wrong cause."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--apps", nargs="+", choices=list(TASKS), default=list(TASKS), help="applications to break")
    parser.add_argument(
        "--faults", nargs="+", choices=[*FAULTS, *BOOTS], default=[*FAULTS, *BOOTS], help="faults to inject"
    )
    parser.add_argument("--keep", type=Path, help="keep the runs in this folder")
    options = parser.parse_args()
    wrong = 0
    for fault in options.faults:
        for app in options.apps:
            if fault == "database" and app not in DATABASES:
                continue
            attempt_results, message = meet(app, fault, options.keep / f"{app}-{fault}" if options.keep else None)
            right = attempt_results == expected(fault)
            wrong += not right
            attempts = ", ".join(f"{outcome}{f' ({cause})' if cause else ''}" for outcome, cause in attempt_results)
            print(
                f"{fault:<9} {app:<8} {'as expected' if right else 'WRONG':<12} {attempts or 'no record'}", flush=True
            )
            print(f"          {' '.join(message.split())[:230]}", flush=True)
    print(f"{wrong} faults with a wrong cause")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
