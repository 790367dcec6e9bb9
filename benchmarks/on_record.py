"""Measures the overhead of an agent on a replayed run: 20 steps, a real client, an endpoint that answers at once.

    python benchmarks/on_record.py [--steps N] [--trials N]

Generates recordings of N steps with pages of 200 lines. The shipped agent ``cot`` follows them against a local endpoint
that returns the recorded actions. Prints each trial's wall time, which includes the endpoint, the SDK and HTTP on
loopback. Exit code 1: a trial left its recording.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from pytest_webarena.actions import Click, Element, Stop
from pytest_webarena.evidence import TargetRecord

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.model_server import Answer, model_server, say
from tests.recordings import record_trial

PAGE = "\n".join(f"[{number}] link 'Entry {number} of the list'" for number in range(1, 201))
LINK = TargetRecord(role="link", name="Entry 7 of the list")


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20, help="steps per recording (default: %(default)s)")
    parser.add_argument("--trials", type=int, default=5, help="trials to run (default: %(default)s)")
    options = parser.parse_args()
    asked = 0

    def model(body: dict[str, Any]) -> Answer:
        nonlocal asked
        asked += 1
        return say("```stop [x]```" if asked % options.steps == 0 else "```click [7]```")

    with tempfile.TemporaryDirectory() as name, model_server(model) as server:
        folder = Path(name)
        record(folder, options.trials, options.steps)
        done = subprocess.run(
            [
                sys.executable, "-m", "pytest", "a.tasks.yaml", "--replay-run=before", "--run-dir=after", "--agent=cot",
                f"--max-steps={options.steps}", "-q", "-p", "no:cacheprovider",
            ],
            cwd=folder, env={**os.environ, "OPENAI_API_KEY": "none", "OPENAI_BASE_URL": server.url},
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        print(done.stdout)
        trials = [json.loads(file.read_text()) for file in sorted((folder / "after" / "trials").glob("*/trial.json"))]
    seconds = [trial["seconds"]["total"] for trial in trials]
    print(f"{asked} calls; seconds per trial: {', '.join(f'{each:.2f}' for each in seconds)}")
    if seconds:
        print(f"median {statistics.median(seconds):.2f} s for {options.steps} steps")
    return int(done.returncode != 0 or len(trials) != options.trials)


def record(folder: Path, trials: int, steps: int) -> None:
    """Writes the task files and the run to be followed."""
    tasks = [
        {"id": f"t{number}", "sites": ["homepage"], "intent": "Read on.", "checks": [{"answer": {"exact": "x"}}]}
        for number in range(trials)
    ]
    (folder / "a.tasks.yaml").write_text(json.dumps({"tasks": tasks}))
    pages = [f"[0] heading 'Page {number}'\n{PAGE}" for number in range(steps)]
    for task in tasks:
        done = [(page, Click(Element("7")), LINK) for page in pages[:-1]]
        record_trial(folder / "before", str(task["id"]), [*done, (pages[-1], Stop("x"), None)], answer="x")


if __name__ == "__main__":
    sys.exit(main())
