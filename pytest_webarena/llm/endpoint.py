"""Address and key of a model endpoint. The key is marked as a secret when it is read, so no record contains it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pytest_webarena.errors import UsageError
from pytest_webarena.llm.retries import RetryPolicy
from pytest_webarena.secrets import mark

__all__ = ["APIName", "Endpoint"]

APIName = Literal["chat", "responses", "anthropic", "google"]
"""``chat``, ``responses``: OpenAI's. ``anthropic``: Messages. ``google``: GenAI."""


@dataclass(frozen=True, slots=True)
class _Provider:
    """Where an API's own provider is reached."""

    url: str
    url_variable: str
    key_variable: str


_OPENAI = _Provider("https://api.openai.com/v1", "OPENAI_BASE_URL", "OPENAI_API_KEY")
_PROVIDERS: Mapping[APIName, _Provider] = {
    "chat": _OPENAI,
    "responses": _OPENAI,
    "anthropic": _Provider("https://api.anthropic.com", "ANTHROPIC_BASE_URL", "ANTHROPIC_API_KEY"),
    "google": _Provider("https://generativelanguage.googleapis.com", "GOOGLE_GEMINI_BASE_URL", "GEMINI_API_KEY"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """A model endpoint."""

    base_url: str = ""
    """Base URL, such as ``http://127.0.0.1:8000/v1``; empty: the variable OPENAI_BASE_URL, ANTHROPIC_BASE_URL or
    GOOGLE_GEMINI_BASE_URL, else the provider's own."""
    api: APIName = "chat"
    """``chat`` and ``responses`` are OpenAI's APIs. ``anthropic`` is the Messages API (extra ``anthropic``), ``google``
    the GenAI API (extra ``google-genai``)."""
    key_env: str | None = ""
    """Environment variable with the key, or with ``_FILE`` appended, with the path of a key file. Empty:
    OPENAI_API_KEY, ANTHROPIC_API_KEY or GEMINI_API_KEY. None: no key."""
    key_file: Path | None = None
    """File with the key; it takes precedence over the variable."""
    stream: bool = False
    """Whether to stream the reply, which keeps proxies from closing connections that stay silent for long."""
    timeout: float = 120.0
    """Seconds that one request may take."""
    retries: RetryPolicy = field(default_factory=RetryPolicy)
    keyless: str = field(default="key_env: null", compare=False)
    """The setting by which users say that the endpoint needs no key, for messages."""

    @classmethod
    def from_options(cls, url: str, key_env: str, option: str) -> Endpoint:
        """Return the endpoint at ``url``, with its key in the variable ``key_env``, or without a key if that is
        ``none``. ``option`` is the command-line option that gave ``key_env``."""
        return cls(base_url=url, key_env=None if key_env == "none" else key_env, keyless=f"{option}=none")

    @property
    def url(self) -> str:
        """The base URL in use. Raises `UsageError` when it is not an HTTP address."""
        provider = _PROVIDERS[self.api]
        url = (self.base_url or os.environ.get(provider.url_variable) or provider.url).rstrip("/")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"model endpoint: expected an http(s) address, found {url!r}; see {provider.url_variable}")
        if parts.password:
            mark(parts.password)
        return url

    @property
    def url_variable(self) -> str:
        """The environment variable with the base URL."""
        return _PROVIDERS[self.api].url_variable

    @property
    def key_variable(self) -> str | None:
        """The environment variable with the key; None for an endpoint without keys."""
        return self.key_env if self.key_env != "" else _PROVIDERS[self.api].key_variable

    def key(self) -> str:
        """Return the API key. Raises `UsageError` that names the places where it was searched for."""
        if self.key_file is not None:
            return self._from_file(self.key_file)
        if (variable := self.key_variable) is None:
            return "none"  # the SDKs require a key; servers without keys ignore it
        if key := os.environ.get(variable, "").strip():
            mark(key)
            return key
        if file := os.environ.get(f"{variable}_FILE", ""):
            return self._from_file(Path(file))
        raise UsageError(
            f"model endpoint: expected an API key in the environment variable {variable}, or a file named by "
            f"{variable}_FILE, found neither; for an endpoint without keys use {self.keyless}"
        )

    def _from_file(self, path: Path) -> str:
        try:
            key = path.read_text(encoding="utf-8").strip()
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"model endpoint: expected a file with an API key at {path}: {error}") from None
        if not key or "\n" in key:
            raise UsageError(f"model endpoint: expected one line with an API key in {path}")
        mark(key)
        return key
