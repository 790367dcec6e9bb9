"""Number of spares per app, and memory limits."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.sites.broker import memory
from pytest_webarena.sites.broker.sizing import Budget, Demand, size_of
from pytest_webarena.sites.catalogues.manifest import AppManifest, DockerManifest
from tests.cases import each_case


def demand(boot: float, taken: list[float], *, clean: int = 0, dirty: int = 0) -> Demand:
    made = Demand(boot)
    for when in taken:
        made.took(when)
    for what in [False] * clean + [True] * dirty:
        made.released(dirty=what)
    return made


@each_case(
    ("boot", "taken", "spares"),
    [
        (5.0, [], 0),
        (5.0, [0.0], 1),
        (5.0, [0.0, 0.1, 0.2, 0.3], 4),  # four workers begin
        (5.0, [0, 30, 60, 90], 1),  # one at a time, slower than replacements start
        (60.0, [0, 30, 60, 90], 2),
        (60.0, [0, 10, 20, 30, 40, 50, 60, 70], 6),
        (0.02, [0, 1, 2, 3], 1),
    ],
)
def test_spares_cover_the_leases_during_a_replacement(boot: float, taken: list[float], spares: int) -> None:
    assert demand(boot, taken).spares(taken[-1] if taken else 0.0) == spares


def test_measured_replacement_time_overrides_the_hint() -> None:
    busy = demand(1.0, [0, 10, 20, 30])
    assert busy.spares(30) == 1
    busy.replaced(25.0)
    assert busy.replacement == 25.0
    for when in (40, 50, 60):
        busy.took(when)
    assert busy.spares(60) == 3
    for _ in range(20):
        busy.replaced(2.0)
    for when in (70, 80, 90, 110):
        busy.took(when)
    assert busy.spares(110) == 1


def test_old_demand_is_forgotten() -> None:
    busy = demand(1.0, [0, 0.1, 0.2])
    assert busy.spares(30) == 3
    assert busy.spares(60) == 0


def test_clean_releases_reduce_spares() -> None:
    assert demand(5.0, [0] * 8, clean=19).spares(0) == 1
    assert demand(5.0, [0] * 8, clean=9, dirty=9).spares(0) == 5
    assert demand(5.0, [0] * 8, dirty=20).spares(0) == 8


def test_budget_limits_memory() -> None:
    budget = Budget(300)
    budget.take(200)
    assert budget.fits(100)
    assert not budget.fits(101)
    budget.free(200)
    assert budget.fits(300)
    assert Budget().fits(1 << 60)


@each_case(
    ("text", "size"),
    [("512m", 512 << 20), ("2g", 2 << 30), ("2Gb", 2 << 30), ("4096k", 4 << 20), ("1000", 1000), ("", 1 << 30)],
)
def test_size_of_app_is_its_container_memory(text: str, size: int) -> None:
    app = AppManifest(name="shop", sites=(), backend="docker", docker=DockerManifest(image="shop", memory=text))
    assert size_of(app) == size
    assert size_of(replace(app, docker=None)) == 64 << 20


def test_available_memory_is_read_from_meminfo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "meminfo"
    monkeypatch.setattr(memory, "_MEMINFO", file)
    assert memory.available_memory() is None
    file.write_text("MemTotal:       24000000 kB\nMemAvailable:   12000000 kB\n")
    assert memory.available_memory() == 12_000_000 * 1024
