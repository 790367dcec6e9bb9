"""Images committed from a container once its app has been configured: what replicas start from afterwards."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from operator import itemgetter

from docker import DockerClient

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker.engine import ENGINE_ERRORS, explain
from pytest_webarena.sites.backends.docker.labels import APP, HOST, OWNER, REPLICA, RUN
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = [
    "CONFIG",
    "SNAPSHOT",
    "SOURCE",
    "commit",
    "commit_for_run",
    "config_hash",
    "declared_volumes",
    "forget_older",
    "reference_of",
    "require_no_volumes",
]

SNAPSHOT = "pytest-webarena.snapshot"
"""Label of every snapshot; the value is the app's name."""
SOURCE = "pytest-webarena.source"
"""Id of the image it was made from."""
CONFIG = "pytest-webarena.config"
"""`config_hash` of what was done to it."""

_FORMAT = 1
"""Part of the hash; raise it whenever configuring comes out differently for the same manifest."""
_KEPT = 3
"""Snapshots of one app that stay on the engine. They share the layers of their image."""
_GRACE = 30
"""Seconds the app has to write down what it holds in memory and end."""


def config_hash(app: AppManifest, unit: str = "") -> str:
    """Changes whenever configuring ``app`` would come out differently on the same image. Hex, 16 characters.

    ``unit`` says what the other apps of its unit are, which take part in it.
    """
    docker = app.docker
    assert docker is not None
    steps = [[*map(app.fill, step.run)] for step in docker.post_start]
    volumes = [asdict(volume) for volume in docker.volumes]
    parts = [_FORMAT, steps, list(docker.command), {**docker.env}, docker.shm_size, docker.init, docker.port, volumes]
    parts += [app.fill(value) for value in docker.env.values()]
    parts += [unit] if unit else []
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def reference_of(app: AppManifest, source: str, unit: str = "") -> str:
    """Name of the snapshot of ``app`` made from the image with the id ``source``. Never looked for in a registry."""
    key = hashlib.sha256(f"{source} {config_hash(app, unit)}".encode()).hexdigest()[:12]
    return f"localhost/pytest-webarena-snapshot-{_name(app)}:{key}"


def _name(app: AppManifest) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in app.name.lower())


def declared_volumes(client: DockerClient, image: str) -> list[str]:
    """Paths that the image declares as volumes: a commit does not hold what is there."""
    return sorted((client.images.get(image).attrs["Config"].get("Volumes") or {}).keys())


def require_no_volumes(client: DockerClient, app: AppManifest, image: str) -> None:
    """`SiteError` when a snapshot would lack what the app keeps, because it would be in volumes."""
    docker = app.docker
    assert docker is not None
    given = {volume.target for volume in docker.volumes}
    if lost := [path for path in declared_volumes(client, image) if path not in given]:
        raise SiteError(
            f"expected all that {app.name} keeps to be in its container, found that its image declares "
            f"{', '.join(lost)} as a volume, which no snapshot holds: what 'post_start' does there would be lost. "
            "Say 'snapshot: false' (of all apps that depend on each other), or have the app keep its data elsewhere"
        )


def commit(client: DockerClient, container: str, app: AppManifest, source: str, unit: str = "") -> str:
    """Stop the container, which has been configured, and make it an image. Its id."""
    labels = {SNAPSHOT: app.name, SOURCE: source, CONFIG: config_hash(app, unit)}
    # A commit takes the container's labels over; with ours it would be removed along with the run.
    labels |= dict.fromkeys((RUN, OWNER, HOST, APP, REPLICA), "")
    return _commit(client, container, app, reference_of(app, source, unit), labels)


def commit_for_run(
    client: DockerClient, container: str, app: AppManifest, labels: Mapping[str, str], edition: int
) -> str:
    """Stop the container, in which users have signed in, and make it an image that lives as long as its run. Its id.

    ``labels`` are the run's: they take the image away with everything else of it, however the run ends.
    """
    reference = f"localhost/pytest-webarena-run-{labels[RUN]}-{_name(app)}:{edition}".lower()
    # It is not the snapshot that it may be made from: later runs must not take it for one.
    blank = dict.fromkeys((SNAPSHOT, SOURCE, CONFIG, APP, REPLICA), "")
    return _commit(client, container, app, reference, {**blank, **labels})


def _commit(client: DockerClient, container: str, app: AppManifest, reference: str, labels: Mapping[str, str]) -> str:
    repository, _, tag = reference.rpartition(":")
    try:
        client.api.stop(container, timeout=_GRACE)
        made = client.api.commit(container, repository=repository, tag=tag, changes=_label_lines(labels))
    except ENGINE_ERRORS as error:
        raise SiteError(f"can't make a snapshot of {app.name}: {explain(error)}") from None
    return str(made["Id"])


def _label_lines(labels: Mapping[str, str]) -> list[str]:
    return [f"LABEL {json.dumps(key)}={json.dumps(value)}" for key, value in labels.items()]


def forget_older(client: DockerClient, app: str) -> None:
    """Remove an app's snapshots but for the latest few. Those in use stay, for the engine refuses."""
    with suppress(*ENGINE_ERRORS):
        images = [
            (image.attrs["Created"], image) for image in client.images.list(filters={"label": f"{SNAPSHOT}={app}"})
        ]
        for _, image in sorted(images, key=itemgetter(0), reverse=True)[_KEPT:]:
            for tag in image.tags:
                with suppress(*ENGINE_ERRORS):
                    client.images.remove(tag)
