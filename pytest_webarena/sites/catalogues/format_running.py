"""Keys of a catalogue for running an app: readiness, processes, containers."""

from __future__ import annotations

from typing import Any

from pytest_webarena.sites.catalogues.format_parts import (
    MODULE,
    NAME,
    PATH,
    SIZE,
    STATUS,
    TARGET,
    VARIABLES,
    WORDS,
    key,
    text,
)
from pytest_webarena.sites.catalogues.manifest import (
    ContainerStep,
    DockerManifest,
    ExecReady,
    HttpReady,
    PortReady,
    ProcessManifest,
    Readiness,
    VolumeManifest,
)
from pytest_webarena.tasks.file_reading import Reading
from pytest_webarena.tasks.record_shapes import Convert, Either, ListOf, Record
from pytest_webarena.tasks.shapes import Bool, Choice, Fault, Int, Number, Text

__all__ = ["DOCKER", "HTTP", "PROCESS", "READY", "READY_ITEM", "STEP", "VOLUME"]


def _ready_http(**values: Any) -> Readiness:
    return HttpReady(**values)


HTTP: Record[Readiness] = Record(
    "HTTP check",
    _ready_http,
    [
        key("path", PATH, "What to GET.", "path: /users/sign_in", default="/"),
        key("status", STATUS, "Accepted status codes; any below 500 if not given.", "status: [200, 302]", default=()),
        key("includes", Text(), "Text the answer must hold.", "includes: Sign in", default=""),
        key("redirect", PATH, "Path that the answer must redirect to.", "redirect: /users/sign_in", default=""),
    ],
)


def _ready(http: Readiness | None, exec: tuple[str, ...]) -> Readiness:
    return http or ExecReady(run=exec)


def _ready_rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    if bool(values["http"]) == bool(values["exec"]):
        return Fault("either 'http' or 'exec' in each item", "both" if values["http"] else "neither")
    return None


READY_ITEM: Record[Readiness] = Record(
    "readiness check",
    _ready,
    [
        key(
            "http",
            Either(
                "a path, or a mapping with path, status, includes and redirect",
                scalar=Convert(PATH, lambda path, _: HttpReady(path=path)),
                mapping=HTTP,
            ),
            "A GET, with the first site's host, that must be answered as described.",
            "http: {path: /, status: 200}",
            default=None,
        ),
        key(
            "exec",
            WORDS,
            "A program inside the container that must end with 0.",
            "exec: [pg_isready, -h, localhost]",
            default=(),
        ),
    ],
    rule=_ready_rule,
)
READY: Any = ListOf(
    Either(
        "'port', or a mapping with 'http' or 'exec'",
        scalar=Convert(Choice("port"), lambda _, __: PortReady()),
        mapping=READY_ITEM,
    ),
    label="a list of readiness checks",
)


_AT_START = frozenset({"LANG", "LANGUAGE", "TZ"})
_BEGIN_AT_START = ("GLIBC_", "LC_", "LD_", "MALLOC_", "PYTHON")
"""Names and name prefixes of variables that the interpreter and the C library read when a process starts."""


def _process_rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    if bool(values["factory"]) == bool(values["command"]):
        given = "both" if values["factory"] else "neither"
        return Fault("either 'factory' (a Python WSGI app) or 'command'", given)
    wsgi = ("seed", "on_fork", "warm", "preload", "env_after_preload")
    only_wsgi = [key for key in wsgi if values[key] and values["command"]]
    if only_wsgi:
        return Fault(f"'{only_wsgi[0]}' only with 'factory'", "'command'", "a command starts with 'data'")
    if values["seed"] and values["data"]:
        return Fault("either 'seed' or 'data'", "both")
    for name in values["env_after_preload"]:
        if name not in values["env"]:
            return Fault("variables of 'env' in 'env_after_preload'", f"{name!r}")
        if name in _AT_START or name.startswith(_BEGIN_AT_START):
            hint = "it is read when a process starts, so it can't be set later"
            return Fault("other variables in 'env_after_preload'", f"{name!r}", hint)
    told = [*values["command"], *values["env"].values()]
    if values["command"] and not any("{port}" in text for text in told):
        hint = "each replica listens on a port of its own, which 'command' or 'env' has to tell it"
        return Fault("'{port}' in 'command' or 'env'", "neither", hint)
    return None


