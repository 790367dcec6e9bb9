"""Settings of the browser room: engine, session, observation, and how long anything may take."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from pytest_webarena.sites.gateway.egress import DENY_ALL_PROXY, PROXY_BYPASS

__all__ = ["BrowserName", "Deadlines", "DialogPolicy", "EngineConfig", "ObservationConfig", "SessionConfig"]

BrowserName = Literal["chromium", "firefox", "webkit"]

DialogPolicy = Literal["accept", "dismiss", "hold"]
"""What happens to alert, confirm, prompt and "leave this page?" dialogs.

``accept``: answered at once as the Enter key would (OK, a prompt keeps its proposed text) and reported to the agent:
the right thing for grammars without a dialog action, such as WebArena's. ``dismiss``: answered as Escape would, but
for "leave this page?", which would keep the agent from ever leaving.
``hold``: left open and shown in the observation; ``press [Enter]`` accepts it, ``press [Escape]`` dismisses it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """How long the browser may take, in seconds. Every call to it ends within one of these."""

    launch: float = 30.0
    """Start of Playwright and of a browser."""
    context: float = 10.0
    """A new context or tab, and its storage state."""
    step: float = 30.0
    """One observation or one action, everything included."""
    navigation: float = 20.0
    """Until a page that was asked for begins to arrive."""
    quiet: float = 0.1
    """How long a page has to stay unchanged after an action to count as at rest."""
    settle: float = 3.0
    """Until a page that has arrived is left alone, even if it keeps changing."""
    selector: float = 5.0
    """Until the element of a selector target shows up and can be used."""
    hang: float = 8.0
    """How long a page may leave a call unanswered before its running script is stopped."""
    close: float = 10.0
    """A context, the browser, Playwright: each."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationConfig:
    """What an agent is shown."""

    current_viewport_only: bool = True
    """Leave out what lies wholly outside the viewport."""
    link_urls: bool = False
    """Print where links lead (``url: …``). Upstream's pinned Chromium did not."""
    max_options: int = 50
    """Options listed of one ``<select>``; the chosen one always is. Others can be chosen by typing their label."""
    max_chars: int | None = None
    """Cut the text at a line border and say what was cut; None: never."""
    screenshot: bool = False
    """Take a JPEG screenshot with each observation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """How a worker's browser is started."""

    browser_name: BrowserName = "chromium"
    executable: str | None = None
    """Browser to start; None: see `launch.find_browser`."""
    launch_args: Mapping[str, Any] = field(default_factory=dict)
    """As pytest-playwright's ``browser_type_launch_args``; its ``proxy`` is ignored, contexts bring their own."""
    temp_dir: Path | None = None
    """Where browser profiles, downloads and traces in progress go, so that they can be removed after a ``kill -9``.
    None: the system's."""
    proxy: str = DENY_ALL_PROXY
    """What a context without a proxy of its own would use: by default one that refuses everything."""
    deadlines: Deadlines = field(default_factory=Deadlines)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfig:
    """One trial's browser context."""

    proxy: str | None = None
    """The lease's gateway port, e.g. ``http://127.0.0.1:43121``. None: no way out but ``about:blank``."""
    proxy_bypass: str = PROXY_BYPASS
    """Hosts reached without the proxy; by default none, not even loopback."""
    storage_state: Mapping[str, Any] | None = None
    """Cookies and local storage to begin with, as `Session.storage_state` returns them."""
    viewport: tuple[int, int] = (1280, 720)
    """Width and height in CSS pixels."""
    locale: str = "en-US"
    timezone: str = "UTC"
    """IANA name. Fixed, so that pages print the same times on every machine."""
    dialogs: DialogPolicy = "accept"
    max_tabs: int = 20
    """Pop-ups beyond this number are closed at once."""
    context_args: Mapping[str, Any] = field(default_factory=dict)
    """As pytest-playwright's ``browser_context_args``; wins over the above, but for ``proxy`` and ``storage_state``."""
    observation: ObservationConfig = field(default_factory=ObservationConfig)
    deadlines: Deadlines = field(default_factory=Deadlines)
    trace: Path | None = None
    """Write a Playwright trace (zip) here when the session ends. Costs 2-10 times per call on large pages."""
