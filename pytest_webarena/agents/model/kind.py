"""The kind ``model`` of agent definitions: its keys, their defaults, and the checks before a run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, Literal

from pytest_webarena.actions import Action
from pytest_webarena.agents.kinds import AgentKind, Common
from pytest_webarena.agents.model.computer.keys import ComputerKeys, tool_name
from pytest_webarena.agents.model.history import HistoryKeys, Policy
from pytest_webarena.agents.model.hosts import PAPER_NAMES
from pytest_webarena.agents.model.prompt import Prompt, prompt_identity, read_prompt
from pytest_webarena.agents.model.replies import ReplyForm
from pytest_webarena.agents.model.reward import By, RewardKeys, RewardPrompt, reward_identity
from pytest_webarena.agents.model.upstream import UPSTREAM
from pytest_webarena.agents.protocol import Agent, AgentDefinition, Assignment, TaskView
from pytest_webarena.browser.config import DialogPolicy, ObservationConfig
from pytest_webarena.browser.observation.drawing import require_pillow
from pytest_webarena.errors import ModelError, RecordingError, UsageError
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.messages import Sampling
from pytest_webarena.llm.prices import Price, read_prices
from pytest_webarena.llm.sdks import require_package
from pytest_webarena.tasks.model import Task

if TYPE_CHECKING:
    from pytest_webarena.agents.model.computer.session import ComputerUse

__all__ = ["KIND", "ModelKeys"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelKeys:
    """Keys of a definition of kind ``model``."""

    model: str = ""
    """Name of the model at its endpoint."""
    endpoint: Endpoint = field(default_factory=Endpoint)
    """The endpoint: address, API and key."""
    prompt: str = "standard"
    """``webarena``, ``standard``, or a file next to the definition: Jinja2 (.j2) or the original harness's .json."""
    reply: ReplyForm = "text"
    """Form of replies. ``text``: an action in the grammar. ``tools``: a function call. ``json``: structured output with
    the action. ``computer``: calls of the provider's computer-use tool, by coordinates on screenshots."""
    computer: ComputerKeys = field(default_factory=ComputerKeys)
    """The tool and the policy on safety checks, for ``reply: computer``."""
    reasoning: bool = True
    """Whether the model gives its reasons before the action."""
    examples: bool = False
    """Whether the prompt contains its two worked examples."""
    unachievable_hint: bool = True
    """Whether the prompt says what to do with a task that cannot be done."""
    error_feedback: bool = True
    """Whether the model receives the reason why an action had no effect, and notes on other events on the page."""
    planning: bool = False
    """Whether the model plans before it acts: what is done, what is left, what comes next. Needs the grammar
    ``webcanvas``."""
    react: bool = False
    """Whether the model reasons from the effect of its last action, and sees its thoughts and the effect of each
    action."""
    reward: By | RewardKeys = "none"
    """Who assesses progress after each step: ``self``, ``reference`` (with the task's guide), or ``none``."""
    first_step: Literal["any", "search_or_goto"] = "any"
    """Actions that are allowed as the first one."""
    history: Policy | HistoryKeys = "actions"
    """What the model receives about earlier steps."""
    invalid_retries: int = 2
    """Number of replies without an action, 0 to 10, that are requested again without using a step."""
    sampling: Sampling = field(default_factory=Sampling)
    host_names: Literal["paper"] | Mapping[str, str] | None = None
    """Addresses to show in place of the sites' own, by site; ``paper``: those of WebArena's paper."""
    image_detail: Literal["auto", "low", "high"] = "auto"
    tools: tuple[str, ...] = ()
    """Names of the tools to offer; empty: all."""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """Further keys of each request, e.g. ``{max_tokens: 400}`` for servers that do not know
    ``max_completion_tokens``."""

    def __post_init__(self) -> None:
        if not 0 <= self.invalid_retries <= 10:
            raise ValueError(f"invalid_retries: expected 0 to 10, found {self.invalid_retries}")

    @property
    def rewarding(self) -> RewardKeys | None:
        """The requested reward model; a single word is short for ``by``."""
        reward = RewardKeys(by=self.reward) if isinstance(self.reward, str) else self.reward
        return reward if reward.by != "none" else None

    @property
    def endpoints(self) -> tuple[tuple[str, Endpoint], ...]:
        """The models that the agent uses, each with its endpoint: the planner, and the reward model if there is one."""
        planner, reward = (self.model, self.endpoint), self.rewarding
        if reward is None:
            return (planner,)
        return (planner, (reward.model or self.model, reward.endpoint or self.endpoint))


