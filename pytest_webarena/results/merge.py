"""Merging of run directories: a set operation on trial folders."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_webarena.errors import UsageError
from pytest_webarena.results.atomic_folders import copy_plain, made_whole, require_new
from pytest_webarena.results.completeness import SHARD_DIGEST, SHARD_OPTIONS
from pytest_webarena.results.completeness import sources as sources_of
from pytest_webarena.results.conditions import (
    RESCORED,
    RESUMED,
    Difference,
    Source,
    browsers_of,
    check_on_sites,
    differences,
    invocations,
)
from pytest_webarena.results.export import export
from pytest_webarena.results.judge_replies import FOLDER as REPLIES
from pytest_webarena.results.judge_replies import merge_replies
from pytest_webarena.results.memory import memories_of
from pytest_webarena.results.plan import accept_removal, extend_plan, has_plan, read_plan, write_plan
from pytest_webarena.results.records import TrialKey
from pytest_webarena.results.repeated_trials import Copy, take
from pytest_webarena.results.run_identity import IMPORTED, PACKAGE
from pytest_webarena.results.rundir import RunDir
from pytest_webarena.results.stored_records import Unreadable, removed_trials

__all__ = ["Merge", "merge_runs"]

_SHOWN = 8
"""Number of differences that an error message lists."""


_OWN_FACTS = ("collected", "id", "ids", "merged", "mixed", PACKAGE, "parts")
"""Facts of one run that say nothing about a merged one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Merge:
    """Result of a merge."""

    trials: int
    """Number of trials in the merged run."""
    rejudged: int = 0
    """Number of trials that several runs judged differently by the same evidence: the latest judging was taken.

    The other verdicts are in ``history`` of the record.
    """
    run_again: int = 0
    """Number of trials left out because another run has a later execution of the same trial, or one with a verdict."""
    contradicted: tuple[str, ...] = ()
    """Folders of trials to which one judge gave different verdicts by the same evidence: the later one was taken."""
    differing_replies: int = 0
    """Number of questions to which one judge replied differently in several runs; see `merge_replies`."""
    unequally_judged: bool = False
    """Whether a difference that matters is that trials were judged by different judges or gradings, or by none."""
    memories_replaced: int = 0
    """Number of superseded memories: of several runs with the same memory, the one from the most trials was taken."""
    differences: tuple[Difference, ...] = ()
    """Differences between the runs, per agent and browser. Those that matter are included only if they were allowed."""
    unreadable: tuple[Unreadable, ...] = ()
    """Trials whose record can't be read. Their folders are copied unchanged unless another run has the trial."""
    cut_off: int = 0
    """Number of unfinished trials. Their folders are copied too, so that the merged run can be resumed."""


def merge_runs(sources: Sequence[Path], target: Path, *, allow_mixed: bool = False) -> Merge:
    """Copy the trials of ``sources`` into the new run ``target``, with its derived files, atomically.

    `repeated_trials.take` says which copy of a trial counts.

    Raises:
        UsageError: a source is not a run or has links, ``target`` exists and is not empty, trials of one agent differ
            in conditions of a rate (`conditions`) and ``allow_mixed`` is false, or copies of a trial conflict.
    """
    require_new(target)  # before anything that takes long
    for source in sources:
        _refuse_links(source)
    read = [(RunDir(source), RunDir(source).facts(), RunDir(source).read()) for source in sources]
    for run, facts, _ in read:
        check_on_sites(run.path, facts)
    names = _names(sources)
    copies: dict[TrialKey, list[Copy]] = {}
    for name, (run, _, stored) in zip(names, read, strict=True):
        for record in stored.records:
            copy = Copy(record=record, folder=run.folder(record.key).path, run=name)
            copies.setdefault(record.key, []).append(copy)
    taken = {key: take(some) for key, some in copies.items()}
    superseded = {id(other.record) for each in taken.values() for other in each.superseded}
    kept = [
        Source(
            name=name,
            parts=invocations(run.path, facts),
            records=[record for record in stored.records if id(record) not in superseded],
        )
        for name, (run, facts, stored) in zip(names, read, strict=True)
    ]
    differing = tuple(differences(kept))
    if not allow_mixed:
        _refuse(differing, audits=[bool(facts.get("audit")) for _, facts, _ in read])
    if conflicts := [line for each in taken.values() for line in each.conflicts]:
        raise UsageError(
            "expected one result of each trial, found different ones of the same time:\n"
            + _lines(conflicts)
            + "Merge only the run whose results are right"
        )
    folders = {key.folder: each.copy.folder for key, each in taken.items()}
    unreadable = tuple(each for _, _, stored in read for each in stored.unreadable)
    unfinished = [run.trials / name for run, _, stored in read for name in stored.unfinished]
    for folder in (*(each.folder for each in unreadable), *unfinished):
        if folder.exists():  # it is kept and shown as in its own run
            folders.setdefault(folder.name, folder)
    with made_whole(target) as made:
        merged = RunDir(made)
        merged.trials.mkdir(parents=True, exist_ok=True)
        for name, folder in folders.items():
            copy_plain(folder, merged.trials / name)
        for key, each in taken.items():
            each.write(merged.trials / key.folder)
        by_name = dict(zip(names, sources, strict=True))
        differing_replies = merge_replies(by_name, [*taken.values()], made / REPLIES)
        memories_replaced = _join_memories(sources, made)
        for name, (run, _, _) in zip(names, read, strict=True):
            if has_plan(run.path):
                plan = read_plan(run.path)
                extend_plan(made, plan.values())
                if removed := removed_trials(run.path, plan.values()):
                    accept_removal(made, removed, because=f"removed from {name} before it was merged")
        if not has_plan(made) and all(map(has_plan, sources)):
            write_plan(made, {})  # parts without tasks
        parts = [part for run, facts, _ in read for part in sources_of(run.path, facts)]
        merged.describe(_joined_facts(kept, [facts for _, facts, _ in read], differing) | {"sources": parts})
        export(merged)
    return Merge(
        trials=len(taken),
        rejudged=sum(each.rejudged for each in taken.values()),
        run_again=sum(each.run_again for each in taken.values()),
        contradicted=tuple(key.folder for key, each in taken.items() if each.contradicted),
        differing_replies=differing_replies,
        unequally_judged=any(each.matters and each.is_judging for each in differing),
        memories_replaced=memories_replaced,
        differences=differing,
        unreadable=unreadable,
        cut_off=sum(folder in unfinished for folder in folders.values()),
    )


