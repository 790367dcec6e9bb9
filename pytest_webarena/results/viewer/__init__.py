"""HTML page of a run in one file: figures, filters, and a filmstrip per trial. It works offline, from a file.

The page contains an index of all trials, and per trial one compressed block and its screenshots, which the browser
unpacks when the trial is opened. Recorded text is never parsed as HTML, and the page loads nothing.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any, TextIO
from urllib.parse import quote

from pytest_webarena.evidence import Evidence, StepRecord
from pytest_webarena.evidence.step_sentences import step_sentence
from pytest_webarena.results.attempts import INTENT_IMAGES, read_evidence, read_steps
from pytest_webarena.results.conditions import mixed, source_of
from pytest_webarena.results.explaining import Explained, Passed, explain
from pytest_webarena.results.export import summary_json
from pytest_webarena.results.failure_classes import CLASSES
from pytest_webarena.results.failure_labels import labels_of, proposals_of
from pytest_webarena.results.gradings import verdicts_of
from pytest_webarena.results.key_node_views import run_section
from pytest_webarena.results.model_calls import model_calls_text
from pytest_webarena.results.plan import stopped_trials
from pytest_webarena.results.program_changes import program_changes
from pytest_webarena.results.records import TrialRecord, names_of
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.self_contained_page import as_json, head
from pytest_webarena.results.statistics import cluster_of, summarise
from pytest_webarena.results.trial_folder import TrialFolder
from pytest_webarena.results.trial_outcome import reported_outcome
from pytest_webarena.results.wording import (
    CAUSE_WORDS,
    STOP_WORDS,
    judge_words,
    memory_words,
    reply_words,
    reset_words,
    script_words,
    sign_in_words,
    usage_words,
)

__all__ = ["PICTURE_BUDGET", "write_view"]

PICTURE_BUDGET = 80_000_000
"""Default limit of screenshots in the page in bytes, failed and broken trials first; the others are linked as files."""

_STYLES = ("viewer.css", "key_nodes.css")
_SCRIPTS = ("data.js", "overview.js", "trials.js", "trial.js")


def write_view(
    run: RunDir, target: Path, *, picture_budget: int = PICTURE_BUDGET, seen_from: Path | None = None
) -> int:
    """Write the page and return its size in bytes. Raises `UsageError` when ``run`` is not a run directory.

    Linked screenshots work while page and run directory keep their places relative to each other. ``seen_from`` is the
    folder in which the page will appear; by default it is ``target``'s.
    """
    facts = run.facts()
    stored = run.read()
    records = list(stored.records)
    names = names_of(record.key for record in records)
    index = {
        "run": {**facts, "path": run.path.resolve().name},
        "summary": summary_json(
            records, mixed(source_of(run.path, facts, records)), stopped=stopped_trials(run.path, records)
        ),
        "cost": {name: ", ".join(usage_words(each.usage)) for name, each in summarise(records).items() if each.usage},
        "trials": [_row(record, names[record.key.entrant]) for record in records],
        "words": {**STOP_WORDS, **CAUSE_WORDS},
        "problems": [
            *(f"In no figure: {each}" for each in stored.unreadable),
            *(f"Changed after the run, and accepted: {each.key.folder}" for each in stored.accepted),
            *map(str, program_changes(records)),
        ],
        "classes": {each.name: each.about for each in CLASSES.values()},
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_name(f".{target.name}.tmp")
    temporary.unlink(missing_ok=True)  # also a link, which could lead out of a foreign run
    with temporary.open("x", encoding="utf-8", errors="replace") as page:
        head, tail = _frame(index, run_section(records, links=True, pages=run.pages_of))
        page.write(head)
        pictures = _Pictures(page, seen_from or target.parent, picture_budget)
        passed = Passed(records, run.steps_of)
        for record in sorted(records, key=lambda record: record.outcome == "passed"):
            detail = _detail(record, run, pictures)
            if record.outcome == "failed":
                detail["beside"] = _comparison(explain((record, run.steps_of(record)), passed.of(record.key.task)))
            packed = gzip.compress(json.dumps(detail, default=str).encode(), compresslevel=6, mtime=0)
            page.write(
                f'<script type="application/x-trial" id="trial-{record.key.folder}">{_base64(packed)}</script>\n'
            )
        counts = {"inside": pictures.inside, "linked": pictures.linked}
        page.write(f'<script type="application/json" id="pictures">{as_json(counts)}</script>\n{tail}')
    temporary.replace(target)
    return target.stat().st_size


def _frame(index: Mapping[str, Any], key_nodes: str) -> tuple[str, str]:
    """The HTML before the trials' blocks, and after them.

    The script comes first, so that a large page is usable while it loads.
    """
    package = files(__package__)
    script = "".join(package.joinpath(name).read_text(encoding="utf-8") for name in _SCRIPTS)
    style = "".join(package.joinpath(name).read_text(encoding="utf-8") for name in _STYLES)
    body, _, tail = package.joinpath("page.html").read_text(encoding="utf-8").partition("<!-- data -->\n")
    body = body.replace("  <!-- key nodes -->\n", f"{key_nodes}\n" if key_nodes else "")
    before = head("webarena run", script=script, style=style, images="data: file: 'self'")
    data = f'<script type="application/json" id="index">{as_json(index)}</script>\n'
    return f"{before}{body}{data}<script>{script}</script>\n", tail


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _row(record: TrialRecord, name: str) -> dict[str, Any]:
    """A row of the index. ``name`` is the agent's name in the figures, with its browser where there are several."""
    return {
        "folder": record.key.folder,
        "task": record.key.task,
        "cluster": "::".join(map(str, cluster_of(record))),
        "agent": name,
        "trial": record.key.trial,
        "outcome": reported_outcome(record).kind,
        "cause": record.cause,
        "score": record.score,
        "stop": record.stop_reason,
        "sites": list(record.sites),
        "category": record.category,
        "tags": list(record.tags),
        "steps": record.steps,
        "seconds": record.seconds.get("total", 0.0),
        "started": record.started,
        "attempts": max(len(record.attempts), 1),
        "intent": record.intent,
        "gradings": verdicts_of(record),
    }


