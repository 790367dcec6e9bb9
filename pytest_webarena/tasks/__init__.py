"""Tasks as values, and the reader of their YAML files.

>>> [task] = parse_tasks("tasks: [{id: greet, intent: Say hello, sites: [], checks: [{answer: hello}]}]")
>>> task.id, task.category
('greet', 'information')
"""

from pytest_webarena.tasks.addresses import Address, resolve
from pytest_webarena.tasks.digest import digest
from pytest_webarena.tasks.loader import load_tasks, parse_tasks, read_tasks
from pytest_webarena.tasks.model import Check, Limits, Location, SetupStep, Start, Task
from pytest_webarena.tasks.nodes import NodeLimits
from pytest_webarena.tasks.setup_form import ApiRequest, BrowserSetup, SqlSetup
from pytest_webarena.tasks.validate import Report, duplicate_ids, validate

__all__ = [
    "Address",
    "ApiRequest",
    "BrowserSetup",
    "Check",
    "Limits",
    "Location",
    "NodeLimits",
    "Report",
    "SetupStep",
    "SqlSetup",
    "Start",
    "Task",
    "digest",
    "duplicate_ids",
    "load_tasks",
    "parse_tasks",
    "read_tasks",
    "resolve",
    "validate",
]
