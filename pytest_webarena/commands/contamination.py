"""``webarena tasks contamination``: how closely a model continues the text of tasks, without a verdict.

After the appendix of the ARB paper: the model is shown the first half of a statement, and its continuation is compared
with the second half.
"""

from __future__ import annotations

import argparse
import difflib
import json
import re
import statistics
import textwrap
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

from pytest_webarena.commands.suites import tasks_of
from pytest_webarena.errors import ModelError, TaskFileError, UsageError
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.client import ModelClient
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.messages import Message, Request, Sampling
from pytest_webarena.results.wording import usage_words
from pytest_webarena.tasks.model import Task
from pytest_webarena.text import printable

__all__ = ["Continued", "add_arguments", "compare", "halves"]

FEWEST_WORDS = 16
"""Minimum words of a statement. The second half of a shorter one can be guessed by anybody or nobody."""

_SYSTEM = (
    "You continue texts. You are given how a text begins. Reply with the words that follow in it, exactly as you "
    "remember them or, where you don't, as they most likely go on. Do not repeat the beginning, do not answer or "
    "comment on the text, and stop where it ends."
)
_WIDTH = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Continued:
    """A model's continuation of one task's statement."""

    task: str
    words: int
    """Number of words in the second half."""
    similarity: float
    """Similarity of the continuation and the second half, by words and their order, from 0 to 1."""
    run: int
    """Length of the longest run of equal words."""
    others: float | None
    """Mean similarity of the continuation with the second halves of other tasks.

    It is a reference for unrelated texts. None where there are no other tasks.
    """
    continuation: str


