"""The agent interface: what an agent is, what it may know, what it may reply, and how a definition makes one per
trial."""

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
    from pytest_webarena.browser.reports import AdjacentControl
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
"""How well an agent is isolated from the answers. Only ``sandboxed``, the built-in sandbox, counts as isolated: how a
user's command isolates a ``wrapped`` agent is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class InputImage:
    """An image that belongs to an intent."""

    name: str
    """Last part of the image's address or file name."""
    media_type: str
    """``image/png``, ``image/jpeg``, ``image/gif`` or ``image/webp``."""
    data: bytes = field(repr=False)

    @property
    def data_url(self) -> str:
        """The image as a ``data:`` URL."""
        return f"data:{self.media_type};base64,{base64.b64encode(self.data).decode()}"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskView:
    """Everything that an agent receives about its task. It contains no checks, solution or file names."""

    intent: str
    images: tuple[InputImage, ...] = ()
    """Images of the intent."""
    sites: Mapping[str, str] = field(default_factory=dict)
    """Site name to base URL, without a trailing slash."""
    reach: Mapping[str, str] = field(default_factory=dict)
    """Name to base URL of other sites that can be visited."""
    start: tuple[str, ...] = ()
    """Addresses of the tabs that are open at the beginning."""
    max_steps: int = 30
    seed: int = 0
    """Seed for any randomness; differs between trials of a task, and is the same in every run."""
    memory: str | None = None
    """Memory that earlier trials left (`Remembering`), empty for the first one; None: the definition asks for no
    memory."""
    answer_format: AnswerFormat = "text"
    """Format of the answer. ``verified``: it has to be a typed response (`answers.RESPONSE_SCHEMA`)."""

    answer_form: str = ""
    """The task's own instructions on the form of its answer: a number, the letter of an option, a last line."""
    answer_schema: Mapping[str, Any] | None = None
    """JSON schema of the answer, for agents that give it in a tool call; None: any text. `answers.plain_text` returns
    such an answer as text."""

    @property
    def answer_instructions(self) -> str:
        """All instructions on the form of the answer for a model; empty when any text will do."""
        return "\n\n".join(filter(None, (self.answer_form, instructions(self.answer_format))))

    @property
    def objective(self) -> str:
        """The intent, followed by the answer instructions if there are any: all that an agent has to know."""
        return "\n\n".join(filter(None, (self.intent, self.answer_instructions)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """The input for making an agent: the view of the task, and data that only the harness's own agents may use."""

    view: TaskView
    task: Task
    """The task with checks and solution, for privileged built-in agents only."""
    trial: int = 1
    attempt: int = 1
    key: str = ""
    """Identifies the trial among model calls and in the response cache; the same in every run."""
    folder: Path | None = None
    """The attempt's folder, for the agent's own files that belong to the record (a process's stderr, prompts)."""
    temp_dir: Path | None = None
    """Directory for the agent's own files that are removed with the run; None: the system's."""
    limits: AgentLimits = field(default_factory=lambda: AgentLimits())
    """The trial's effective limits. `episode` enforces them; an agent that makes several calls per step may check
    them."""
    worker: str = "main"
    """Name of the run's worker process."""
    models: ModelSettings | None = None
    """The run's budget, call record, cache and prices. None outside of runs: no budget, no cache."""
    waiting: Callable[[str], AbstractContextManager[object]] = nullcontext
    """Reports to the user what is waited for inside the block, e.g. ``the model m``."""
    find_neighbour: Callable[[str], AdjacentControl | None] = lambda selector: None
    """Function that finds the neighbour of an element of the current page by its selector, for privileged built-in
    agents only."""
    refusal: Callable[[str], str] = lambda url: ""
    """Function that returns why the gateway refused the latest request for an address; empty when it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reply:
    """What an agent's ``act`` may return when an action or its text is not enough.

    >>> Reply("```click [4]```", thought="the cart").thought
    'the cart'
    """

    action: Action | str = field(kw_only=False)
    """An action, or text in the definition's grammar."""
    raw: str = ""
    """The agent's reply, verbatim; empty: the action as text."""
    thought: str = ""
    """The agent's reasoning, when it is separate from the action."""
    usage: Usage | None = None
    """Usage of this step's model calls; `episode` sums up the steps and compares the sum with the limits."""
    retries: int = 0
    """Number of earlier replies in this step that contained no action and were requested again."""
    model_calls: str = ""
    """File with prompts and replies that the agent wrote in `Assignment.folder`, relative to it."""
    ended: tuple[StopReason, str] | None = None
    """Set when the agent reached a limit of its own (tokens, cost, context): the episode ends with this reason and
    detail, the action is not carried out, and no step is counted."""

    def __post_init__(self) -> None:
        # Checked in the agent's own call, because a later error would look like the harness's fault.
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
    """The agent of one trial. ``act`` may be a plain method or a coroutine. If there is a ``close()``, it is called at
    the end.

    >>> class Quitter:
    ...     def act(self, observation):
    ...         return "```stop [I give up]```"
    >>> isinstance(Quitter(), Agent)
    True
    """

    def act(self, observation: Observation) -> Action | str | Reply | Awaitable[Action | str | Reply]:
        """The next action for the current observation."""
        ...


class SelfDriving(Protocol):
    """The agent of one trial that gets a browser of its own instead of observations, and returns when it is done.

    If there is a ``close()``, it is called at the end; if there is a ``cut_off()``, it is called from another thread
    when the agent does not end on its own.
    """

    def drive(self, cdp_url: str, http_url: str) -> Any | Awaitable[Any]:
        """Do the task in the browser at ``cdp_url`` (a WebSocket), or at ``http_url``, below which ``/json/version``
        returns that.

        Returns the answer as text, as `Reply`, or None.
        """
        ...


class Remembering(Protocol):
    """An `Agent` or `SelfDriving` whose definition asks for memory across trials."""

    def remember(self, reason: StopReason) -> str | Remembered | Awaitable[str | Remembered | None] | None:
        """The memory for later trials, which replaces the one that this agent got; None keeps that one.

        Called once, after the last action and before ``close()``, with the reason why the trial ended. The checks'
        verdict is not known then and is never revealed.
        """
        ...


def _steps(value: object) -> object:
    if value is None or value == "webcanvas" or (isinstance(value, int) and not isinstance(value, bool)):
        return value
    raise ValueError("a whole number, webcanvas or null")


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentLimits:
    """Limits that end a trial of this agent; None: the run's limit. Command-line options are applied already."""

    steps: Annotated[int | Literal["webcanvas"] | None, _steps] = None
    """Maximum number of steps. ``webcanvas``: 1.5 times the length of the task's reference solution, at least 10."""
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
    """A named way to make agents. Records contain its ``id`` and ``digest``."""

    id: str
    """Name of the agent in node ids, records and reports; ``[A-Za-z0-9._-]+``."""
    make: Callable[[Assignment], Agent | SelfDriving]
    """Function that makes a new agent for one trial. Only privileged built-in agents look at the task."""
    digest: str
    """Digest that changes when the definition, an override or a file it names changes; ``--resume`` compares it."""
    kind: str = "python"
    grammar: str = "webarena"
    """Name of the grammar that parses text replies."""
    observation: Mapping[str, Any] = field(default_factory=dict)
    """Keys of `ObservationConfig` that this agent asks for; the run's settings supply the rest."""
    viewport: tuple[int, int] | None = None
    """Width and height of the viewport in CSS pixels; None: the run's."""
    viewport_of: Callable[[Task, int], tuple[int, int] | None] = field(default=lambda task, trial: None)
    """Function that returns the viewport for a trial of a task; None: ``viewport``."""
    observes_scripts: Callable[[Task, int], bool] = field(default=lambda task, trial: False)
    """Whether checks of a trial of a task receive the events of scripts (`SessionConfig.observes_scripts`)."""
    is_uncounted: Callable[[Action], bool] = field(default=lambda action: False)
    """Selects actions that do not count for the step limit and the rules about repetition."""
    limits: AgentLimits = field(default_factory=AgentLimits)
    prompt: str = ""
    """The prompt of its model, for records; empty for agents without a model, or that do not report it."""
    request_settings: Mapping[str, Any] = field(default_factory=dict)
    """Further settings of its model requests, for records: sampling, host names, retries of malformed replies, …"""
    participant: str = ""
    """The participant of a study who acts as this agent, for records; otherwise empty."""
    model: str = ""
    """Name of its model, for records; empty when it has none or does not report it."""
    reward_model: str = ""
    """Name of its reward model, for records; empty when there is none."""
    tier: IsolationTier = "in-process"
    endpoint: str = ""
    """Address at which its author runs it; empty when the harness runs it."""
    privileged: bool = False
    """Whether it sees the task's solution (the oracle), so that its results say nothing about agents."""
    source: str = ""
    """Where the definition was found, for messages and records."""
    overridden: tuple[str, ...] = ()
    """Command-line options that changed it, e.g. ``--model``."""
    dialogs: Callable[[Task, int], DialogPolicy | None] = field(default=lambda task, trial: None)
    """Function that returns the policy for native dialogs in a trial of a task; None: the run's policy."""
    memory: MemoryKeys | None = None
    """Which trials share a memory; None: no memory."""
    asks_models: bool = True
    """Whether it may use models without reporting that. Agents that certainly use none are known to have no usage."""
    self_driving: bool = False
    """Whether ``make`` returns a `SelfDriving`; otherwise an `Agent`."""
    tampers: bool = False
    """Whether a row of the sites' data is deleted directly after it has stopped; for audits only."""
    changes_values: bool = False
    """Whether the values that it wrote are then changed one at a time, to judge again; for audits only."""
    crawls: bool = False
    """Whether the ground of an impossible task is looked for on the sites after it has stopped; for audits only."""
    rooted: bool = False
    """Whether its ``http_url`` has no path, for clients that find a browser by host and port."""
    raises: tuple[type[WebArenaError], ...] = ()
    """This project's errors that its code may raise about something other than the agent. Only kinds that run no
    third-party code in this process have any; every other exception counts as a crash of the agent."""
    check: Callable[[ModelSettings], None] = field(default=lambda settings: None)
    """Called once before a run; raises `UsageError` for missing prerequisites, such as a key or a price."""
    missing_requirement: Callable[[Task], str] = field(default=lambda task: "")
    """Called for each task before a run; returns what the agent needs of the task and lacks, in a sentence, otherwise
    an empty text."""
    on_verdict: Callable[[Task, int, Path, str, Verdict], str] = field(
        default=lambda task, trial, folder, outcome, verdict: ""
    )
    """Called when a trial was judged, with the trial's number, the attempt's folder, the outcome and the verdict.
    Returns a text to report with the reasons, usually empty."""
    search: SearchKeys | None = None
    """The service that answers its action ``search``; None: there is none."""
    check_connection: Callable[[ModelSettings], None] = field(default=lambda settings: None)
    """Called once before the first trial; raises a `TrialError` when its model's endpoint is unreachable."""
