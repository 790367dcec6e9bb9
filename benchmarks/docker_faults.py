"""Causes faults of Docker while a trial uses a unit of four containers, and compares the records with expectations.

    python benchmarks/docker_faults.py [--cases memory dns …] [--agent oracle] [--keep FOLDER]

Runs as root, with `dockerd` installed, on an engine of its own (`docker_unit/engine.py`): it is restarted and its disk
is filled. The unit (`docker_unit/notes.py`) is a web server, a store, a clock and a worker; each is an app of a
catalogue as a user writes it. A fault happens once, while the agent opens the form of its first trial, unless the case
says otherwise. `CASES` states what each fault must lead to, and was written before the first run.

Prints the outcome of each attempt, why the sites were reset, and what remained on the engine: the rows of the table in
docs/replicas.md. Exit code 1: a case did not end as expected.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

from docker_unit.engine import Engine, own_engine

if TYPE_CHECKING:
    from docker import DockerClient

IMAGE = "localhost/notes:1"
HERE = Path(__file__).parent / "docker_unit"
TASK = """
defaults: {sites: [notes], user: ada, mutates: true}
tasks:
  - id: note
    intent: Add the note "Lamp 3 flickers".
    checks: [{state: {sql: "select count(*) from note where text = 'Lamp 3 flickers' and writer = 'ada'", equals: 1}}]
    solution:
      - goto: http://notes.test/new
      - fill: {css=#text: Lamp 3 flickers}
      - click: css=#save
      - stop
"""
PASSED, SITE = ("passed", None), ("error", "site")
Attempts = Sequence[tuple[str, str | None]]
LABEL = "pytest-webarena"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """The engine and the first trial's unit at the moment of a fault."""

    engine: Engine
    client: DockerClient
    unit: Mapping[str, Any]
    """Containers by app."""

    def root(self, app: str, program: str) -> None:
        """Run a Python program as this machine's root in the mount namespace of an app's container."""
        self.unit[app].reload()
        process = str(self.unit[app].attrs["State"]["Pid"])
        subprocess.run(["nsenter", "--target", process, "--mount", "--pid", "python3", "-c", program], check=True)

    def networks(self) -> list[Any]:
        """Return the networks of the run's units."""
        return [each for each in self.client.networks.list() if "-unit-" in each.name]


def slow(fault: Fault) -> None:
    """Give the store 2 % of a processor."""
    fault.unit["store"].update(cpu_period=100_000, cpu_quota=2_000)


def memory(fault: Fault) -> None:
    """Exceed the store's memory limit."""
    fault.unit["store"].exec_run(["python3", "-c", "b'x' * 500_000_000"])


def dns(fault: Fault) -> None:
    """Leave the web server without a name server."""
    fault.unit["web"].exec_run(["sh", "-c", "echo nameserver 127.0.0.9 > /etc/resolv.conf"], user="0")


def clock(fault: Fault) -> None:
    """Move the clock of all containers by a day."""
    for container in fault.unit.values():
        container.exec_run(["sh", "-c", "echo 86400 > /tmp/skew"])


def volume(fault: Fault) -> None:
    """Make the store's volume read-only, as a kernel does after errors of a disk."""
    flags = "1 | 32 | 4096"  # read-only, remount, bind; refused while a file is open for writing
    fault.root(
        "store",
        "import ctypes, time\nfor _ in range(99):\n"
        f"    if not ctypes.CDLL(None).mount(b'none', b'/data', None, {flags}, None): raise SystemExit\n"
        "    time.sleep(0.05)\nraise SystemExit(1)",
    )


def network(fault: Fault) -> None:
    """Disconnect the store from the unit's network."""
    mode = fault.unit["store"].attrs["HostConfig"]["NetworkMode"]
    owner = mode.partition(":")[2] if mode.startswith("container:") else fault.unit["store"].id
    for each in fault.networks():
        each.reload()
        if owner in each.attrs["Containers"]:
            each.disconnect(owner)


def image(fault: Fault) -> None:
    """Remove the image's name, and give it to another image, as a build does."""
    fault.client.images.remove(IMAGE, force=True)
    fault.client.images.get("localhost/other").tag(*IMAGE.rsplit(":", 1))


def engine(fault: Fault) -> None:
    """Restart the engine, which ends all containers."""
    fault.engine.stop()
    fault.engine.start()


def disk(fault: Fault) -> None:
    """Fill the engine's disk, for the rest of the run."""
    fault.engine.fill()


def names(fault: Fault) -> None:
    """Take the names of the next networks of units."""
    prefix = fault.networks()[0].name.rpartition("-")[0]
    for number in range(2, 8):
        fault.client.networks.create(f"{prefix}-{number}", internal=True, check_duplicate=False)


def removed(fault: Fault) -> None:
    """Remove the store's container, as somebody does who tidies up."""
    fault.unit["store"].remove(force=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A fault and what must be recorded."""

    what: str
    """The fault, as the table says it."""
    cause: Callable[[Fault], None] | None
    """None: the catalogue has it from the start."""
    expected: Sequence[Attempts]
    """Outcome and cause of each attempt, for each trial."""
    says: str = ""
    """Regular expression that the first message matches."""
    environment: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    """Variables of the containers, by app."""


ONCE: Sequence[Attempts] = [[SITE, PASSED]]
CASES: Mapping[str, Case] = {
    "slow": Case(what="a container gets 2 % of a processor", cause=slow, expected=[[PASSED]]),
    "memory": Case(what="a container exceeds its memory limit", cause=memory, expected=ONCE, says="store.*memory"),
    "dns": Case(what="names of the unit's network are not found", cause=dns, expected=ONCE, says="502"),
    "clock": Case(what="the containers' clocks jump by a day: sessions expire", cause=clock, expected=[[PASSED]]),
    "clock-behind": Case(
        what="a container's clock is a day behind from the start: browsers drop its session",
        cause=None,
        expected=[[SITE, SITE]],
        says="signed in|sign-in|signing in",
        environment={"web": {"SKEW": "-86400"}},
    ),
    "volume": Case(what="a volume becomes read-only", cause=volume, expected=ONCE, says="read-only"),
    "network": Case(what="a container loses its network", cause=network, expected=ONCE, says="502|store"),
    "image": Case(
        what="the image's name goes to another image between lease and reset",
        cause=image,
        expected=[[PASSED], [PASSED]],
    ),
    "removed": Case(what="a container is removed", cause=removed, expected=ONCE, says="store.*(gone|does not run)"),
    "engine": Case(what="the engine is restarted", cause=engine, expected=ONCE, says="does not run|engine"),
    "disk": Case(what="the engine's disk is full", cause=disk, expected=[[SITE, SITE]], says="disk .*is full"),
    "names": Case(what="networks have the names that ours get next", cause=names, expected=[[PASSED], [PASSED]]),
}


def catalogue(case: Case) -> dict[str, Any]:
    """Return the unit's catalogue."""

    def app(role: str, port: int, ready: object, **keys: Any) -> dict[str, Any]:
        section = {"image": IMAGE, "command": ["python3", "-u", "/notes.py", role], "port": port, "memory": "128m"}
        section |= {"env": {"HOLD": "1", **case.environment.get(role, {})}}
        return {
            "backend": "docker",
            "ready": ready,
            "start_timeout": 30,
            "docker": section | keys.pop("docker", {}),
            **keys,
        }

    check = {"path": "/account", "includes": "{username}"}
    form = [{"fill": {"css=#name": "{username}", "css=#password": "{password}"}}, {"click": "css=#go"}]
    return {
        "schema_version": 1,
        "apps": {
            "clock": app("clock", 8002, [{"http": "/"}]),
            "store": app(
                "store",
                8001,
                [{"http": "/"}],
                databases={"notes": {"sqlite": "notes.db"}},
                docker={"volumes": [{"target": "/data"}]},
            ),
            "worker": app("worker", 9000, [{"exec": ["test", "-e", "/tmp/alive"]}], depends_on=["store"]),
            "web": app(
                "web",
                8080,
                [{"http": {"path": "/", "status": 200}}],
                sites={
                    "notes": {
                        "host": "notes.test",
                        "user": "ada",
                        "sign_in": {"path": "/signin", "steps": form, "check": check},
                    }
                },
                users={"ada": {"password": "paper-lantern-86"}},
                depends_on=["store", "clock", "worker"],
            ),
        },
    }


def build(client: DockerClient) -> None:
    """Make the image of the unit, and another one."""
    from pytest_webarena.sites.container_images.bases import candidates

    (base,) = candidates("host", (), lambda _: None)
    for tag, program in ((IMAGE, (HERE / "notes.py").read_bytes()), ("localhost/other", b"raise SystemExit(3)")):
        recipe = f"FROM {base.provide(client)}\nCOPY notes.py /notes.py\nRUN mkdir -p /data\n"
        context = io.BytesIO()
        with tarfile.open(fileobj=context, mode="w") as archive:
            for name, data in (("notes.py", program), ("Dockerfile", recipe.encode())):
                info = tarfile.TarInfo(name)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
        context.seek(0)
        client.images.build(fileobj=context, custom_context=True, rm=True, tag=tag)


def present(client: DockerClient) -> set[str]:
    """Return the containers, networks and volumes of this package on the engine, and all volumes."""
    found = {f"container {each.name}" for each in client.containers.list(all=True)}
    found |= {f"network {each.name}" for each in client.networks.list() if LABEL in str(each.attrs["Labels"])}
    return found | {f"volume {each.name}" for each in client.volumes.list()}


def inject(fault: Callable[[Fault], None] | None, engine: Engine, run: subprocess.Popen[str], log: list[str]) -> None:
    """Cause the fault when the first trial opens the form, and let all forms open, until the run has ended."""
    client, pending = engine.client(), fault
    while run.poll() is None:
        time.sleep(0.1)
        with suppress(Exception):  # containers end, and the engine may be away
            for web in client.containers.list(filters={"label": f"{LABEL}.app=web"}):
                if web.exec_run(["test", "-e", "/tmp/held"]).exit_code:
                    continue
                if pending is not None:
                    replica = web.labels[f"{LABEL}.replica"]
                    unit = {
                        each.labels[f"{LABEL}.app"]: each
                        for each in client.containers.list(filters={"label": f"{LABEL}.replica"})
                        if each.labels[f"{LABEL}.replica"] in {replica, *(f"{replica}-{app}" for app in APPS)}
                    }
                    now, pending = pending, None
                    try:
                        now(Fault(engine=engine, client=client, unit=unit))
                        log.append("caused")
                    except Exception as error:
                        log.append(f"the fault could not be caused: {error!r}")
                web.exec_run(["touch", "/tmp/go"])
    client.close()


APPS = ("clock", "store", "worker")


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """The result of a case."""

    trials: list[list[tuple[str, str | None]]]
    message: str
    resets: list[Any]
    left: set[str]
    problem: str
    seconds: float

    def wrong(self, case: Case) -> list[str]:
        """Return what is not as expected."""
        found = [self.problem] if self.problem else []
        if self.trials != [list(each) for each in case.expected]:
            found.append(f"expected {case.expected}, found {self.trials}")
        if not re.search(case.says, self.message, re.DOTALL):
            found.append(f"expected /{case.says}/ in the message")
        return [*found, *(f"left behind: {each}" for each in sorted(self.left))]


def meet(case: Case, engine: Engine, agent: str, folder: Path) -> Result:
    """Run the task with one fault."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "notes.tasks.yaml").write_text(TASK)
    (folder / "sites.yaml").write_text(yaml.safe_dump(catalogue(case), sort_keys=False))
    before = present(engine.client())
    command = [
        sys.executable, "-m", "pytest", "notes.tasks.yaml", "--sites=sites.yaml", "--replicas=1", "-q",
        f"--agent={agent}", f"--trials={len(case.expected)}", "--run-dir=run", "-p", "no:cacheprovider",
    ]  # fmt: skip
    log: list[str] = []
    began = time.monotonic()
    with (folder / "output").open("w") as output:
        run = subprocess.Popen(
            command, cwd=folder, env={**os.environ, **engine.environment}, stdout=output, stderr=output, text=True
        )
        inject(case.cause, engine, run, log)
    seconds = time.monotonic() - began
    engine.make_space()
    records = [json.loads(each.read_text()) for each in sorted(folder.glob("run/trials/*/trial.json"))]
    problem = next((each for each in log if each != "caused"), "")
    if case.cause is not None and not log:
        problem = "the fault was not caused"
    client = engine.client()
    left = present(client) - before
    for each in client.networks.list():  # those of `names`
        if "-unit-" in each.name and LABEL not in str(each.attrs["Labels"]):
            each.remove()
            left.discard(f"network {each.name}")
    if case.cause is image:
        build(client)
    client.close()
    attempts = [[(one["outcome"], one["cause"]) for one in record["attempts"]] for record in records]
    messages = [one["message"] for record in records for one in record["attempts"] if one["message"]]
    return Result(
        trials=attempts,
        message=next(iter(messages), "") if records else (folder / "output").read_text()[-800:],
        resets=[record.get("resets") for record in records],
        left=left,
        problem=problem,
        seconds=seconds,
    )


def shown(attempts: Sequence[Attempts]) -> str:
    """Return the attempts of all trials in words."""
    return "; ".join(
        ", then ".join(f"{outcome} ({cause})" if cause else outcome for outcome, cause in trial) for trial in attempts
    )


def main() -> int:
    """Run the cases; return exit code 1 if one did not end as expected."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES), help="faults to cause")
    parser.add_argument("--agent", default="oracle", help="agent of the trials (default: oracle)")
    parser.add_argument("--keep", type=Path, help="keep the runs in this folder")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the engine is removed
    wrong = 0
    with own_engine() as engine, tempfile.TemporaryDirectory(prefix="docker-faults-runs-") as name:
        client = engine.client()
        build(client)
        client.close()
        for each in options.cases:
            case = CASES[each]
            result = meet(case, engine, options.agent, (options.keep or Path(name)).resolve() / each)
            problems = result.wrong(case)
            wrong += bool(problems)
            print(f"{each:<13}{'WRONG' if problems else 'as expected'}, {result.seconds:.0f} s: {shown(result.trials)}")
            print(f"             {' '.join(result.message.split())[:600]}")
            print(f"             resets: {result.resets}")
            print("".join(f"             ! {problem}\n" for problem in problems), end="", flush=True)
    print(f"{wrong} of {len(options.cases)} cases not as expected")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
