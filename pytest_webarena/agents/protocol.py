"""What an agent is, what it may know, what it may reply, and how a definition makes a fresh one per trial."""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Protocol, get_args, runtime_checkable

from pytest_webarena.answers import AnswerFormat, instructions
from pytest_webarena.errors import WebArenaError
from pytest_webarena.evidence import StopReason
from pytest_webarena.evidence.usage import Usage, is_count

if TYPE_CHECKING:
    from pytest_webarena.actions import Action
    from pytest_webarena.agents.memory import MemoryKeys, Remembered
    from pytest_webarena.browser.config import DialogPolicy
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.browser.reports import Beside
    from pytest_webarena.browser.search import SearchKeys
    from pytest_webarena.checks.verdict import Verdict
    from pytest_webarena.llm.config import ModelSettings
    from pytest_webarena.tasks.model import Task

__all__ = [
    "Agent",
    "AgentDefinition",
    "AgentLimits",
    "Assignment",
    "InputImage",
    "IsolationTier",
    "Remembering",
    "Reply",
    "SelfDriving",
    "TaskView",
]

IsolationTier = Literal["in-process", "process", "wrapped", "sandboxed"]
"""How far an agent is kept from the answers; only ``sandboxed``, our own sandbox, counts as isolated: what a command of
the user's does that an agent was ``wrapped`` in, nobody knows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputImage:
    """A picture that belongs to an intent."""

    name: str
    """The last part of its address or file name."""
    media_type: str
    """``image/png``, ``image/jpeg``, ``image/gif`` or ``image/webp``."""
    data: bytes = field(repr=False)

    @property
    def data_url(self) -> str:
        """Its bytes as a ``data:`` address."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """All that an agent is told of its task. Checks, solution and file names are not in it."""

    intent: str
    images: tuple[InputImage, ...] = ()
    """Pictures that belong to the intent."""
    sites: Mapping[str, str] = field(default_factory=dict)
    """Site name to base URL, without a trailing slash."""
    reach: Mapping[str, str] = field(default_factory=dict)
    """The same of other sites that can be visited."""
    start: tuple[str, ...] = ()
    """Addresses of the tabs open at the beginning."""
    max_steps: int = 30
    seed: int = 0
    """Differs between trials of one task, equal between runs: seed any randomness with it."""
    memory: str | None = None
    """What earlier trials left (`Remembering`), empty for the first one; None: the definition asks for no memory."""
    answer_format: AnswerFormat = "text"
    """``verified``: the answer has to be a typed response (`answers.RESPONSE_SCHEMA`)."""

    answer_form: str = ""
    """What the task itself says of the form of its answer: a number, the letter of an option, a last line."""

    @property
    def answer_instructions(self) -> str:
        """What a model has to be told of the form of its answer; empty when any text will do."""
        return "\n\n".join(filter(None, (self.answer_form, instructions(self.answer_format))))

    @property
    def objective(self) -> str:
        """The intent, and below it the form of the answer where it has one: all that an agent has to know."""
        return "\n\n".join(filter(None, (self.intent, self.answer_instructions)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """What makes an agent of a definition: the view of the task, and what only the harness's own agents may use."""

    view: TaskView
    task: Task
    """With checks and solution: for privileged built-ins alone."""
    trial: int = 1
    attempt: int = 1
    key: str = ""
    """Names the trial among model calls and in the response cache; equal in every run."""
    folder: Path | None = None
    """The attempt's folder, for files of the agent's own that belong to the record (a process's stderr, prompts)."""
    temp_dir: Path | None = None
    """For files of the agent's own that go with the run; None: the system's."""
    limits: AgentLimits = field(default_factory=lambda: AgentLimits())
    """The trial's limits, whoever set them. `episode` holds them; an agent that makes several calls a step may look."""
    worker: str = "main"
    """Which process of the run this is."""
    models: ModelSettings | None = None
    """The run's budget, count of calls, cache and prices. None outside of runs: no budget, no cache."""
    waiting: Callable[[str], AbstractContextManager[object]] = nullcontext
    """Tells whoever looks at the run what is waited for inside, e.g. ``the model m``."""
    beside: Callable[[str], Beside | None] = lambda selector: None
    """What is next to an element of the current page, by its selector: for privileged built-ins alone."""
    refusal: Callable[[str], str] = lambda url: ""
    """Why the gateway refused to lead to an address when that was last asked for; empty when it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What an agent's ``act`` may return when an action or its text alone does not tell enough.

    >>> Reply("```click [4]```", thought="the cart").thought
    'the cart'
    """

    action: Action | str = field(kw_only=False)
    """An action, or text in the definition's grammar."""
    raw: str = ""
    """What the agent said, verbatim; empty: the action as text."""
    thought: str = ""
    """Its reasons, where they are apart from the action."""
    usage: Usage | None = None
    """What this step's model calls used; `episode` adds the steps up and holds them against the limits."""
    retries: int = 0
    """Replies before this one that were no action and were asked for again without a step."""
    model_calls: str = ""
    """File with prompts and replies that the agent wrote below `Assignment.folder`, relative to it."""
    ended: tuple[StopReason, str] | None = None
    """The agent ran into a limit of its own (tokens, cost, context): the episode ends with this reason and detail, the
    action is not carried out and no step is counted."""

    def __post_init__(self) -> None:
        # Here, in the agent's own call: what is found later would look like a fault of ours.
        for name, kind in (
            ("raw", str),
            ("thought", str),
            ("usage", Usage | None),
            ("retries", int),
            ("model_calls", str),
        ):
            if not isinstance(value := getattr(self, name), kind):
                raise TypeError(f"Reply: expected {name} to be {kind}, found {type(value).__name__}")
        if not is_count(self.retries):
            raise TypeError("Reply: expected retries to be a whole number from 0 to 10**15, found another")
        ended: object = self.ended
        known = get_args(StopReason)
        if ended is not None and not (
            isinstance(ended, tuple) and len(ended) == 2 and ended[0] in known and isinstance(ended[1], str)
        ):
            raise TypeError(f"Reply: expected ended to be a pair of {', '.join(known)} and a text, found {ended!r}")