def _build(common: Common, keys: ModelKeys) -> AgentDefinition:
    prompt = read_prompt(
        keys.prompt, common.base, common.where, reasoning=keys.reasoning, unachievable_hint=keys.unachievable_hint,
        grammar=common.keys.grammar,
    )  # fmt: skip
    known = {tool["name"] for tool in _tools(keys, common)} if keys.reply == "tools" else set()
    for name in keys.tools:
        if keys.reply != "tools":
            raise UsageError(f"{common.where}: tools: expected also 'reply: tools', found reply {keys.reply!r}")
        if name not in known:
            raise UsageError(f"{common.where}: tools: unknown tool {name!r}")
    if common.memory is not None and not prompt.mentions("memory"):
        raise UsageError(f"{common.where}: memory: expected a prompt that shows '{{{{ memory }}}}', found none in it")
    _check_sampling(common, keys)
    _check_planning(common, keys, prompt)
    _check_computer(common, keys)
    reward = keys.rewarding
    template = reward.template(common.base, common.where) if reward is not None else None
    rewarding = reward_identity(reward, template) if reward is not None and template is not None else ""
    offered = not keys.tools or bool({"accept_dialog", "dismiss_dialog"} & set(keys.tools))
    dialog_policy: DialogPolicy | None = "hold" if keys.reply == "tools" and offered else None
    return common.definition(
        lambda assignment: _make(common, keys, prompt, template, assignment),
        files=(*prompt.files, *(template.files if template is not None else ())),
        model=keys.model,
        prompt="; reward: ".join(filter(None, (prompt_identity(keys.prompt, prompt), rewarding))),
        request_settings=_request_settings(common, keys),
        reward_model=keys.endpoints[-1][0] if reward is not None else "",
        observation=_observation(common, reward),
        dialogs=(lambda task, trial: dialog_policy) if keys.reply == "tools" else None,
        check=lambda settings: _check(common, keys, settings),
        check_connection=lambda settings: _check_connection(keys, settings),
        missing_requirement=lambda task: _missing(task, keys),
        raises=(ModelError, UsageError, RecordingError),  # the endpoint fails; its key is missing; the disk is full
    )


def _request_settings(common: Common, keys: ModelKeys) -> dict[str, Any]:
    """How the model is asked, for records, without the prompt. Values in ``extra`` override those of ``sampling``, as
    in requests."""
    sampling = {name: value for name, value in asdict(keys.sampling).items() if value not in (None, ())}
    synonyms = {"max_completion_tokens": "max_tokens", "max_output_tokens": "max_tokens"}
    for name, value in keys.extra.items():
        if (known := synonyms.get(name, name)) in asdict(keys.sampling):
            sampling[known] = value
    hosts = keys.host_names if isinstance(keys.host_names, str) or keys.host_names is None else dict(keys.host_names)
    return {
        "sampling": sampling,
        "host_names": "paper" if hosts == PAPER_NAMES else hosts,
        "invalid_retries": keys.invalid_retries,
        "history": keys.history if isinstance(keys.history, str) else keys.history.policy,
        "reply": keys.reply,
        "grammar": common.keys.grammar,
        **({"computer": asdict(keys.computer)} if keys.reply == "computer" else {}),
    }


def _check_sampling(common: Common, keys: ModelKeys) -> None:
    """Raise `UsageError` for settings that an endpoint's API does not have."""
    from pytest_webarena.llm.apis import APIS

    reward = keys.rewarding
    for where, endpoint, sampling in (
        ("", keys.endpoint, keys.sampling),
        *([("reward: ", reward.endpoint or keys.endpoint, reward.sampling)] if reward is not None else []),
    ):
        if problem := APIS[endpoint.api].problem(sampling):
            raise UsageError(f"{common.where}: {where}{problem}")


def _check_computer(common: Common, keys: ModelKeys) -> None:
    """Raise `UsageError` for settings that computer use does not support."""
    if keys.reply != "computer":
        if keys.computer != ComputerKeys():
            raise UsageError(f"{common.where}: computer: expected also 'reply: computer', found reply {keys.reply!r}")
        return
    from pytest_webarena.llm.apis import APIS

    shown = ObservationConfig.from_plain(common.observation, where=common.where)
    tools = APIS[keys.endpoint.api].computer_tools
    name = tool_name(keys.computer, keys.model, tools) if tools else ""
    for expected, found, is_right in (
        ("endpoint: {api: responses}, anthropic or google", f"api: {keys.endpoint.api}", bool(tools)),
        (f"a tool of that API ({', '.join(tools)})", f"computer: {{tool: {name}}}", name in tools),
        ("a screenshot among 'observation'", ", ".join(shown.kinds), shown.pictured("plain")),
        ("screenshots of the window", "screenshot_full_page: true", not shown.screenshot_full_page),
        ("reward: none", "a reward model", keys.rewarding is None),
    ):
        if not is_right:
            raise UsageError(f"{common.where}: reply: computer: expected {expected} with it, found {found}")
    if name in ("computer_toolset_20260801", "computer_20251124") and "zoom" not in keys.computer.exclude:
        require_pillow(f"{common.where}: computer: the action zoom ('exclude: [zoom]' leaves it out)")


