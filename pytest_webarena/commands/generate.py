"""``webarena tasks generate``: have a model propose tasks, and make tasks of the proposals that people agree on."""

from __future__ import annotations

import argparse
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.errors import TaskFileError, UsageError, closest, writing
from pytest_webarena.evidence import Usage
from pytest_webarena.llm.client import BudgetSpent, ModelClient
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm.endpoint import Endpoint
from pytest_webarena.llm.messages import Message, ModelReply, Request, Sampling
from pytest_webarena.llm.model_calls import calls_of
from pytest_webarena.llm.prices import read_prices

if TYPE_CHECKING:
    from pytest_webarena.sites.catalogues.manifest import Catalogue
    from pytest_webarena.tasks import Task

__all__ = ["add_arguments"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the command's arguments."""
    commands = parser.add_subparsers(dest="subcommand", required=True, metavar="COMMAND")
    asking = commands.add_parser("propose", help="have a model propose tasks for pages")
    asking.add_argument("places", nargs="+", metavar="SITE[:/PATH]", help="sites, and the first page to read")
    asking.add_argument("--model", required=True, metavar="MODEL", help="model that proposes")
    asking.add_argument("--count", type=int, default=10, metavar="N", help="ideas, at most (default: 10)")
    asking.add_argument("--pages", type=int, default=20, metavar="N", help="pages to read, at most (default: 20)")
    asking.add_argument("--user", action="append", default=[], metavar="SITE=NAME", help="account to sign in with")
    asking.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="a task file of drafts")
    asking.add_argument("--url", default="", metavar="URL", help="the model's endpoint (default: OPENAI_BASE_URL)")
    asking.add_argument("--key-env", default="OPENAI_API_KEY", metavar="NAME", help="variable with its key, or none")
    asking.add_argument("--max-tokens", type=int, default=8192, metavar="N", help="tokens of a reply (default: 8192)")
    asking.add_argument("--temperature", type=float, metavar="T", help="default: the endpoint's own")
    asking.add_argument("--max-cost", type=float, metavar="USD", help="stop asking when this much is spent")
    asking.add_argument("--cache", type=Path, metavar="DIR", help="cache replies there")
    asking.add_argument("--prices", type=Path, metavar="FILE", help="your price table, as for pytest")
    asking.add_argument("--sites", metavar="CATALOGUE", help="sites to use (default: as for pytest)")
    asking.add_argument("--browser-executable", metavar="PATH", help="browser to use (default: as for pytest)")
    asking.set_defaults(run=_propose)

    settling = commands.add_parser("settle", help="make tasks from people's answers")
    settling.add_argument("drafts", type=Path, metavar="FILE", help="the task file of drafts")
    settling.add_argument(
        "answers", nargs=2, type=Path, metavar="ANSWERS", help="of two people, as the form saves them"
    )
    settling.add_argument("--decided", type=Path, metavar="FILE", help="a third person's decisions where these differ")
    settling.add_argument("-o", "--output", type=Path, required=True, metavar="FILE", help="a task file")
    settling.set_defaults(run=_settle)


# --- propose


def _propose(options: argparse.Namespace) -> int:
    """Propose tasks and return 0. All arguments are checked before anything is paid for."""
    from pytest_webarena.commands.playing import open_runtime
    from pytest_webarena.commands.project import DEFAULT_SITES
    from pytest_webarena.sites.catalogues.loading import load_catalogue
    from pytest_webarena.task_generation.crawling import crawl
    from pytest_webarena.task_generation.drafts import draft_text
    from pytest_webarena.task_generation.proposing import prompt_version, propose

    endpoint = _endpoint(options)
    name = options.sites or DEFAULT_SITES
    task = _task(options, load_catalogue(name))
    print(f"looking at {options.pages} pages at most of {', '.join(task.sites)}", flush=True)
    with open_runtime(name, headed=False, executable=options.browser_executable) as runtime:
        pages = crawl(task, runtime, most=options.pages, report=lambda text: print(text, flush=True))
    if not pages:
        raise UsageError("expected pages to read, found none that could be loaded")
    print(f"asking {options.model} for {options.count} ideas", flush=True)
    with tempfile.TemporaryDirectory(prefix="webarena-ideas-") as scratch:
        asking = _Asking(options, endpoint, Path(scratch))
        try:
            found = propose(asking.send, pages, count=options.count)
        finally:
            print(asking.usage_text(), file=sys.stderr)
    made_of = {"model": options.model, "prompt": prompt_version()}
    head = [
        "Drafts: no run includes them until two people have answered them independently.",
        f"1. webarena view {options.output.name}, for each of them; the page is a form",
        f"2. webarena tasks generate settle {options.output.name} ANSWERS ANSWERS -o TASKS.yaml",
    ]
    text = draft_text(found.ideas, sites=task.sites, users=task.user, made_of=made_of, head=head)
    _write(options.output, text)
    for each in found.left_out:
        print(f"left out: {each}")
    total = sum(len(idea.intents) for idea in found.ideas)
    print(f"{options.output}: {len(found.ideas)} ideas, {total} intents; then webarena view {options.output}")
    return 0


