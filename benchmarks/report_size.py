"""Measures the size of a run's reports and the time to build them.

    python benchmarks/report_size.py [TRIALS] [--keep DIR]

Generates a run with the writers that trials use (about 10 actions a trial, screenshots of 70 kB, accessibility trees,
network logs, verdicts, retries). For each ``--record``, builds Allure's results, Allure's HTML (if npm is installed)
and the page of ``webarena view``, opens that page in a browser, and prints size and seconds of each.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import statistics
import struct
import subprocess
import tempfile
import time
import zlib
from collections.abc import Iterator
from pathlib import Path

from pytest_webarena.browser.launching.discovery import find_browser
from pytest_webarena.browser.observation import Observation
from pytest_webarena.checks.verdict import CheckResult, Verdict
from pytest_webarena.errors import Cause
from pytest_webarena.evidence import Evidence, RequestRecord, StepRecord, StopReason, TabState, TargetRecord
from pytest_webarena.plugin.reporting.allure import write_results
from pytest_webarena.plugin.reporting.allure.run_files import ONE_PAGE_LIMIT
from pytest_webarena.results import Attempt, AttemptWriter, RunDir, TrialKey, TrialRecord
from pytest_webarena.results.export import export
from pytest_webarena.results.viewer import write_view
from pytest_webarena.results.wording import seconds_words, size_words

SITES = ("shopping", "shopping_admin", "reddit", "gitlab", "map", "wikipedia")
CATEGORIES = ("information", "navigation", "content", "unachievable")
THINGS = ("orders", "reviews", "issues", "posts", "routes", "customers", "articles", "merge requests", "invoices")
WORDS = ("the", "of", "and", "to", "in", "is", "on", "for", "with", "as", "by", "at", "from", "that", "it", "an", "was")
CAUSES: tuple[Cause, ...] = ("site", "browser", "model", "harness")
PICTURE_BYTES = 70_000
STARTED = 1_760_000_000.0


class Made:
    """Generates the texts and pictures of a made-up run; the same for the same seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self._pages = [_page(random.Random(number)) for number in range(12)]

    def sentence(self, words: int) -> str:
        """Returns a sentence of ``words`` words."""
        return " ".join(self.random.choice((*WORDS, *THINGS)) for _ in range(words)).capitalize() + "."

    def picture(self) -> bytes:
        """Returns a page of text and boxes as PNG, padded with noise to the size of a typical screenshot."""
        page = self.random.choice(self._pages)
        room = round(PICTURE_BYTES * self.random.uniform(0.5, 1.5)) - len(page)
        return page[:-12] + _chunk(b"noIs", self.random.randbytes(max(0, room))) + page[-12:]

    def tree(self, lines: int) -> str:
        """Returns an accessibility tree in the form that agents get."""
        roles = ("link", "button", "StaticText", "textbox", "cell", "heading", "img")
        body = (f"\t[{number}] {self.random.choice(roles)} {self.sentence(4)!r}" for number in range(2, lines))
        return "Tab 0 (current): Made up\n\n[1] RootWebArea 'Made up' focused: True\n" + "\n".join(body)


def make_run(path: Path, trials: int, seed: int = 7) -> RunDir:
    """Makes a run of ``trials`` trials by two agents in turn."""
    run = RunDir(path)
    run.describe(
        {
            "started": STARTED,
            "argv": ["tasks", "--agent=careful", "--agent=hasty", "-n", "8"],
            "agents": ["careful", "hasty"],
            "trials": 1,
            "catalogue": "made-up",
            "limits": {"steps": 30, "seconds": 600.0, "stop_rule": "paper"},
            "env_retries": 1,
            "workers": 8,
            "versions": {"pytest-webarena": "0", "pytest": "9"},
            "python": "3",
            "platform": "none",
            "git": "c0ffee" * 6,
        }
    )
    made = Made(seed)
    for number in range(trials):
        _make_trial(run, made, number)
    export(run)
    return run


