"""One run's folder: who writes what, so that nothing recorded is ever lost or half there.

::

    <run>/
      run.json                     what was run: versions, arguments, digests (written once)
      broker.log
      memory/                      what agents keep from trial to trial, if they do
      trials/<slug>-<hash>/
        trial.json                 written last and atomically: its presence means "finished"
        started.json               who is (or was) at it, so that a crashed worker can be told from a missing trial
        attempt-1/                 steps.jsonl network.jsonl evidence.json tabs/ observations/ shots/ inputs/

One process owns one trial folder: there are no locks. Merging runs is a union of folders.
"""

from __future__ import annotations

import json
import os
import shutil
import time
import traceback
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import RecordingError, UsageError
from pytest_webarena.evidence import LONGEST_PAGE, Evidence, StepRecord, cut
from pytest_webarena.results.records import TrialKey, TrialRecord
from pytest_webarena.secrets import scrub, scrub_plain

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import InputImage
    from pytest_webarena.browser.observation import Observation

__all__ = [
    "INPUTS",
    "AttemptWriter",
    "RunDir",
    "TrialFolder",
    "claim",
    "read_evidence",
    "read_steps",
    "recording",
    "write_atomically",
]

RUN_SCHEMA_VERSION = 1
INPUTS = "inputs"
"""Folder of an attempt's with the pictures that belong to the intent: ``0.png``, …"""


@contextmanager
def recording(path: Path) -> Iterator[None]:
    """Make a sentence of what keeps records from being written: `RecordingError`. ``path``: what was to be written."""
    try:
        yield
    except OSError as error:
        what = error.strerror or str(error)
        raise RecordingError(
            f"expected to write {path}, found: {what}. Make room or access there, then go on with --resume"
        ) from error


def write_atomically(path: Path, text: str) -> None:
    """Write a whole file or nothing, without secrets: a reader never sees half of it. `RecordingError` if it can't."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    with recording(path):
        try:
            temporary.write_text(scrub(text), encoding="utf-8", errors="surrogatepass")
            temporary.replace(path)
        except OSError:
            with suppress(OSError):
                temporary.unlink()
            raise


def claim(path: Path) -> int | None:
    """Take a run's folder for this process, which is the only one that may have it; however it ends, it is free again.

    A file descriptor to keep open, `BlockingIOError` when another run has the folder; None where nobody can tell.
    """
    import fcntl  # not on every system

    try:
        held = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return None
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(held)
        raise
    except OSError:  # a file system without locks
        os.close(held)
        return None
    return held


class RunDir:
    """A run's folder. Cheap to make; nothing is created on disk before it is needed."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def trials(self) -> Path:
        """Where the trial folders are."""
        return self.path / "trials"

    def describe(self, facts: Mapping[str, Any]) -> None:
        """Write ``run.json`` unless it is there. Any worker may be first; the first one wins."""
        target = self.path / "run.json"
        if target.exists():
            return
        temporary = target.with_name(f".run.json.{os.getpid()}.tmp")
        text = json.dumps({"schema_version": RUN_SCHEMA_VERSION, **scrub_plain(facts)}, indent=2)
        with recording(target):
            self.path.mkdir(parents=True, exist_ok=True)
            try:
                temporary.write_text(text, encoding="utf-8")
                os.link(temporary, target)  # unlike a rename, it fails when somebody else was first
            except FileExistsError:
                pass
            finally:
                temporary.unlink(missing_ok=True)

    def facts(self) -> dict[str, Any]:
        """What ``run.json`` says. `UsageError` when this is no run directory."""
        try:
            data: dict[str, Any] = json.loads((self.path / "run.json").read_text(encoding="utf-8"))
        except FileNotFoundError:
            raise UsageError(f"{self.path}: expected a run directory with a run.json, found none") from None
        except (OSError, ValueError) as error:
            raise UsageError(
                f"{self.path}: expected a run directory with a run.json, found none that can be read: {error}"
            ) from None
        return data

    def folder(self, key: TrialKey) -> TrialFolder:
        """The folder of one trial; it need not exist."""
        return TrialFolder(self.trials / key.folder, key)

    def records(self) -> list[TrialRecord]:
        """All finished trials, ordered by key. Unreadable ones are left out; see `unfinished`."""
        found = [record for folder in self._folders() if (record := _record(folder)) is not None]
        return sorted(found, key=lambda record: record.key)

    def size(self) -> int:
        """Bytes of all its files."""
        return sum(file.stat().st_size for file in self.path.rglob("*") if file.is_file())

    def unfinished(self) -> list[dict[str, Any]]:
        """What ``started.json`` says of trials that were begun and never finished."""
        found = []
        for folder in self._folders():
            if (folder / "trial.json").exists():
                continue
            try:
                found.append(json.loads((folder / "started.json").read_text(encoding="utf-8")))
            except (OSError, ValueError):
                found.append({"folder": folder.name})
        return found

    def cut_off(self, record: TrialRecord) -> int:
        """How many attempts before those of ``record`` ended with their process and left no record of their own."""
        first = record.attempts[0].number if record.attempts else record.attempt
        earlier = (self.folder(record.key).path / f"attempt-{number}" for number in range(1, first))
        return sum(attempt.is_dir() and not (attempt / "trial.json").exists() for attempt in earlier)

    def _folders(self) -> Iterator[Path]:
        if self.trials.is_dir():
            yield from sorted(path for path in self.trials.iterdir() if path.is_dir())


