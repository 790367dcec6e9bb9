"""Builds the catalogues of the embedded sites from the ``site.yaml`` in each site's folder.

A site's file overrides ``common.yaml``, which has what all sites share. Only files are read: the sites themselves are
imported when they are started.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pytest_webarena.sites.catalogues.format import APP
from pytest_webarena.sites.catalogues.format_parts import NAME, key
from pytest_webarena.tasks.file_reading import Entries, Reading, shown
from pytest_webarena.tasks.nodes import QUOTED, ListNode, MapNode, Node, ScalarNode, compose
from pytest_webarena.tasks.record_shapes import Field, Record

__all__ = ["CATALOGUES", "FOLDER", "SITE_FILE", "SiteFile", "embedded_apps", "image_contents"]

FOLDER = Path(__file__).parents[2] / "embedded"
"""Folder with a subfolder for each site."""

CATALOGUES: Mapping[str, str] = MappingProxyType({"embedded": "process", "embedded-docker": "docker"})
"""The catalogues made here, with the backend that runs their apps."""

_JOINED = frozenset({"container", "process", "users"})
"""Sections in which a site's file and the common file are merged key by key."""


def _of_app(*names: str) -> list[Field]:
    return [field for field in APP.fields if field.key in names]


CONTAINER: Record[Mapping[str, Any]] = Record(
    "container section",
    dict,
    _of_app("ready", "start_timeout", "boot_seconds", "max_replicas", "spares", "docker"),
)

# Declares only the keys. Their values are read after merging with the common file.
SITE_FILE: Record[Mapping[str, Any]] = Record(
    "site file",
    dict,
    [
        *(field for field in APP.fields if field.key not in ("backend", "docker", "options")),
        key("extra", NAME, "The extra of this package that brings what it needs.", "extra: shop", default=""),
        key("container", CONTAINER, "What differs in a container.", "container: {boot_seconds: 2}", default={}),
    ],
)


@dataclass(frozen=True, slots=True, kw_only=True)
class SiteFile:
    """An app as its folder and the common file describe it."""

    app: str
    """Name of the app and of its folder."""
    extra: str
    """Extra that installs the app's requirements; empty: it needs no more than this package."""
    entries: Entries
    node: Node
    """The whole file, for messages."""
    reading: Reading
    """Collects the problems of the file."""

    @property
    def image(self) -> str:
        """Name of its image: one for each extra, and one for all apps without an extra."""
        return f"embedded-{self.extra}" if self.extra else "embedded"


def embedded_apps(catalogue: str) -> list[SiteFile]:
    """Returns the apps of one of the two catalogues by name, with the keys of apps in catalogue files."""
    files = _files()
    made = []
    for file in files:
        entries = dict(file.entries)
        container = entries.pop("container")[1]
        entries.pop("extra", None)
        if CATALOGUES[catalogue] == "docker":
            entries.update(_in_container(_mapping(container, file.reading), entries, file.reading))
        others = [link for other in files if other.app != file.app for link in _links(other)]
        package = f"pytest-webarena[{file.extra}]" if file.extra else "pytest-webarena"
        texts = {"{app}": file.app, "{image}": file.image, "{package}": package, "{others}": ",".join(others)}
        entries = {name: (at, _filled(value, texts)) for name, (at, value) in entries.items()}
        backend = ScalarNode(CATALOGUES[catalogue], QUOTED, False, file.node.line, file.node.column)
        made.append(replace(file, entries={**entries, "backend": (backend, backend)}))
    return made


def image_contents() -> dict[str, tuple[str, tuple[str, ...]]]:
    """Returns the extra and the apps of each image, by image name."""
    found: dict[str, tuple[str, tuple[str, ...]]] = {}
    for file in _files():
        found[file.image] = (file.extra, (*found.get(file.image, ("", ()))[1], file.app))
    return found


def _files() -> list[SiteFile]:
    common, reading = _read(FOLDER / "common.yaml")
    below = reading.entries(common)
    return [_over(below, path) for path in sorted(FOLDER.glob("*/site.yaml"))]


