"""Reads a Compose file as plain data, with the line of each key and with its variables replaced."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import yaml

from pytest_webarena.errors import UsageError
from pytest_webarena.project_setup.compose.variables import Variables, read_env_file
from pytest_webarena.yaml_files import read_yaml

__all__ = ["WRITTEN_OUT", "ComposeFile", "Finding", "Place", "read_compose"]

_MOST_NODES = 20_000
"""Maximum number of values, with those of aliases counted each time."""
WRITTEN_OUT = "'docker compose config' prints the file without it; import what it prints"

_CONSTANTS: Mapping[str, bool | None] = {"": None, "~": None, "null": None, "true": True, "false": False}
"""Values that are no texts. Numbers stay texts, as they are written."""

Place = tuple[str | int, ...]
"""Keys, and numbers of entries, that lead to a value."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What the import did with one key."""

    state: Literal["taken", "changed", "ignored", "refused"]
    place: str
    """The key, such as ``services.web.ports``."""
    line: int
    """Its line in the file; 0: none."""
    text: str
    """What it became, why it does no harm to leave it out, or what to do."""


@dataclass(slots=True)
class ComposeFile:
    """A Compose file and what its import has found."""

    path: Path
    data: Mapping[str, Any]
    lines: Mapping[Place, int]
    variables: Variables
    findings: list[Finding] = field(default_factory=list)

    @property
    def folder(self) -> Path:
        """The folder from which its paths start."""
        return self.path.parent

    def note(self, state: Literal["taken", "changed", "ignored", "refused"], place: Place, text: str) -> None:
        """Add a finding about the key at ``place``."""
        line = next((self.lines[place[:end]] for end in range(len(place), 0, -1) if place[:end] in self.lines), 0)
        self.findings.append(Finding(state, ".".join(map(str, place)), line, text))

    def table(self, place: Place, value: Any) -> Mapping[str, Any]:
        """Returns a mapping; anything else is refused, and an empty one returned."""
        if isinstance(value, Mapping):
            return value
        if value is not None:
            self.note("refused", place, f"expected a mapping, found {_kind(value)}")
        return {}

    def entries(self, place: Place, value: Any) -> list[Any]:
        """Returns a list; anything else is refused, and an empty one returned."""
        if isinstance(value, list):
            return value
        if value is not None:
            self.note("refused", place, f"expected a list, found {_kind(value)}")
        return []


def read_compose(path: Path, environment: Mapping[str, str] | None = None) -> ComposeFile:
    """Read a Compose file, and the ``.env`` next to it.

    Raises `UsageError` when it can't be read, or has what only Compose itself can resolve.
    """
    _require_yaml(path)
    environment = os.environ if environment is None else environment
    own = path.parent / ".env"
    variables = Variables(environment, read_env_file(own, environment.get) if own.is_file() else {})
    reader = _Reader(path, variables)
    data = reader.read()
    if not isinstance(data, dict) or not isinstance(data.get("services"), dict) or not data["services"]:
        raise UsageError(f"{path}: expected a Compose file with 'services', found none")
    return ComposeFile(path, data, reader.lines, variables)


def _require_yaml(path: Path) -> None:
    try:
        read_yaml(path, str(path))
    except UsageError as error:
        if "could not determine a constructor" in str(error):  # such as !reset
            raise UsageError(f"{error}; {WRITTEN_OUT}") from None
        raise


class _Reader:
    def __init__(self, path: Path, variables: Variables) -> None:
        self._path, self._variables = path, variables
        self._loader = yaml.SafeLoader(path.read_text("utf-8"))
        self._count = 0
        self._flat: set[int] = set()
        self.lines: dict[Place, int] = {}

    def read(self) -> Any:
        try:
            root = self._loader.get_single_node()
            return self._plain(root, ()) if root is not None else None
        except yaml.MarkedYAMLError as error:
            raise UsageError(f"{self._path}: expected a Compose file, found {error.problem}") from None
        except RecursionError:
            raise UsageError(f"{self._path}: expected a Compose file, found an alias inside its own anchor") from None

    def _plain(self, node: Any, place: Place) -> Any:
        self._count += 1
        if self._count > _MOST_NODES:
            raise UsageError(
                f"{self._path}: expected at most {_MOST_NODES} values, found more; aliases count each time"
            )
        self.lines[place] = node.start_mark.line + 1
        if isinstance(node, yaml.MappingNode):
            if id(node) not in self._flat:  # an anchor's mapping comes once more with each alias
                self._flat.add(id(node))
                self._refuse_repeated(node)
                self._loader.flatten_mapping(node)  # `<<`
            found: dict[str, Any] = {}
            for key, value in node.value:
                name = str(key.value)
                found[name] = self._plain(value, (*place, name))
                self.lines[(*place, name)] = key.start_mark.line + 1
            return found
        if isinstance(node, yaml.SequenceNode):
            return [self._plain(value, (*place, number)) for number, value in enumerate(node.value)]
        if node.style is None and node.value.lower() in _CONSTANTS:
            return _CONSTANTS[node.value.lower()]
        try:
            return self._variables.fill(node.value)
        except UsageError as error:
            raise UsageError(f"{self._path}:{node.start_mark.line + 1}: {error}") from None

    def _refuse_repeated(self, node: yaml.MappingNode) -> None:
        names = [key.value for key, _ in node.value if key.tag != "tag:yaml.org,2002:merge"]
        if repeated := next((name for name in names if names.count(name) > 1), None):
            where = f"{self._path}:{node.start_mark.line + 1}"
            raise UsageError(f"{where}: expected each key once, found {repeated!r} twice")


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "true or false"
    return "a mapping" if isinstance(value, dict) else "a list" if isinstance(value, list) else "a text"
