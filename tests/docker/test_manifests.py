"""Manifest settings on a real engine, with an image that behaves like the real sites."""

from __future__ import annotations

import asyncio
import http.client
import io
import tarfile
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_webarena.errors import SiteError, SiteMissing, TaskError
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.catalogues.loading import load_catalogue
from pytest_webarena.sites.catalogues.manifest import (
    AppManifest,
    ContainerStep,
    DatabaseManifest,
    DockerManifest,
    ExecReady,
    HttpReady,
    SiteManifest,
    VolumeManifest,
)
from pytest_webarena.sites.recipe_proofs import examine_proofs

if TYPE_CHECKING:
    from docker import DockerClient

    from pytest_webarena.sites.backends.docker import DockerBackend
    from tests.docker.conftest import Shared

pytestmark = pytest.mark.docker

Run = Callable[..., Any]
CONFIGURE = ContainerStep(run=("magento", "setup:store-config:set", "--base-url={url}"))
ORDERS = "select id, item from orders order by id"


@pytest.fixture
def run(shared: Shared) -> Run:
    return shared.run


@pytest.fixture
def backend(shared_backend: DockerBackend) -> DockerBackend:
    return shared_backend


def get(replica: Replica, path: str = "/", host: str = "shop.test") -> tuple[int, str]:
    connection = http.client.HTTPConnection(replica.host, replica.port, timeout=10)
    try:
        connection.request("GET", path, headers={"Host": host})
        response = connection.getresponse()
        return response.status, response.headers.get("Location") or response.read().decode()
    finally:
        connection.close()


@pytest.fixture
def shop(standin_image: str) -> AppManifest:
    """A shop with a fixed address and a database server, configured after each start."""
    database = DatabaseManifest(name="main", engine="mysql", database="shop", user="me", password="MyPassword")
    return AppManifest(
        name=f"shop-{uuid.uuid4().hex[:6]}",
        backend="docker",
        sites=(SiteManifest(name="shop", host="shop.test", app="shop"),),
        databases={"main": database},
        ready=(HttpReady(status=(200, 302)),),
        start_timeout=30,
        docker=DockerManifest(image=standin_image, port=8080, post_start=(CONFIGURE,)),
    )


def docker_of(app: AppManifest, **changes: Any) -> AppManifest:
    assert app.docker is not None
    return replace(app, docker=replace(app.docker, **changes))


def test_post_start_steps_configure_each_start_and_reset(backend: DockerBackend, shop: AppManifest, run: Run) -> None:
    flaky = ContainerStep(run=("magento", "flaky", "3"), attempts=3, pause=0.01)
    shop = docker_of(shop, post_start=(flaky, CONFIGURE))
    run(backend.prepare(shop))
    replica = run(backend.start(shop, "shop-1"))
    assert get(replica) == (200, "the shop at http://shop.test")
    assert get(replica, host="elsewhere.test") == (302, "http://shop.test/")
    source, _, config = replica.digest.partition("+")
    assert source.startswith("sha256:")
    assert len(config) == 16
    again = run(backend.reset(shop, replica))
    assert get(again, "/files/state/configured") == (200, "flaky\nflaky\nflaky\nsetup:store-config:set\n")


@pytest.mark.exhaustive
def test_proofs_of_steps_are_run_in_a_container(engine: DockerClient, shop: AppManifest) -> None:
    held, wrong = ("sh", "-c", "test {host} = shop.test"), ("sh", "-c", "exit 3")
    steps = [replace(CONFIGURE, proof=held), replace(CONFIGURE, run=("true",))]
    shop = replace(docker_of(shop, post_start=tuple(steps)), name="shop")
    catalogue = replace(load_catalogue("embedded"), apps={"shop": shop})
    found = [(each.state, each.text) for each in examine_proofs(catalogue, [shop])]
    assert found == [
        ("ok", "sh -c 'test shop.test = shop.test'"), ("note", "1 of 2 steps have no proof but their exit code"),
    ]  # fmt: skip
    shop = docker_of(shop, post_start=(replace(CONFIGURE, proof=wrong),))
    ((state, text),) = [
        (each.state, each.text) for each in examine_proofs(replace(catalogue, apps={"shop": shop}), [shop])
    ]
    assert (state, "had no effect by sh -c 'exit 3'" in text) == ("failed", True)


