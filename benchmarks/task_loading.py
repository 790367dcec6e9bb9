"""Measures the cost of loading task files and suites.

    python benchmarks/task_loading.py [TASKS_PER_FILE …]

Compares task files to PyYAML alone. Compares published suites, if their packages are installed, to ``json.loads``, and
their collection by pytest to a pytest run that collects nothing. Columns are processor seconds, best of 3, and for task
files the microseconds per task.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import yaml

from pytest_webarena.errors import UsageError
from pytest_webarena.suites.loading import load_suite
from pytest_webarena.suites.published import SUITES
from pytest_webarena.tasks import load_tasks
from pytest_webarena.tasks.nodes import compose

KINDS = (
    """
  - id: shop-spend-{n}
    intent: How much did I spend on books in 2023, counting only order {n}?
    tags: [orders, money]
    checks:
      - answer: {{number: {n}.97, tolerance: 0.01}}
    solution:
      - goto: /accounts/orders/
      - click: role=link[name="Order {n}"]
      - stop: "{n}.97"
""",
    """
  - id: shop-find-{n}
    intent: Open the page of product number {n}
    start: /catalogue/
    checks:
      - url: /catalogue/product-{n}/
      - page: {{locate: css=h1, includes: Product {n}}}
    solution:
      - fill: {{css=#search: Product {n}}}
      - press: Enter
      - click: text=Product {n}
""",
    """
  - id: shop-review-{n}
    intent: Leave a 4-star review titled "Quiet {n}" on Coffee Grinder {n}
    mutates: true
    checks:
      - page: {{open: /catalogue/{n}/reviews/, locate: css=.review-title, includes: Quiet {n}}}
      - state: {{sql: select count(*) from reviews where title = 'Quiet {n}', equals: 1}}
""",
)

TEMPLATE = """
  - id: shop-template-{n}
    intent: Leave a {{{{ stars }}}}-star review titled "{{{{ title }}}}" on {{{{ product }}}}
    mutates: true
    each:
      coffee: {{product: Coffee Grinder {n}, stars: 4, title: Quiet enough}}
      kettle: {{product: Gooseneck Kettle {n}, stars: 2, title: Drips}}
      teapot: {{product: Iron Teapot {n}, stars: 5, title: Heavy}}
    checks:
      - page: {{open: /reviews/, locate: css=.review-title, includes: "{{{{ title }}}}"}}
      - state: {{sql: "select stars from reviews where title = {{{{ title|sql }}}}", equals: "{{{{ stars }}}}"}}
"""


def plain(tasks: int, offset: int) -> str:
    """Returns a file of tasks without templates."""
    body = "".join(KINDS[n % len(KINDS)].format(n=n) for n in range(offset, offset + tasks))
    return f"defaults: {{sites: [shopping]}}\ntasks:{body}"


def templated(tasks: int, offset: int) -> str:
    """Returns a file whose tasks are instances of templates, three of each."""
    body = "".join(TEMPLATE.format(n=n) for n in range(offset, offset + tasks // 3))
    return f"defaults: {{sites: [shopping]}}\ntasks:{body}"


def cost(work: Callable[[], object], rounds: int = 3) -> float:
    """Returns the lowest CPU time of a few rounds in seconds."""
    best = float("inf")
    for _ in range(rounds):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return best


HEAVY = ("openai", "docker", "django", "flask", "PIL", "webarena_verified", "jsonschema", "pydantic", "jinja2")


def collecting(*arguments: str) -> tuple[float, list[str]]:
    """Returns the CPU seconds of a pytest run that only collects, and the heavy packages it has imported."""
    probe = f"import sys, pytest; pytest.main(sys.argv[1:]); print('heavy:', *sorted(set({HEAVY}) & set(sys.modules)))"
    with tempfile.TemporaryDirectory() as folder:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        command = [sys.executable, "-c", probe, "--collect-only", "-q", "-p", "no:cacheprovider", *arguments]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime
    return spent, done.stdout.rpartition("heavy:")[2].split()


def suites() -> None:
    """Prints a table of the published suites."""
    nothing = [collecting() for _ in range(3)]
    empty = min(spent for spent, _ in nothing)
    print(f"\na pytest that collects nothing: {empty:.2f} s")
    print(f"{'suite':<34}{'tasks':>6}{'json.loads':>11}{'load_suite':>11}{'collected':>12}{'more':>9}  imported")
    for name in SUITES:
        try:
            suite = load_suite(name)
        except UsageError as error:
            print(f"{name:<34}{'':>6} {error}")
            continue
        text = suite.path.read_bytes()
        raw = cost(lambda text=text: json.loads(text))  # type: ignore[misc]
        load = cost(lambda name=name: load_suite(name))  # type: ignore[misc]
        runs = [collecting(f"--suite={name}") for _ in range(3)]
        best = min(spent for spent, _ in runs)
        heavy = ", ".join(set(runs[0][1]) - set(nothing[0][1])) or "nothing heavy"
        print(f"{name:<34}{len(suite.tasks):>6}{raw:>11.3f}{load:>11.3f}{best:>12.2f}{best - empty:>9.2f}  {heavy}")


def main() -> None:
    """Prints the tables."""
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    print(f"CPU seconds, best of 3; PyYAML {yaml.__version__} with {loader.__name__}")
    print(f"{'corpus':<34}{'MB':>6}{'yaml.load':>11}{'our parse':>11}{'load_tasks':>12}{'µs/task':>9}")
    corpora = [("812 tasks, 5 files", plain, 5, 163), ("10,000 tasks, 10 files", plain, 10, 1000)]
    corpora += [("10,000 instances, 10 files", templated, 10, 1000)]
    corpora += [(f"{size} tasks, 1 file", plain, 1, size) for size in map(int, sys.argv[1:])]
    for name, make, files, size in corpora:
        with tempfile.TemporaryDirectory() as folder:
            paths = [Path(folder, f"{number}.yaml") for number in range(files)]
            for number, path in enumerate(paths):
                path.write_text(make(size, number * size), "utf-8")
            texts = [path.read_bytes() for path in paths]
            raw = cost(lambda texts=texts: [yaml.load(text, loader) for text in texts])  # type: ignore[misc]
            parse = cost(lambda texts=texts: [compose(text, "") for text in texts])  # type: ignore[misc]
            load = cost(lambda paths=paths: [load_tasks(path) for path in paths])  # type: ignore[misc]
            count = sum(len(load_tasks(path)) for path in paths)
            megabytes = sum(map(len, texts)) / 1e6
        print(f"{name:<34}{megabytes:>6.2f}{raw:>11.3f}{parse:>11.3f}{load:>12.3f}{load / count * 1e6:>9.0f}")
    suites()


if __name__ == "__main__":
    main()
