"""``pytest --resume``: continues a run with its original settings.

Options that the command line leaves out are the run's own. One that differs is an error that names both values, unless
it only reduces the trials, or ``--allow-mixed`` is given.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_args

import pytest

from pytest_webarena.agents.overrides import parse_option
from pytest_webarena.checks import CHECK_SECONDS
from pytest_webarena.checks.judge_protocol import QuestionKind
from pytest_webarena.errors import UsageError
from pytest_webarena.plugin.option_values import LOCAL
from pytest_webarena.plugin.rescoring import files_of
from pytest_webarena.results import RunDir
from pytest_webarena.results.completeness import SHARD_DIGEST
from pytest_webarena.results.conditions import (
    RESUMED,
    add_note,
    browsers_of,
    check_on_sites,
    latest_judging,
    reach_words,
)
from pytest_webarena.results.lost_trials import lost_record
from pytest_webarena.results.plan import read_plan
from pytest_webarena.results.records import TrialKey, browser_text
from pytest_webarena.results.run_identity import IMPORTED
from pytest_webarena.suites.published import SUITES

if TYPE_CHECKING:
    from pytest_webarena.plugin.settings import Settings
    from pytest_webarena.plugin.shards import Shard
    from pytest_webarena.results.records import TrialRecord

__all__ = ["check", "close_lost", "finished_trials", "note", "pace_options", "requested_options", "restore_options"]

_CHOOSE = (
    "--suite", "--select", "--one-per-template", "--shard", "--shard-durations", "-k", "-m", "--deselect", "--ignore",
    "--ignore-glob",
)  # fmt: skip
"""Options that select tests; one that the run did not have reduces its trials."""
_RAW = ("--fetch-images", "--browser-channel", "--device", "--check-timeout")
"""Options that are recorded as they were given, because no other fact contains them."""
_PACE = ("--concurrency", "--replicas", "--lease-timeout", "--record", "--quiet-time", "--write-timeout")
"""Options that are recorded likewise, but may differ between the parts of a run."""
_FREE = (
    "--site-url", "--env-retries", "--max-cost", "--requests-per-minute", "--model-cache", "--prices", "--judge-url",
    "--judge-key-env", "--check-timeout", "--ray", "--ray-insecure", "--shard-durations", *_PACE,
)  # fmt: skip
"""Options that do not affect a rate: the run's own values apply unless others are given."""
_LAST = "--lf"
"""Option that selects tests by failures before the run; only its plan still shows which."""
_DEFAULTS = {
    "--env-retries": 1,
    "--check-timeout": CHECK_SECONDS,
    "--record": "all",
    "--quiet-time": 1.0,
    "--write-timeout": 10.0,
    "--lease-timeout": 600.0,
    "--dist": "no",
}
"""Defaults of options that have one; for the others, given values differ from the default."""
_SPREAD = "--dist"
"""Option of pytest-xdist by which trials are given to workers."""
_NAMES = {"-k": "keyword", "-m": "markexpr"}
_INSTEAD = "leave it out, begin another run, or have both in this one with --allow-mixed; reports name the difference"


def requested_options(config: pytest.Config, shard: Shard | None) -> dict[str, Any]:
    """Return the options and tests of this invocation that no other fact in ``run.json`` contains."""
    given = {name: value for name in (*_CHOOSE, *_RAW) if _is_given(value := _option(config, name))}
    explicit = config.args_source is pytest.Config.ArgsSource.ARGS
    if config.getoption("lf", default=False):
        given[_LAST] = True
    named = [] if given.get("--suite") and not explicit else config.args
    requested = {"options": given, "tests": [_from_root(config, argument) for argument in named]}
    return requested | ({SHARD_DIGEST: shard.digest} if shard is not None and shard.digest else {})


def pace_options(config: pytest.Config) -> dict[str, Any]:
    """Return the options of this invocation that set how many trials run at a time, and what is kept of them."""
    given = {name: value for name in (*_PACE, _SPREAD) if _is_given(value := _option(config, name))}
    return {name: value for name, value in given.items() if value != _DEFAULTS.get(name)}


