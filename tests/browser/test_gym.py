"""The Gymnasium environment on embedded sites, single and vectorised."""

from __future__ import annotations

import io
import os
import re
import select
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env
from gymnasium.vector import AsyncVectorEnv, SyncVectorEnv
from PIL import Image

import pytest_webarena.gym
from pytest_webarena.actions import Goto, Stop
from pytest_webarena.browser.config import SessionConfig
from pytest_webarena.browser.engine import BrowserEngine
from pytest_webarena.errors import BrowserError, SiteError, UsageError
from pytest_webarena.gym import ENV_ID, TasksEnv
from pytest_webarena.gym import shared_runtime as houses
from pytest_webarena.trials.episode import EpisodeLimits

TASKS = """
defaults: {sites: [homepage], user: ''}
tasks:
  - id: say-yes
    intent: Answer with yes.
    checks: [{answer: {exact: "yes"}}]
  - id: visit
    intent: Open the manuals, then stop.
    checks: [{url: {exact: /manuals/}}]
    limits: {steps: 2}
"""


@pytest.fixture
def tasks(tmp_path: Path) -> Path:
    """A file of two tasks."""
    (tmp_path / "tasks.yaml").write_text(TASKS)
    return tmp_path / "tasks.yaml"


def without_sites(folder: Path) -> Path:
    """A task without sites, which resets at once."""
    file = folder / "blank.yaml"
    file.write_text("tasks: [{id: blank, intent: Say yes., sites: [], checks: [{answer: {exact: 'yes'}}]}]")
    return file


def picture() -> bytes:
    """A small PNG image."""
    into = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(into, "PNG")
    return into.getvalue()


def flattened(tree: dict[str, Any]) -> str:
    """The tree as text, rebuilt from its nodes' children; each node except the root must have one parent."""
    nodes = {node["nodeId"]: node for node in tree["nodes"]}
    lines: list[str] = []

    def add(node: dict[str, Any], depth: int) -> None:
        properties = [(each["name"], each["value"]["value"]) for each in node["properties"]]
        if "value" in node:
            properties.insert(0, ("value", repr(node["value"]["value"])))
        parts = [f"[{node['browsergym_id']}] {node['role']['value']} {node['name']['value']!r}"]
        lines.append("\t" * depth + " ".join([*parts, *(f"{name}: {value}" for name, value in properties)]))
        for child in node["childIds"]:
            add(nodes.pop(child), depth + 1)

    add(nodes.pop(tree["nodes"][0]["nodeId"]), 0)
    assert not nodes
    return "\n".join(lines)


@pytest.fixture(scope="module")
def browser(shared_engine: BrowserEngine) -> Iterator[str | None]:
    """The browser to use, or None for the default; it and the broker are shared by all tests."""
    named = os.environ.get("WEBARENA_TEST_BROWSER")
    guest = houses.enter(houses.RuntimeKey("embedded", named, False), SessionConfig())
    yield named
    guest.leave()


@pytest.fixture
def env(tasks: Path, browser: str | None) -> Iterator[TasksEnv]:
    """An environment of these tasks."""
    env = TasksEnv(tasks, browser_executable=browser, render_mode="ansi")
    yield env
    env.close()


def test_episode_reward_is_the_score_of_the_checks(env: TasksEnv) -> None:
    observation, info = env.reset(seed=1, options={"task": "say-yes"})
    assert env.observation_space.contains(observation)
    assert observation["goal"] == "Answer with yes."
    assert observation["url"].startswith("http://homepage.test/")
    assert "Tab 0 (current)" in observation["text"]
    assert info == {"task": "say-yes", "steps": 0}

    observation, reward, terminated, truncated, info = env.step("hm")
    assert (reward, terminated, truncated, info["steps"]) == (0.0, False, False, 1)
    assert "No action found" in observation["error"]
    assert "URL: http://homepage.test/" in env.render()

    observation, reward, terminated, truncated, info = env.step("```stop [yes]```")
    assert (reward, terminated, truncated) == (1.0, True, False)
    assert (info["passed"], info["score"], info["answer"], info["stop_reason"]) == (True, 1.0, "yes", "answered")
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("```noop```")

    observation, info = env.reset(options={"task": "visit"})
    assert observation["error"] == ""
    assert env.step(Goto("/"))[1:4] == (0.0, False, False)
    assert env.step(Goto("/manuals/"))[1:4] == (1.0, False, True)  # the task's limit; the current state is judged

    env.reset(options={"task": "visit"})
    env.step("```goto [/manuals/]```")
    assert env.reset(options={"task": "say-yes"})[1]["task"] == "say-yes"  # in the middle of the other one
    assert env.step(Stop("no"))[1:4] == (0.0, True, False)
    with pytest.raises(UsageError, match="did you mean 'visit'"):
        env.reset(options={"task": "vist"})


