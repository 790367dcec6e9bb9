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
        key("path", PATH, "The path to request.", "path: /users/sign_in", default="/"),
        key("status", STATUS, "Accepted status codes; by default, any below 500.", "status: [200, 302]", default=()),
        key("includes", Text(), "Text that the response must include.", "includes: Sign in", default=""),
        key("redirect", PATH, "Path that the response must redirect to.", "redirect: /users/sign_in", default=""),
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
            "A GET request with the first site's host, and the expected response.",
            "http: {path: /, status: 200}",
            default=None,
        ),
        key(
            "exec",
            WORDS,
            "A program inside the container that must exit with 0.",
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


NAME_INSIDE = text("a host name", r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
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
    if values["in_data_dir"] and not values["command"]:
        return Fault("'in_data_dir' only with 'command'", "'factory'", "it receives the data directory as an argument")
    if values["seed"] and values["data"]:
        return Fault("either 'seed' or 'data'", "both")
    for name in values["env_after_preload"]:
        if name not in values["env"]:
            return Fault("variables of 'env' in 'env_after_preload'", f"{name!r}")
        if name in _AT_START or name.startswith(_BEGIN_AT_START):
            hint = "Python reads it when a process starts, so it can't be set later"
            return Fault("other variables in 'env_after_preload'", f"{name!r}", hint)
    texts = [*values["command"], *values["env"].values()]
    if values["command"] and not any("{port}" in text for text in texts):
        hint = "each replica has its own port; pass it to the app"
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
            ("Fills an empty data directory, once per run in a separate process. Only the files are kept."),
            "seed: shop.data:seed",
            default="",
        ),
        key(
            "data",
            Text(),
            (
                "Directory that is copied for each replica. Links must be relative and stay inside. FIFOs, "
                "sockets and devices can't be copied."
            ),
            "data: fixtures/shop",
            default="",
        ),
        key(
            "on_fork",
            TARGET,
            "Switches the app, which is made once before forking, to a replica's data directory.",
            "on_fork: shop.app:rebind",
            default="",
        ),
        key("warm", ListOf(Text("a path")), "Pages to load before forking.", "warm: [/, /cart]", default=()),
        key(
            "preload",
            ListOf(MODULE, label="a list of modules"),
            (
                "Modules that several apps load once in a common process, to save memory and start sooner. The "
                "apps must name the same modules and have the same `env`, except for `env_after_preload`. If a "
                "module starts a thread on import, each app gets its own process; the log says so. Linux only."
            ),
            "preload: [flask, shop.common]",
            default=(),
        ),
        key(
            "threads",
            Int(low=1, high=64),
            "Number of requests that a replica serves at a time.",
            "threads: 8",
            default=4,
        ),
        key(
            "command",
            WORDS,
            ("A program to run in place of `factory`. `{port}`, `{data_dir}` and `{python}` are replaced."),
            'command: [node, server.js, "{port}", "{data_dir}"]',
            default=(),
        ),
        key(
            "in_data_dir",
            Bool(),
            (
                "Whether `command` runs in `{data_dir}`, for apps that keep their data in the working directory. It "
                "still finds files of the catalogue's folder that it names, and Python modules there."
            ),
            "in_data_dir: true\ncommand: [uvicorn, 'shop:app', --port, '{port}']",
            default=False,
        ),
        key("env", VARIABLES, "Environment variables to add.", "env: {LANG: C.UTF-8}", default={}),
        key(
            "env_after_preload",
            ListOf(Text("a variable name"), label="a list of variables"),
            (
                "Variables of `env` that may differ between apps with a common `preload`; they are set later. "
                "Name only variables that no preloaded module reads on import."
            ),
            "env_after_preload: [SHOP_LINKS]\nenv: {SHOP_LINKS: wiki.test}",
            default=(),
        ),
        key(
            "needs",
            ListOf(MODULE, label="a list of modules"),
            (
                "Python modules that `factory` needs. They are checked before it is loaded, and by `webarena "
                "sites doctor`."
            ),
            "needs: [celery]",
            default=(),
        ),
        key(
            "install",
            Text("a command"),
            "The install command to show if a module is missing.",
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
            Text("a volume name or a folder"),
            (
                "A volume of the engine, or a folder: absolute, or relative to the catalogue with `./`. Without it, "
                "each container gets a volume of its own with the image's content of `target`, e.g. below another one."
            ),
            "source: map-tiles\ntarget: /data/tiles",
            default="",
        ),
        key("target", PATH, "The path where it is mounted.", "target: /data\nsource: ./wiki"),
        key(
            "mutable",
            Bool(),
            ("Whether the app writes there. Then every replica gets its own copy; otherwise all share it, read-only."),
            "mutable: true\nsource: map-website\ntarget: /var/lib/postgresql",
            default=False,
        ),
    ],
)

