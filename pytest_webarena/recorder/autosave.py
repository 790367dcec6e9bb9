"""Saves a recording to disk while it is made, so that it can be continued after any interruption."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pytest_webarena.errors import RecordingError, UsageError
from pytest_webarena.evidence import Evidence
from pytest_webarena.recorder.withheld import without_secrets
from pytest_webarena.results.files import write_atomically
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.signals import Signal
    from pytest_webarena.tasks import Task

__all__ = ["FILES", "SUFFIX", "Autosaver", "SavedRecording", "SignalSource", "read_saved", "upload_of", "uploads_of"]

SUFFIX = ".recording.json"
FILES = "-files"
"""Suffix of the folder next to the recording that contains files uploaded to pages."""
_FORMAT = 1


class SignalSource(Protocol):
    """A recording in progress, such as `Tryout`."""

    def signals(self) -> tuple[Signal, ...]:
        """Return all signals so far."""

    @property
    def signals_before(self) -> int:
        """Number of signals from the start pages."""

    @property
    def signals_lost(self) -> int:
        """Number of signals that are missing."""

    @property
    def sites(self) -> Mapping[str, str]:
        """Address of each site, by name."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRecording:
    """A recording that was not finished."""

    evidence: Evidence
    """Evidence with only signals, sites and answer."""
    intent: str
    user: Mapping[str, str]
    files: Path
    """Folder of files that were uploaded to pages."""


class Autosaver:
    """Saves each recording to a file of its own, from its first step on."""

    def __init__(self, output: Path | None, files: Path, report: Callable[[str], None]) -> None:
        """``output``: the task file next to which to save; None: the current folder. ``files``: the folder of files
        that were uploaded to pages."""
        self._place = output.with_suffix("") if output is not None else Path("recorded")
        self._files = files
        self._report = report
        self._target: Path | None = None
        self._last: Signal | None = None
        self._count = 0
        self._saved_texts: tuple[str, str] = ("", "")
        self._failed = False

    def begin(self) -> None:
        """Begin another recording. An earlier one stays on disk unless it was dropped."""
        self._target, self._last, self._count = None, None, 0

    def save_changes(self, source: SignalSource, task: Task, *, intent: str, answer: str) -> None:
        """Save the recording if it has changed. A failure to write is printed once."""
        signals = source.signals()
        texts = (intent, answer)
        if len(signals) <= source.signals_before or self._failed:
            return
        if (len(signals), texts) == (self._count, self._saved_texts) and signals[-1] is self._last:
            return
        evidence = Evidence(
            answer=answer or None,
            stop_reason="answered",
            signals=without_secrets(signals),
            signals_before=source.signals_before,
            lost_signals=source.signals_lost,
            dom_events=True,
            sites=dict(source.sites),
        )
        data = {
            "format": _FORMAT,
            "intent": intent,
            "user": dict(task.user),
            "files": str(self._files.absolute()),
            "evidence": evidence.to_json(),
        }
        try:
            if self._target is None:
                self._target = self._free()
                self._target.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(self._target, json.dumps(data))
        except (OSError, RecordingError) as error:
            self._failed = True
            self._report(f"what you do is not kept on disk, and lost if this ends early: {error}")
            return
        self._last, self._count, self._saved_texts = signals[-1], len(signals), texts

    def drop(self) -> None:
        """Delete the recording, which has become a task."""
        if self._target is not None:
            self._target.unlink(missing_ok=True)
        self.begin()

    def print_location(self) -> None:
        """Print where an unfinished recording is saved."""
        if self._target is not None and self._target.exists():
            self._report(
                f"what was done is kept: webarena tasks record --from {self._target} -o FILE makes a task of it"
            )

    def _free(self) -> Path:
        names = (f"{self._place.name}{'' if number == 1 else f'-{number}'}{SUFFIX}" for number in count(1))
        return next(path for name in names if not (path := self._place.with_name(name)).exists())


def read_saved(file: Path) -> SavedRecording:
    """Read a file of `Autosaver`, which may have been moved together with its folder of uploaded files.

    Raises:
        UsageError: It is anything else. The file is not trusted: it must not upload other files of this machine.
    """
    try:
        data: Any = json.loads(file.read_text(encoding="utf-8"))
        if data["format"] != _FORMAT:
            raise ValueError(f"format {data['format']}")
        folder = Path(data["files"]).name
        if not folder.endswith(FILES):
            raise ValueError(f"files in no folder …{FILES}, but in {folder!r}")
        return SavedRecording(
            evidence=Evidence.from_json(data["evidence"]),
            intent=str(data["intent"]),
            user={str(site): str(name) for site, name in data["user"].items()},
            files=file.parent / folder,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise UsageError(
            f"{file}: expected a recording as webarena tasks record keeps it, found: {clip(str(error), 100)}"
        ) from None


def uploads_of(names: Sequence[str], files: Path) -> dict[str, Path]:
    """Return the existing files of these names. Symbolic links that leave the folder are excluded."""
    found = {name: path for name in names if (path := upload_of(name, files)) is not None}
    folder = files.parent.resolve() / files.name
    return {name: path for name, path in found.items() if path.is_file() and path.resolve() == folder / name}


def upload_of(name: str, files: Path) -> Path | None:
    """Return the path of the saved file with this name; None if the name contains a folder."""
    return files / name if name == Path(name).name else None
