"""Files of one attempt: written while it runs, and read afterwards."""

from __future__ import annotations

import hashlib
import json
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.credentials import masked_request
from pytest_webarena.errors import recording
from pytest_webarena.evidence import LONGEST_PAGE, Evidence, StepRecord, cut
from pytest_webarena.evidence.steps import is_inside
from pytest_webarena.file_digests import changed_files
from pytest_webarena.record_files import is_evidence
from pytest_webarena.results.files import read_lines, write_atomically, write_lines
from pytest_webarena.results.observation_store import look_of
from pytest_webarena.results.older_records import without_translations
from pytest_webarena.results.redaction import learn_trace, redact_evidence
from pytest_webarena.secrets import has_secret, scrub, scrub_plain
from pytest_webarena.signals import Signal
from pytest_webarena.text import printable

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import InputImage
    from pytest_webarena.browser.observation import Observation

__all__ = ["INTENT_IMAGES", "TRACE", "VIDEOS", "AttemptWriter", "final_screenshot", "read_evidence", "read_steps"]

INTENT_IMAGES = "intent_images"
"""Folder of an attempt with the pictures of the intent: ``0.png``, …"""
TRACE = "trace.zip"
"""File of an attempt for Playwright's trace viewer."""
VIDEOS = "videos"
"""Folder of an attempt with a video of each tab."""

_EVIDENCE = "evidence.json"
_STEPS, _NETWORK, _BROWSER_EVENTS = "steps.jsonl", "network.jsonl", "browser_events.jsonl"
_DIGESTS = "files"
"""Key in `_EVIDENCE` with the SHA-256 of each other file of the evidence. Older versions did not write it."""
_MASKED = "masked"
"""Key in `_EVIDENCE`: whether a secret was masked in any of the files. Older versions did not write it."""


