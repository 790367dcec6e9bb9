"""Configuration of the whole suite: the machine's speed must not decide any test.

With xdist, each worker begins with its share of the slow tests, and the quick ones come last. ``--cases=8`` limits the
number of cases of each test.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from types import ModuleType

import pytest
from _pytest import pytester as pytesters
from _pytest.pytester import SysModulesSnapshot
from execnet.gateway_base import ThreadExecModel
from hypothesis import HealthCheck, settings

from pytest_webarena import secrets

from .cases import limit_cases, spread_cases
from .forked import FORKING
from .inner import EVERY_PLUGIN, NEEDLESS
from .installed import read_once

# Tests start Python hundreds of times, and without byte code each would compile all its imports. Rewriting the
# assertions of all test modules takes as long as collecting them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

read_once()

# A deadline per example is a timing assertion: it fails when the machine is busy, not when the code is wrong.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# Runs inside tests (pytester) unload modules that they imported first, and would import them again. That is slow, and
# compiled modules such as PyYAML's can't be imported twice.
_PRELOADED = ("plugin.hooks", "plugin.ray_dispatch", "cluster.cluster_address", "suites.loading")
for _module in ("asyncio", *(f"pytest_webarena.{name}" for name in _PRELOADED)):
    importlib.import_module(_module)

_HERE = Path(__file__).parent
_SECONDS = {"browser": 3, "docker": 7, "plugin": 2, "ray": 25, "widgets": 10}
"""Folders of tests that start browsers, containers, pytest or a cluster, with the approximate seconds of one test."""
_OF_ITS_LIMIT = 0.1
"""Share of a module's longest time-out that is added to its estimated duration, because long time-outs indicate slow
tests."""


@pytest.fixture(autouse=True)
def _no_secret_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Reset the marked secrets, which would stay for the rest of a process that many tests, and runs inside them,
    share."""
    monkeypatch.setattr(secrets, "_known", secrets.Known())


@pytest.fixture(autouse=True, scope="session")
def _one_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Share one cache per run of the suite between all workers and the runs inside tests, so that slow data (above all
    the shop's) are built once; the user's own cache is not touched."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with pytest.MonkeyPatch.context() as patch:
        if "WEBARENA_CACHE_DIR" not in os.environ:
            patch.setenv("WEBARENA_CACHE_DIR", str(shared / "cache"))
        # Playwright's driver starts in 0.27 instead of 0.39 CPU s when Node has its compiled code.
        patch.setenv("NODE_COMPILE_CACHE", str(shared / "node"))
        yield


@pytest.fixture(scope="session")
def _imported_before_inner_runs() -> None:
    """Import modules that must not be unloaded by runs inside tests.

    A client of this package survives such a run (``llm/transport.py``); its unloaded modules would raise errors of
    unknown classes. This includes what it imports with its first request: a second copy has different exceptions with
    the same names.
    """
    for name in ("openai.resources.chat.completions", "openai.resources.responses", "httpx", "httpcore", "httpcore2"):
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)


class _Snapshot(SysModulesSnapshot):
    """Removes what an inner run imported, and nothing else.

    pytest's own empties `sys.modules` for a moment, in which threads of shared browsers import built-in modules again:
    a second ``_io.UnsupportedOperation`` is caught by nobody.
    """

    def __init__(self, preserve: Callable[[str], bool] | None = None) -> None:
        self._preserve, self._before = preserve, dict(sys.modules)

    def restore(self) -> None:
        for name in set(sys.modules) - set(self._before):
            if (self._preserve is None or not self._preserve(name)) and not _is_installed(sys.modules[name]):
                sys.modules.pop(name, None)
        for name, module in self._before.items():
            if sys.modules.get(name) is not module and (self._preserve is None or not self._preserve(name)):
                sys.modules[name] = module


def _is_installed(module: ModuleType) -> bool:
    """Whether a module belongs to an installed package: caches keep such packages, and would load parts a second
    time after their removal."""
    place = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "")
    return place.startswith((sys.prefix, sys.base_prefix)) and not place.startswith(str(_HERE.parent / "tests"))


pytesters.SysModulesSnapshot = _Snapshot  # type: ignore[misc]


@pytest.fixture(scope="module")
def real_processes() -> None:
    """Start each process of pytest in tests as users do, not as a fork (``forked.py``)."""


