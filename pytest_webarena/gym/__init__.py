"""Tasks as Gymnasium environments, over the same sites, browser, limits and checks as test runs. Extra ``gym``.

>>> import gymnasium, pytest_webarena.gym  # doctest: +SKIP
>>> env = gymnasium.make("pytest_webarena/Tasks-v0", tasks="tasks/homepage")  # doctest: +SKIP
"""

from __future__ import annotations

from pytest_webarena.errors import UsageError

try:
    import gymnasium as _gymnasium
except ImportError:
    raise UsageError(
        "pytest_webarena.gym: expected Gymnasium, found it not installed; run: pip install 'pytest-webarena[gym]'"
    ) from None

from pytest_webarena.gym.env import TasksEnv

__all__ = ["ENV_ID", "TasksEnv"]

ENV_ID = "pytest_webarena/Tasks-v0"
"""Environment id for `gymnasium.make`; importing this package registers it."""

if ENV_ID not in _gymnasium.registry:
    # Observations contain the elapsed time. Gymnasium's passive checker compares the first step with the first `reset`
    # and raises `TypeError` in place of that step's reward where the first `reset` had raised.
    _gymnasium.register(
        id=ENV_ID, entry_point="pytest_webarena.gym.env:TasksEnv", nondeterministic=True, disable_env_checker=True
    )
