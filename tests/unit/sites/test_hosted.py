"""Apps that run elsewhere: instances, reset hooks, readiness."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.external import ExternalBackend
from pytest_webarena.sites.catalogues.external import why_not_lent
from pytest_webarena.sites.catalogues.loading import load_catalogue, problems_of
from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient
from tests.cases import each_case
from tests.hosted_app import HostedApp, hosted_app
from tests.unit.sites.brokers import get
from tests.unit.sites.pool_harness import PoolHarness, rest, run

HOOK = """
      reset:
        http: {url: "{url}/reset", headers: {Authorization: Bearer token}}
        ready: {url: "{url}/ready", includes: ready}
"""


@pytest.fixture
def apps() -> Iterator[list[HostedApp]]:
    with hosted_app() as one, hosted_app() as two:
        yield [one, two]


def catalogue(folder: Path, *apps: HostedApp, hook: str = HOOK, timeout: float = 20) -> Catalogue:
    urls = ", ".join(app.url for app in apps)
    text = (
        f"apps:\n  shop:\n    backend: external\n    start_timeout: {timeout}\n    sites: {{shop: {{url: [{urls}]}}}}\n"
    )
    file = folder / "sites.yaml"
    file.write_text(text + "\n".join(line[2:] for line in hook.splitlines()))
    return load_catalogue(str(file))


def backend() -> ExternalBackend:
    return ExternalBackend(cast(Any, None))


def starting(app: AppManifest) -> None:
    async def work() -> None:
        external = backend()
        await external.prepare(app)
        await external.start(app, "shop-1")

    asyncio.run(work())


def test_instances_are_leased_alone_and_reset_after_writes(tmp_path: Path, apps: list[HostedApp]) -> None:
    for app in apps:
        app.note, app.ready_after = "left by an earlier run", 2
    known = catalogue(tmp_path, *apps)
    config = BrokerConfig(catalogue=known.option, run_dir=tmp_path)
    with BrokerLauncher(config) as launcher, BrokerClient(launcher.address, name="gw0") as client:
        with client.lease(["shop"], holder="one") as one, client.lease(["shop"], holder="two") as two:
            assert one.sites["shop"].url == two.sites["shop"].url == "http://shop.test"
            own = [lease.replicas[0].addresses["shop"] for lease in (one, two)]
            assert sorted(own) == sorted(app.url for app in apps)
            assert all(lease.replicas[0].reset_seconds > 0 for lease in (one, two))
            assert [app.note for app in apps] == ["", ""]
            assert [app.resets for app in apps] == [1, 1]
            writer = next(app for app in apps if app.url == own[0])
            with pytest.raises(OSError, match="HTTP Error"):
                get(one, "http://shop.test/note", "POST")
            get(two, "http://shop.test/")
        for _ in range(2):
            with client.lease(["shop"], holder="three") as three, client.lease(["shop"], holder="four") as four:
                numbers = {lease.replicas[0].addresses["shop"]: lease.replicas[0].generation for lease in (three, four)}
        assert {app.url: app.resets for app in apps} == {app.url: 1 + (app is writer) for app in apps}
        assert numbers == {app.url: int(app is writer) for app in apps}
    report = launcher.stop().apps["shop"]
    assert (report.is_reset, report.starts.count, report.resets.count) == (True, 2, 1)


def test_replicas_are_the_instances(tmp_path: Path, apps: list[HostedApp]) -> None:
    both = catalogue(tmp_path, *apps).apps["shop"]
    assert (both.max_replicas, both.spares) == (2, 2)
    fewer = catalogue(tmp_path, *apps, hook="\n      max_replicas: 1").apps["shop"]
    assert (fewer.max_replicas, fewer.spares) == (1, 1)


def test_waiting_for_an_instance_never_times_out() -> None:
    async def work(harness: PoolHarness) -> None:
        held = await harness.lease("elsewhere")
        late = harness.ask("elsewhere")
        await rest()
        await harness.later(10_000)
        assert not late.done()
        await harness.pool.release(held, unsafe={"elsewhere": "POST"})
        await rest()
        assert late.done()
        late.result()

    run(work, replicas=1)


@each_case(
    "hook, message",
    [
        ('{http: {url: "{url}/reset"}}', "expected status 200 to 299, found 400: a reset without its token"),
        ('{http: {url: "http://127.0.0.1:9/reset"}}', "POST http://127.0.0.1:9/reset: .*refused"),
        ('{http: {url: "{url:shopp}/x"}}', "expected a site of the app in {url:shopp}, found 'shopp'"),
        ('{http: {url: "reset"}}', "POST reset: unknown url type"),
        ('{http: {url: "{url}/me", method: GET, includes: done}}', "expected 'done' in the response, found '\"\"'"),
        ("{run: [sh, -c, 'echo no {host} {instance}; exit 3']}", "sh ended with exit code 3: no 127.0.0.1 1"),
        ("{run: [./missing]}", "./missing could not be run: No such file"),
        ("{run: [sh, -c, 'sleep 60 & sleep 60']}", r"sh did not end within 0.3 s \(start_timeout\)"),
        ('{run: ["true"], ready: {url: "{url}/me", includes: x}}', r"did not end within 0.3 s \(start_timeout\): GET"),
    ],
)
def test_failed_reset_names_its_cause(tmp_path: Path, apps: list[HostedApp], hook: str, message: str) -> None:
    timeout = 0.3 if "0.3 s" in message else 20
    known = catalogue(tmp_path, apps[0], hook=f"\n      reset: {hook}", timeout=timeout)
    with pytest.raises(SiteError, match=message) as error:
        starting(known.apps["shop"])
    assert str(error.value).startswith(f"the reset of shop ({apps[0].url})") or "shopp" in message


def test_program_resets_the_instance(tmp_path: Path, apps: list[HostedApp]) -> None:
    hook = "\n      reset: {run: [sh, -c, 'echo {url} {instance} > done']}"
    starting(catalogue(tmp_path, apps[0], hook=hook).apps["shop"])
    assert (tmp_path / "done").read_text() == f"{apps[0].url} 1\n"


def test_one_dead_instance_leaves_the_others(tmp_path: Path, apps: list[HostedApp]) -> None:
    dead = HostedApp("shop")
    dead.url = "http://127.0.0.1:9"
    starting(catalogue(tmp_path, apps[0], dead).apps["shop"])
    with pytest.raises(SiteError, match=r"expected the site shop at http://127\.0\.0\.1:9, found no connection"):
        starting(catalogue(tmp_path, dead).apps["shop"])


def test_apps_with_a_hook_run_tasks_that_change_them(tmp_path: Path, apps: list[HostedApp]) -> None:
    task: Any = type("Task", (), {"sites": ("shop",), "mutates": True, "setup": (), "category": ""})()
    assert not why_not_lent(catalogue(tmp_path, apps[0]), task)
    assert "which can't be reset" in why_not_lent(catalogue(tmp_path, apps[0], hook=""), task)


@each_case(
    "keys, message",
    [
        ("sites: {a: {url: [http://h, http://i]}, b: {url: http://h:1}}", "equally many, .*found 2 of a, 1 of b"),
        ("sites: {a: {url: [http://h, http://i], keep_address: true}}", "one 'url' with 'keep_address', found 2 of a"),
        ("sites: {a: {host: a.test}}", "a 'url' of each site, .*found 0 of a"),
        ("sites: {a: {url: http://h}}\n    reset: {}", "either 'http' or 'run' in 'reset', found neither"),
        (
            "sites: {a: {url: http://h}}\n    read_only: true\n    reset: {run: [x]}",
            "'reset' on apps that visitors may",
        ),
    ],
)
def test_wrong_keys_are_reported(tmp_path: Path, keys: str, message: str) -> None:
    file = tmp_path / "sites.yaml"
    file.write_text(f"apps:\n  a:\n    backend: external\n    {keys}\n")
    assert re.search(message, "\n".join(map(str, problems_of(file))))


def test_sites_of_one_app_are_reset_together(tmp_path: Path, apps: list[HostedApp]) -> None:
    text = (
        f"apps:\n  hosts:\n    backend: external\n    sites: {{shop: {{url: '{apps[0].url}'}}, forum: "
        f"{{url: '{apps[1].url}'}}}}\n    reset: {{run: [sh, -c, 'echo {{url}} {{url:forum}} >> done']}}\n"
    )
    (tmp_path / "sites.yaml").write_text(text)
    config = BrokerConfig(catalogue=str(tmp_path / "sites.yaml"), run_dir=tmp_path)
    with (
        BrokerLauncher(config) as launcher,
        BrokerClient(launcher.address, name="gw0") as client,
        client.lease(["forum"], holder="one") as lease,
    ):
        assert lease.replicas[0].addresses == {"shop": apps[0].url, "forum": apps[1].url}
        assert "<title>shop" in get(lease, "http://forum.test/")
    assert (tmp_path / "done").read_text() == f"{apps[0].url} {apps[1].url}\n"