def _read(path: Path) -> tuple[MapNode, Reading]:
    reading = Reading(str(path))
    node, problems = compose(path.read_bytes(), str(path))
    reading.problems += [replace(one, expected=one.expected.replace("'tasks'", "'sites'")) for one in problems]
    if node is None or not isinstance(node, MapNode):
        if node is not None:
            reading.problem(node, "a mapping with the key 'sites'", shown(node))
        node = MapNode(1, 1)
    return node, reading


def _over(common: Entries, path: Path) -> SiteFile:
    """Returns the file at ``path``, with missing values taken from ``common``."""
    node, reading = _read(path)
    own = dict(reading.entries(node))
    SITE_FILE.check_keys(own, reading)
    for section in sorted(_JOINED & own.keys()):
        if not isinstance(own[section][1], MapNode):
            _, wrong = own.pop(section)
            reading.problem(wrong, f"a mapping ({section})", shown(wrong))
    CONTAINER.check_keys(_section(own, "container", reading), reading)
    extra = NAME.read(own["extra"][1], reading) if "extra" in own else ""
    if not extra and "needs" in (process := _section(own, "process", reading)):
        reading.problem(process["needs"][0], "an 'extra' that brings what the app needs", "none")
    sites = _section(own, "sites", reading)
    signed_in = any("sign_in" in _section(sites, site, reading) for site in sites)
    entries = {name: pair for name, pair in common.items() if name != "users" or signed_in}
    for name, (at, value) in own.items():
        below = entries.get(name)
        entries[name] = (at, _joined(below[1], value, reading) if below and name in _JOINED else value)
    if "forbid_side_effects" not in own and not _section(entries, "databases", reading):
        entries.pop("forbid_side_effects", None)  # an app without databases has no ledger
    return SiteFile(
        app=path.parent.name, extra=extra if isinstance(extra, str) else "", entries=entries, node=node, reading=reading
    )


def _in_container(container: Entries, process: Entries, reading: Reading) -> Entries:
    """Returns ``container`` with its environment merged over the process's."""
    at, docker = container["docker"]
    below = {name: pair for name, pair in _section(process, "process", reading).items() if name == "env"}
    return {**container, "docker": (at, _joined(_made(below, docker), docker, reading))}


def _links(file: SiteFile) -> list[str]:
    """Returns ``name=address`` of each of the file's sites."""
    sites = _section(file.entries, "sites", file.reading)
    hosts = {name: _section(sites, name, file.reading).get("host") for name in sites}
    return [
        f"{name}=http://{pair[1].value}/" for name, pair in hosts.items() if pair and isinstance(pair[1], ScalarNode)
    ]


def _section(entries: Entries, name: str, reading: Reading) -> Entries:
    return _mapping(entries[name][1], reading) if name in entries else {}


def _mapping(node: Node, reading: Reading) -> Entries:
    return reading.entries(node) if isinstance(node, MapNode) else {}


def _joined(below: Node, above: Node, reading: Reading) -> Node:
    """Merge ``above`` over ``below``, mapping by mapping."""
    if not isinstance(below, MapNode) or not isinstance(above, MapNode):
        return above
    entries = dict(reading.entries(below))
    for name, (at, value) in reading.entries(above).items():
        entries[name] = (at, _joined(entries[name][1], value, reading) if name in entries else value)
    return _made(entries, above)


def _made(entries: Entries, like: Node) -> MapNode:
    node = MapNode(like.line, like.column)
    node.entries = entries
    node.items = [part for pair in entries.values() for part in pair]
    return node


def _filled(node: Node, texts: Mapping[str, str]) -> Node:
    """Returns a copy with the names in ``texts`` replaced by their texts."""
    if isinstance(node, ScalarNode):
        value = node.value
        for name, text in texts.items():
            value = value.replace(name, text)
        return ScalarNode(value, node.style, node.dynamic, node.line, node.column)
    if isinstance(node, ListNode):
        made = ListNode(node.line, node.column)
        made.items = [_filled(item, texts) for item in node.items]
        return made
    entries = Reading("").entries(node)
    return _made({name: (at, _filled(value, texts)) for name, (at, value) in entries.items()}, node)
