"""Settings of browsers: engine, session, observation and timeouts."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

from pytest_webarena.browser.observation.forms import BUILTIN, PICTURES, Form, Need, Picture, find_form, form_names
from pytest_webarena.browser.search import SearchKeys
from pytest_webarena.errors import UsageError
from pytest_webarena.gateway.egress import DENY_ALL_PROXY, PROXY_BYPASS
from pytest_webarena.plain_data import number, pair, read_keys, several, text, whole

__all__ = [
    "SECRET_ARGS",
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
"""Handling of alert, confirm, prompt and "leave this page?" dialogs.

``accept``: answered at once like the Enter key (OK, a prompt keeps its proposed text) and reported to the agent. This
suits grammars without a dialog action, such as WebArena's. ``dismiss``: answered like Escape, except "leave this
page?", which would keep the agent on the page forever. ``hold``: left open and shown in the observation; ``press
[Enter]`` accepts it, ``press [Escape]`` dismisses it.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deadlines:
    """Time limits in seconds. Every call to the browser ends within one of these."""

    launch: float = 60.0
    """Start of a browser."""
    context: float = 10.0
    """Opening of a context or tab, or reading of its storage state."""
    step: float = 30.0
    """One observation or one action, including all waiting."""
    navigation: float = 20.0
    """Time until a requested page begins to arrive."""
    quiet: float = 0.1
    """Time without changes after an action after which a page counts as settled."""
    settle: float = 3.0
    """Maximum time to wait for a page that has arrived to settle, even if it keeps changing."""
    answers: float = 10.0
    """The same for a page that a check opened, until its requests are answered."""
    second_look: float = 1.0
    """Additional time for a page with scripts to show what a check forbids."""
    selector: float = 5.0
    """Time until the element of a selector target appears and is actionable."""
    hang: float = 8.0
    """Time that a page may leave a call unanswered before its running script is stopped."""
    close: float = 10.0
    """Closing of a context, of the browser, or of Playwright."""


ExtractorName = Literal["fast", "exact"]
ImageFormat = Literal["jpeg", "png", "webp"]


def _kinds(value: Any) -> Any:
    names = (value,) if isinstance(value, str) else value
    shipped = isinstance(names, list | tuple) and all(isinstance(name, str) and name in BUILTIN for name in names)
    return several(*(BUILTIN if shipped else form_names()))(value)  # installed packages are loaded only for other names