@pytest.mark.matrix(1)
@pytest.mark.parametrize(
    ("step", "expected"),
    [
        pytest.param(
            ContainerStep(run=("magento", "flaky", "9"), attempts=2, pause=0.01),
            ["step 1 of 1 failed (attempt 2 of 2): magento flaky 9", "exit code 1", "locked (time 2)", "serving"],
            id="fails",
        ),
        pytest.param(
            ContainerStep(run=("magento", "hang", ""), timeout=0.5),
            ["hangs: magento inside did not end within 0.5 s", "serving"],
            id="hangs",
        ),
        pytest.param(ContainerStep(run=("bin/magneto",)), ["bin/magneto", "no such file"], id="misspelt"),
        pytest.param(
            ContainerStep(run=("python3", "-c", "import os; os.kill(1, 15)")), ["exit code 0", "serving"], id="deadly"
        ),
    ],
)
def test_failed_post_start_step_is_reported(
    engine: DockerClient, backend: DockerBackend, shop: AppManifest, run: Run, step: ContainerStep, expected: list[str]
) -> None:
    shop = docker_of(shop, post_start=(step,), init=False)
    run(backend.prepare(shop))
    with pytest.raises(SiteError) as caught:
        run(backend.start(shop, "shop-1"))
    for text in expected:
        assert text in str(caught.value)


def test_snapshot_is_configured_once_for_all_runs(
    engine: DockerClient, broker: BackendContext, shop: AppManifest, run: Run
) -> None:
    from pytest_webarena.sites.backends.docker import DockerBackend
    from pytest_webarena.sites.backends.docker.snapshots import SNAPSHOT

    shop = docker_of(shop, snapshot=True, env={"PLACE": "{host}"}, snapshot_env={"FAST": "1"})
    notes: list[tuple[str, str]] = []
    digests = []
    try:
        for turn in ("first", "second"):
            context = replace(broker, run=f"{broker.run}-{turn}", note=lambda *args: notes.append(args))
            backend = DockerBackend(context)
            try:
                run(backend.prepare(shop))
                replica = run(backend.start(shop, "shop-1"))
                assert get(replica) == (200, "the shop at http://shop.test")
                assert get(replica, "/files/state/configured")[1] == "setup:store-config:set\n"
                assert (
                    get(replica, "/files/state/boots")[1] == "boot\nboot\n"
                )  # once to be configured, once as a replica
                environment = get(replica, "/files/proc/self/environ")[1].split("\0")
                assert {"PLACE=shop.test", "FAST=1"} <= set(environment)
                digests.append(replica.digest)
            finally:
                run(backend.close())
        assert digests[0] == digests[1]
        (image,) = engine.images.list(filters={"label": f"{SNAPSHOT}={shop.name}"})  # closing did not remove it
        assert image.labels["pytest-webarena.source"] == digests[0].partition("+")[0]
        assert digests[0].endswith(image.labels["pytest-webarena.config"])
        assert [text for _, text in notes if "configuring" in text] == [f"configuring {shop.name} once, for a snapshot"]
        assert notes[-1] == (shop.name, "")
    finally:
        for image in engine.images.list(filters={"label": f"{SNAPSHOT}={shop.name}"}):
            engine.images.remove(str(image.id), force=True)


def test_snapshot_name_depends_on_image_and_configuration(shop: AppManifest) -> None:
    from pytest_webarena.sites.backends.docker.snapshots import reference_of

    other = replace(shop.sites[0], host="other.test")
    names = {
        reference_of(shop, "sha256:1"),
        reference_of(shop, "sha256:2"),
        reference_of(replace(shop, sites=(other,)), "sha256:1"),
        reference_of(docker_of(shop, env={"A": "b"}), "sha256:1"),
    }
    assert len(names) == 4
    assert reference_of(docker_of(shop, memory="1g", get="docker pull it"), "sha256:1") in names


def test_queries_use_the_mysql_client_of_the_container(backend: DockerBackend, shop: AppManifest, run: Run) -> None:
    def query(sql: str, *, write: bool = False, app: AppManifest = shop) -> Any:
        return run(backend.query(app, replica, "main", sql, write=write))

    run(backend.prepare(shop))
    replica = run(backend.start(shop, "shop-1"))
    assert query(ORDERS).columns == ("id", "item")
    assert query(ORDERS).rows == (("1", "tea <&> Gebäck"), ("2", None))
    assert query("select 1 where 0").rows == ()
    with pytest.raises(TaskError, match=r"ERROR 1064.*no such table: order_: select"):
        query("select * from order_")
    with pytest.raises(TaskError, match="readonly"):
        query("delete from orders")
    assert query(
        "delete from orders where id = 1; insert into orders values (7, 'x; y')".replace("; y", ""), write=True
    )
    assert query(ORDERS).rows == (("2", None), ("7", "x"))
    wrong = replace(shop.databases["main"], password="guessed")
    with pytest.raises(SiteError, match="can't query the database main of shop-1: exit code 1: ERROR 1045"):
        query("select 1", app=replace(shop, databases={"main": wrong}))
    absent = replace(shop.databases["main"], client=("no-such-client",))
    with pytest.raises(SiteError, match="no-such-client"):
        query("select 1", app=replace(shop, databases={"main": absent}))