def _refuse_links(source: Path) -> None:
    """Raise `UsageError` for links among the parts of the run that are read or copied.

    `copy_plain` checks the content of folders.
    """
    parts = [source / name for name in ("run.json", "plan.json", RESUMED, RESCORED, "trials", REPLIES, "memory")]
    for part in (*parts, *(source / "memory").glob("*")):
        if part.is_symlink():
            raise UsageError(f"{part}: expected a run's own file or folder, found a link; replace it with its target")


def _names(sources: Sequence[Path]) -> list[str]:
    """The runs' names in messages: names of their folders, or paths where these are the same."""
    names = [source.resolve().name for source in sources]
    return [name if names.count(name) == 1 else str(source) for name, source in zip(names, sources, strict=True)]


def _refuse(differing: Sequence[Difference], *, audits: Sequence[bool]) -> None:
    if len(set(audits)) > 1:
        raise UsageError("expected runs of one sort, found audits of tasks among runs of agents")
    mattering = [each for each in differing if each.matters]
    found = [str(each) for each in mattering]
    if found and all(each.is_judging for each in mattering):
        raise UsageError(
            "expected runs whose trials were judged alike, found differences:\n"
            + _lines(found)
            + "Judge each whole run with the same settings (pytest --rescore=RUN_DIR --judge=MODEL), then merge them; "
            "or merge them anyway with --allow-mixed; reports name the difference"
        )
    if found:
        raise UsageError(
            "expected runs whose trials make one rate, found differences:\n"
            + _lines(found)
            + "Run the older ones again, or merge them anyway with --allow-mixed; reports name the difference"
        )


def _lines(found: Sequence[str]) -> str:
    """The first lines of ``found`` for a message, indented."""
    more = [f"and {len(found) - _SHOWN} more"] if len(found) > _SHOWN else []
    return "".join(f"  {line}\n" for line in [*found[:_SHOWN], *more])


def _whole(part: Mapping[str, Any]) -> dict[str, Any]:
    """The facts of an invocation as if it had run all shards."""
    if not (requested := part.get("asked")):
        return dict(part)
    whole = {name: value for name, value in requested.items() if name != SHARD_DIGEST}
    options = {name: value for name, value in requested["options"].items() if name not in SHARD_OPTIONS}
    return {**part, "asked": {**whole, "options": options}}


def _joined_facts(
    sources: Sequence[Source], facts: Sequence[Mapping[str, Any]], differing: Sequence[Difference]
) -> dict[str, Any]:
    """The facts that all runs have in common, and each run's own under ``merged``."""
    parts = [_whole(part) for source in sources for part in source.parts]
    common = {
        name: parts[0][name]
        for name in parts[0]
        if name not in _OWN_FACTS and all(part.get(name) == parts[0][name] for part in parts)
    }
    each = [
        {"run": source.name, **{name: value for name, value in fact.items() if name not in ("merged", "parts")},
         "parts": list(source.parts)}
        for source, fact in zip(sources, facts, strict=True)
    ]  # fmt: skip
    return {
        **common,
        "started": min((part.get("started", 0.0) for part in parts), default=0.0),
        "argv": common.get("argv", []),
        "agents": list(dict.fromkeys(agent for part in parts for agent in part.get("agents") or ())),
        "browsers": list(dict.fromkeys(browser for part in parts for browser in browsers_of(part))),
        "trials": max((int(part.get("trials", 1)) for part in parts), default=1),
        "mixed": [str(each) for each in differing if each.matters],
        "differences": [str(each) for each in differing if not each.matters],
        "merged": each,
        "ids": sorted({name for fact in facts for name in (fact.get("id"), *fact.get("ids", ())) if name}),
        **({IMPORTED: True} if any(fact.get(IMPORTED) for fact in facts) else {}),
    }


def _join_memories(sources: Sequence[Path], target: Path) -> int:
    """Copy each memory from one run: versions from different runs can't be combined."""
    best: dict[Path, tuple[int, Path]] = {}
    found = 0
    for source in sources:
        for name, trials in memories_of(source).items():
            found += 1
            if name not in best or trials > best[name][0]:
                best[name] = trials, source
    for name, (_, source) in best.items():
        copy_plain(source / name, target / name)
    return found - len(best)
