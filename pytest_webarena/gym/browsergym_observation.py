"""BrowserGym fields of observations, under BrowserGym's names: pages, last action, chat, elapsed time."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from gymnasium import Space
from gymnasium.spaces import Box
from gymnasium.spaces import Sequence as Several

from pytest_webarena.gym.spaces import AnyMessage, AnyText

if TYPE_CHECKING:
    from pytest_webarena.agents.protocol import InputImage
    from pytest_webarena.browser.observation import Observation
    from pytest_webarena.evidence import StepRecord

__all__ = ["BrowserGymObservation"]

_ID = re.compile(r"\[(\d+)\]", re.ASCII)
_MOST_TABS = 1_000_000
_LONG = 1e9
"""Seconds, several decades: Gymnasium warns of unbounded spaces."""


class BrowserGymObservation:
    """The BrowserGym fields of one episode's observations. Times are in seconds since its first observation."""

    def __init__(
        self, goal: str, images: Sequence[InputImage], longest: int, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._longest = longest
        self._clock = clock
        self._began: float | None = None
        self._last_action = ""
        self._goal = (
            {"type": "text", "text": goal},
            *({"type": "image_url", "image_url": {"url": image.data_url}} for image in images),
        )
        self._chat: list[dict[str, Any]] = []
        self._add_chat_message("user", goal)

    @staticmethod
    def spaces(longest: int) -> dict[str, Space[Any]]:
        """The spaces of the fields that `shown` returns, with texts of at most ``longest`` characters."""
        line = AnyText(longest)
        return {
            "open_pages_urls": Several(line),
            "open_pages_titles": Several(line),
            "active_page_index": Box(0, _MOST_TABS, (1,), np.int64),
            "focused_element_bid": line,
            "focused_element": line,
            "last_action": line,
            "last_action_error": line,
            "elapsed_time": Box(0, _LONG, (1,), np.float64),
            "goal_object": Several(AnyMessage()),
            "chat_messages": Several(AnyMessage()),
        }

    def record_step(self, step: StepRecord) -> None:
        """Record a finished step. An answer, or the reason why the task is infeasible, becomes a chat message to the
        user."""
        self._last_action = step.raw
        if step.action["kind"] == "stop":
            reason = str(step.action.get("reason") or "")
            self._add_chat_message(
                *(("infeasible", reason) if reason else ("assistant", str(step.action.get("answer") or "")))
            )

    def shown(self, observation: Observation) -> dict[str, Any]:
        """The BrowserGym fields for this observation."""
        focused = _ID.match(observation.focused)
        active = next((number for number, tab in enumerate(observation.tabs) if tab.active), 0)
        if self._began is None:
            self._began = self._clock()
            elapsed = 0.0  # exactly 0, so that the same seed gives the same first observation
        else:
            elapsed = max(0.0, self._clock() - self._began)
        return {
            "open_pages_urls": tuple(tab.url[: self._longest] for tab in observation.tabs),
            "open_pages_titles": tuple(tab.title[: self._longest] for tab in observation.tabs),
            "active_page_index": np.array([min(active, _MOST_TABS)], np.int64),
            "focused_element_bid": focused[1] if focused else "",
            "focused_element": observation.focused[: self._longest],
            "last_action": self._last_action[: self._longest],
            "last_action_error": observation.error[: self._longest],
            "elapsed_time": np.array([elapsed], np.float64),
            "goal_object": copy.deepcopy(self._goal),
            "chat_messages": tuple(dict(message) for message in self._chat),
        }

    def _add_chat_message(self, role: str, message: str) -> None:
        at = 0.0 if self._began is None else max(0.0, self._clock() - self._began)
        self._chat.append({"role": role, "timestamp": at, "message": message[: self._longest]})
