"""Runs the proofs of container recipes: programs inside that end with 0 only if a step had its effect."""

from __future__ import annotations

import asyncio
import shlex
from collections.abc import Iterator, Sequence

from pytest_webarena.errors import HarnessError, WebArenaError
from pytest_webarena.sites.backends.base import AskingBackend
from pytest_webarena.sites.catalogues.manifest import AppManifest, Catalogue
from pytest_webarena.sites.doctor import Diagnosis
from pytest_webarena.sites.single_replicas import Scratch, scratch, started

__all__ = ["examine_proofs"]


def examine_proofs(catalogue: Catalogue, apps: Sequence[AppManifest]) -> Iterator[Diagnosis]:
    """Start a replica of each of ``apps`` in turn, and yield the result of each proof of its steps."""
    with scratch() as place:
        for app in apps:
            proofs = _proofs(app)
            unproved = len(app.docker.post_start) - len(proofs) if app.docker is not None else 0
            if not proofs:
                yield Diagnosis(subject=app.name, state="note", text="its recipe has no proofs")
                continue
            yield from asyncio.run(_examined(catalogue, app, proofs, place))
            if unproved:
                text = f"{unproved} of {len(proofs) + unproved} steps have no proof but their exit code"
                yield Diagnosis(subject=app.name, state="note", text=text)


def _proofs(app: AppManifest) -> list[Sequence[str]]:
    return [step.proof for step in app.docker.post_start if step.proof] if app.docker is not None else []


async def _examined(
    catalogue: Catalogue, app: AppManifest, proofs: Sequence[Sequence[str]], place: Scratch
) -> list[Diagnosis]:
    found: list[Diagnosis] = []
    try:
        async with started(catalogue, app, place) as running:
            backend, replica = running.of(app)
            if not isinstance(backend, AskingBackend):
                raise HarnessError(f"the backend {app.backend} runs no programs inside its replicas")
            for proof in proofs:
                why = await backend.execute(app, replica, proof)
                words = shlex.join(map(app.fill, proof))
                text = f"{words}: {'; '.join(why.splitlines())}" if why else words
                found.append(Diagnosis(subject=app.name, state="failed" if why else "ok", text=text))
    except TimeoutError:
        text = f"it did not start within {app.start_timeout:g} s, so no proof was run"
        found.append(Diagnosis(subject=app.name, state="failed", text=text))
    except WebArenaError as error:
        text = f"{'; '.join(str(error).splitlines())}; {len(found)} of {len(proofs)} proofs were run"
        found.append(Diagnosis(subject=app.name, state="failed", text=text))
    return found
