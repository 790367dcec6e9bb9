"""One HTML file that shows a run: figures, filters, and a filmstrip per trial. Works offline, from a file.

The page holds an index of all trials, and one compressed block per trial that the browser unpacks when it is opened.
"""

from __future__ import annotations

import base64
import gzip
import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from importlib.resources import files
from pathlib import Path
from typing import Any

from pytest_webarena.evidence import Evidence
from pytest_webarena.results.export import summary_json
from pytest_webarena.results.records import TrialRecord
from pytest_webarena.results.rundir import RunDir, read_evidence
from pytest_webarena.results.wording import action_words

__all__ = ["PICTURE_BUDGET", "write_view"]

PICTURE_BUDGET = 80_000_000
"""Bytes of screenshots put into the page by default, failed and broken trials first; the others are linked as files."""


def write_view(run: RunDir, target: Path, *, picture_budget: int = PICTURE_BUDGET) -> int:
    """Write the page and return its size in bytes. Raises `UsageError` when ``run`` is no run directory."""
    facts = run.facts()
    records = run.records()
    pictures = _Pictures(target.parent, picture_budget)
    details = {}
    for record in sorted(records, key=lambda record: record.outcome == "passed"):
        details[record.key.folder] = _detail(record, run.folder(record.key).path / f"attempt-{record.attempt}", pictures)
    index = {
        "run": {**facts, "path": run.path.name},
        "summary": summary_json(records),
        "trials": [_row(record) for record in records],
        "pictures": {"inside": pictures.inside, "linked": pictures.linked},
    }
    target.parent.mkdir(parents=True, exist_ok=True)
    with target.open("w", encoding="utf-8", errors="replace") as file:
        for piece in _page(index, details):
            file.write(piece)
    return target.stat().st_size


def _page(index: Mapping[str, Any], details: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    here = files(__package__)
    head, _, tail = here.joinpath("page.html").read_text(encoding="utf-8").partition("<!-- data -->")
    yield head.replace("/* style */", here.joinpath("viewer.css").read_text(encoding="utf-8"))
    yield f'<script type="application/json" id="index">{_for_html(index)}</script>\n'
    for folder, detail in details.items():
        packed = base64.b64encode(gzip.compress(json.dumps(detail, default=str).encode("utf-8", "replace"), mtime=0)).decode()
        yield f'<script type="application/x-trial" id="trial-{folder}">{packed}</script>\n'
    yield f"<script>{here.joinpath('viewer.js').read_text(encoding='utf-8')}</script>"
    yield tail


def _for_html(data: Mapping[str, Any]) -> str:
    """JSON that can stand inside a script element whatever texts it holds: no ``</script>``, no ``<!--``."""
    return json.dumps(data, default=str).replace("<", "\\u003c")


def _row(record: TrialRecord) -> dict[str, Any]:
    return {
        "folder": record.key.folder,
        "task": record.key.task,
        "agent": record.key.agent,
        "trial": record.key.trial,
        "outcome": record.outcome,
        "cause": record.cause,
        "score": record.score,
        "stop": record.stop_reason,
        "sites": list(record.sites),
        "category": record.category,
        "template": record.template,
        "tags": list(record.tags),
        "steps": record.steps,
        "seconds": record.seconds.get("total", 0.0),
        "intent": record.intent,
    }


def _detail(record: TrialRecord, attempt: Path, pictures: _Pictures) -> dict[str, Any]:
    data: dict[str, Any] = {"record": record.to_json(), "frames": [], "network": [], "tabs": []}
    try:
        evidence = read_evidence(attempt)
    except ValueError:
        return data  # a trial that broke before it had any
    data["frames"] = list(_frames(evidence, attempt, pictures))
    data["network"] = [
        {"status": request.status, "method": request.method, "url": request.url, "refused": request.refused}
        for request in evidence.requests
    ]
    data["tabs"] = [{"url": tab.url, "title": tab.title, "active": tab.active} for tab in evidence.tabs]
    return data


def _frames(evidence: Evidence, attempt: Path, pictures: _Pictures) -> Iterator[dict[str, Any]]:
    for step in evidence.steps:
        yield {
            "title": action_words(step),
            "url": step.url_before,
            "error": step.error,
            "raw": step.raw,
            "seconds": dict(step.seconds),
            "target": asdict(step.target) if step.target else None,
            "observation": _text(attempt / step.observation) if step.observation else "",
            "picture": pictures.source(attempt / step.screenshot) if step.screenshot else "",
        }
    for final in sorted((attempt / "shots").glob("final.*")):
        yield {"title": "final page", "url": evidence.url, "picture": pictures.source(final)}


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""  # dropped by --record


class _Pictures:
    """Turns screenshot files into image addresses: inside the page while the budget lasts, then links."""

    def __init__(self, page_folder: Path, budget: int) -> None:
        self._left = budget
        self._base = page_folder.resolve()
        self.inside = self.linked = 0

    def source(self, path: Path) -> str:
        try:
            size = path.stat().st_size
        except OSError:
            return ""
        if size <= self._left:
            self._left -= size
            self.inside += 1
            kind = "png" if path.suffix == ".png" else "jpeg"
            return f"data:image/{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
        self.linked += 1
        target = path.resolve()
        return target.relative_to(self._base).as_posix() if target.is_relative_to(self._base) else target.as_uri()
