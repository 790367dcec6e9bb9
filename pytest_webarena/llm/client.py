"""Client for one model: cache, budget, request rate and retries. Its errors say who caused them."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from pytest_webarena.errors import BudgetError, ControlResult, ModelError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.api import EmptyReply
from pytest_webarena.llm.apis import APIS
from pytest_webarena.llm.cache import cache_key, open_cache
from pytest_webarena.llm.clock import Clock, SystemClock
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.controls import control_of, kinds_of
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.faults import RequestFault
from pytest_webarena.llm.listed_prices import ListedPrice
from pytest_webarena.llm.messages import ModelReply, Request, limit_words
from pytest_webarena.llm.model_calls import BudgetSpent, Purpose, Ticket, open_model_calls
from pytest_webarena.llm.prices import Price, read_prices
from pytest_webarena.llm.sdks import greet
from pytest_webarena.llm.transport import send
from pytest_webarena.secrets import has_secret
from pytest_webarena.text import shorten

__all__ = ["BudgetSpent", "ModelClient", "ModelRefused", "OutOfTime", "RequestRejected", "budget_error", "connect"]

_CHARACTERS_PER_TOKEN = 4
_TOKENS_PER_IMAGE = 1000
_TOKENS_OF_A_REPLY = 500
"""Guesses for reservations only; the account uses the endpoint's own counts."""
_ONCE_MORE = 1.0
"""Seconds before the second attempt to connect to an endpoint."""

_UNREADABLE = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)
"""Exceptions from reading JSON that is not a reply; whatever an endpoint sends, the agent is not at fault."""
_REJECTED: Mapping[str, str] = {
    "context": "refused the request, which is longer than the model's context",
    "filtered": "refused the request, which a content filter blocked",
}
_ADVICE: Mapping[str, str] = {"images": "use a smaller 'viewport' or device scale, or 'observation.screenshot_size'"}

_ABOUT_ACCESS = frozenset((401, 402, 403, 407, 429))
"""HTTP statuses of authentication, payment and rates: no content of a request causes them."""

_ABOUT_USE = frozenset((402, 429))
"""Those of payment and rates, which earlier requests cause."""

_REFUSAL = "webarena:refusal"
"""Key of a cached answer that is a refusal; the same request would be refused again for the same reason."""


class OutOfTime(Exception):
    """The deadline passed while the endpoint was working, without a fault of the endpoint."""


class ModelRefused(ModelError):
    """The endpoint refused the request, and would refuse it again."""

    event = "refused_request"
    again = False

    def to_json(self) -> dict[str, Any]:
        """Return the form that the response cache stores."""
        return {"message": str(self)}


class RequestRejected(ModelRefused):
    """The endpoint refused the request, or ended its reply, because of its length or a content filter."""

    def __init__(
        self, message: str, rejection: Literal["context", "filtered"], *, answer: Mapping[str, Any] | None = None
    ) -> None:
        """Create the error. ``answer`` is an answer with HTTP 200, which may report what the request used."""
        super().__init__(message)
        self.rejection: Literal["context", "filtered"] = rejection
        self._answer = answer

    def to_json(self) -> dict[str, Any]:
        return {"message": str(self), "rejection": self.rejection, "answer": self._answer}


@dataclass(slots=True)
class _Failures:
    """The failures of one call so far."""

    count: int = 0
    last: str = ""
    status: int = 0
    """HTTP status of the last failure; 0 if there was none."""


