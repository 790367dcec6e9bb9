"""The kinds of agent definition: the keys of each kind, and the module that makes its agents.

**Adding a kind**: write a module with a frozen dataclass of the kind's keys (`plain_data.read_keys` reads it by its
annotations; raise `ValueError` in ``__post_init__`` for further rules), a function ``build(common, keys)`` that returns
``common.definition(make=…)``, and ``KIND = AgentKind(name=…, about=…, keys=…, build=…)``; then name the module in
`MODULES`. Import heavy dependencies inside ``make``: resolving a definition must stay fast.

Each kind is one file or package in ``agents/``, named in `MODULES`.
"""

from __future__ import annotations

import hashlib
import importlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_webarena.actions import Action
from pytest_webarena.agents.memory import MemoryKeys, MemoryScope
from pytest_webarena.agents.protocol import Agent, AgentDefinition, AgentLimits, Assignment, IsolationTier, SelfDriving
from pytest_webarena.browser.config import DialogPolicy
from pytest_webarena.browser.grammars import grammar as find_grammar
from pytest_webarena.browser.search import SearchKeys
from pytest_webarena.checks.verdict import Verdict
from pytest_webarena.errors import UsageError, WebArenaError, closest
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.tasks.model import Task

__all__ = ["MODULES", "AgentKind", "Common", "CommonKeys", "kind", "kinds"]

