"""Reads agent definitions: YAML files in ``agents/``, each of a kind in `kinds.MODULES`."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from pytest_webarena.agents.kinds import MODULES, Common, CommonKeys, kind
from pytest_webarena.agents.overrides import Overrides
from pytest_webarena.agents.protocol import AgentDefinition
from pytest_webarena.browser.config import ObservationConfig
from pytest_webarena.browser.grammars import grammars
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.plain_data import kind_of, read_keys
from pytest_webarena.yaml_files import read_yaml

__all__ = ["about_definition", "define", "read_definition", "with_observation"]


def read_definition(path: Path, overrides: Overrides | None = None) -> AgentDefinition:
    """The definition in ``path``, named after the file. `UsageError` says what is wrong and where."""
    where = f"agent definition {path}"
    data = read_yaml(path, where)
    if not isinstance(data, dict):
        raise UsageError(
            f"{where}: expected a mapping with the key 'kind' ({', '.join(MODULES)}), found {kind_of(data)}"
        )
    if not re.fullmatch(r"[A-Za-z0-9._-]+", path.stem):
        raise UsageError(f"{where}: expected a file name of letters, digits, '.', '_', '-'")
    return define(data, id=path.stem, where=where, base=path.parent, source=str(path), overrides=overrides)


def about_definition(path: Path) -> str:
    """One line about the definition in ``path``, for lists: its description, kind and path."""
    try:
        data = read_yaml(path, "")
    except UsageError:
        return f"can't be read: {path}"
    if not isinstance(data, dict):
        return f"no definition: {path}"
    kind_of = data.get("kind") or ("python" if "python" in data else "?")
    return f"{str(data.get('description') or '').strip() or 'an agent'} ({kind_of}: {path})"


def define(
    data: Mapping[str, Any], *, id: str, where: str, base: Path, source: str, overrides: Overrides | None = None
) -> AgentDefinition:
    """The definition that plain ``data`` describes, with overrides applied."""
    data = dict(data)
    if "kind" not in data and "python" in data:
        data["kind"] = "python"
    if not isinstance(data.get("kind"), str):
        known = {"kind", *(each.name for each in fields(CommonKeys))}
        for key in data:
            if key not in known and str(key) not in ("python", "options"):
                raise UsageError(
                    f"{where}: unknown key {key!r}; {closest(str(key), {*known, 'python', 'options'})}; "
                    f"expected 'kind' to be one of {', '.join(MODULES)}"
                )
        raise UsageError(f"{where}: expected 'kind' to be one of {', '.join(MODULES)}, found {data.get('kind')!r}")
    this = kind(data.pop("kind"), where)
    common_names = {each.name for each in fields(CommonKeys)}
    own_names = {each.name for each in fields(this.keys)}
    plain, used = (overrides or Overrides()).apply(data, common_names | own_names, where)
    for key in plain:
        if key not in common_names | own_names:
            raise UsageError(
                f"{where}: unknown key {key!r} for kind {this.name!r}; {closest(str(key), common_names | own_names)}"
            )
    keys = read_keys(CommonKeys, {key: plain[key] for key in plain if key in common_names}, where=where, base=base)
    if keys.search is not None:
        keys = replace(keys, search=replace(keys.search, base=base))
    if keys.grammar not in grammars():
        raise UsageError(f"{where}: unknown grammar {keys.grammar!r}; {closest(keys.grammar, grammars())}")
    if keys.memory is not None and not this.remembers:
        raise UsageError(f"{where}: memory: agents of kind {this.name!r} keep nothing from trial to trial")
    common = Common(
        id=id, kind=this.name, where=where, base=base, source=source, keys=keys,
        plain={"kind": this.name, **plain}, overridden=tuple(used),
    )  # fmt: skip
    ObservationConfig.from_plain(common.observation, where=f"{where}: observation")
    own = read_keys(this.keys, {key: plain[key] for key in plain if key in own_names}, where=where, base=base)
    return this.build(common, own)


def with_observation(settings: Mapping[str, Any], config: ObservationConfig) -> ObservationConfig:
    """``config`` with the settings in a definition's ``observation``."""
    defaults = config.to_plain()
    if settings.get("compat"):
        defaults.pop("extractor")  # ``compat`` requires a certain extractor
    return ObservationConfig.from_plain({**defaults, **settings})
