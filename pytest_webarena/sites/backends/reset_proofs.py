"""Keeps digests of the responses that prove resets, so that later brokers of a run compare with its first resets."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.catalogues.running import HttpCall

__all__ = ["ResetProofs"]


class ResetProofs:
    """By app: the response to ``proof`` on which two resets of the run agreed; later ones are compared with it."""

    def __init__(self, file: Path | None) -> None:
        """``file`` keeps the digests beyond this broker; None: nothing does."""
        self._file = file
        self._texts: dict[str, str] = {}
        """Responses that this broker has received, to show differences."""
        self._origins: dict[str, str] = {}
        self._digests: dict[str, str] | None = None

    def has(self, app: str, call: HttpCall) -> bool:
        """Return whether the reference is known. Raises `SiteError` if the file can't be read."""
        return _key(app, call) in self._known()

    def keep(self, app: str, call: HttpCall, text: str, *, origin: str) -> None:
        """Keep ``text`` as the reference. ``origin`` says for messages which resets produced it.

        Raises `SiteError` if it can't be written.
        """
        known, key = self._known(), _key(app, call)
        digest = _digest(text)
        self._write({**known, key: digest})
        known[key] = digest
        self._texts[key], self._origins[key] = text, origin

    def equals(self, app: str, call: HttpCall, text: str) -> bool:
        """Return whether ``text`` is the reference."""
        key = _key(app, call)
        if self._known().get(key) != _digest(text):
            return False
        self._texts[key] = text
        return True

    def text(self, app: str, call: HttpCall) -> str | None:
        """Return the reference; None if this broker has not received it."""
        return self._texts.get(_key(app, call))

    def origin(self, app: str, call: HttpCall) -> str:
        """Return what the reference is, for messages."""
        return self._origins.get(_key(app, call), "the response after the run's first resets")

    @property
    def remedy(self) -> str:
        """What to do if the data were replaced on purpose during the run."""
        return f"if the data were replaced on purpose, remove {self._file}, or start a new run"

    def _known(self) -> dict[str, str]:
        if self._digests is None:
            try:
                found = json.loads(self._file.read_bytes()) if self._file is not None and self._file.exists() else {}
            except (OSError, ValueError) as error:
                raise SiteError(
                    f"the proofs of resets in {self._file} can't be read: {error}; start a new run"
                ) from None
            if not isinstance(found, dict):
                raise SiteError(f"expected an object with digests in {self._file}, found another; start a new run")
            self._digests = found
        return self._digests

    def _write(self, digests: dict[str, str]) -> None:
        if self._file is None:
            return
        new = self._file.with_suffix(".new")
        try:
            self._file.parent.mkdir(parents=True, exist_ok=True)
            new.write_text(json.dumps(digests, indent=1))
            new.replace(self._file)
        except OSError as error:
            why = error.strerror or error
            raise SiteError(f"the proof of a reset can't be written to {self._file}: {why}") from None


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _key(app: str, call: HttpCall) -> str:
    """Return a name for an app's request: responses to another request can't be compared. Headers may change, because
    they contain tokens."""
    asked = repr((call.method, call.url, call.body))
    return f"{app} {hashlib.sha256(asked.encode()).hexdigest()[:16]}"