class AttemptWriter:
    """Writer of one attempt's files. Each step is written as soon as it is finished."""

    def __init__(self, path: Path, number: int) -> None:
        self.path = path
        self.number = number
        self.hides_credentials = False
        """Whether values of credential headers are masked, because the trial's sessions are secret."""

    def observed(self, index: int, observation: Observation) -> tuple[str, str]:
        """Write an observation; return the names of its text and screenshot files (``""`` for none)."""
        text = self._write(
            f"observations/{index:03d}.txt", cut(scrub(observation.text), LONGEST_PAGE).encode("utf-8", "replace")
        )
        self._write(f"observations/{index:03d}.json", scrub(json.dumps(scrub_plain(look_of(observation)))).encode())
        shot = ""
        picture = observation.picture
        if picture:
            shot = self._write(f"screenshots/{index:03d}.{_image_suffix(picture)}", picture)
        return text, shot

    def screenshot(self, name: str, data: bytes) -> str:
        """Write a screenshot outside the steps, such as that of the final page; return its file name."""
        return self._write(f"screenshots/{name}.{_image_suffix(data)}", data)

    def given(self, images: Sequence[InputImage]) -> None:
        """Write the pictures of the intent."""
        for number, image in enumerate(images):
            suffix = image.media_type.rpartition("/")[2].replace("jpeg", "jpg")
            self._write(f"{INTENT_IMAGES}/{number}.{suffix}", image.data)

    def stepped(self, step: StepRecord) -> None:
        """Append a finished step."""
        path = self.path / _STEPS
        with recording(path), path.open("a", encoding="utf-8", errors="surrogatepass") as file:
            file.write(scrub(json.dumps(scrub_plain(asdict(step)), default=str)) + "\n")

    def signalled(self, signals: Sequence[Signal]) -> None:
        """Append the signals that the session recorded since the last call; `finish` writes all signals again."""
        if signals:
            write_lines(self.path / _BROWSER_EVENTS, map(asdict, signals), mode="a")

    def remembered(self, before: str, after: str | None) -> None:
        """Write the agent's memory of earlier trials, and the memory for later ones if it is new."""
        for name, text in (("before", before), ("after", after)):
            if text:
                self._write(f"memory-{name}.txt", scrub(text).encode("utf-8", "replace"))

    def note_traceback(self, error: BaseException, *, name: str = "traceback.txt") -> None:
        """Write the traceback of an unexpected error; the user sees one sentence.

        Control characters are replaced, because an agent's message may contain some that a terminal obeys.
        """
        try:
            lines = traceback.format_exception(error)
        except BaseException as other:  # it calls methods of the agent's classes, which may fail
            lines = [f"{type(error).__name__}; its traceback can't be shown ({type(other).__name__})"]
        text = printable(cut(scrub("".join(lines))))
        self._write(name, text.encode("utf-8", "replace"))

    def closed(self) -> None:
        """Examine what the browser wrote when its session closed."""
        if self.hides_credentials:
            learn_trace(self.path)

    def finish(self, evidence: Evidence) -> None:
        """Write the evidence. Steps are there already; pages and traffic get files of their own.

        Each file has a digest, so that one that is cut or missing later does not look like an agent that did less.
        """
        masked = has_secret(evidence.to_json()) or self.hides_credentials
        requests = tuple(masked_request(each, headers=self.hides_credentials) for each in evidence.requests)
        data = replace(evidence, requests=requests).to_json()
        del data["steps"]
        write_lines(self.path / _NETWORK, data.pop("requests"))
        if (signals := data.pop("signals")) is not None:
            write_lines(self.path / _BROWSER_EVENTS, signals)
        for index, tab in enumerate(data["tabs"]):
            tab["html"] = self._write(f"tabs/{index}.html", scrub(tab["html"]).encode("utf-8", "surrogatepass"))
        for page in data["pages"]:
            page["html"] = self._write(
                f"pages/{page['step']}.html", scrub(page["html"]).encode("utf-8", "surrogatepass")
            )
        redact_evidence(self.path)
        lines = [name for name in (_STEPS, _NETWORK, _BROWSER_EVENTS) if (self.path / name).exists()]
        with recording(self.path / _EVIDENCE):
            digests = {name: _digest(self.path / name) for name in (*lines, *_texts(data))}
        write_atomically(self.path / _EVIDENCE, json.dumps({**scrub_plain(data), _DIGESTS: digests, _MASKED: masked}))

    def _write(self, name: str, data: bytes) -> str:
        target = self.path / name
        with recording(target):
            try:
                target.write_bytes(data)
            except FileNotFoundError:
                target.parent.mkdir(exist_ok=True)  # without its parents: a run that was deleted stays deleted
                target.write_bytes(data)
        return name


def _image_suffix(data: bytes) -> str:
    return "png" if data.startswith(b"\x89PNG") else "webp" if data[8:12] == b"WEBP" else "jpg"


def _texts(data: Mapping[str, Any]) -> list[str]:
    """The names of the page files in ``data``."""
    return [tab["html"] for tab in (*data["tabs"], *data.get("pages", ()))]


def _digest(file: Path) -> str:
    return hashlib.sha256(file.read_bytes()).hexdigest()


