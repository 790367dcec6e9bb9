"""One attempt's folder: what is written of it while it goes on, and read of it afterwards."""

from __future__ import annotations

import json
import traceback
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from pytest_webarena.errors import recording
from pytest_webarena.evidence import LONGEST_PAGE, Evidence, StepRecord, cut
from pytest_webarena.results.files import read_lines, write_atomically, write_lines
from pytest_webarena.results.wording import printable
from pytest_webarena.secrets import scrub, scrub_plain
from pytest_webarena.signals import Signal

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import InputImage
    from pytest_webarena.browser.observation import Observation

__all__ = ["INPUTS", "TRACE", "VIDEOS", "AttemptWriter", "read_evidence", "read_steps"]

INPUTS = "inputs"
"""Folder of an attempt's with the pictures that belong to the intent: ``0.png``, …"""
TRACE = "trace.zip"
"""File of an attempt's for Playwright's trace viewer."""
VIDEOS = "videos"
"""Folder of an attempt's with a video of each tab."""


class AttemptWriter:
    """Writes one attempt's files, each step as soon as it is over."""

    def __init__(self, path: Path, number: int) -> None:
        self.path = path
        self.number = number

    def observed(self, index: int, observation: Observation) -> tuple[str, str]:
        """Keep an observation; the names of its text and screenshot files (``""`` for none)."""
        text = self._write(
            f"observations/{index:03d}.txt", cut(scrub(observation.text), LONGEST_PAGE).encode("utf-8", "replace")
        )
        shot = ""
        picture = observation.picture
        if picture:
            shot = self._write(f"shots/{index:03d}.{_image_suffix(picture)}", picture)
        return text, shot

    def screenshot(self, name: str, data: bytes) -> str:
        """Keep a screenshot outside the steps, e.g. of the final page."""
        return self._write(f"shots/{name}.{_image_suffix(data)}", data)

    def given(self, images: Sequence[InputImage]) -> None:
        """Keep the pictures that belong to the intent."""
        for number, image in enumerate(images):
            suffix = image.media_type.rpartition("/")[2].replace("jpeg", "jpg")
            self._write(f"{INPUTS}/{number}.{suffix}", image.data)

    def stepped(self, step: StepRecord) -> None:
        """Append a finished step."""
        path = self.path / "steps.jsonl"
        with recording(path), path.open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(scrub(json.dumps(scrub_plain(asdict(step)), default=str)) + "\n")

    def signalled(self, signals: Sequence[Signal]) -> None:
        """Append what the session has recorded since; `finish` writes it once more, with what came last."""
        if signals:
            write_lines(self.path / "signals.jsonl", map(asdict, signals), mode="a")

    def remembered(self, before: str, after: str | None) -> None:
        """Keep what the agent was told of earlier trials, and what it leaves to later ones if that is something new."""
        for name, text in (("before", before), ("after", after)):
            if text:
                self._write(f"memory-{name}.txt", scrub(text).encode("utf-8", "replace"))

    def note_traceback(self, error: BaseException, *, name: str = "traceback.txt") -> None:
        """Keep the traceback of an unexpected error; the user sees one sentence. It can be shown in a terminal: an
        agent's message may hold anything, also what a terminal obeys."""
        try:
            lines = traceback.format_exception(error)
        except BaseException as other:  # it walks through what an agent's class says of itself
            lines = [f"{type(error).__name__}; its traceback can't be shown ({type(other).__name__})"]
        text = printable(cut(scrub("".join(lines))))
        self._write(name, text.encode("utf-8", "replace"))

    def finish(self, evidence: Evidence) -> None:
        """Keep the evidence. Steps are there already; pages and traffic get files of their own."""
        data = evidence.to_json()
        del data["steps"]
        write_lines(self.path / "network.jsonl", data.pop("requests"))
        if (signals := data.pop("signals")) is not None:
            write_lines(self.path / "signals.jsonl", signals)
        for index, tab in enumerate(data["tabs"]):
            tab["html"] = self._write(f"tabs/{index}.html", scrub(tab["html"]).encode("utf-8", "surrogatepass"))
        for page in data["pages"]:
            page["html"] = self._write(
                f"pages/{page['step']}.html", scrub(page["html"]).encode("utf-8", "surrogatepass")
            )
        write_atomically(self.path / "evidence.json", json.dumps(scrub_plain(data)))

    def _write(self, name: str, data: bytes) -> str:
        target = self.path / name
        with recording(target):
            try:
                target.write_bytes(data)
            except FileNotFoundError:
                target.parent.mkdir(exist_ok=True)  # not its parents: a run that was removed stays away
                target.write_bytes(data)
        return name


def _image_suffix(data: bytes) -> str:
    return "png" if data.startswith(b"\x89PNG") else "webp" if data[8:12] == b"WEBP" else "jpg"


def read_evidence(attempt: Path) -> Evidence:
    """The evidence of one attempt, from its folder. `ValueError` when it is not all there."""
    try:
        data = json.loads((attempt / "evidence.json").read_text(encoding="utf-8"))
        data["steps"] = read_lines(attempt / "steps.jsonl")
        data["requests"] = read_lines(attempt / "network.jsonl")
        signals = attempt / "signals.jsonl"
        data["signals"] = read_lines(signals) if signals.exists() else None
        for tab in (*data["tabs"], *data.get("pages", ())):
            tab["html"] = (attempt / tab["html"]).read_text(encoding="utf-8", errors="surrogatepass")
    except OSError as error:
        raise ValueError(f"{attempt}: expected the evidence of a finished attempt, found none: {error}") from error
    return Evidence.from_json(data)


def read_steps(attempt: Path) -> tuple[StepRecord, ...]:
    """The steps of one attempt as far as it came, also of one that was cut short and has no evidence."""
    steps = []
    try:
        with (attempt / "steps.jsonl").open(encoding="utf-8", errors="surrogatepass") as file:
            for line in file:
                steps.append(StepRecord.from_json(json.loads(line)))
    except (OSError, ValueError, TypeError):
        pass  # none at all, or its process died in the middle of a line
    return tuple(steps)