def _make_trial(run: RunDir, made: Made, number: int) -> None:
    pick = made.random
    agent, task = ("careful", "hasty")[number % 2], number // 2
    site = SITES[task % len(SITES)]
    sites = (site,) if task % 9 else (site, SITES[(task + 1) % len(SITES)])
    intent = f"Find the {pick.choice(THINGS)} of {2010 + task % 15} that {made.sentence(pick.randint(4, 14))}"
    key = TrialKey(f"{site}-{task // 4:03d}.{'abcd'[task % 4]}", agent, 1)
    folder = run.folder(key)
    error = pick.random() < 0.03
    passed = not error and pick.random() < (0.45 if agent == "careful" else 0.25)
    attempts: list[Attempt] = []
    started = STARTED + 5 * number
    node_id = f"tasks/{site}.yaml::{key.task}[{agent}-chromium]"
    for again in range(2 if error or pick.random() < 0.02 else 1):
        writer = folder.begin(worker=f"gw{number % 8}", node_id=node_id)
        last = again == (1 if error or attempts else 0)
        steps = _write_steps(writer, made, site, pick.randint(3, 17))
        if error or (attempts and not last):
            attempts.append(
                Attempt(
                    number=writer.number, outcome="error", cause="site", message="the site went away", started=started
                )
            )
    reasons: tuple[StopReason, ...] = ("answered", "answered", "answered", "max_steps", "repeated", "invalid", "time")
    reason: StopReason = "answered" if passed else pick.choice(reasons)
    answer = made.sentence(pick.randint(1, 30)) if reason == "answered" and not error else None
    verdict = None if error else _verdict(made, key.task, intent, passed, reason)
    cause = pick.choice(CAUSES) if error else None
    if not error:
        _write_evidence(writer, made, site, steps, answer, reason)
    message = (
        "the site went away: connection refused" if error else "" if verdict is None or passed else verdict.render()
    )
    attempts = attempts or [Attempt(number=1, outcome="passed" if passed else "failed")]
    if error:
        attempts[-1] = Attempt(number=writer.number, outcome="error", cause=cause, message=message)
    episode = sum(sum(step.seconds.values()) for step in steps)
    folder.finish(
        TrialRecord(
            key=key,
            outcome="error" if error else "passed" if passed else "failed",
            score=verdict.score if verdict else None,
            stop_reason=None if error else reason,
            cause=cause,
            message=message,
            verdict=verdict.to_json() if verdict else None,
            answer=answer,
            intent=intent,
            sites=sites,
            category=CATEGORIES[task % len(CATEGORIES)],
            template=f"{site}-{task // 4:03d}",
            tags=(pick.choice(THINGS),),
            steps=len(steps),
            attempt=writer.number,
            attempts=tuple(attempts),
            browser="chromium 150",
            seconds={"lease": 0.2, "session": 0.1, "episode": episode, "collect": 0.3, "total": episode + 0.6},
            started=started,
            node_id=node_id,
            worker=f"gw{number % 8}",
        )
    )


def _write_steps(writer: AttemptWriter, made: Made, site: str, count: int) -> tuple[StepRecord, ...]:
    steps = []
    now = 0.0
    for index in range(count):
        url = f"http://{site}.test/{made.random.choice(THINGS).replace(' ', '-')}/{made.random.randint(1, 500)}"
        text, shot = writer.observed(
            index, Observation(text=made.tree(90), url=url, title="Made up", tabs=(), screenshot=made.picture())
        )
        seconds = {"observe": 0.2, "act": made.random.uniform(0.5, 9), "execute": 0.3}
        stop = index == count - 1
        step = StepRecord(
            index=index,
            action={"kind": "stop", "answer": made.sentence(3)} if stop else {"kind": "click", "target": {"id": "42"}},
            raw=f"Let me think. {made.sentence(45)}\nIn summary, the next action I will perform is ```click [42]```",
            error="Element 42 is not visible." if made.random.random() < 0.1 and not stop else "",
            url_before=url,
            url_after=url + "?page=2",
            target=None if stop else TargetRecord(role="link", name=made.sentence(3), tag="a"),
            observation=text,
            screenshot=shot,
            started=now,
            seconds=seconds,
        )
        now += sum(seconds.values())
        writer.stepped(step)
        steps.append(step)
    return tuple(steps)


