"""Keeps on disk what somebody does, as it is done: whatever ends a recording, it can be gone on with."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import RecordingError, UsageError
from pytest_webarena.evidence import Evidence
from pytest_webarena.results.files import write_atomically
from pytest_webarena.text import clip

if TYPE_CHECKING:
    from pytest_webarena.signals import Signal
    from pytest_webarena.tasks import Task
    from pytest_webarena.trials.tryout import Tryout

__all__ = ["FILES", "SUFFIX", "Autosaver", "SavedRecording", "read_kept", "upload_of", "uploads_of"]

SUFFIX = ".recording.json"
FILES = "-files"
"""End of the name of the folder, beside the recording, with what was given to pages."""
_FORMAT = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedRecording:
    """What was done in a recording that did not come to its end."""

    evidence: Evidence
    """Its signals, sites and answer; nothing else."""
    intent: str
    user: Mapping[str, str]
    files: Path
    """Where files are that were given to pages."""


class Autosaver:
    """Writes one recording after the other, each into a file of its own; nothing before something was done."""

    def __init__(self, output: Path | None, files: Path, say: Callable[[str], None]) -> None:
        """``output``: beside which file; None: here. ``files``: where those are that were given to pages."""
        self._place = output.with_suffix("") if output is not None else Path("recorded")
        self._files = files
        self._say = say
        self._target: Path | None = None
        self._last: Signal | None = None
        self._count = 0
        self._told: tuple[str, str] = ("", "")
        self._failed = False

    def begin(self) -> None:
        """Another recording begins. One that was not dropped stays as it is."""
        self._target, self._last, self._count = None, None, 0

    def look(self, trying: Tryout, task: Task, *, intent: str, answer: str) -> None:
        """Keep what was done by now, if there is something new. What can't be written is told, once."""
        signals = trying.signals()
        told = (intent, answer)
        if len(signals) <= trying.signals_before or self._failed:
            return
        if (len(signals), told) == (self._count, self._told) and signals[-1] is self._last:
            return
        evidence = Evidence(
            answer=answer or None,
            stop_reason="answered",
            signals=signals,
            signals_before=trying.signals_before,
            lost_signals=trying.signals_lost,
            dom_events=True,
            sites=dict(trying.sites),
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
            self._say(f"what you do is not kept on disk, and lost if this ends early: {error}")
            return
        self._last, self._count, self._told = signals[-1], len(signals), told

    def drop(self) -> None:
        """The recording has become a task: nobody needs it any more."""
        if self._target is not None:
            self._target.unlink(missing_ok=True)
        self.begin()

    def tell(self) -> None:
        """Say where the recording is that goes on nowhere else."""
        if self._target is not None and self._target.exists():
            self._say(f"what was done is kept: webarena tasks record --from {self._target} -o FILE makes a task of it")

    def _free(self) -> Path:
        names = (f"{self._place.name}{'' if number == 1 else f'-{number}'}{SUFFIX}" for number in count(1))
        return next(path for name in names if not (path := self._place.with_name(name)).exists())


def read_kept(file: Path) -> SavedRecording:
    """What `Autosaver` has written, wherever it has been brought since with what was given to pages. `UsageError` for
    anything else: it may be somebody else's, who would have files of this machine given to a page."""
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
    """The files of these names that are there. None that lead out of the folder."""
    found = {name: path for name in names if (path := upload_of(name, files)) is not None}
    here = files.parent.resolve() / files.name
    return {name: path for name, path in found.items() if path.is_file() and path.resolve() == here / name}


def upload_of(name: str, files: Path) -> Path | None:
    """Where a file of that name is kept; None for a name that is more than one."""
    return files / name if name == Path(name).name else None