FORM = """
defaults: {sites: [homepage], user: ''}
tasks:
  - id: ask
    intent: Say yes.
    images: [file:look.png]
    checks: [{answer: {exact: "yes"}}]
"""


@pytest.mark.exhaustive
def test_observation_has_the_fields_of_browsergym(tmp_path: Path, browser: str | None) -> None:
    (tmp_path / "look.png").write_bytes(picture())
    (tmp_path / "tasks.yaml").write_text(FORM)
    env = TasksEnv(tmp_path, grammar="playwright", browser_executable=browser, axtree_object=True)
    try:
        first, _ = env.reset(seed=1)
        assert flattened(first["axtree_object"]) == first["text"].partition("\n\n")[2]
        assert env.observation_space.contains(first)
        assert (first["open_pages_urls"], first["active_page_index"].tolist()) == ((first["url"],), [0])
        assert first["open_pages_titles"] == (first["title"],)
        assert (first["last_action"], first["last_action_error"], first["elapsed_time"].tolist()) == ("", "", [0.0])
        assert first["goal_object"][0] == {"type": "text", "text": first["goal"]}
        assert first["goal_object"][1]["image_url"]["url"].startswith("data:image/png;base64,")
        assert [(message["role"], message["message"]) for message in first["chat_messages"]] == [
            ("user", first["goal"])
        ]
        again, _ = env.reset(seed=1)
        assert again["chat_messages"] == first["chat_messages"]
        assert again["elapsed_time"] == first["elapsed_time"]

        (link, *_) = re.findall(r"\[(\d+)\] link", again["text"])
        focused = env.step("keyboard_press('Tab')")[0]
        assert focused["focused_element_bid"]
        assert focused["focused_element"].startswith(f"[{focused['focused_element_bid']}] ")
        assert focused["last_action"] == "keyboard_press('Tab')"
        assert focused["elapsed_time"][0] > 0
        wrong = env.step(f"click('a{link}')")[0]
        assert f"'a{link}' is an id of another tree" in wrong["last_action_error"] == wrong["error"]
        assert (wrong["url"], wrong["last_action"]) == (first["url"], f"click('a{link}')")
        clicked = env.step(f"click('{link}')")[0]
        assert clicked["last_action_error"] == ""
        opened = env.step("new_tab()")[0]
        assert opened["active_page_index"].tolist() == [1]
        assert opened["open_pages_urls"] == (clicked["url"], opened["url"])
        assert env.step("tab_focus(0)")[0]["active_page_index"].tolist() == [0]
        last, reward, terminated, *_ = env.step("send_msg_to_user('yes')")
        assert (reward, terminated) == (1.0, True)
        assert env.observation_space.contains(last)
        assert [(message["role"], message["message"]) for message in last["chat_messages"][1:]] == [
            ("assistant", "yes")
        ]

        env.reset()
        env.step(Goto("/manuals/"))
        given_up = env.step("report_infeasible('no such page')")[0]
        assert given_up["chat_messages"][-1]["role"] == "infeasible"
        assert given_up["chat_messages"][-1]["message"] == "no such page"
        assert given_up["chat_messages"][-1]["timestamp"] > 0
    finally:
        env.close()


def test_environment_passes_gymnasium_check_env(tmp_path: Path) -> None:
    env = gymnasium.make(ENV_ID, tasks=without_sites(tmp_path), browser_executable="/there/is/none", render_mode="ansi")
    check_env(env.unwrapped)
    env.close()


def test_screenshots_are_arrays_of_the_configured_size(tasks: Path, browser: str | None) -> None:
    env = gymnasium.make(
        ENV_ID,
        tasks=tasks,
        observation={"kinds": ["accessibility_tree", "screenshot"], "screenshot_size": [320, 180]},
        browser_executable=browser,
        limits=EpisodeLimits(steps=1),
        render_mode="rgb_array",
    )
    try:
        observation, _ = env.reset(seed=3)
        assert observation["screenshot"].shape == (180, 320, 3)
        assert len(np.unique(observation["screenshot"])) > 10
        assert env.render().shape == (720, 1280, 3)  # type: ignore[union-attr]
        assert env.step("```noop```")[2:4] == (False, True)
    finally:
        env.close()


