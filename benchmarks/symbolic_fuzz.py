"""Fuzzes the check kind ``symbolic`` with hostile and broken answers: each must end in time, none executed.

    python benchmarks/symbolic_fuzz.py [--texts 10000] [--seed 1] [--seconds 600]

Texts come from the labelled pairs (cut, joined, changed), from random words and tokens, from nested powers, factorials,
roots and brackets, and from Python that would leave a trace. Each is judged against a random reference. Prints the
number of each ending, the longest by processor time, and every unexpected event: a process that died other than by its
limits, more than 2 s of processor time, Python compiled or run, a file written, a process started. Exit code 0: no
unexpected event.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from pytest_webarena.checks.computed import symbolic
from pytest_webarena.checks.computed.names import words
from pytest_webarena.checks.computed.symbolic import SymbolicSpec, decide

PAIRS = Path(__file__).parent.parent / "tests/unit/checks/computed/pairs.yaml"
LIMIT = 2.0
"""Seconds of processor time allowed for one text."""
FORESEEN = ("processor time", "of memory", "nested too deeply", "longer than", "too large")
"""The expected reasons for giving up on a text."""

PARTS = words(
    r"\frac \sqrt \sin \cos^{-1} \ln \log_ \int \sum \prod \lim \to \left( \right) \begin{pmatrix} \end{pmatrix} \\ & "
    r"\binom x y z e i pi \pi \infty n! ! !! ^ ^{ } { ( ) [ ] | , ; = < > \le + - * / ** _ _{ \pm \cdot \circ ' . … ² "
    r"√ ∫ ½ β 0 1 2 3 10 99 1000 9999 100000 1e9 1e999 0.001 .5 1,000 d dx \frac{d}{dx} \text{or} \{ \} \cup \lfloor "
    r"\mathrm{x} \times \vec{a} \mathbf{b} \setminus \cap (mod \pmod{7} {}_n C_k ∂ ∂_x ₂ ⁿ ˣ -> Integrate[ D[ ] "
    r"\text{kg}"
)
WORDS = (
    "so the answer is",
    "where",
    "with",
    "for",
    "or",
    "i.e.",
    "(about",
    "therefore",
    "one half",
    "which is not",
    "x̄",
    ". ",
    "directed downward",
    "$",
    "$$",
    "\\(",
    "\\)",
    "for all real numbers",
    "is",
    "k = 0, 1, 2",
    "where q = 1 - p,",
    "m/s^2",
)
PYTHON = (
    "__import__('os').mkdir('{path}')",
    "open('{path}','w').write('x')",
    "().__class__.__base__.__subclasses__()",
    "eval(compile('open(\"{path}\",\"w\")','','exec'))",
    "lambda: 1",
    'x if x else exec(\'open("{path}","w")\')',
    "Symbol('x').func(__import__('os').mkdir('{path}'))",
    'f\'{{__import__("os").mkdir("{path}")}}\'',
    "sympify('1')",
    "\\input{{/etc/passwd}}",
    "\\write18{{touch {path}}}",
    "{{{{ intent }}}}",
)
TOWERS: tuple[Callable[[random.Random], str], ...] = (
    lambda r: "^".join(str(r.choice((2, 9, 10, "x", "e", "n"))) for _ in range(r.randint(2, 40))),
    lambda r: "(" * (n := r.randint(5, 300)) + "x" + ")" * n,
    lambda r: "(" * (n := r.randint(2, 6)) + "x+1" + f")^{{{r.choice((99, 9999))}}}" * n,
    lambda r: f"({r.choice((5, 10**6, 10**9))})" + "!" * r.randint(1, 5),
    lambda r: "\\sqrt{" * (n := r.randint(2, 60)) + "2" + "+x}" * n,
    lambda r: "\\sin(" * (n := r.randint(2, 38)) + "x" + ")" * n,
    lambda r: "e^{" * (n := r.randint(2, 30)) + "x" + "}" * n,
    lambda r: f"\\sum_{{k=1}}^{{{r.choice((150, 10**9, 'n'))}}} " + r.choice(("k^k", "k!", "\\sin(k^2)", "1/k^x")),
    lambda r: "\\int_0^1 " + r.choice(("x^x", "\\sin(\\cos(x^x))", "e^{e^x}", "\\frac{1}{\\ln x}")) + " dx",
    lambda r: f"\\binom{{{r.choice(('x', 10**6, 999))}}}{{{r.choice((500, 'k', 10**7))}}}",
    lambda r: "+".join(f"x_{k}^{k}" for k in range(r.randint(5, 60))) + ")^{40}" * r.randint(0, 1),
    lambda r: "(" + "+".join("abcdefgh") + f")^{{{r.choice((20, 100, 5000))}}}",
    lambda r: "\\begin{pmatrix}" + "\\\\".join("&".join("abcdef") for _ in range(6)) + "\\end{pmatrix}^{20}",
    lambda r: "x" * r.randint(100, 100_000),
    lambda r: "1" * r.randint(100, 100_000),
    lambda r: "\\pm 1" * r.randint(1, 200),
    lambda r: "x=" * r.randint(1, 300) + "1",
    lambda r: "\\{" + ",".join(f"\\sin {k}" for k in range(r.randint(2, 90))) + "\\}",
    lambda r: "\\max(" + ",".join(f"x_{k}" for k in range(r.randint(2, 40))) + ")",
    lambda r: "\\frac{d}{dx} " * r.randint(2, 40) + "\\tan x",
)


def make(generator: random.Random, seeds: list[str], path: str) -> str:
    """Returns one text."""
    kind = generator.random()
    if kind < 0.4:
        text = list(generator.choice(seeds))
        for _ in range(generator.randint(1, 6)):
            at = generator.randrange(len(text) + 1)
            text[at : at + generator.choice((0, 0, 1, 3))] = generator.choice(
                (*PARTS, *WORDS, "", generator.choice(seeds))
            )
        return "".join(text)
    if kind < 0.5:
        return " ".join(generator.choice((*WORDS, *PARTS, *seeds)) for _ in range(generator.randint(2, 20)))
    if kind < 0.7:
        return generator.choice(("", " ")).join(generator.choice(PARTS) for _ in range(generator.randint(1, 40)))
    if kind < 0.9:
        tower = generator.choice(TOWERS)(generator)
        return tower if generator.random() < 0.6 else generator.choice(seeds) + generator.choice("+-*/^=") + tower
    if kind < 0.95:
        return generator.choice(PYTHON).format(path=path)
    return "".join(
        chr(generator.choice((generator.randrange(32, 127), generator.randrange(160, 0x2FFF)))) for _ in range(30)
    )


def watch() -> None:
    """Ends this process with a special exit code when Python is run or anything is touched.

    It can't be undone, so it is only for child processes.
    """

    def hook(event: str, arguments: tuple[Any, ...]) -> None:
        written = event == "open" and not isinstance(arguments[0], int) and set(str(arguments[1])) & set("wax+")
        made = event == "compile" and arguments[1] in ("<string>", "<lambdifygenerated>", "")
        if made and bytes(arguments[0] or b"").startswith(b"def monomial_"):
            return  # SymPy generates functions for a given number of names; they contain nothing of the formula
        if made or written:
            os._exit(77)
        if event.startswith(
            ("os.system", "os.exec", "os.posix_spawn", "subprocess", "socket", "os.mkdir", "os.remove")
        ):
            os._exit(77)

    sys.addaudithook(hook)


def main() -> int:
    """Fuzzes and prints; returns whether everything ended as expected."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=int, default=10_000, help="judge this many texts (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=1, help="seed of the texts (default: %(default)s)")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this many seconds")
    options = parser.parse_args()
    generator = random.Random(options.seed)
    pairs = yaml.safe_load(PAIRS.read_text("utf-8"))
    references = [pair["reference"] for pair in pairs if isinstance(pair["reference"], str) and "options" not in pair]
    seeds = references + [str(pair["answer"]) for pair in pairs]
    alone = symbolic.decide_alone

    def watched(spec: SymbolicSpec, text: str, intent: str) -> tuple[str, str, bool]:
        watch()
        return alone(spec, text, intent)

    assert symbolic.SYMBOLIC.make_ready is not None
    symbolic.SYMBOLIC.make_ready(SymbolicSpec(equals=("x",)))
    symbolic.decide_alone = watched
    ends: Counter[str] = Counter()
    slowest: list[tuple[float, str]] = []
    odd = []
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/trace"
        for _ in range(options.texts):
            if time.monotonic() - began > options.seconds:
                break
            text, reference = make(generator, seeds, path), generator.choice(references)
            spent = _processor_time()
            try:
                verdict, why, _ = decide(SymbolicSpec(equals=(reference,)), text)
            except Exception as error:  # any exception is a finding
                verdict, why = "raised", f"{type(error).__name__}: {error}"
            spent = _processor_time() - spent
            ended = "given up, because" in why
            ends["given up" if ended else verdict] += 1
            slowest = sorted([*slowest, (spent, text[:150])], reverse=True)[:10]
            foreseen = any(words in why for words in FORESEEN) if ended else verdict not in ("raised", "reference")
            if not foreseen or spent > LIMIT or os.listdir(folder):
                odd.append(f"{verdict} ({why}), {spent:.2f} s: {reference}  |  {text[:300]}")
                print(f"not foreseen, text {ends.total()}: {odd[-1]}", file=sys.stderr, flush=True)
            if not ends.total() % 1000:
                print(f"{ends.total()} texts, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True)
    print(f"{ends.total()} texts in {time.monotonic() - began:.0f} s: {dict(ends)}")
    print("longest, in seconds of processor time:", *(f"{spent:.2f}  {text}" for spent, text in slowest), sep="\n  ")
    print(f"not foreseen: {len(odd)}", *odd[:40], sep="\n  ")
    return 1 if odd else 0


def _processor_time() -> float:
    both = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


if __name__ == "__main__":
    sys.exit(main())