STEP: Record[ContainerStep] = Record(
    "container step",
    ContainerStep,
    [
        key("run", WORDS, "Program and arguments, without a shell.", 'run: [set-url, "{url}"]'),
        key("attempts", Int(low=1), "Number of attempts.", "attempts: 5\nrun: [migrate]", default=1),
        key("pause", Number(float, low=0), "Seconds between attempts.", "pause: 1\nrun: [migrate]", default=2.0),
        key(
            "timeout",
            Number(float, above=0),
            "Maximum seconds for an attempt.",
            "timeout: 900\nrun: [gitlab-ctl, reconfigure]",
            default=60.0,
        ),
        key(
            "proof",
            WORDS,
            (
                "A program that ends with 0 only if the step had its effect. If it does not, the attempt failed: `sed` "
                "ends with 0 although it changed nothing."
            ),
            "proof: [grep, -q, shop.test, /etc/shop.conf]\nrun: [sed, -i, s/localhost/shop.test/, /etc/shop.conf]",
            default=(),
        ),
    ],
)
STEPS = ListOf(
    Either(
        "a program and its arguments as a list, or a mapping with run, attempts, pause, timeout and proof",
        sequence=Convert(WORDS, lambda words, _: ContainerStep(run=words)),
        mapping=STEP,
    ),
    label="a list of programs, each a list of arguments",
)


def _docker_rule(values: dict[str, Any], _: Any, __: Reading) -> Fault | None:
    for name in ("snapshot_env", "before_snapshot"):
        if values[name] and not values["snapshot"]:
            return Fault(f"'snapshot: true' with '{name}'", "no snapshot")
    if values["booted"] and not values["post_start"]:
        return Fault("'post_start' with 'booted'", "no steps")
    if values["build"] and (values["tar"] or values["digest"]):
        return Fault("either 'build' or an image that exists", "both")
    return None


