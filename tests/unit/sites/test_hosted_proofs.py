"""Proofs of resets of apps that run elsewhere: their reference, changes without writes, instances that fail."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

import pytest

from pytest_webarena.commands.cli import main
from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.reset_proofs import ResetProofs
from pytest_webarena.sites.broker.pool import Pool
from pytest_webarena.sites.broker.pool_lease import PoolLease
from pytest_webarena.sites.broker.sizing import ReplicaSetLimits
from pytest_webarena.sites.catalogues.manifest import AppManifest
from pytest_webarena.sites.catalogues.running import HttpCall
from pytest_webarena.sites.client.launcher import BrokerConfig, BrokerLauncher
from pytest_webarena.sites.client.lease import BrokerClient
from tests.hosted_app import HostedApp, hosted_app
from tests.unit.sites.test_hosted import HOOK, backend, catalogue, starting

PROOF = "\n      reset: {run: [sh, -c, 'RESET'], proof: {url: '{url}/'}}"
PROVED = HOOK + '        proof: {url: "{url}/"}\n'


@pytest.fixture
def apps() -> Iterator[list[HostedApp]]:
    with ExitStack() as exits:
        yield [exits.enter_context(hosted_app()) for _ in range(3)]


class Instances:
    """A pool of one app with these instances, each of which is leased alone."""

    def __init__(self, folder: Path, apps: list[HostedApp], *, spares: int = 2) -> None:
        app = catalogue(folder, *apps, hook=PROVED).apps["shop"]
        self.external = backend()
        limits = ReplicaSetLimits(replicas=len(apps), spares=spares)
        self.pool = Pool({"shop": app}, lambda _: self.external, lambda _: limits)
        self.app, self._apps = app, apps

    async def lease(self) -> tuple[PoolLease, HostedApp]:
        """Return a lease and its instance."""
        lease = await self.pool.lease(["shop"], holder="one", timeout=60)
        return lease, next(app for app in self._apps if app.url == lease.replicas["shop"].addresses["shop"])

    async def release(self, lease: PoolLease) -> str:
        """Release a lease without a write. Returns why the instance is reset."""
        return (await self.pool.release(lease, unsafe={})).get("shop", "")

    @property
    def problems(self) -> tuple[str, ...]:
        """Sentences of the summary."""
        return self.pool.report()["shop"].problems


def test_reset_that_does_not_restore_the_data_is_an_error(tmp_path: Path, apps: list[HostedApp]) -> None:
    async def work(app: AppManifest, *, note: str) -> None:
        external = backend()
        await external.prepare(app)
        first = await external.start(app, "shop-1")
        apps[0].note = note
        await external.reset(app, first)
        await external.start(app, "shop-2")

    app = catalogue(tmp_path, *apps[:2], hook=PROOF.replace("RESET", "true")).apps["shop"]
    asyncio.run(work(app, note=""))  # though pages have the addresses of their instances
    both = f"the response after the resets of {apps[0].url} and {apps[1].url}"
    with pytest.raises(SiteError, match=rf"not proved: GET .*expected {both}, found .*Milk"):
        asyncio.run(work(app, note="Milk"))
    missing = catalogue(tmp_path, apps[0], hook=PROOF.replace("RESET", "true").replace("{url}/", "{url}/missing"))
    with pytest.raises(SiteError, match=r"not proved: GET .*expected status 200 to 299, found 404"):
        starting(missing.apps["shop"])


def test_instances_that_differ_after_their_resets_leave_no_reference(tmp_path: Path, apps: list[HostedApp]) -> None:
    apps[1].lies, apps[1].note = True, "another edition"
    app = catalogue(tmp_path, *apps[:2], hook=PROVED).apps["shop"]
    with pytest.raises(SiteError, match=r"instances of shop differ .*another edition.*which is right is not known"):
        starting(app)


def test_two_equal_instances_outvote_a_third(tmp_path: Path, apps: list[HostedApp]) -> None:
    async def work(instances: Instances) -> None:
        (first, one), (_, two) = await instances.lease(), await instances.lease()
        assert apps[0] not in (one, two)
        async with asyncio.timeout(20):
            while instances.external.usable(instances.app) > 2:  # a later request tries it again
                await instances.release(first)
                first, _ = await instances.lease()

    apps[0].lies, apps[0].note = True, "another edition"
    instances = Instances(tmp_path, apps)
    asyncio.run(work(instances))
    [problem] = instances.problems
    assert problem.startswith(f"shop at {apps[0].url} was withdrawn after 2 failed resets: the reset of shop")
    assert f"expected the response after the resets of {apps[1].url} and {apps[2].url}, found" in problem
    assert "another edition" in problem
    assert problem.endswith("Repair it, test it with 'webarena sites doctor', and resume the run")


def test_reference_of_a_single_instance_needs_two_equal_resets(tmp_path: Path, apps: list[HostedApp]) -> None:
    starting(catalogue(tmp_path, apps[0], hook=PROVED).apps["shop"])
    assert apps[0].resets == 2
    (tmp_path / "count").write_text("")
    grows = "\n      reset: {run: [sh, -c, 'echo >> count'], proof: {url: '{url}/'}}"
    notes = property(lambda app: str((tmp_path / "count").stat().st_size), lambda *_: None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(HostedApp, "note", notes, raising=False)
        app = catalogue(tmp_path, apps[2], hook=grows).apps["shop"]
        with pytest.raises(SiteError, match=r"two resets of shop .* differ: expected .*, found .*does not restore"):
            starting(app)


def test_proof_must_be_stable(tmp_path: Path, apps: list[HostedApp], monkeypatch: pytest.MonkeyPatch) -> None:
    counter = iter(range(9))
    monkeypatch.setattr(HostedApp, "note", property(lambda _: str(next(counter)), lambda *_: None), raising=False)
    app = catalogue(tmp_path, apps[0], hook=PROOF.replace("RESET", "true")).apps["shop"]
    with pytest.raises(SiteError, match=r"expected the same response twice .*without times and tokens"):
        starting(app)


def test_changes_without_a_write_are_found_at_release_and_before_a_lease(tmp_path: Path, apps: list[HostedApp]) -> None:
    async def work(instances: Instances, app: HostedApp) -> None:
        lease, _ = await instances.lease()
        assert await instances.release(lease) == ""
        lease, _ = await instances.lease()
        before, app.note = app.resets, "Milk"
        why = await instances.release(lease)
        assert f"its proof has changed: GET {app.url}/ has " in why
        assert "Milk" in why
        lease, _ = await instances.lease()
        assert (app.note, app.resets) == ("", before + 1)
        await instances.release(lease)
        app.note = "a background job"
        lease, _ = await instances.lease()
        assert (app.note, app.resets) == ("", before + 2)
        app.note = "Tea"
        await instances.release(lease)
        async with asyncio.timeout(20):
            while instances.pool.status()[0][0].replicas[0].state != "pristine":
                await asyncio.sleep(0.01)
        app.note = "a background job since the reset"
        await instances.lease()
        assert (app.note, app.resets) == ("", before + 4)

    asyncio.run(work(Instances(tmp_path, apps[:1]), apps[0]))


def test_instance_whose_reset_restores_nothing_is_withdrawn(tmp_path: Path, apps: list[HostedApp]) -> None:
    async def work(instances: Instances) -> HostedApp:
        lease, liar = await instances.lease()
        liar.lies, liar.note = True, "Milk"
        await instances.release(lease)
        async with asyncio.timeout(20):
            while instances.external.usable(instances.app) > 1:  # a later request tries it again
                lease, used = await instances.lease()
                assert used is not liar
                await instances.release(lease)
        return liar

    instances = Instances(tmp_path, apps[:2])
    liar = asyncio.run(work(instances))
    [problem] = instances.problems
    assert problem.startswith(f"shop at {liar.url} was withdrawn after 2 failed resets: the reset of shop ({liar.url})")
    assert "Milk" in problem


def test_instance_that_is_dead_at_first_is_tried_last(tmp_path: Path, apps: list[HostedApp]) -> None:
    async def work(instances: Instances) -> None:
        for _ in range(2):
            lease, used = await instances.lease()
            assert used is apps[1]
            await instances.release(lease)
        assert instances.pool.report()["shop"].failed_starts == 0

    apps[0].down = True
    asyncio.run(work(Instances(tmp_path, apps[:2], spares=0)))


def test_dead_instances_are_withdrawn_until_none_is_left(tmp_path: Path, apps: list[HostedApp]) -> None:
    async def work(instances: Instances) -> None:
        lease, dead = await instances.lease()
        addresses = lease.replicas["shop"].addresses
        assert await instances.external.instance_problem(instances.app, addresses) == ""
        dead.down = True
        await instances.release(lease)
        assert "closed connection" in await instances.external.instance_problem(instances.app, addresses)
        lease, last = await instances.lease()
        assert last is not dead
        last.down = True
        await instances.release(lease)
        for _ in range(4):
            with pytest.raises(SiteError) as error:
                await instances.lease()
        assert str(error.value).startswith("the app 'shop' has no instance left: ")
        for app in (dead, last):
            assert f"shop at {app.url} was withdrawn after 2 failed resets" in str(error.value)

    instances = Instances(tmp_path, apps[:2])
    asyncio.run(work(instances))
    assert len(instances.problems) == 2


@pytest.mark.parametrize("kept", [True, False])
def test_later_broker_of_a_run_compares_with_the_first_resets(
    tmp_path: Path, apps: list[HostedApp], kept: bool
) -> None:
    known = catalogue(tmp_path, apps[0], hook=PROOF.replace("RESET", "true"))
    file = tmp_path / "run" / "reset_proofs.json"
    config = BrokerConfig(catalogue=known.option, run_dir=tmp_path, reset_proofs=file if kept else None)
    problems: list[str] = []
    failed = f"shop at {apps[0].url} failed its last reset: "
    for note in ("", "", "Milk"):
        apps[0].note = note
        with BrokerLauncher(config) as launcher, BrokerClient(launcher.address, name="gw0") as client:
            try:
                client.lease(["shop"], holder="one").release()
            except SiteError as error:
                problems.append(str(error))
        assert [each[: len(failed)] for each in launcher.stop().problems] == [failed] * len(problems)
    assert len(problems) == kept
    for problem in problems:
        assert "expected the response after the run's first resets, found another: " in problem
        assert problem.endswith(f"; if the data were replaced on purpose, remove {file}, or start a new run")


def test_proofs_of_a_run_are_compared_by_request(tmp_path: Path) -> None:
    file = tmp_path / "run" / "reset_proofs.json"
    call = HttpCall(url="{url}/", method="GET", headers={"Authorization": "Bearer one"})
    ResetProofs(file).keep("shop", call, "Milk", origin="the first one")
    assert not file.with_suffix(".new").exists()
    later = ResetProofs(file)
    assert later.has("shop", replace(call, headers={"Authorization": "Bearer two"}))
    assert not later.has("shop", replace(call, url="{url}/other"))
    assert not later.has("shop2", call)
    assert not later.equals("shop", call, "Tea")
    assert later.text("shop", call) is None
    assert later.equals("shop", call, "Milk")
    assert later.text("shop", call) == "Milk"
    assert "Milk" not in file.read_text()
    for text in ("{", "[]"):
        file.write_text(text)
        with pytest.raises(SiteError, match=r"reset_proofs\.json.*start a new run"):
            ResetProofs(file).has("shop", call)
    with pytest.raises(SiteError, match=r"the proof of a reset can't be written to /dev/null/x\.json: "):
        ResetProofs(Path("/dev/null/x.json")).keep("shop", call, "Milk", origin="the first one")


def test_verify_resets_hosted_instances(
    tmp_path: Path, apps: list[HostedApp], capsys: pytest.CaptureFixture[str]
) -> None:
    option = catalogue(tmp_path, *apps[:2], hook=PROVED).option
    assert main(["sites", "verify", f"--sites={option}"]) == 0
    assert "their proofs are equal" in " ".join(capsys.readouterr().out.split())
    apps[0].lies, apps[0].note = True, "another edition"
    assert main(["sites", "verify", f"--sites={option}"]) == 1
    found = " ".join(capsys.readouterr().out.split())
    assert all(app.url in found for app in apps[:2])
    assert "another edition" in found
