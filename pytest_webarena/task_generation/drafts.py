"""Task files of ideas: drafts, which no run executes until people have answered them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.suites.writing import yaml_lines
from pytest_webarena.task_generation.proposing import Idea
from pytest_webarena.tasks import Task, load_tasks
from pytest_webarena.text import plain_id

__all__ = ["NOBODY", "TAG", "UNANSWERED", "draft_text", "drafts_in", "task_text_of"]

TAG = "idea"
NOBODY = "a draft without a verified answer"
"""Reason why a draft is skipped."""
UNANSWERED = {"answer": {"exact": "(the right answer is not known yet)"}}
"""The check of a draft, which no answer passes: a protection if `skip` is removed too early."""


def draft_text(ideas: Sequence[Idea], *, sites: Sequence[str], users: Mapping[str, str], made_of: Mapping[str, Any],
               head: Sequence[str]) -> str:  # fmt: skip
    """Returns a task file with a draft for each intent. ``made_of``: model and prompt; ``head``: comments at its
    beginning."""
    tasks: list[dict[str, Any]] = []
    ids: set[str] = set()
    for idea in ideas:
        template = _fresh(idea.template, ids)
        for number, intent in enumerate(idea.intents, 1):
            idea_sites = list(dict.fromkeys(page.site for page in idea.pages)) or list(sites)
            task: dict[str, Any] = {
                "id": template if len(idea.intents) == 1 else f"{template}.{number}",
                "intent": intent,
                "sites": idea_sites,
                **(
                    {"user": accounts}
                    if (accounts := {site: users[site] for site in idea_sites if site in users})
                    else {}
                ),
                **({"template": template} if len(idea.intents) > 1 else {}),
                "category": idea.kind,
                "tags": [TAG],
                "skip": NOBODY,
                "source": {**made_of, "pages": [f"{page.site}:{page.path}" for page in idea.pages]},
                "review": {"annotator": made_of["model"]},
                "checks": [UNANSWERED],
            }
            tasks.append(task)
    return task_text_of(tasks, head)


def task_text_of(tasks: Sequence[Mapping[str, Any]], head: Sequence[str]) -> str:
    """Returns the text of a task file."""
    lines = [f"# {line}" for line in head]
    return "\n".join([*lines, "tasks:", *(line for task in tasks for line in yaml_lines([dict(task)], 2)), ""])


def drafts_in(file: Path) -> tuple[Task, ...]:
    """Returns the drafts of a task file in order. Raises `UsageError` when it has none."""
    drafts = tuple(task for task in load_tasks(file) if TAG in task.tags and task.skip == NOBODY)
    if not drafts:
        raise UsageError(
            f"{file}: expected ideas of webarena tasks generate propose (tag {TAG}, skip: {NOBODY}), found none"
        )
    return drafts


def _fresh(template: str, ids: set[str]) -> str:
    """Returns a new id made of the template's first words, with a number if that id is already used."""
    plain = plain_id(template) or "idea"
    found = next(
        each for number in range(1, len(ids) + 2) if (each := plain if number == 1 else f"{plain}-{number}") not in ids
    )
    ids.add(found)
    return found
