"""Settings of the plugin, parsed once from the command line and the ini file."""

from __future__ import annotations

import os
import shlex
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, get_args

import pytest

from pytest_webarena.agents.overrides import Overrides
from pytest_webarena.checks.grading import Grading, find_grading
from pytest_webarena.errors import UsageError
from pytest_webarena.llm.config import ModelSettings
from pytest_webarena.llm_judge.config import JudgeSettings
from pytest_webarena.plugin import xdist
from pytest_webarena.plugin.agent_options import check_ids, directories_of_agents, read_overrides
from pytest_webarena.plugin.gate_options import read_gate, read_until
from pytest_webarena.plugin.judge_options import read_judge
from pytest_webarena.plugin.option_values import LOCAL
from pytest_webarena.plugin.presets import apply_preset
from pytest_webarena.plugin.ray_dispatch import ClusterSettings, read_cluster
from pytest_webarena.plugin.replay_run import ReplayRunSettings, read_on_record
from pytest_webarena.plugin.rescoring import StoredRun, read_stored_run
from pytest_webarena.plugin.run_start import worker_count
from pytest_webarena.plugin.shards import Shard, read_shard
from pytest_webarena.plugin.suite_options import SuiteSettings, catalogue_of, read_suites
from pytest_webarena.results.gate import Gate
from pytest_webarena.results.records import DEFAULT_BROWSER
from pytest_webarena.secrets import mark_environment
from pytest_webarena.sites.catalogues.running import Pulls
from pytest_webarena.sites.catalogues.site_addresses import parse_site_urls
from pytest_webarena.text import shorten
from pytest_webarena.trials.episode import EpisodeLimits
from pytest_webarena.trials.options import Filming, TrialOptions

__all__ = ["DEFAULT_AGENT", "Settings", "check_run_dir", "read_settings"]

DEFAULT_AGENT = "oracle"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """The user's settings, parsed."""

    agents: tuple[str, ...]
    agents_given: bool
    """Whether agents were given; False when `DEFAULT_AGENT` is used."""
    trials: int
    browsers: tuple[str, ...]
    """Browsers in which trials run, as pytest-playwright parametrizes items."""
    preset: str
    """Name of the preset in `presets.PRESETS`; empty for none."""
    catalogue: str
    suites: SuiteSettings
    site_urls: Mapping[str, str]
    """Addresses of sites that run elsewhere."""
    allow_unreset: bool
    record_archive: Path | None
    """New archive of the sites' responses."""
    pulls: Pulls
    """Missing images to pull."""
    run_dir: Path | None
    max_steps: int
    time_limit: float
    stop_rule: Literal["paper", "upstream"]
    options: TrialOptions
    """Options of every trial."""
    judge: JudgeSettings
    """The judge model; without a given cache, the run chooses its place."""
    equal_errors: int
    """Number of consecutive errors that stop an agent or a site; 0: none do."""
    concurrency: int
    """Number of trials in flight at a time; 1: one after the other, in pytest's own loop."""
    ray: ClusterSettings | None
    """The cluster whose nodes run trials; None: this machine does."""
    replicas: int | None
    lease_timeout: float
    browser_executable: str | None
    record: Literal["all", "failures", "minimal"]
    resume: Path | None
    rescore: Path | None
    """The finished run to judge again, which is also `run_dir`."""
    on_record: ReplayRunSettings | None
    """The finished run whose trials are replayed."""
    shard: Shard | None
    gate: Gate
    until: float | None
    """The difference of rates that two agents' trials should decide; None: all trials are run."""
    audit: bool
    """Whether tasks are audited; `agents` are then the audit's own."""
    agent_directories: tuple[Path, ...]
    overrides: Overrides
    """Changes of agents' definitions by options."""

    @property
    def stored_run(self) -> Path | None:
        """The finished run that provides all data, if one is named."""
        return self.on_record.run if self.on_record is not None else self.rescore

    @property
    def offline(self) -> bool:
        """Whether neither sites nor a browser are needed."""
        return self.stored_run is not None

    @property
    def runner(self) -> str:
        """Name of the fixture that runs trials."""
        if self.rescore is not None:
            return "webarena_rescorer"
        return "webarena_on_record" if self.on_record is not None else "webarena_runtime"

    @property
    def asks_for_agents(self) -> bool:
        """Whether options about agents or a judge were given, so that errors in them are reported at the start."""
        return bool(self.agents_given or self.audit or self.overrides.names or self.judge.model)


