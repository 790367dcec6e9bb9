"""Parameters by which a stand-in departs from its documented image."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Options:
    """Departures from the documented image. The defaults depart in nothing."""

    # Where and what
    listens: bool = True
    answers_as: str = ""  # the address serves another image
    base: str = ""  # the configured base address, when it is not the served one; may hold {port}
    redirects_to_base: bool = True
    https_redirect: bool = False
    renamed: tuple[str, str] = ("", "")  # a path prefix and the prefix that replaced it
    moved: tuple[str, str] = ("", "")  # a path prefix that redirects to another one
    missing: tuple[str, ...] = ()  # path prefixes that answer 404
    slash_loop: bool = False
    placeholder_links: bool = False  # links keep the guide's unreplaced host name

    # Signing in
    sign_in_path: str = ""
    password: str = ""
    field_names: tuple[tuple[str, str], ...] = ()  # documented name, served name
    captcha: bool = False
    forced_password_change: bool = False
    cookie_domain: str = ""
    session_requests: int = 0  # a session ends after this many requests
    secret_key: bool = False  # pages of the private area need a key in their address

    # State
    empty: bool = False
    leftovers: bool = False
    read_only: bool = False
    instances: int = 1
    empty_search: bool = False

    # API and reset
    token_refused: bool = False
    reset_does_nothing: bool = False

    # The way to the server
    unready_requests: int = 0  # this many requests are answered with 502 first
    maintenance: bool = False
    rate_limit: int = 0  # requests that are answered before 429 begins
    basic_auth: bool = False
    refused_agents: tuple[str, ...] = ()
    consent: bool = False
    wrong_gzip: bool = False
    clock_offset_days: int = 0
    locale: str = "en"