@pytest.mark.matrix(1)
@pytest.mark.parametrize("kind", [SyncVectorEnv, AsyncVectorEnv])
def test_vector_environment_steps_all_environments(tasks: Path, browser: str | None, kind: Any) -> None:
    def make() -> gymnasium.Env[Any, Any]:
        return gymnasium.make(ENV_ID, tasks=tasks, browser_executable=browser)

    options = {"context": "spawn", "shared_memory": False} if kind is AsyncVectorEnv else {}
    vector = kind([_Make(str(tasks), browser)] * 2 if options else [make] * 2, **options)
    try:
        observations, infos = vector.reset(seed=[5, 5], options={"task": "say-yes"})
        assert observations["goal"] == ("Answer with yes.",) * 2
        assert all("Tab 0 (current)" in text for text in observations["text"])
        _, rewards, terminated, truncated, infos = vector.step(("```stop [yes]```", "```goto [/manuals/]```"))
        assert (list(rewards), list(terminated), list(truncated)) == ([1.0, 0.0], [True, False], [False, False])
        assert infos["answer"][0] == "yes"
        observations, rewards, terminated, _, infos = vector.step(("", "```stop [no]```"))  # the first one restarts
        assert (list(rewards), list(terminated)) == ([0.0, 0.0], [False, True])
        assert observations["url"][0].startswith("http://homepage.test/")
    finally:
        vector.close()


class _Make:
    """Makes an environment in another process."""

    def __init__(self, tasks: str, executable: str | None) -> None:
        self.tasks, self.executable = tasks, executable

    def __call__(self) -> gymnasium.Env[Any, Any]:
        return gymnasium.make(pytest_webarena.gym.ENV_ID, tasks=self.tasks, browser_executable=self.executable)


def test_broker_stops_when_last_environment_is_closed(tmp_path: Path) -> None:
    tasks, before = without_sites(tmp_path), set(houses._runtimes)
    first, second = (TasksEnv(tasks, browser_executable="/there/is/none") for _ in range(2))
    first.reset(seed=1)
    second.reset(seed=2)
    (key,) = set(houses._runtimes) - before
    house = houses._runtimes[key]
    broker = Path(house.launcher.address)
    first.close()
    assert second.step("```noop```")[2:4] == (False, False)
    second.close()
    second.close()
    assert set(houses._runtimes) == before
    assert not house.directory.exists()
    assert not broker.exists()


def test_invalid_arguments_are_usage_errors(tasks: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="unknown action grammar 'webarina'"):
        TasksEnv(tasks, grammar="webarina")
    with pytest.raises(UsageError, match="found no such file"):
        TasksEnv(tmp_path / "nothing")
    with pytest.raises(UsageError, match="unknown render mode 'humen'"):
        TasksEnv(tasks, render_mode="humen")
    with pytest.raises(UsageError, match="unknown dialog policy 'holt'; did you mean 'hold'"):
        TasksEnv(tasks, dialogs="holt")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="axtree_object: expected accessibility_tree among"):
        TasksEnv(tasks, observation={"kinds": ["html"]}, axtree_object=True)


@pytest.fixture
def blank(tmp_path: Path) -> Iterator[TasksEnv]:
    """An environment without sites and browser, in an episode."""
    env = TasksEnv(without_sites(tmp_path), browser_executable="/there/is/none", render_mode="ansi")
    env.reset()
    yield env
    env.close()


@pytest.mark.matrix(2)
@pytest.mark.parametrize(
    "action", [None, 5, 0.5, b"```stop [yes]```", "", ["noop"], {"action": "noop"}, object], ids=repr
)
def test_invalid_action_is_a_step_with_an_error(blank: TasksEnv, action: Any) -> None:
    observation, reward, terminated, truncated, info = blank.step(action)
    assert observation["error"]
    assert (reward, terminated, truncated, info["steps"]) == (0.0, False, False, 1)
    assert blank.step("```stop [yes]```")[1:4] == (1.0, True, False)


def test_episode_ends_after_an_error(blank: TasksEnv, monkeypatch: pytest.MonkeyPatch) -> None:
    assert blank._environment is not None

    def broken(*_: object) -> None:
        raise BrowserError("the browser is gone")

    monkeypatch.setattr(type(blank._environment.session), "observe", broken)
    with pytest.raises(BrowserError, match="is gone"):
        blank.step("```noop```")
    with pytest.raises(gymnasium.error.ResetNeeded):
        blank.step("```noop```")
    monkeypatch.undo()
    blank.reset()
    assert blank.step("```stop [yes]```")[1] == 1.0