def restore_options(config: pytest.Config) -> None:
    """Set the options of the run that ``--resume`` names, where the command line has none; does nothing without it.

    Raises `UsageError` when there is no such run, and for options that contradict it.
    """
    if not (name := config.getoption("--resume")):
        return
    run = RunDir(Path(name).absolute())
    if run.path.is_dir() and not any((run.path / each).exists() for each in ("run.json", "trials")):
        raise UsageError(
            f"--resume: expected a run in {run.path}, found neither run.json nor trials; "
            f"--run-dir={shlex.quote(str(run.path))} starts a run there"
        )
    facts = run.facts()
    if facts.get(IMPORTED):
        raise UsageError(
            f"--resume: expected a run that started here, found one with imported trials in {run.path}: its options "
            "are unknown. --rescore judges it, webarena view shows it; a new run needs another --run-dir"
        )
    check_on_sites(run.path, facts)
    options = _options(facts, run.path)
    cluster, own = config.getoption("--ray"), options.get("--ray")
    if cluster not in (None, own) or (own is not None and config.getoption("tx", None)):
        # Trials now run here or on another cluster, and nobody has declared that one to need no token.
        options = {name: value for name, value in options.items() if name not in ("--ray", "--ray-insecure")}
        if (cluster in (None, LOCAL)) == (own is not None):
            options.pop("--concurrency", None)  # it was for nodes and is for processes now, or the other way round
    for option, value in options.items():
        given = _option(config, option)
        if not _is_given(given) or given == _DEFAULTS.get(option):
            if value is not None:
                setattr(config.option, _destination(option), value)
        elif option in _FREE or _same(config, option, given, value) or (option in _CHOOSE and value is None):
            pass
        elif not config.getoption("--allow-mixed"):
            raise UsageError(
                f"--resume: expected the run's own {option}, {_shown(value)}, found {_shown(given)}; {_INSTEAD}"
            )
    if config.getoption("--ray") is None:
        _restore_workers(config, facts)
    _take_tests(config, run, facts)


def _restore_workers(config: pytest.Config, facts: Mapping[str, Any]) -> None:
    """Have pytest-xdist start as many workers as the run had, unless the command line says how many (``-n0``: none)."""
    option, workers = config.option, facts.get("workers")
    if not isinstance(workers, int) or workers < 2 or hasattr(config, "workerinput"):
        return
    if getattr(option, "numprocesses", 0) is None and not option.tx and not config.getoption("usepdb"):
        option.numprocesses, option.tx = workers, ["popen"] * workers
    if getattr(option, "tx", None) and option.dist in ("no", "load"):
        option.dist = (facts.get("pace") or {}).get(_SPREAD, "load")


def _options(facts: Mapping[str, Any], run: Path) -> dict[str, Any]:
    """The options with which a run was started; None where it had no value."""
    latest = {**facts, **latest_judging(run)}
    limits, overrides, models = (facts.get(name) or {} for name in ("limits", "overrides", "models"))
    graded, judge, own = latest.get("grading") or {}, latest.get("judge"), overrides.get("limits") or {}
    place = (judge or {}).get("at") or {}
    found: dict[str, Any] = {
        "--audit": facts.get("audit") or None,
        "--agent": None if facts.get("audit") else facts.get("agents"),
        "--trials": facts.get("trials"),
        "--browser": browsers_of(facts),
        "--sites": facts.get("catalogue"),
        "--allow-unreset": facts.get("allow_unreset") or None,
        "--site-url": [f"{site}={url}" for site, url in (facts.get("site_urls") or {}).items()] or None,
        "--preset": facts.get("preset") or None,
        "--reachable-sites": reach_words(facts.get("reach")) or None,
        "--stop-rule": limits.get("stop_rule"),
        "--grading": graded.get("name"),
        "--without-repair": graded.get("without") or None,
        "--answer-format": facts.get("answer_format"),
        "--model": overrides.get("model"),
        "--observation": ",".join(overrides.get("observation") or ()) or None,
        "--agent-option": [f"{key}={json.dumps(value)}" for key, value in overrides.get("options") or ()] or None,
        "--max-steps": own.get("steps"),
        "--time-limit": own.get("seconds"),
        "--max-input-tokens": own.get("input_tokens"),
        "--max-output-tokens": own.get("output_tokens"),
        "--max-trial-cost": own.get("cost"),
        "--env-retries": facts.get("env_retries"),
        "--max-cost": models.get("max_cost"),
        "--requests-per-minute": models.get("requests_per_minute"),
        "--model-cache": models.get("cache"),
        "--prices": models.get("prices"),
        **_cluster(facts),
    }
    if "judge" in latest:
        found["--judge"] = judge["model"] if judge else "none"
    if judge:
        found |= {
            "--judge-prompt": judge.get("prompt_file"),
            "--judge-temperature": "none" if judge["temperature"] is None else str(judge["temperature"]),
            "--judge-url": place.get("base_url") or None,
            "--judge-key-env": place.get("key_env") or "none",
        }
    options = (facts.get("asked") or {}).get("options") or {}
    if facts.get("audit"):  # the rest of an audit is resumed, even if it was started with a selection
        options = {name: value for name, value in options.items() if name not in _CHOOSE or name == "--suite"}
    pace = {name: value for name, value in (facts.get("pace") or {}).items() if name in _PACE}
    return {**found, **pace, **{name: options.get(name) for name in (*_CHOOSE, *_RAW)}}


