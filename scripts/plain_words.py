"""Lists words without meaning of their own in answers, for `pytest_webarena.checks.upstream.plain_words`.

    PYTHONPATH=. python scripts/plain_words.py [FILE…]

A word is plain when right answers to several templates use it, in addition to the words of question and reference, and
when wrong answers do not use it much more often. The labelled answers are by default the open ones in the unit tests.
So the list has few names and no words that make answers wrong, and is not chosen manually.
"""

from __future__ import annotations

import argparse
import collections
import functools
import re
import sys
import textwrap
from collections.abc import Iterable
from pathlib import Path

from pytest_webarena.checks.upstream.folding import FUNCTION_WORDS, abbreviated, fold, stem
from pytest_webarena.checks.upstream.stated_numbers import question_of
from pytest_webarena.checks.upstream.strings import StringSpec
from pytest_webarena.checks.upstream.unexplained import MEASURES, TURNS, known_words
from scripts.measure_gradings import FOLDER, Labelled, needs_judge, read, tasks

MOST_IN_WRONG = 1.4
"""How many times as often a plain word may occur in wrong answers as in right ones."""
TEMPLATES = 2
"""A plain word occurs in small letters in right answers to at least this many templates,"""
ANYHOW = 3
"""or in any letters in right answers to at least this many."""
OPENED = (
    *(FOLDER / f"{name}.yaml" for name in ("open", "second", "third", "fourth", "fifth", "sixth", "eighth")),
    *(FOLDER.parent / f"{name}.yaml" for name in ("phrasings", "more_phrasings")),
)
"""Labelled answers, without those that measure the resulting list."""
_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")


@functools.cache
def known(task: int) -> frozenset[str]:
    """Returns the stems of the words in a task's question and reference."""
    asked = tasks()[task]
    spec = next(check.spec for check in asked.checks if isinstance(check.spec, StringSpec))
    return known_words(spec.texts, question_of(asked.intent))


@functools.cache
def said(answer: Labelled) -> frozenset[str]:
    """Returns the words of an answer that are neither in its question nor in its reference."""
    words = frozenset(_WORD.findall(abbreviated(fold(answer.answer))))
    return frozenset(word for word in words if stem(word) not in known(answer.task))


def plain_words(answers: Iterable[Labelled]) -> list[str]:
    """Returns the plain words in alphabetical order."""
    templates: dict[tuple[str, bool], set[int]] = collections.defaultdict(set)
    counts: collections.Counter[tuple[str, bool]] = collections.Counter()
    totals: collections.Counter[bool] = collections.Counter()
    for each in answers:
        if needs_judge(each.task):
            continue
        totals[each.right] += 1
        small = set(re.findall(r"(?<![\w'-])[a-z]+(?:'[a-z]+)?", each.answer))
        for word in said(each):
            counts[word, each.right] += 1
            if each.right:
                templates[word, word in small].add(each.template)
    return sorted(
        word
        for word in {word for word, _ in templates}
        if (len(templates[word, True]) >= TEMPLATES or len(templates[word, True] | templates[word, False]) >= ANYHOW)
        and word not in FUNCTION_WORDS | MEASURES | TURNS
        and not word.endswith("n't")
        and counts[word, False] / totals[False] <= MOST_IN_WRONG * counts[word, True] / totals[True]
    )


def main() -> int:
    """Prints the list."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, help="YAML files of labelled answers")
    files = parser.parse_args().files or OPENED
    words = plain_words(answer for path in files for answer in read(path))
    print("\n".join(textwrap.wrap(" ".join(words), 112, break_on_hyphens=False)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
