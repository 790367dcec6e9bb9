"""The Gymnasium environment: one episode per `reset`, one action per `step`, the checks' score as the final reward."""

from __future__ import annotations

import io
import math
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import gymnasium
import numpy as np
from gymnasium.spaces import Box, Dict

from pytest_webarena.answers import instructions
from pytest_webarena.browser.config import DialogPolicy, ObservationConfig, SessionConfig
from pytest_webarena.browser.grammars import grammar as find_grammar
from pytest_webarena.checks import REPAIRED, judge_bounded
from pytest_webarena.checks.answer_form import answer_form
from pytest_webarena.checks.grading import answer_format
from pytest_webarena.errors import TaskFileError, UsageError, closest, error_of
from pytest_webarena.evidence import Evidence, StepRecord
from pytest_webarena.gym.browsergym_observation import BrowserGymObservation
from pytest_webarena.gym.rollout import Rollout
from pytest_webarena.gym.shared_runtime import Guest, RuntimeKey, enter
from pytest_webarena.gym.spaces import AnyText
from pytest_webarena.gym.tree import AnyTree, tree
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.sites_for_tasks import sites_for_tasks
from pytest_webarena.suites.loading import is_suite, load_suite
from pytest_webarena.tasks import Task, load_tasks
from pytest_webarena.tasks.placeholders import resolve_placeholders
from pytest_webarena.trials.archive_misses import with_misses
from pytest_webarena.trials.collecting import Collector, Used
from pytest_webarena.trials.episode import Episode, EpisodeLimits
from pytest_webarena.trials.live_sites import with_obstacles
from pytest_webarena.trials.options import QUIET_TIME, WRITE_TIMEOUT, TrialOptions
from pytest_webarena.trials.outcome import decide
from pytest_webarena.trials.trial_environment import TrialEnvironment, set_up_environment

if TYPE_CHECKING:
    from pytest_webarena.actions import Action
    from pytest_webarena.agents.protocol import Reply
    from pytest_webarena.browser.observation import Observation

__all__ = ["TasksEnv"]

_LINE = 10_000
_TEXT = 100_000
_LIMITS = EpisodeLimits(seconds=math.inf)


