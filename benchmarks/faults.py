"""Checks how trials end when the model endpoint fails, and measures how far a run exceeds its budget.

    python benchmarks/faults.py [--workers 1,2,4,8]

A real HTTP server injects each fault into whole trials, once and always; the real SDK meets it, with both APIs, whole
and streamed. Processes that share only the file of model calls spend the budget. Prints the outcomes per fault, then
the overrun per number of workers. Exit code 1: a trial ended otherwise than expected.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from pytest_webarena.llm.client import BudgetSpent, ModelClient
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.messages import Message, Request, Sampling
from pytest_webarena.llm.model_calls import read_model_calls

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.model_server import Answer, model_server, say
from tests.unit.trials.test_model_faults import FILTERED, NO_ACTION, PASSING, REFUSED, RIGHT, TOO_LONG, WAYS, ending

CALL = 0.02
"""The cost of one call in dollars."""


def main() -> int:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--workers", default="1,2,4,8", help="numbers of workers, separated by commas (default: %(default)s)"
    )
    options = parser.parse_args()
    wrong = faults(PASSING, "passed: answered, retried", "error: model, 3 requests")
    wrong += faults(REFUSED, "error: model, 1 requests", "error: model, 1 requests")
    wrong += faults(TOO_LONG, "failed: context, 1 request", "failed: context, 1 request")
    wrong += faults(FILTERED, "failed: filtered, 1 request", "failed: filtered, 1 request")
    wrong += faults(NO_ACTION, "passed: answered, asked again", "failed: invalid, asked again")
    wrong += faults(RIGHT, "passed: answered, as it is", "passed: answered, as it is")
    trials = 2 * len(WAYS) * sum(map(len, (PASSING, REFUSED, TOO_LONG, FILTERED, NO_ACTION, RIGHT)))
    print(f"\n{trials - wrong} of {trials} trials ended as they should\n")
    for workers in map(int, options.workers.split(",")):
        wrong += budget(workers, foreseen=True) + budget(workers, foreseen=False)
    return 1 if wrong else 0


def faults(kinds: Mapping[str, Answer], once: str, always: str) -> int:
    """Prints one line per fault; returns how many trials ended differently than expected."""
    wrong = 0
    for name, fault in kinds.items():
        cells = []
        for lasting, expected in ((False, once), (True, always)):
            seen = Counter(ending(fault, lasting=lasting, api=api, stream=stream) for api, stream in WAYS)
            wrong += len(WAYS) - seen[expected]
            cells.append(", ".join(f"{count}x {what}" for what, count in seen.items()))
        print(f"{name:<28} once: {cells[0]:<38} always: {cells[1]}", flush=True)
    return wrong


def budget(workers: int, *, foreseen: bool, dollars: float = 0.49) -> bool:
    """Lets ``workers`` processes spend the budget; returns whether they exceeded it by more than the calls in flight.

    Unless ``foreseen``, calls cost more than was reserved for them.
    """
    with tempfile.TemporaryDirectory() as folder, model_server([say("x")]) as server:
        prices = Path(folder) / "prices.yaml"
        prices.write_text("models: {priced: {input: 10, output: 100}}\n")  # for 1,000 tokens in and 100 tokens out
        calls = Path(folder) / "model-calls.sqlite"
        context = multiprocessing.get_context("spawn")
        processes = [
            context.Process(target=spend, args=(server.url, calls, prices, dollars, foreseen, f"gw{number}"))
            for number in range(workers)
        ]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        spent = sum(line.usage.cost or 0.0 for line in read_model_calls(calls))
    over, bound = spent - dollars, workers * CALL
    print(
        f"budget ${dollars:.2f}, {workers:>2} workers, ${CALL:.2f} a call: ${spent:.2f} spent, "
        f"{max(0.0, over) / CALL:.1f} calls over, at most {workers} allowed"
        + ("" if foreseen else " (calls cost more than was reserved)")
    )
    return over > bound + 1e-9 or any(process.exitcode for process in processes)


def spend(url: str, calls: Path, prices: Path, dollars: float, foreseen: bool, worker: str) -> None:
    """Sends requests until the budget is used up."""
    settings = ModelSettings(calls=calls, prices=prices, max_cost=dollars)
    client = ModelClient(Endpoint(base_url=url, key_env=None), settings, trial=worker, worker=worker)
    sampling = Sampling() if foreseen else Sampling(max_tokens=1)
    try:
        while True:
            client.ask(Request(model="priced", messages=(Message(role="user", text="What now?"),), sampling=sampling))
    except BudgetSpent:
        pass


if __name__ == "__main__":
    sys.exit(main())
