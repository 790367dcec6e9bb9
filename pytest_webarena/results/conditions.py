"""Conditions that trials must share to make one rate, per agent and browser, and other differences between them.

Trials of an agent may come from several invocations of pytest: merged shards, or resumed runs. A rate over them is
meaningful only if the agent, its model, the sites, the grading, the judge, the limits, the answer format and the
browser's page are the same for all. Differences of versions, machines and retries are only reported. Trials in several
browsers never make one rate, so they are not compared.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.agents.registry import agent_id
from pytest_webarena.errors import RunChanged, UsageError
from pytest_webarena.file_digests import SEAL
from pytest_webarena.results.files import write_atomically
from pytest_webarena.results.plan import stopped_trials
from pytest_webarena.results.program_changes import changed_program, program_changes
from pytest_webarena.results.records import DEFAULT_BROWSER, Entrant, TrialKey, TrialRecord
from pytest_webarena.results.statistics import Summary, grouped, summarise
from pytest_webarena.secrets import scrub_plain

if TYPE_CHECKING:
    from pytest_webarena.results.rundir import RunDir

__all__ = [
    "NO_JUDGE",
    "RESCORED",
    "RESUMED",
    "Difference",
    "Source",
    "add_note",
    "alike",
    "browsers_of",
    "check_on_sites",
    "check_rates",
    "differences",
    "differing_values",
    "invocations",
    "latest_judging",
    "mixed",
    "notes",
    "reach_words",
    "source_of",
    "summaries_of",
    "traits_of",
]

RESUMED = "resumed.json"
"""File with the facts of each later invocation that resumed the run, in the form of ``run.json``."""
RESCORED = "rescored.json"
"""File with the time and the settings of each rescoring of the run."""

_MINOR_FACTS = (
    "env_retries",
    "overrides",
    "site_urls",
    "allow_unreset",
    "suites",
    "versions",
    "python",
    "platform",
    "git",
)
"""Facts of invocations that may differ."""
_REACH = "--reachable-sites"
_EACH = "as each task says"
_PAGE = ("viewport", "locale", "timezone", "geolocation", "device_scale", "observation")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """The trials of one run directory, and the invocations that produced them."""

    name: str
    parts: tuple[Mapping[str, Any], ...]
    """Facts of each invocation, as in ``run.json``."""
    records: Sequence[TrialRecord]


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A property that is not the same for all trials of an agent in one browser."""

    agent: str
    """The agent's name by `records.names_of`."""
    what: str
    values: Mapping[str, tuple[str, ...]]
    """Names of the runs with each value."""
    matters: bool
    """Whether it makes a rate over these trials meaningless."""

    def __str__(self) -> str:
        found = " and ".join(f"{value} in {', '.join(runs)}" for value, runs in self.values.items())
        return f"{self.agent}: {self.what}: {found}"

    @property
    def is_judging(self) -> bool:
        """Whether trials were judged differently, so that judging them again would remove it."""
        return self.what in ("judge", "--grading", *_JUDGED.values())

    @property
    def short(self) -> str:
        """The difference without the runs' names, for a line next to the rate."""
        return f"{self.what} {' / '.join(self.values)}"


def check_rates(path: Path, facts: Mapping[str, Any]) -> None:
    """Raise `UsageError` if the run in ``path`` has no success rates: an audit of tasks, or trials on a record."""
    check_on_sites(path, facts)
    if any(part.get("audit") for part in _parts(facts)):
        raise UsageError(f"{path}: expected a run of agents, found an audit of tasks, which has no success rates")


def check_on_sites(path: Path, facts: Mapping[str, Any]) -> None:
    """Raise `UsageError` if trials of the run in ``path`` were on a record (``--replay-run``)."""
    parts = _parts(facts)
    if source := next((part["on_record"] for part in parts if part.get("on_record")), None):
        raise UsageError(
            f"{path}: expected trials on sites, found some on the record of {source} (--replay-run): they show where "
            "agents left it, and make no rate; name a run of agents on sites"
        )