def _cluster(facts: Mapping[str, Any]) -> dict[str, Any]:
    """The run's cluster, if it had one, which is used unless the command line has another."""
    if not (ray := facts.get("ray")) or not ray.get("address"):
        return {}
    return {"--ray": ray["address"], "--ray-insecure": ray.get("insecure") or None, "--concurrency": ray.get("wide")}


def _take_tests(config: pytest.Config, run: RunDir, facts: Mapping[str, Any]) -> None:
    """Collect the run's tests, or the part of them that the command line names."""
    own = facts.get("asked")
    suites = [part.strip() for text in config.getoption("--suite") for part in text.split(",")]
    if own is not None:
        tests = [_to_here(config, argument) for argument in own["tests"]]
    else:  # of an older version, or merged from runs with different arguments
        tests = files_of(run, config.rootpath, config.invocation_params.dir, planned=True)
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        if own is not None and own["options"].get(_LAST) and not config.getoption("--allow-mixed"):
            tests = [_to_here(config, trial.node_id) for trial in read_plan(run.path).values()]
            if not tests:
                raise UsageError(
                    "--resume: expected test names, because the run used --lf and has no plan.json that lists "
                    "its tests; name the tests to run"
                )
        if tests:
            _check_there(tests, str(facts.get("root", "")))
            config.args = tests
            config.args_source = pytest.Config.ArgsSource.ARGS
        return
    for argument in config.args:
        if own is None or config.getoption("--allow-mixed") or argument.partition("::")[0] in suites:
            continue
        if not any(_holds(config, test, argument) for test in tests):
            raise UsageError(
                f"--resume: expected tests of the run's own, {', '.join((*own['tests'], *suites)) or 'none'}, "
                f"found {argument}; {_INSTEAD}"
            )


def _check_there(tests: Iterable[str], root: str) -> None:
    """Raise `UsageError` if a test of the run is not below this root directory: xdist's workers would run nothing."""
    paths = (test.partition("::")[0] for test in tests)
    missing = [path for path in paths if path not in SUITES and not Path(path).exists()]
    if missing:
        root_hint = f"the run's root directory was {root}; resume it there, or " if root else ""
        raise UsageError(
            f"--resume: expected the run's tests, found nothing at {missing[0]}; {root_hint}name the tests"
        )


def _holds(config: pytest.Config, whole: str, part: str) -> bool:
    """Whether argument ``whole`` is equal to or contains argument ``part``."""
    (path, _, item), (other, _, its_item) = whole.partition("::"), part.partition("::")
    if path in SUITES or other in SUITES:
        return path == other and item in ("", its_item)
    directory = config.invocation_params.dir
    place, its_place = (directory / path).resolve(), (directory / other).resolve()
    return (place == its_place and item in ("", its_item)) or (not item and its_place.is_relative_to(place))


def check(config: pytest.Config, settings: Settings) -> None:
    """Raise `UsageError` when agents or sites have changed since the run, or its records can't be read."""
    assert settings.resume is not None  # the caller checks it
    run = RunDir(settings.resume)
    stored, facts = run.read(), run.facts()
    if stored.unreadable:
        lines = "".join(f"\n  {each}" for each in stored.unreadable)
        raise UsageError(
            "--resume: expected a run whose records can be read and are unchanged; bring them back, use the version of "
            "pytest-webarena that wrote them, or note why they are not as they were: webarena runs verify "
            f"{shlex.quote(str(settings.resume))} --accept TRIAL --because TEXT; removed trials run again then:{lines}"
        )
    if config.getoption("--allow-mixed"):
        return
    durations = (facts.get("asked") or {}).get(SHARD_DIGEST)
    if durations and (settings.shard is None or settings.shard.digest != durations):
        raise UsageError(
            "--resume: expected the durations by which the run's part was chosen, found others in --shard-durations; "
            "name that run as it was then"
        )
    judged = [record for record in stored.records if record.outcome != "error"]
    found = (*_agents(settings, judged), *_apps(config, facts, judged), *_judge(settings, judged))
    for name, before, now, why in found:
        raise UsageError(
            f"--resume: expected {name} as the run has it, digest {before}, found digest {now}: {why}; "
            "put it back, begin another run, or have both in this one with --allow-mixed; reports name the difference"
        )