PROCESS: Record[ProcessManifest] = Record(
    "process section",
    ProcessManifest,
    [
        key("factory", TARGET, "Makes the WSGI app from its data.", "factory: shop.app:create_app", default=""),
        key(
            "seed",
            TARGET,
            "Fills an empty data directory, once per run and in a process of its own: nothing but the files is kept.",
            "seed: shop.data:seed",
            default="",
        ),
        key(
            "data",
            Text(),
            "Directory that replicas start with a copy of. Links in it have to be relative and stay inside; FIFOs, "
            "sockets and devices can't be copied.",
            "data: fixtures/shop",
            default="",
        ),
        key(
            "on_fork",
            TARGET,
            "Moves the app, made once before forking, to a replica's data directory.",
            "on_fork: shop.app:rebind",
            default="",
        ),
        key("warm", ListOf(Text("a path")), "Pages to load before forking.", "warm: [/, /cart]", default=()),
        key(
            "preload",
            ListOf(MODULE, label="a list of modules"),
            "Modules that several apps of a catalogue need. Where they name the same ones and have the same `env`, "
            "these are loaded once, in a process from which the fork server of each is forked: they take less memory "
            "together, and start sooner. That process is started with the variables of `env`, so what is read when a "
            "process starts (`TZ`, `LANG`, `PYTHON…`) or a module is imported is what the app's own process would "
            "read; variables that are read later may differ (`env_after_preload`). Where one of the modules starts a "
            "thread when it is imported, each app has a process of its own, and the log says so: threads can't be "
            "forked. On Linux; elsewhere it makes no difference.",
            "preload: [flask, shop.common]",
            default=(),
        ),
        key("threads", Int(low=1, high=64), "Requests a replica serves at a time.", "threads: 8", default=4),
        key(
            "command",
            WORDS,
            "Program to run instead; `{port}`, `{data_dir}` and `{python}` are filled in.",
            'command: [node, server.js, "{port}", "{data_dir}"]',
            default=(),
        ),
        key("env", VARIABLES, "Added to its environment.", "env: {LANG: C.UTF-8}", default={}),
        key(
            "env_after_preload",
            ListOf(Text("a variable's name"), label="a list of variables"),
            "Variables of `env` in which apps that share what they `preload` may differ: they are set when it is "
            "loaded. Name only what is first read when the app is made or asked, by none of those modules when it is "
            "imported.",
            "env_after_preload: [SHOP_LINKS]\nenv: {SHOP_LINKS: wiki.test}",
            default=(),
        ),
        key(
            "needs",
            ListOf(MODULE, label="a list of modules"),
            "Python modules that `factory` needs besides its own: looked for before it is loaded, and by `webarena "
            "sites doctor`.",
            "needs: [celery]",
            default=(),
        ),
        key(
            "install",
            Text("a command"),
            "The command that installs what it needs; named when something is missing.",
            "install: pip install -r shop/requirements.txt",
            default="",
        ),
    ],
    rule=_process_rule,
)

VOLUME: Record[VolumeManifest] = Record(
    "volume",
    VolumeManifest,
    [
        key(
            "source",
            Text("a volume's name or a folder"),
            "Name of a volume on the engine, or a folder: absolute, or relative to the catalogue's file with `./`.",
            "source: map-tiles\ntarget: /data/tiles",
        ),
        key("target", PATH, "Where it is mounted.", "target: /data\nsource: ./wiki"),
        key(
            "mutable",
            Bool(),
            "The app writes there, so every replica gets a copy of its own; otherwise all share it, read-only.",
            "mutable: true\nsource: map-website\ntarget: /var/lib/postgresql",
            default=False,
        ),
    ],
)

STEP: Record[ContainerStep] = Record(
    "container step",
    ContainerStep,
    [
        key("run", WORDS, "Program and arguments; no shell.", 'run: [set-url, "{url}"]'),
        key("attempts", Int(low=1), "How often it is tried.", "attempts: 5\nrun: [migrate]", default=1),
        key("pause", Number(float, low=0), "Seconds between attempts.", "pause: 1\nrun: [migrate]", default=2.0),
        key(
            "timeout",
            Number(float, above=0),
            "Seconds an attempt may take.",
            "timeout: 900\nrun: [gitlab-ctl, reconfigure]",
            default=60.0,
        ),
    ],
)
STEPS = ListOf(
    Either(
        "a program and its arguments as a list, or a mapping with run, attempts, pause and timeout",
        sequence=Convert(WORDS, lambda words, _: ContainerStep(run=words)),
        mapping=STEP,
    ),
    label="a list of programs, each a list of its words",
)