def _parts(facts: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    return (facts, *facts.get("merged", ()))


def source_of(path: Path, facts: Mapping[str, Any], records: Sequence[TrialRecord]) -> Source:
    """Return a run directory as a source. ``facts`` are the content of its ``run.json``."""
    return Source(name=path.resolve().name, parts=invocations(path, facts), records=records)


def invocations(path: Path, facts: Mapping[str, Any]) -> tuple[Mapping[str, Any], ...]:
    """Return the facts of every invocation of pytest that contributed to a run, including the parts of a merged one."""
    joined = facts.get("merged")
    first = [part for each in joined for part in (each.get("parts") or [each])] if joined else [facts]
    judged = latest_judging(path)
    return tuple({**part, **judged} for part in (*first, *notes(path / RESUMED)))


def latest_judging(path: Path) -> dict[str, Any]:
    """Return the grading and the judge of the latest rescoring of a run; a judge applies until another one is named."""
    rescorings = notes(path / RESCORED)
    judges = [note["judge"] for note in rescorings if note.get("judge")]
    return {
        **({"grading": rescorings[-1]["grading"]} if rescorings else {}),
        **({"judge": judges[-1]} if judges else {}),
    }


def mixed(source: Source) -> dict[str, list[Difference]]:
    """Return the differences that make a run's rates meaningless, by agent, for the agents that have any."""
    found: dict[str, list[Difference]] = {}
    for each in differences([source]):
        if each.matters:
            found.setdefault(each.agent, []).append(each)
    return found


def summaries_of(
    run: RunDir, records: Sequence[TrialRecord], *, named_with: Iterable[TrialKey] = ()
) -> dict[str, Summary]:
    """Return `summarise` of the ``records`` of ``run``, marked with what makes a rate meaningless (`mixed`)."""
    named = [*named_with]
    traits = traits_of(source_of(run.path, run.facts(), records), named_with=[*(each.key for each in records), *named])
    return {
        name: replace(summary, mixed=differing_values(traits.get(name, ())))
        for name, summary in summarise(records, named_with=named, stopped=stopped_trials(run.path, records)).items()
    }


def differences(sources: Sequence[Source]) -> list[Difference]:
    """Return all differences between the trials of each agent in each browser, those that matter first."""
    all_keys = [record.key for source in sources for record in source.records]
    values: dict[tuple[str, str, bool], dict[str, dict[str, None]]] = {}
    for source in sources:
        for agent, traits in traits_of(source, named_with=all_keys).items():
            for what, value, matters in traits:
                values.setdefault((agent, what, matters), {}).setdefault(value, {})[source.name] = None
    found = [
        Difference(agent=agent, what=what, values={value: tuple(runs) for value, runs in by.items()}, matters=matters)
        for (agent, what, matters), by in values.items()
        if not alike(what, by)
    ]
    return sorted(found, key=lambda each: not each.matters)


def differing_values(traits: Iterable[tuple[str, str, bool]]) -> tuple[str, ...]:
    """Return the differences that make a rate over trials with these ``traits`` meaningless, as `Difference.short`."""
    values: dict[str, dict[str, tuple[str, ...]]] = {}
    for what, value, matters in traits:
        if matters:
            values.setdefault(what, {})[value] = ()
    found = (Difference(agent="", what=what, values=by, matters=True) for what, by in values.items())
    return tuple(each.short for each in found if not alike(each.what, each.values))


def traits_of(source: Source, *, named_with: Iterable[TrialKey] = ()) -> dict[str, list[tuple[str, str, bool]]]:
    """Return the properties of each agent's trials in each browser: name, value, and whether a rate depends on it.

    Agents are named by `records.names_of`. ``named_with`` are trials of other runs that are named together with these.
    """
    found: dict[str, list[tuple[str, str, bool]]] = {}
    # Errors are excluded from the rate, and mostly have no values to compare.
    judged = [record for record in source.records if record.outcome != "error"]
    for agent, records in grouped(judged, named_with=named_with).items():
        parts = [part for part in source.parts if _played(part, records[0].key.entrant)] or source.parts
        traits = (
            (what, value, matters) for what, value, matters in (*_of_records(records), *_of_parts(parts, records))
        )
        distinct = {(what, _words(value), matters): None for what, value, matters in traits if value not in (None, "")}
        found[agent] = list(distinct)
    return found


def _played(part: Mapping[str, Any], entrant: Entrant) -> bool:
    return entrant.agent in map(agent_id, part.get("agents") or ()) and entrant.browser in browsers_of(part)


def browsers_of(part: Mapping[str, Any]) -> list[str]:
    """Return the browsers of an invocation of pytest, from its facts."""
    raw = ((part.get("asked") or {}).get("options") or {}).get("--browser")  # older versions wrote only this option
    return list(part.get("browsers") or raw or (DEFAULT_BROWSER,))


_JUDGED = {"formula": "judge of formulas", "rubric": "judge of rubrics", "rule": "judge of rules"}
"""Kinds of judge, by the name of the prompt."""
_UNJUDGED = {"symbolic": "judge of formulas", "rubric": "judge of rubrics"}
"""Kinds of judge that undecided checks lack, by the kind of check; others lack the judge of answers."""
NO_JUDGE = "none"
"""Value of a judge's trait where undecided checks had none."""


def _of_records(records: Iterable[TrialRecord]) -> Iterator[tuple[str, object, bool]]:
    """Name and value of each property, and whether it matters; unknown values are empty."""
    records = [*records]
    edited = {change.app for change in program_changes(records)}
    for record in records:
        for app in edited & record.replicas.keys():
            files = ", ".join(changed_program(record, app))
            yield f"program of the site {app}", f"{files} changed during the run" if files else "as at the start", True
        yield "model", record.model, True
        yield "digest of the agent", record.agent_digest, True
        yield f"digest of the task {record.key.task}", record.task_digest, True
        yield "version of the browser", record.browser, False
        for name in _PAGE:
            if name in record.environment:
                setting = record.environment[name]
                yield f"page: {name}", setting if setting is not None else "none", True
        if record.judge is not None:
            judge = record.judge
            for prompt in judge.prompt.split(" + "):  # each kind of question has its own prompt
                what = _JUDGED.get(prompt.partition("@")[0], "judge")
                yield what, f"{judge.model} (prompt {prompt}, temperature {judge.temperature})", True
        elif record.undecided:  # a judge could have decided it, as it did for other trials
            for kind in _undecided_kinds(record):
                yield _UNJUDGED.get(kind, "judge"), NO_JUDGE, True
        if graded := (record.verdict or {}).get("grading"):
            yield "--grading", graded, True
        for app, digest in record.replicas.items():
            yield f"what served {app}", digest, False
        for change in record.accepted:
            yield "files changed after the run", change.get("because", ""), True


def _undecided_kinds(record: TrialRecord) -> set[str]:
    """The kinds of the checks that the rules could not decide."""
    found: set[str] = set()
    results = [*((record.verdict or {}).get("results") or ())]
    while results:
        result = results.pop()
        if children := result.get("children"):
            results += children
        elif result.get("score") is None:
            found.add(str(result.get("kind")))
    return found or {""}


def _of_parts(parts: Iterable[Mapping[str, Any]], records: Iterable[TrialRecord]) -> Iterator[tuple[str, object, bool]]:
    used = sorted({app for record in records for app in record.replicas})
    graded_here = any((record.verdict or {}).get("grading") for record in records)  # they know better than their run
    for part in parts:
        limits = part.get("limits") or {}
        yield "--stop-rule", limits.get("stop_rule"), True
        yield "--max-steps", limits.get("steps"), True
        yield "--time-limit", limits.get("seconds"), True
        yield "--answer-format", part.get("answer_format"), True
        yield _REACH, _reach(part, records), True
        yield "--preset", part.get("preset"), False
        if (graded := part.get("grading")) and not graded_here:
            without = f" without {', '.join(graded['without'])}" if graded.get("without") else ""
            yield "--grading", f"{graded['name']}{without}", True
        for change in part.get("accepted") or ():
            yield "run.json changed after the run", change.get("because", ""), True
        known = part.get("apps")
        if known is None:
            yield "--sites", part.get("catalogue"), True
        for app in used:
            yield f"manifest of the site {app}", (known or {}).get(app), True
        for name in _MINOR_FACTS:
            yield name, part.get(name), False


def _reach(part: Mapping[str, Any], records: Iterable[TrialRecord]) -> str:
    """The reachable sites in the option's words; where each task decides, that and the result. Empty where unknown."""
    if part.get("reach") is not None or "reach" not in part:
        return reach_words(part.get("reach"))
    set_by_run = {"reach" in record.environment for record in records if record.environment.get("viewport")}
    return (
        ""
        if not set_by_run
        else f"{_EACH}: {' or '.join('environment' if each else 'task' for each in sorted(set_by_run))}"
    )


def alike(what: str, values: Iterable[str]) -> bool:
    """Return whether these values of one property are equivalent.

    Where tasks themselves decide which sites are reachable, their digests show whether they are the same tasks.
    """
    found = [*values]
    if what == _REACH and not all(value.startswith(_EACH) for value in found):
        found = [value.removeprefix(f"{_EACH}: ") for value in found]
    elif what == _REACH:
        return True
    return len({*found}) < 2


def reach_words(names: Any) -> str:
    """Return reachable sites in the form of the option; empty where each task decides."""
    if names is None:
        return ""
    return "task" if not names else "environment" if "*" in names else ",".join(sorted(names))


def _words(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True, default=str)


def notes(path: Path) -> list[Mapping[str, Any]]:
    """Return the entries of a list file next to ``run.json``; none where it can't be read.

    Raises `RunChanged` if an entry was changed after it was written, or one before it was removed.
    """
    found, before = _entries(path), ""
    is_sealed = _run_has_digest(path.parent)
    if is_sealed and path.exists() and not found:
        raise RunChanged(f"{path}: expected its entries as they were written, found none; bring the file back")
    for each in found:
        if (is_sealed or before or SEAL in each) and each.get(SEAL) != _entry_digest(before, each):
            raise RunChanged(
                f"{path}: expected its entries as they were written, found one changed; bring the file back"
            )
        before = str(each.get(SEAL, ""))
    return [{name: value for name, value in each.items() if name != SEAL} for each in found]


def _run_has_digest(run: Path) -> bool:
    """Whether the version that wrote a run wrote digests."""
    try:
        version = json.loads((run / "run.json").read_bytes())["schema_version"]
    except (OSError, ValueError, KeyError, TypeError):
        return False
    return isinstance(version, int) and version > 1


def add_note(path: Path, entry: Mapping[str, Any]) -> None:
    """Append an entry to a list file next to ``run.json``, with a digest of it and the entries before it."""
    notes(path)
    found = _entries(path)
    plain = json.loads(json.dumps(scrub_plain(dict(entry)), default=str))
    before = str(found[-1].get(SEAL, "")) if found else ""
    write_atomically(path, json.dumps([*found, {**plain, SEAL: _entry_digest(before, plain)}], indent=1))


def _entries(path: Path) -> list[dict[str, Any]]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def _entry_digest(before: str, entry: Mapping[str, Any]) -> str:
    body = {name: value for name, value in entry.items() if name != SEAL}
    return hashlib.sha256(f"{before} {json.dumps(body, sort_keys=True)}".encode()).hexdigest()