def _check_planning(common: Common, keys: ModelKeys, prompt: Prompt) -> None:
    """Raise `UsageError` for switches without effect or in conflict."""
    if keys.planning and (common.keys.grammar != "webcanvas" or keys.reply != "text"):
        raise UsageError(
            f"{common.where}: planning: expected 'grammar: webcanvas' and 'reply: text', because other replies have "
            f"no place for a plan; found grammar {common.keys.grammar!r}, reply {keys.reply!r}"
        )
    if keys.react and not keys.reasoning:
        raise UsageError(f"{common.where}: react: expected 'reasoning: true' with it, found false")
    history = keys.history if isinstance(keys.history, str) else keys.history.policy
    if keys.react and history == "previous_action":
        raise UsageError(f"{common.where}: react: expected a history of all steps, found {history!r}")
    if (reward := keys.rewarding) is not None and reward.ends == "never" and history != "reflections":
        raise UsageError(
            f"{common.where}: reward: expected 'history: reflections', which shows rewards to the model, or another "
            f"'ends'; found history {history!r} and ends 'never': nothing would use the rewards"
        )
    for name, is_enabled, variable in (
        ("planning", keys.planning, "planning"),
        ("react", keys.react, "details"),
        ("history: reflections", history == "reflections", "details"),
    ):
        if is_enabled and not prompt.mentions(variable):
            raise UsageError(
                f"{common.where}: {name}: expected a prompt that makes use of '{variable}', found none in it"
            )


def _observation(common: Common, reward: RewardKeys | None) -> dict[str, Any]:
    """Observation settings: what the planner is shown, and the screenshot that the reward model needs."""
    settings = common.observation
    if reward is None or reward.sees == "text":
        return settings
    shown = ObservationConfig.from_plain(settings, where=common.where)
    return settings if shown.pictured("plain") else {**settings, "kinds": [*shown.kinds, "screenshot"]}


def _missing(task: Task, keys: ModelKeys) -> str:
    """Return what the agent needs for a task and does not have; empty if it has everything."""
    if keys.prompt.partition(":")[0] == UPSTREAM and task.source.get("suite") == "arb":
        return "prompt: upstream: ARB publishes no file with its prompts (its paper prints some); name another prompt"
    return _missing_guide(task) if keys.rewarding is not None and keys.rewarding.by == "reference" else ""


def _missing_guide(task: Task) -> str:
    from pytest_webarena.agents.model.guides import guide_of

    try:
        guide_of(task)
    except UsageError as error:
        return str(error)
    return ""


def _make(
    common: Common, keys: ModelKeys, prompt: Prompt, template: RewardPrompt | None, assignment: Assignment
) -> Agent:
    from pytest_webarena.agents.model.agent import ModelAgent
    from pytest_webarena.agents.model.style import Reward, Style
    from pytest_webarena.browser.grammars import grammar
    from pytest_webarena.llm.client import ModelClient
    from pytest_webarena.llm.messages import Tool

    spoken = grammar(common.keys.grammar)
    if assignment.view.answer_format != "text":
        keys = replace(keys, unachievable_hint=False)  # the typed response has a status for that
    shown = ObservationConfig.from_plain(common.observation, where=common.where)
    style = Style(
        model=keys.model,
        prompt=prompt,
        form=keys.reply,
        parse=spoken.parse,
        parse_call=_call,
        grammar=_grammar_text(spoken.describe(), keys.unachievable_hint, searching=common.keys.search is not None),
        tools=tuple(Tool(**tool) for tool in _tools(keys, common, assignment.view)) if keys.reply == "tools" else (),
        computer=_computer(keys) if keys.reply == "computer" else None,
        sampling=keys.sampling,
        history=keys.history if isinstance(keys.history, HistoryKeys) else HistoryKeys(policy=keys.history),
        kinds=shown.kinds,
        remarks=spoken.remarks,
        planning=keys.planning,
        react=keys.react,
        first_step=keys.first_step,
        searching=common.keys.search is not None,
        reasoning=keys.reasoning,
        examples=keys.examples,
        unachievable_hint=keys.unachievable_hint,
        error_feedback=keys.error_feedback,
        invalid_retries=keys.invalid_retries,
        host_names=PAPER_NAMES if keys.host_names == "paper" else keys.host_names,
        image_detail=keys.image_detail,
        extra=keys.extra,
    )
    settings = assignment.models or ModelSettings()
    worker, waiting = assignment.worker, assignment.waiting
    client = ModelClient(keys.endpoint, settings, trial=assignment.key, worker=worker, waiting=waiting)
    reward = None
    if (rewarding := keys.rewarding) is not None and template is not None:
        from pytest_webarena.agents.model.guides import guide_of

        endpoint = rewarding.endpoint or keys.endpoint
        reward = Reward(
            keys=rewarding,
            model=rewarding.model or keys.model,
            prompt=template,
            client=ModelClient(
                endpoint, settings, trial=assignment.key, purpose="reward", worker=worker, waiting=waiting
            ),
            where=endpoint.url,
            guide=guide_of(assignment.task).text if rewarding.by == "reference" else "",
        )
    return ModelAgent(assignment, style, client, reward)