def _detail(record: TrialRecord, run: RunDir, pictures: _Pictures) -> dict[str, Any]:
    """All data of a trial: steps of every attempt, and traffic and pages of those with evidence."""
    folder = run.folder(record.key)
    by_number = {attempt.number: attempt for attempt in record.attempts}
    attempts = []
    numbers = {int(path.name[8:]) for path in folder.path.glob("attempt-*") if path.name[8:].isdigit()}
    for number in sorted(numbers | {record.attempt}):
        path = folder.path / f"attempt-{number}"
        earlier = TrialFolder(path, folder.key).record()  # of a trial that --reruns or --resume started again
        short = by_number.get(number) or earlier
        attempts.append(
            {
                "number": number,
                "outcome": short.outcome if short else "error",
                "cause": short.cause if short else "harness",
                "message": short.message if short else "",
                **_attempt(path, pictures),
            }
        )
    words = {
        "model use": ", ".join(usage_words(used)) if (used := record.total_usage) is not None else "",
        "judge": ", ".join(judge_words(record.judge)) if record.judge is not None else "",
        "changed after the run": "; ".join([*(each["because"] for each in record.accepted), *run.changes(record)]),
        "signed in at the end": sign_in_words(record.signed_in),
        "reset after": reset_words(record.resets),
        "memory": memory_words(record.memory) if record.memory is not None else "",
    }
    why = {
        "labels": [asdict(each) for each in labels_of(folder.path, record)],
        "proposals": {each.name: each.why for each in proposals_of(run, record)},
    }
    return {"record": record.to_json(), "words": words, "attempts": attempts, "why": why}


def _comparison(found: Explained | None) -> tuple[str, list[str]] | None:
    """A heading and lines about a passed trial of the same task."""
    if found is None:
        return None
    return f"Compared with {found.passed.agent}, trial {found.passed.trial}, which passed", [*found.lines(110)]