def read_evidence(attempt: Path, *, manifest: str = "") -> Evidence:
    """Return the evidence in an attempt's folder. Raises `ValueError` that names a missing or damaged file.

    ``manifest`` is the SHA-256 of the attempt's manifest, to which the files have to fit (`TrialRecord.manifest`).
    """
    for fault in changed_files(attempt, manifest, wanted=is_evidence, added=is_evidence) if manifest else ():
        raise ValueError(fault)
    file = attempt / _EVIDENCE
    try:
        data = json.loads(file.read_text(encoding="utf-8"))
        if not isinstance(data, dict):
            raise TypeError(f"a {type(data).__name__}")
        texts = _texts(data)
        if outside := [name for name in (*texts, *(data.get(_DIGESTS) or ())) if not is_inside(name)]:
            raise ValueError(f"the file {outside[0]!r}, which is none of this attempt's")
    except OSError as error:
        raise ValueError(
            f"{file}: expected the evidence of a finished attempt, found none: {error.strerror}"
        ) from error
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(
            f"{file}: expected the evidence of a finished attempt, found what can't be read: {error}"
        ) from error
    _require_whole(attempt, data)
    for name, key in ((_STEPS, "steps"), (_NETWORK, "requests"), (_BROWSER_EVENTS, "signals")):
        file = attempt / name
        try:
            data[key] = read_lines(file) if name != _BROWSER_EVENTS or file.exists() else None
        except (OSError, ValueError) as error:
            raise ValueError(f"{file}: expected lines of JSON, found that it is cut or damaged: {error}") from error
    for page, name in zip((*data["tabs"], *data.get("pages", ())), texts, strict=True):
        file = attempt / name
        try:
            page["html"] = file.read_text(encoding="utf-8", errors="surrogatepass")
        except (OSError, ValueError) as error:
            raise ValueError(
                f"{file}: expected a page of the evidence, found none that can be read: {error}"
            ) from error
    if _DIGESTS not in data:
        _require_counts(attempt, data)
    data.pop(_DIGESTS, None)
    try:
        return without_translations(replace(Evidence.from_json(data), masked=data.pop(_MASKED, True)))
    except (KeyError, TypeError, AttributeError) as error:
        raise ValueError(f"{attempt}: expected evidence, found some that lacks or adds a field: {error}") from error


def _require_whole(attempt: Path, data: Mapping[str, Any]) -> None:
    """Raise `ValueError` unless all files are as they were when the evidence was written."""
    if not isinstance(digests := data.get(_DIGESTS, {}), Mapping):
        raise ValueError(f"{attempt / _EVIDENCE}: {_DIGESTS}: expected a mapping, found {type(digests).__name__}")
    for name, digest in digests.items():
        try:
            found = _digest(attempt / name)
        except OSError as error:
            raise ValueError(
                f"{attempt / name}: expected a file of the evidence, found none: {error.strerror}"
            ) from error
        if found != digest:
            raise ValueError(f"{attempt / name}: expected the file as written, found it cut or changed")


def _require_counts(attempt: Path, data: Mapping[str, Any]) -> None:
    """Raise `ValueError` if files of evidence without digests, from older versions, contradict its counts."""
    if not (attempt / _NETWORK).exists():  # it was always written, even if empty
        raise ValueError(f"{attempt / _NETWORK}: expected a file of the evidence, found none")
    after, signals = data.get("signals_after") or (), data["signals"]
    if len(data["steps"]) < len(after):
        raise ValueError(f"{attempt / _STEPS}: expected {len(after)} steps, found {len(data['steps'])}: it is cut")
    least = max((*after, data.get("signals_before") or 0))
    if least > len(signals or ()):
        raise ValueError(
            f"{attempt / _BROWSER_EVENTS}: expected at least {least} signals, found {len(signals or ())}: "
            "it is cut or missing"
        )


def read_steps(attempt: Path) -> tuple[StepRecord, ...]:
    """Return the steps of one attempt, also of one that was interrupted and has no evidence."""
    steps = []
    try:
        with (attempt / "steps.jsonl").open(encoding="utf-8", errors="surrogatepass") as file:
            for line in file:
                steps.append(StepRecord.from_json(json.loads(line)))
    except (OSError, ValueError, TypeError):
        pass  # there is no file, or its process died while it wrote a line
    return tuple(steps)


def final_screenshot(trial: Path, attempt: int) -> Path | None:
    """Return the picture of the last page of an attempt, or of its last step; None where none was kept.

    ``trial`` is the trial's folder.
    """
    try:
        found = sorted((trial / f"attempt-{attempt}" / "screenshots").iterdir())
    except OSError:
        return None
    pictures = [path for path in found if path.suffix in (".png", ".jpg", ".webp") and path.is_file()]
    return next((path for path in pictures if path.stem == "final"), pictures[-1] if pictures else None)