def _docker_rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    if values["snapshot_env"] and not values["snapshot"]:
        return Fault("'snapshot: true' with 'snapshot_env'", "no snapshot")
    if values["booted"] and not values["post_start"]:
        return Fault("'post_start' with 'booted'", "no steps")
    if values["build"] and (values["tar"] or values["digest"]):
        return Fault("either 'build' or an image that exists", "both")
    return None


DOCKER: Record[DockerManifest] = Record(
    "docker section",
    DockerManifest,
    [
        key("image", Text("an image"), "Reference of the image.", "image: example/shop:1.2"),
        key(
            "digest",
            text("sha256: and 64 hex digits", r"sha256:[0-9a-f]{64}"),
            "Id or registry digest of the image; any other is refused.",
            f"digest: sha256:{'0' * 64}",
            default="",
        ),
        key(
            "tar",
            Text("a file"),
            "File of `docker save`, relative to the catalogue's; loaded when the image is missing. `~` and "
            "`${VARIABLE}` are filled in.",
            "tar: ${WEBARENA_IMAGES}/shop.tar",
            default="",
        ),
        key(
            "pull_size",
            text("a size such as 250 MB or 13.3 GB", r"[0-9]+(\.[0-9]+)? [MG]B"),
            "About how much a pull brings. Test runs pull images of up to 1 GB by themselves, larger ones, and "
            "those of which nobody knows, only with `--pull=all`; else their tasks are skipped.",
            "pull_size: 13.3 GB",
            default="",
        ),
        key(
            "get",
            Text(),
            "The commands that get the image, shown to people when it is missing.",
            "get: docker load --input shop.tar",
            default="",
        ),
        key("build", NAME, "Recipe of this package that builds it.", "build: embedded", default=""),
        key("command", WORDS, "Instead of the image's command.", "command: [serve, --port, '8080']", default=()),
        key("port", Int(low=1, high=65535), "Where it listens inside.", "port: 8080", default=80),
        key("env", VARIABLES, "Added to its environment.", 'env: {BASE_URL: "{url}"}', default={}),
        key("memory", SIZE, "Most memory it may use.", "memory: 256m", default=""),
        key("cpus", Number(float, above=0), "CPUs it may use.", "cpus: 1.5", default=None),
        key("shm_size", SIZE, "Size of /dev/shm.", "shm_size: 2g", default=""),
        key("init", Bool(), "Whether process 1 is Docker's own.", "init: false", default=True),
        key(
            "data_dir",
            PATH,
            "Where its SQLite files are inside. Where the image has no `python3`, they are only read, from a copy.",
            "data_dir: /var/lib/shop",
            default="/data",
        ),
        key(
            "volumes",
            ListOf(VOLUME, label="a list of volumes"),
            "Data that are not in the image.",
            "volumes: [{source: ./wiki, target: /data}]",
            default=(),
        ),
        key(
            "booted",
            READY,
            "What must hold before `post_start`, where that is less than the app's `ready`, which must hold after. "
            "An app that does not know its address yet, for example, sends visitors elsewhere.",
            "booted: [{http: {path: /, status: [200, 302]}}]\npost_start: [[set-base-url, a]]",
            default=(),
            default_text="as `ready`",
        ),
        key(
            "post_start",
            STEPS,
            "Programs run inside, in this order, once it has booted; afterwards it must become ready.",
            'post_start:\n  - [set-base-url, "{url}"]\n  - {run: [flush-cache], attempts: 3}',
            default=(),
        ),
        key(
            "snapshot",
            Bool(),
            "Do that once: replicas start from an image committed afterwards. Volumes are not part of it.",
            "snapshot: true",
            default=False,
        ),
        key(
            "snapshot_env",
            VARIABLES,
            "Added to the environment of what starts from the snapshot.",
            'snapshot_env: {SKIP_SETUP: "true"}\nsnapshot: true',
            default={},
        ),
        key(
            "reset",
            STEPS,
            "Programs that make it pristine again where it runs; without them a reset is a new container.",
            "reset: [[restore-database, /seed.sql]]",
            default=(),
        ),
        key(
            "fingerprint",
            WORDS,
            "Program that prints a digest of its state: a replica left unchanged is handed on without a reset.",
            "fingerprint: [checksum, /var/lib/shop]",
            default=(),
        ),
    ],
    rule=_docker_rule,
)
