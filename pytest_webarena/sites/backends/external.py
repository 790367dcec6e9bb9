"""Provides sites that run elsewhere: nothing is started, and databases are not accessible."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pytest_webarena.errors import SiteError, UsageError
from pytest_webarena.sites.backends.base import BackendContext, Replica
from pytest_webarena.sites.backends.hosted_instances import HostedInstances, connection_problem, endpoint
from pytest_webarena.sites.backends.reset_proofs import ResetProofs
from pytest_webarena.sites.backends.reset_proving import proof_change
from pytest_webarena.sites.backends.unmanaged import UnmanagedBackend
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["ExternalBackend"]


class ExternalBackend(UnmanagedBackend):
    """The ``external`` backend: a replica is an instance of the app, given by its addresses.

    Without a ``reset`` in the manifest, a reset does nothing. Which tasks may run nevertheless is decided elsewhere
    (`external.why_not_lent`).
    """

    def __init__(self, context: BackendContext | None) -> None:
        self._instances: dict[str, HostedInstances] = {}
        """By app."""
        self._used: dict[str, int] = {}
        """Number of the instance by replica."""
        self._proofs = ResetProofs(context.reset_proofs if context is not None else None)

    async def prepare(self, app: AppManifest) -> None:
        """Check that something answers at the addresses of an instance; reset them once if their proof is not known.

        Raises `SiteError` when nothing answers, or the proofs differ.
        """
        if not app.sites or not all(site.hosted for site in app.sites):
            raise UsageError(f"the app {app.name!r} runs elsewhere, so each of its sites has a 'url'")
        instances = self._instances.setdefault(app.name, HostedInstances(app, self._proofs))
        with instances.preparation():
            await instances.agree(await self._connected(app))

    async def _connected(self, app: AppManifest) -> list[int]:
        """Returns the numbers of the instances at whose addresses something answers. Raises `SiteError` if there is
        none."""
        numbers = range(len(app.sites[0].hosted))
        problems = [[await connection_problem(app, url) for site in app.sites if (url := site.hosted[number])]
                    for number in numbers]  # fmt: skip
        if all(map(any, problems)):
            faults = (f"expected the site {site.name} at {site.hosted[0]}, found {problem}"
                      for site, problem in zip(app.sites, problems[0], strict=True) if problem)  # fmt: skip
            raise SiteError("; ".join(faults))
        return [number for number in numbers if not any(problems[number])]

    async def start(self, app: AppManifest, replica_id: str) -> Replica:
        """Returns a free instance as a replica once it is reset, if it can be, and ready."""
        instances = self._instances[app.name]
        number = self._used[replica_id] = instances.take()
        addresses = instances.addresses(number)
        host, port = endpoint(next(iter(addresses.values())))
        new = Replica(
            id=replica_id, app=app.name, host=host, port=port, digest=app.digest, addresses=addresses, generation=-1
        )
        try:
            return await self.reset(app, new)
        except BaseException:
            await self.stop(app, new)
            raise

    async def reset(self, app: AppManifest, replica: Replica) -> Replica:
        """Reset the instance by its hook, if there is one, wait until all of its sites are ready, and prove the
        reset."""
        seconds = await self._instances[app.name].reset(self._used[replica.id])
        return replace(replica, generation=replica.generation + 1, reset_seconds=seconds)

    async def stop(self, app: AppManifest, replica: Replica) -> None:
        """Let another replica use the instance, which keeps running."""
        if (number := self._used.pop(replica.id, None)) is not None:
            self._instances[app.name].give_back(number)

    async def proof_change(self, app: AppManifest, replica: Replica) -> str:
        """Returns how the response to the proof of the reset differs from the reference; empty if it does not, or there
        is no proof."""
        if app.reset is None or app.reset.proof is None:
            return ""
        return await proof_change(app, replica.addresses, self._used[replica.id] + 1, self._proofs)

    async def instance_problem(self, app: AppManifest, addresses: Mapping[str, str]) -> str:
        """Returns why the instance at ``addresses`` can't be used, after its running reset; empty if it can be."""
        return await self._instances[app.name].problem(addresses)

    def withdraw(self, app: AppManifest, replica: Replica, why: str) -> None:
        """Let no later replica use the instance of this one, because of ``why``."""
        self._instances[app.name].withdraw(self._used[replica.id], why)

    def usable(self, app: AppManifest) -> int:
        """Returns the number of instances that are not withdrawn."""
        known = self._instances.get(app.name)
        return known.usable if known is not None else len(app.sites[0].hosted)

    def promising(self, app: AppManifest) -> int:
        """Returns the number of free instances whose latest reset did not fail."""
        known = self._instances.get(app.name)
        return known.promising if known is not None else 0

    def instance_problems(self, app: AppManifest) -> tuple[str, ...]:
        """Returns a sentence for each instance whose latest reset failed."""
        known = self._instances.get(app.name)
        return known.sentences() if known is not None else ()
