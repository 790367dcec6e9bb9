"""``webarena judge guide``: have a model write guides to tasks, for agents whose reward model judges by reference."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_webarena.agents.model.guide_author import GUIDE_SCHEMA, author_guide, prompt_version
from pytest_webarena.agents.model.guides import guide_file, guide_of, material, material_digest, write_guide
from pytest_webarena.errors import UsageError, closest
from pytest_webarena.llm.client import ModelClient
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.messages import Message, ModelReply, Request, Sampling
from pytest_webarena.llm.prices import read_prices
from pytest_webarena.suites.loading import is_suite, load_suite
from pytest_webarena.tasks import load_tasks
from pytest_webarena.tasks.model import Task
from pytest_webarena.tasks.validate import find_files

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    parser.add_argument("tasks", nargs="+", metavar="FILE[::ID]", help="task files, tasks in them, folders, suites")
    parser.add_argument("--model", default="", metavar="MODEL", help="model that writes; use a strong one")
    parser.add_argument("--url", default="", metavar="URL", help="its endpoint (default: OPENAI_BASE_URL)")
    parser.add_argument("--key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with its key, or none")
    parser.add_argument("--max-tokens", type=int, default=4096, metavar="N", help="of a reply (default: 4096)")
    parser.add_argument("--force", action="store_true", help="also for tasks with a current guide")
    parser.add_argument("--check", action="store_true", help="call no model; exit 1 if guides are outdated")
    parser.add_argument("--prices", type=Path, metavar="FILE", help="your price table, as for pytest")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Write or check guides. Returns 0 when each task has a guide that fits it."""
    tasks = list(_named(options.tasks))
    if options.check:
        return _check(tasks)
    if not options.model:
        raise UsageError("expected the name of a model: give --model (or --check, which calls no model)")
    if options.max_tokens < 1:
        raise UsageError(f"--max-tokens: expected at least 1, found {options.max_tokens}")
    endpoint = Endpoint.from_options(options.url, options.key_env, "--key-env")
    _ = endpoint.url
    endpoint.key()
    read_prices(options.prices)
    wanted = [task for task in tasks if options.force or _missing(task)]
    nothing = [task.id for task in wanted if set(material(task)) == {"intent"}]
    if nothing:  # before anything is paid for
        raise UsageError(
            f"expected a solution or key nodes to make a guide from, found neither in {len(nothing)} of the tasks: "
            f"{', '.join(nothing[:5])}{', …' if len(nothing) > 5 else ''}"
        )
    client = ModelClient(endpoint, ModelSettings(prices=options.prices), trial="guide")
    sampling = Sampling(temperature=0.0, max_tokens=options.max_tokens)

    def send(messages: tuple[Message, ...]) -> ModelReply:
        return client.ask(Request(model=options.model, messages=messages, sampling=sampling, schema=GUIDE_SCHEMA))

    try:
        for task in tasks:
            if task not in wanted:
                print(f"{task.id}: has a guide already (--force writes it again)")
                continue
            guide = author_guide(send, task)
            made_of = {"digest": material_digest(task), "model": options.model, "prompt": prompt_version()}
            write_guide(guide_file(task), guide, task=task.id, made_of=made_of)
            print(f"{task.id}: {guide_file(task)}. Read it before you rely on it")
    finally:
        if used := client.take_usage():
            cost = "cost unknown" if used.cost is None else f"${used.cost:.4f}"
            print(f"{used.calls} requests, {cost}", file=sys.stderr)
    return 0


def _missing(task: Task) -> bool:
    """Whether a guide has to be written. Raises `UsageError` for an outdated one, because people may have edited it."""
    if not guide_file(task).exists():
        return True
    guide_of(task)
    return False


def _check(tasks: Sequence[Task]) -> int:
    wrong = 0
    for task in tasks:
        try:
            guide_of(task)
        except UsageError as error:
            wrong += 1
            print(error)
    print(f"{len(tasks) - wrong} of {len(tasks)} tasks have a guide that fits them")
    return 1 if wrong else 0


def _named(names: Sequence[str]) -> Iterator[Task]:
    for name in names:
        place, _, id = name.partition("::")
        if is_suite(place):
            found = list(load_suite(place).tasks)
        else:
            path = Path(place)
            found = [task for file in (find_files([path]) if path.is_dir() else [path]) for task in load_tasks(file)]
        if id and id not in {task.id for task in found}:
            raise UsageError(f"{place}: {closest(id, [task.id for task in found])}")
        if not found:
            raise UsageError(f"{place}: expected tasks, found none")
        yield from (task for task in found if id in ("", task.id))
