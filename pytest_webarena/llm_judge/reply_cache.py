"""Cache of a judge's replies on disk, by question and judge."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import threading
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_webarena.checks.judge_protocol import Question
from pytest_webarena.evidence import Usage
from pytest_webarena.file_digests import SEAL, seal_fault
from pytest_webarena.file_digests import seal as sealed
from pytest_webarena.llm_judge.config import JudgeIdentity
from pytest_webarena.llm_judge.upstream import understand_as
from pytest_webarena.rpc_proxies import stand_in
from pytest_webarena.secrets import has_secret

__all__ = ["Kept", "VerdictCache", "open_verdicts"]

_VERSION = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """One question's replies, and what they used originally."""

    replies: tuple[str, ...]
    """Replies, of which the last one can be read."""
    usage: Usage


class VerdictCache:
    """Cache with one file per question and judge. With many workers, all use the reply that was stored first."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def get(self, question: Question, judge: JudgeIdentity, seal: str = "") -> Kept | None:
        """Return the stored replies; None when there are none that can be read.

        ``seal`` is the question's code word, if it has one.
        """
        return _read(self._file(question, judge), question, judge, seal)

    def put(self, question: Question, judge: JudgeIdentity, kept: Kept, seal: str = "") -> Kept:
        """Store ``kept`` and return it, or the replies of another worker that was faster.

        When the disk is full, the entry is lost silently.
        """
        data = {"schema_version": _VERSION, "question": question.as_data(), "judge": asdict(judge), **asdict(kept)}
        if has_secret(data):
            return kept  # text with a secret must not be written
        file = self._file(question, judge)
        temporary = file.with_name(f".{file.name}.{os.getpid()}.{threading.get_ident()}")
        with contextlib.suppress(OSError):
            file.parent.mkdir(parents=True, exist_ok=True)
            temporary.write_text(sealed(data), encoding="utf-8")
            try:
                os.link(temporary, file)  # fails when another worker was first
            except FileExistsError:
                if (first := _read(file, question, judge, seal)) is not None:
                    return first
                temporary.replace(file)  # the existing file can't be read
            finally:
                temporary.unlink(missing_ok=True)
        return kept

    def _file(self, question: Question, judge: JudgeIdentity) -> Path:
        text = _asked(question.as_data(), asdict(judge))
        key = hashlib.sha256(text.encode()).hexdigest()
        return self._directory / key[:2] / f"{key}.json"


def _asked(question: object, judge: object) -> str:
    return json.dumps([_VERSION, question, judge], sort_keys=True, ensure_ascii=True)


def open_verdicts(directory: Path) -> VerdictCache:
    """Return the verdicts in ``directory``, or their RPC proxy where the driver owns them (`rpc_proxies`)."""
    cache: VerdictCache = stand_in("verdicts", directory) or VerdictCache(directory)
    return cache


def _read(file: Path, question: Question, judge: JudgeIdentity, seal: str) -> Kept | None:
    """The stored replies, if the file is for this question and judge: files are copied, renamed and edited."""
    try:
        content = file.read_bytes()
        data = json.loads(content)
        if SEAL in data and seal_fault(content):
            return None  # somebody edited the reply, so the judge is asked again
        replies = tuple(map(str, data["replies"]))
        if (
            data["schema_version"] != _VERSION
            or _asked(data["question"], data["judge"]) != _asked(question.as_data(), asdict(judge))
            or not replies
            or isinstance(understand_as(str(data["judge"]["prompt"]), replies[-1], question, seal), str)
        ):
            return None
        return Kept(replies=replies, usage=Usage(**data["usage"]))
    except (OSError, ValueError, KeyError, TypeError):
        return None