@runtime_checkable
class Agent(Protocol):
    """One trial's agent. ``act`` may be a plain method or a coroutine; a ``close()`` is called if there is one.

    >>> class Quitter:
    ...     def act(self, observation):
    ...         return "```stop [I give up]```"
    >>> isinstance(Quitter(), Agent)
    True
    """

    def act(self, observation: Observation) -> Action | str | Reply | Awaitable[Action | str | Reply]:
        """The next action, given what is seen now."""
        ...


class SelfDriving(Protocol):
    """One trial's agent that is given a browser of its own in place of observations, and returns when it is done.

    ``close()`` is called if there is one, and ``cut_off()``, from another thread, if it does not end by itself.
    """

    def drive(self, cdp_url: str, http_url: str) -> Any | Awaitable[Any]:
        """Do the task in the browser at that address, a WebSocket's or the one below which ``/json/version`` tells it.

        Returns the answer as text, as `Reply`, or None.
        """
        ...


class Remembering(Protocol):
    """An agent, of either sort, whose definition asks for memory across trials."""

    def remember(self, reason: StopReason) -> str | Remembered | Awaitable[str | Remembered | None] | None:
        """What later trials are to be told, in place of what this one was; None leaves it.

        Called once, after the last action and before ``close()``, with the reason why the trial ended. What the checks
        say of it is not known, and is never told.
        """
        ...