MODULES: Mapping[str, str] = {
    "python": "pytest_webarena.agents.python",
    "model": "pytest_webarena.agents.model.kind",
    "process": "pytest_webarena.agents.process",
    "http": "pytest_webarena.agents.http",
    "cdp": "pytest_webarena.agents.cdp",
    "replay": "pytest_webarena.agents.replay",
    "human": "pytest_webarena.agents.human",
    "scripted": "pytest_webarena.agents.scripted",
}
"""Name of each kind of agent to the module whose ``KIND`` describes it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommonKeys:
    """Keys that definitions of every kind have."""

    description: str = ""
    """Description for lists."""
    grammar: str = "webarena"
    """Name of the grammar that parses text replies."""
    observation: Mapping[str, Any] | str | tuple[str, ...] = field(default_factory=dict)
    """What the agent observes: kinds of observation, or keys of `ObservationConfig`."""
    viewport: tuple[int, int] | None = None
    """Width and height of the viewport in CSS pixels."""
    dialogs: DialogPolicy | None = None
    """Policy for native dialogs; None: ``hold`` for agents whose grammar can answer them, otherwise the run's
    policy."""
    search: SearchKeys | None = None
    """The service that answers the action ``search``."""
    memory: MemoryScope | MemoryKeys | None = None
    """Which trials share a memory; None: no memory."""
    limits: AgentLimits = field(default_factory=AgentLimits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Common:
    """The parts of a definition that are the same for all kinds, passed to a kind's ``build``."""

    id: str
    kind: str
    where: str
    """Beginning of messages about this definition, e.g. ``agent definition agents/cot.yaml``."""
    base: Path
    """Directory to which the definition's paths are relative."""
    source: str
    keys: CommonKeys
    plain: Mapping[str, Any]
    """The whole definition with overrides applied; the digest is computed from it and the agent's files."""
    overridden: tuple[str, ...] = ()

    @property
    def observation(self) -> dict[str, Any]:
        """Keys of `ObservationConfig` as requested; a single kind or a list of kinds is short for ``kinds``."""
        observation = self.keys.observation
        if isinstance(observation, str):
            return {"kinds": [observation]}
        return dict(observation) if isinstance(observation, Mapping) else {"kinds": list(observation)}

    @property
    def memory(self) -> MemoryKeys | None:
        """The requested memory; a single word is its scope."""
        memory = self.keys.memory
        return MemoryKeys(scope=memory) if isinstance(memory, str) else memory

    def _missing_length(self, task: Task) -> str:
        if self.keys.limits.steps != "webcanvas" or task.limits.steps is not None or task.reference_length is not None:
            return ""
        return (
            f"task {task.id}: expected a solution or 'source.reference_length', from which 'limits.steps: webcanvas' "
            "follows, found neither; or give --max-steps"
        )

    def definition(
        self,
        make: Callable[[Assignment], Agent | SelfDriving],
        *,
        files: Iterable[Path] = (),
        tier: IsolationTier = "in-process",
        endpoint: str = "",
        model: str = "",
        prompt: str = "",
        request_settings: Mapping[str, Any] | None = None,
        participant: str = "",
        reward_model: str = "",
        grammar: str | None = None,
        observation: Mapping[str, Any] | None = None,
        viewport: tuple[int, int] | None = None,
        viewport_of: Callable[[Task, int], tuple[int, int] | None] = lambda task, trial: None,
        observes_scripts: Callable[[Task, int], bool] = lambda task, trial: False,
        is_uncounted: Callable[[Action], bool] = lambda action: False,
        limits: AgentLimits | None = None,
        dialogs: Callable[[Task, int], DialogPolicy | None] | None = None,
        check: Callable[[ModelSettings], None] = lambda settings: None,
        check_connection: Callable[[ModelSettings], None] = lambda settings: None,
        missing_requirement: Callable[[Task], str] = lambda task: "",
        on_verdict: Callable[[Task, int, Path, str, Verdict], str] = lambda task, trial, folder, outcome, verdict: "",
        asks_models: bool = True,
        self_driving: bool = False,
        rooted: bool = False,
        raises: tuple[type[WebArenaError], ...] = (),
    ) -> AgentDefinition:
        """The definition as the harness uses it.

        ``files`` (code, prompts) are part of the digest. ``raises`` is for kinds that run no user code in this process.
        The other arguments are a kind's own defaults, which replace those of `CommonKeys`. Neither the description nor
        the participant of a study changes the digest.
        """
        plain = {key: value for key, value in self.plain.items() if key not in ("description", "participant")}
        digest = hashlib.sha256(json.dumps(plain, sort_keys=True, default=str).encode() + b"\0")
        used = (*files, *(self.keys.search.files if self.keys.search is not None else ()))
        for line in sorted(f"{hashlib.sha256(file.read_bytes()).hexdigest()} {file.name}" for file in used):
            digest.update(line.encode("utf-8", "surrogateescape") + b"\0")
        dialog_policy = self.keys.dialogs or ("hold" if find_grammar(grammar or self.keys.grammar).dialogs else None)
        return AgentDefinition(
            id=self.id,
            make=make,
            digest=digest.hexdigest()[:16],
            kind=self.kind,
            grammar=grammar or self.keys.grammar,
            observation=self.observation if observation is None else observation,
            viewport=viewport or self.keys.viewport,
            observes_scripts=observes_scripts,
            is_uncounted=is_uncounted,
            viewport_of=viewport_of if not self.keys.viewport else lambda task, trial: None,
            limits=limits or self.keys.limits,
            dialogs=dialogs if dialogs is not None and not self.keys.dialogs else lambda task, trial: dialog_policy,
            model=model,
            prompt=prompt,
            request_settings=request_settings or {},
            participant=participant,
            reward_model=reward_model,
            tier=tier,
            endpoint=endpoint,
            source=self.source,
            overridden=self.overridden,
            check=check,
            check_connection=check_connection,
            missing_requirement=lambda task: self._missing_length(task) or missing_requirement(task),
            on_verdict=on_verdict,
            search=self.keys.search,
            memory=self.memory,
            asks_models=asks_models,
            self_driving=self_driving,
            rooted=rooted,
            raises=raises,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentKind:
    """One kind of agent definition."""

    name: str
    about: str
    """One-line description for lists."""
    keys: type[Any]
    """Dataclass of the kind's own keys."""
    build: Callable[[Common, Any], AgentDefinition]
    """Function that makes the definition from the common part and an instance of ``keys``. `UsageError` for unusable
    values."""
    remembers: bool = True
    """Whether agents of this kind may have a memory across trials."""


def kinds() -> tuple[str, ...]:
    """Names of all kinds."""
    return tuple(MODULES)


def kind(name: str, where: str) -> AgentKind:
    """The kind called ``name``; `UsageError` lists the known ones."""
    if name not in MODULES:
        raise UsageError(f"{where}: unknown kind {name!r}; {closest(name, MODULES)}")
    try:
        module = importlib.import_module(MODULES[name])
    except ModuleNotFoundError as error:
        raise UsageError(f"{where}: agents of kind {name!r} can't be used: {error}") from None
    found: AgentKind = module.KIND
    return found