def _write_evidence(
    writer: AttemptWriter, made: Made, site: str, steps: tuple[StepRecord, ...], answer: str | None, reason: StopReason
) -> None:
    final = writer.path / steps[-1].screenshot
    writer.screenshot("final", final.read_bytes() if reason == "answered" else made.picture())
    headers = (
        ("accept", "text/html"),
        ("user-agent", "Mozilla/5.0 (X11; Linux x86_64) made up"),
        ("cookie", "id=" + "c" * 60),
    )
    requests = tuple(
        RequestRecord(
            time=STARTED + at,
            method="GET" if at % 7 else "POST",
            url=f"http://{site}.test/static/{at}.css" if at % 3 else steps[at % len(steps)].url_after,
            status=200,
            request_headers=headers,
            response_headers=headers,
            response_bytes=20_000,
        )
        for at in range(4 * len(steps))
    )
    html = "<!doctype html><title>Made up</title>" + "".join(f"<p>{made.sentence(12)}</p>" for _ in range(150))
    tab = TabState(url=steps[-1].url_after, title="Made up", html=html, active=True)
    writer.finish(Evidence(answer=answer, stop_reason=reason, tabs=(tab,), steps=steps, requests=requests))


def _verdict(made: Made, task: str, intent: str, passed: bool, reason: StopReason) -> Verdict:
    score = 1.0 if passed else 0.0
    results = [
        CheckResult(
            path="checks[0]",
            kind="answer",
            score=score,
            expected=f"the text {made.sentence(3)!r}",
            actual=repr(made.sentence(6)),
            why="" if passed else "the texts differ",
        ),
        CheckResult(path="checks[1]", kind="state", score=1.0, expected="3 from select count(*) …", actual="3"),
    ]
    return Verdict(
        score=score, passed=passed, results=tuple(results), task=task, intent=intent, stop_reason=reason, threshold=1.0
    )


def _page(pick: random.Random, width: int = 1280, height: int = 720) -> bytes:
    """Returns a PNG with a palette: a header, a column of links and lines of text."""
    palette = bytes((255, 255, 255, 40, 44, 52, 60, 110, 180, 235, 236, 240, 120, 125, 132))
    rows = bytearray()
    end = 600
    for y in range(height):
        row = bytearray(b"\3" * width if y < 64 else b"\0" * width)
        if y >= 64 and y % 24 < 9:
            row[40:200] = b"\2" * 160
            end = 260 + pick.randint(40, 90) * 10 if y % 24 == 0 else end
            row[260:end] = bytes(4 if x % 7 < 5 else 0 for x in range(260, end))
        rows += b"\0" + row
    header = struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)
    parts = (_chunk(b"IHDR", header), _chunk(b"PLTE", palette), _chunk(b"IDAT", zlib.compress(bytes(rows), 6)))
    return b"\x89PNG\r\n\x1a\n" + b"".join(parts) + _chunk(b"IEND", b"")


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def extrapolate(results: Path, trials: int, steps: int) -> str:
    """Returns the size of Allure results of ``trials`` trials of ``steps`` steps, from those of a real run.

    Pictures of made-up pages are no measure, because the report encodes them again. The size of a trial is a line over
    its number of steps, fitted to the real trials; each file counts in full, wherever it is linked to.
    """
    counts, sizes = [], []
    for file in results.glob("*-result.json"):
        text = file.read_text(encoding="utf-8")
        named = [results / source for source in re.findall(r'"source": "([^"]+)"', text)]
        counts.append(sum(step["name"] != "Answer" and "parameters" in step for step in json.loads(text)["steps"]))
        sizes.append(len(text.encode()) + sum(each.stat().st_size for each in named))
    fit = statistics.linear_regression(counts, sizes)
    one = fit.intercept + fit.slope * steps
    return (
        f"{len(sizes)} trials: {size_words(max(fit.intercept, 0))} and {size_words(fit.slope)} a step; "
        f"{trials} trials of {steps} steps: {size_words(trials * one)}"
    )


