"""Runs the clients of the browser endpoint against one task, and repeats what they did.

``python -m examples.clients.run [NAME…]`` in the repository. Each client gets an environment of its own, with the
packages that its users have, in ``--envs``; models are scripted. A client is good when its trial passed, its replay
passed without diverging, and all fields held the same in both.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from examples.clients.scripted_model import reply
from tests.model_server import ModelServer, model_server

HERE = Path(__file__).parent
FROM_NPM = {
    "playwright-node": ["playwright-core"],
    "puppeteer": ["puppeteer-core"],
    "playwright-mcp": ["@playwright/mcp"],
    "chrome-devtools-mcp": ["chrome-devtools-mcp"],
    "stagehand": ["@browserbasehq/stagehand"],
    "claude-code": ["@playwright/mcp"],
}
FROM_PYPI = {
    "playwright-python": ["playwright"],
    "browser-use": ["browser-use"],
    "browsergym": ["browsergym-core"],
}
NAMES = (*FROM_PYPI, *FROM_NPM)
ENVS = HERE.parent / ".envs"
"""Beside the folder that pytest runs in: programs of the project itself are off an agent's PATH."""
NO_BROWSERS = {"PLAYWRIGHT_SKIP_BROWSER_DOWNLOAD": "1", "PUPPETEER_SKIP_DOWNLOAD": "1"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What is left of one."""

    outcome: str
    message: str
    fields: dict[str, str]
    """What each field held last."""
    steps: int
    replayed: str


class Failed(Exception):
    """A client that did not do what it should; the text says what."""


def main() -> int:
    """Exit status 1 when a client fails."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"default: all of {', '.join(NAMES)}")
    parser.add_argument("--envs", type=Path, default=ENVS, help="where their environments are made, and kept")
    parser.add_argument("--runs", type=Path, default=HERE / ".runs", help="where records go; emptied first")
    given = parser.parse_args()
    if unknown := sorted(set(given.names) - set(NAMES)):
        parser.error(f"expected names of {', '.join(NAMES)}; found {', '.join(unknown)}")
    shutil.rmtree(given.runs, ignore_errors=True)
    names = given.names or list(NAMES)
    with ThreadPoolExecutor(2) as pool:
        good = list(pool.map(lambda name: try_client(name, given.envs, given.runs), names))
    print(f"{sum(good)} passed, {len(good) - sum(good)} failed", flush=True)
    return 0 if all(good) else 1


def try_client(name: str, envs: Path, runs: Path) -> bool:
    """Whether a client is good; says so, or what is wrong."""
    began = time.monotonic()
    try:
        path = install(name, (envs / name).resolve())
        ready = time.monotonic()
        found = try_out(name, path, runs.resolve() / name)
    except Failed as failed:
        print(f"{name}: FAILED: {failed}", flush=True)
        return False
    times = f"{ready - began:.0f} s to install, {time.monotonic() - ready:.0f} s to run"
    print(f"{name}: ok, {found} ({times})", flush=True)
    return True


def install(name: str, env: Path) -> dict[str, str]:
    """The client's environment, made if it is not there yet: variables that lead to it."""
    done = env / "installed.json"
    packages = FROM_NPM.get(name) or FROM_PYPI[name]
    if not done.is_file() or json.loads(done.read_text()) != packages:
        shutil.rmtree(env, ignore_errors=True)
        env.mkdir(parents=True)
        if name in FROM_NPM:
            quiet = ["--no-audit", "--no-fund", "--loglevel=error"]
            _install(["npm", "install", f"--prefix={env}", *quiet, *packages])
        else:
            _install([sys.executable, "-m", "venv", "--without-pip", str(env)])
            pip = [sys.executable, "-m", "pip", "--python", str(env / "bin/python")]
            _install([*pip, "install", "-q", "--no-compile", *packages])
        done.write_text(json.dumps(packages))
    programs = env / ("node_modules/.bin" if name in FROM_NPM else "bin")
    path = os.pathsep.join([str(programs), str(Path(sys.executable).parent), os.environ["PATH"]])
    return {"PATH": path, "NODE_PATH": str(env / "node_modules")}


def _install(command: list[str]) -> None:
    try:
        done = subprocess.run(command, env=os.environ | NO_BROWSERS, capture_output=True, text=True)
    except OSError as error:
        raise Failed(f"expected the program {command[0]}: {error}") from None
    if done.returncode:
        raise Failed(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr[-2000:]}")


def try_out(name: str, variables: dict[str, str], runs: Path) -> str:
    """Let the client do the task, repeat it, and hold one against the other."""
    more = fake_program(variables) if name == "claude-code" else []
    with model_server(reply) as model:
        keys = {"OPENAI_BASE_URL": model.url, "OPENAI_API_KEY": "scripted", "CI": "true"}
        first = play(name, runs / "first", {**variables, **keys}, [f"--agent={name}", *more])
        asked = _asked(model)
    _passed(first, "the trial")
    source = ["--agent=replay", f"--agent-option=run={runs / 'first'}", f"--agent-option=agent={name}"]
    again = play("replay", runs / "again", {}, source)
    _passed(again, "its replay")
    if "no divergence" not in again.replayed:
        raise Failed(f"the replay says: {again.replayed}")
    if not first.fields:
        raise Failed("no field that was written in is in its signals")
    if first.fields != again.fields:
        raise Failed(f"expected the replay's fields to hold {first.fields}, found {again.fields}")
    return f"{first.steps} steps, {asked}, replayed with equal fields"


def fake_program(variables: dict[str, str]) -> list[str]:
    """Put the program that stands in for `claude` on the PATH; options for what the sandbox has to show."""
    env = Path(variables["NODE_PATH"]).resolve().parent
    folder = env / "fake"
    folder.mkdir(exist_ok=True)
    shutil.copy(HERE / "agents" / "mcp_agent.py", folder)
    shutil.copy(HERE / "fake_claude.py", folder / "claude")
    (folder / "claude").chmod(0o755)
    variables |= {"PATH": f"{folder}{os.pathsep}{variables['PATH']}", "ANTHROPIC_API_KEY": "scripted"}
    return [f"--agent-option=readable=['{env}']"]


def _passed(trial: Trial, what: str) -> None:
    if trial.outcome != "passed":
        raise Failed(f"{what} {trial.outcome}: {trial.message}")


def _asked(model: ModelServer) -> str:
    return f"{model.requests} model calls" if model.requests else "no model"


def play(agent: str, run: Path, variables: dict[str, str], arguments: list[str]) -> Trial:
    """One run of pytest with one trial."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--tb=short", "-n0"]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")} | variables
    done = subprocess.run(
        [*command, *arguments, f"--run-dir={run}", "--time-limit=180"],
        cwd=HERE, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
    )  # fmt: skip
    records = list(run.glob("trials/*/trial.json"))
    if len(records) != 1:
        raise Failed(
            f"expected one record of {agent}, found {len(records)}:\n{done.stdout[-3000:]}{done.stderr[-2000:]}"
        )
    return read_trial(records[0])


def read_trial(file: Path) -> Trial:
    """A trial's record, with what its last attempt left beside it."""
    record = json.loads(file.read_text())
    attempt = sorted(file.parent.glob("attempt-*"))[-1]
    replayed = attempt / "replay.txt"
    return Trial(
        outcome=record["outcome"],
        message=record.get("message") or "",
        fields=_fields(attempt / "browser_events.jsonl"),
        steps=record["steps"],
        replayed=replayed.read_text() if replayed.exists() else "",
    )


def _fields(signals: Path) -> dict[str, str]:
    """What fields of forms held, by their names."""
    lines = signals.read_text().splitlines() if signals.exists() else []
    events: list[dict[str, Any]] = [json.loads(line) for line in lines]
    return {
        event["target"]["name"]: event["value"]
        for event in events
        if event["kind"] == "dom" and event["event"] in ("input", "change") and event["value"] is not None
    }


if __name__ == "__main__":
    sys.exit(main())
