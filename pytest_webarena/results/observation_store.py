"""Stored observations: the whole observation of a step, so that it can be shown again.

Text and picture are files of their own; this module stores the rest next to them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_webarena.browser.observation.model import Observation, ScrollPosition, TabInfo

if TYPE_CHECKING:
    from pytest_webarena.evidence import StepRecord

__all__ = ["look_of", "read_look"]

_FILES = ("text", "screenshot", "marked", "for_record")
"""Parts of an observation with files of their own."""


def look_of(observation: Observation) -> dict[str, Any]:
    """Return an observation without its text and pictures as plain data; ``pictures`` names those that it had."""
    plain = asdict(replace(observation, text="", screenshot=None, marked=None, for_record=None))
    pictures = [name for name in ("screenshot", "marked") if getattr(observation, name)]
    return {**{name: value for name, value in plain.items() if name not in _FILES}, "pictures": pictures}


def read_look(attempt: Path, step: StepRecord, before: StepRecord | None) -> Observation:
    """Return the observation on which ``step`` was decided; ``before`` is the previous step.

    Older runs without these files have text, picture, address and error; the rest is empty. Raises `ValueError` that
    names the file that is missing or can't be read.
    """
    if not step.observation:
        raise ValueError(f"{attempt}: expected what was shown before step {step.index}, found that it was not kept")
    file = attempt / step.observation
    picture: bytes | None = None
    try:
        text = file.read_text("utf-8", errors="replace")
        if step.screenshot:
            picture = (attempt / step.screenshot).read_bytes()
    except OSError as error:
        raise ValueError(
            f"{error.filename}: expected what was shown before step {step.index}, found none: {error.strerror}"
        ) from None
    observation = Observation(
        text=text, url=step.url_before, title="", tabs=(), error=before.error if before is not None else ""
    )
    details = file.with_suffix(".json")
    if not details.is_file():
        return replace(observation, for_record=picture)
    try:
        return _completed(observation, json.loads(details.read_text("utf-8")), picture)
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ValueError(f"{details}: expected the rest of an observation, found what can't be read: {error}") from None


def _completed(observation: Observation, data: Mapping[str, Any], picture: bytes | None) -> Observation:
    parts = {name: value for name, value in data.items() if name != "pictures"}
    shown = [str(name) for name in data["pictures"]]
    kept = shown[-1] if shown else "for_record"  # of two pictures, the marked one was kept
    return replace(
        observation,
        **{
            **parts,
            "tabs": tuple(TabInfo(**tab) for tab in data["tabs"]),
            "notes": tuple(data["notes"]),
            "scroll": ScrollPosition(**data["scroll"]),
            "viewport": tuple(data["viewport"]),
            kept: picture,
        },
    )
