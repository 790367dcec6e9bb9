"""Settings of the browser room: engine, session, observation, and how long anything may take."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pytest_webarena.browser.observation.forms import BUILTIN, PICTURES, Form, Need, Picture, form_names, the_form
from pytest_webarena.browser.search import SearchKeys
from pytest_webarena.errors import UsageError
from pytest_webarena.gateway.egress import DENY_ALL_PROXY, PROXY_BYPASS
from pytest_webarena.plain_data import number, pair, read_keys, several, text, whole

__all__ = [
    "BrowserName",
    "Deadlines",
    "DialogPolicy",
    "EngineConfig",
    "Geolocation",
    "ImageFormat",
    "ObservationConfig",
    "SessionConfig",
]

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

    launch: float = 60.0
    """Start of a browser."""
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
    answers: float = 10.0
    """The same for a page that a check opened: until its requests are answered."""
    second_look: float = 1.0
    """How long a page with scripts is given to show what a check says must not be there."""
    selector: float = 5.0
    """Until the element of a selector target shows up and can be used."""
    hang: float = 8.0
    """How long a page may leave a call unanswered before its running script is stopped."""
    close: float = 10.0
    """A context, the browser, Playwright: each."""


ExtractorName = Literal["fast", "exact"]
ImageFormat = Literal["jpeg", "png", "webp"]


def _kinds(value: Any) -> Any:
    names = (value,) if isinstance(value, str) else value
    shipped = isinstance(names, list | tuple) and all(isinstance(name, str) and name in BUILTIN for name in names)
    return several(*(BUILTIN if shipped else form_names()))(value)  # installed packages are asked only for other names


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationConfig:
    """What an agent is shown. Agent definitions set it under ``observation``; ``docs/observations.md`` shows each form.

    ``Observation`` carries all that was asked for: texts one below the other in the order of ``kinds``, and images.
    Tabs, address, dialog, errors, focus and scroll position are always there.
    """

    kinds: Annotated[tuple[str, ...], _kinds] = ("accessibility_tree",)
    """Names of forms (`observation.forms`), in any combination; each at most once."""
    extractor: ExtractorName = "fast"
    """Who reads the page. ``exact``: the browser's own accessibility tree and layout; Chromium only. ``fast``: a script
    in the page, for what is shown only. Both print the same form."""
    compat: bool = False
    """Print the accessibility tree as the original harness does, defects included (listed in ``docs/observations.md``).
    Needs the ``exact`` extractor."""
    current_viewport_only: bool = True
    """Leave out of the accessibility tree and of the marks' list what lies wholly outside the viewport."""
    html_viewport_only: bool = True
    """The same for ``html``."""
    link_urls: bool = False
    """Print where links lead (``url: …``). Upstream's pinned Chromium did not."""
    max_options: Annotated[int, whole(1)] = 50
    """Options listed of one ``<select>``; the chosen one always is. Others can be chosen by typing their label."""
    max_tokens: Annotated[int, whole(1)] | None = None
    """Cut the text at the border of an element and say what was cut, so that it has at most this many tokens;
    None: never."""
    max_chars: Annotated[int, whole(1)] | None = None
    """The same in characters. Both may be given."""
    max_obs_length: Annotated[int, whole(1)] | None = None
    """Upstream's cut, under its own name: the text ends after this many tokens, in the middle of a line if it so
    happens, and nothing says so. 1920 in the paper."""
    tokenizer: Annotated[str, text] = "estimate"
    """What counts tokens: see `observation.tokens`."""
    screenshot_size: Annotated[tuple[int, int], pair(whole(16, 16384), "x")] | None = None
    """Largest width and height of images in pixels: they are scaled down to fit, never up. None: as captured."""
    screenshot_format: ImageFormat = "jpeg"
    screenshot_quality: Annotated[int, whole(1, 100)] = 80
    """Of JPEG and WebP, 1 to 100."""
    screenshot_full_page: bool = False
    """Images of the whole page instead of the viewport, marks included."""

    def __post_init__(self) -> None:
        _ = self.forms  # an unknown one is an error now, not at the first look
        if self.compat and self.extractor != "exact":
            raise UsageError(
                f"observation.compat: expected extractor exact with it, found {self.extractor}; set extractor: exact"
            )

    @classmethod
    def from_plain(cls, data: object, *, where: str = "observation") -> ObservationConfig:
        """Settings from plain data, e.g. of an agent's definition. `UsageError` names the key and what it takes."""
        if isinstance(data, Mapping) and data.get("compat") is True:
            data = {"extractor": "exact", **data}
        config = read_keys(cls, data, where=where)
        config.require()
        return config

    def require(self) -> None:
        """`UsageError` when something it needs is not installed: Pillow for marks, a tokenizer for exact counts."""
        for form in self.forms:
            if form.require is not None:
                form.require(f"observation.kinds {form.name}")
        if self.max_tokens is not None or self.max_obs_length is not None:
            from pytest_webarena.browser.observation.tokens import token_counter

            token_counter(self.tokenizer)

    def to_plain(self) -> dict[str, Any]:
        """For records; `from_plain` reads it."""
        return _plain(asdict(self))

    @property
    def digest(self) -> str:
        """Same for same settings."""
        return hashlib.sha256(json.dumps(self.to_plain(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def forms(self) -> tuple[Form, ...]:
        """What is asked for. `UsageError` for a form that there is not."""
        return tuple(map(the_form, self.kinds))

    def needs(self, *needs: Need) -> bool:
        """Whether any of these has to be read for the forms that are asked for."""
        return any(need in form.needs for form in self.forms for need in needs)

    def pictured(self, *pictures: Picture) -> bool:
        """Whether any of these pictures is asked for; without arguments: any at all."""
        return any(form.picture is not None and form.picture in (pictures or PICTURES) for form in self.forms)


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
    trust: str = ""
    """SHA-256 of the public key of the authority that the run's https sites have their certificates from
    (`gateway.egress.trust_arguments`); empty: there are none. Chromium only."""
    proxy: str = DENY_ALL_PROXY
    """What a context without a proxy of its own would use: by default one that refuses everything."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    sessions: int | None = None
    """How many sessions of different trials share a browser before another one is started; None: trials come one after
    the other, and there is one browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Geolocation:
    """Where the browser says it is."""

    latitude: Annotated[float, number(-90, 90)]
    """Degrees, -90 to 90."""
    longitude: Annotated[float, number(-180, 180)]
    """Degrees, -180 to 180."""
    accuracy: Annotated[float, number(0)] = 0.0
    """Metres."""


def _geolocation(value: Any) -> Geolocation:
    if isinstance(value, list | tuple) and len(value) == 2:
        value = {"latitude": value[0], "longitude": value[1]}
    if not isinstance(value, Mapping):
        raise ValueError("latitude and longitude in degrees, e.g. {latitude: 40.44, longitude: -79.94}")
    return read_keys(Geolocation, value, where="geolocation")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfig:
    """One trial's browser context."""

    proxy: str | None = None
    """The lease's gateway port, e.g. ``http://127.0.0.1:43121``. None: no way out but ``about:blank``."""
    harness_proxy: str | None = None
    """The same for pages that checks open; None: as ``proxy``."""
    proxy_bypass: str = PROXY_BYPASS
    """Hosts reached without the proxy; by default none, not even loopback."""
    storage_state: Mapping[str, Any] | None = None
    """Cookies and local storage to begin with, as `Session.storage_state` returns them."""
    viewport: Annotated[tuple[int, int], pair(whole(100, 10000), "x")] = (1280, 720)
    """Width and height in CSS pixels."""
    locale: Annotated[str, text] = "en-US"
    timezone: Annotated[str, text] = "UTC"
    """IANA name. Fixed, so that pages print the same times on every machine."""
    geolocation: Annotated[Geolocation, _geolocation] | None = None
    """Given, pages may ask for it without a question to the user; None: they are refused."""
    device_scale: Annotated[float, number(0.5, 8)] = 1.0
    """Device pixels per CSS pixel."""
    dialogs: DialogPolicy = "accept"
    max_tabs: Annotated[int, whole(1)] = 20
    """Pop-ups beyond this number are closed at once."""
    uploads: Mapping[str, Path] = field(default_factory=dict)
    """Files that an agent may upload, by the names it knows them by. No others can be read."""
    context_args: Mapping[str, Any] = field(default_factory=dict)
    """As pytest-playwright's ``browser_context_args``; wins over the above, but for ``proxy`` and ``storage_state``."""
    observation: Annotated[ObservationConfig, ObservationConfig.from_plain] = field(default_factory=ObservationConfig)
    search: SearchKeys | None = None
    """What answers the action ``search``; None: nobody."""
    hears_scripts: bool = False
    """Whether signals tell what pages' scripts do, as where an agent drives the browser itself."""
    record_screenshots: bool = False
    """Take a screenshot with each observation for the record, also when the agent is shown none."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    trace: Path | None = None
    """Write a Playwright trace (zip) here when the session ends. Costs 2-10 times per call on large pages."""
    video: Path | None = None
    """Write videos of the tabs (webm) into this folder; needs Playwright's own ffmpeg."""
    alone: bool = False
    """Have a browser of its own, where sessions share them: those that it had before went down."""

    @classmethod
    def from_plain(cls, data: object, *, where: str = "session") -> SessionConfig:
        """The settings that can be written in a file. `UsageError` names the key and what it takes."""
        return read_keys(cls, data, where=where, only=_SESSION)

    def to_plain(self) -> dict[str, Any]:
        """What of it shapes what pages show and what the agent sees, for records; no cookies, no addresses."""
        found = {name: getattr(self, name) for name in _SESSION if name != "observation"}
        if self.geolocation is not None:
            found["geolocation"] = asdict(self.geolocation)
        if self.context_args:
            found["context_args"] = {
                key: "set" if key in _UNTOLD else str(value) for key, value in sorted(self.context_args.items())
            }
        return {**_plain(found), "observation": self.observation.to_plain()}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


_UNTOLD = frozenset({"client_certificates", "extra_http_headers", "http_credentials", "storage_state"})
"""Arguments of contexts that are secrets, or hold them: records say that there are some, and no more."""

_SESSION = (
    "viewport",
    "locale",
    "timezone",
    "geolocation",
    "device_scale",
    "dialogs",
    "max_tabs",
    "observation",
)
"""The settings that can be written in a file."""
