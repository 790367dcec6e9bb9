"""Prepares the sites of a task before its episode: SQL, requests, browser steps. A failure is an error of the task."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING

from pytest_webarena.agents.builtin import describe_step, with_full_address
from pytest_webarena.errors import TaskError
from pytest_webarena.tasks.setup_form import ApiRequest, BrowserSetup, SqlSetup

if TYPE_CHECKING:
    from pytest_webarena.browser.session import Session
    from pytest_webarena.sites.client.lease import Lease
    from pytest_webarena.tasks.model import SetupStep
    from pytest_webarena.trials.live import LiveTrial

__all__ = ["SetupError", "run_setup"]


class SetupError(TaskError):
    """A set-up step of a task that failed. ``number`` counts from 1."""

    def __init__(self, message: str, number: int = 0) -> None:
        self.number = number
        super().__init__(message)


def run_setup(
    steps: Sequence[SetupStep],
    lease: Lease,
    live: LiveTrial,
    visit: Callable[[BrowserSetup], AbstractContextManager[Session]],
) -> None:
    """Carry out ``steps`` in order.

    ``visit`` opens a separate browser context, signed in as the task's users or as the step's account, so that the
    agent's tabs show nothing of the preparation. Raises `TaskError` naming the step, and the errors of the sites.
    """
    for number, step in enumerate(steps, 1):
        where = f"setup step {number} of {len(steps)} ({step.kind} on {step.site})"
        match step.spec:
            case SqlSetup(sql=sql, database=database):
                try:
                    lease.query(step.site, sql, database=database, write=True)
                except TaskError as error:
                    raise SetupError(f"{where}: {error}", number) from error
            case ApiRequest() as request:
                if problem := _send(request, step.site, live):
                    raise SetupError(f"{where}: {problem}", number)
            case BrowserSetup(steps=actions) as browsing:
                with visit(browsing) as session:
                    session.open_tabs([live.start(step.site)])
                    for action in actions:
                        outcome = session.execute(with_full_address(action, live.sites))
                        if outcome.error:
                            failure = f"{describe_step(action)} failed at {outcome.url_after}: {outcome.error}"
                            raise SetupError(f"{where}: {failure}", number)
            case other:
                raise TaskError(f"{where}: expected SQL, a request or browser steps, found {type(other).__name__}")


def _send(request: ApiRequest, site: str, live: LiveTrial) -> str:
    """Send a request. Returns why its response is not the expected one; empty if it is."""
    status, text = live.fetch(site, request.path, method=request.method, headers=request.headers, body=request.body)
    expected = f"status {request.status}" if request.status else "a status below 400"
    if status != request.status if request.status else status >= 400:
        return f"{request.method} {request.path}: expected {expected}, found {status}: {text[:300]}"
    return ""
