"""Computer use in one trial: the screen that the model sees, the tool that it is offered, and the policy on checks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pytest_webarena.actions import Action, Point
from pytest_webarena.agents.model.computer.keys import ComputerKeys
from pytest_webarena.agents.model.computer.reading import ComputerTurn, SafetyCheck, cursor_after, read_computer
from pytest_webarena.agents.model.computer.screens import LIMITS, Region, Screen, ScreenLimits, fitted, image_size
from pytest_webarena.llm.endpoint import APIName
from pytest_webarena.llm.messages import ComputerTool, ComputerToolName, Image, ModelReply, media_type

if TYPE_CHECKING:
    from pytest_webarena.browser.observation import Observation

__all__ = ["ComputerUse"]

_QUALITY = 90
"""Quality of scaled screenshots in JPEG."""


class ComputerUse:
    """Computer use in one trial."""

    def __init__(self, keys: ComputerKeys, name: ComputerToolName, api: APIName, detail: str) -> None:
        self._keys, self._name, self._api = keys, name, api
        self._limits = LIMITS.get(api, ScreenLimits())
        # The preview's successor sees pictures as they are only with this detail; else its coordinates would not fit.
        self._detail = "original" if name == "computer" and detail == "auto" else detail
        self._screen = Screen(width=0, height=0, viewport=(0, 0))
        self._whole = b""
        """The last screenshot as captured; it may be larger than the one that the model sees."""
        self._cursor: Point | None = None
        self.image: Image | None = None
        """The last screenshot, as the model sees it; None before the first one."""

    @property
    def tool(self) -> ComputerTool:
        """The tool for a request."""
        size = self._screen.width, self._screen.height
        return ComputerTool(name=self._name, width=size[0], height=size[1], exclude=self._keys.exclude)

    def observe(self, observation: Observation) -> None:
        """Take over a screenshot. While a native dialog is open there is none, and the last one is kept."""
        if not (data := observation.screenshot):
            return
        viewport = observation.viewport
        wide, high = image_size(data) or viewport
        viewport = viewport if all(viewport) else (wide, high)
        self._whole = data
        if not self._limits.allow(wide, high):
            from pytest_webarena.browser.observation.drawing import scale_to_fit

            kind = media_type(data).partition("/")[2]
            data = scale_to_fit(data, fitted(wide, high, self._limits), kind, _QUALITY)
            wide, high = image_size(data) or fitted(wide, high, self._limits)
        if grid := self._limits.grid:
            wide = high = grid
        self._screen = Screen(width=wide, height=high, viewport=viewport, is_grid=bool(grid))
        self.image = self._image(data)

    def enlarged(self, region: Region) -> Image | None:
        """Return a part of the last screenshot, enlarged as far as the API's limits allow."""
        if not self._whole:
            return None
        from pytest_webarena.browser.observation.drawing import enlarge_part

        kind = media_type(self._whole).partition("/")[2]
        size = lambda width, height: fitted(width, height, self._limits)  # noqa: E731
        return self._image(enlarge_part(self._whole, region, size, kind, _QUALITY))

    def read(self, reply: ModelReply) -> ComputerTurn:
        """Return the actions of a reply. Never raises."""
        return read_computer(reply, self._api, self._screen, self._cursor)

    def carried_out(self, action: Action) -> None:
        """Follow the mouse."""
        self._cursor = cursor_after(action, self._cursor)

    def refusal(self, checks: Sequence[SafetyCheck]) -> str:
        """Return why the trial ends at these checks; empty if all are confirmed."""
        texts = "; ".join(check.text for check in checks)
        if checks and self._keys.acknowledge == "never":
            return f"the endpoint wants a person to confirm: {texts}; 'computer: {{acknowledge: always}}' confirms"
        return "" if all(check.is_confirmable for check in checks) else f"the endpoint blocked an action: {texts}"

    def _image(self, data: bytes) -> Image:
        return Image(data=data, media_type=media_type(data), detail=self._detail)  # type: ignore[arg-type]
