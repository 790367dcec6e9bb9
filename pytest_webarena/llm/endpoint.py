"""Address and key of a model endpoint. The key is marked as a secret when it is read, so no record contains it."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit

from pytest_webarena.errors import UsageError
from pytest_webarena.llm.retries import RetryPolicy
from pytest_webarena.secrets import mark

__all__ = ["DEFAULT_URL", "Endpoint"]

DEFAULT_URL = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """An OpenAI-compatible endpoint."""

    base_url: str = ""
    """Base URL, such as ``http://127.0.0.1:8000/v1``; empty: the variable OPENAI_BASE_URL, else OpenAI's own."""
    api: Literal["chat", "responses"] = "chat"
    key_env: str | None = "OPENAI_API_KEY"
    """Environment variable with the key, or with ``_FILE`` appended, with the path of a key file. None: no key."""
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
        url = (self.base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL).rstrip("/")
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise UsageError(f"model endpoint: expected an http(s) address, found {url!r}; see OPENAI_BASE_URL")
        if parts.password:
            mark(parts.password)
        return url

    def key(self) -> str:
        """Return the API key. Raises `UsageError` that names the places where it was searched for."""
        if self.key_file is not None:
            return self._from_file(self.key_file)
        if self.key_env is None:
            return "none"  # the SDK requires a key; servers without keys ignore it
        if key := os.environ.get(self.key_env, "").strip():
            mark(key)
            return key
        if file := os.environ.get(f"{self.key_env}_FILE", ""):
            return self._from_file(Path(file))
        raise UsageError(
            f"model endpoint: expected an API key in the environment variable {self.key_env}, or a file named by "
            f"{self.key_env}_FILE, found neither; for an endpoint without keys use {self.keyless}"
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
