"""Keys of Compose services that are left out, and why that does no harm, or that a catalogue can't have."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from pytest_webarena.project_setup.compose.reading import WRITTEN_OUT

__all__ = ["HARMLESS", "IGNORED", "KNOWN", "REFUSED", "TAKEN"]

TAKEN = frozenset(
    (
        "build",
        "command",
        "configs",
        "container_name",
        "cpus",
        "deploy",
        "depends_on",
        "entrypoint",
        "env_file",
        "environment",
        "expose",
        "healthcheck",
        "image",
        "init",
        "mem_limit",
        "networks",
        "ports",
        "profiles",
        "secrets",
        "shm_size",
        "user",
        "volumes",
        "working_dir",
    )
)
"""Keys that become part of the catalogue."""

_NOT_THERE = "nothing outside of its own network can be reached, and the app says so itself"
IGNORED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(("annotations", "labels", "label_file", "logging", "attach"), "only other programs read it"),
        **dict.fromkeys(
            ("stop_grace_period", "stop_signal", "oom_kill_disable", "oom_score_adj"),
            "containers are removed after use, not stopped",
        ),
        **dict.fromkeys(("stdin_open", "tty"), "nobody types into it"),
        **dict.fromkeys(
            ("blkio_config", "cpu_count", "cpu_percent", "cpu_period", "cpu_quota", "cpu_rt_period", "cpu_rt_runtime",
             "cpu_shares", "cpuset", "mem_reservation", "mem_swappiness", "memswap_limit", "pids_limit", "ulimits"),
            "a limit; the app behaves the same without it, or does not start",
        ),
        **dict.fromkeys(("cap_drop", "read_only"), "the app has more rights than it needs, inside its container only"),
        **dict.fromkeys(("dns", "dns_opt", "dns_search", "domainname", "mac_address"), _NOT_THERE),
        "develop": "it is for editing the app while it runs",
        "hostname": "others find the service by its names, which are kept",
        "links": "services of one unit find each other by name; an alias of a link is not kept",
        "platform": "the image on this machine decides",
        "pull_policy": "an image on this machine is used",
        "pull_refresh_after": "an image on this machine is used",
        "restart": "an app that ends is an error of the site, and its trial is repeated on a new container",
        "scale": "a replica has one container of each service",
        "tmpfs": "these files are in the container, and removed with it",
    }
)  # fmt: skip
"""Keys that are left out, with the reason why that is safe."""

HARMLESS: Mapping[str, tuple[object, ...]] = MappingProxyType(
    {"privileged": (False,), "network_mode": ("bridge",), "ipc": ("private", "shareable"), "cgroup": ("private",)}
)
"""Values of refused keys that ask for nothing."""

_RIGHTS = "containers get no rights on this machine; remove the line if the app works without them"
REFUSED: Mapping[str, str] = MappingProxyType(
    {
        **dict.fromkeys(
            ("cap_add", "cgroup", "cgroup_parent", "credential_spec", "device_cgroup_rules", "devices", "gpus", "ipc",
             "isolation", "pid", "privileged", "runtime", "security_opt", "storage_opt", "sysctls", "use_api_socket",
             "userns_mode", "uts"),
            _RIGHTS,
        ),
        "extends": WRITTEN_OUT,
        "external_links": "containers of other projects can't be reached; add them to the file as services",
        "extra_hosts": "hosts outside of the unit can't be reached; add a service with this name, or remove the line",
        "group_add": "containers have the groups of their user only; name the group in 'user: USER:GROUP'",
        "models": "no models are provided; add a service that serves one, or remove the line",
        "network_mode": "services have the network of their unit; remove the line",
        "post_start": "write the command into 'post_start' of the catalogue's docker section, and remove it here",
        "pre_stop": "containers are removed, not stopped; remove the line if no data depend on it",
        "provider": "only containers can be started; add a service for it",
        "volumes_from": "name the volumes of the other service; but a volume of two services can't be had",
    }
)  # fmt: skip
"""Keys that a catalogue can't have, with what to do."""

KNOWN = TAKEN | IGNORED.keys() | REFUSED.keys()
