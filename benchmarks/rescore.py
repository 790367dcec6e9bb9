"""Measures ``pytest --rescore`` for WebArena's 812 tasks, by the size of a trial's record.

    python benchmarks/rescore.py [--requests N] [--page-kb KB] [--steps N] [-- PYTEST ARGUMENTS]

Generates 812 records of an invented agent, each with steps, traffic, a page and an answer. Rescores them plainly, with
several workers, and with a judge whose verdicts are all cached. Needs the suite's data
(``pip install 'pytest-webarena[suites]'``), but no site, browser or model. Prints wall time and processor time; on a
busy machine use the processor time.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path

from pytest_webarena.checks import REPAIRED, judge_all
from pytest_webarena.checks.judge_protocol import Grade, Question
from pytest_webarena.evidence import Evidence, RequestRecord, StepRecord, TabState, Usage
from pytest_webarena.llm_judge.config import JudgeIdentity, JudgeSettings
from pytest_webarena.llm_judge.reply_cache import Kept, VerdictCache
from pytest_webarena.results import RunDir, TrialKey, TrialRecord
from pytest_webarena.suites.loading import load_suite
from pytest_webarena.tasks.model import Task

MODEL = "invented-judge"


class Filling:
    """A judge that answers no to every question and stores its verdicts in the cache as a real judge would."""

    def __init__(self, cache: VerdictCache, identity: JudgeIdentity) -> None:
        self._cache, self._identity = cache, identity

    def ask(self, question: Question) -> Grade:
        word = "incorrect" if question.kind == "equivalent" else "different"
        replies = (f"They differ.\nGRADE: {word}",)
        self._cache.put(question, self._identity, Kept(replies=replies, usage=Usage(calls=1)))
        return Grade(decision="incorrect", replies=replies, **asdict(self._identity))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=60, help="requests per trial (default: %(default)s)")
    parser.add_argument("--page-kb", type=int, default=100, help="size of the final page in kB (default: %(default)s)")
    parser.add_argument("--steps", type=int, default=10, help="steps per trial (default: %(default)s)")
    parser.add_argument("arguments", nargs="*", help="further arguments for pytest")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        run = RunDir(Path(folder) / "run")
        began = time.monotonic()
        tasks = store(run, options)
        print(f"{len(tasks)} records, {run.size() / 1e6:.0f} MB, written in {time.monotonic() - began:.1f} s")
        alone = timed("collected only", run, ["--co", "-q"], options.arguments)
        for title, extra in (
            ("judged again, -n 0", ["-n", "0"]),
            ("once more: nothing is new", ["-n", "0"]),
            ("once more, -n 2", ["-n", "2"]),
            ("a judge, all verdicts cached", ["-n", "0", f"--judge={MODEL}", "--judge-key-env=none"]),
        ):
            took = timed(title, run, extra, options.arguments)
            print(
                f"{'':<32} {1000 * (took - alone) / len(tasks):6.1f} ms of processor time per trial beyond collecting"
            )
        histories = sum(len(record.history) for record in run.records())
        print(f"{histories} earlier verdicts kept as history")


def store(run: RunDir, options: argparse.Namespace) -> tuple[Task, ...]:
    """Stores the run of an agent that gave the same answer to every task."""
    tasks = tuple(load_suite("webarena").tasks)
    run.describe({"started": 1.0, "agents": ["invented"], "trials": 1, "catalogue": "webarena"})
    filling = Filling(VerdictCache(run.path / "judge_replies"), JudgeSettings(model=MODEL).identity())
    page = "<html><body>" + "<p>Some words of a page.</p>" * (options.page_kb * 1000 // 28) + "</body></html>"
    for task in tasks:
        folder = run.folder(TrialKey(task.id, "invented", 1))
        writer = folder.begin(worker="main", node_id=f"webarena::{task.id}[chromium]")
        sites = {site: f"http://{site.replace('_', '-')}.test" for site in task.sites}
        url = next(iter(sites.values()), "about:blank") + "/some/page"
        evidence = Evidence(
            answer="There are 17 of them, as the page says",
            stop_reason="answered",
            tabs=(TabState(url=url, title="Some page", html=page, active=True),),
            steps=tuple(step(index, url) for index in range(options.steps)),
            requests=tuple(request(index, url) for index in range(options.requests)),
            sites=sites,
        )
        for each in evidence.steps:
            writer.stepped(each)
        writer.finish(evidence)
        judge_all(task, evidence, headline=REPAIRED, asker=filling)
        record = TrialRecord(
            key=folder.key, outcome="failed", score=0.0, answer=evidence.answer, stop_reason="answered",
            intent=task.intent, sites=task.sites, category=task.category, template=task.template,
            source=dict(task.source), task_digest=task.digest, steps=len(evidence.steps), seconds={"total": 60.0},
            started=1.0, node_id=f"webarena::{task.id}[chromium]",
        )  # fmt: skip
        folder.finish(record)
    return tasks


def step(index: int, url: str) -> StepRecord:
    action = {"kind": "click", "target": {"id": str(index)}}
    return StepRecord(index=index, action=action, raw=f"click [{index}]", url_before=url, url_after=url)


def request(index: int, url: str) -> RequestRecord:
    headers = tuple((f"X-Header-{number}", "some value of some length") for number in range(10))
    return RequestRecord(
        time=float(index), method="GET", url=f"{url}?part={index}", status=200, request_headers=headers,
        response_headers=headers,
    )  # fmt: skip


def timed(title: str, run: RunDir, extra: list[str], arguments: list[str]) -> float:
    """Returns the processor time in seconds of one pytest run over the whole suite; prints its wall time."""
    command = [sys.executable, "-m", "pytest", f"--rescore={run.path}", "--suite=webarena", "--tb=no", "-q", *extra]
    began, before = time.monotonic(), resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([*command, *arguments], capture_output=True, text=True, cwd=run.path.parent, check=False)
    took, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode not in (0, 1):
        raise SystemExit(f"{' '.join(command)}\nended with {done.returncode}:\n{(done.stdout + done.stderr)[-3000:]}")
    processor = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    print(f"{title:<32} {took:6.1f} s, {processor:.1f} s of processor time ({done.stdout.strip().splitlines()[-1]})")
    return processor


if __name__ == "__main__":
    main()