def read_settings(config: pytest.Config) -> Settings:
    """Parse options and ini values. Raises `UsageError` that names an invalid one."""
    option = config.getoption
    preset = apply_preset(config)
    agents = tuple(option("--agent"))
    if len(set(agents)) != len(agents):
        raise UsageError(
            f"--agent: expected each agent once, found {', '.join(agents)}; use --trials for several tries"
        )
    if len(agents) > 1:
        check_ids(agents)
    executable = option("--browser-executable") or config.getini("webarena_browser_executable") or None
    if executable is not None and not os.access(executable, os.X_OK):
        raise UsageError(f"--browser-executable: expected an executable file, found none at {executable}")
    if audit := bool(option("--audit")):
        for name in ("--agent", "--min-pass-rate", "--max-errors", "--allow-skipped", "--baseline"):
            if option(name) not in (None, []):
                raise UsageError(f"--audit: expected no {name}; it brings its own agents and its own exit code")
        from pytest_webarena.agents.audit_trials import AUDIT_AGENTS

        agents = AUDIT_AGENTS
    mark_environment((*option("--secret-env"), *config.getini("webarena_secrets")))
    stored = read_stored_run(config)
    if stored is not None:
        agents = agents or stored.agents
    run_dir, resume = option("--run-dir") or option("--rescore"), option("--resume")
    if run_dir and resume:
        raise UsageError("--resume: expected no --run-dir; the resumed run's directory is used")
    suites = read_suites(config)
    return Settings(
        agents=agents or (DEFAULT_AGENT,),
        agents_given=bool(agents),
        trials=option("--trials") or (stored.trials if stored else 1),
        browsers=_browsers(config, stored),
        catalogue=(
            option("--sites")
            or (stored.catalogue if stored else "")
            or _own_catalogue(config)
            or catalogue_of(config, suites)
            or "embedded"
        ),
        preset=option("--preset") or "",
        suites=suites,
        site_urls=_site_urls(config),
        allow_unreset=option("--allow-unreset"),
        record_archive=_new_archive(option("--record-archive")),
        pulls=_pulls(config),
        run_dir=Path(run_dir or resume).absolute() if run_dir or resume else None,
        max_steps=option("--max-steps") or EpisodeLimits().steps,
        time_limit=option("--time-limit") or EpisodeLimits().seconds,
        stop_rule=option("--stop-rule") or "paper",
        options=TrialOptions(
            models=ModelSettings(
                max_cost=option("--max-cost"),
                requests_per_minute=option("--requests-per-minute"),
                cache=_path(option("--model-cache")),
                prices=_path(option("--prices")) or _own_prices(config),
            ),
            grading=_grading(config, stored),
            answers=option("--answer-format") or "auto",
            check_timeout=option("--check-timeout"),
            reach=_reach(option("--reachable-sites")),
            fetch_images=option("--fetch-images"),
            write_timeout=option("--write-timeout"),
            quiet_time=option("--quiet-time"),
            env_retries=option("--env-retries"),
            tracing=_filming(config, "tracing"),
            video=_filming(config, "video"),
        ),
        judge=read_judge(config, stored),
        equal_errors=option("--max-consecutive-errors"),
        concurrency=_concurrency(config, agents),
        ray=read_cluster(config),
        replicas=option("--replicas"),
        lease_timeout=option("--lease-timeout"),
        browser_executable=executable,
        record=option("--record"),
        resume=Path(resume).absolute() if resume else None,
        rescore=stored.path if stored else None,
        on_record=read_on_record(config, agents),
        shard=read_shard(option("--shard") or "", option("--shard-durations")),
        gate=read_gate(config),
        until=read_until(config, agents),
        audit=audit,
        agent_directories=directories_of_agents(config),
        overrides=read_overrides(config, preset),
    )


def _concurrency(config: pytest.Config, agents: Sequence[str]) -> int:
    """The value of ``--concurrency``. Raises `UsageError` for options that exclude it."""
    from pytest_webarena.plugin.prefetch_choice import check_width

    if (chosen := xdist.read_width(config)) is not None:
        return chosen
    given: int | None = config.getoption("--concurrency")
    if config.getoption("--ray") not in (None, LOCAL):
        return max(given or 2, 2)  # items are reported as with several trials in flight on one machine
    if given in (None, 1) or config.getoption("--rescore"):
        return 1
    check_width(config)
    if given:
        return given
    from pytest_webarena.agents import resolve_agent
    from pytest_webarena.trials.concurrency import automatic_width

    driven = False
    for name in agents:
        with suppress(UsageError):  # reported where agents are checked
            driven = driven or resolve_agent(name, directories_of_agents(config)).self_driving
    return automatic_width(driven=driven, workers=worker_count(config))


def _browsers(config: pytest.Config, stored: StoredRun | None) -> tuple[str, ...]:
    """The given browsers, or those of a run that is judged again, which are then set for pytest-playwright.

    Raises `UsageError` for options that allow one browser only.
    """
    given = tuple(config.getoption("--browser", default=None) or ())
    if not given and stored is not None:
        given = stored.browsers
        config.option.browser = list(given)
    if len(set(given)) != len(given):
        raise UsageError(f"--browser: expected each browser once, found {', '.join(given)}; see --trials")
    if len(given) > 1:
        for name in ("--browser-executable", "--browser-channel", "--audit"):
            if config.getoption(name, default=None):
                raise UsageError(f"--browser: expected one with {name}, found {', '.join(given)}; run them separately")
        if config.getini("webarena_browser_executable"):
            raise UsageError(
                f"--browser: expected one with webarena_browser_executable in the ini file, found {', '.join(given)}"
            )
    return given or (DEFAULT_BROWSER,)


