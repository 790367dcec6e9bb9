"""Runs the steps of a manifest inside a container."""

from __future__ import annotations

import asyncio
import logging
import shlex
from collections.abc import Awaitable, Callable, Sequence

from pytest_webarena.errors import SiteError
from pytest_webarena.sites.backends.docker.containers import Executed
from pytest_webarena.sites.catalogues.manifest import ContainerStep

__all__ = ["output_text", "run_steps"]

_log = logging.getLogger(__name__)
_OUTPUT_LINES = 10
"""Maximum number of lines of a failed program's output in a message."""


async def run_steps(
    steps: Sequence[ContainerStep],
    fill: Callable[[str], str],
    execute: Callable[[Sequence[str], float], Awaitable[Executed]],
) -> None:
    """Run ``steps`` in order, each until it and its proof exit with 0 or its attempts are used up.

    ``execute`` runs a program with a time limit in seconds and raises `SiteError` after it. A hung program can't be
    ended from outside, so it is not tried again. Raises `SiteError` with the step and its output.
    """
    for number, step in enumerate(steps, start=1):
        arguments, proof = [*map(fill, step.run)], [*map(fill, step.proof)]
        for attempt in range(1, step.attempts + 1):
            done, what = await execute(arguments, step.timeout), "failed"
            if done.code == 0 and step.proof:
                done, what = await execute(proof, step.timeout), f"had no effect by {shlex.join(proof)}"
            if done.code == 0:
                break
            problem = (
                f"step {number} of {len(steps)} {what} (attempt {attempt} of {step.attempts}): "
                f"{shlex.join(arguments)}\n{output_text(done)}"
            )
            _log.info("%s", problem)
            if attempt == step.attempts:
                raise SiteError(problem)
            await asyncio.sleep(step.pause)


def output_text(done: Executed) -> str:
    """Returns the exit code and the last lines of a program's output."""
    lines = (done.stderr.rstrip() or done.stdout.rstrip()).splitlines()[-_OUTPUT_LINES:]
    return "\n".join([f"exit code {done.code}", *(f"  {line}" for line in lines)])
