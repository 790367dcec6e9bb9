"""First resets of hosted instances that disagree, resets that must be repeated, and waits that end."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from pytest_webarena.errors import SiteError
from tests.hosted_app import HostedApp, hosted_app
from tests.unit.sites.pool_harness import PoolHarness, rest, run
from tests.unit.sites.test_hosted_proofs import Instances


@pytest.fixture
def apps() -> Iterator[list[HostedApp]]:
    with ExitStack() as exits:
        yield [exits.enter_context(hosted_app()) for _ in range(2)]


async def refusals(instances: Instances, count: int) -> list[str]:
    """Return the messages of that many requests, each of which fails without its time limit."""
    found = []
    for _ in range(count):
        async with asyncio.timeout(20):
            with pytest.raises(SiteError) as error:
                await instances.lease()
        found.append(str(error.value))
    return found


def test_instances_that_disagree_twice_are_not_reset_again(tmp_path: Path, apps: list[HostedApp]) -> None:
    apps[1].lies, apps[1].note = True, "another edition"
    instances = Instances(tmp_path, apps)
    for message in asyncio.run(refusals(instances, 5)):
        assert message.startswith(
            "the app 'shop' has no instance left: the instances of shop differ after their resets"
        )
        assert "another edition" in message
        assert "Correct the wrong one, or remove it from 'url'" in message
    assert [app.resets for app in apps] == [2, 2]
    [problem] = instances.problems
    assert problem.startswith("the instances of shop differ after their resets: ")


def test_only_instance_whose_resets_differ_twice_is_not_reset_again(
    tmp_path: Path, apps: list[HostedApp], monkeypatch: pytest.MonkeyPatch
) -> None:
    stamp = property(lambda app: f"created at reset {app.resets}", lambda *_: None)
    monkeypatch.setattr(HostedApp, "note", stamp, raising=False)
    instances = Instances(tmp_path, apps[:1])
    for message in asyncio.run(refusals(instances, 5)):
        assert f"no instance left: two resets of shop ({apps[0].url}) differ: expected the same response" in message
        assert "the proof has times or counters: choose a request without them" in message
    assert apps[0].resets == 4
    [problem] = instances.problems
    assert problem.startswith(f"two resets of shop ({apps[0].url}) differ: ")


async def both(instances: Instances) -> None:
    for _ in range(2):
        await instances.lease()


def test_instances_may_disagree_once(tmp_path: Path, apps: list[HostedApp], monkeypatch: pytest.MonkeyPatch) -> None:
    late = property(lambda app: "late" if app is apps[1] and app.resets == 1 else "", lambda *_: None)
    monkeypatch.setattr(HostedApp, "note", late, raising=False)
    instances = Instances(tmp_path, apps)
    asyncio.run(both(instances))
    assert len(instances.problems) == 2
    for app, problem in zip(apps, instances.problems, strict=True):
        assert problem.startswith(f"shop at {app.url}: 1 reset failed and had to be repeated, the latest because ")


def test_unreachable_instances_end_the_request(tmp_path: Path) -> None:
    with hosted_app() as one, hosted_app() as two:
        pass
    instances = Instances(tmp_path, [one, two])
    for message in asyncio.run(refusals(instances, 2)):
        assert f"expected the site shop at {one.url}, found no connection to 127.0.0.1:" in message


def test_summary_counts_resets_that_had_to_be_repeated(
    tmp_path: Path, apps: list[HostedApp], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def work(instances: Instances) -> None:
        for note in ("Milk", "Tea"):
            lease, app = await instances.lease()
            app.note = note
            await instances.release(lease)
        await instances.lease()

    every_second = property(lambda app: app.resets % 2 == 0, lambda *_: None)
    monkeypatch.setattr(HostedApp, "lies", every_second, raising=False)
    instances = Instances(tmp_path, apps[:1])
    asyncio.run(work(instances))
    [problem] = instances.problems
    assert problem.startswith(f"shop at {apps[0].url}: 2 resets failed and had to be repeated, the latest because the")
    assert "Tea" in problem


def test_wait_for_a_start_ends_though_instances_exist() -> None:
    async def work(harness: PoolHarness) -> None:
        held = await harness.lease("elsewhere")
        harness.backend.problems = ["the reset restores nothing"]
        harness.backend.manual = True
        late = harness.ask("elsewhere")
        await rest()
        await harness.later(10_000)
        assert not late.done()
        await harness.pool.release(held, unsafe={"elsewhere": "POST"})
        harness.backend.finish()  # the reset fails, so the request starts the instance again
        await rest()
        await harness.later(30)
        assert not late.done()
        await harness.later(31)
        with pytest.raises(SiteError, match="expected elsewhere for somebody within "):
            late.result()

    run(work, replicas=1)
