"""State that a run has only once, on the driver: model calls, cached responses and verdicts, agents' memories,
started agents."""

from __future__ import annotations

import fcntl
import json
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pytest_webarena.errors import HarnessError, RecordingError, recording
from pytest_webarena.llm.cache import ResponseCache
from pytest_webarena.llm.model_calls import ModelCalls
from pytest_webarena.llm_judge.reply_cache import VerdictCache
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.lost_trials import write_note
from pytest_webarena.results.memory import Memory
from pytest_webarena.results.records import TrialKey, browser_text
from pytest_webarena.results.trial_folder import TrialFolder
from pytest_webarena.rpc_proxies import Call

__all__ = ["AgentStart", "Answer", "CoordinatorState"]

Answer = tuple[bool, Any]
"""Whether the call succeeded, and its result or its exception."""


class AgentStart:
    """The start of an agent on a node, in the folder ``attempt`` of the run."""

    def __init__(self, attempt: Path) -> None:
        self._attempt = attempt

    def store(self, started: str, note: str) -> None:
        """Store the content of the node's ``started.json`` and the record that counts if the node is lost."""
        facts = json.loads(started)
        folder = TrialFolder(self._attempt.parent, TrialKey.from_json(facts["key"], browser=browser_text(facts)))
        with recording(self._attempt):
            self._attempt.mkdir(parents=True, exist_ok=True)
        folder.reopen()
        write_note(self._attempt, folder.key, note)
        write_atomically(folder.path / "started.json", json.dumps({**facts, "time": time.time()}))


_KINDS: Mapping[str, tuple[Callable[..., Any], frozenset[str]]] = {
    "model_calls": (
        ModelCalls,
        frozenset({"reserve", "settle", "keep", "release", "cached", "book", "exhausted", "lines"}),
    ),
    "responses": (ResponseCache, frozenset({"get", "put"})),
    "verdicts": (VerdictCache, frozenset({"get", "put"})),
    "memory": (Memory, frozenset({"latest", "add"})),
    "lost_trials": (AgentStart, frozenset({"store"})),
}
"""Classes of the shared state, and their methods that nodes may call."""


class CoordinatorState:
    """Answers calls from nodes (`rpc_proxies.Call`), only for files below ``roots``. Thread-safe.

    Memories that a node has locked are released when the node is gone.
    """

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._roots = roots
        self._lock = threading.Lock()
        self._taken: dict[str, tuple[str, ExitStack]] = {}
        """Node and release callback of each locked memory, by token."""

    def answer(self, node: str, call: Call) -> Answer:
        """Carry out a call of ``node``. An exception is returned as an answer, too."""
        try:
            return True, self._make(node, call)
        except RecordingError as error:
            return False, RecordingError(str(error))
        except Exception as error:
            return False, error

    def _make(self, node: str, call: Call) -> Any:
        if ".." in call.path.parts or not any(call.path.is_relative_to(root) for root in self._roots):
            raise HarnessError(f"expected a file of the run from a node, found {call.path}")
        if call.kind == "memory" and call.method in ("take", "give_back"):
            (token,) = call.args
            return self._take(node, call.path, token) if call.method == "take" else self._give_back(token)
        make, methods = _KINDS[call.kind]
        if call.method not in methods:
            raise HarnessError(f"expected one of {', '.join(sorted(methods))} of a {call.kind}, found {call.method}")
        return getattr(make(call.path, **call.made), call.method)(*call.args, **call.kwargs)

    def _take(self, node: str, folder: Path, token: str) -> bool:
        """Lock the memory for a trial if it is free, with the lock that trials on this machine use."""
        folder.mkdir(parents=True, exist_ok=True)
        with ExitStack() as held:
            lock = held.enter_context((folder / "lock").open("w"))
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            with self._lock:
                self._taken[token] = node, held.pop_all()
        return True

    def _give_back(self, token: str) -> None:
        with self._lock:
            _, held = self._taken.pop(token, ("", ExitStack()))
        held.close()

    def forget(self, node: str) -> None:
        """Release everything that a lost node had locked."""
        with self._lock:
            tokens = [token for token, (holder, _) in self._taken.items() if holder == node]
        for token in tokens:
            self._give_back(token)