def test_episode_works_after_an_error_in_the_first_reset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    env = gymnasium.make(ENV_ID, tasks=without_sites(tmp_path), browser_executable="/there/is/none")

    def broken(*_: object, **__: object) -> None:
        raise SiteError("the site is gone")

    monkeypatch.setattr("pytest_webarena.gym.env.set_up_environment", broken)
    with pytest.raises(SiteError, match="is gone"):
        env.reset()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step("```noop```")
    monkeypatch.undo()
    env.reset()
    assert env.step("```noop```")[1:4] == (0.0, False, False)
    assert env.step("```stop [yes]```")[1:4] == (1.0, True, False)
    env.close()


@pytest.mark.parametrize(
    ("given", "left"),
    [
        ({}, False),
        ({"grammar": "webcanvas"}, False),
        ({"grammar": "playwright"}, True),
        ({"grammar": "tools", "session": SessionConfig(viewport=(800, 600))}, True),
        ({"grammar": "tools", "session": SessionConfig(dialogs="dismiss")}, False),
        ({"grammar": "tools", "dialogs": "accept"}, False),
        ({"dialogs": "hold"}, True),
    ],
    ids=["webarena", "webcanvas", "playwright", "tools", "session", "accept", "hold"],
)
def test_dialogs_are_held_if_the_grammar_can_answer_them(tmp_path: Path, given: dict[str, Any], left: bool) -> None:
    env = TasksEnv(without_sites(tmp_path), **given)
    assert (env._session_config.dialogs == "hold") is left


def test_unknown_reset_option_is_a_usage_error(blank: TasksEnv) -> None:
    with pytest.raises(UsageError, match="reset: unknown option 'tusk'; the only one is 'task'"):
        blank.reset(options={"tusk": "blank"})


@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_environment_in_forked_process_is_a_usage_error(blank: TasksEnv) -> None:
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        for call in (lambda: blank.step("```noop```"), blank.reset, blank.render, blank.close):
            try:
                outcome = repr(call())
            except UsageError as error:
                outcome = str(error)
            os.write(writing, outcome[:31].encode() + b"\n")
        os._exit(0)
    os.close(writing)
    received = b""
    while select.select([reading], [], [], 60)[0] and (piece := os.read(reading, 1000)):
        received += piece
    os.close(reading)
    os.kill(child, signal.SIGKILL)  # if it hangs, its output helps
    os.waitpid(child, 0)
    assert received.decode().splitlines() == [*["expected the process that reset"] * 3, "None"]
    assert blank.step("```stop [yes]```")[1] == 1.0


@pytest.mark.usefixtures("browser")
def test_documented_gym_example_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    example = (root / "docs" / "gym.md").read_text("utf-8").split("```python\n")[1].split("\n```\n")[0]
    exec(compile(example, "docs/gym.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "Tab 0 (current)" in printed
    assert "0.0 True answered" in printed
    assert "failed" in printed


@pytest.mark.usefixtures("browser")
def test_documented_browsergym_calls_run(monkeypatch: pytest.MonkeyPatch) -> None:
    root = Path(__file__).parents[2]
    monkeypatch.chdir(root)
    page = (root / "docs" / "gym.md").read_text("utf-8").split("## Agents of BrowserGym")[1]
    namespace: dict[str, Any] = {"gymnasium": gymnasium}
    try:
        exec(compile(page.split("```python\n")[1].split("\n```\n")[0], "docs/gym.md", "exec"), namespace)
        observation = namespace["observation"]
        assert re.fullmatch(r"click\('\d+'\)", observation["last_action"])
        assert observation["last_action_error"] == ""
        for name in re.findall(r"`(\w+)`", page.split("| | |")[1].split("`axtree_object`")[0]):
            known = {
                "role",
                "message",
                "timestamp",
                "user",
                "assistant",
                "infeasible",
                "data",
                "observation",
                "screenshot",
            }
            assert name in known or name in observation
        assert not {"axtree_object", "dom_object", "extra_element_properties"} & observation.keys()
    finally:
        if "env" in namespace:
            namespace["env"].close()


def test_a_question_without_sites_starts_no_browser(tmp_path: Path) -> None:
    env = TasksEnv(without_sites(tmp_path), browser_executable="/there/is/none", render_mode="ansi")
    observation, _ = env.reset()
    assert env.observation_space.contains(observation)
    assert "There is no page" in observation["text"]
    assert "There is no page" in env.step("```click [4]```")[0]["error"]
    assert env.step("```stop [yes]```")[1:4] == (1.0, True, False)
    env.close()