@pytest.fixture
def pytester(
    _imported_before_inner_runs: None,
    request: pytest.FixtureRequest,
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
) -> pytest.Pytester:
    """Overrides the fixture: some packages are imported before, and its subprocesses are forked without needless
    plugins."""
    monkeypatch.setenv("PYTEST_ADDOPTS", NEEDLESS)
    if "real_processes" not in request.fixturenames:
        for starter in (pytesters, ThreadExecModel):
            monkeypatch.setattr(starter, "subprocess", FORKING)
    return pytester


@pytest.fixture
def every_plugin(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let runs inside the test use the plugins that users may have: for reruns, time limits, HTML reports."""
    monkeypatch.setenv("PYTEST_ADDOPTS", EVERY_PLUGIN)


def room_of(item: pytest.Item) -> str:
    """Returns the folder in ``tests/`` that contains the test."""
    return item.path.relative_to(_HERE).parts[0] if item.path.is_relative_to(_HERE) else ""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Keep collected objects out of garbage collection, now and after a fork, because they stay for the whole run."""
    gc.disable()
    worker = getattr(session.config, "workerinput", None)
    if worker and [Path(each).name for each in session.config.args] == ["tests"]:
        _import_a_share(int(worker["workerid"].removeprefix("gw")), worker["workercount"])
    try:
        return (yield)
    finally:
        gc.enable()
        gc.freeze()


def _import_a_share(number: int, workers: int) -> None:
    """Compile other test modules first than the other workers do, which then read them from the cache."""
    for path in sorted(_HERE.rglob("test_*.py"))[number::workers]:
        name = ".".join(path.relative_to(_HERE.parent).with_suffix("").parts)
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collection reports the error
            importlib.import_module(name)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases", type=int, metavar="N", help="run at most N cases of each parametrised test, from all its parts"
    )


def pytest_configure(config: pytest.Config) -> None:
    limit_cases(config.getoption("--cases"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Mark exhaustive cases before ``-m`` is applied, and order the remaining tests."""
    for tests in _cases(items).values():
        if matrix := tests[0].get_closest_marker("matrix"):
            for item in set(tests) - some_cases(tests, *matrix.args):
                item.add_marker("exhaustive")
    yield
    if most := config.getoption("--cases"):
        kept = some_cases(items, most)
        config.hook.pytest_deselected(items=[item for item in items if item not in kept])
        items[:] = [item for item in items if item in kept]
    workers = getattr(config, "workerinput", {}).get("workercount", 1)
    if workers > 1:
        longest: dict[Path, float] = {}
        for item in items:
            limit = item.get_closest_marker("timeout")
            longest[item.path] = max(longest.get(item.path, 0), limit.args[0] if limit else 0)
        items[:] = spread(items, workers, longest)


def some_cases(items: list[pytest.Item], most: int) -> set[pytest.Item]:
    """Returns at most ``most`` cases of each test; of two or more, the first and the last are included."""
    return {item for each in _cases(items).values() for item in spread_cases(each, most)}


def _cases(items: list[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """Returns the cases of each test."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return cases


def spread(items: list[pytest.Item], workers: int, limits: Mapping[Path, float]) -> list[pytest.Item]:
    """Returns the items in an order in which each worker gets an even part, beginning with whole modules of slow tests.

    The slowest modules come first, each for the worker with the least work so far; ``limits`` has the longest time-out
    of each module, which is used to estimate its duration. Finished workers steal from the end of another's part: quick
    tests fill the gaps one by one, no module or module fixture is split, and no worker waits at the end for a slow
    test.
    """
    slow = [item for item in items if room_of(item) in _SECONDS]
    quick = [item for item in items if room_of(item) not in _SECONDS]
    modules = [list(tests) for _, tests in groupby(slow, key=lambda item: item.path)]
    parts: list[list[pytest.Item]] = [[] for _ in range(workers)]
    taken = [0.0] * workers

    def cost(tests: Sequence[pytest.Item]) -> float:
        return len(tests) * _SECONDS[room_of(tests[0])] + _OF_ITS_LIMIT * limits.get(tests[0].path, 0)

    for tests in sorted(modules, key=cost, reverse=True):
        least = taken.index(min(taken))
        parts[least] += tests
        taken[least] += cost(tests)
    for number, part in enumerate(parts):
        remaining_workers = workers - number
        fill = (
            max(0, (len(quick) + sum(map(len, parts[number:]))) // remaining_workers - len(part))
            if remaining_workers > 1
            else len(quick)
        )
        part += quick[:fill]
        del quick[:fill]
    return [item for part in parts for item in part]
