"""Output of the progress bar on a terminal and in a log."""

from __future__ import annotations

import io

import pytest

from pytest_webarena.sites.backends.docker.image_sources import in_words
from pytest_webarena.sites.progress_line import Bar


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def written_to(stream: io.StringIO) -> list[str]:
    now = 0.0
    with Bar("pulling shop", stream, words=in_words, clock=lambda: now) as bar:
        for now, done, note in ((1.0, 10, ""), (1.01, 11, ""), (20.0, 500, ""), (25.0, 1000, "unpacking")):  # noqa: B007
            bar.update(done * 10**6, 10**9, note)
    return stream.getvalue().split("\n")


def test_progress_on_a_terminal_updates_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    (line, rest) = written_to(Terminal())
    assert rest == ""
    states = [state.rstrip() for state in line.split("\r")[1:]]
    assert states == [
        "pulling shop [....................]   1% 10 MB of 1.0 GB  10 MB/s, 2 min left",
        "pulling shop [##########..........]  50% 500 MB of 1.0 GB  25 MB/s, 20 s left",
        "pulling shop [####################] 100% 1.0 GB of 1.0 GB  unpacking",
        "pulling shop [####################] 100% 1.0 GB of 1.0 GB  unpacking",
    ]


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        (64, "pulling shop [####...]  50% 500 MB of 1.0 GB  25 MB/s, 20 s left"),
        (58, "pulling shop  50% 500 MB of 1.0 GB  25 MB/s, 20 s left"),
        (50, "…ng shop  50% 500 MB of 1.0 GB  25 MB/s, 20 s left"),
    ],
)
def test_progress_on_a_narrow_terminal_keeps_the_numbers(
    monkeypatch: pytest.MonkeyPatch, columns: int, expected: str
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns + 1))
    states = [state.rstrip() for state in written_to(Terminal())[0].split("\r")[1:]]
    assert states[1] == expected
    assert max(map(len, states)) <= columns


def test_progress_without_a_terminal_prints_occasional_lines() -> None:
    assert written_to(io.StringIO()) == [
        "pulling shop: 50%, 500 MB of 1.0 GB, 25 MB/s, 20 s left",
        "pulling shop: 100%, 1.0 GB of 1.0 GB, unpacking",
        "",
    ]
