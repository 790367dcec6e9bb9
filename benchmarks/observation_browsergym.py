"""Measures BrowserGym's observations for `observation`: one environment, controlled over stdin and stdout.

    VENV/bin/python benchmarks/observation_browsergym.py EXECUTABLE URL

BrowserGym is unmodified except for its browser launch.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import playwright.sync_api
from browsergym.core import observation  # type: ignore[import-not-found]
from browsergym.core.env import BrowserEnv  # type: ignore[import-not-found]
from browsergym.core.task import OpenEndedTask  # type: ignore[import-not-found]
from browsergym.utils.obs import flatten_axtree_to_str  # type: ignore[import-not-found]

EXECUTABLE, START = sys.argv[1:]


def main() -> None:
    """Answers each line of input (a JSON object with ``url`` and ``rounds``) with one line of measurements."""
    launch = playwright.sync_api.BrowserType.launch

    def with_executable(self: Any, **options: Any) -> Any:
        options["args"] = [*(options.get("args") or ()), "--no-sandbox"]
        return launch(self, **{**options, "executable_path": EXECUTABLE})

    playwright.sync_api.BrowserType.launch = with_executable  # type: ignore[method-assign]
    env = BrowserEnv(
        task_entrypoint=OpenEndedTask, task_kwargs={"start_url": START}, pre_observation_delay=0, slow_mo=0
    )
    began = time.perf_counter()
    env.reset(seed=1)
    print(json.dumps({"reset": time.perf_counter() - began}), flush=True)
    for line in sys.stdin:
        order = json.loads(line)
        env.page.goto(order["url"])
        text_of(env)
        rounds = range(order["rounds"])
        found = {"text": [timed(lambda: text_of(env)) for _ in rounds], "chars": len(text_of(env))}
        found["everything"] = [timed(env._get_obs) for _ in rounds]
        found["screenshot"] = [timed(lambda: observation.extract_screenshot(env.page)) for _ in rounds]
        found["no-op step"] = [timed(lambda: env.step("noop(0)")) for _ in range(min(3, order["rounds"]))]
        print(json.dumps(found), flush=True)
    env.close()


def text_of(env: Any) -> str:
    """Marks, extracts and flattens the tree, and unmarks: what a text-only agent needs of an observation."""
    observation._pre_extract(env.page, tags_to_mark=env.tags_to_mark, lenient=True)
    tree = observation.extract_merged_axtree(env.page)
    observation._post_extract(env.page)
    text: str = flatten_axtree_to_str(tree)
    return text


def timed(call: Callable[[], object]) -> float:
    """Returns the duration of a call in seconds."""
    began = time.perf_counter()
    call()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