def test_reset_keeps_container_only_if_fingerprint_matches(backend: DockerBackend, shop: AppManifest, run: Run) -> None:
    hashing = "import hashlib; print(hashlib.md5(open('/state/base_url', 'rb').read()).hexdigest())"
    good = docker_of(shop, reset=(CONFIGURE,), fingerprint=("python3", "-c", hashing))
    spoil = ContainerStep(run=("magento", "setup:store-config:set", "--base-url=http://x.test"))
    run(backend.prepare(good))
    replica = run(backend.start(good, "shop-1"))
    container, pristine = replica.handle.id, replica.fingerprint

    run(backend.query(good, replica, "main", "select 1", write=False))
    again = run(backend.reset(good, replica))
    assert (again.handle.id, again.generation, again.fingerprint) == (container, 1, pristine)

    bad = docker_of(good, reset=(spoil,))
    again = run(backend.reset(bad, replica))
    assert again.handle.id != container
    assert (again.generation, again.fingerprint) == (2, pristine)
    assert get(again) == (200, "the shop at http://shop.test")


def test_start_waits_for_ready_conditions_of_manifest(backend: DockerBackend, shop: AppManifest, run: Run) -> None:
    ready = (
        HttpReady(redirect="/"),
        ExecReady(run=("python3", "-c", "open('/state/shop.sqlite3')")),
    )
    shop = docker_of(replace(shop, ready=ready), post_start=(), env={"BOOT_SECONDS": "0.3"})
    run(backend.prepare(shop))
    assert get(run(backend.start(shop, "shop-1"))) == (302, "http://baked.example:7770/")
    never = replace(shop, ready=(ExecReady(run=("python3", "-c", "raise SystemExit('not yet')")),), start_timeout=9)
    with pytest.raises(SiteError, match=r"(?s)not ready within .* python3: exit code 1\n  not yet.*serving"):
        run(backend.start(never, "shop-2"))


def test_out_of_memory_is_reported_while_site_still_answers(
    backend: DockerBackend, shop: AppManifest, run: Run
) -> None:
    async def why() -> str:
        async with asyncio.timeout(30):
            while not (text := await backend.alive(shop, replica)):
                await asyncio.sleep(0.02)
            return text

    shop = docker_of(shop, memory="64m")
    run(backend.prepare(shop))
    replica = run(backend.start(shop, "shop-1"))
    assert run(backend.alive(shop, replica)) == ""
    assert get(replica, "/eat")[0] == 200
    assert "ran out of memory" in run(why())
    assert get(replica)[0] == 200  # only a child was killed


def test_paused_replica_is_alive_and_resumes(
    engine: DockerClient, backend: DockerBackend, shop: AppManifest, run: Run
) -> None:
    run(backend.prepare(shop))
    replica = run(backend.start(shop, "shop-1"))
    run(backend.pause(shop, replica))
    assert engine.containers.get(replica.handle.id).status == "paused"
    assert run(backend.alive(shop, replica)) == ""
    run(backend.resume(shop, replica))
    assert get(replica)[0] == 200
    run(backend.pause(shop, replica))
    run(backend.stop(shop, replica))


def test_immutable_volumes_are_shared_and_mutable_ones_copied(
    engine: DockerClient, backend: DockerBackend, shop: AppManifest, run: Run, tmp_path: Path
) -> None:
    (tmp_path / "zim").write_text("an encyclopedia")
    name = f"webarena-test-{uuid.uuid4().hex[:8]}"
    shared, own = (
        VolumeManifest(source=str(tmp_path), target="/zim"),
        VolumeManifest(source=name, target="/db", mutable=True),
    )
    shop = docker_of(shop, volumes=(shared, own), post_start=(), get="sh get-the-data")
    with pytest.raises(SiteMissing, match=rf"expected the volume on the Docker engine {name}.*\n(.|\n)*get-the-data"):
        run(backend.prepare(shop))
    engine.volumes.create(name)
    try:
        run(backend.prepare(shop))
        first, second = run(backend.start(shop, "shop-1")), run(backend.start(shop, "shop-2"))
        write = "for name in ('/db/mark', '/zim/mark'): open(name, 'w').write('mine')"
        code, output = engine.containers.get(first.handle.id).exec_run(["python3", "-c", write])
        assert code == 1
        assert b"Read-only file system: '/zim/mark'" in output
        listing = ["python3", "-c", "import os; print(os.listdir('/db'), os.listdir('/zim'))"]
        assert engine.containers.get(first.handle.id).exec_run(listing).output == b"['mark'] ['zim']\n"
        assert engine.containers.get(second.handle.id).exec_run(listing).output == b"[] ['zim']\n"
        copies = {volume for replica in (first, second) for volume in replica.handle.volumes}
        assert len(copies) == 2
        run(backend.stop(shop, first))
        run(backend.stop(shop, second))
        assert not copies & {volume.name for volume in engine.volumes.list()}
    finally:
        engine.volumes.get(name).remove(force=True)