def _attempt(path: Path, pictures: _Pictures) -> dict[str, Any]:
    evidence: Evidence | None
    try:
        evidence = read_evidence(path)
    except (ValueError, KeyError, TypeError):
        evidence = None  # it ended before it had any
    frames = [_frame_of(step, path, pictures) for step in (evidence.steps if evidence else read_steps(path))]
    for final in sorted((path / "screenshots").glob("final.*")):
        picture = pictures.source(final)
        if not frames or frames[-1]["picture"] != picture:  # the last step may show this page already
            frames.append({"title": "final page", "url": evidence.url if evidence else "", "picture": picture})
    inputs = [
        pictures.source(image) for image in sorted((path / INTENT_IMAGES).glob("*"), key=lambda path: int(path.stem))
    ]
    data: dict[str, Any] = {"frames": frames, "inputs": inputs, "network": [], "tabs": []}
    if evidence is not None:
        began = evidence.requests[0].time if evidence.requests else 0.0
        data["network"] = [
            [round(request.time - began, 2), request.status, request.method, request.url, request.refused]
            for request in evidence.requests
        ]
        data["tabs"] = [{"url": tab.url, "title": tab.title, "active": tab.active} for tab in evidence.tabs]
    data["notes"] = [
        (title, text)
        for title, name in (
            ("Shown of earlier trials", "before"),
            ("Left to later trials", "after"),
        )
        if (text := _text(path / f"memory-{name}.txt"))
    ]
    if memory_calls := _text(path / "model_calls" / "memory.json"):
        data["notes"].append(("How the model was asked what to remember", model_calls_text(memory_calls)))
    if (traceback := path / "traceback.txt").exists():
        data["traceback"] = _text(traceback)
    return data


def _frame_of(step: StepRecord, attempt: Path, pictures: _Pictures) -> dict[str, Any]:
    return {
        "title": step_sentence(step),
        "kind": step.action.get("kind"),
        "url": step.url_before,
        "leads": step.url_after if step.url_after != step.url_before else "",
        "error": step.error,
        "raw": reply_words(step),
        "thought": step.thought if step.thought not in step.raw else "",
        "model": ", ".join(usage_words(step.usage)) if step.usage is not None else "",
        "retries": step.retries,
        "scripts": script_words(step),
        "model_calls": model_calls_text(_text(attempt / step.model_calls)) if step.model_calls else "",
        "seconds": dict(step.seconds),
        "target": asdict(step.target) if step.target else None,
        "observation": _text(attempt / step.observation) if step.observation else "",
        "picture": pictures.source(attempt / step.screenshot) if step.screenshot else "",
    }


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # dropped by --record


class _Pictures:
    """Embeds screenshots in the page while the budget lasts, each picture once; the others are linked."""

    def __init__(self, page: TextIO, folder: Path, budget: int) -> None:
        self._page = page
        self._folder = folder.resolve()
        self._left = budget
        self._ids: dict[bytes, str] = {}
        self._sizes: set[int] = set()  # sizes of the embedded pictures: another size means another picture
        self.inside = self.linked = 0

    def source(self, path: Path) -> str:
        """Return the picture's place for the page: ``#`` and an element's id, or an address; empty if there is none."""
        try:
            size = path.stat().st_size
            data = path.read_bytes() if size <= self._left or size in self._sizes else b""
        except OSError:
            return ""
        key = hashlib.sha256(data).digest() if data else b""
        if key in self._ids:
            return self._ids[key]
        if data and size <= self._left:
            self._left -= size
            self._sizes.add(size)
            self.inside += 1
            kind = path.suffix[1:] if path.suffix in (".png", ".webp", ".gif") else "jpeg"
            name = f"picture-{self.inside}"
            self._page.write(f'<script type="image/{kind}" id="{name}">{_base64(data)}</script>\n')
            self._ids[key] = f"#{name}"
            return self._ids[key]
        self.linked += 1
        place = path.resolve()
        if place.is_relative_to(self._folder):
            return quote(place.relative_to(self._folder).as_posix())
        return place.as_uri()
