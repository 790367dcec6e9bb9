"""Reuse of pods, and removal of containers."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
from docker.errors import APIError, NotFound

from pytest_webarena.sites.backends.docker import containers
from pytest_webarena.sites.backends.docker.containers import Order, Pod, Running
from pytest_webarena.sites.backends.docker.pods import Pods
from pytest_webarena.sites.catalogues.manifest import DockerManifest

ORDER = Order(image="shop", manifest=DockerManifest(image="shop"), name="shop-1", labels={}, network="run")


@pytest.fixture
def dead() -> set[str]:
    """Ids of keeper containers that have ended."""
    return set()


@pytest.fixture
def pods(monkeypatch: pytest.MonkeyPatch, dead: set[str]) -> Pods:
    """Pods with fake keeper containers."""
    made: list[Running] = []

    def launch(client: Any, order: Order) -> Running:
        made.append(Running(id=f"keeper-{len(made)}", name=order.name, ip=f"172.30.0.{len(made)}"))
        return made[-1]

    monkeypatch.setattr(containers, "launch", launch)
    monkeypatch.setattr(containers, "end_of", lambda client, keeper: "it ended" if keeper in dead else "")
    monkeypatch.setattr(containers, "remove", lambda client, keeper: None)
    monkeypatch.setattr("pytest_webarena.sites.backends.docker.pods.declared_volumes", lambda client, image: [])
    return Pods()


def take(pods: Pods) -> Pod:
    place = pods.take(None, "shop", ORDER)  # type: ignore[arg-type]
    assert place is not None
    return place


def test_returned_pod_is_reused(pods: Pods) -> None:
    first = take(pods)
    pods.give_back(first)
    assert take(pods).keeper == first.keeper


def test_pod_returned_twice_is_free_once(pods: Pods) -> None:
    first = take(pods)
    for _ in range(2):
        pods.give_back(first)
    assert take(pods).keeper != take(pods).keeper


def test_pods_whose_keepers_ended_are_not_reused(pods: Pods, dead: set[str]) -> None:
    first, second, third = take(pods), take(pods), take(pods)
    for pod in (first, second, third):
        pods.give_back(pod)
    dead |= {second.keeper, third.keeper}
    assert [take(pods).keeper for _ in range(2)] == [first.keeper, "keeper-3"]


def test_late_second_return_does_not_free_a_reused_pod(pods: Pods) -> None:
    first = take(pods)
    pods.give_back(first)
    second = take(pods)
    pods.give_back(first)
    assert second.keeper == first.keeper != take(pods).keeper


@pytest.mark.parametrize("already_removed", [False, True])
def test_removal_in_progress_elsewhere_is_awaited(already_removed: bool) -> None:
    conditions: list[str] = []

    def remove(container: str, **how: Any) -> None:
        raise APIError("conflict", SimpleNamespace(status_code=409, reason="Conflict", url=""))  # type: ignore[arg-type]

    def wait(container: str, *, condition: str) -> None:
        conditions.append(condition)
        if already_removed:
            raise NotFound("no such container")

    client: Any = SimpleNamespace(api=SimpleNamespace(remove_container=remove, wait=wait))
    containers.remove(client, "abc")
    assert conditions == ["removed"]
