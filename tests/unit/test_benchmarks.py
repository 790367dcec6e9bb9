"""What benchmarks measure by: the processes of a run are found, whatever these do to their own environment."""

from __future__ import annotations

import os
import subprocess
import sys
import uuid
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.mark.skipif(sys.platform != "linux", reason="benchmarks look into /proc")
def test_a_process_without_the_mark_is_found_by_who_started_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """As Chromium's renderers are, which have no environment to be seen."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    monkeypatch.delitem(sys.modules, "processes", raising=False)
    from processes import carrying  # type: ignore[import-not-found]

    mark = uuid.uuid4().hex
    inner = f"{sys.executable} -c 'import os; print(os.getpid(), flush=True); input()'"
    environment = {**os.environ, "MARKED_BY": mark}
    pipe = subprocess.PIPE
    starting = [
        subprocess.Popen(["sh", "-c", words], env=environment, stdin=pipe, stdout=pipe, text=True)
        for words in (f"{inner}; :", f"env -i {inner}; :")
    ]
    with starting[0] as marked, starting[1] as bare:
        assert marked.stdout is not None
        assert bare.stdout is not None
        inside = {int(marked.stdout.readline()), int(bare.stdout.readline())}
        found = carrying("MARKED_BY", mark)
        marked.communicate("\n")
        bare.communicate("\n")
    assert set(found) == {marked.pid, bare.pid, *inside}
    assert len(found) == len(set(found))