def _reach(given: str | None) -> tuple[str, ...] | None:
    """The sites that agents can visit in addition to those of their task; the catalogue checks their names."""
    if given is None:
        return None
    names = tuple(dict.fromkeys(name for part in given.split(",") if (name := part.strip())))
    if not names or (len(names) > 1 and {"task", "environment"} & {*names}):
        raise UsageError(
            f"--reachable-sites: expected task, environment or names of sites with commas, found {given!r}"
        )
    return () if names == ("task",) else ("*",) if names == ("environment",) else names


def _site_urls(config: pytest.Config) -> dict[str, str]:
    """The addresses of sites, from the option or else from the ini file."""
    if given := config.getoption("--site-url"):
        return parse_site_urls(given)
    return parse_site_urls(config.getini("webarena_site_urls"), source="webarena_site_urls")


def _pulls(config: pytest.Config) -> Pulls:
    """The missing images that the run pulls."""
    given: str = config.getoption("--pull") or config.getini("webarena_pull") or "small"
    known: dict[str, Pulls] = {choice: choice for choice in get_args(Pulls)}
    if given not in known:
        raise UsageError(f"webarena_pull: expected one of {', '.join(known)}, found {given!r}")
    return known[given]


def _filming(config: pytest.Config, what: str) -> Filming:
    """The value of pytest-playwright's own option, or of this plugin's ini key, which also allows ``on-retry``."""
    mode = str(config.getoption(f"--{what}", default="off"))
    given = str(config.getini(f"webarena_{what}") or mode) if mode == "off" else mode
    known: dict[str, Filming] = {choice: choice for choice in get_args(Filming)}
    if given not in known:
        raise UsageError(f"webarena_{what}: expected {', '.join(known)}, found {given!r}")
    return known[given]


def _grading(config: pytest.Config, stored: StoredRun | None) -> Grading:
    """The given grading, or that of a run that is judged again."""
    name, without = config.getoption("--grading"), config.getoption("--without-repair")
    if stored is not None and name is None and not without and stored.grading:
        return find_grading(stored.grading, stored.without)
    return find_grading(name or "repaired", without)


def check_run_dir(settings: Settings) -> int | None:
    """Raise `UsageError` when ``--run-dir`` can't be written, or contains another run, with which rates would mix.

    Returns the lock to hold while the run goes on: see `results.rundir.claim`.
    """
    folder = settings.run_dir
    if folder is None:
        return None
    if settings.resume is not None or settings.rescore is not None:
        return _claim("--resume" if settings.resume is not None else "--rescore", folder)
    if os.path.exists(folder / "run.json"):  # False where the name itself is invalid
        raise UsageError(
            f"--run-dir: expected a new directory, found an earlier run in {folder}; "
            f"--resume={shlex.quote(str(folder))} continues it"
        )
    try:
        folder.mkdir(parents=True, exist_ok=True)
        writable = os.access(folder, os.W_OK)
    except OSError:
        writable = False
    if not writable:
        raise UsageError(
            f"--run-dir: expected a directory that can be written, found none at {shorten(str(folder), 200)}"
        )
    return _claim("--run-dir", folder)


def _claim(option: str, folder: Path) -> int | None:
    from pytest_webarena.results.run_identity import claim

    try:
        return claim(folder)
    except BlockingIOError:
        raise UsageError(
            f"{option}: expected a directory that no run is using, found another run under way in {folder}; wait for "
            "it, or name another directory"
        ) from None


def _own_prices(config: pytest.Config) -> Path | None:
    name = config.getini("webarena_prices")
    return config.rootpath / name if name else None


def _own_catalogue(config: pytest.Config) -> str:
    """The ini file's catalogue; a file is relative to the root directory, wherever pytest is started."""
    name: str = config.getini("webarena_sites")
    return str(config.rootpath / name) if name.endswith((".yaml", ".yml")) else name


def _path(text: str | None) -> Path | None:
    return Path(text).absolute() if text else None


def _new_archive(given: str | None) -> Path | None:
    if given is None:
        return None
    path = Path(given).expanduser().absolute()
    if not path.name.endswith((".warc", ".warc.gz")):
        raise UsageError(f"--record-archive: expected a file that ends with .warc.gz or .warc, found {given!r}")
    if path.exists():
        raise UsageError(f"--record-archive: expected a new file, found one at {path} already")
    return path
