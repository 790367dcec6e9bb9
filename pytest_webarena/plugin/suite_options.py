"""Options for suites and the selection of their tasks, and arguments that name a suite or one of its items."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.option_groups import Subject
from pytest_webarena.suites.published import SHIPPED, SUITES, find_data, find_suite

if TYPE_CHECKING:
    from pytest_webarena.suites.selecting import Criterion

ARB = "arb:"
"""Prefix of a file of problems in ARB's format; its content determines the variant."""
MIND2WEB = "mind2web-live:"
"""Prefix of a file of tasks with key nodes, in either of its formats."""

__all__ = [
    "SuiteSettings",
    "add_suite_options",
    "catalogue_of",
    "claim_arguments",
    "names_suite",
    "read_suites",
    "shortened",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class SuiteSettings:
    """The suites to collect, and the selection among all collected tasks."""

    suites: tuple[str, ...]
    """Names of published suites."""
    files: tuple[str, ...]
    """JSON files in their formats, and the folder of shipped tasks."""
    choices: tuple[Criterion, ...]
    sample: int | None
    """Seed of a sample with one task per template; None: no sample."""


def add_suite_options(group: Subject) -> None:
    """Declare the options."""
    group.addoption(
        "--suite",
        action="append",
        default=[],
        metavar="SUITE",
        help=f"Published tasks to run, separated by commas: {', '.join(SUITES)}; a JSON file in one of their "
        "formats or Online-Mind2Web's; arb:FILE (ARB's problems, JSON or JSON lines); mind2web-live:FILE (compact JSON "
        "or raw export); shipped (the tasks of the embedded sites). Files are collected only if named too.",
    )
    group.addoption(
        "--select",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="Run only tasks with this site, sites (a+b), category, template, evaluation, achievable (yes or no), "
        "suite, tag or id (also 0-99). Values separated by commas mean any, several options mean all.",
    )
    group.addoption(
        "--one-per-template",
        nargs="?",
        type=int,
        const=0,
        default=None,
        metavar="SEED",
        help="Run one task of each template, drawn with this seed (default: 0), e.g. --one-per-template=7.",
    )


def read_suites(config: pytest.Config) -> SuiteSettings:
    """Parse the options. Raises `UsageError` for an unknown suite, or a missing package."""
    from pytest_webarena.suites.selecting import parse_choice

    names: dict[str, None] = {}
    files: dict[str, None] = {}
    given = [part.strip() for text in config.getoption("--suite") for part in text.split(",")]
    for source in filter(None, given):
        if source == SHIPPED and not (config.invocation_params.dir / source).is_file():
            files[str(_shipped_tasks())] = None
            continue
        name = source.removeprefix(ARB)
        if source != name and not name.endswith((".json", ".jsonl")):
            raise UsageError(f"--suite: expected {ARB} and a file of problems, .json or .jsonl, found {source!r}")
        if source.startswith(MIND2WEB):
            name = source.removeprefix(MIND2WEB)
            if not name.endswith(".json"):
                raise UsageError(f"--suite: expected {MIND2WEB} and a file of tasks, .json, found {source!r}")
            _require(config.invocation_params.dir / name, name)
        if name not in SUITES and (
            name.endswith((".json", ".jsonl")) or (config.invocation_params.dir / name).is_file()
        ):
            if not (config.invocation_params.dir / name).is_file():
                raise UsageError(f"--suite: expected a JSON file, found none at {name}")
            files[name] = None
            continue
        try:
            find_data(find_suite(name))
        except UsageError as error:
            raise UsageError(f"--suite: {error}") from None
        names[name] = None
    return SuiteSettings(
        suites=tuple(names),
        files=tuple(files),
        choices=tuple(parse_choice(text) for text in config.getoption("--select")),
        sample=config.getoption("--one-per-template"),
    )


def _require(path: Path, named: str) -> None:
    from pytest_webarena.suites.mind2web import insist

    try:
        insist(path, named)
    except UsageError as error:
        raise UsageError(f"--suite: {error}") from None


def _shipped_tasks() -> Path:
    from pytest_webarena.shipped import shipped

    folder = shipped("tasks")
    if folder is None:
        raise UsageError(f"--suite={SHIPPED}: expected the tasks that come with the package, found none installed")
    return folder


def names_suite(argument: str) -> bool:
    """Return whether an argument, or a node id, names a published suite or one of its items."""
    return argument.partition("::")[0] in SUITES


def catalogue_of(config: pytest.Config, settings: SuiteSettings) -> str:
    """Return the catalogue for which all requested suites were written; empty without a suite, or when they differ."""
    named = (argument.partition("::")[0] for argument in config.args)
    suites = {*settings.suites, *(name for name in named if name in SUITES)}
    catalogues = {SUITES[name].sites for name in suites}
    return catalogues.pop() if len(catalogues) == 1 else ""


def claim_arguments(config: pytest.Config, settings: SuiteSettings) -> dict[str, tuple[str, ...]]:
    """Return the suites to collect with the requested items of each (none: all), by option or by argument.

    Arguments such as ``webarena::webarena.12``, in the form of node ids, name no file, so they are removed from
    pytest's arguments. With ``--suite`` and without files, pytest collects nothing else. Arguments that all name items
    run exactly these, whatever the options name, because users append a node id to the options of an earlier run.
    """
    wanted: dict[str, tuple[str, ...]] = {}
    paths: list[str] = []
    explicit = config.args_source is pytest.Config.ArgsSource.ARGS
    for argument in config.args:
        name, colons, item = argument.partition("::")
        if name in SUITES and not (config.invocation_params.dir / name).exists():
            try:
                find_data(SUITES[name])
            except UsageError as error:
                raise UsageError(f"{argument}: {error}") from None
            wanted[name] = (*wanted.get(name, ()), item if colons else "")
        else:
            paths.append(argument)
    wanted = {name: items if all(items) else () for name, items in wanted.items()}
    optional: tuple[str, ...] = ()
    if not (explicit and config.args and all("::" in argument for argument in config.args)):
        wanted |= dict.fromkeys((name for name in settings.suites if name not in wanted), ())
        optional = settings.files
    if wanted or optional:
        config.args = [*(paths if explicit else ()), *optional]
        config.args_source = pytest.Config.ArgsSource.ARGS
    return wanted


def shortened(path: Path | str) -> str:
    """Return a data file's path for messages: inside a package, only the package's part."""
    parts = Path(path).parts
    for folder in ("site-packages", "dist-packages"):
        if folder in parts:
            return "/".join(parts[len(parts) - parts[::-1].index(folder) :])
    return str(path)