@dataclass(frozen=True, slots=True, kw_only=True)
class ObservationConfig:
    """Settings of observations: what an agent sees. Agent definitions set it under ``observation``.

    ``docs/observations.md`` shows each form. An ``Observation`` contains all requested forms: texts in the order of
    ``kinds``, and images. Tabs, address, dialog, errors, focus and scroll position are always included.
    """

    kinds: Annotated[tuple[str, ...], _kinds] = ("accessibility_tree",)
    """Names of forms (`observation.forms`), in any combination; each at most once."""
    extractor: ExtractorName = "fast"
    """Method of reading the page. ``exact``: the browser's own accessibility tree and layout; Chromium only. ``fast``:
    a script in the page that reads only what is shown. The output has the same format."""
    compat: bool = False
    """Whether to print the accessibility tree as the original harness does, including defects (listed in
    ``docs/observations.md``). Needs the ``exact`` extractor."""
    current_viewport_only: bool = True
    """Whether to omit what is completely outside the viewport from the accessibility tree and the list of marks."""
    html_viewport_only: bool = True
    """Whether to omit what is completely outside the viewport from ``html``."""
    link_urls: bool = False
    """Whether to print the addresses of links (``url: …``). Upstream's pinned Chromium did not."""
    max_options: Annotated[int, whole(1)] = 50
    """Maximum number of listed options of a ``<select>``. The chosen one is always listed; an unlisted option can be
    chosen by typing its label."""
    max_tokens: Annotated[int, whole(1)] | None = None
    """Maximum number of tokens of the text. It is cut between two elements and says what was cut; None: no limit."""
    max_chars: Annotated[int, whole(1)] | None = None
    """Maximum number of characters of the text, cut in the same way. Both limits may be given."""
    max_obs_length: Annotated[int, whole(1)] | None = None
    """Upstream's limit, under its own name: the text ends after this many tokens, possibly in the middle of a line, and
    without a note. 1920 in the paper."""
    max_file_chars: Annotated[int, whole(0)] = 4000
    """Maximum number of characters that an observation prints of downloaded text and PDF files; 0: none."""
    tokenizer: Annotated[str, text] = "estimate"
    """Name of the token counter: see `observation.tokens`."""
    screenshot_size: Annotated[tuple[int, int], pair(whole(16, 16384), "x")] | None = None
    """Maximum width and height of images in pixels; larger ones are scaled down. None: the size of the capture."""
    screenshot_format: ImageFormat = "jpeg"
    screenshot_quality: Annotated[int, whole(1, 100)] = 80
    """Quality of JPEG and WebP, 1 to 100."""
    screenshot_full_page: bool = False
    """Whether images show the whole page, including marks, instead of the viewport."""

    def __post_init__(self) -> None:
        _ = self.forms  # unknown names are an error now instead of at the first observation
        if self.compat and self.extractor != "exact":
            raise UsageError(
                f"observation.compat: expected extractor exact with it, found {self.extractor}; set extractor: exact"
            )

    @classmethod
    def from_plain(cls, data: object, *, where: str = "observation") -> ObservationConfig:
        """Read settings from plain data, e.g. of an agent's definition. `UsageError` names a wrong key and its
        values."""
        if isinstance(data, Mapping) and data.get("compat") is True:
            data = {"extractor": "exact", **data}
        config = read_keys(cls, data, where=where)
        config.require()
        return config

    def require(self) -> None:
        """Raise `UsageError` if a requirement is not installed: Pillow for marks, a tokenizer for exact counts."""
        for form in self.forms:
            if form.require is not None:
                form.require(f"observation.kinds {form.name}")
        if self.max_tokens is not None or self.max_obs_length is not None:
            from pytest_webarena.browser.observation.tokens import token_counter

            token_counter(self.tokenizer)

    def to_plain(self) -> dict[str, Any]:
        """Return plain data for records, which `from_plain` reads."""
        return _plain(asdict(self))

    @property
    def digest(self) -> str:
        """Hash that is equal for equal settings."""
        return hashlib.sha256(json.dumps(self.to_plain(), sort_keys=True).encode()).hexdigest()[:16]

    @property
    def forms(self) -> tuple[Form, ...]:
        """The requested forms. `UsageError` for an unknown one."""
        return tuple(map(find_form, self.kinds))

    def needs(self, *needs: Need) -> bool:
        """Return whether the requested forms need any of these to be read."""
        return any(need in form.needs for form in self.forms for need in needs)

    def pictured(self, *pictures: Picture) -> bool:
        """Return whether any of these pictures is requested; without arguments, whether any is."""
        return any(form.picture is not None and form.picture in (pictures or PICTURES) for form in self.forms)


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineConfig:
    """Settings for starting a worker's browsers."""

    browser_name: BrowserName = "chromium"
    executable: str | None = None
    """Path of the browser to start; None: see `launching.discovery.find_browser`."""
    launch_args: Mapping[str, Any] = field(default_factory=dict)
    """Arguments as pytest-playwright's ``browser_type_launch_args``. ``proxy`` is ignored: contexts have their own."""
    temp_dir: Path | None = None
    """Folder for browser profiles, downloads and unfinished traces, so that they can be removed after a ``kill -9``.
    None: the system's."""
    trust: str = ""
    """SHA-256 of the public key of the authority that signs the certificates of the run's https sites
    (`gateway.egress.trust_arguments`); empty: there is none. Chromium only."""
    proxy: str = DENY_ALL_PROXY
    """Proxy of contexts without one of their own; the default refuses everything."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    sessions: int | None = None
    """Number of sessions of different trials that share a browser before another one is started; None: trials run one
    after the other in one browser."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Geolocation:
    """Location that the browser reports to pages."""

    latitude: Annotated[float, number(-90, 90)]
    """Latitude in degrees, -90 to 90."""
    longitude: Annotated[float, number(-180, 180)]
    """Longitude in degrees, -180 to 180."""
    accuracy: Annotated[float, number(0)] = 0.0
    """Accuracy in metres."""


