"""Measures the cost of logging in per trial, for apps whose container stores the sessions.

    python benchmarks/sign_in.py [--trials 12] [--workers 2] [--form-seconds 1.0]

Runs the same tasks twice on an app in a container whose form takes the given time to answer: first every trial logs in,
then one logs in on a replica from which all later ones start. Prints, from the records, the time of a trial before its
agent starts (lease, login, browser context), the login's part of it, and the ratio of the medians. Needs a Docker
engine, but no registry.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def main() -> int:
    """Returns exit code 1 if a trial did not pass."""
    from handover import _image

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=12, help="trials per run (default: %(default)s)")
    parser.add_argument("--workers", type=int, default=2, help="run this many workers (default: %(default)s)")
    parser.add_argument(
        "--form-seconds", type=float, default=1.0, help="seconds until the form answers (default: %(default)s)"
    )
    options = parser.parse_args()
    image, medians = _image(), []
    for title, kept in (("signing in on every replica", False), ("signed in before the replicas start", True)):
        began = time.monotonic()
        records = _run(image, options, kept=kept)
        whole = time.monotonic() - began
        if any(record["outcome"] != "passed" for record in records) or len(records) != options.trials:
            print(f"{title}: expected {options.trials} passed trials, found {[one['outcome'] for one in records]}")
            return 1
        seconds = [record["seconds"]["lease"] + record["seconds"]["session"] for record in records]
        sign_in = statistics.median(record["seconds"]["session"] for record in records)
        medians.append(statistics.median(seconds))
        print(f"{title}: {len(records)} trials in {whole:.0f} s")
        print(f"  before the agent begins    median {medians[-1]:.2f} s, max {max(seconds):.2f} s")
        print(f"  of that, session           median {sign_in:.2f} s", flush=True)
    print(f"ratio of medians: {medians[0] / medians[1]:.1f}")
    return 0


def _run(image: str, options: argparse.Namespace, *, kept: bool) -> list[dict[str, Any]]:
    from tests.forum import FORUM, SERVE, SITES

    sites = yaml.safe_load(SITES)
    (app,) = sites["apps"].values()
    del app["process"]
    slow = FORUM.replace("form = parse_qs", f"__import__('time').sleep({options.form_seconds}); form = parse_qs")
    command = ["python3", "-u", "-c", slow + SERVE]
    app |= {"backend": "docker", "ready": [{"http": "/"}]}
    app["docker"] = {"image": image, "command": command, "port": 8080, "snapshot": kept}
    task = {
        "id": "who",
        "intent": "Who am I?",
        "sites": ["forum"],
        "checks": [{"page": {"includes": "You are ann."}}],
        "solution": ["stop"],
    }
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sites.yaml").write_text(yaml.safe_dump(sites))
        (Path(folder) / "who.tasks.yaml").write_text(yaml.safe_dump({"tasks": [task]}))
        arguments = [f"--trials={options.trials}", "--sites=sites.yaml", "--run-dir=run", f"-n{options.workers}", "-q"]
        subprocess.run([sys.executable, "-m", "pytest", *arguments], cwd=folder, check=False, stdout=subprocess.DEVNULL)
        return [json.loads(file.read_text()) for file in Path(folder).glob("run/trials/*/trial.json")]


if __name__ == "__main__":
    sys.exit(main())
