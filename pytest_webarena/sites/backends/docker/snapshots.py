"""Snapshots: images committed from a configured container, from which later replicas start."""

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
from pytest_webarena.sites.backends.docker.volume_data import commit_with_volumes, own_volumes
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
]

SNAPSHOT = "pytest-webarena.snapshot"
"""Label of every snapshot; the value is the app's name."""
SOURCE = "pytest-webarena.source"
"""Label with the id of the image from which the snapshot was made."""
CONFIG = "pytest-webarena.config"
"""Label with the `config_hash` of the configuration."""

_FORMAT = 2
"""Part of the hash; increase it whenever configuring gives a different result for the same manifest."""
_KEPT = 3
"""Maximum number of snapshots of one app on the engine. They share the layers of their image."""
_GRACE = 30
"""Seconds for the app to write its data to disk and end."""


def config_hash(app: AppManifest, unit: str = "") -> str:
    """Returns a hash that changes whenever configuring ``app`` on the same image would give a different result: 16 hex
    characters.

    ``unit`` identifies the other apps of its unit, which affect the configuration.
    """
    docker = app.docker
    assert docker is not None
    steps = [[*map(app.fill, step.run)] for step in docker.post_start]
    volumes = [asdict(volume) for volume in docker.volumes]
    parts = [_FORMAT, steps, list(docker.command), {**docker.env}, docker.shm_size, docker.init, docker.port, volumes]
    parts += [app.fill(value) for value in docker.env.values()]
    parts += [[*map(app.fill, step.run)] for step in docker.before_snapshot]
    parts += [list(docker.entrypoint), docker.user, docker.workdir, list(docker.aliases)]
    parts += [unit] if unit else []
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:16]


def reference_of(app: AppManifest, source: str, unit: str = "") -> str:
    """Returns the name of the snapshot of ``app`` made from the image with the id ``source``. It is never looked up in
    a registry."""
    key = hashlib.sha256(f"{source} {config_hash(app, unit)}".encode()).hexdigest()[:12]
    return f"localhost/pytest-webarena-snapshot-{_name(app)}:{key}"


def _name(app: AppManifest) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_." else "-" for letter in app.name.lower())


def declared_volumes(client: DockerClient, image: str) -> list[str]:
    """Returns the paths that the image declares as volumes."""
    return sorted((client.images.get(image).attrs["Config"].get("Volumes") or {}).keys())


def commit(client: DockerClient, container: str, app: AppManifest, source: str, unit: str = "") -> str:
    """Stop a configured container and commit it as an image. Returns the image's id."""
    labels = {SNAPSHOT: app.name, SOURCE: source, CONFIG: config_hash(app, unit)}
    # A commit copies the container's labels; with ours the snapshot would be removed along with the run.
    labels |= dict.fromkeys((RUN, OWNER, HOST, APP, REPLICA), "")
    return _commit(client, container, app, reference_of(app, source, unit), labels)


def commit_for_run(
    client: DockerClient, container: str, app: AppManifest, labels: Mapping[str, str], edition: int
) -> str:
    """Stop a container with logged-in users and commit it as an image that lives as long as its run. Returns the
    image's id.

    ``labels`` are the run's: they remove the image with everything else of the run, however it ends.
    """
    reference = f"localhost/pytest-webarena-run-{labels[RUN]}-{_name(app)}:{edition}".lower()
    # It must not count as a snapshot, even if it is made from one: later runs must not use it.
    cleared = dict.fromkeys((SNAPSHOT, SOURCE, CONFIG, APP, REPLICA), "")
    return _commit(client, container, app, reference, {**cleared, **labels})


def _commit(client: DockerClient, container: str, app: AppManifest, reference: str, labels: Mapping[str, str]) -> str:
    repository, _, tag = reference.rpartition(":")
    try:
        client.api.stop(container, timeout=_GRACE)
        assert app.docker is not None
        if paths := own_volumes(client, container, app.docker):
            return commit_with_volumes(client, container, paths, repository=repository, tag=tag, labels=labels)
        made = client.api.commit(container, repository=repository, tag=tag, changes=_label_lines(labels))
    except ENGINE_ERRORS as error:
        raise SiteError(f"can't make a snapshot of {app.name}: {explain(error)}") from None
    return str(made["Id"])


def _label_lines(labels: Mapping[str, str]) -> list[str]:
    return [f"LABEL {json.dumps(key)}={json.dumps(value)}" for key, value in labels.items()]


def forget_older(client: DockerClient, app: str) -> None:
    """Remove an app's snapshots except for the latest few. The engine refuses to remove those in use."""
    with suppress(*ENGINE_ERRORS):
        images = [
            (image.attrs["Created"], image) for image in client.images.list(filters={"label": f"{SNAPSHOT}={app}"})
        ]
        for _, image in sorted(images, key=itemgetter(0), reverse=True)[_KEPT:]:
            for tag in image.tags:
                with suppress(*ENGINE_ERRORS):
                    client.images.remove(tag)