class TrialFolder:
    """One trial's folder."""

    def __init__(self, path: Path, key: TrialKey) -> None:
        self.path = path
        self.key = key

    def begin(self, *, worker: str, node_id: str, task: Mapping[str, Any] | None = None) -> AttemptWriter:
        """A new attempt, beside those there are. From now on a crash of this process leaves a trace.

        ``task`` holds fields of `TrialRecord` that describe the task, for whoever must write the record instead.
        """
        number = 1 + max(
            (int(path.name[8:]) for path in self.path.glob("attempt-*") if path.name[8:].isdigit()), default=0
        )
        folder = self.path / f"attempt-{number}"
        with recording(folder):
            folder.mkdir(parents=True)
        started: dict[str, Any] = {
            "key": asdict(self.key),
            "attempt": number,
            "worker": worker,
            "node_id": node_id,
            "time": time.time(),
        }
        started["task"] = dict(task or {})
        write_atomically(self.path / "started.json", json.dumps({**started, "pid": os.getpid()}))
        self._reopen()
        return AttemptWriter(folder, number)

    def _reopen(self) -> None:
        """The trial is open again: its earlier record moves to the attempt that it told of."""
        file = self.path / "trial.json"
        with recording(file):
            if (earlier := self.record()) is not None and (kept := self.path / f"attempt-{earlier.attempt}").is_dir():
                file.replace(kept / "trial.json")
            else:
                file.unlink(missing_ok=True)

    def withdraw(self, number: int) -> None:
        """As if attempt ``number`` had never begun: nothing was tried, and nothing is known of it."""
        shutil.rmtree(self.path / f"attempt-{number}", ignore_errors=True)
        (self.path / "started.json").unlink(missing_ok=True)
        earlier = self.path / f"attempt-{number - 1}" / "trial.json"
        if earlier.is_file():
            earlier.replace(self.path / "trial.json")
        with suppress(OSError):
            self.path.rmdir()  # kept when something is in it

    def finish(self, record: TrialRecord) -> None:
        """Write ``trial.json``: the trial is over."""
        write_atomically(self.path / "trial.json", json.dumps(record.to_json(), indent=1, default=str))

    def drop_pictures(self) -> None:
        """Remove screenshots, observation texts and prompts of all attempts; steps, evidence and verdict stay."""
        for attempt in self.path.glob("attempt-*"):
            for name in ("shots", "observations", "exchanges", INPUTS):
                shutil.rmtree(attempt / name, ignore_errors=True)

    def record(self) -> TrialRecord | None:
        """The finished trial's record; None when there is none that can be read."""
        return _record(self.path)


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

    def remembered(self, before: str, after: str | None) -> None:
        """Keep what the agent was told of earlier trials, and what it leaves to later ones if that is something new."""
        for name, text in (("before", before), ("after", after)):
            if text:
                self._write(f"memory-{name}.txt", scrub(text).encode("utf-8", "replace"))

    def note_traceback(self, error: BaseException, *, name: str = "traceback.txt") -> None:
        """Keep the traceback of an unexpected error; the user sees one sentence."""
        self._write(name, cut(scrub("".join(traceback.format_exception(error)))).encode("utf-8", "replace"))

    def finish(self, evidence: Evidence) -> None:
        """Keep the evidence. Steps are there already; pages and traffic get files of their own."""
        data = evidence.to_json()
        del data["steps"]
        log = self.path / "network.jsonl"
        with recording(log), log.open("w", encoding="utf-8", errors="surrogatepass") as file:
            file.writelines(json.dumps(scrub_plain(request)) + "\n" for request in data.pop("requests"))
        for index, tab in enumerate(data["tabs"]):
            tab["html"] = self._write(f"tabs/{index}.html", scrub(tab["html"]).encode("utf-8", "surrogatepass"))
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
        data["steps"] = _json_lines(attempt / "steps.jsonl")
        data["requests"] = _json_lines(attempt / "network.jsonl")
        for tab in data["tabs"]:
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


def _json_lines(path: Path) -> list[Any]:
    if not path.exists():
        return []
    lines = [line for line in path.read_text(encoding="utf-8", errors="surrogatepass").split("\n") if line.strip()]
    values: list[Any] = json.loads(f"[{','.join(lines)}]")  # at once: several times as fast as line by line
    return values


def _record(folder: Path) -> TrialRecord | None:
    try:
        return TrialRecord.from_json(json.loads((folder / "trial.json").read_text(encoding="utf-8")))
    except (OSError, ValueError):
        return None
