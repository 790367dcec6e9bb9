"""The instances of an app that runs elsewhere: which are free, reset, or withdrawn because they keep failing."""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Mapping, Sequence
from contextlib import suppress
from urllib.parse import urlsplit

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.ready import answers, wait_ready
from pytest_webarena.sites.backends.reset_hook import reset_instance, reset_of
from pytest_webarena.sites.backends.reset_proofs import ResetProofs
from pytest_webarena.sites.backends.reset_proving import agreed, difference, require_proof, stable_response
from pytest_webarena.sites.catalogues.manifest import AppManifest

__all__ = ["HostedInstances", "endpoint"]

_FAILURES = 2
"""Number of consecutive failed resets after which an instance is withdrawn."""


class HostedInstances:
    """All instances of ``app``, by number from 0. A reset and a question about one instance wait for each other."""

    def __init__(self, app: AppManifest, proofs: ResetProofs) -> None:
        self._app, self._proofs = app, proofs
        self._count = len(app.sites[0].hosted)
        self._free = deque(range(self._count))
        """Those that no replica uses, those given back last at the end."""
        self._locks = [asyncio.Lock() for _ in range(self._count)]
        self._failures: Counter[int] = Counter()
        """Consecutive failed resets."""
        self._problems: dict[int, str] = {}
        """Why the latest reset failed."""
        self._fresh: dict[int, float] = {}
        """Seconds of the reset of those that nothing has used since `agree`."""

    def addresses(self, number: int) -> Mapping[str, str]:
        """Returns the address of each site of an instance."""
        return {site.name: site.hosted[number] for site in self._app.sites}

    @property
    def usable(self) -> int:
        """Number of instances that are not withdrawn."""
        return sum(not self._withdrawn(number) for number in range(self._count))

    @property
    def promising(self) -> int:
        """Number of free instances whose latest reset did not fail."""
        return sum(number not in self._problems for number in self._free)

    def take(self) -> int:
        """Returns a free instance, which is no longer free: one whose latest reset failed only if there is no other.

        Raises `SiteError` if there is none.
        """
        if not self._free:
            found = "; ".join(self.sentences()) or "all in use"
            raise SiteError(f"expected a free instance of {self._app.name}, found {found}")
        number = next((each for each in self._free if each not in self._problems), self._free[0])
        self._free.remove(number)
        return number

    def give_back(self, number: int) -> None:
        """Make an instance free again, unless it is withdrawn."""
        if not self._withdrawn(number):
            self._free.append(number)

    async def agree(self, numbers: Sequence[int]) -> None:
        """Keep the response to the proof on which two resets agree: of several instances, or two of the only one.

        Does nothing without a proof, or if the run has a reference. Raises `SiteError` if the resets do not agree.
        """
        app, proofs = self._app, self._proofs
        if app.reset is None or app.reset.proof is None or proofs.has(app.name, app.reset.proof):
            return
        texts = await asyncio.gather(*map(self._first_response, numbers))
        found = {number: text for number, text in zip(numbers, texts, strict=True) if text is not None}
        if not found:
            raise SiteError("; ".join(dict.fromkeys(self._problems.values())))
        places = {number: ", ".join(self.addresses(number).values()) for number in found}
        if len(found) == 1:
            [number] = found
            again = await self._first_response(number)
            if again is None:
                raise SiteError(self._problems[number])
            reference, origin = found[number], f"the response after two resets of {places[number]}"
            if again != reference:
                raise SiteError(
                    f"{reset_of(app, self.addresses(number))} is not proved: expected the same response after two "
                    f"resets, found {difference(reference, again)}; the reset does not restore all data"
                )
        else:
            reference = agreed(app, {places[number]: text for number, text in found.items()})
            same = [place for number, place in places.items() if found[number] == reference]
            origin = f"the response after the resets of {' and '.join(same)}"
        proofs.keep(app.name, app.reset.proof, reference, origin=origin)
        for number in [number for number in found if found[number] != reference]:
            del self._fresh[number]

    async def _first_response(self, number: int) -> str | None:
        """Reset an instance before its first use. Returns the response to the proof; None if the reset failed."""
        with suppress(SiteError):
            async with self._locks[number]:
                began = time.monotonic()
                try:
                    await self._restore(number)
                    text = await stable_response(self._app, self.addresses(number), number + 1)
                except SiteError as error:
                    self._problems[number] = str(error)
                    raise
                self._fresh[number] = time.monotonic() - began
                return text
        return None

    async def reset(self, number: int) -> float:
        """Reset an instance, wait until it answers, and compare its proof. Returns the seconds of the reset; 0 for apps
        without one."""
        async with self._locks[number]:
            began = time.monotonic()
            try:
                if number not in self._fresh:
                    await self._restore(number)
                if self._app.reset is not None and self._app.reset.proof is not None:
                    await require_proof(self._app, self.addresses(number), number + 1, self._proofs)
            except SiteError as error:
                self._failures[number] += 1
                self._problems[number] = str(error)
                raise
            except asyncio.CancelledError:
                self._failures[number] += 1
                self._problems.setdefault(number, f"its reset did not end within {time.monotonic() - began:.0f} s")
                raise
            finally:
                before = self._fresh.pop(number, 0.0)
            self._failures.pop(number, None)
            self._problems.pop(number, None)
            return before + time.monotonic() - began if self._app.reset is not None else 0.0

    async def _restore(self, number: int) -> None:
        app, addresses = self._app, self.addresses(number)
        began = time.monotonic()
        if app.reset is not None:
            await reset_instance(app, addresses, number + 1)
        for address in addresses.values():
            await _ready(app, address, began)
            if problem := await _unanswered(app, address):
                raise SiteError(f"the instance {address} of {app.name} does not answer: {problem}")

    async def problem(self, addresses: Mapping[str, str]) -> str:
        """Returns why the instance at ``addresses`` can't be used, after its running reset; empty if it can be."""
        number = next(each for each in range(self._count) if self.addresses(each) == addresses)
        async with self._locks[number]:
            if number in self._problems:
                return self._problems[number]
            found = [await _unanswered(self._app, address) for address in addresses.values()]
            return next(filter(None, found), "")

    def sentences(self) -> tuple[str, ...]:
        """Returns a sentence for each instance whose latest reset failed: what happened, and what to do."""
        return tuple(
            f"{self._app.name} at {', '.join(self.addresses(number).values())} "
            + (f"was withdrawn after {_FAILURES} failed resets" if self._withdrawn(number) else "failed its last reset")
            + f": {problem}. Repair it, test it with 'webarena sites doctor', and resume the run"
            for number, problem in sorted(self._problems.items())
        )

    def _withdrawn(self, number: int) -> bool:
        return self._failures[number] >= _FAILURES


async def _ready(app: AppManifest, address: str, began: float) -> None:
    """Wait until the site at ``address`` meets the app's conditions."""
    if address.startswith("https:"):
        return

    async def died() -> str:
        return ""

    left = max(0.0, app.start_timeout - (time.monotonic() - began))
    name = urlsplit(address).netloc
    await wait_ready(app.ready, *endpoint(address), server_name=name, timeout=left, died=died, of=app.start_timeout)


async def _unanswered(app: AppManifest, address: str) -> str:
    """Returns why the site at ``address`` does not answer a request; empty if it does."""
    tls = address.startswith("https:")
    name = urlsplit(address).netloc
    return await answers(app.ready, *endpoint(address), server_name=name, timeout=app.answer_timeout, tls=tls)


def endpoint(address: str) -> tuple[str, int]:
    """Returns host and port of an address."""
    parts = urlsplit(address)
    return parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