def _steps(value: object) -> object:
    if value is None or value == "webcanvas" or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ValueError("a whole number, webcanvas or null")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLimits:
    """What ends a trial of this agent; None leaves it to the run. Flags given by the user are in it already."""

    steps: Annotated[int | Literal["webcanvas"] | None, _steps] = None
    """``webcanvas``: 1.5 times as many as the task's known way to do it takes, and at least 10."""
    seconds: float | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cost: float | None = None
    """US dollars."""

    def __post_init__(self) -> None:
        for name in ("steps", "seconds", "input_tokens", "output_tokens", "cost"):
            if (value := getattr(self, name)) in (None, "webcanvas"):
                continue
            if not 0 < value < float("inf"):
                raise ValueError(f"{name}: expected a number above 0, found {value!r}")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDefinition:
    """A named way to make agents. Part of every record: ``id`` and ``digest``."""

    id: str
    """Names the agent in node ids, records and reports; ``[A-Za-z0-9._-]+``."""
    make: Callable[[Assignment], Agent | SelfDriving]
    """A fresh agent for one trial. Only privileged built-ins look at the task."""
    digest: str
    """Changes when the agent's definition, an override or a file it names changes; resume compares it."""
    kind: str = "python"
    grammar: str = "webarena"
    """How text replies are read."""
    observation: Mapping[str, Any] = field(default_factory=dict)
    """Keys of `ObservationConfig` that this agent asks for; the run's settings fill the rest."""
    viewport: tuple[int, int] | None = None
    """Width and height in CSS pixels; None: the run's."""
    viewport_of: Callable[[Task, int], tuple[int, int] | None] = field(default=lambda task, trial: None)
    """That of this trial of the task; None: ``viewport``."""
    hears_scripts: Callable[[Task, int], bool] = field(default=lambda task, trial: False)
    """Whether checks of this trial of the task hear of what scripts do (`SessionConfig.hears_scripts`)."""
    uncounted: Callable[[Action], bool] = field(default=lambda action: False)
    """Which of its actions are no steps to the limit of steps and to the rules about repetition."""
    limits: AgentLimits = field(default_factory=AgentLimits)
    prompt: str = ""
    """Which prompt its model is asked with, for records; empty for agents that are no model's, or don't tell."""
    asking: Mapping[str, Any] = field(default_factory=dict)
    """How its model is asked beside that, for records: sampling, host names, retries of malformed replies, …"""
    participant: str = ""
    """Who it is, for records: a person who takes part in a study; empty for others."""
    model: str = ""
    """Name of its model, for records; empty when it has none or does not tell."""
    reward_model: str = ""
    """Name of the model that tells it after each step how far it has come, for records; empty when there is none."""
    tier: IsolationTier = "in-process"
    privileged: bool = False
    """It sees the task's solution (the oracle): its results say nothing about agents."""
    source: str = ""
    """Where it was found, for messages and records."""
    overridden: tuple[str, ...] = ()
    """Options of the command line that changed it, e.g. ``--model``."""
    dialogs: Callable[[Task, int], DialogPolicy | None] = field(default=lambda task, trial: None)
    """What becomes of native dialogs in this trial of the task; None: what the run says."""
    memory: MemoryKeys | None = None
    """Which trials share a memory; None: each begins with nothing."""
    asks_models: bool = True
    """Whether it may ask a model that it tells nothing of. Those that certainly ask none are known to use nothing."""
    self_driving: bool = False
    """``make`` returns a `SelfDriving`, else an `Agent`."""
    meddles: bool = False
    """Whether something is taken away from the sites behind its back when it has stopped: for audits alone."""
    rooted: bool = False
    """The ``http_url`` that it drives has no path: clients that know a browser by host and port find it."""
    raises: tuple[type[WebArenaError], ...] = ()
    """Errors of ours that its code may raise about something else than the agent: that of a kind which runs nobody
    else's code in this process. Whatever else comes out of it, errors of ours included, is an agent that crashed."""
    check: Callable[[ModelSettings], None] = field(default=lambda settings: None)
    """Called once before a run: raises `UsageError` for what is missing, such as a key or a price."""
    lacks: Callable[[Task], str] = field(default=lambda task: "")
    """Called for each task before a run: what this agent needs of it that is not there, in a sentence; else empty."""
    judged: Callable[[Task, int, Path, str, Verdict], str] = field(
        default=lambda task, trial, folder, outcome, verdict: ""
    )
    """Called when a trial of it was judged, with the number of the trial, the attempt's folder, the outcome and the
    verdict: what is to be told beside the reasons; mostly nothing."""
    search: SearchKeys | None = None
    """What answers its action ``search``; None: nobody."""
    reach: Callable[[ModelSettings], None] = field(default=lambda settings: None)
    """Called once before the first trial: raises a `TrialError` when nobody is where its model should be."""