class ModelClient:
    """Access of one trial or judge to one endpoint. Calls are numbered, and the number is part of the cache key."""

    def __init__(
        self,
        endpoint: Endpoint,
        settings: ModelSettings,
        *,
        trial: str,
        purpose: Purpose = "agent",
        worker: str = "main",
        clock: Clock | None = None,
        chance: random.Random | None = None,
        waiting: Callable[[str], AbstractContextManager[object]] = nullcontext,
    ) -> None:
        """Create a client.

        ``waiting`` is called with the reason for waiting; its context lasts from a call's first failure until the call
        ends.
        """
        self._waiting = waiting
        self._endpoint = endpoint
        self._trial = trial
        self._purpose = purpose
        self._clock = clock or SystemClock()
        self._chance = chance or random.Random()
        self._api = APIS[endpoint.api]
        self._prices = read_prices(settings.prices)
        self._cache = open_cache(settings.cache) if settings.cache is not None else None
        self._budget = (
            open_model_calls(
                settings.calls,
                worker=worker,
                max_cost=settings.max_cost,
                requests_per_minute=settings.requests_per_minute,
            )
            if settings.calls is not None
            else None
        )
        self._calls = 0
        self._cancelled = threading.Event()
        self._used = Usage()
        self._served: frozenset[str] = frozenset()
        """Kinds of content that the endpoint served in this trial."""
        self._plain_json = False
        """Whether the endpoint turned out not to support structured outputs."""

    @property
    def now(self) -> float:
        """Unix time in seconds, from the client's clock."""
        return self._clock.now()

    def cancel(self) -> None:
        """Start no further requests. Called from another thread."""
        self._cancelled.set()

    def take_usage(self) -> Usage:
        """Return the usage of all requests since the last call of this method, including answers without a reply.

        A request whose answer never came is counted in `untold_calls`, because the endpoint may have done the work.
        """
        used, self._used = self._used, Usage()
        return used

    def ask(self, request: Request, *, deadline: float | None = None) -> ModelReply:
        """Return the model's reply, with the usage of its own request; `take_usage` has that of all requests.

        Args:
            deadline: Unix time after which no request is started or waited for.

        Raises:
            ModelError: the endpoint keeps failing.
            RequestRejected: the endpoint refused the content.
            OutOfTime: the deadline passed.
            BudgetSpent: the run's budget is used up.
        """
        if self._plain_json:
            request = replace(request, schema=None)
        try:
            return self._ask(request, deadline)
        except ModelRefused as refused:
            # Structured outputs are used where the endpoint offers them; elsewhere the prompt alone has to do.
            if not _is_about_schema(refused, request):
                raise
            self._plain_json = True
            self._calls -= 1
            return self._ask(replace(request, schema=None), deadline)

    def _ask(self, request: Request, deadline: float | None) -> ModelReply:
        self._calls += 1
        body = self._api.body(request)
        key = cache_key(
            url=f"{self._endpoint.url} {self._endpoint.api}", body=body, trial=self._trial, call=self._calls
        )
        if self._cache is not None and (answer := self._cache.get(key)) is not None:
            if (refused := answer.get(_REFUSAL)) is not None:
                raise self._refused_before(request, refused)
            self._served |= kinds_of(request)
            return self._from_cache(request, answer)
        try:
            with ExitStack() as exits:
                answer, reply = self._fetch(request, body, deadline, exits)
        except ModelRefused as refusal:
            if isinstance(refusal, RequestRejected) or _is_about_schema(refusal, request):
                self._keep(key, request, {_REFUSAL: refusal.to_json()})
            raise
        self._keep(key, request, answer)
        self._served |= kinds_of(request)
        return reply

    def _keep(self, key: str, request: Request, answer: Mapping[str, Any]) -> None:
        # An answer that contains a secret is not cached: it must not be written with it, and would differ without it.
        if self._cache is not None and answer and not has_secret(answer):
            about = {"trial": self._trial, "call": self._calls, "model": request.model}
            self._cache.put(key, answer, about=about)

    def _refused_before(self, request: Request, kept: Mapping[str, Any]) -> ModelRefused:
        """The cached refusal as an error; what the request used originally is counted as saved."""
        answer, message = kept.get("answer"), str(kept.get("message"))
        if isinstance(answer, dict) and not self._api.usage(answer).untold_calls:
            self._count_cached(request, answer)
        rejection = kept.get("rejection")
        if rejection == "context" or rejection == "filtered":
            return RequestRejected(message, rejection)
        return ModelRefused(message)

    def _from_cache(self, request: Request, answer: Mapping[str, Any]) -> ModelReply:
        usage = self._count_cached(request, answer)
        return replace(self._api.parse(answer), usage=usage)

    def _count_cached(self, request: Request, answer: Mapping[str, Any]) -> Usage:
        usage = self._priced(request, answer)
        usage = replace(usage, cached_calls=1, cost=0.0, saved=usage.cost)
        self._used += usage
        if self._budget is not None:
            self._budget.cached(
                trial=self._trial, purpose=self._purpose, model=request.model, usage=usage, now=self.now
            )
        return usage

    def _fetch(
        self, request: Request, body: Mapping[str, Any], deadline: float | None, exits: ExitStack
    ) -> tuple[Mapping[str, Any], ModelReply]:
        """Send the request until there is a reply, as long as the retry policy allows."""
        failures, began = _Failures(), self.now
        while True:
            ticket = self._reserve(request, deadline, failures, began)
            if self._cancelled.is_set():
                self._release(ticket)
                raise OutOfTime
            remaining = self._endpoint.timeout if deadline is None else deadline - self.now
            if remaining <= 0:
                self._release(ticket)
                raise self._too_late(request, failures, began)
            try:
                return self._once(request, body, min(self._endpoint.timeout, remaining), ticket)
            except RequestFault as raised:
                fault = raised
            if fault.billed and fault.answer is None and deadline is not None and self.now >= deadline:
                raise self._too_late(request, failures, began)
            failures.count, failures.last, failures.status = failures.count + 1, str(fault), fault.status
            if fault.rejection == "context" or fault.rejection == "filtered":
                message = f"{self._who(request)} {_REJECTED[fault.rejection]}: {fault}"
                raise RequestRejected(message, fault.rejection, answer=fault.answer)
            if fault.rejection:
                raise self._setting_refused(request, fault)
            if not fault.again:
                refused = ModelRefused(f"{self._who(request)} refused the request: {fault}")
                raise self._with_control(refused, request, failures)
            delay = self._endpoint.retries.delay(failures.count, fault.after, self._chance)
            if delay is None or (deadline is not None and self.now + delay >= deadline):
                raise self._gave_up(request, failures, began)
            if failures.count == 1:
                exits.enter_context(self._waiting(f"model {request.model} after a failure: {shorten(str(fault), 80)}"))
            self._clock.sleep(delay)

    def _once(
        self, request: Request, body: Mapping[str, Any], timeout: float, ticket: Ticket | None
    ) -> tuple[Mapping[str, Any], ModelReply]:
        """Send one request and account for what it used.

        Returns the answer's JSON and its reply; raises `RequestFault`.
        """
        answer: Mapping[str, Any] | None = None
        reply: ModelReply | None = None
        fault = RequestFault("")
        try:
            answer = send(self._endpoint, body, timeout=timeout, now=lambda: self._clock.now())
            reply = self._api.parse(answer)
        except RequestFault as raised:
            fault, answer = raised, raised.answer
            if raised.malformed is not None:  # the model's fault; an empty answer is not cached
                answer, reply = {}, ModelReply(text=raised.malformed, finish="tool_use_failed")
        except EmptyReply as empty:
            fault = RequestFault(f"a reply without content: {empty}", billed=True, answer=answer)
        except _UNREADABLE as error:
            shape = f"expected a reply, got one of another shape ({type(error).__name__}: {error})"
            fault = RequestFault(shape, billed=True, answer=answer)
        usage = self._priced(request, answer or {})
        if reply is not None or not usage.untold_calls:
            self._used += usage
            if ticket is not None and self._budget is not None:
                self._budget.settle(ticket, usage)
        elif fault.billed:  # its expected cost stays reserved
            least = replace(self._least(request, fault), calls=0, untold_calls=1)
            self._used += least
            if ticket is not None and self._budget is not None:
                self._budget.keep(ticket, least)
        else:
            self._release(ticket)
        if answer is None or reply is None:
            raise fault
        return answer, replace(reply, usage=usage)

    def _release(self, ticket: Ticket | None) -> None:
        if ticket is not None and self._budget is not None:
            self._budget.release(ticket)

    def _reserve(self, request: Request, deadline: float | None, failures: _Failures, began: float) -> Ticket | None:
        if self._budget is None:
            return None
        ticket = self._budget.reserve(
            trial=self._trial,
            purpose=self._purpose,
            model=request.model,
            estimate=self._estimate(request),
            now=self.now,
        )
        wait = ticket.not_before - self.now
        if wait > 0:
            if deadline is not None and ticket.not_before >= deadline:
                self._budget.release(ticket)
                raise self._too_late(request, failures, began)
            self._clock.sleep(wait)
        return ticket

    def _too_late(self, request: Request, failures: _Failures, began: float) -> Exception:
        """The error for a passed deadline: `ModelError` if the endpoint had been failing, else `OutOfTime`."""
        return self._gave_up(request, failures, began) if failures.count else OutOfTime()

    def _gave_up(self, request: Request, failures: _Failures, began: float) -> ModelError:
        requests = f"{failures.count} request" + ("s" if failures.count > 1 else "")
        error = ModelError(
            f"{self._who(request)}: expected a reply, gave up after {requests} in {self.now - began:.1f} s; "
            f"the last one: {failures.last}"
        )
        return self._with_control(error, request, failures)

    def _setting_refused(self, request: Request, fault: RequestFault) -> ModelRefused:
        """The error for a setting that the model does not allow, with the key to change. A control is not needed: the
        agent's actions don't set it. Nor is one possible if the input may be too long as well."""
        advice = _ADVICE.get(fault.setting, f"change {fault.setting}")
        if fault.setting == "max_tokens":
            advice = f"lower {limit_words(request.sampling, request.extra)}"
        what, event = "refused a setting of the definition", "refused_setting"
        if fault.rejection == "unclear":
            what, event = "refused the request, whose input, reply limit or both are too long", "refused_length"
            advice += ", or show less of pages (observation.max_tokens)"
        refused = ModelRefused(f"{self._who(request)} {what}; {advice}: {fault}")
        refused.event = event
        return refused

    def _with_control(self, error: ModelError, request: Request, failures: _Failures) -> ModelError:
        """``error`` with its event and control."""
        if failures.status in _ABOUT_ACCESS:
            error.event = "model_access"
            error.spent = failures.status in _ABOUT_USE
        error.control = partial(self._control, request)
        return error

    def _control(self, request: Request) -> ControlResult:
        """Send a short request with the settings and kinds of content of ``request``, then ``request`` again.

        ``recurs``: the endpoint serves the first and not the second, so the content of ``request`` is the cause.
        ``impossible``: the cause may also be a kind that the first lacks and that was not served before.
        """
        control = control_of(request)
        try:
            if not self._serves(control):
                return "fails"
            has_all = kinds_of(request) <= kinds_of(control) | self._served
            return "impossible" if not has_all else "works" if self._serves(request) else "recurs"
        except (BudgetSpent, OutOfTime):
            return "impossible"

    def _serves(self, request: Request) -> bool:
        try:
            self.ask(request)
        except ModelError:
            return False
        return True

    def _who(self, request: Request) -> str:
        return f"model {request.model} at {self._endpoint.url}"

    def _price(self, request: Request, answered: str = "") -> Price | ListedPrice | None:
        return self._prices.price(request.model, *([answered] if answered else []), url=self._endpoint.url)

    def _priced(self, request: Request, answer: Mapping[str, Any]) -> Usage:
        """The usage that an answer reports, with its cost."""
        usage, model = self._api.usage(answer), answer.get("model") or answer.get("modelVersion")
        price = self._price(request, model if isinstance(model, str) else "")
        return replace(usage, cost=price.of(usage) if price is not None and usage.cost is not None else None)

    def _least(self, request: Request, fault: RequestFault) -> Usage:
        """The usage that a broken stream had reported so far; none if it had not."""
        if not fault.so_far:
            return Usage()
        usage = self._priced(request, fault.so_far)
        return Usage() if usage.untold_calls else usage

    def _estimate(self, request: Request) -> float:
        """The expected cost of the call in US dollars; 0 when its price is not known."""
        price = self._price(request)
        if price is None:
            return 0.0
        characters = sum(len(message.text) for message in request.messages)
        images = sum(len(message.images) for message in request.messages)
        guess = Usage(
            input_tokens=characters // _CHARACTERS_PER_TOKEN + images * _TOKENS_PER_IMAGE,
            output_tokens=min(request.sampling.max_tokens or _TOKENS_OF_A_REPLY, _TOKENS_OF_A_REPLY),
        )
        return price.of(guess) or 0.0


def _is_about_schema(refused: ModelRefused, request: Request) -> bool:
    """Whether the endpoint refused the request because it does not support structured outputs."""
    return request.schema is not None and any(word in str(refused) for word in ("response_format", "json_schema"))


def connect(endpoint: Endpoint, model: str, *, clock: Clock | None = None) -> None:
    """Check once that ``endpoint`` accepts connections; raise `ModelError` when it does not.

    The answer is ignored and costs nothing. Only a real request shows whether the model is available.
    """
    clock = clock or SystemClock()
    try:
        greet(endpoint)
    except RequestFault:  # a second attempt, for a server that is just restarting
        clock.sleep(_ONCE_MORE)
        try:
            greet(endpoint)
        except RequestFault as fault:
            raise ModelError(
                f"model {model} at {endpoint.url}: expected an answer, found: {fault}; check the address "
                f"(base_url, {endpoint.url_variable}) and that the server runs"
            ) from None


def budget_error(spent: BudgetSpent) -> BudgetError:
    """Return the error of a trial that could not start because the budget is used up."""
    return BudgetError(f"the run's budget for model calls is used up: {spent}; raise --max-cost and --resume the run")