DOCKER: Record[DockerManifest] = Record(
    "docker section",
    DockerManifest,
    [
        key("image", Text("an image"), "The image reference.", "image: example/shop:1.2"),
        key(
            "digest",
            text("sha256: and 64 hex digits", r"sha256:[0-9a-f]{64}"),
            "Id or registry digest of the image. Any other is refused.",
            f"digest: sha256:{'0' * 64}",
            default="",
        ),
        key(
            "tar",
            Text("a file"),
            (
                "A file from `docker save`, relative to the catalogue. It is loaded if the image is missing. `~` "
                "and `${VARIABLE}` are expanded."
            ),
            "tar: ${WEBARENA_IMAGES}/shop.tar",
            default="",
        ),
        key(
            "pull_size",
            text("a size such as 250 MB or 13.3 GB", r"[0-9]+(\.[0-9]+)? [MG]B"),
            (
                "Approximate download size. Test runs pull images of up to 1 GB; larger ones, and those without "
                "a size, need `--pull=all`. Otherwise their tasks are skipped."
            ),
            "pull_size: 13.3 GB",
            default="",
        ),
        key(
            "get",
            Text(),
            "Commands that get the image, shown if it is missing.",
            "get: docker load --input shop.tar",
            default="",
        ),
        key("build", NAME, "The recipe of this package that builds the image.", "build: embedded", default=""),
        key("command", WORDS, "A command in place of the image's.", "command: [serve, --port, '8080']", default=()),
        key(
            "entrypoint",
            WORDS,
            "A program in place of the image's entrypoint; the image's command is then not used.",
            "entrypoint: [/bin/start-web]",
            default=(),
        ),
        key("user", Text("a user"), "The user, or `user:group`, that runs the app inside.", "user: '1000'", default=""),
        key("workdir", PATH, "The working directory inside.", "workdir: /srv", default=""),
        key(
            "aliases",
            ListOf(NAME_INSIDE, label="a list of host names"),
            "Further names under which other containers of its unit find it, in addition to the app's.",
            "aliases: [database, pg.internal]",
            default=(),
        ),
        key("port", Int(low=1, high=65535), "The port that the app listens on inside.", "port: 8080", default=80),
        key("env", VARIABLES, "Environment variables to add.", 'env: {BASE_URL: "{url}"}', default={}),
        key("memory", SIZE, "Memory limit.", "memory: 256m", default=""),
        key("cpus", Number(float, above=0), "CPU limit.", "cpus: 1.5", default=None),
        key("shm_size", SIZE, "Size of /dev/shm.", "shm_size: 2g", default=""),
        key("init", Bool(), "Whether Docker's own init is process 1.", "init: false", default=True),
        key(
            "data_dir",
            PATH,
            ("The directory of its SQLite files inside. In images without `python3`, they are read-only, from a copy."),
            "data_dir: /var/lib/shop",
            default="/data",
        ),
        key(
            "volumes",
            ListOf(VOLUME, label="a list of volumes"),
            "Data outside the image.",
            "volumes: [{source: ./wiki, target: /data}]",
            default=(),
        ),
        key(
            "booted",
            READY,
            (
                "Conditions before `post_start`, if weaker than `ready`, which must be met afterwards. For "
                "example, an app without its address redirects visitors."
            ),
            "booted: [{http: {path: /, status: [200, 302]}}]\npost_start: [[set-base-url, a]]",
            default=(),
            default_text="as `ready`",
        ),
        key(
            "post_start",
            STEPS,
            "Programs to run inside after booting, in this order. Afterwards the app must become ready.",
            'post_start:\n  - [set-base-url, "{url}"]\n  - {run: [flush-cache], attempts: 3}',
            default=(),
        ),
        key(
            "snapshot",
            Bool(),
            (
                "Whether to run `post_start` once and start replicas from an image committed afterwards. It includes "
                "the volumes that the image declares, but not those of `volumes` with a source."
            ),
            "snapshot: true",
            default=False,
        ),
        key(
            "before_snapshot",
            STEPS,
            (
                "Programs that end the app cleanly before a snapshot, where stopping the container does not: some "
                "process managers end at once, and leave databases to recover at each start."
            ),
            "before_snapshot: [[gitlab-ctl, stop]]\nsnapshot: true",
            default=(),
        ),
        key(
            "snapshot_env",
            VARIABLES,
            "Environment variables to add to replicas of the snapshot.",
            'snapshot_env: {SKIP_SETUP: "true"}\nsnapshot: true',
            default={},
        ),
        key(
            "reset",
            STEPS,
            "Programs that reset the running container. Without them, a reset is a new container.",
            "reset: [[restore-database, /seed.sql]]",
            default=(),
        ),
        key(
            "fingerprint",
            WORDS,
            ("A program that prints a digest of the state. A replica with the same digest is reused without a reset."),
            "fingerprint: [checksum, /var/lib/shop]",
            default=(),
        ),
    ],
    rule=_docker_rule,
)