def _geolocation(value: Any) -> Geolocation:
    if isinstance(value, list | tuple) and len(value) == 2:
        value = {"latitude": value[0], "longitude": value[1]}
    if not isinstance(value, Mapping):
        raise ValueError("latitude and longitude in degrees, e.g. {latitude: 40.44, longitude: -79.94}")
    return read_keys(Geolocation, value, where="geolocation")


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionConfig:
    """Settings of one trial's browser context."""

    proxy: str | None = None
    """Proxy of the lease's gateway, e.g. ``http://127.0.0.1:43121``. None: only ``about:blank`` can be opened."""
    harness_proxy: str | None = None
    """Proxy for pages that checks open; None: as ``proxy``."""
    proxy_bypass: str = PROXY_BYPASS
    """Hosts to reach without the proxy; by default none, not even loopback."""
    storage_state: Mapping[str, Any] | None = None
    """Initial cookies and local storage, as returned by `Session.storage_state`."""
    viewport: Annotated[tuple[int, int], pair(whole(100, 10000), "x")] = (1280, 720)
    """Width and height in CSS pixels."""
    locale: Annotated[str, text] = "en-US"
    timezone: Annotated[str, text] = "UTC"
    """IANA name of the time zone. It is fixed so that pages print the same times on every machine."""
    geolocation: Annotated[Geolocation, _geolocation] | None = None
    """Location that pages may read without a permission prompt; None: they are refused."""
    device_scale: Annotated[float, number(0.5, 8)] = 1.0
    """Device pixels per CSS pixel."""
    dialogs: DialogPolicy = "accept"
    max_tabs: Annotated[int, whole(1)] = 20
    """Maximum number of tabs; further pop-ups are closed at once."""
    uploads: Mapping[str, Path] = field(default_factory=dict)
    """Files that an agent may upload, by the names that it uses. No others can be read."""
    context_args: Mapping[str, Any] = field(default_factory=dict)
    """Arguments as pytest-playwright's ``browser_context_args``. They override the above, except ``proxy`` and
    ``storage_state``."""
    observation: Annotated[ObservationConfig, ObservationConfig.from_plain] = field(default_factory=ObservationConfig)
    search: SearchKeys | None = None
    """Provider of results for the action ``search``; None: searching is not possible."""
    observes_scripts: bool = False
    """Whether signals include what pages' scripts do, as needed if an agent drives the browser itself."""
    record_screenshots: bool = False
    """Whether to take screenshots for the record with each observation, even if the agent sees none, and at the end."""
    deadlines: Deadlines = field(default_factory=Deadlines)
    trace: Path | None = None
    """Path of a Playwright trace (zip) to write when the session ends. Calls take 2-10 times as long on large pages."""
    video: Path | None = None
    """Folder for videos of the tabs (webm); needs Playwright's own ffmpeg."""
    own_browser: bool = False
    """Whether to use a browser of its own where sessions share browsers, because those before crashed."""

    @classmethod
    def from_plain(cls, data: object, *, where: str = "session") -> SessionConfig:
        """Read the settings that can be written in a file. `UsageError` names the key and what it accepts."""
        return read_keys(cls, data, where=where, only=_SESSION)

    def to_plain(self) -> dict[str, Any]:
        """Return, for records, the settings that affect pages and observations; without cookies and addresses."""
        found = {name: getattr(self, name) for name in _SESSION if name != "observation"}
        if self.geolocation is not None:
            found["geolocation"] = asdict(self.geolocation)
        if self.context_args:
            found["context_args"] = {
                key: "set" if key in SECRET_ARGS else str(value) for key, value in sorted(self.context_args.items())
            }
        return {**_plain(found), "observation": self.observation.to_plain()}


def _plain(values: Mapping[str, Any]) -> dict[str, Any]:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}


SECRET_ARGS = frozenset({"client_certificates", "extra_http_headers", "http_credentials", "storage_state"})
"""Context arguments that contain secrets. Records only say that they are set."""

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
"""Settings that can be written in a file."""