def measure(work: Path, trials: int) -> Iterator[str]:
    """Builds all reports for each ``--record``; yields one line about each part."""
    began = time.perf_counter()
    run = make_run(work / "run", trials)
    yield f"{trials} trials made up in {seconds_words(time.perf_counter() - began)}"
    for mode in ("all", "failures", "minimal"):
        for record in run.records():
            if mode == "minimal" or (mode == "failures" and record.outcome == "passed"):
                run.folder(record.key).drop_pictures()
        yield f"--record={mode}"
        yield _line("run directory", run.size())
        results = work / f"allure-results-{mode}"
        began = time.perf_counter()
        write_results(run, results)
        yield _line("Allure results", _size(results), time.perf_counter() - began)
        yield from _viewer(run, work / f"view-{mode}.html")
        yield _allure(results, work / f"allure-report-{mode}")


def _viewer(run: RunDir, page: Path) -> Iterator[str]:
    began = time.perf_counter()
    size = write_view(run, page)
    yield _line("webarena view", size, time.perf_counter() - began)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        choice = find_browser()
        browser = driver.chromium.launch(executable_path=choice.executable, args=["--no-sandbox"])
        tab = browser.new_page()
        began = time.perf_counter()
        tab.goto(page.as_uri(), wait_until="commit")
        tab.locator("#trials tbody tr").first.wait_for()
        shown = time.perf_counter() - began
        tab.wait_for_load_state("load")
        loaded = time.perf_counter() - began
        tab.locator("#trials .chip, #trials .link").last.click()
        began = time.perf_counter()
        tab.locator("#trial .stage").wait_for()
        opened = time.perf_counter() - began
        browser.close()
    times = f"list after {seconds_words(shown)}, all after {seconds_words(loaded)}, a trial in {seconds_words(opened)}"
    yield f"{'  in a browser':<26} {times}"


def _allure(results: Path, report: Path) -> str:
    if shutil.which("npx") is None:
        return "Allure HTML: left out, npm was not found"
    name = "Allure HTML, " + ("one file" if _size(results) < ONE_PAGE_LIMIT else "many files")
    command = ["npx", "--yes", "--loglevel=error", "--prefer-offline", "allure@3", "generate", str(results)]
    began = time.perf_counter()
    built = subprocess.run(
        [*command, f"--config={results / 'allurerc.mjs'}", f"--output={report}"],
        check=False,
        capture_output=True,
        text=True,
        stdin=subprocess.DEVNULL,
    )
    if built.returncode:
        return f"{name}: failed: {(built.stderr or built.stdout).strip()[-300:]}"
    return _line(name, _size(report), time.perf_counter() - began)


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file())


def _line(name: str, size: int, seconds: float | None = None) -> str:
    took = seconds_words(seconds) if seconds is not None else ""
    return f"  {name:<24} {size_words(size):>9}   {took:>9}".rstrip()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("trials", type=int, nargs="?", default=812, help="trials of the run (default: %(default)s)")
    parser.add_argument("--keep", type=Path, metavar="DIR", help="keep all files in this folder")
    parser.add_argument("--of", type=Path, metavar="RESULTS", help="extrapolate Allure results of a real run instead")
    parser.add_argument("--steps", type=int, default=10, help="steps of a trial, with --of (default: %(default)s)")
    options = parser.parse_args()
    if options.of:
        print(extrapolate(options.of, options.trials, options.steps))
        raise SystemExit
    with tempfile.TemporaryDirectory() as temporary:
        for line in measure(options.keep or Path(temporary), options.trials):
            print(line, flush=True)
