"""Compares verdicts of tasks on a site with their verdicts on an archive of that site.

    python benchmarks/archive_verdicts.py [TASKS…] [--sites embedded] [--select site=map] [--per-template]

Runs information tasks on both, with the oracle and with an agent that answers wrongly. Prints how many trials had each
pair of outcomes, each differing verdict, and the tasks that cannot run on an archive, with the reason. Exit code 1: a
verdict differs, or a trial has none for a reason other than a page missing from the archive (`error site`).
"""

from __future__ import annotations

import argparse
import collections
import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
WRONG = """
kind: scripted
tasks: {"*": [{stop: "none of that, 987654321"}]}
"""


Records = dict[tuple[str, str], dict[str, object]]


def play(given: argparse.Namespace, folder: Path, name: str, *more: str) -> tuple[Records, list[str]]:
    """Runs the tasks once; returns the records by agent and task, and the reasons of skipped tasks."""
    command = [
        sys.executable, "-m", "pytest", *given.tasks, "-q", "-rs", "-p", "no:cacheprovider", "--agent=oracle",
        f"--agent={folder / 'wrong.yaml'}", "--select", "category=information", f"--run-dir={folder / name}", *more,
    ]  # fmt: skip
    if given.concurrency:
        command.append(f"--concurrency={given.concurrency}")
    for each in given.select:
        command += ["--select", each]
    if given.per_template:
        command.append("--one-per-template")
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode not in (0, 1):
        sys.exit(f"{done.stdout[-3000:]}{done.stderr[-3000:]}")
    records = (json.loads(file.read_text()) for file in (folder / name).rglob("trial.json"))
    skipped = [line for line in done.stdout.splitlines() if line.startswith("SKIPPED")]
    return {(each["key"]["agent"], each["key"]["task"]): each for each in records}, skipped


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="*", default=["tasks"], help="task files or folders")
    parser.add_argument("--sites", default="embedded", help="catalogue to record (default: %(default)s)")
    parser.add_argument("--select", action="append", default=[], help="select information tasks, as in pytest")
    parser.add_argument("--per-template", action="store_true", help="run one task of each template")
    parser.add_argument("--concurrency", help="concurrent trials, as in pytest")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temp:
        folder = Path(temp)
        (folder / "wrong.yaml").write_text(WRONG)
        archive = folder / "sites.warc.gz"
        site, _ = play(given, folder, "site", f"--sites={given.sites}", f"--record-archive={archive}")
        again, skipped = play(given, folder, "archive", f"--sites=archive:{archive}")
        size = archive.stat().st_size / 1e6
    fared = collections.Counter[tuple[str, ...]]()
    others = []
    for key, record in sorted(site.items()):
        then = again.get(key)
        ways = (
            key[0],
            *(f"{each['outcome']} {each['cause'] or ''}".strip() if each else "absent" for each in (record, then)),
        )
        fared[ways] += 1
        if ways[1] != ways[2]:
            others.append((key, ways, then["message"] if then else "no record"))
    tasks = len({task for _, task in site})
    print(f"{tasks} tasks, {len(site)} trials; an archive of {size:.1f} MB")
    for (agent, before, after), count in sorted(fared.items()):
        print(f"{count:5}  {agent:10} on the site {before:14} on the archive {after}")
    for (agent, task), ways, message in others:
        print(f"{agent} {task}: {ways[1]}, on the archive {ways[2]}: {str(message).splitlines()[0][:160]}")
    print(*skipped, sep="\n")
    verdicts = {"passed", "failed"}
    wrong = any(
        {before, after} <= verdicts or after not in {*verdicts, "error site", "absent"}
        for _, (_, before, after), _ in others
    )
    sys.exit(1 if not site or wrong else 0)


if __name__ == "__main__":
    main()
