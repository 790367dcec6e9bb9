"""``webarena init``: create a project for a first run, whose files users replace with their own.

The command copies the files next to this one; each is small and states its purpose.
"""

from __future__ import annotations

import argparse
import configparser
import tomllib
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from pytest_webarena.commands.own_app_options import add_arguments, is_wanted
from pytest_webarena.errors import writing

__all__ = ["add_command", "start_project"]

_HERE = Path(__file__).parent
_APP = {"sites.yaml": "sites.yaml", "app/app.py": "app/app.py", "tasks/todo.yaml": "tasks/todo.yaml"}
_AGENT = {"agents/mine.yaml": "agents/mine.yaml", "agents/mine.py": "agents/mine.py"}
_CI = {
    "github": {
        ".github/workflows/webarena.yml": "workflows/webarena.yml",
        ".github/actions/webarena-run/action.yml": "../../ci/github/run/action.yml",
        ".github/actions/webarena-gate/action.yml": "../../ci/github/gate/action.yml",
    },
    "gitlab": {".gitlab-ci.yml": "../../ci/gitlab.yml"},
}
"""Files of the project for each host, with their sources seen from this folder, like those above."""
_INI = "pytest.ini"
_ABOUT = {
    "sites.yaml": "how your app starts, and its accounts",
    "app/app.py": "a to-do list in place of your app",
    "tasks/todo.yaml": "two tasks, their checks and solutions",
    "agents/mine.yaml": "definition of an agent",
    "agents/mine.py": "code of the agent",
    ".github/workflows/webarena.yml": "workflow that runs the tasks in CI",
    ".github/actions/webarena-run/action.yml": "its action that runs them",
    ".github/actions/webarena-gate/action.yml": "its action that decides and comments",
    ".gitlab-ci.yml": "jobs that run the tasks in CI",
    _INI: "where pytest finds sites and tasks",
}
"""Descriptions of the files."""
_WIDTH = max(map(len, _ABOUT))


def add_command(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to the parser of ``webarena``."""
    parser = commands.add_parser("init", help="write a project to start from")
    parser.add_argument(
        "directory",
        nargs="?",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="directory of the project (default: here)",
    )
    parser.add_argument("--ci", choices=sorted(_CI), default="github", help="whose CI runs the tasks (default: github)")
    add_arguments(parser)
    parser.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> int:
    if is_wanted(options):
        from pytest_webarena.commands.own_app import set_up  # these modules take long to import

        return set_up(options, partial(_write_rest, ci=options.ci))
    written, kept, settings = start_project(options.directory, ci=options.ci)
    for name in written:
        print(f"  {name:<{_WIDTH}} {_ABOUT[name]}")
    for name in kept:
        print(f"  {name:<{_WIDTH}} exists and is unchanged")
    _print_settings(settings)
    place = f"cd {options.directory} && " if options.directory != Path() else ""
    print(
        f"\nNext: {place}pytest                 the oracle replays the solutions\n"
        f"      {' ' * len(place)}pytest --audit         wrong solutions and answers fail\n"
        f"      {' ' * len(place)}pytest --agent=agents/mine.yaml\n"
        f"      {' ' * len(place)}webarena tasks try tasks/todo.yaml::todo-milk"
    )
    return 0


def _write_rest(directory: Path, *, ci: str) -> None:
    """Write a project's files other than catalogue, app and tasks."""
    written, _, settings = start_project(directory, {}, ci=ci)
    print("\n".join(f"  {name:<{_WIDTH}} {_ABOUT[name]}" for name in written))
    _print_settings(settings)


def _print_settings(settings: Path | None) -> None:
    if settings:
        print(f"\n{settings} contains pytest's settings; add these lines to them:")
        print("\n".join(f"  {line}" for line in _settings(toml=settings.suffix == ".toml")))


def start_project(
    directory: Path, app: Mapping[str, str] = _APP, *, ci: str = "github"
) -> tuple[list[str], list[str], Path | None]:
    """Write the files that do not exist yet: those of ``app``, the agent's, and those for the host ``ci``.

    Returns:
        The names of written files, the names of existing files, and an existing file with pytest's settings. Existing
        files are not changed.

    Raises:
        UsageError: a file can't be written.
    """
    written: list[str] = []
    kept: list[str] = []
    settings = _settings_file(directory)
    files = {**app, **_AGENT, **_CI[ci], **({} if settings else {_INI: _INI})}
    for name, source in files.items():
        target = directory / name
        with writing(target):
            target.parent.mkdir(parents=True, exist_ok=True)
            try:
                with target.open("xb") as file:
                    file.write((_HERE / source).read_bytes())
            except FileExistsError:
                kept.append(name)
            else:
                written.append(name)
    return written, kept, settings


def _settings_file(directory: Path) -> Path | None:
    """Return the user's file in ``directory`` from which pytest reads its settings; None without one."""
    for name in ("pytest.toml", ".pytest.toml", _INI, ".pytest.ini"):
        if (directory / name).is_file():
            return None if name == _INI and _is_generated(directory / name) else directory / name
    pyproject = directory / "pyproject.toml"
    try:
        if "pytest" in tomllib.loads(pyproject.read_text("utf-8")).get("tool", {}):
            return pyproject
    except (OSError, ValueError):
        pass
    for name, section in (("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        parser = configparser.ConfigParser(interpolation=None)
        try:
            parser.read(directory / name, encoding="utf-8")
        except (configparser.Error, OSError, ValueError):
            continue
        if parser.has_section(section):
            return directory / name
    return None


def _is_generated(path: Path) -> bool:
    """Return whether ``webarena init`` has written the settings."""
    return "webarena_sites" in path.read_text("utf-8", errors="replace")


def _settings(*, toml: bool) -> list[str]:
    """Return the lines to add to a file with pytest's settings."""
    if toml:
        return ['webarena_sites = "./sites.yaml"', 'webarena_tasks = ["tasks/**/*.yaml"]', 'testpaths = ["tasks"]']
    return (_HERE / _INI).read_text("utf-8").splitlines()[1:]
