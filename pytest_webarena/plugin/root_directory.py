"""The root directory as pytest would have found it, had it known all options when it looked.

pytest looks before plugins have declared theirs. So in ``--run-dir ../x`` it takes ``../x`` for tests to run and, if
that exists by then, for a hint at the root directory: another one in xdist's workers than in the process that made the
folder. Agents, settings and node ids all depend on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from _pytest.config.findpaths import determine_setup

__all__ = ["mend"]


def mend(config: pytest.Config, arguments: Sequence[str]) -> None:
    """Put the root directory right, where values of options have misled pytest. ``arguments`` are all of this run's.

    `pytest.UsageError` when settings of another project have been read already.
    """
    known = config.known_args_namespace
    tests = set(known.file_or_dir)
    values = [text for text in arguments if text[:1] != "-" and text not in tests and _exists(text)]
    if not values:
        return
    root, ini, *_ = determine_setup(
        inifile=known.inifilename,
        override_ini=known.override_ini,
        args=known.file_or_dir,
        rootdir_cmd_arg=known.rootdir or None,
        invocation_dir=config.invocation_params.dir,
    )
    if ini != config.inipath:
        raise pytest.UsageError(
            f"expected the settings of {ini or f'none, for {root} has no file of them'}, found that pytest has read "
            f"those of {config.inipath or 'none'}, for it takes {' and '.join(values)} for tests to run; "
            "write options with such values as --option=VALUE"
        )
    if known.confcutdir == str(config.rootpath):  # pytest's own choice where there is no ini file
        known.confcutdir = str(root)
    config._rootpath = root


def _exists(text: str) -> bool:
    try:
        return Path(text.partition("::")[0]).exists()
    except (OSError, ValueError):
        return False