def _computer(keys: ModelKeys) -> ComputerUse:
    from pytest_webarena.agents.model.computer.session import ComputerUse
    from pytest_webarena.llm.apis import APIS

    name = tool_name(keys.computer, keys.model, APIS[keys.endpoint.api].computer_tools)
    return ComputerUse(keys.computer, name, keys.endpoint.api, keys.image_detail)


def _grammar_text(grammar: str, hint: bool, *, searching: bool) -> str:
    """The grammar, without lines about tasks that cannot be done unless ``hint``, and without the search unless
    ``searching``."""
    lines = [line for line in grammar.strip().splitlines() if hint or "can't be done" not in line]
    return "\n".join(line for line in lines if searching or not line.startswith("search "))


def _call(name: str, arguments: str) -> Action:
    from pytest_webarena.browser.grammars.tools import parse_call

    action: Action = parse_call(name, arguments)
    return action


def _tools(keys: ModelKeys, common: Common, view: TaskView | None = None) -> list[dict[str, Any]]:
    from pytest_webarena.browser.grammars.tools import tools

    shown = ObservationConfig.from_plain(common.observation, where=common.where)
    by_id = any(form.ids for form in shown.forms)
    targets: Literal["elements", "points", "both"] = "elements" if by_id else "points"
    if by_id and shown.pictured("plain"):
        targets = "both"
    offered = tools(targets=targets, only=keys.tools, answer=view.answer_schema if view is not None else None)
    return [tool for tool in offered if keys.unachievable_hint or tool["name"] != "report_infeasible"]


def _check(common: Common, keys: ModelKeys, settings: ModelSettings) -> None:
    """Raise `UsageError` for what is missing before a run: model, package, key, or a price that a cost limit needs."""
    if not keys.model:
        raise UsageError(f"{common.where}: expected the name of a model: give --model, or the key 'model'")
    bounded = "--max-cost" if settings.max_cost is not None else "a limit of cost" if common.keys.limits.cost else ""
    prices = read_prices(settings.prices)  # reports mistakes in the table before the run
    for model, endpoint in dict.fromkeys(keys.endpoints):
        require_package(endpoint, common.where)
        _ = endpoint.url
        endpoint.key()
        price = prices.price(model, url=endpoint.url)
        if bounded and price is None:
            raise UsageError(
                f"{common.where}: expected a price for model {model!r}, because {bounded} limits the run; "
                "add it to a table and name that with --prices"
            )
        if bounded and endpoint.api == "anthropic" and isinstance(price, Price) and price.cache_write is None:
            raise UsageError(
                f"{common.where}: expected also 'cache_write' in the price of model {model!r}, because {bounded} "
                "limits the run and Anthropic charges for it; add it to the table"
            )


def _check_connection(keys: ModelKeys, settings: ModelSettings) -> None:
    """Raise `ModelError` when an endpoint accepts no connections. Skipped with a response cache, which may make
    endpoints unnecessary."""
    from pytest_webarena.llm.client import connect

    if settings.cache is None:
        for model, endpoint in dict.fromkeys(keys.endpoints):
            connect(endpoint, model)


KIND = AgentKind(
    name="model", about="a model behind an API of OpenAI, Anthropic or Google", keys=ModelKeys, build=_build
)
