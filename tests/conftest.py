"""What holds for the whole suite: how fast the machine is decides no test.

With workers, each begins with its share of what takes long, and the quick tests come last. ``--cases=8`` runs at most
so many cases of each test.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import os
import sys
from collections.abc import Generator, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from pytest_webarena import secrets

from .cases import limit_cases, spread_cases
from .inner import EVERY_PLUGIN, NEEDLESS
from .installed import read_once

# Tests start Python hundreds of times, and each would compile all that it imports. To rewrite the assertions of all
# test modules takes as long as to collect them.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

read_once()

# Its deadline per example is a timing assertion: it fails when the machine is busy, not when the code is wrong.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")

# Runs inside tests (pytester) forget what was first imported in them, and would import all of it again: slow, and more
# than compiled modules such as PyYAML's bear.
for _module in ("asyncio", "pytest_webarena.plugin.hooks", "pytest_webarena.suites.loading"):
    importlib.import_module(_module)

_HERE = Path(__file__).parent
_SECONDS = {"browser": 3, "docker": 7, "plugin": 2, "ray": 25}
"""Rooms whose tests start browsers, containers, pytest or a cluster, and about how long one of these takes."""
_OF_ITS_LIMIT = 0.1
"""How much of the time that it may take at the most is added to the time of a module: who asks for it needs it."""


@pytest.fixture(autouse=True)
def _no_secret_of_another_test(monkeypatch: pytest.MonkeyPatch) -> None:
    """Secrets are marked for the rest of a process; many tests, and runs inside them, share one."""
    monkeypatch.setattr(secrets, "_marked", {})


@pytest.fixture(autouse=True, scope="session")
def _one_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What takes long to build, the store's data above all, is built once per run of the suite, for all workers and
    the runs inside tests; nothing is left in the cache of whoever runs it."""
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if os.environ.get("PYTEST_XDIST_WORKER") else base
    with pytest.MonkeyPatch.context() as patch:
        if "WEBARENA_CACHE_DIR" not in os.environ:
            patch.setenv("WEBARENA_CACHE_DIR", str(shared / "cache"))
        yield


@pytest.fixture(scope="session")
def _imported_before_inner_runs() -> None:
    """A client of this package stays (``llm/transport.py``); forgotten, it would raise errors that nobody knows.

    What it imports with its first request, too: a second copy of it has exceptions of the same names, and not the same.
    """
    for name in ("openai.resources.chat.completions", "openai.resources.responses", "httpx", "httpcore", "httpcore2"):
        with contextlib.suppress(ModuleNotFoundError):
            importlib.import_module(name)


@pytest.fixture
def pytester(
    _imported_before_inner_runs: None, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> pytest.Pytester:
    """As ever, but some packages must not be first imported in it, and its subprocesses don't import all plugins."""
    monkeypatch.setenv("PYTEST_ADDOPTS", NEEDLESS)
    return pytester


@pytest.fixture
def every_plugin(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs inside the test meet what people have beside ours: plugins for reruns, time limits, HTML reports."""
    monkeypatch.setenv("PYTEST_ADDOPTS", EVERY_PLUGIN)


def room_of(item: pytest.Item) -> str:
    """The folder in ``tests/`` that it comes from."""
    return item.path.relative_to(_HERE).parts[0] if item.path.is_relative_to(_HERE) else ""


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """What is collected stays: nothing looks for garbage in it, now or later, nor copies it after a fork."""
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
    """Each worker first compiles other test modules than the rest do, which then read them from the cache."""
    for path in sorted(_HERE.rglob("test_*.py"))[number::workers]:
        name = ".".join(path.relative_to(_HERE.parent).with_suffix("").parts)
        with contextlib.suppress(Exception, pytest.skip.Exception):  # collecting reports it
            importlib.import_module(name)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--cases", type=int, metavar="N", help="run at most N cases of each parametrised test, from all its parts"
    )


def pytest_configure(config: pytest.Config) -> None:
    limit_cases(config.getoption("--cases"))


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Generator[None]:
    """Marks what is exhaustive before ``-m`` is asked, and orders what is left."""
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
    """Of each test at most so many cases, the first and, of two or more, the last among them."""
    return {item for each in _cases(items).values() for item in spread_cases(each, most)}


def _cases(items: list[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """The cases of each test."""
    cases: dict[str, list[pytest.Item]] = {}
    for item in items:
        cases.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return cases


def spread(items: list[pytest.Item], workers: int, limits: Mapping[Path, float]) -> list[pytest.Item]:
    """The same items in an order of which each worker gets an even part, with whole modules of slow tests at its front.

    The dearest come first, each to who has least to do yet, by what modules take about (``limits``: the longest
    time-out in one). Workers that are done steal from the end of another's part: one by one quick tests fill the gaps,
    no module and no fixture of one is torn apart, and nobody waits at the end for a slow test that came last.
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
        left = workers - number
        fill = max(0, (len(quick) + sum(map(len, parts[number:]))) // left - len(part)) if left > 1 else len(quick)
        part += quick[:fill]
        del quick[:fill]
    return [item for part in parts for item in part]
