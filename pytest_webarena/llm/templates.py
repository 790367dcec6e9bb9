"""Prompt files: Jinja2 templates that are split into messages."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

from pytest_webarena.errors import UsageError
from pytest_webarena.llm.messages import Message

__all__ = ["Template", "read_text"]

_CUT = re.compile(r"^--- (system|user|assistant)(?: ([a-z_]+))?[ \t]*$", re.MULTILINE)


class Template:
    """A Jinja2 template. Lines such as ``--- system`` begin a message; a word after the role names the speaker."""

    def __init__(self, path: Path, where: str) -> None:
        self.files: tuple[Path, ...] = (path,)
        self._where = f"{where}: prompt {path.name}"
        source = read_text(path, self._where)
        if not _CUT.search(source):
            raise UsageError(f"{self._where}: expected lines such as '--- system' and '--- user', found none")
        self._source = source
        self._compiled: tuple[Any, str] | None = None

    def uses(self, name: str) -> bool:
        """Return whether the template uses the variable ``name``."""
        return re.search(rf"\{{[{{%][^}}]*\b{re.escape(name)}\b", self._source) is not None

    def messages(self, values: Mapping[str, Any]) -> tuple[Message, ...]:
        """Render the template with ``values`` and split it into messages. Text from a value can't begin a message."""
        import jinja2

        template, mark = self._compile()
        try:
            text = template.render(**values)
        except jinja2.TemplateError as error:
            raise UsageError(f"{self._where}: {type(error).__name__}: {error}") from None
        parts = text.split(mark)
        if parts[0].strip():
            raise UsageError(f"{self._where}: expected a line such as '--- system' before the first text")
        messages = []
        for part in parts[1:]:
            head, _, body = part.partition("\n")
            role, _, speaker = head.partition(" ")
            messages.append(Message(role=cast(Any, role), name=speaker, text=body.strip("\n")))
        return tuple(messages)

    def _compile(self) -> tuple[Any, str]:
        if self._compiled is None:
            import jinja2
            from jinja2.sandbox import SandboxedEnvironment

            mark = f"\x00{secrets.token_hex(16)}\x00"  # no page can know the mark, so no page can begin a message
            source = _CUT.sub(lambda cut: f"{mark}{cut[1]}{f' {cut[2]}' if cut[2] else ''}", self._source)
            environment = SandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)
            try:
                self._compiled = environment.from_string(source), mark
            except jinja2.TemplateSyntaxError as error:
                raise UsageError(f"{self._where}:{error.lineno}: {error.message}") from None
        return self._compiled


def read_text(path: Path, where: str) -> str:
    """Return a prompt file's text. Raises `UsageError` when it can't be read."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{where}: expected a readable text file at {path}: {error}") from None