def halves(text: str) -> tuple[str, str] | None:
    """Split a statement between two words in its middle; None where it is too short."""
    words = list(re.finditer(r"\S+", text))
    if len(words) < FEWEST_WORDS:
        return None
    cut = words[len(words) // 2].start()
    return text[:cut].rstrip(), text[cut:]


def compare(continuation: str, second: str) -> tuple[float, int]:
    """Return the similarity of two texts by words, and the longest run of words that both contain.

    Words of ``continuation`` beyond the length of ``second`` are ignored.

    >>> compare("the cat sat on the mat, and then", "The cat sat on a mat.")
    (0.8333333333333334, 4)
    """
    right = _words(second)
    given = _words(continuation)[: len(right)]
    matcher = difflib.SequenceMatcher(None, given, right, autojunk=False)
    longest = matcher.find_longest_match(0, len(given), 0, len(right))
    return matcher.ratio(), longest.size


def _words(text: str) -> list[str]:
    return re.findall(r"\w+|[-+*/^=<>]", text.casefold())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("sources", nargs="+", metavar="SUITE|PATH", help="task files, folders, suites, arb:FILE")
    parser.add_argument("--model", required=True, metavar="MODEL", help="name of the model, as its endpoint knows it")
    parser.add_argument("--url", default="", metavar="URL", help="endpoint (default: OPENAI_BASE_URL)")
    parser.add_argument("--key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with its key, or none")
    parser.add_argument("--limit", type=int, default=0, metavar="N", help="only so many tasks, evenly spread")
    parser.add_argument("--workers", type=int, default=8, metavar="N", help="requests at a time (default: 8)")
    parser.add_argument("--prices", type=Path, metavar="FILE", help="your price table, as for pytest")
    parser.add_argument("--format", choices=("text", "json"), default="text", help="default: text")
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    for name in ("workers", "limit"):
        least = name == "workers"
        if getattr(options, name) < least:
            raise UsageError(f"--{name}: expected at least {least:d}, found {getattr(options, name)}")
    endpoint = Endpoint.from_options(options.url, options.key_env, "--key-env")
    _ = endpoint.url
    endpoint.key()
    try:
        tasks = [task for source in options.sources for task in tasks_of(source)]
    except TaskFileError as error:
        print(error)
        return 1
    found = {task.id: task for task in tasks if halves(task.intent) is not None}
    if not found:
        raise UsageError(f"expected tasks of at least {FEWEST_WORDS} words, found none")
    chosen = list(found.values())
    if options.limit:
        chosen = [chosen[index * len(chosen) // options.limit] for index in range(min(options.limit, len(chosen)))]
    settings = ModelSettings(prices=options.prices)
    continued, usage = probe(chosen, options.model, endpoint, settings, workers=options.workers)
    short = len(tasks) - len(found)
    if options.format == "json":
        data = {"model": options.model, "too_short": short, "usage": asdict(usage)}
        print(json.dumps({"schema_version": 1, **data, "tasks": [asdict(each) for each in continued]}, indent=1))
    else:
        print("\n".join(_lines(continued, options.model, usage, short)))
    return 0


def probe(
    tasks: Sequence[Task], model: str, endpoint: Endpoint, settings: ModelSettings, *, workers: int = 8
) -> tuple[Sequence[Continued], Usage]:
    """Have the model continue each task's statement. Raises `UsageError` when the model can't be reached."""

    def ask(task: Task) -> tuple[str, Usage]:
        first, second = _halves(task)
        request = Request(
            model=model,
            messages=(Message(role="system", text=_SYSTEM), Message(role="user", text=first)),
            sampling=Sampling(temperature=0.0, max_tokens=max(128, len(second))),
        )
        client = ModelClient(endpoint, settings, trial=f"contamination-{task.id}")
        try:
            reply = client.ask(request)
        except ModelError as error:
            raise UsageError(str(error)) from None
        text = reply.text.strip()
        if not text and not reply.refusal:
            raise UsageError(
                f"model {model}: expected a continuation of task {task.id}, got an empty reply ({reply.finish}) of at "
                f"most {request.sampling.max_tokens} tokens; choose a model that replies without thinking first"
            )
        return text.removeprefix(first).strip(), client.take_usage()

    with ThreadPoolExecutor(workers) as pool:
        try:
            replies = list(pool.map(ask, tasks))
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    seconds = [_halves(task)[1] for task in tasks]
    continued = []
    for index, (task, (text, _)) in enumerate(zip(tasks, replies, strict=True)):
        similarity, run = compare(text, seconds[index])
        # A few are enough for a mean; a thousand tasks have a million pairs.
        others = [compare(text, seconds[(index + step) % len(tasks)])[0] for step in range(1, min(len(tasks), 21))]
        continued.append(
            Continued(
                task=task.id,
                words=len(_words(seconds[index])),
                similarity=round(similarity, 4),
                run=run,
                others=round(statistics.fmean(others), 4) if others else None,
                continuation=text,
            )
        )
    continued.sort(key=lambda each: (-each.similarity, each.task))
    return continued, sum((usage for _, usage in replies), Usage())


def _halves(task: Task) -> tuple[str, str]:
    found = halves(task.intent)
    assert found is not None
    return found


def _lines(found: Sequence[Continued], model: str, usage: Usage, short: int) -> Iterator[str]:
    yield from textwrap.wrap(f"{printable(model)}: {len(found)} statements, {', '.join(usage_words(usage))}", _WIDTH)
    similar = [each.similarity for each in found]
    others = [each.others for each in found if each.others is not None]
    reference = f"; with other tasks' {statistics.fmean(others):.2f}" if others else ""
    yield f"similarity {statistics.fmean(similar):.2f} on average, {max(similar):.2f} at most{reference}"
    if short:
        yield f"{short} of fewer than {FEWEST_WORDS} words left out"
    yield ""
    yield f"{'task':<40}{'words':>8}{'similar':>10}{'others':>10}{'in a row':>12}"
    for each in found:
        *above, last = textwrap.wrap(printable(each.task), 38, break_on_hyphens=False) or [""]
        yield from above
        mean = "–" if each.others is None else f"{each.others:.2f}"
        yield f"{last:<40}{each.words:>8}{each.similarity:>10.2f}{mean:>10}{each.run:>12}"
    yield ""
    yield from textwrap.wrap(
        "No verdict: a high figure among low ones means that the model knows the text; a low one does not mean that it "
        "has not seen the task or its answer.",
        _WIDTH,
    )
