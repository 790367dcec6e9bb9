"""Volumes, secrets and configs of a Compose service, as volumes of a catalogue."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_webarena.project_setup.compose.reading import ComposeFile, Place

__all__ = ["mounted_files", "mounted_volumes", "shared_volumes"]

_PATH = re.compile(r"[./~]")
_MODES = frozenset("ro rw z Z cached delegated consistent nocopy rprivate private rshared shared rslave slave".split())  # noqa: SIM905


def shared_volumes(file: ComposeFile, services: Mapping[str, Any]) -> set[str]:
    """Returns the named volumes that several services mount."""
    users: dict[str, set[str]] = {}
    for name, service in services.items():
        for entry in service.get("volumes") or [] if isinstance(service, Mapping) else []:
            source = entry.get("source") if isinstance(entry, Mapping) else str(entry).partition(":")[0]
            if isinstance(source, str) and source and not _PATH.match(source):
                users.setdefault(source, set()).add(name)
    return {volume for volume, names in users.items() if len(names) > 1}


def mounted_volumes(file: ComposeFile, place: Place, value: Any, shared: set[str], below: Path) -> list[dict[str, Any]]:
    """Returns the volumes of a service, with paths relative to ``below``, the catalogue's folder."""
    found = []
    for number, entry in enumerate(file.entries(place, value)):
        at = (*place, number)
        mount = _long_form(file, at, entry)
        if mount is not None and (volume := _volume(file, at, mount, shared, below)) is not None:
            found.append(volume)
    return found


def _long_form(file: ComposeFile, place: Place, entry: Any) -> Mapping[str, Any] | None:
    """Returns an entry of either form as type, source, target and read_only."""
    if isinstance(entry, Mapping):
        if not isinstance(entry.get("target"), str):
            file.note("refused", place, "expected a volume with a target, found none")
            return None
        if isinstance(entry.get("volume"), Mapping) and entry["volume"].get("subpath"):
            file.note("refused", place, "parts of a volume can't be mounted; mount all of it")
            return None
        return {"type": entry.get("type") or "volume", **entry}
    parts = str(entry).split(":")
    modes = parts.pop().split(",") if len(parts) > 2 else []
    if len(parts) > 2 or (unknown := [mode for mode in modes if mode not in _MODES]):
        what = f"the mode {unknown[0]!r}" if len(parts) < 3 else f"{entry!r}"
        file.note("refused", place, f"expected SOURCE:TARGET or SOURCE:TARGET:ro, found {what}")
        return None
    if len(parts) == 1:
        return {"type": "volume", "target": parts[0]}
    kind = "bind" if _PATH.match(parts[0]) else "volume"
    return {"type": kind, "source": parts[0], "target": parts[1], "read_only": "ro" in modes}


def _volume(
    file: ComposeFile, place: Place, mount: Mapping[str, Any], shared: set[str], below: Path
) -> dict[str, Any] | None:
    target, source = str(mount["target"]), mount.get("source")
    if mount["type"] == "tmpfs":
        file.note("ignored", place, "these files are in the container, and removed with it")
    elif mount["type"] == "bind" and source:
        return _bind(file, place, str(source), target, bool(mount.get("read_only")), below)
    elif mount["type"] != "volume":
        file.note("refused", place, f"a mount of type {mount['type']} can't be had; use a folder or a volume")
    elif source in shared:
        text = f"the volume {source} belongs to several services, but containers share no data; run them in one service"
        file.note("refused", place, text)
    elif not source:
        file.note("taken", place, "a new volume for each container, with what its image has there")
        return {"target": target}
    elif (declared := _declared(file, str(source))) and declared.get("external"):
        name = str(declared.get("name") or source)
        file.note("taken", place, f"each replica gets a copy of the engine's volume {name}")
        return {"source": name, "target": target, "mutable": True}
    else:
        file.note("taken", place, f"a new volume {source} for each replica, with what the image has there")
        return {"target": target}
    return None


def _declared(file: ComposeFile, name: str) -> Mapping[str, Any]:
    volumes = file.data.get("volumes")
    found = volumes.get(name) if isinstance(volumes, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _bind(
    file: ComposeFile, place: Place, source: str, target: str, read_only: bool, below: Path
) -> dict[str, Any] | None:
    path = file.folder / Path(source).expanduser()
    if not path.is_file() and not path.is_dir():
        what = "neither a file nor a folder, such as a socket" if path.exists() else "none"
        file.note(
            "refused", place, f"expected a file or a folder at {source}, found {what}; remove the line or make it"
        )
        return None
    volume: dict[str, Any] = {"source": _relative(path, below), "target": target}
    if path.is_dir() and not read_only:
        file.note("taken", place, "each replica gets a copy of this folder, so that the app may write there")
        return {**volume, "mutable": True}
    file.note("taken", place, "read-only" + ("" if read_only else ": an app can't write into a file of this machine"))
    return volume


def mounted_files(file: ComposeFile, place: Place, value: Any, below: Path) -> list[dict[str, Any]]:
    """Returns the secrets or configs of a service as read-only volumes. ``place`` ends with which of them."""
    kind = str(place[-1])
    declared = file.data.get(kind)
    found = []
    for number, entry in enumerate(file.entries(place, value)):
        at = (*place, number)
        source = str(entry.get("source") if isinstance(entry, Mapping) else entry)
        own = declared.get(source) if isinstance(declared, Mapping) else None
        path = own.get("file") if isinstance(own, Mapping) else None
        if not isinstance(path, str):
            file.note("refused", at, f"expected {source!r} among the top-level {kind}, with a 'file', found none")
            continue
        target = str(entry.get("target") or source) if isinstance(entry, Mapping) else source
        folder = "/run/secrets/" if kind == "secrets" else "/"
        target = target if target.startswith("/") else folder + target
        volume = _bind(file, at, path, target, True, below)
        found += [volume] if volume is not None else []
    return found


def _relative(path: Path, below: Path) -> str:
    """Returns a path as a catalogue in the folder ``below`` names it."""
    return f"./{os.path.relpath(path.resolve(), below.resolve())}"