def _agents(settings: Settings, judged: Sequence[Any]) -> Iterator[tuple[str, str, str, str]]:
    from pytest_webarena.agents import resolve_agent

    for name in settings.agents:
        agent = resolve_agent(name, settings.agent_directories, settings.overrides)
        for digest in sorted({record.agent_digest for record in judged if record.key.agent == agent.id} - {""}):
            if digest != agent.digest:
                yield f"the agent {name}", digest, agent.digest, "its definition, code or prompt was changed"


def _apps(
    config: pytest.Config, facts: Mapping[str, Any], judged: Sequence[Any]
) -> Iterator[tuple[str, str, str, str]]:
    from pytest_webarena.plugin.run_facts import apps_of

    before, now = facts.get("apps") or {}, apps_of(config) or {}
    for app in sorted({app for record in judged for app in record.replicas}):
        if app in before and app in now and before[app] != now[app]:
            yield f"the site {app}", before[app], now[app], "its manifest or its code was changed"


def _judge(settings: Settings, judged: Sequence[TrialRecord]) -> Iterator[tuple[str, str, str, str]]:
    """Yield prompts whose text has changed under the same name. Options show other models and prompt names."""
    if not settings.judge.model:
        return
    kinds: tuple[QuestionKind, ...] = get_args(QuestionKind)
    now = {(whole := settings.judge.identity(kind).prompt).partition("@")[0]: whole for kind in kinds}
    prompts = {prompt for record in judged if record.judge is not None for prompt in record.judge.prompt.split(" + ")}
    for before in sorted(prompts):
        name, _, digest = before.partition("@")
        if name in now and now[name] != before:
            yield f"the judge's prompt {name}", digest, now[name].partition("@")[2], "its words were changed"


def note(config: pytest.Config, run: RunDir, controller_facts: Mapping[str, Any]) -> None:
    """Store next to ``run.json`` the facts of this invocation, which resumes the run."""
    from pytest_webarena.plugin.run_facts import run_facts

    add_note(run.path / RESUMED, run_facts(config, controller_facts))


def _option(config: pytest.Config, name: str) -> Any:
    return config.getoption(_destination(name), default=None)


def _destination(option: str) -> str:
    return _NAMES.get(option) or option.strip("-").replace("-", "_")


def _is_given(value: object) -> bool:
    return not (value is None or value is False or value in ("", []))


def _same(config: pytest.Config, option: str, given: Any, own: Any) -> bool:
    if own is None:
        return False
    if option == "--sites":
        directory = config.invocation_params.dir
        return bool(given == own or (directory / given).resolve() == (directory / own).resolve())
    if option == "--agent-option":
        return list(map(parse_option, given)) == list(map(parse_option, own))
    if isinstance(own, list):
        return sorted(map(str, given)) == sorted(map(str, own))
    return bool(given == own or str(given) == str(own))


def _shown(value: object) -> str:
    if value is None:
        return "none"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _from_root(config: pytest.Config, argument: str) -> str:
    path, colons, item = argument.partition("::")
    place = config.invocation_params.dir / path
    if path in SUITES and not place.exists():
        return argument
    place = place.absolute()
    shown = place.relative_to(config.rootpath) if place.is_relative_to(config.rootpath) else place
    return f"{shown.as_posix()}{colons}{item}"


def _to_here(config: pytest.Config, argument: str) -> str:
    path, colons, item = argument.partition("::")
    return argument if path in SUITES else f"{config.rootpath / path}{colons}{item}"


def close_lost(run: RunDir) -> None:
    """Write the records of trials whose process died while their agent ran, which may have caused it."""
    for started in run.unfinished():
        if "key" in started:
            folder = run.folder(TrialKey.from_json(started["key"], browser=browser_text(started)))
            if (lost := lost_record(folder.path, started["attempt"])) is not None:
                folder.finish(lost)


def finished_trials(run: RunDir) -> tuple[tuple[str, str, int, str, str, str], ...]:
    """Return the trials that need not be run again, in the form of `RunInfo.finished`.

    Errors are run again, and trials for which the budget was too small.
    """
    return tuple(
        (*astuple(record.key), record.task_digest, record.agent_digest)
        for record in run.records()
        if record.outcome != "error" and record.event != "budget"
    )