def test_only_apps_that_depend_on_each_other_can_connect(
    broker: BackendContext, shop: AppManifest, engine: DockerClient, run: Run
) -> None:
    from pytest_webarena.sites.backends.docker import DockerBackend

    tiles = replace(shop, name="tiles", sites=(SiteManifest(name="tiles", host="tiles.test", app="tiles"),))
    site = replace(shop, name="map", depends_on=("tiles",))
    stranger = replace(shop, name="stranger")
    backend = DockerBackend(replace(broker, needed=frozenset({"tiles"})))
    try:
        replicas = {}
        for app in (site, tiles, stranger):
            run(backend.prepare(app))
            replicas[app.name] = run(backend.start(app, app.name))
        for name in ("tiles.test", "tiles"):  # an app without sites has no other name than its own
            assert get(replicas["map"], f"/ask?http://{name}:8080/") == (200, "the shop at http://tiles.test")
        with pytest.raises(http.client.HTTPException):
            get(replicas["stranger"], "/ask?http://tiles.test:8080/")
    finally:
        run(backend.close())


# --- images


@pytest.fixture
def tiny(engine: DockerClient) -> Iterator[str]:
    """An image of one file, which cannot run."""
    reference = f"localhost/webarena-tiny:{uuid.uuid4().hex[:8]}"
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w") as archive:
        archive.addfile(tarfile.TarInfo(f"file-{uuid.uuid4().hex}"))
    repository, _, tag = reference.rpartition(":")
    engine.api.import_image_from_data(content.getvalue(), repository=repository, tag=tag)
    yield reference
    for image in engine.images.list(name=reference):
        engine.images.remove(str(image.id), force=True)


def test_missing_image_is_loaded_from_tar_file(engine: DockerClient, tiny: str, tmp_path: Path) -> None:
    from pytest_webarena.sites.backends.docker.image_sources import obtain_image

    file = tmp_path / "tiny.tar"
    image = engine.images.get(tiny)
    file.write_bytes(b"".join(image.save(named=True)))
    manifest = DockerManifest(image=tiny, tar=str(file), digest=str(image.id))
    engine.images.remove(str(image.id), force=True)
    notes: list[str] = []
    assert obtain_image(engine, manifest, notes.append) == image.id
    assert notes == [f"loading {file} ({file.stat().st_size / 1000:.0f} kB)"]
    assert obtain_image(engine, manifest, notes.append) == image.id
    assert len(notes) == 1  # it is there now
    with pytest.raises(SiteMissing, match=f"expected the image localhost/another in {file}, found {tiny}"):
        obtain_image(engine, replace(manifest, image="localhost/another"), notes.append)
    file.write_text("no tar")
    engine.images.remove(tiny, force=True)
    with pytest.raises(SiteError, match="can't load"):
        obtain_image(engine, manifest, notes.append)


def test_image_with_other_digest_than_pinned_is_rejected(engine: DockerClient, tiny: str) -> None:
    from pytest_webarena.sites.backends.docker.image_sources import obtain_image

    pinned = "sha256:" + "0" * 64
    with pytest.raises(SiteError, match=f"with the digest {pinned}, found {engine.images.get(tiny).id}"):
        obtain_image(engine, DockerManifest(image=tiny, digest=pinned), print)


@pytest.mark.parametrize(
    ("manifest", "expected"),
    [
        (DockerManifest(image="localhost/absent:1"), ["found none.\n", "docker pull localhost/absent:1"]),
        (
            DockerManifest(
                image="shop_final", get="wget http://x.example/shop.tar\ndocker load -i shop.tar", tar="/no/x.tar"
            ),
            ["and no file /no/x.tar", "\n  wget http://x.example/shop.tar\n  docker load -i shop.tar"],
        ),
        # Nothing listens there, so the pull fails at once. The image counts as small, so no confirmation is needed.
        (
            DockerManifest(image="127.0.0.1:9/shop:2", pull_size="1 MB"),
            ["found none: ", "refused", "docker pull 127.0.0.1:9/shop:2"],
        ),
    ],
)
def test_missing_image_error_names_how_to_get_it(
    engine: DockerClient, manifest: DockerManifest, expected: list[str]
) -> None:
    from pytest_webarena.sites.backends.docker.image_sources import obtain_image

    with pytest.raises(SiteMissing) as caught:
        obtain_image(engine, manifest, print)
    for text in expected:
        assert text in str(caught.value)