class TasksEnv(gymnasium.Env[dict[str, Any], "str | Action"]):
    """Web tasks as Gymnasium episodes. Registered as ``pytest_webarena/Tasks-v0``.

    ``tasks`` are suites, task files, folders of them, or `Task` values. ``reset(options={"task": id})`` chooses one;
    without it, tasks come in an order that the seed decides. An action is text in ``grammar``, or an `Action`.
    ``dialogs`` is the policy for native dialogs; None means ``hold`` if the grammar can answer them, otherwise the
    policy of ``session``. A policy of ``session`` other than its default, ``accept``, takes precedence over the
    grammar.

    The observation contains ``goal``, ``text``, ``url``, ``title``, ``error`` (of the last action), ``notes`` and
    ``dialog``, and the same facts under BrowserGym's names (`BrowserGymObservation`). It also contains ``screenshot``
    if ``observation`` asks for an image, and with ``axtree_object`` the page's text as BrowserGym's nodes. The reward
    is 0 until the end, then the checks' score, 0 to 1. An answer terminates the episode; limits and stop rules truncate
    it. ``info`` has ``task``, ``steps``, and at the end ``stop_reason``, ``answer``, ``passed``, ``score`` and
    ``verdict``.

    Nothing starts before the first `reset`. Environments of one process share a browser and the broker of the sites.
    Raises `UsageError` for bad arguments. `reset` and `step` raise `TrialError` when sites or browser fail, or when the
    checks cannot decide: such an episode has no reward and does not count for or against the agent. Call `reset` to
    begin another.
    """

    metadata = {"render_modes": ["ansi", "rgb_array"], "render_fps": 1}  # noqa: RUF012  # Gymnasium's own attribute

    def __init__(
        self,
        tasks: str | Path | Task | Sequence[str | Path | Task],
        *,
        sites: str = "embedded",
        grammar: str = "webarena",
        limits: EpisodeLimits = _LIMITS,
        observation: ObservationConfig | Mapping[str, Any] | None = None,
        session: SessionConfig | None = None,
        browser_executable: str | None = None,
        headed: bool = False,
        write_timeout: float = WRITE_TIMEOUT,
        quiet_time: float = QUIET_TIME,
        render_mode: str | None = None,
        axtree_object: bool = False,
        dialogs: DialogPolicy | None = None,
    ) -> None:
        if render_mode is not None and render_mode not in self.metadata["render_modes"]:
            raise UsageError(
                f"unknown render mode {render_mode!r}; {closest(render_mode, self.metadata['render_modes'])}"
            )
        self.render_mode = render_mode
        actions = find_grammar(grammar)
        self._parse = actions.parse
        self._tasks = _find_tasks(tasks, sites)
        self._limits = limits
        self._options = TrialOptions(write_timeout=write_timeout, quiet_time=quiet_time)
        config = observation or ObservationConfig()
        config = config if isinstance(config, ObservationConfig) else ObservationConfig.from_plain(config)
        config = replace(config, max_chars=min(config.max_chars or _TEXT, _TEXT))
        base, plain = session or SessionConfig(), SessionConfig()
        if dialogs is None:
            dialogs = "hold" if actions.dialogs and base.dialogs == plain.dialogs else base.dialogs
        elif dialogs not in get_args(DialogPolicy):
            raise UsageError(f"unknown dialog policy {dialogs!r}; {closest(dialogs, get_args(DialogPolicy))}")
        self._session_config = replace(base, observation=config, dialogs=dialogs)
        self._key = RuntimeKey(sites, browser_executable, headed)
        self._guest: Guest | None = None
        self._process = -1
        """Id of the process that called `reset`; only that process can use the sites and the browser."""
        self._episode_exits = ExitStack()
        self._environment: TrialEnvironment | None = None
        self._rollout: Rollout | None = None
        self._task: Task | None = None
        self._queue: list[str] = []
        self._collector: Collector | None = None
        self._browsergym: BrowserGymObservation | None = None
        self._observation: Observation | None = None
        self._steps = 0
        lines = {name: AnyText(_LINE) for name in ("goal", "url", "title", "error", "notes", "dialog")}
        spaces: dict[str, gymnasium.Space[Any]] = {
            **lines,
            "text": AnyText(_TEXT),
            **BrowserGymObservation.spaces(_LINE),
        }
        self._has_axtree_object = axtree_object
        if axtree_object:
            if "accessibility_tree" not in config.kinds:
                raise UsageError(
                    "axtree_object: expected accessibility_tree among the kinds of `observation`, its source; "
                    f"found {', '.join(config.kinds)}"
                )
            spaces |= {"axtree_object": AnyTree(), "extra_element_properties": AnyTree()}
        self._has_pictures = config.pictured()
        if self._has_pictures:
            width, height = self._picture_size(config)
            spaces["screenshot"] = Box(0, 255, (height, width, 3), np.uint8)
        self.observation_space = Dict(spaces)
        self.action_space = AnyText(_LINE)

    @property
    def tasks(self) -> tuple[str, ...]:
        """Ids of the tasks, in the order of their files."""
        return tuple(self._tasks)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Begin an episode on fresh sites, with the task in ``options["task"]`` or the next one."""
        self._check_process()
        if unknown := [name for name in options or () if name != "task"]:
            raise UsageError(f"reset: unknown option {unknown[0]!r}; the only one is 'task'")
        super().reset(seed=seed)
        if seed is not None:
            self._queue = []
        task = self._choose((options or {}).get("task"))
        self._end_episode()
        self._process = os.getpid()
        if self._guest is None:
            self._guest = enter(self._key, self._session_config)
        self._steps, self._task = 0, task
        with ExitStack() as exits:
            self._environment = exits.enter_context(
                set_up_environment(task, self._guest, holder=f"gym: {task.id}", options=self._options)
            )
            self._environment.open_first_pages()
            self._episode_exits = exits.pop_all()
        environment = self._environment
        task = self._task = environment.own_addresses.in_value(task)
        collector = self._collector = Collector(task, environment, self._options)

        browsergym = self._browsergym = BrowserGymObservation(self._goal(), environment.images, _LINE)

        def stepped(step: StepRecord) -> None:
            self._steps = step.index + 1
            browsergym.record_step(step)
            collector.stepped(step.index)

        own = task.limits
        limits = replace(
            self._limits,
            steps=own.steps if own.steps is not None else self._limits.steps,
            seconds=own.seconds if own.seconds is not None else self._limits.seconds,
        )
        self._rollout = Rollout(
            environment.session, parse=self._parse, limits=limits, stepped=stepped, arrive=environment.arrive
        )
        first = self._rollout.first()
        observation = environment.session.observe() if isinstance(first, Episode) else first
        extra = {"images": tuple(image.data for image in environment.images)} if environment.images else {}
        return self._shown(observation), {**self._info(), **extra}

    def step(self, action: str | Action | Reply) -> tuple[dict[str, Any], float, bool, bool, dict[str, Any]]:
        """Carry out an action: text in the environment's grammar, an `Action`, or a `Reply` with either of them, whose
        ``usage`` states what choosing it used."""
        self._check_process()
        if self._rollout is None or self._rollout.over or self._environment is None or self._task is None:
            raise gymnasium.error.ResetNeeded("there is no episode under way; call reset()")
        with self._environment.attributing_site_errors():
            result = self._rollout.step(str(action) if isinstance(action, str) else action)
        if not isinstance(result, Episode):
            return self._shown(result), 0.0, False, False, self._info()
        self._rollout = None
        observation = self._environment.session.observe()
        terminated = result.ending.reason == "answered"
        info = self._info()
        with self._environment.attributing_site_errors():
            evidence = self._gather(result)
        verdict = judge_bounded(self._task, evidence)
        decided = decide(verdict, stop_reason=result.ending.reason, stop_detail=result.ending.detail)
        decided = with_misses(decided, evidence)
        lease = self._environment.lease
        decided = with_obstacles(decided, evidence, live=lease is not None and bool(lease.live))
        if decided.cause is not None or (score := verdict.known_score) is None:
            raise error_of(decided.cause or "harness", decided.message)
        info |= {
            "stop_reason": result.ending.reason,
            "answer": result.answer or "",
            "passed": decided.outcome == "passed",
            "score": score,
            "undecided": verdict.judgeable,
            "verdict": verdict.render(),
        }
        return self._shown(observation), score, terminated, not terminated, info

    def render(self) -> Any:
        """The rendered observation: its text for ``ansi``, an image of the viewport for ``rgb_array``."""
        self._check_process()
        if self._environment is None or self._observation is None or self.render_mode is None:
            return None
        if self.render_mode == "ansi":
            return self._observation.render()
        return _pixels(self._environment.session.screenshot(), self._session_config.viewport)

    def close(self) -> None:
        """Release sites and browser. May be called repeatedly; does nothing in a forked process."""
        if self._is_foreign():
            return
        try:
            self._end_episode()
        finally:
            guest, self._guest = self._guest, None
            if guest is not None:
                guest.leave()

    def _is_foreign(self) -> bool:
        return self._process not in (-1, os.getpid())

    def _check_process(self) -> None:
        if self._is_foreign():
            raise UsageError(
                f"expected the process that reset this environment ({self._process}), found one forked off it "
                f"({os.getpid()}), which has neither its episode nor its browser; make environments where they are used"
            )

    def _choose(self, task_id: object) -> Task:
        if task_id is not None:
            if task_id not in self._tasks:
                raise UsageError(f"unknown task {task_id!r}; {closest(str(task_id), self._tasks)}")
            return self._tasks[str(task_id)]
        if not self._queue:
            self._queue = [str(id) for id in self.np_random.permutation(list(self._tasks))]
        return self._tasks[self._queue.pop()]

    def _end_episode(self) -> None:
        rollout, self._rollout = self._rollout, None
        self._environment = self._observation = None
        if rollout is not None:
            rollout.abandon()
        exits, self._episode_exits = self._episode_exits, ExitStack()
        exits.close()

    def _gather(self, episode: Episode) -> Evidence:
        assert self._task is not None
        assert self._collector is not None
        return self._collector.finish(
            answer=episode.answer,
            stop_reason=episode.ending.reason,
            steps=episode.steps,
            answer_format=answer_format(self._task, REPAIRED),
            # The agent's time is unknown: time between two steps, such as training, is not the agent's.
            used=Used(usage=episode.usage, gap=episode.usage_gap),
        )

    def _info(self) -> dict[str, Any]:
        return {"task": self._task.id if self._task else "", "steps": self._steps}

    def _goal(self) -> str:
        if self._task is None or self._environment is None:
            return ""
        formats = (answer_form(self._task, REPAIRED), instructions(answer_format(self._task, REPAIRED)))
        return "\n\n".join(
            filter(None, (resolve_placeholders(self._task.intent, self._environment.live.sites), *formats))
        )

    def _shown(self, observation: Observation) -> dict[str, Any]:
        self._observation = observation
        lines = {
            "goal": self._goal(),
            "url": observation.url,
            "title": observation.title,
            "error": observation.error,
            "notes": "\n".join(observation.notes),
            "dialog": observation.dialog or "",
        }
        fields: dict[str, Any] = {name: text[:_LINE] for name, text in lines.items()}
        fields["text"] = observation.text[:_TEXT]
        assert self._browsergym is not None
        fields |= self._browsergym.shown(observation)
        if self._has_axtree_object:
            fields |= {"axtree_object": tree(fields["text"]), "extra_element_properties": {}}
        if self._has_pictures:
            width, height = self._picture_size(self._session_config.observation)
            fields["screenshot"] = _pixels(observation.marked or observation.screenshot, (width, height))
        return fields

    def _picture_size(self, config: ObservationConfig) -> tuple[int, int]:
        return config.screenshot_size or self._session_config.viewport


def _find_tasks(source: str | Path | Task | Sequence[str | Path | Task], sites: str) -> dict[str, Task]:
    parts = [source] if isinstance(source, str | Path | Task) else list(source)
    known = sites_for_tasks(load_catalogue(sites))
    found: dict[str, Task] = {}
    for part in parts:
        if isinstance(part, Task):
            found[part.id] = part
            continue
        if is_suite(str(part)):
            try:
                suite = load_suite(str(part)).tasks
            except TaskFileError as error:
                raise UsageError(str(error)) from None
            found |= {task.id: task for task in suite if all(site in known for site in task.leased)}
            continue
        path = Path(part)
        files = sorted(path.rglob("*.yaml")) if path.is_dir() else [path]
        for file in files:
            try:
                tasks = load_tasks(file, sites=known)
            except TaskFileError as error:
                raise UsageError(str(error)) from None
            found |= {task.id: task for task in tasks if all(site in known for site in task.leased)}
    if not found:
        raise UsageError(
            f"tasks: expected suites, task files, folders of them or tasks on these sites, found none in {source!r}"
        )
    return found


def _pixels(picture: bytes | None, size: tuple[int, int]) -> Any:
    """The image as rows of RGB pixels; black when there is no image, for example while a dialog is open."""
    width, height = size
    if not picture:
        return np.zeros((height, width, 3), np.uint8)
    from PIL import Image

    image = Image.open(io.BytesIO(picture)).convert("RGB")
    if image.size != size:
        canvas = Image.new("RGB", size)
        image.thumbnail(size)
        canvas.paste(image)
        image = canvas
    return np.asarray(image, np.uint8)
