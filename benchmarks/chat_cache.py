"""Measures what prompt caches save: the history `chat` against text, on scripted endpoints with the providers' rules.

    python benchmarks/chat_cache.py [--steps N] [--page TOKENS] [--agents NAME …]

Each shipped agent does one task of N steps, on pages that are all different. The endpoint counts a token for four
characters. Anthropic's part caches up to marked blocks, and looks back from a mark over 20 blocks. OpenAI's and
Google's parts find equal beginnings, from 1,024 tokens on. Prices are the shipped ones. The columns are the input
tokens of the task, the share of them that the cache had, the cost, and the cost of the same requests without a cache.
Exit code 1: the account's tokens or cost differ from the endpoint's own bill.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

from pytest_webarena.agents import Assignment, TaskView, resolve_agent
from pytest_webarena.agents.overrides import Overrides
from pytest_webarena.browser.observation import Observation, ScrollPosition, TabInfo
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.model_calls import read_model_calls
from pytest_webarena.llm.prices import Price, read_prices
from pytest_webarena.tasks.model import Task

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.model_server import Answer, model_server

AGENTS = ("anthropic-tools", "google-tools", "openai-tools")
HISTORIES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("text (actions)", {"policy": "actions"}),
    ("chat, pages: 1", {"policy": "chat", "pages": 1}),
    ("chat, pages: 4", {"policy": "chat", "pages": 4}),
    ("chat, pages: 8", {"policy": "chat", "pages": 8}),
)
LEAST, LOOK_BACK, OUTPUT = 1024, 20, 120


class CachingEndpoint:
    """Answers each request with a click, and keeps its own bill."""

    def __init__(self, price: Price) -> None:
        self.bill, self.uncached = Decimal(0), Decimal(0)
        self.sent = self.read = self.written = 0
        self._price = price
        self._kept: set[tuple[str, ...]] = set()

    def __call__(self, body: dict[str, Any]) -> Answer:
        """Returns a reply with the usage in the words of the request's API."""
        blocks = list(_blocks(body))
        counts = [len(text) // 4 for text, _ in blocks]
        names, sent = tuple(text for text, _ in blocks), sum(counts)
        marks = [index + 1 for index, (_, marked) in enumerate(blocks) if marked]
        is_marked = "max_tokens" in body
        read = max((end for end in self._ends(marks, names, is_marked) if names[:end] in self._kept), default=0)
        last = max(marks, default=0) if is_marked else len(names)
        hit = sum(counts[:read]) if sum(counts[:read]) >= LEAST else 0
        written = max(0, sum(counts[:last]) - hit) if is_marked and sum(counts[:last]) >= LEAST else 0
        self._kept |= {names[:end] for end in (marks if is_marked else range(1, len(names) + 1))}
        self._charge(sent, hit, written)
        usage = _usage(body, sent, hit, written)
        return Answer(calls=(("click", '{"element": "4"}'),), finish="tool_calls", usage=usage)

    def _ends(self, marks: Sequence[int], names: Sequence[str], is_marked: bool) -> Iterator[int]:
        if not is_marked:
            yield from range(1, len(names))
        for mark in marks:
            yield from range(max(1, mark - LOOK_BACK), mark + 1)

    def _charge(self, sent: int, read: int, written: int) -> None:
        price = self._price
        each = [
            Decimal(str(value or 0)) for value in (price.input, price.cached_input, price.cache_write, price.output)
        ]
        fresh = sent - read - written
        output = OUTPUT * each[3]
        self.bill += (fresh * each[0] + read * each[1] + written * each[2] + output) / 1_000_000
        self.uncached += (sent * each[0] + output) / 1_000_000
        self.sent, self.read, self.written = self.sent + sent, self.read + read, self.written + written


def _usage(body: dict[str, Any], sent: int, read: int, written: int) -> dict[str, Any]:
    if "max_tokens" in body:
        fresh = sent - read - written
        return {
            "input_tokens": fresh, "cache_read_input_tokens": read, "cache_creation_input_tokens": written,
            "output_tokens": OUTPUT,
        }  # fmt: skip
    if "contents" in body:
        return {"promptTokenCount": sent, "cachedContentTokenCount": read, "candidatesTokenCount": OUTPUT}
    return {"input_tokens": sent, "output_tokens": OUTPUT, "input_tokens_details": {"cached_tokens": read}}


def _blocks(body: dict[str, Any]) -> Iterator[tuple[str, bool]]:
    """Yields the parts of a request in the order in which they are cached, and whether each is marked."""
    yield json.dumps(body.get("tools")), False
    heads = body.get("system") or [body.get("systemInstruction") or ""]
    for message in [*heads, *(body.get("messages") or body.get("contents") or body["input"])]:
        content = message.get("content") if isinstance(message, dict) else None
        for block in content if isinstance(content, list) else [message]:
            marked = isinstance(block, dict) and "cache_control" in block
            plain = {key: value for key, value in block.items() if key != "cache_control"} if marked else block
            yield json.dumps(plain, sort_keys=True), marked


def run(name: str, history: dict[str, Any], *, steps: int, page: int, folder: Path) -> tuple[CachingEndpoint, Usage]:
    """Returns the endpoint and the account of one task."""
    price = read_prices().price(_model(name))
    assert isinstance(price, Price)
    endpoint = CachingEndpoint(price)
    with model_server(endpoint) as server:
        options = (("endpoint.base_url", server.url), ("endpoint.key_env", None), ("history", history))
        definition = resolve_agent(name, [Path(__file__).parents[1] / "agents"], Overrides(options=options))
        sites = {"shopping": "http://shopping.test"}
        view = TaskView(intent="Find the cheapest teapot that holds a litre.", sites=sites, max_steps=steps)
        models = ModelSettings(calls=folder / "model-calls.sqlite")
        task = Task(id="t", intent=view.intent, sites=())
        agent: Any = definition.make(Assignment(view=view, task=task, key="t.1", models=models))
        for number in range(steps):
            agent.act(_page(number, page))
    (line,) = read_model_calls(folder / "model-calls.sqlite")
    return endpoint, line.usage


def _model(name: str) -> str:
    from pytest_webarena.yaml_files import read_yaml

    definition = read_yaml(Path(__file__).parents[1] / "agents" / f"{name}.yaml", name)
    return str(definition["model"])


def _page(number: int, tokens: int) -> Observation:
    lines = [
        f"[{line}] link 'Entry {line} of page {number}, a teapot of {line * 7 % 13} cups'" for line in range(1, 9999)
    ]
    text = "\n".join(lines)[: 4 * tokens]
    tab = TabInfo(title="Shop", url="http://shopping.test/", active=True)
    return Observation(text=text, url=tab.url, title=tab.title, tabs=(tab,), scroll=ScrollPosition())


def main() -> int:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=15, help="steps of the task (default: %(default)s)")
    parser.add_argument("--page", type=int, default=3000, help="tokens of a page (default: %(default)s)")
    parser.add_argument("--agents", nargs="+", default=AGENTS, help="shipped agents (default: %(default)s)")
    options = parser.parse_args()
    wrong = 0
    print(f"{'agent':<16} {'history':<16} {'input':>8} {'cached':>7} {'cost':>9} {'uncached':>9}")
    for name in options.agents:
        for title, history in HISTORIES:
            with tempfile.TemporaryDirectory() as folder:
                endpoint, used = run(name, history, steps=options.steps, page=options.page, folder=Path(folder))
            share = endpoint.read / endpoint.sent
            print(
                f"{name:<16} {title:<16} {used.input_tokens:>8,} {share:>7.1%} ${used.cost or 0:>8.4f} "
                f"${endpoint.uncached:>8.4f}"
            )
            tokens = (used.input_tokens, used.cached_input_tokens, used.cache_write_tokens)
            is_equal = used.cost is not None and abs(Decimal(str(used.cost)) - endpoint.bill) < Decimal("1e-9")
            if tokens != (endpoint.sent, endpoint.read, endpoint.written) or not is_equal:
                wrong += 1
                print(f"  the endpoint's bill: {endpoint.sent, endpoint.read, endpoint.written}, ${endpoint.bill}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