def _endpoint(options: argparse.Namespace) -> Endpoint:
    """Return the model's endpoint, after all arguments have been checked."""
    _new(options.output)
    for given, flag in ((options.count, "--count"), (options.pages, "--pages"), (options.max_tokens, "--max-tokens")):
        if given < 1:
            raise UsageError(f"{flag}: expected at least 1, found {given}")
    if options.max_cost is not None and not options.max_cost > 0:
        raise UsageError(f"--max-cost: expected dollars above 0, found {options.max_cost:g}")
    endpoint = Endpoint.from_options(options.url, options.key_env, "--key-env")
    _ = endpoint.url
    endpoint.key()
    read_prices(options.prices)
    return endpoint


class _Asking:
    """Sends requests to the model, and counts their cost."""

    def __init__(self, options: argparse.Namespace, endpoint: Endpoint, scratch: Path) -> None:
        settings = ModelSettings(
            prices=options.prices, cache=options.cache, max_cost=options.max_cost, calls=calls_of(scratch)
        )
        self._model = options.model
        self._sampling = Sampling(temperature=options.temperature, max_tokens=options.max_tokens)
        self._client = ModelClient(endpoint, settings, trial="ideas")
        self._used = Usage()

    def send(self, messages: tuple[Message, ...]) -> ModelReply:
        """Return one reply. Raises `UsageError` when the budget is used up."""
        try:
            return self._client.ask(Request(model=self._model, messages=messages, sampling=self._sampling))
        except BudgetSpent as spent:
            raise UsageError(f"the budget for model calls is used up: {spent}; raise --max-cost") from None
        finally:
            self._used += self._client.take_usage()

    def usage_text(self) -> str:
        """Return the number of requests and their cost."""
        cost = "cost unknown" if self._used.cost is None else f"${self._used.cost:.4f}"
        return f"{self._used.calls} request{'s' if self._used.calls != 1 else ''}, {cost}"


def _task(options: argparse.Namespace, catalogue: Catalogue) -> Task:
    """The places to visit, as a task that changes nothing there."""
    from pytest_webarena.sites.catalogues.external import is_unreset
    from pytest_webarena.sites.catalogues.sites_for_tasks import sites_for_tasks
    from pytest_webarena.task_generation.drafts import task_text_of
    from pytest_webarena.tasks import parse_tasks

    sites, start = [], []
    for each in options.places:
        site, _, path = each.partition(":")
        if site not in catalogue.sites:
            raise UsageError(f"{each}: expected a site of the catalogue; {closest(site, [*catalogue.sites])}")
        if is_unreset(catalogue, site):
            raise UsageError(
                f"{each}: expected a site that is reset afterwards, found an external one: it is explored while "
                "signed in, and a link may change something"
            )
        sites.append(site)
        if path:
            start.append(f"{site}:{path}")
    users = dict(each.partition("=")[::2] for each in options.user)
    task: dict[str, Any] = {"id": "ideas", "intent": "Look around.", "sites": list(dict.fromkeys(sites))}
    task |= {**({"start": start} if start else {}), **({"user": users} if users else {}), "mutates": False}
    try:
        [found] = parse_tasks(
            task_text_of([{**task, "checks": [{"answer": "x"}]}], []), sites=sites_for_tasks(catalogue)
        )
    except TaskFileError as error:
        raise UsageError(f"expected sites and their users, found: {error}") from None
    return found


# --- settle


def _settle(options: argparse.Namespace) -> int:
    """Write the tasks. Returns 0 when nothing is left to answer or decide, else 1."""
    from pytest_webarena.task_generation.adjudication import settle, settled_text
    from pytest_webarena.task_generation.answers import read_answers
    from pytest_webarena.task_generation.drafts import drafts_in

    _new(options.output)
    drafts = drafts_in(options.drafts)
    first, second = (read_answers(file, drafts) for file in options.answers)
    third = read_answers(options.decided, drafts) if options.decided is not None else {}
    settled = settle(drafts, first, second, third)
    if not settled.tasks:
        print("both people rejected all drafts: nothing is written")
        return 1
    _write(options.output, settled_text(settled, _head(settled.counts)))
    print(f"{options.output}: {_counted(settled.counts)}")
    for id in settled.left_out:
        print(f"excluded: {id}: both people rejected it")
    for task in settled.to_record:
        words = ["webarena", "tasks", "record", *task.sites, "--id", task.id, "--intent", task.intent]
        print(f"to be shown: {shlex.join(words)}")  # the line is pasted into a shell, and a model wrote the intent
    if settled.counts.get("disputed"):
        words = ["webarena", "view", str(options.drafts), "--answers", *map(str, options.answers)]
        print(f"another person decides: {shlex.join(words)}, then settle with --decided")
    return 1 if settled.counts.get("disputed") or settled.counts.get("not answered by both") else 0


def _head(counts: Mapping[str, int]) -> Sequence[str]:
    return [
        f"Made of ideas by webarena tasks generate settle: {_counted(counts)}.",
        "Next: pytest --audit, which needs solutions.",
    ]


def _counted(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{number} {name}" for name, number in counts.items())


def _new(file: Path) -> None:
    if file.exists():
        raise UsageError(f"{file}: expected a file that is not there yet, found one; choose another name")


def _write(file: Path, text: str) -> None:
    with writing(file):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
